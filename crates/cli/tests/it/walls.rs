//! What may know what, read off the sources: a front end knows the engine by its channels alone, and inside a crate every
//! arrow points down.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false => found.push(path),
        }
    }
    found
}

/// Everything that draws, listens and converses. What is left of the command line configures, or answers a command
/// without a conversation.
const FRONT_END: [&str; 10] = [
    "acp_agent",
    "chat",
    "front",
    "pump.rs",
    "run.rs",
    "screen.rs",
    "words.rs",
    "output.rs",
    "style.rs",
    "terminal.rs",
];

/// What of the engine it may use: to start it.
const MAY: [&str; 3] = ["start::engine", "start::{self, Audience}", "start::saved"];

/// Ways around the channels, besides naming the engine itself.
const AROUND: [&str; 13] = [
    "zdx_config",
    "zdx_engine",
    "zdx_guard",
    "zdx_mcp",
    "zdx_models",
    "zdx_store",
    "zdx_tools",
    "zdx_workspace",
    ".sessions()",
    ".trust_store()",
    ".paths",
    "crate::commands",
    "start::",
];

#[test]
fn the_line_front_end_knows_the_engine_by_its_channels_alone() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut looked_at = 0;
    let mut found = Vec::new();
    for part in FRONT_END.map(|part| src.join(part)) {
        assert!(part.exists(), "{} is gone; say here what took its place", part.display());
        let files = if part.is_dir() { sources(&part) } else { vec![part] };
        for file in files {
            looked_at += 1;
            let text = std::fs::read_to_string(&file).unwrap();
            for (n, line) in text.lines().enumerate() {
                let code = MAY.iter().fold(line.to_owned(), |line, may| line.replace(may, ""));
                if AROUND.iter().any(|word| code.contains(word)) {
                    found.push(format!("{}:{}: {}", file.display(), n + 1, line.trim()));
                }
            }
        }
    }
    assert!(looked_at > 15, "{looked_at}");
    assert_eq!(found, Vec::<String>::new());
}

/// Every crate of ours that ships.
const ORDERED: [&str; 13] = [
    "protocol",
    "acp",
    "net",
    "models",
    "guard",
    "workspace",
    "config",
    "store",
    "tools",
    "mcp",
    "engine",
    "tui",
    "cli",
];

/// The crates of ours that each one may depend on.
const DEPENDENCIES: [(&str, &[&str]); 13] = [
    ("protocol", &[]),
    ("acp", &[]),
    ("net", &[]),
    ("models", &["net", "protocol"]),
    ("guard", &["protocol"]),
    ("workspace", &["guard", "protocol"]),
    ("config", &["guard", "models", "protocol", "workspace"]),
    ("store", &["protocol", "workspace"]),
    ("tools", &["guard", "protocol", "workspace"]),
    ("mcp", &["config", "guard", "protocol", "store", "tools", "workspace"]),
    ("engine", &["acp", "config", "guard", "mcp", "models", "protocol", "store", "tools", "workspace"]),
    ("tui", &["protocol"]),
    (
        "cli",
        &[
            "acp",
            "config",
            "engine",
            "guard",
            "mcp",
            "models",
            "protocol",
            "store",
            "tools",
            "tui",
            "workspace",
        ],
    ),
];

/// The crates of ours that a manifest depends on, tests aside.
fn dependencies(manifest: &str) -> Vec<String> {
    let section = manifest.split("\n[").find(|section| section.starts_with("dependencies]"));
    let names = section.into_iter().flat_map(str::lines).filter_map(|line| line.strip_prefix("zdx-"));
    let mut names: Vec<String> =
        names.map(|rest| rest.split(['.', ' ', '=']).next().unwrap_or_default().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn crates_depend_on_what_stands_below() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    assert_eq!(DEPENDENCIES.map(|(name, _)| name), ORDERED);
    for (name, allowed) in DEPENDENCIES {
        let manifest = std::fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
        assert_eq!(dependencies(&manifest), allowed, "{name}");
    }
}

/// Which modules of a crate import which others, tests aside.
fn imports(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in sources(&src) {
        let place = file.strip_prefix(&src).unwrap().to_str().unwrap().to_owned();
        let module = place.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
        if module == "lib" || module == "main" || place.contains("tests") || !place.ends_with(".rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let used = found.entry(module.clone()).or_default();
        // From a file that lies right in the folder, `super` is the crate too.
        let roots: &[&str] = if place.contains('/') { &["crate::"] } else { &["crate::", "super::"] };
        for rest in roots.iter().flat_map(|root| text.split(root).skip(1)) {
            used.extend(named(rest).into_iter().filter(|other| *other != module));
        }
    }
    let modules: BTreeSet<String> = found.keys().cloned().collect();
    found.values_mut().for_each(|used| used.retain(|other| modules.contains(other)));
    found
}

/// What a path goes on with: a name, or several in braces.
fn named(rest: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect()
    };
    match rest.strip_prefix('{') {
        // Whatever is in inner braces belongs to the name before them, and is none of the modules.
        Some(list) => list.split('}').next().unwrap_or_default().split(',').map(name).collect(),
        None => vec![name(rest)],
    }
}

/// The modules from the top down, so that each imports only what stands below it; or those that go round in a circle.
fn ordered(imports: &BTreeMap<String, BTreeSet<String>>) -> Result<Vec<&str>, Vec<&str>> {
    let mut left: BTreeSet<&str> = imports.keys().map(String::as_str).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        let is_used =
            |module: &str| left.iter().any(|other| *other != module && imports[*other].contains(module));
        let Some(top) = left.iter().copied().find(|module| !is_used(module)) else {
            return Err(left.into_iter().collect());
        };
        left.remove(top);
        order.push(top);
    }
    Ok(order)
}

/// What `docs/ARCHITECTURE.md` shows: a line for each module, arrows pointing down.
fn picture() -> String {
    let mut text = String::new();
    for name in ORDERED {
        let imports = imports(name);
        let order = ordered(&imports).unwrap_or_else(|circle| panic!("{name}: a circle among {circle:?}"));
        let widest = order.iter().map(|module| module.len()).max().unwrap_or_default();
        text.push_str(&format!("{name}\n"));
        for module in order {
            let used: Vec<&str> = imports[module].iter().map(String::as_str).collect();
            text.push_str(format!("  {module:widest$}  → {}", used.join(" ")).trim_end_matches([' ', '→']));
            text.push('\n');
        }
    }
    text
}

/// `tools/picture` draws it anew.
#[test]
fn every_arrow_points_down_and_the_picture_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ARCHITECTURE.md");
    let doc = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- picture: made by tools/picture -->\n```\n", "```\n<!-- end of the picture -->");
    let from = doc.find(begin).expect("the picture begins") + begin.len();
    let upto = from + doc[from..].find(end).expect("the picture ends");
    let drawn = picture();
    if std::env::var_os("ZDX_RECORD").is_some() {
        std::fs::write(&path, format!("{}{drawn}{}", &doc[..from], &doc[upto..])).unwrap();
        return;
    }
    assert_eq!(&doc[from..upto], drawn, "run tools/picture");
}

#[test]
fn a_circle_is_found() {
    let graph = |arrows: &[(&str, &str)]| {
        let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (one, other) in arrows {
            imports.entry((*one).to_owned()).or_default().insert((*other).to_owned());
            imports.entry((*other).to_owned()).or_default();
        }
        imports
    };
    assert_eq!(ordered(&graph(&[("a", "b"), ("b", "c")])), Ok(vec!["a", "b", "c"]));
    assert_eq!(ordered(&graph(&[("a", "b"), ("b", "c"), ("c", "b")])), Err(vec!["b", "c"]));
}
