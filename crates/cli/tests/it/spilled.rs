//! Outputs that are too long to show: always readable by the model, and no more than a session may keep.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Zdx};

use crate::{place, results, with_model};

/// A session whose one command printed more than is shown, and the file that has all of it.
fn with_output(server: &ModelServer, zdx: &Zdx) -> String {
    server.push(Reply::chat().tool_call("long", "bash", json!({"command": "seq 20000"})));
    server.push(Reply::chat().text("done"));
    zdx.run(["exec", "--approval", "yolo", "-p", "go"]).success();
    let data = &results(&server.calls()[1])[0]["data"];
    data["stdout_file"].as_str().unwrap().to_owned()
}

#[test]
fn outputs_are_read_in_the_strictest_preset_and_where_other_folders_are_denied() {
    let server = ModelServer::start();
    let zdx = with_model(&server).config_more("permission = { external_directory = \"deny\" }");
    let file = with_output(&server, &zdx);
    let folder = std::path::Path::new(&file).parent().unwrap().to_owned();
    let secret = zdx.home().join("secret");
    fs::write(&secret, "19999 secret").unwrap();
    symlink(&secret, folder.join("led.stdout")).unwrap();
    let led = folder.join("led.stdout");
    server.push(
        Reply::chat()
            .tool_call("r", "read", json!({"path": file, "offset": 19_999}))
            .tool_call("g", "grep", json!({"pattern": "^19999$", "path": file}))
            .tool_call("l", "read", json!({"path": led}))
            .tool_call("o", "read", json!({"path": folder.join("log")}))
            .done(),
    );
    server.push(Reply::chat().text("read"));
    zdx.run(["-c", "exec", "--approval", "paranoid", "-p", "look"]).success();
    let mut read = results(&server.calls()[3]);
    let last = read.split_off(read.len() - 4);
    assert!(last[0]["data"]["content"].as_str().unwrap().contains("20000"), "{}", last[0]);
    assert!(last[1]["data"].to_string().contains("19999"), "{}", last[1]);
    assert_eq!(last[2]["ok"], false, "a link leads out: {}", last[2]);
    assert_eq!(last[3]["ok"], false, "{}", last[3]);
}

#[test]
fn an_agent_of_a_task_reads_what_its_parent_was_shown_in_part_and_the_other_way_round() {
    let server = ModelServer::start();
    server.always(|request| {
        let messages = request.messages();
        let first = messages.iter().find(|m| m["role"] == "user").unwrap()["content"].to_string();
        let seen = results(request);
        let file = |result: &Value| result["data"]["stdout_file"].as_str().unwrap().to_owned();
        match (first.contains("delegate"), seen.len()) {
            (true, 0) => Reply::chat().tool_call("p", "bash", json!({"command": "seq 20000"})).done(),
            (true, 1) => {
                let prompt = format!("read {}", file(&seen[0]));
                Reply::chat().tool_call("t", "task", json!({"agent": "general", "prompt": prompt})).done()
            }
            (true, 2) => {
                let report = seen[1]["data"]["report"].as_str().unwrap().to_owned();
                Reply::chat().tool_call("r", "read", json!({"path": report, "offset": 29_999})).done()
            }
            (true, _) => Reply::chat().text("done").done(),
            (false, 0) => {
                let path = first.split("read ").nth(1).unwrap().trim_end_matches('"').to_owned();
                Reply::chat()
                    .tool_call("c", "read", json!({"path": path, "offset": 19_999}))
                    .tool_call("o", "bash", json!({"command": "seq 30000"}))
                    .done()
            }
            (false, _) => {
                assert!(seen[0]["data"]["content"].as_str().unwrap().contains("20000"), "{}", seen[0]);
                Reply::chat().text(&file(&seen[1])).done()
            }
        }
    });
    let zdx = place().chat(&server).config_more("permission = { external_directory = \"deny\" }");
    zdx.run(["exec", "-p", "delegate"]).success();
    let last = server.calls().pop().unwrap();
    let read = results(&last).pop().unwrap();
    assert!(read["data"]["content"].as_str().unwrap().contains("30000"), "{read}");
}

#[test]
fn what_a_session_keeps_of_long_outputs_has_a_limit_that_is_told() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let file = with_output(&server, &zdx);
    // Sparse: it takes no room.
    fs::File::create(format!("{file}.9")).unwrap().set_len(512 << 20).unwrap();
    server.push(Reply::chat().tool_call("more", "bash", json!({"command": "seq 20000"})));
    server.push(Reply::chat().text("done"));
    zdx.run(["-c", "exec", "-p", "again"]).success();
    let result = results(&server.calls()[3]).pop().unwrap();
    let why = "the whole is not kept, because the long outputs of this session take up 512 MiB";
    assert!(result.to_string().contains(why), "it is told");
    assert_eq!(result["data"].get("stdout_file"), None);
    assert!(fs::metadata(&file).unwrap().len() > 100_000, "what was kept before stays");
}
