//! Mounts and attributes of files stay through a change. In a binary of its own, whose tests are reported as ignored where the
//! machine has neither.

// Without the usual harness clippy does not see that all of this is a test.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::{Command, ExitCode, Stdio};

use rustix::fs::{XattrFlags, getxattr, setxattr};
use serde_json::{Value, json};
use zdx_testkit::{Ability, AbilityTest, ModelServer, Reply, Zdx, run_ability_tests};

fn main() -> ExitCode {
    run_ability_tests([
        AbilityTest {
            needs: &[Ability::Mounts],
            name: "a_file_that_is_a_mount_is_written_in_place_or_left_as_it_was",
            run: a_file_that_is_a_mount_is_written_in_place_or_left_as_it_was,
        },
        AbilityTest {
            needs: &[Ability::UserAttributes],
            name: "attributes_of_a_file_survive_edit_write_and_a_move_by_patch",
            run: attributes_of_a_file_survive_edit_write_and_a_move_by_patch,
        },
        AbilityTest {
            needs: &[Ability::UserAttributes],
            name: "the_revert_of_a_deletion_gives_a_file_its_attributes_back",
            run: the_revert_of_a_deletion_gives_a_file_its_attributes_back,
        },
    ])
}

fn with_model(server: &ModelServer) -> Zdx {
    Zdx::new(env!("CARGO_BIN_EXE_zdx")).chat(server)
}

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

/// Runs zdx where `$1` is a file system of 16 KiB, from which `full` and `plain` of the workspace are mounted.
fn a_file_that_is_a_mount_is_written_in_place_or_left_as_it_was() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    for name in ["plain", "full"] {
        zdx.write(name, "");
    }
    let small = zdx.home().join("small");
    fs::create_dir(&small).unwrap();
    let script = r#"mount -t tmpfs -o size=16k none "$1" && echo old > "$1/plain" && echo old > "$1/full" &&
        for name in plain full; do mount --bind "$1/$name" "$name" || exit; done || exit
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
    let output = output.unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\nnew\nold\nnew\nfull\nplain\nold\n", "{told}");
    let results = results(&zdx);
    assert_eq!(results[0]["ok"], true);
    assert_eq!(results[1]["error"]["code"], "write_error", "{results:#?}");
}

fn attributes_of_a_file_survive_edit_write_and_a_move_by_patch() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("f", "one\n");
    let file = zdx.root().join("f");
    setxattr(&file, "user.note", b"kept", XattrFlags::empty()).unwrap();
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

fn the_revert_of_a_deletion_gives_a_file_its_attributes_back() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("f", "one\n");
    let file = zdx.root().join("f");
    setxattr(&file, "user.note", b"kept", XattrFlags::empty()).unwrap();
    let patch = "*** Begin Patch\n*** Delete File: f\n*** End Patch\n";
    calls(&server, [("read", json!({"path": "f"})), ("patch", json!({"patch": patch}))]);
    zdx.run(["exec", "-p", "go"]).success();
    assert!(!file.exists());
    let id = zdx.session_files()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    zdx.run(["sessions", "revert", &id]).success();
    let mut value = [0; 16];
    let length = getxattr(&file, "user.note", &mut value[..]).unwrap();
    assert_eq!((zdx.read("f").as_str(), &value[..length]), ("one\n", &b"kept"[..]));
}
