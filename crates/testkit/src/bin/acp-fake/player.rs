//! A play, step by step. A step is an object with one of these names (and what else it says there):
//!
//! | step | what it does |
//! |---|---|
//! | `say`, `think`, `user` TEXT | a chunk of that kind |
//! | `update` {…} | any `session/update` of this session |
//! | `notify` METHOD, `params` | any notification |
//! | `ask` METHOD, `params`, `id`?, `as`?, `wait`? | asks the client, and waits for its answer unless `wait` is false; `"$NAME/pointer"` in later steps is what stands in it, `$params` what came |
//! | `raw` TEXT, `bytes` \[…\] | a line as it is; bytes without an end |
//! | `chunks` N, `long` BYTES | that many chunks; one line of that length that is a chunk |
//! | `stderr` TEXT, `exit` CODE, `sleep` MS, `gate` FILE, `child` SECONDS | the process itself; a gate opens when the file is there |
//! | `env` NAME, `cwd` | says what it was started with |
//! | `wait` "cancel", `deaf` | until it is called off; from here on it does not mind |
//! | `result` {…}, `fail` {…}, `stop` REASON, `never` | the answer, or none at all |

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::{Agent, Cancel, prompt_text, text};
use crate::plays;

struct Player {
    agent: Arc<Agent>,
    id: Option<Value>,
    session: String,
    cancel: Arc<Cancel>,
    deaf: bool,
    /// Answers that have a name.
    kept: serde_json::Map<String, Value>,
}

enum Next {
    Step,
    /// The answer is given, or there will be none.
    End,
    Answer(Result<Value, Value>),
}

/// Deals with one message, on a thread of its own when it may take its time.
pub fn begin(agent: &Arc<Agent>, method: &str, id: Option<Value>, params: &Value) {
    let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
    if method == "session/cancel" {
        agent.cancel(&session);
    }
    let steps = match agent.script.play(method) {
        Some(steps) => steps,
        None if method == "session/prompt" => {
            let words = prompt_text(params);
            words.strip_prefix("play ").map(|name| plays::named(name.trim())).unwrap_or_default()
        }
        None => Vec::new(),
    };
    if steps.is_empty() {
        if let Some(id) = id {
            give(agent, method, &id, params, agent.answer(method, params));
        }
        return;
    }
    // Made here: what comes next may already call it off.
    let cancel = agent.turn(&session);
    let kept = serde_json::Map::from_iter([("params".to_owned(), params.clone())]);
    let player = Player { agent: Arc::clone(agent), id, session, cancel, deaf: false, kept };
    let (method, params) = (method.to_owned(), params.clone());
    let at_once = method == "start";
    let play = std::thread::spawn(move || player.run(&steps, &method, &params));
    if at_once {
        let _ = play.join();
    }
}

fn give(agent: &Agent, method: &str, id: &Value, params: &Value, answer: Result<Value, Value>) {
    let session = match &answer {
        Ok(result) => result["sessionId"].as_str().or(params["sessionId"].as_str()).map(str::to_owned),
        Err(_) => None,
    };
    match answer {
        Ok(result) => agent.wire.send(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
        Err(error) => agent.wire.send(&json!({"jsonrpc": "2.0", "id": id, "error": error})),
    }
    if let Some(session) = session {
        agent.afterwards(method, &session);
    }
}

impl Player {
    fn run(mut self, steps: &[Value], method: &str, params: &Value) {
        let mut answer = None;
        for step in steps {
            if self.cancel.asked() && !self.deaf {
                answer = Some(Ok(json!({"stopReason": "cancelled"})));
                break;
            }
            match self.step(&self.filled(step)) {
                Next::Step => {}
                Next::End => return,
                Next::Answer(given) => {
                    answer = Some(given);
                    break;
                }
            }
        }
        let Some(id) = &self.id else { return };
        let answer = answer.unwrap_or_else(|| match (method, self.cancel.asked() && !self.deaf) {
            ("session/prompt", true) => Ok(json!({"stopReason": "cancelled"})),
            ("session/prompt", false) => Ok(json!({"stopReason": "end_turn"})),
            _ => self.agent.answer(method, params),
        });
        give(&self.agent, method, id, params, answer);
    }

    fn step(&mut self, step: &Value) -> Next {
        let (name, value) = step.as_object().and_then(|step| step.iter().next()).expect("a step");
        let word = value.as_str().unwrap_or_default();
        let number = value.as_u64().unwrap_or_default();
        match name.as_str() {
            "say" => self.chunk("agent_message_chunk", word),
            "think" => self.chunk("agent_thought_chunk", word),
            "user" => self.chunk("user_message_chunk", word),
            "update" => self.agent.update(&self.session, value),
            "notify" => self.agent.wire.notify(word, &step["params"]),
            "ask" => self.ask(word, step),
            "raw" => self.agent.wire.raw(format!("{word}\n").as_bytes()),
            "bytes" => {
                let bytes = value.as_array().expect("bytes").iter();
                let bytes: Vec<u8> =
                    bytes.filter_map(Value::as_u64).filter_map(|byte| u8::try_from(byte).ok()).collect();
                self.agent.wire.raw(&bytes);
            }
            "chunks" => self.chunks(number),
            "long" => self.chunk("agent_message_chunk", &"x".repeat(usize::try_from(number).unwrap())),
            "env" => self.chunk("agent_message_chunk", &std::env::var(word).unwrap_or("unset".into())),
            "cwd" => {
                let cwd = std::env::current_dir().unwrap();
                self.chunk("agent_message_chunk", cwd.to_str().unwrap());
            }
            "wait" => self.cancel.wait(),
            "deaf" => self.deaf = true,
            // Before the rest of the play.
            "answer" => {
                if let Some(id) = self.id.take() {
                    self.agent.wire.send(&json!({"jsonrpc": "2.0", "id": id, "result": value}));
                }
            }
            "result" => return Next::Answer(Ok(value.clone())),
            "fail" => return Next::Answer(Err(value.clone())),
            "stop" => return Next::Answer(Ok(json!({"stopReason": word}))),
            "never" => return Next::End,
            _ => self.process(name, word, value),
        }
        Next::Step
    }

    fn process(&self, name: &str, word: &str, value: &Value) {
        let number = value.as_u64().unwrap_or_default();
        match name {
            "stderr" => {
                let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{word}\n").as_bytes());
            }
            "exit" => std::process::exit(i32::try_from(number).unwrap()),
            "sleep" => std::thread::sleep(Duration::from_millis(number)),
            "gate" => {
                while !Path::new(word).exists() {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            "child" => {
                // It holds our streams, as a server that an agent forgot does.
                let child = Command::new("sleep").arg(number.to_string()).stdin(Stdio::null()).spawn();
                self.agent.wire.note(&json!({"child": child.unwrap().id()}).to_string());
            }
            other => panic!("unknown step {other}"),
        }
    }

    fn ask(&mut self, method: &str, step: &Value) {
        let mut params = step["params"].clone();
        if let Some(params) = params.as_object_mut() {
            params.entry("sessionId").or_insert_with(|| json!(self.session));
        }
        let answered = self.agent.wire.ask(step.get("id"), method, &params);
        if step["wait"] == false {
            return;
        }
        let Ok(answer) = answered.recv() else { return };
        if let Some(name) = step["as"].as_str() {
            let kept = answer.get("result").or(answer.get("error")).cloned();
            self.kept.insert(name.to_owned(), kept.unwrap_or_default());
        }
    }

    fn chunk(&self, kind: &str, words: &str) {
        self.agent.update(&self.session, &json!({"sessionUpdate": kind, "content": text(words)}));
    }

    /// As quickly as they can be written.
    fn chunks(&self, count: u64) {
        let mut all = String::new();
        for n in 1..=count {
            let update = json!({"sessionUpdate": "agent_message_chunk", "content": text(&format!("{n} "))});
            let params = json!({"sessionId": self.session, "update": update});
            let frame = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
            all.push_str(&frame.to_string());
            all.push('\n');
            if all.len() > 1 << 16 {
                self.agent.wire.raw(all.as_bytes());
                all.clear();
            }
        }
        self.agent.wire.raw(all.as_bytes());
    }

    /// With what stands in kept answers, and the session's folder for `$cwd`.
    fn filled(&self, step: &Value) -> Value {
        match step {
            Value::String(word) => match word.strip_prefix('$').and_then(|path| self.meant(path)) {
                Some(value) => value,
                None => step.clone(),
            },
            Value::Array(all) => all.iter().map(|one| self.filled(one)).collect(),
            Value::Object(all) => all.iter().map(|(name, one)| (name.clone(), self.filled(one))).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => step.clone(),
        }
    }

    fn meant(&self, path: &str) -> Option<Value> {
        let cwd = std::env::current_dir().unwrap();
        if let Some(rest) = path.strip_prefix("cwd") {
            return Some(json!(format!("{}{rest}", cwd.display())));
        }
        let (name, below) = path.split_at(path.find('/').unwrap_or(path.len()));
        self.kept.get(name)?.pointer(below).cloned()
    }
}
