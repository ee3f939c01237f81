//! The part that answers a turn: a model that we drive (`native`), or another agent that drives its own (`acp`). Meanwhile it
//! may use `TurnIo` and nothing else; what is known of it beside a turn is the `BackendInfo` that it publishes.

pub(crate) mod acp;
mod info;
pub(crate) mod native;
#[cfg(feature = "testing")]
pub(crate) mod scripted;

use tokio::sync::watch;
use zdx_protocol::{Event, Outcome, Prompt};

use crate::call::{TurnIo, TurnResult};
use crate::persona::Persona;
pub(crate) use info::started;
pub use info::{BackendCapabilities, BackendCommand, BackendInfo, ContextBudget, SessionModes};
use native::ModelLister;
use zdx_tools::registry::ToolRegistry;

const NO_MODEL_CHOICE: &str = "which model answers is not zdx's to choose here";
const NO_MODES: &str = "there are no session modes here";

/// A closed set of what we own, so an enum and not a trait with defaults. What each can do is in its info.
pub(crate) enum Backend {
    Native(Box<native::Native>),
    Acp(Box<acp::AcpBackend>),
    #[cfg(feature = "testing")]
    Test(Box<dyn scripted::Scripted>),
}

/// The work of a turn. Backends that manage their own context get prompts alone.
pub(crate) enum TurnRequest {
    Prompt(Prompt),
    /// The check runs first, and the model repairs what it finds.
    Check,
    /// The conversation becomes a summary.
    Compact,
}

impl Backend {
    /// Adds messages that belong before the prompt: they are reverted together with it.
    pub(crate) async fn prepare_turn(&mut self, prompt: &Prompt, io: &TurnIo) {
        match self {
            Self::Native(native) => native.prepare_turn(prompt, io).await,
            Self::Acp(_) => {}
            #[cfg(feature = "testing")]
            Self::Test(_) => {}
        }
    }

    /// Answers a turn that has started; `turn` tells and records its start and its end.
    pub(crate) async fn run_turn(&mut self, request: TurnRequest, io: &TurnIo) -> TurnResult {
        match (self, request) {
            (Self::Native(native), request) => native.run_turn(request, io).await,
            (Self::Acp(acp), TurnRequest::Prompt(prompt)) => acp.run_turn(&prompt, io).await,
            #[cfg(feature = "testing")]
            (Self::Test(scripted), TurnRequest::Prompt(prompt)) => {
                scripted.run_turn(prompt, io.clone()).await
            }
            (_, TurnRequest::Check | TurnRequest::Compact) => TurnResult::from(Outcome::Completed),
        }
    }

    /// Selects the model of the next request and returns its name, or the reason why it cannot be used.
    pub(crate) fn set_model(&mut self, model: &str) -> Result<String, String> {
        match self {
            Self::Native(native) => native.set_model(model).map_err(|error| error.to_string()),
            Self::Acp(acp) => acp.set_model(model),
            #[cfg(feature = "testing")]
            Self::Test(_) => Err(NO_MODEL_CHOICE.to_owned()),
        }
    }

    /// Asks for the context limit of a model that was just selected, if it is ours to know.
    pub(crate) async fn ask_limit(&mut self) {
        match self {
            Self::Native(native) => native.ask_limit().await,
            Self::Acp(_) => {}
            #[cfg(feature = "testing")]
            Self::Test(_) => {}
        }
    }

    /// Returns the model that answers where nobody chose one, or the reason why none does.
    pub(crate) async fn usual_model(&self) -> Result<String, String> {
        match self {
            Self::Native(native) => native.usual_model().await.map_err(|error| error.to_string()),
            Self::Acp(_) => Err(NO_MODEL_CHOICE.to_owned()),
            #[cfg(feature = "testing")]
            Self::Test(_) => Err(NO_MODEL_CHOICE.to_owned()),
        }
    }

    /// Takes a command that the user ran meanwhile, with its output. A model reads it in the history.
    pub(crate) fn read_along(&mut self, output: &str) {
        match self {
            Self::Acp(acp) => acp.read_along(output),
            Self::Native(_) => {}
            #[cfg(feature = "testing")]
            Self::Test(_) => {}
        }
    }

    /// Waits between turns for an event to tell; can be dropped at any time.
    pub(crate) async fn attend(&mut self) -> Event {
        match self {
            Self::Acp(acp) => acp.attend().await,
            Self::Native(_) => std::future::pending().await,
            #[cfg(feature = "testing")]
            Self::Test(_) => std::future::pending().await,
        }
    }

    /// Selects the session mode of the next request and returns its name, or the reason why it cannot be used.
    pub(crate) fn set_mode(&mut self, mode: &str) -> Result<String, String> {
        match self {
            Self::Acp(acp) => acp.set_mode(mode),
            Self::Native(_) => Err(NO_MODES.to_owned()),
            #[cfg(feature = "testing")]
            Self::Test(_) => Err(NO_MODES.to_owned()),
        }
    }

    /// Works as another agent profile from the next request on, where `plays_agent_profiles` is set.
    pub(crate) fn play(&mut self, persona: &Persona, registry: &ToolRegistry) {
        match self {
            Self::Native(native) => native.play(persona, registry),
            Self::Acp(_) => {}
            #[cfg(feature = "testing")]
            Self::Test(_) => {}
        }
    }

    /// The parts that subagents are made from. `None`: it launches its own.
    pub(crate) fn seed(&self) -> Option<native::Seed> {
        match self {
            Self::Native(native) => Some(native.seed()),
            Self::Acp(_) => None,
            #[cfg(feature = "testing")]
            Self::Test(_) => None,
        }
    }

    /// Ends the processes that it started.
    pub(crate) async fn close(&mut self) {
        match self {
            Self::Native(_) => {}
            Self::Acp(acp) => acp.close().await,
            #[cfg(feature = "testing")]
            Self::Test(_) => {}
        }
    }

    /// Lists the models of a server, which takes a request. `None`: what it offers is in its info.
    pub(crate) fn model_lister(&self) -> Option<ModelLister> {
        match self {
            Self::Native(native) => Some(native.model_lister()),
            Self::Acp(_) => None,
            #[cfg(feature = "testing")]
            Self::Test(_) => None,
        }
    }

    fn publisher(&self) -> &watch::Sender<BackendInfo> {
        match self {
            Self::Native(native) => native.info(),
            Self::Acp(acp) => acp.info(),
            #[cfg(feature = "testing")]
            Self::Test(scripted) => scripted.info(),
        }
    }

    /// Its info at this moment; not to be held while anything is waited for.
    pub(crate) fn info(&self) -> watch::Ref<'_, BackendInfo> {
        self.publisher().borrow()
    }

    /// Its info, for readers beside a turn.
    pub(crate) fn subscribe(&self) -> watch::Receiver<BackendInfo> {
        self.publisher().subscribe()
    }
}
