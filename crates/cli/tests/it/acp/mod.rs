//! `zdx acp` through the real binary, against an agent that plays a script: what it prints where, what it sends, how it ends.

mod backend;
mod contract;
mod face;
mod faults;
mod host;
mod lists;
mod output;
mod proxy;
mod recording;
mod sessions;
mod settings;
mod signals;
mod ways;

use std::path::PathBuf;

use serde_json::{Value, json};
use zdx_testkit::{Run, Zdx, acp_fake};

use crate::place;

/// A place whose only agent plays this script.
fn with_agent(script: Value) -> Zdx {
    let zdx = place();
    let log = log_of(&zdx);
    let args = json!(["--script", script.to_string(), "--log", log, "--state", zdx.home().join("state")]);
    settings(&zdx, &json!({"agent_servers": {"fake": {"command": acp_fake(), "args": args}}}));
    zdx
}

/// The agent's answer to a prompt is this play.
fn playing(play: Value) -> Zdx {
    with_agent(json!({"on": {"session/prompt": play}}))
}

fn settings(zdx: &Zdx, value: &Value) {
    std::fs::write(zdx.storage().join("acp.json"), value.to_string()).unwrap();
}

fn log_of(zdx: &Zdx) -> PathBuf {
    zdx.home().join("sent")
}

fn acp<'z>(zdx: &'z Zdx, args: &[&str]) -> Run<'z> {
    zdx.command().arg("acp").args(args)
}

/// What the agent was sent.
fn sent(zdx: &Zdx) -> Vec<Value> {
    let text = std::fs::read_to_string(log_of(zdx)).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The parameters of all calls of this method.
fn sent_of(zdx: &Zdx, method: &str) -> Vec<Value> {
    let calls = sent(zdx).into_iter().filter(|frame| frame["method"] == method);
    calls.map(|mut frame| frame["params"].take()).collect()
}

/// The methods of all requests and notifications that the agent was sent.
fn methods(zdx: &Zdx) -> Vec<String> {
    sent(zdx).iter().filter_map(|frame| frame["method"].as_str().map(str::to_owned)).collect()
}

/// What the client answered to the requests of the agent.
fn answers(zdx: &Zdx) -> Vec<Value> {
    sent(zdx).into_iter().filter(|frame| frame.get("method").is_none() && frame.get("id").is_some()).collect()
}
