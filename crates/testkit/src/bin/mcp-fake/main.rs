//! `zdx-mcp-fake`: an MCP server over stdio that behaves well, or badly in one of the ways that clients must survive.
//! Its tools and its faults are chosen on the command line; what it was sent can be read from a file afterwards.

// Nobody catches what goes wrong in a server that only tests start.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::exit)]

mod options;
mod tools;

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use options::Options;

fn main() {
    let options = Options::read(std::env::args().skip(1));
    if let Some(code) = options.exit {
        let _ = writeln!(std::io::stderr(), "cannot find the database\nleaving");
        std::process::exit(code);
    }
    misbehave(&options);
    Server { options, cancelled: Arc::default(), calls: 0 }.run();
}

/// What is wrong with it before anybody asked anything.
fn misbehave(options: &Options) {
    let mut out = std::io::stdout().lock();
    if options.garbage {
        let _ = out.write_all(b"Welcome to the server!\n\x00\xff not json\n{\"half\": \n");
    }
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..options.flood {
        let _ = out.write_all(&chunk);
    }
    if options.flood > 0 {
        let _ = out.write_all(b"\n");
    }
    let _ = out.flush();
    for _ in 0..options.shout {
        let _ = std::io::stderr().write_all(&[b'e'; 1 << 20]);
    }
}

struct Server {
    options: Options,
    /// Ids of calls that nobody wants answered any more.
    cancelled: Arc<Mutex<HashSet<u64>>>,
    calls: usize,
}

impl Server {
    fn run(&mut self) {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            self.note(&line);
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            self.take(&message);
        }
        self.note("eof");
        // One that does not mind that nobody is there any more.
        if self.options.stays {
            std::thread::sleep(Duration::from_secs(3600));
        }
    }

    fn note(&self, line: &str) {
        if let Some(path) = &self.options.log {
            let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
            writeln!(file, "{line}").unwrap();
        }
    }

    fn take(&mut self, message: &Value) {
        let method = message["method"].as_str().unwrap_or_default();
        if method == "notifications/cancelled" {
            let id = message["params"]["requestId"].as_u64().unwrap_or_default();
            self.cancelled.lock().unwrap().insert(id);
        }
        let Some(id) = message["id"].as_u64() else { return };
        let params = &message["params"];
        let result = match method {
            "initialize" => match self.initialize() {
                Some(result) => result,
                None => return,
            },
            "tools/list" => json!({"tools": tools::list(&self.options, self.calls)}),
            "prompts/list" => json!({"prompts": tools::prompts()}),
            "prompts/get" => tools::prompt(params),
            "resources/list" => json!({"resources": tools::resources()}),
            "resources/read" => tools::resource(params),
            "tools/call" => return self.call(id, params),
            _ => {
                return send(
                    &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}}),
                );
            }
        };
        answer(id, result);
    }

    fn initialize(&self) -> Option<Value> {
        if self.options.silent {
            return None;
        }
        std::thread::sleep(self.options.sleep);
        Some(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}, "prompts": {}, "resources": {}},
            "serverInfo": {"name": "fake", "version": "1.0"}
        }))
    }

    fn call(&mut self, id: u64, params: &Value) {
        self.calls += 1;
        let name = params["name"].as_str().unwrap_or_default();
        let given = &params["arguments"];
        match name {
            "crash" => {
                let _ = writeln!(std::io::stderr(), "panic: the table is gone");
                std::process::exit(3);
            }
            "slow" => {
                let token = params["_meta"]["progressToken"].clone();
                let (cancelled, given) = (Arc::clone(&self.cancelled), given.clone());
                std::thread::spawn(move || tools::slow(id, &token, &given, &cancelled));
            }
            "huge" => {
                // The id behind the result, as the TypeScript library writes it.
                let mut out = std::io::stdout().lock();
                let _ = out.write_all(b"{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
                for _ in 0..given["megabytes"].as_u64().unwrap_or(20) {
                    let _ = out.write_all(&vec![b'x'; 1 << 20]);
                }
                let _ = out.write_all(format!("\"}}]}},\"jsonrpc\":\"2.0\",\"id\":{id}}}\n").as_bytes());
                let _ = out.flush();
            }
            "grow" => {
                answer(id, tools::text("grown"));
                send(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
            }
            _ => answer(id, tools::call(name, given)),
        }
    }
}

fn answer(id: u64, result: Value) {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn send(message: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(format!("{message}\n").as_bytes());
    let _ = out.flush();
}
