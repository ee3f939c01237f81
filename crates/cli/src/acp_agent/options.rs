//! What can be chosen in a session, as modes and as config options: the agent, the model, the approval preset.

use serde_json::{Value, json};
use zdx_acp::RpcError;
use zdx_protocol::query::{AgentInfo, ModelOffer};
use zdx_protocol::{Approval, Command, Event, SessionInfo};

const AGENT: &str = "agent";
const MODEL: &str = "model";
const APPROVAL: &str = "approval";

pub struct Options {
    agents: Vec<AgentInfo>,
    models: Vec<ModelOffer>,
    agent: String,
    model: String,
    approval: Approval,
}

impl Options {
    pub fn new(info: &SessionInfo, agents: Vec<AgentInfo>) -> Self {
        let agents = agents.into_iter().filter(|agent| agent.primary).collect();
        let (agent, model, approval) = (info.agent.clone(), info.model.clone(), info.approval);
        Self { agents, models: Vec::new(), agent, model, approval }
    }

    pub fn offer(&mut self, models: Vec<ModelOffer>) {
        self.models = models;
    }

    /// Whether something else is chosen from now on.
    pub fn note(&mut self, event: &Event) -> bool {
        match event {
            Event::AgentChanged { agent } => self.agent.clone_from(agent),
            Event::ModelChanged { model } => self.model.clone_from(model),
            Event::ApprovalChanged { approval } => self.approval = *approval,
            _ => return false,
        }
        true
    }

    pub fn modes(&self) -> Value {
        let mode = |agent: &AgentInfo| json!({"id": agent.name, "name": agent.name, "description": agent.description});
        json!({"currentModeId": self.agent, "availableModes": self.agents.iter().map(mode).collect::<Vec<_>>()})
    }

    pub fn all(&self) -> Value {
        let choice = |value: &str, about: &str| json!({"value": value, "name": value, "description": about});
        let agents: Vec<Value> =
            self.agents.iter().map(|agent| choice(&agent.name, &agent.description)).collect();
        let model = |name: &str| json!({"value": name, "name": name});
        let mut models: Vec<Value> = self.models.iter().map(|offer| model(&offer.name)).collect();
        if !self.models.iter().any(|offer| offer.name == self.model) {
            models.insert(0, model(&self.model));
        }
        let presets = Approval::NAMES.iter().filter_map(|name| Approval::named(name));
        let presets: Vec<Value> = presets.map(|preset| choice(preset.name(), preset.meaning())).collect();
        json!([
            {"id": AGENT, "name": "Agent", "category": "mode", "type": "select",
             "currentValue": self.agent, "options": agents},
            {"id": MODEL, "name": "Model", "category": "model", "type": "select",
             "currentValue": self.model, "options": models},
            {"id": APPROVAL, "name": "Approval", "description": "how much may happen without asking",
             "type": "select", "currentValue": self.approval.name(), "options": presets},
        ])
    }

    /// What carries out a choice.
    pub fn choose(&self, option: &str, value: &Value) -> Result<Command, RpcError> {
        let Some(value) = value.as_str() else {
            return Err(RpcError::invalid_params(format!("`value` of {option} is no text")));
        };
        match option {
            AGENT => self.mode(value),
            MODEL => Ok(Command::SetModel(value.to_owned())),
            APPROVAL => Approval::named(value).map(Command::SetApproval).ok_or_else(|| {
                RpcError::invalid_params(format!(
                    "there is no preset {value}; one of yolo, balanced, paranoid"
                ))
            }),
            _ => Err(RpcError::invalid_params(format!("there is no config option {option}"))),
        }
    }

    pub fn mode(&self, name: &str) -> Result<Command, RpcError> {
        match self.agents.iter().any(|agent| agent.name == name) {
            true => Ok(Command::SetAgent(name.to_owned())),
            false => Err(RpcError::invalid_params(format!("there is no agent {name}"))),
        }
    }
}
