//! Folders and files whose names are not UTF-8: they are listed, read, changed, recorded and put back like any other.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Zdx};

use crate::with_model;

const FILE: &str = r"caf\xFF.txt";

fn bytes(name: &[u8]) -> &OsStr {
    OsStr::from_bytes(name)
}

/// A workspace `r\xFF` with a file `caf\xFF.txt` in it.
fn folder(zdx: &Zdx) -> PathBuf {
    let root = zdx.root().join(bytes(b"r\xff"));
    fs::create_dir(&root).unwrap();
    fs::write(root.join(bytes(b"caf\xff.txt")), "one\ntwo\n").unwrap();
    root
}

fn results(zdx: &Zdx) -> Vec<Value> {
    let records = zdx.records().into_iter().filter(|record| record["type"] == "tool_result");
    records.map(|record| record["output"].clone()).collect()
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "the file system takes UTF-8 names only")]
fn names_that_are_not_utf8_are_read_changed_and_put_back() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let root = folder(&zdx);
    let deep = format!("sub/{FILE}");
    for (n, (tool, input)) in [
        ("list", json!({})),
        ("glob", json!({"pattern": "*.txt"})),
        ("grep", json!({"pattern": "two"})),
        ("read", json!({"path": FILE})),
        ("edit", json!({"path": FILE, "old": "two", "new": "three"})),
        ("read", json!({"path": format!("//{}/r\\xFF/{FILE}", zdx.root().to_str().unwrap().trim_start_matches('/'))})),
        ("write", json!({"path": "new.txt", "content": "new\n"})),
        ("write", json!({"path": format!(".//{deep}"), "content": "deep\n"})),
        ("patch", json!({"patch": format!("--- a/{FILE}\n+++ b/{FILE}\n@@ -1,2 +1,2 @@\n-one\n+1\n three\n")})),
        ("bash", json!({"command": "cat new.txt"})),
    ]
    .into_iter()
    .enumerate()
    {
        server.push(Reply::chat().tool_call(&format!("call-{n}"), tool, input));
    }
    server.push(Reply::chat().text("done"));
    let output = zdx
        .command()
        .args(["exec", "--format", "json", "-p"])
        .arg(format!("look at @{FILE}"))
        .arg("--root")
        .arg(&root)
        .run()
        .success();
    let events: Vec<Value> = output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let whole_root = format!("/{}/r\\xFF", zdx.root().display());
    assert_eq!(events.iter().find(|event| event["type"] == "session_started").unwrap()["root"], whole_root);
    assert!(events.iter().any(|event| event["type"] == "attached"), "{}", output.stdout);

    let results = results(&zdx);
    assert!(results.iter().all(|result| result["ok"] == true), "{results:#?}");
    let data = |at: usize| results[at]["data"].clone();
    assert_eq!(data(0)["entries"], format!("{FILE}\n"));
    assert_eq!(data(1)["paths"], json!([FILE]));
    assert_eq!(data(2)["text"], format!("{FILE}\n2:two\n"));
    assert_eq!(data(3)["path"], format!("{whole_root}/{FILE}"));
    assert_eq!(data(5)["content"], "one\nthree\n");
    let file = root.join(bytes(b"caf\xff.txt"));
    assert_eq!(fs::read(&file).unwrap(), b"1\nthree\n");
    assert_eq!(fs::read(root.join("sub").join(bytes(b"caf\xff.txt"))).unwrap(), b"deep\n");

    let listed = zdx.run(["sessions", "list", "--all", "--format", "json"]).success().stdout;
    let listed: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    assert_eq!(listed["root"], whole_root);
    let id = listed["id"].as_str().unwrap();
    zdx.run(["sessions", "show", id]).success();
    zdx.run(["sessions", "revert", id]).success();
    assert_eq!(fs::read(&file).unwrap(), b"one\ntwo\n");
    let mut left: Vec<_> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [bytes(b"caf\xff.txt")]);
    zdx.run(["sessions", "redo", id]).success();
    assert_eq!(fs::read(&file).unwrap(), b"1\nthree\n");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "the file system takes UTF-8 names only")]
fn a_session_in_a_folder_that_is_not_utf8_goes_on_there_and_not_beside_it() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let root = folder(&zdx);
    let beside = zdx.root().join(bytes(b"r\xfe"));
    fs::create_dir(&beside).unwrap();
    server.push(Reply::chat().text("first"));
    zdx.command().args(["exec", "-p", "one", "--root"]).arg(&root).run().success();
    server.push(Reply::chat().text("second"));
    zdx.command().args(["exec", "-c", "-p", "two", "--root"]).arg(&root).run().success();
    assert_eq!(zdx.session_files().len(), 1);
    let refused = zdx.command().args(["exec", "-c", "-p", "three", "--root"]).arg(&beside).run();
    assert_ne!(refused.code, Some(0), "{}", refused.stderr);
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "the file system takes UTF-8 names only")]
fn an_acp_agent_is_not_started_in_a_folder_that_it_cannot_be_told_of() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let root = folder(&zdx);
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_zdx"))
        .args(["acp", "-a", "true", "hi"])
        .current_dir(&root)
        .env("HOME", zdx.home())
        .env("ZDX_HOME", zdx.storage())
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains(r"r\xFF: its name is not UTF-8"), "{told}");
}
