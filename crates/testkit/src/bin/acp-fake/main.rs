//! `zdx-acp-fake`: an ACP agent over stdio that behaves well, or plays a script with every fault that clients must survive.
//! Knows no model. What it was sent can be read from a file afterwards.
//!
//! `zdx-acp-fake [--script JSON|@FILE] [--log FILE] [--state FILE]`; the script may also stand in `ZDX_ACP_SCRIPT`. Its form is in
//! `script.rs`, its steps in `player.rs`, and those that have a name in `plays.rs`: a prompt `play NAME` plays one, too.

// Nobody catches what goes wrong in an agent that only tests start.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::exit)]

mod agent;
mod player;
mod plays;
mod script;
mod wire;

use std::io::BufRead;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use agent::Agent;
use script::Script;
use wire::Wire;

fn main() {
    let (mut script, mut log, mut state) = (std::env::var("ZDX_ACP_SCRIPT").ok(), None, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("a value");
        match word.as_str() {
            "--script" => script = Some(value()),
            "--log" => log = Some(PathBuf::from(value())),
            "--state" => state = Some(PathBuf::from(value())),
            // As real agents have them to be started for this protocol.
            "acp" | "--acp" => {}
            other => panic!("unknown option {other}"),
        }
    }
    let script = Script::read(script.as_deref().unwrap_or("{}"));
    let agent = Arc::new(Agent::new(script, Wire::new(log), state));
    agent.wire.note(&json!({"pid": std::process::id()}).to_string());
    player::begin(&agent, "start", None, &Value::Null);
    for line in std::io::stdin().lock().split(b'\n').map_while(Result::ok) {
        agent.wire.note(&String::from_utf8_lossy(&line));
        take(&agent, &line);
    }
    agent.wire.note("eof");
    // One that does not mind that nobody is there any more.
    if agent.script.stays() {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn take(agent: &Arc<Agent>, line: &[u8]) {
    if line.trim_ascii().is_empty() {
        return;
    }
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        let error = json!({"code": -32700, "message": "Parse error"});
        return agent.wire.send(&json!({"jsonrpc": "2.0", "id": null, "error": error}));
    };
    let id = message.get("id").filter(|id| !id.is_null()).cloned();
    match (message["method"].as_str(), id) {
        (Some(method), id) => player::begin(agent, method, id, &message["params"]),
        (None, Some(id)) => agent.wire.answered(&id, message),
        (None, None) => {
            let error = json!({"code": -32600, "message": "Invalid request"});
            agent.wire.send(&json!({"jsonrpc": "2.0", "id": null, "error": error}));
        }
    }
}
