//! What is known of a tool stands in its row of facts: other names and spellings come to the same everywhere, and no other
//! source knows a tool by a string.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use zdx_protocol::facts;
use zdx_testkit::{ModelServer, Reply};

use crate::{place, results, with_model};

#[test]
fn lines_name_tools_and_arguments_as_we_do() {
    let todos = json!([{"content": "plan", "status": "completed"}, {"content": "build"}]);
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "bash", json!({"cmd": "echo 'a  b'"})).done(),
        Reply::chat().tool_call("c2", "shell", json!({"command": ["echo", "a  b"]})).done(),
        Reply::chat().tool_call("c3", "todo", json!({"todos": todos})).done(),
        Reply::chat().tool_call("c4", "todo", json!({})).done(),
        Reply::chat().text("done").done(),
    ]);
    let out = with_model(&server).run(["exec", "--approval", "yolo", "-p", "x"]).success();
    let requested: Vec<&str> =
        out.stderr.lines().filter_map(|line| line.strip_prefix("Tool requested: ")).collect();
    assert_eq!(
        requested,
        [
            r#"bash command="echo 'a  b'""#,
            r#"bash command="echo 'a  b'""#,
            "todowrite items=[2 items]",
            "todoread"
        ],
        "{}",
        out.stderr
    );
    let uses = out.records_of("tool_use");
    let names: Vec<&str> = uses.iter().filter_map(|record| record["name"].as_str()).collect();
    assert_eq!(names, ["bash", "bash", "todowrite", "todoread"]);
    assert_eq!(uses[0]["input"], json!({"cmd": "echo 'a  b'"}), "kept as it came");
    let last = server.calls().pop().unwrap();
    let results = results(&last);
    assert_eq!(results.len(), 4);
    assert!(results[..2].iter().all(|result| result["data"]["stdout"] == "a  b\n"), "{results:?}");
    assert_eq!(results[3]["data"]["checklist"], "[x] plan\n[ ] build");
}

/// As another program may have written it, or an older one.
#[test]
fn a_recorded_call_under_another_name_is_shown_and_handed_over_like_ours() {
    let zdx = place();
    let id = "550e8400-e29b-41d4-a716-446655440000";
    let ts = "2025-12-17T03:21:09.000Z";
    zdx.write("notes.md", "n");
    let notes = zdx.root().join("notes.md");
    let lines = [
        json!({"type":"meta","schema_version":1,"id":id,"root":zdx.root(),"model":"lab/m","ts":ts}),
        json!({"type":"message","role":"user","text":"look","ts":ts}),
        json!({"type":"tool_use","id":"c1","name":"read_file","input":{"filePath":"notes.md","start_line":1},"ts":ts}),
        json!({"type":"tool_result","tool_use_id":"c1","ok":true,"ts":ts,
            "output":{"ok":true,"data":{"path":notes,"content":"n","truncated":false,"bytes":1}}}),
        json!({"type":"tool_use","id":"c2","name":"shell","input":{"cmd":"ls -l"},"ts":ts}),
        json!({"type":"tool_result","tool_use_id":"c2","ok":true,"ts":ts,
            "output":{"ok":true,"data":{"stdout":"","stderr":"","exit_code":0,"timed_out":false}}}),
        json!({"type":"message","role":"assistant","text":"seen","ts":ts}),
    ];
    fs::create_dir_all(zdx.storage().join("sessions")).unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(zdx.storage().join(format!("sessions/{id}.jsonl")), text).unwrap();
    let shown = zdx.run(["sessions", "show", id]).success().stdout;
    for line in [
        "Tool requested: read path=\"notes.md\" offset=1\n",
        "Tool finished: read 1 line\n",
        "Tool requested: bash command=\"ls -l\"\n",
        "Tool finished: bash exit=0\n",
    ] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    let handed = zdx.run(["handoff", "--goal", "x"]).success().stdout;
    for part in ["- notes.md", "```sh\nls -l\n```"] {
        assert!(handed.contains(part), "{part} in {handed}");
    }
}

/// Aliases that say too much else to be looked for.
const EVERYDAY: [&str; 13] = [
    "agent", "cat", "create", "delegate", "exec", "find", "replace", "search", "sh", "subagent", "todo",
    "tree", "view",
];

/// Where a tool's name is a word for something else, or is spoken as users and models speak it.
const OTHER_MEANINGS: [(&str, &str); 15] = [
    ("guard/src/shell", "names of programs"),
    ("guard/src/judge/instead.rs", "names of programs"),
    ("guard/src/table.rs", "kinds of rows in case tables"),
    ("config/src/library/agents/builtin.rs", "agents as a user would write them"),
    ("config/src/library/skills.rs", "a skill itself"),
    ("config/src/library/places.rs", "a folder's name"),
    ("protocol/src/display/approval.rs", "what is done to a file"),
    ("cli/src/acp_agent/mod.rs", "what a client may ask for"),
    ("cli/src/args.rs", "an option"),
    ("cli/src/commands/compaction.rs", "skills that are counted"),
    ("cli/src/acp/", "kinds of calls and capabilities, as ACP has them"),
    ("engine/src/acp/", "kinds of calls, as ACP has them"),
    ("engine/src/backend/acp/", "kinds of calls and capabilities, as ACP has them"),
    ("protocol/src/facts.rs", "the facts"),
    ("protocol/src/facts/", "the facts"),
];

/// The tool that needs the markdown library, which `tools` does not know.
const SKILL_TOOL: &str = "engine/src/skill_tool.rs";

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => sources(&path, found),
            path => found.push(path),
        }
    }
}

/// A tool has one file here and one there, of the same name.
fn tool_files() -> Vec<String> {
    let mut files = Vec::new();
    sources(&crates().join("protocol/src/facts"), &mut files);
    let stems = files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned());
    stems.filter(|stem| stem != "words" && stem != "tests").collect()
}

/// Whether this place may say what it says; of the tools' folder, only their own files.
fn is_excused(place: &str, tools: &[String]) -> bool {
    let own = |rest: &str| {
        let part = rest.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        tools.iter().any(|tool| tool == part)
    };
    match place.strip_prefix("tools/src/") {
        Some(rest) => own(rest),
        None if place == SKILL_TOOL => true,
        None => OTHER_MEANINGS.iter().any(|(known, _)| place.starts_with(known)),
    }
}

/// The code of a source, its tests aside.
fn code(text: &str) -> &str {
    let tests = text.match_indices("#[cfg(test)]").map(|(at, _)| at);
    let end =
        tests.into_iter().find(|at| text[*at..].lines().take(3).any(|line| line.starts_with("mod tests")));
    &text[..end.unwrap_or(text.len())]
}

fn strings(code: &str, names: &[&str]) -> Vec<String> {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let says = |line: &&str| names.iter().any(|name| line.contains(&format!("\"{name}\"")));
    lines.filter(says).map(|line| line.trim().to_owned()).collect()
}

fn names() -> Vec<&'static str> {
    let all = facts::ALL.iter().flat_map(|facts| std::iter::once(&facts.name).chain(facts.aliases));
    all.copied().filter(|name| !EVERYDAY.contains(name)).collect()
}

#[test]
fn nothing_else_knows_a_tool_by_a_string() {
    let (names, tools) = (names(), tool_files());
    assert_eq!(tools.len(), facts::ALL.len() - 1, "{tools:?}: both todo tools share a file");
    for tool in &tools {
        let file = if tool == "skill" { SKILL_TOOL.to_owned() } else { format!("tools/src/{tool}.rs") };
        assert!(crates().join(file).exists(), "{tool}");
    }
    let mut files = Vec::new();
    for name in ["protocol", "guard", "workspace", "config", "store", "tools", "mcp", "engine", "cli"] {
        sources(&crates().join(name).join("src"), &mut files);
    }
    assert!(files.len() > 200, "{}", files.len());
    let mut found = Vec::new();
    for file in files {
        let place = file.strip_prefix(crates()).unwrap().to_str().unwrap();
        let is_test = place.contains("/tests/") || place.ends_with("tests.rs");
        if is_test || !place.ends_with(".rs") || is_excused(place, &tools) {
            continue;
        }
        let said = strings(code(&fs::read_to_string(&file).unwrap()), &names);
        found.extend(said.into_iter().map(|line| format!("{place}: {line}")));
    }
    assert_eq!(found, Vec::<String>::new(), "ask `zdx_protocol::facts` instead");
}

#[test]
fn a_string_is_found() {
    let names = names();
    let text = "// \"bash\"\nif name == \"bash\" {}\nmatch name { \"read_file\" => 1 }\n#[cfg(test)]\nmod tests { \"edit\" }";
    assert_eq!(strings(code(text), &names).len(), 2);
    let tools = tool_files();
    let excused = |place: &str| is_excused(place, &tools);
    assert!(excused("tools/src/grep.rs") && excused("tools/src/todo/items.rs"));
    assert!(!excused("tools/src/input.rs") && !excused("tools/src/lib.rs"));
    assert!(!excused("engine/src/check.rs") && !excused("protocol/src/display/labels.rs"));
}
