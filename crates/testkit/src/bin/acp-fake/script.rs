//! How it is to behave. All of it may be left out:
//!
//! ```json
//! {"initialize": {"protocolVersion": 0},   what the answer to initialize has otherwise, by its top fields
//!  "session": {"modes": null},             the same for session/new, load and resume
//!  "auth": true,                           session/new wants an authenticate first
//!  "sessions": ["old-1"],                  that it knows from before
//!  "stays": true,                          it goes on when its stdin is closed
//!  "on": {"session/prompt": ["turn", [{"say": "hi"}, {"stop": "refusal"}]]}}
//! ```
//!
//! `on` has what is played when a method arrives, and at the `start`: for each time one play, the last one for all that
//! follow. A play is a list of steps, or the name of one. What a play does not answer is answered as a good agent does.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::{Map, Value};

use crate::plays;

pub struct Script {
    all: Value,
    times: Mutex<HashMap<String, usize>>,
}

impl Script {
    pub fn read(text: &str) -> Self {
        let text = match text.strip_prefix('@') {
            Some(path) => std::fs::read_to_string(path).expect("a script"),
            None => text.to_owned(),
        };
        let all = serde_json::from_str(&text).expect("a script is JSON");
        Self { all, times: Mutex::default() }
    }

    pub fn stays(&self) -> bool {
        self.all["stays"] == true
    }

    pub fn wants_auth(&self) -> bool {
        self.all["auth"] == true
    }

    pub fn sessions(&self) -> Vec<String> {
        match self.all["sessions"].as_array() {
            Some(ids) => ids.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            None => vec!["old-1".to_owned()],
        }
    }

    /// The fields that an answer has otherwise; a null takes one away.
    pub fn change(&self, part: &str, mut answer: Value) -> Value {
        let none = Map::new();
        let changes = self.all[part].as_object().unwrap_or(&none);
        if let Some(answer) = answer.as_object_mut() {
            for (name, value) in changes {
                if value.is_null() {
                    answer.remove(name);
                } else {
                    answer.insert(name.clone(), value.clone());
                }
            }
        }
        answer
    }

    /// What is played this time.
    pub fn play(&self, method: &str) -> Option<Vec<Value>> {
        let plays = self.all["on"].get(method)?;
        let time = {
            let mut times = self.times.lock().unwrap();
            let time = times.entry(method.to_owned()).or_default();
            *time += 1;
            *time - 1
        };
        match plays {
            Value::String(name) => Some(plays::named(name)),
            Value::Array(several) if several.iter().all(|play| play.is_string() || play.is_array()) => {
                match several.get(time).or(several.last())? {
                    Value::String(name) => Some(plays::named(name)),
                    play => play.as_array().cloned(),
                }
            }
            Value::Array(steps) => Some(steps.clone()),
            _ => panic!("{method}: a play is a name or a list of steps"),
        }
    }
}
