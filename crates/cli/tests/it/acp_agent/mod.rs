//! `zdx acp-agent` through the real binary: a client of plain JSON lines on one side, the scripted model on the other.

mod conform;
mod files;
mod handshake;
mod permissions;
mod sessions;
mod settings;
mod turns;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zdx_testkit::{Running, Zdx};

use crate::SOON;

/// A client that does what the test says, and keeps all it hears.
pub struct Client {
    running: Running,
    next: u64,
}

impl Client {
    pub fn raw(zdx: &Zdx, options: &[&str]) -> Self {
        Self { running: zdx.command().arg("acp-agent").args(options).stdin_open().spawn(), next: 0 }
    }

    /// Greeted.
    pub fn start(zdx: &Zdx, options: &[&str]) -> Self {
        let mut client = Self::raw(zdx, options);
        client
            .call("initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}))
            .expect("a greeting");
        client
    }

    fn send(&mut self, frame: &Value) {
        self.running.write(format!("{frame}\n"));
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// All that came so far. Whatever is no frame fails the test.
    pub fn heard(&self) -> Vec<Value> {
        let stdout = self.running.stdout();
        let whole = stdout.rfind('\n').map_or("", |end| &stdout[..end]);
        whole.lines().map(|line| serde_json::from_str(line).expect("nothing but frames on stdout")).collect()
    }

    #[track_caller]
    fn wait<T>(&self, what: &str, find: impl Fn(&[Value]) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            if let Some(found) = find(&self.heard()) {
                return found;
            }
            let (out, err) = (self.running.stdout(), self.running.stderr());
            assert!(start.elapsed() < SOON, "not in time: {what}\n{out}\n--- stderr\n{err}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[track_caller]
    pub fn answer(&self, id: u64) -> Result<Value, Value> {
        self.wait(&format!("an answer to {id}"), |frames| {
            let frame = frames.iter().find(|frame| frame["id"] == id && frame.get("method").is_none())?;
            Some(frame.get("error").map_or_else(|| Ok(frame["result"].clone()), |error| Err(error.clone())))
        })
    }

    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.ask(method, params);
        self.answer(id)
    }

    #[track_caller]
    pub fn open(&mut self, zdx: &Zdx) -> String {
        let made = self.call("session/new", json!({"cwd": zdx.root(), "mcpServers": []})).expect("a session");
        made["sessionId"].as_str().expect("its id").to_owned()
    }

    fn begin(&mut self, session: &str, text: &str) -> u64 {
        self.ask("session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}))
    }

    /// How the turn ended.
    #[track_caller]
    fn prompt(&mut self, session: &str, text: &str) -> Result<Value, Value> {
        let id = self.begin(session, text);
        self.answer(id).map(|result| result["stopReason"].clone())
    }

    fn updates(&self, session: &str) -> Vec<Value> {
        let of =
            |frame: &Value| frame["method"] == "session/update" && frame["params"]["sessionId"] == session;
        self.heard().iter().filter(|frame| of(frame)).map(|frame| frame["params"]["update"].clone()).collect()
    }

    fn updates_of(&self, session: &str, kind: &str) -> Vec<Value> {
        let all = self.updates(session).into_iter();
        all.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// All that the agent said.
    fn said(&self, session: &str) -> String {
        let chunks = self.updates_of(session, "agent_message_chunk");
        chunks.iter().map(|chunk| chunk["content"]["text"].as_str().unwrap().to_owned()).collect()
    }

    /// The nth request of the agent, from 0: its id and what it brings.
    #[track_caller]
    fn request(&self, n: usize) -> (Value, Value) {
        self.wait(&format!("request {n} of the agent"), |frames| {
            let asks = |frame: &&Value| frame.get("id").is_some() && frame.get("method").is_some();
            let frame = frames.iter().filter(asks).nth(n)?;
            assert_eq!(frame["method"], "session/request_permission");
            Some((frame["id"].clone(), frame["params"].clone()))
        })
    }

    fn reply(&mut self, id: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn select(&mut self, id: &Value, option: &str) {
        self.reply(id, json!({"outcome": {"outcome": "selected", "optionId": option}}));
    }

    /// Hangs up, and sees it end well.
    #[track_caller]
    pub fn hang_up(mut self) {
        self.running.close_stdin();
        let output = self.running.finish(SOON).success();
        output.json_lines();
    }
}
