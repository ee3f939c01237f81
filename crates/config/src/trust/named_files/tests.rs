use std::fs;
use std::os::unix::fs::symlink;

use super::*;

struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new(files: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("project");
        let place = Self { _dir: dir, root };
        files.iter().for_each(|file| place.write(file, file));
        place
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn named(&self, words: &[&str]) -> Vec<String> {
        self.names(&source(words))
    }

    fn names(&self, command: &CommandSource) -> Vec<String> {
        let found = named_files(&self.root, command);
        found.keys().map(|path| path.to_str().unwrap().to_owned()).collect()
    }
}

/// One word is shell code, several are a program with its arguments.
fn source(words: &[&str]) -> CommandSource {
    match words {
        [script] => CommandSource::shell(script),
        words => CommandSource::program(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), []),
    }
}

#[test]
fn a_command_names_scripts_in_many_ways() {
    let place = Place::new(&["scripts/a.sh", "tools/m.py", "tools/srv/index.js", "x.js", "package.json"]);
    let absolute = place.root.join("scripts/a.sh");
    let cases: [(&[&str], &[&str]); 18] = [
        (&["~/project/scripts/a.sh"], &["scripts/a.sh"]),
        (&["./scripts/a.sh"], &["scripts/a.sh"]),
        (&[absolute.to_str().unwrap()], &["scripts/a.sh"]),
        (&["scripts/../scripts/a.sh"], &["scripts/a.sh"]),
        (&["python", "tools/m.py", "--port", "1"], &["tools/m.py"]),
        (&["python", "-m", "tools.m"], &["tools/m.py"]),
        (&["bash", "-c", "set -e; ./scripts/a.sh|cat"], &["scripts/a.sh"]),
        (&["sh \"$PWD/scripts/a.sh\""], &["scripts/a.sh"]),
        (&["cd scripts && ./a.sh"], &["scripts/a.sh"]),
        (&["node", "./x"], &["x.js"]),
        (&["node", "--require=./x.js", "-e", "1"], &["x.js"]),
        (&["node", "-r./x.js"], &["x.js"]),
        (&["node", "tools/srv"], &["tools/srv/index.js"]),
        (&["npm", "run", "serve"], &["package.json"]),
        (&["NODE_ENV=y npm test"], &["package.json"]),
        (&["/usr/bin/env", "npm", "test"], &["package.json"]),
        (&["cargo check"], &[]),
        (&["/bin/sh", "../outside", "missing.sh", ""], &[]),
    ];
    for (words, expected) in cases {
        assert_eq!(place.named(words), expected, "{words:?}");
    }
}

#[test]
fn a_folder_given_to_node_names_the_main_file_of_its_package() {
    let place = Place::new(&["web/lib/start.js", "web/index.js", "app/index.js", "top.js"]);
    place.write("web/package.json", r#"{"main": "./lib/start"}"#);
    place.write("app/package.json", "{\"main\": ");
    place.write("package.json", r#"{"main": "top.js"}"#);
    assert_eq!(place.named(&["node", "web"]), ["web/index.js", "web/lib/start.js", "web/package.json"]);
    assert_eq!(place.named(&["node app"]), ["app/index.js", "app/package.json"]);
    assert_eq!(place.named(&["node", "."]), ["package.json", "top.js"]);
    assert_eq!(place.named(&["node", place.root.to_str().unwrap()]), ["package.json", "top.js"]);
    assert_eq!(place.named(&["eslint ."]), [""; 0]);
    place.write("app/package.json", &" ".repeat(LONGEST_MANIFEST + 1));
    assert_eq!(place.named(&["node app"]).len(), 3, "what it runs is not known");
}

#[test]
fn a_runner_names_its_manifest_where_it_runs() {
    let place = Place::new(&["Makefile", "web/package.json", "web/src/x.ts"]);
    assert_eq!(place.named(&["make test"]), ["Makefile"]);
    assert_eq!(place.named(&["npm --prefix web test"]), ["web/package.json"]);
}

#[test]
fn a_link_counts_with_the_content_it_leads_to() {
    let place = Place::new(&["a.sh", "b.sh"]);
    let outside = place.root.parent().unwrap().join("outside.sh");
    fs::write(&outside, "outside").unwrap();
    symlink("a.sh", place.root.join("link.sh")).unwrap();
    symlink(&outside, place.root.join("out.sh")).unwrap();
    assert_eq!(place.named(&["./link.sh"]), ["a.sh"]);
    let hash =
        || named_files(&place.root, &CommandSource::shell("./out.sh")).remove(Path::new("out.sh")).unwrap();
    assert_eq!(hash(), ContentHash::of(b"outside"));
    fs::write(&outside, "changed").unwrap();
    assert_eq!(hash(), ContentHash::of(b"changed"));
    // A file outside that is named by its own path is not the project's.
    assert_eq!(place.named(&[outside.to_str().unwrap()]), [""; 0]);
}

#[test]
fn what_is_too_large_or_unreadable_never_counts_as_the_same() {
    let place = Place::new(&["a.sh"]);
    let file = File::create(place.root.join("big")).unwrap();
    file.set_len(HASHED_BYTES + 1).unwrap();
    let hash = || named_files(&place.root, &CommandSource::shell("./big")).remove(Path::new("big")).unwrap();
    assert_ne!(hash(), hash());
    let fifo = place.root.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(fifo).status().unwrap().success());
    assert_eq!(place.named(&["./pipe"]), [""; 0]);
}

#[test]
fn a_pinned_command_names_what_changed_or_appeared() {
    let place = Place::new(&["a.sh"]);
    let command = source(&["sh", "a.sh", "b.sh"]);
    let mut trusted = TrustedFiles::none_of(&place.root);
    trusted.add_named(&command);
    let pinned = trusted.pin(command);
    assert_eq!(pinned.changed(), [""; 0].map(PathBuf::from));
    place.write("b.sh", "new");
    assert_eq!(pinned.changed(), [PathBuf::from("b.sh")]);
    fs::remove_file(place.root.join("b.sh")).unwrap();
    assert!(pinned.changed().is_empty());
    place.write("a.sh", "other");
    assert_eq!(pinned.changed(), [PathBuf::from("a.sh")]);
}

#[test]
fn words_are_read_as_a_shell_reads_them() {
    let place = Place::new(&[
        "scripts/my check.sh",
        "scripts/c.sh",
        "scripts/d.sh",
        "scripts/x.txt",
        "pkg/__init__.py",
    ]);
    place.write("pkg/sub.py", "");
    for (script, expected) in [
        ("sh 'scripts/my check.sh'", &["scripts/my check.sh"][..]),
        ("sh scripts/my\\ check.sh", &["scripts/my check.sh"]),
        ("sh \"$PWD\"/scripts/c.sh", &["scripts/c.sh"]),
        ("sh \"scripts\"/c.sh", &["scripts/c.sh"]),
        ("sh scr\"ip\"ts/c.sh", &["scripts/c.sh"]),
        ("R=.; sh $R/scripts/c.sh", &["scripts/c.sh"]),
        (
            "sh < 'scripts/c.sh' && bash -c \"sh 'scripts/my check.sh'\"",
            &[
                "`sh < 'scripts/c.sh'` runs what is not known beforehand",
                "scripts/c.sh",
                "scripts/my check.sh",
            ],
        ),
        ("for f in scripts/?.sh; do sh $f; done", &["scripts/c.sh", "scripts/d.sh"]),
        ("sh ./scripts/[c]*.sh", &["scripts/c.sh"]),
        ("sh scripts/{c,d}.sh", &["scripts/c.sh", "scripts/d.sh"]),
        ("run-parts scripts", &["scripts/c.sh", "scripts/d.sh", "scripts/my check.sh", "scripts/x.txt"]),
        ("python3 -m pkg.sub", &["pkg/__init__.py", "pkg/sub.py"]),
        ("cd scripts && sh 'my check.sh'", &["scripts/my check.sh"]),
    ] {
        assert_eq!(place.named(&[script]), expected, "{script}");
    }
    let argument = place.named(&["sh", "scripts/my check.sh"]);
    assert_eq!(argument, ["scripts/my check.sh"]);
    let variables = [("CMD".to_owned(), "sh 'scripts/my check.sh'".to_owned())];
    let words = ["bash", "-c", "sh \"$FILE\""].map(str::to_owned);
    let file = [("FILE".to_owned(), "scripts/my check.sh".to_owned())];
    assert_eq!(place.names(&CommandSource::program(&words, file)), ["scripts/my check.sh"]);
    assert_eq!(
        place.names(&CommandSource::program(&["tool".to_owned()], variables)),
        ["scripts/my check.sh"]
    );
}

#[test]
fn runners_name_their_project_files() {
    let files = [
        ".pre-commit-config.yaml",
        "CMakeLists.txt",
        "Cargo.toml",
        "build.gradle.kts",
        "build.rs",
        "conftest.py",
        "pom.xml",
        "pyproject.toml",
        "tests/conftest.py",
    ];
    let place = Place::new(&files);
    for (script, expected) in [
        ("cargo xtask check", &["Cargo.toml", "build.rs"][..]),
        ("python3 -m pytest -q tests", &["conftest.py", "pyproject.toml", "tests/conftest.py"]),
        ("uv run ruff", &["pyproject.toml"]),
        ("pre-commit run -a", &[".pre-commit-config.yaml"]),
        ("gradle test", &["build.gradle.kts"]),
        ("mvn -q test", &["pom.xml"]),
        ("cmake --build .", &["CMakeLists.txt"]),
    ] {
        assert_eq!(place.named(&[script]), expected, "{script}");
    }
}

/// A yes counts for the process in which it was given; the next one finds another hash.
#[test]
fn what_cannot_be_told_beforehand_has_an_entry_of_its_own() {
    let place = Place::new(&["scripts/c.sh"]);
    let many = format!("sh {}", (0..MOST_TOKENS).map(|n| format!("f{n} ")).collect::<String>());
    let folders: Vec<String> = (0..=MOST_FOLDERS).map(|n| format!("d{n}")).collect();
    for folder in &folders {
        fs::create_dir(place.root.join(folder)).unwrap();
    }
    let folders = format!("cat {}", folders.join(" "));
    for script in [
        "sh $(git rev-parse --show-toplevel)/scripts/c.sh",
        "$R/scripts/c.sh",
        "eval \"$X\"",
        "sh 'a",
        &many,
        &folders,
    ] {
        let named = || named_files(&place.root, &CommandSource::shell(script));
        let marks: Vec<_> =
            named().into_keys().filter(|path| path.to_string_lossy().starts_with('`')).collect();
        assert!(!marks.is_empty(), "{script:.80}");
        assert_eq!(named(), named(), "{script:.80}");
    }
}

#[test]
fn patterns_and_folders_beyond_the_limit_are_not_trusted_silently() {
    let place = Place::new(&["scripts/c.sh"]);
    for n in 0..MOST_ENTRIES {
        place.write(&format!("scripts/{n}"), "");
    }
    for script in ["run-parts scripts", "sh scripts/*.sh"] {
        let names = place.named(&[script]);
        assert!(names.iter().any(|name| name.starts_with('`')), "{script}");
    }
}
