//! The lines that go out, the answers that come back, and the file in which both sides' words are noted.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};

pub struct Wire {
    log: Option<PathBuf>,
    next: AtomicU64,
    waiting: Mutex<HashMap<String, Sender<Value>>>,
    noting: Mutex<()>,
}

impl Wire {
    pub fn new(log: Option<PathBuf>) -> Self {
        Self { log, next: AtomicU64::new(0), waiting: Mutex::default(), noting: Mutex::default() }
    }

    /// One line of the file: what came, word for word.
    pub fn note(&self, line: &str) {
        let _one = self.noting.lock().unwrap();
        if let Some(path) = &self.log {
            let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
            file.write_all(format!("{line}\n").as_bytes()).unwrap();
        }
    }

    pub fn send(&self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    pub fn raw(&self, bytes: &[u8]) {
        let mut out = std::io::stdout().lock();
        // Nobody reads any more: stdin ends, too.
        let _ = out.write_all(bytes);
        let _ = out.flush();
    }

    pub fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Asks the client; its whole answer comes by the receiver.
    pub fn ask(&self, id: Option<&Value>, method: &str, params: &Value) -> Receiver<Value> {
        let next = || json!(self.next.fetch_add(1, Ordering::Relaxed));
        let id = id.cloned().unwrap_or_else(next);
        let (answer, answered) = channel();
        self.waiting.lock().unwrap().insert(id.to_string(), answer);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        answered
    }

    pub fn answered(&self, id: &Value, message: Value) {
        if let Some(waiting) = self.waiting.lock().unwrap().remove(&id.to_string()) {
            let _ = waiting.send(message);
        }
    }
}
