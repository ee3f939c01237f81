//! The real binary, from the outside: what it prints where, what it leaves behind, how it ends.

// A broken expectation is a failed test, in helpers too.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod acp;
mod acp_agent;
mod agents;
mod approvals;
mod calls;
mod case_rows;
mod chat;
mod chat_sessions;
mod check_offer;
mod checks;
mod comeback;
mod concurrent_edits;
mod config;
mod context;
mod context_refusals;
mod conversation;
mod doors;
mod exec;
mod facts;
mod faults;
mod file_contents;
mod file_names;
mod goes_on;
mod grants;
mod guard;
mod handoff;
mod history;
mod images;
mod json;
mod killed;
mod left_behind;
mod lines;
mod mcp;
mod models;
mod outside;
mod poisoned;
mod policy_cmd;
mod privacy;
mod requests;
mod retold;
mod room;
mod secrets;
mod servers;
mod sessions;
mod signals;
mod spec;
mod spilled;
mod stdin;
mod todos;
mod told_again;
mod trust;
mod trusted_scripts;
mod tui_approval;
mod tui_composer;
mod tui_conversation;
mod tui_enemy;
mod tui_modes;
mod tui_resize;
mod tui_start;
mod tui_status;
mod tui_typed;
mod turns;
mod unseen;
mod usage;
mod walls;
mod ways_out;
mod words;
mod workbench;

use std::time::Duration;

use serde_json::Value;
use zdx_testkit::{Gate, ModelServer, Reply, Request, Step, Zdx};

/// For things that take milliseconds: long enough for a busy machine, short enough to notice a hang.
const SOON: Duration = Duration::from_secs(60);

fn place() -> Zdx {
    Zdx::new(env!("CARGO_BIN_EXE_zdx"))
}

fn with_model(server: &ModelServer) -> Zdx {
    place().chat(server)
}

/// The last thing the user is seen to have said in a request.
fn prompt_of(request: &Request) -> String {
    let said = request.messages().iter().rev().find(|message| message["role"] == "user").expect("a prompt");
    match &said["content"] {
        Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().expect("text").to_owned(),
    }
}

/// What the tools are seen to have answered in a request.
fn results(request: &Request) -> Vec<Value> {
    turns::chat_results(request).into_iter().map(|(_, result)| result).collect()
}

/// The reply stops before the event that carries this text, until the gate opens.
fn hold_before(reply: Reply, text: &str, gate: &Gate) -> Reply {
    let body = String::from_utf8(reply.body_bytes()).expect("a text stream");
    let at = body.find(text).expect("the text is in the reply");
    let event = body[..at].rfind("data:").expect("an event carries it");
    reply.insert_at(event, Step::WaitFor(gate.clone()))
}
