//! What can be set in a session, in one view: config options, and the modes and models that older agents have instead.

use serde_json::{Value, json};

use super::{list, text};

/// One thing that can be set.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    pub id: String,
    pub name: Option<String>,
    pub category: Option<String>,
    pub kind: Kind,
    pub via: Via,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Select {
        current: Option<String>,
        choices: Vec<Choice>,
    },
    Boolean {
        current: Option<bool>,
    },
    /// A type that nobody knows: whatever is wanted is sent as text.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub value: String,
    pub name: Option<String>,
    pub description: Option<String>,
}

/// Which method sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    ConfigOption,
    SetMode,
    /// In no schema any more, but agents of that age have it.
    SetModel,
}

impl Setting {
    /// The `configOptions` of an answer or an update.
    pub(super) fn all(value: &Value) -> Vec<Self> {
        list(value, "configOptions").iter().filter_map(Self::read).collect()
    }

    fn read(option: &Value) -> Option<Self> {
        let kind = match option["type"].as_str() {
            Some("boolean") => Kind::Boolean { current: option["currentValue"].as_bool() },
            Some("select") | None => {
                Kind::Select { current: text(option, "currentValue"), choices: Choice::all(option) }
            }
            Some(_) => Kind::Unknown,
        };
        Some(Self {
            id: text(option, "id")?,
            name: text(option, "name"),
            category: text(option, "category"),
            kind,
            via: Via::ConfigOption,
        })
    }

    fn legacy(state: &Value, id: &str, via: Via) -> Option<Self> {
        let (current, available, value) = match via {
            Via::SetMode => ("currentModeId", "availableModes", "id"),
            Via::SetModel => ("currentModelId", "availableModels", "modelId"),
            Via::ConfigOption => return None,
        };
        let choices: Vec<Choice> =
            list(state, available).iter().filter_map(|choice| Choice::read(choice, value)).collect();
        let kind = Kind::Select { current: text(state, current), choices };
        let some = matches!(&kind, Kind::Select { choices, .. } if !choices.is_empty());
        let category = Some(id.to_owned());
        some.then(|| Self { id: id.to_owned(), name: None, category, kind, via })
    }

    pub fn choices(&self) -> &[Choice] {
        match &self.kind {
            Kind::Select { choices, .. } => choices,
            Kind::Boolean { .. } | Kind::Unknown => &[],
        }
    }

    pub fn current(&self) -> Option<String> {
        match &self.kind {
            Kind::Select { current, .. } => current.clone(),
            Kind::Boolean { current } => current.map(|flag| flag.to_string()),
            Kind::Unknown => None,
        }
    }

    /// The value that is meant: by itself, else by its name. `None`: there is no such.
    pub fn find(&self, wanted: &str) -> Option<Value> {
        match &self.kind {
            Kind::Select { choices, .. } => {
                let by_name = |choice: &&Choice| {
                    choice.name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(wanted))
                };
                let found = choices
                    .iter()
                    .find(|choice| choice.value == wanted)
                    .or_else(|| choices.iter().find(by_name))?;
                Some(Value::from(found.value.as_str()))
            }
            Kind::Boolean { .. } => match wanted {
                "true" | "on" | "yes" => Some(Value::Bool(true)),
                "false" | "off" | "no" => Some(Value::Bool(false)),
                _ => None,
            },
            Kind::Unknown => Some(Value::from(wanted)),
        }
    }

    /// Everything that can be said instead.
    pub fn values(&self) -> Vec<&str> {
        match &self.kind {
            Kind::Select { choices, .. } => choices.iter().map(|choice| choice.value.as_str()).collect(),
            Kind::Boolean { .. } => vec!["true", "false"],
            Kind::Unknown => Vec::new(),
        }
    }

    /// The call that sets it.
    pub fn set(&self, session: &str, value: &Value) -> (&'static str, Value) {
        match (self.via, &self.kind) {
            (Via::SetMode, _) => ("session/set_mode", json!({"sessionId": session, "modeId": value})),
            (Via::SetModel, _) => ("session/set_model", json!({"sessionId": session, "modelId": value})),
            (Via::ConfigOption, Kind::Boolean { .. }) => (
                "session/set_config_option",
                json!({"sessionId": session, "configId": self.id, "type": "boolean", "value": value}),
            ),
            (Via::ConfigOption, Kind::Select { .. } | Kind::Unknown) => (
                "session/set_config_option",
                json!({"sessionId": session, "configId": self.id, "value": value}),
            ),
        }
    }
}

impl Choice {
    /// Plain ones, and those of groups, whichever key holds them.
    fn all(option: &Value) -> Vec<Self> {
        let mut found = Vec::new();
        for entry in list(option, "options").iter().chain(list(option, "groups")) {
            match entry["options"].is_array() {
                true => {
                    found.extend(list(entry, "options").iter().filter_map(|one| Self::read(one, "value")))
                }
                false => found.extend(Self::read(entry, "value")),
            }
        }
        found
    }

    fn read(choice: &Value, value: &str) -> Option<Self> {
        Some(Self {
            value: text(choice, value)?,
            name: text(choice, "name"),
            description: text(choice, "description"),
        })
    }
}

/// Everything that can be set in a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choices {
    options: Vec<Setting>,
    mode: Option<Setting>,
    model: Option<Setting>,
}

impl Choices {
    /// Takes in the answer to `session/new`, `load` or `resume`, or to a setting; what it does not speak of stays.
    pub fn take(&mut self, answer: &Value) {
        if answer["configOptions"].is_array() {
            self.options = Setting::all(answer);
        }
        if answer["modes"].is_object() {
            self.mode = Setting::legacy(&answer["modes"], "mode", Via::SetMode);
        }
        if answer["models"].is_object() {
            self.model = Setting::legacy(&answer["models"], "model", Via::SetModel);
        }
    }

    pub fn replace(&mut self, options: Vec<Setting>) {
        self.options = options;
    }

    pub fn set_mode(&mut self, mode: String) {
        if let Some(Setting { kind: Kind::Select { current, .. }, .. }) = &mut self.mode {
            *current = Some(mode);
        }
    }

    /// Config options win over what they supersede.
    pub fn mode(&self) -> Option<&Setting> {
        self.of("mode").or(self.mode.as_ref())
    }

    pub fn model(&self) -> Option<&Setting> {
        self.of("model").or(self.model.as_ref())
    }

    fn of(&self, category: &str) -> Option<&Setting> {
        self.options.iter().find(|option| option.category.as_deref() == Some(category))
    }

    pub fn option(&self, id: &str) -> Option<&Setting> {
        self.options.iter().find(|option| option.id == id)
    }

    pub fn options(&self) -> &[Setting] {
        &self.options
    }
}
