//! A change keeps everything else in a file: bytes that are not UTF-8, line ends.

use std::fs;

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Zdx};

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
