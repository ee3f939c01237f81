//! The guard where nobody can be asked, and the rows of the case table whose door is a tool or a file system.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Output, Reply, Zdx};

use crate::turns::chat_results;
use crate::{place, with_model};

pub const TABLE: &str = include_str!("../../../guard/tests/cases/attack.jsonl");

/// Has the model make these calls at once and says how the run ended and what the model was told.
pub fn told(zdx: &Zdx, server: &ModelServer, calls: &[(&str, Value)], args: &[&str]) -> (Output, Vec<Value>) {
    let mut reply = Reply::chat();
    for (at, (tool, input)) in calls.iter().enumerate() {
        reply = reply.tool_call(&format!("c{at}"), tool, input.clone());
    }
    server.push(reply);
    server.push(Reply::chat().text("fine"));
    let before = server.calls().len();
    let output = zdx.command().args(["exec", "-p", "go"]).args(args).run().success();
    let request = &server.calls()[before + 1];
    (output, chat_results(request).into_iter().map(|(_, result)| result).collect())
}

pub fn code(result: &Value) -> &str {
    result["error"]["code"].as_str().unwrap_or("none")
}

pub fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({ "command": command }))
}

#[test]
pub fn with_nobody_to_ask_a_question_is_a_no_that_names_the_way_out() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("kept", "as it was\n");
    let calls = [bash("rm kept; chmod +x kept"), bash("echo x > kept"), bash("touch made"), bash("cat kept")];
    let (output, results) = told(&zdx, &server, &calls, &["--approval", "balanced"]);
    let codes: Vec<_> = results.iter().map(code).collect();
    assert_eq!(codes, ["approval_required", "approval_required", "approval_required", "none"]);
    let message = |at: usize| results[at]["error"]["message"].as_str().unwrap();
    assert!(
        message(0).starts_with("rm removes kept; chmod changes the permissions of kept; "),
        "{}",
        message(0)
    );
    assert!(message(0).contains("--allow-dangerous"), "{}", message(0));
    assert!(message(1).contains("use the write tool"), "{}", message(1));
    assert!(message(2).contains("--yolo"), "{}", message(2));
    assert!(message(2).ends_with("(rule: bash = ask (built-in))"), "{}", message(2));
    assert_eq!(zdx.read("kept"), "as it was\n");
    assert!(!zdx.root().join("made").exists());
    assert_eq!(output.stdout, "fine\n");
    assert!(output.stderr.lines().any(|line| line == "3 tool calls denied"), "{}", output.stderr);
}

#[test]
fn a_terminal_makes_no_person_of_exec() {
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "bash", json!({"command": "rm kept"})).done(),
        Reply::chat().text("fine").done(),
    ]);
    let zdx = with_model(&server);
    zdx.write("kept", "");
    let mut pty = zdx.command().args(["exec", "-p", "go"]).line_mode(40, 80);
    assert_eq!(pty.wait_exit(crate::SOON), 0);
    assert_eq!(code(&chat_results(&server.calls()[1])[0].1), "approval_required");
    assert!(pty.contents().contains("1 tool call denied"), "{}", pty.contents());
}

#[test]
pub fn one_flag_lifts_the_confirmation_and_nothing_lifts_the_forbidden() {
    let server = ModelServer::start();
    let zdx = with_model(&server).config_more("[permission]\nbash = \"allow\"\n");
    zdx.write("gone", "");
    // Should the guard fail, these do no harm: there is no such user, and help is all that rm gives.
    let forbidden = [bash("sudo -n -u no-such-user true"), bash("rm -rf / --help")];
    let calls = [&[bash("rm gone")][..], &forbidden].concat();
    let (output, results) = told(&zdx, &server, &calls, &["--allow-dangerous", "--yolo", "--format", "json"]);
    let codes: Vec<_> = results.iter().map(code).collect();
    assert_eq!(codes, ["none", "forbidden", "forbidden"]);
    assert!(!zdx.root().join("gone").exists());
    assert_eq!(output.json_lines().last().unwrap()["denied"], 2);
    // Without the flag, neither yolo nor a rule is enough.
    zdx.write("kept", "");
    let (_, results) = told(&zdx, &server, &[bash("rm kept")], &["--yolo"]);
    assert_eq!(code(&results[0]), "approval_required");
}

#[test]
fn in_a_pipe_nobody_is_asked_either() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("build/kept", "");
    let output = zdx.command().stdin("! rm -rf build\n@!echo typed\n").run().success();
    assert!(zdx.root().join("build/kept").exists());
    assert!(output.stderr.contains("not run: "), "{}", output.stderr);
    assert!(output.stderr.contains("--allow-dangerous"), "{}", output.stderr);
    assert!(output.stderr.contains("typed"), "{}", output.stderr);
    assert_eq!(output.stdout, "");
}

/// Rows of kind `write`, given to the file tools. `deny` holds under `balanced`; what needs a person is told from
/// what may be allowed unasked by whether `yolo` lets it pass.
#[test]
fn paths_of_the_case_table_are_held_back() {
    let rows: Vec<Value> = TABLE.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut judged = 0;
    for row in rows.iter().filter(|row| row["kind"] == "write") {
        let server = ModelServer::start();
        let zdx = with_model(&server);
        prepare(&zdx, row);
        let before = outside(&zdx);
        let path = row["input"].as_str().unwrap();
        // Should the guard fail, what is not ours must not suffer: this text is in no file.
        let call = if path.starts_with('/') {
            ("edit", json!({"path": path, "old": "text that is nowhere", "new": "x"}))
        } else {
            ("write", json!({"path": path, "content": "x"}))
        };
        let (_, results) = told(&zdx, &server, std::slice::from_ref(&call), &["--approval", "balanced"]);
        let got = code(&results[0]).to_owned();
        let id = &row["id"];
        match row["expect"].as_str().unwrap() {
            "deny" => {
                let refused = ["approval_required", "invalid_input", "denied", "not_regular"];
                assert!(refused.contains(&got.as_str()), "{id}: {got}");
            }
            expect => {
                assert_eq!(got, "approval_required", "{id}");
                let floor = expect == "confirm" || path == "AGENTS.md";
                let (_, results) = told(&zdx, &server, std::slice::from_ref(&call), &["--yolo"]);
                assert_eq!(code(&results[0]), if floor { "approval_required" } else { "none" }, "{id}");
                let (_, results) = told(&zdx, &server, &[call], &["--yolo", "--allow-dangerous"]);
                assert_eq!(code(&results[0]), "none", "{id}");
            }
        }
        assert_eq!(outside(&zdx), before, "{id} left the workspace");
        judged += 1;
    }
    assert!(judged >= 16, "{judged} rows");
}

/// The file state that a row names.
fn prepare(zdx: &Zdx, row: &Value) {
    let Some((name, target)) = row["setup"].as_str().and_then(|setup| setup.split_once(" -> ")) else {
        return;
    };
    let path = row["input"].as_str().unwrap();
    assert!(path.ends_with(name));
    let link = zdx.root().join(path);
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    let target = match target.trim() {
        // A place of our own instead of one that everybody shares.
        "/tmp/new" => zdx.home().join("new"),
        other => other.into(),
    };
    symlink(target, link).unwrap();
}

/// Everything beside the workspace that a call could have made or changed.
fn outside(zdx: &Zdx) -> Vec<std::path::PathBuf> {
    let base = zdx.root().parent().unwrap();
    let list = |folder: &std::path::Path| {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let mut all = [list(base), list(zdx.home())].concat();
    all.sort();
    all
}

#[test]
pub fn a_write_through_a_hard_link_leaves_the_outside_alone() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let outside = zdx.home().join("precious");
    std::fs::write(&outside, "one\n").unwrap();
    std::fs::hard_link(&outside, zdx.root().join("inside")).unwrap();
    std::fs::hard_link(&outside, zdx.root().join("edited")).unwrap();
    let calls = [
        ("write", json!({"path": "inside", "content": "two\n"})),
        ("edit", json!({"path": "edited", "old": "one", "new": "two"})),
    ];
    let (_, results) = told(&zdx, &server, &calls, &["--yolo"]);
    assert_eq!((code(&results[0]), code(&results[1])), ("none", "none"));
    assert_eq!((zdx.read("inside"), zdx.read("edited")), ("two\n".into(), "two\n".into()));
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "one\n");
}

#[cfg(target_os = "linux")]
#[test]
pub fn devices_and_magic_links_are_no_files() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    symlink("/dev/zero", zdx.root().join("zeroes")).unwrap();
    symlink("/proc/self/root/etc/hostname", zdx.root().join("magic")).unwrap();
    let read = |path: &str| ("read", json!({ "path": path }));
    let paths = ["/dev/zero", "zeroes", "/proc/self/root/etc/hostname", "magic", "/proc/1/environ"];
    let calls: Vec<_> = paths.into_iter().map(read).collect();
    let (_, results) = told(&zdx, &server, &calls, &["--approval", "balanced"]);
    for (path, result) in paths.iter().zip(&results) {
        let refused = ["approval_required", "not_regular", "denied"];
        assert!(refused.contains(&code(result)), "{path}: {result}");
    }
    // In yolo outside paths pass, and a device is still no file.
    let (_, results) = told(&zdx, &server, &[read("zeroes"), read("/dev/zero")], &["--yolo"]);
    assert_eq!((code(&results[0]), code(&results[1])), ("not_regular", "not_regular"));
}

/// Should the guard fail, `edit` does no harm: the text is in no file, and there is no such folder to write into.
#[test]
fn the_machines_own_files_are_confirmed_even_in_yolo() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    symlink("/etc/hostname", zdx.root().join("link")).unwrap();
    let edit = |path: &str| ("edit", json!({"path": path, "old": "text that is nowhere", "new": "x"}));
    let home = zdx.home().display().to_string();
    let key = format!("{home}/.ssh/config");
    let other = format!("{home}/other/new.txt");
    let calls = [
        edit("/etc/hostname"),
        edit("link"),
        ("write", json!({"path": "/proc/no-such-folder/x", "content": "x"})),
        ("write", json!({"path": key, "content": "x"})),
        ("write", json!({"path": other, "content": "x"})),
        bash(&format!("echo x >> {key}")),
    ];
    let (_, results) = told(&zdx, &server, &calls, &["--yolo"]);
    let codes: Vec<_> = results.iter().map(code).collect();
    let asked = "approval_required";
    // A call that cannot succeed is told so without a question.
    assert_eq!(&codes[2..], [asked, asked, "none", asked], "{results:?}");
    assert!(codes[..2].iter().all(|code| *code != "none"), "{results:?}");
    assert!(std::path::Path::new(&other).exists() && !std::path::Path::new(&key).exists());
}

#[test]
pub fn a_copy_onto_a_link_is_judged_by_where_it_leads() {
    let zdx = place();
    zdx.write("video.mp4", "");
    zdx.write("docs/notes", "");
    let explain = |zdx: &Zdx| {
        let output = zdx.run(["policy", "explain", "--format", "json", "cp video.mp4 docs/"]).success();
        serde_json::from_str::<Value>(&output.stdout).unwrap()
    };
    let plain = explain(&zdx)["verdict"].clone();
    assert_eq!(plain, "ask");
    let config = zdx.home().join("config");
    std::fs::write(&config, "").unwrap();
    symlink(&config, zdx.root().join("docs/video.mp4")).unwrap();
    let led = explain(&zdx);
    assert!(led["verdict"] == "confirm" || led["verdict"] == "deny", "{led}");
    assert!(led["reason"].as_str().unwrap().contains(&config.display().to_string()), "{led}");
}

#[test]
pub fn a_session_is_named_by_an_id_and_never_by_a_path() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    std::fs::write(zdx.storage().join("x.jsonl"), "{}\n").unwrap();
    for id in ["../x", "../../x", "/etc/passwd", "..", ""] {
        let output = zdx.run(["exec", "--session", id, "-p", "go"]);
        assert_eq!(output.code, Some(1), "{id:?}: {}", output.stderr);
    }
    assert!(server.calls().is_empty());
}
