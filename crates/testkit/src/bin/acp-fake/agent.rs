//! A good agent without a model: it knows its sessions, serves what it advertises and refuses the rest.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};

use crate::script::Script;
use crate::wire::Wire;

/// Whether the turn that runs was called off.
#[derive(Default)]
pub struct Cancel {
    asked: Mutex<bool>,
    heard: Condvar,
}

impl Cancel {
    pub fn ask(&self) {
        *self.asked.lock().unwrap() = true;
        self.heard.notify_all();
    }

    pub fn asked(&self) -> bool {
        *self.asked.lock().unwrap()
    }

    pub fn wait(&self) {
        let asked = self.asked.lock().unwrap();
        drop(self.heard.wait_while(asked, |asked| !*asked).unwrap());
    }
}

pub struct Agent {
    pub script: Script,
    pub wire: Wire,
    /// With the mode that each is in.
    sessions: Mutex<HashMap<String, Session>>,
    authenticated: AtomicBool,
    /// The turn of each session.
    turns: Mutex<HashMap<String, Arc<Cancel>>>,
    /// Where the ids of sessions outlive the process.
    state: Option<PathBuf>,
}

#[derive(Clone)]
struct Session {
    mode: String,
    model: String,
    loud: bool,
    /// Open: loaded, resumed or made in this process.
    open: bool,
    said: Vec<String>,
}

impl Session {
    fn new(open: bool) -> Self {
        let said = vec!["before".to_owned()];
        Self { mode: "ask".into(), model: "small".into(), loud: false, open, said }
    }
}

type Answer = Result<Value, Value>;

fn error(code: i64, message: impl Into<String>) -> Value {
    json!({"code": code, "message": message.into()})
}

impl Agent {
    pub fn new(script: Script, wire: Wire, state: Option<PathBuf>) -> Self {
        let kept = state.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        let known = script.sessions().into_iter().chain(kept.lines().map(str::to_owned));
        let sessions = known.map(|id| (id, Session::new(false))).collect();
        let (authenticated, turns) = (AtomicBool::new(false), Mutex::default());
        Self { script, wire, sessions: Mutex::new(sessions), authenticated, turns, state }
    }

    /// A turn begins: what arrives from now on may call it off.
    pub fn turn(&self, session: &str) -> Arc<Cancel> {
        let cancel = Arc::<Cancel>::default();
        self.turns.lock().unwrap().insert(session.to_owned(), Arc::clone(&cancel));
        cancel
    }

    pub fn cancel(&self, session: &str) {
        if let Some(turn) = self.turns.lock().unwrap().get(session) {
            turn.ask();
        }
    }

    /// What a good agent says.
    pub fn answer(&self, method: &str, params: &Value) -> Answer {
        match method {
            "initialize" => Ok(self.script.change("initialize", initialized())),
            "authenticate" => self.authenticate(params),
            "logout" => {
                self.authenticated.store(false, Ordering::Relaxed);
                Ok(json!({}))
            }
            "session/new" => self.open(params),
            "session/load" => self.reopen(params, true),
            "session/resume" => self.reopen(params, false),
            "session/list" => Ok(json!({"sessions": self.list()})),
            "session/delete" | "session/close" => self.close(method, params),
            "session/set_mode" => self.set_mode(params),
            "session/set_model" => self.set(params, "model", &params["modelId"]).map(|_| json!({})),
            "session/set_config_option" => self.set_option(params),
            "session/prompt" => self.echo(params),
            _ => Err(error(-32601, format!("Method not found: {method}"))),
        }
    }

    fn authenticate(&self, params: &Value) -> Answer {
        if params["methodId"] != "key" {
            return Err(error(-32602, format!("unknown method {}", params["methodId"])));
        }
        self.authenticated.store(true, Ordering::Relaxed);
        Ok(json!({}))
    }

    fn open(&self, params: &Value) -> Answer {
        if self.script.wants_auth() && !self.authenticated.load(Ordering::Relaxed) {
            let mut refused = error(-32000, "Authentication required");
            refused["data"] = json!({"authMethods": methods()});
            return Err(refused);
        }
        if !params["cwd"].as_str().is_some_and(|cwd| cwd.starts_with('/')) || !params["mcpServers"].is_array()
        {
            return Err(error(-32602, "cwd must be absolute and mcpServers an array"));
        }
        let id = {
            let mut sessions = self.sessions.lock().unwrap();
            let id = format!("sess-{}", sessions.len() + 1);
            sessions.insert(id.clone(), Session { said: Vec::new(), ..Session::new(true) });
            id
        };
        if let Some(path) = &self.state {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
            writeln!(file, "{id}").unwrap();
        }
        let mut answer = self.settings(&id)?;
        answer["sessionId"] = json!(id);
        Ok(self.script.change("session", answer))
    }

    fn reopen(&self, params: &Value, replay: bool) -> Answer {
        let id = params["sessionId"].as_str().unwrap_or_default();
        let said = self.session(params, false)?.said;
        if replay {
            for said in &said {
                self.update(id, &json!({"sessionUpdate": "user_message_chunk", "content": text(said)}));
                let again = format!("echo: {said}");
                self.update(id, &json!({"sessionUpdate": "agent_message_chunk", "content": text(&again)}));
            }
        }
        if let Some(session) = self.sessions.lock().unwrap().get_mut(id) {
            session.open = true;
        }
        Ok(self.script.change("session", self.settings(id)?))
    }

    fn session(&self, params: &Value, open: bool) -> Result<Session, Value> {
        let id = params["sessionId"].as_str().unwrap_or_default();
        let found = self.sessions.lock().unwrap().get(id).filter(|session| session.open || !open).cloned();
        found.ok_or_else(|| error(-32002, format!("Session not found: {id}")))
    }

    fn list(&self) -> Vec<Value> {
        let sessions = self.sessions.lock().unwrap();
        let mut ids: Vec<&String> = sessions.keys().collect();
        ids.sort();
        let one = |id: &String| json!({"sessionId": id, "cwd": "/work", "title": format!("about {id}"), "updatedAt": "2026-11-15T10:00:00Z"});
        ids.into_iter().map(one).collect()
    }

    fn close(&self, method: &str, params: &Value) -> Answer {
        self.session(params, false)?;
        let id = params["sessionId"].as_str().unwrap_or_default();
        self.cancel(id);
        let mut sessions = self.sessions.lock().unwrap();
        if method == "session/delete" {
            sessions.remove(id);
        } else if let Some(session) = sessions.get_mut(id) {
            session.open = false;
        }
        Ok(json!({}))
    }

    fn set_mode(&self, params: &Value) -> Answer {
        self.set(params, "mode", &params["modeId"])?;
        let id = params["sessionId"].as_str().unwrap_or_default();
        self.update(id, &json!({"sessionUpdate": "current_mode_update", "currentModeId": params["modeId"]}));
        Ok(json!({}))
    }

    fn set_option(&self, params: &Value) -> Answer {
        let option = params["configId"].as_str().unwrap_or_default();
        self.set(params, option, &params["value"])?;
        let id = params["sessionId"].as_str().unwrap_or_default();
        Ok(json!({"configOptions": self.settings(id)?["configOptions"]}))
    }

    fn set(&self, params: &Value, option: &str, value: &Value) -> Result<(), Value> {
        self.session(params, true)?;
        let id = params["sessionId"].as_str().unwrap_or_default();
        let mut sessions = self.sessions.lock().unwrap();
        let session = sessions.get_mut(id).unwrap();
        match (option, value) {
            ("mode", Value::String(mode)) if mode == "ask" || mode == "code" => session.mode.clone_from(mode),
            ("model", Value::String(model)) if model == "small" || model == "large" => {
                session.model.clone_from(model);
            }
            ("loud", Value::Bool(loud)) => session.loud = *loud,
            _ => return Err(error(-32602, format!("{option} cannot be {value}"))),
        }
        Ok(())
    }

    fn settings(&self, id: &str) -> Answer {
        let session = self.session(&json!({"sessionId": id}), false)?;
        let choice = |value: &str, name: &str| json!({"value": value, "name": name});
        let select = |id: &str, name: &str, current: &str, options: Vec<Value>| json!({"id": id, "name": name, "category": id, "type": "select", "currentValue": current, "options": options});
        let modes = vec![choice("ask", "Ask"), choice("code", "Code")];
        let models = vec![choice("small", "Small"), choice("large", "Large")];
        let loud = json!({"id": "loud", "name": "Loud", "type": "boolean", "currentValue": session.loud});
        Ok(json!({
            "modes": {
                "currentModeId": session.mode,
                "availableModes": [
                    {"id": "ask", "name": "Ask", "description": "Asks first."},
                    {"id": "code", "name": "Code", "description": "Writes code."}
                ]
            },
            "configOptions": [
                select("mode", "Mode", &session.mode, modes),
                select("model", "Model", &session.model, models),
                loud
            ]
        }))
    }

    /// The turn that nobody scripted: what was said comes back.
    fn echo(&self, params: &Value) -> Answer {
        self.session(params, true)?;
        let id = params["sessionId"].as_str().unwrap_or_default();
        let said = prompt_text(params);
        let chunk =
            json!({"sessionUpdate": "agent_message_chunk", "content": text(&format!("echo: {said}"))});
        self.update(id, &chunk);
        if let Some(session) = self.sessions.lock().unwrap().get_mut(id) {
            session.said.push(said);
        }
        Ok(json!({"stopReason": "end_turn"}))
    }

    pub fn update(&self, session: &str, update: &Value) {
        self.wire.notify("session/update", &json!({"sessionId": session, "update": update}));
    }

    /// What follows an answer without being asked for.
    pub fn afterwards(&self, method: &str, session: &str) {
        if matches!(method, "session/new" | "session/load" | "session/resume") {
            let commands = json!([
                {"name": "plan", "description": "Makes a plan.", "input": {"hint": "what for"}},
                {"name": "review", "description": "Reviews a change."}
            ]);
            let update = json!({"sessionUpdate": "available_commands_update", "availableCommands": commands});
            self.update(session, &update);
        }
    }
}

pub fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The blocks of a prompt; links by their addresses.
pub fn prompt_text(params: &Value) -> String {
    let blocks = params["prompt"].as_array().cloned().unwrap_or_default();
    let said = |block: &Value| match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
        Some("resource_link") => format!("<{}>", block["uri"].as_str().unwrap_or_default()),
        _ => block.to_string(),
    };
    blocks.iter().map(said).collect::<Vec<_>>().join(" ")
}

fn methods() -> Value {
    json!([
        {"id": "key", "name": "An API key", "description": "Set FAKE_KEY."},
        {"type": "terminal", "id": "login", "name": "Log in", "args": ["login"], "env": {"FAKE_LOGIN": "1"}}
    ])
}

fn initialized() -> Value {
    json!({
        "protocolVersion": 1,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": false, "audio": false, "embeddedContext": true},
            "mcpCapabilities": {"http": false, "sse": false},
            "sessionCapabilities": {"list": {}, "delete": {}, "resume": {}, "close": {}},
            "auth": {"logout": {}}
        },
        "authMethods": methods(),
        "agentInfo": {"name": "zdx-acp-fake", "title": "The fake", "version": "1.0"}
    })
}
