//! Who is at work and with which model, and how that changes: another agent, another model.

use std::sync::Arc;

use zdx_protocol::{Event, NoticeLevel};

use super::{Engine, Loan};
use crate::persona::Persona;
use zdx_config::user_file::set_default_model;
use zdx_config::{ConfigLayer, ValueSource};

impl Engine {
    /// The user's own choice: it stays, whoever is at work.
    pub(super) async fn set_model(&mut self, model: &str) -> Result<(), String> {
        let model = self.backend.set_model(model)?;
        self.loan = None;
        self.backend.ask_limit().await;
        self.session.events.emit(Event::ModelChanged { model: model.clone() }).await;
        let is_usual = self.session.spec.config.model.as_ref() == Some(&model);
        if !is_usual && self.backend.info().remote_agent.is_none() {
            let message = "/model --default makes it the default of new sessions".to_owned();
            self.session.events.notice(NoticeLevel::Info, message).await;
        }
        Ok(())
    }

    /// Makes the model in use the default, in the user's own configuration file alone.
    pub(super) async fn keep_model(&mut self) -> Result<(), String> {
        let (model, remote_agent) = {
            let info = self.backend.info();
            (info.model.clone(), info.remote_agent.clone())
        };
        if let Some(agent) = remote_agent {
            return Err(format!(
                "the model is that of {agent}; its own configuration says which one it begins with"
            ));
        }
        let paths = self.session.spec.setup.paths.clone();
        let kept = model.clone();
        let written = tokio::task::spawn_blocking(move || set_default_model(&paths, &kept)).await;
        let file = match written {
            Ok(Ok(file)) => file,
            Ok(Err(error)) => return Err(error.to_string()),
            Err(_) => return Err("writing the configuration broke down; this is a defect of zdx".to_owned()),
        };
        let mut message =
            format!("{model} is the default of new sessions now: written to {}", file.display());
        if let Some(above) = self.stronger_model() {
            message.push_str(&format!(" (here {above} goes before it)"));
        }
        self.session.events.notice(NoticeLevel::Info, message).await;
        Ok(())
    }

    /// The source that names a model and stands above the user's file, also in the next session.
    fn stronger_model(&self) -> Option<String> {
        let origin = self.session.spec.resolved.origins.get(&["model".to_owned()])?;
        match &origin.source {
            ValueSource::Env(_) | ValueSource::File { layer: ConfigLayer::Project, .. } => {
                Some(origin.source.to_string())
            }
            ValueSource::File { .. } | ValueSource::Default | ValueSource::Flag(_) => None,
        }
    }

    /// Says what is wrong when there is no such agent, or it cannot have its model. The one at work goes on as before.
    pub(super) async fn set_agent(&mut self, name: &str) -> Result<(), String> {
        let (has_modes, plays_profiles) = {
            let info = self.backend.info();
            (info.modes.is_some(), info.capabilities.plays_agent_profiles)
        };
        if has_modes {
            let agent = self.backend.set_mode(name)?;
            self.session.events.emit(Event::AgentChanged { agent }).await;
            return Ok(());
        }
        if !plays_profiles {
            return Err("who answers here has agents of its own".to_owned());
        }
        if self.session.persona().name == name {
            self.session.events.notice(NoticeLevel::Info, format!("{name} is at work already")).await;
            return Ok(());
        }
        let persona = self.session.spec.personas.primary(name).map_err(|error| error.to_string())?;
        let registry = self.subagents.offered(&persona);
        let model = self.model_for(&persona).await?;
        self.backend.play(&persona, &registry);
        self.registry = registry;
        self.session.set_persona(Arc::new(persona));
        self.session.events.emit(Event::AgentChanged { agent: name.to_owned() }).await;
        if let Some(model) = model {
            self.session.events.emit(Event::ModelChanged { model }).await;
        }
        Ok(())
    }

    /// An agent's own model comes with it; with the next one that has none, what answered before is back. The model's name,
    /// if it is another one now.
    async fn model_for(&mut self, persona: &Persona) -> Result<Option<String>, String> {
        let at_present = self.backend.info().model.clone();
        let (wanted, loan) = match (&persona.model, &self.loan) {
            (Some(own), Some(loan)) => (own.clone(), Some(loan.clone())),
            (Some(own), None) => (own.clone(), Some(Loan { before: Some(at_present.clone()) })),
            (None, Some(Loan { before: Some(before) })) => (before.clone(), None),
            (None, Some(Loan { before: None })) => (self.backend.usual_model().await?, None),
            (None, None) => return Ok(None),
        };
        // What was learnt of a model that stays is kept.
        let model = if wanted == at_present { wanted } else { self.backend.set_model(&wanted)? };
        self.loan = loan;
        Ok(Some(model).filter(|model| *model != at_present))
    }
}
