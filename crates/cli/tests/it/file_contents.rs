//! What else than text a file holds and has stays through a change: bytes that are not UTF-8, line ends, attributes, mounts.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Zdx, cannot_run};

use crate::with_model;

fn results(zdx: &Zdx) -> Vec<Value> {
    let records = zdx.records().into_iter().filter(|record| record["type"] == "tool_result");
    records.map(|record| record["output"].clone()).collect()
}

fn calls(server: &ModelServer, calls: impl IntoIterator<Item = (&'static str, Value)>) {
    for (n, (tool, input)) in calls.into_iter().enumerate() {
        server.push(Reply::chat().tool_call(&format!("call-{n}"), tool, input));
    }
    server.push(Reply::chat().text("done"));
}

#[test]
fn a_model_that_writes_back_what_it_read_does_not_destroy_bytes() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let before = b"name: caf\xe9\r\nsize: 1\r\n";
    zdx.write("latin1", before);
    calls(
        &server,
        [
            ("read", json!({"path": "latin1"})),
            ("write", json!({"path": "latin1", "content": "name: caf\u{fffd}\r\nsize: 2\r\n"})),
            ("edit", json!({"path": "latin1", "old": "size: 1", "new": "size: 2\ncolor: red"})),
        ],
    );
    zdx.run(["exec", "-p", "set the size to 2"]).success();
    let results = results(&zdx);
    assert!(results[0]["data"]["note"].as_str().unwrap().starts_with("1 byte on line 1 is not UTF-8"));
    assert_eq!(results[1]["error"]["code"], "write_error");
    assert_eq!(results[2]["ok"], true);
    let file = zdx.root().join("latin1");
    assert_eq!(fs::read(&file).unwrap(), b"name: caf\xe9\r\nsize: 2\r\ncolor: red\r\n");
    let id = zdx.session_files()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    zdx.run(["sessions", "revert", &id]).success();
    assert_eq!(fs::read(&file).unwrap(), before);
}

/// Runs zdx where `$1` is a file system of 16 KiB, from which `full` and `plain` of the workspace are mounted.
#[test]
fn a_file_that_is_a_mount_is_written_in_place_or_left_as_it_was() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    for name in ["plain", "full"] {
        zdx.write(name, "");
    }
    let small = zdx.home().join("small");
    fs::create_dir(&small).unwrap();
    let script = r#"mount -t tmpfs -o size=16k none "$1" && echo old > "$1/plain" && echo old > "$1/full" &&
        for name in plain full; do mount --bind "$1/$name" "$name" || exit 77; done || exit 77
        "$2" exec -p go || exit
        cat plain full "$1/plain" && ls -A
        "$2" sessions revert "$(basename "$ZDX_HOME"/sessions/*.jsonl .jsonl)" >&2 && cat plain"#;
    let long = "x".repeat(20_000);
    calls(
        &server,
        [
            ("write", json!({"path": "plain", "content": "new\n"})),
            ("edit", json!({"path": "full", "old": "old", "new": long})),
        ],
    );
    let output = Command::new("unshare")
        .args(["-Urm", "sh", "-c", script, "sh"])
        .arg(&small)
        .arg(env!("CARGO_BIN_EXE_zdx"))
        .current_dir(zdx.root())
        .env("HOME", zdx.home())
        .env("ZDX_HOME", zdx.storage())
        .stdin(Stdio::null())
        .output();
    let output = match output {
        Err(error) => return cannot_run(&format!("unshare cannot be run ({error})")),
        Ok(output) => output,
    };
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) || told.contains("unshare:") {
        return cannot_run(&format!("no mounts of one's own here ({told})"));
    }
    assert!(output.status.success(), "{told}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\nnew\nold\nnew\nfull\nplain\nold\n", "{told}");
    let results = results(&zdx);
    assert_eq!(results[0]["ok"], true);
    assert_eq!(results[1]["error"]["code"], "write_error", "{results:#?}");
}

#[cfg(target_os = "linux")]
#[test]
fn attributes_of_a_file_survive_edit_write_and_a_move_by_patch() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("f", "one\n");
    let file = zdx.root().join("f");
    if setxattr(&file, "user.note", b"kept", XattrFlags::empty()) == Err(rustix::io::Errno::NOTSUP) {
        return cannot_run("this file system has no user attributes");
    }
    calls(
        &server,
        [
            ("read", json!({"path": "f"})),
            ("edit", json!({"path": "f", "old": "one", "new": "two"})),
            ("write", json!({"path": "f", "content": "three\n"})),
            (
                "patch",
                json!({"patch": "*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@\n-three\n+four\n*** End Patch\n"}),
            ),
        ],
    );
    zdx.run(["exec", "-p", "go"]).success();
    assert!(results(&zdx).iter().all(|result| result["ok"] == true), "{:#?}", results(&zdx));
    assert_eq!(zdx.read("g"), "four\n");
    let mut value = [0; 16];
    let length = getxattr(zdx.root().join("g"), "user.note", &mut value[..]).unwrap();
    assert_eq!(&value[..length], b"kept");
}
