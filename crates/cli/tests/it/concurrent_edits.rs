//! One file changed from several sides at once: no edit that was reported ok is missing from it.

use serde_json::json;
use zdx_testkit::{ChatReply, ModelServer, Reply, Request, Zdx};

use crate::{SOON, place, results};

const EDITS: usize = 32;

fn lines() -> String {
    (0..2 * EDITS).map(|at| format!("line {at:03}\n")).collect()
}

/// The next edit of an agent that changes every second line, from its first one on; then it is done.
fn next_edit(request: &Request, first: usize) -> ChatReply {
    let done = results(request).len();
    let at = first + 2 * done;
    if done == EDITS {
        return Reply::chat().text("done");
    }
    let edit = json!({"path": "shared.txt", "old": format!("line {at:03}"), "new": format!("done {at:03}")});
    Reply::chat().tool_call(&format!("c{at}"), "edit", edit)
}

/// Checks the edits of a finished agent against the file, and returns how many were reported ok.
fn kept(zdx: &Zdx, last: &Request, first: usize) -> usize {
    let content = zdx.read("shared.txt");
    let ok: Vec<usize> = results(last)
        .iter()
        .enumerate()
        .filter(|(_, result)| result["ok"] == true)
        .map(|(number, _)| first + 2 * number)
        .collect();
    for at in &ok {
        assert!(content.contains(&format!("done {at:03}")), "the edit of line {at} is lost:\n{content}");
    }
    ok.len()
}

fn says(request: &Request, word: &str) -> bool {
    request.messages().iter().any(|message| {
        let content = message["content"].to_string();
        message["role"] == "user" && content.contains(word)
    })
}

#[test]
fn two_subagents_change_one_file() {
    let server = ModelServer::start();
    server.always(|request| {
        if says(request, "the even lines") {
            next_edit(request, 0)
        } else if says(request, "the odd lines") {
            next_edit(request, 1)
        } else if results(request).is_empty() {
            let task = |prompt: &str| json!({"agent": "general", "prompt": prompt});
            Reply::chat().tool_call("t1", "task", task("edit the even lines")).tool_call(
                "t2",
                "task",
                task("edit the odd lines"),
            )
        } else {
            Reply::chat().text("both are done")
        }
    });
    let zdx = place().chat(&server);
    zdx.write("shared.txt", lines());
    zdx.run(["exec", "-p", "go"]).success();
    let ok: usize = [("the even lines", 0), ("the odd lines", 1)]
        .into_iter()
        .map(|(word, first)| {
            let calls = server.calls();
            let last = calls.iter().rev().find(|request| says(request, word)).unwrap();
            kept(&zdx, last, first)
        })
        .sum();
    assert_eq!(ok, 2 * EDITS);
}

/// Another process's change is somebody else's: an edit that meets one is refused, and never lost.
#[test]
fn two_processes_change_one_file() {
    let servers = [0, 1].map(|first| {
        let server = ModelServer::start();
        server.always(move |request| next_edit(request, first));
        server
    });
    let zdx = place().chat(&servers[0]);
    zdx.write("shared.txt", lines());
    let running = servers.each_ref().map(|server| {
        zdx.command().env("ZDX_BASE_URL", server.openai_base()).args(["exec", "-p", "go"]).spawn()
    });
    for process in running {
        process.finish(SOON).success();
    }
    let ok: usize = servers
        .iter()
        .enumerate()
        .map(|(first, server)| kept(&zdx, server.calls().last().unwrap(), first))
        .sum();
    assert!(ok >= EDITS, "{ok}");
}
