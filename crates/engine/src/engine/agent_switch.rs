//! Who is at work and with which model, and how that changes: another agent, another model.

use std::sync::Arc;

use zdx_protocol::{Event, NoticeLevel};

use super::{Engine, Loan};
use crate::persona::Persona;

impl Engine {
    /// The user's own choice: it stays, whoever is at work.
    pub(super) async fn set_model(&mut self, model: &str) -> Result<(), String> {
        let model = self.backend.set_model(model)?;
        self.loan = None;
        self.backend.ask_limit().await;
        self.session.events.emit(Event::ModelChanged { model }).await;
        Ok(())
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
