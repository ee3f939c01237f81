//! Who answers a turn: a model that we drive (`native`), or another agent that drives its own (`acp`). What a backend may do meanwhile is
//! `TurnIo`; what can be asked of it beside a turn is its `View`.

pub(crate) mod acp;
pub(crate) mod native;
#[cfg(feature = "testing")]
pub(crate) mod scripted;

use zdx_acp::shapes::CommandInfo;
use zdx_models::ModelError;
use zdx_protocol::query::{AgentInfo, ModelOffer};
use zdx_protocol::transcript::ContextSize;
use zdx_protocol::{ContextUsage, Event, Prompt, ToolError, TurnSummary};

use crate::call::TurnIo;
use crate::persona::Persona;
use crate::tools::registry::Registry;

/// A closed set of what we own, so an enum and not a trait with a dozen defaults. What one of them cannot do is `None`.
pub(crate) enum Backend {
    Native(Box<native::Native>),
    Acp(Box<acp::Acp>),
    #[cfg(feature = "testing")]
    Test(Box<dyn scripted::Scripted>),
}

impl Backend {
    pub(crate) async fn run_turn(&mut self, prompt: Prompt, io: &TurnIo) -> TurnSummary {
        match self {
            Self::Native(native) => native.run_turn(prompt, io).await,
            Self::Acp(acp) => acp.run_turn(prompt, io).await,
            #[cfg(feature = "testing")]
            Self::Test(scripted) => scripted.run_turn(prompt, io.clone()).await,
        }
    }

    /// `None`: it looks after its context itself.
    pub(crate) async fn compact(&mut self, io: &TurnIo) -> Option<TurnSummary> {
        match self {
            Self::Native(native) => Some(native.compact(io).await),
            Self::Acp(acp) => acp.compact(io).await,
            #[cfg(feature = "testing")]
            Self::Test(_) => None,
        }
    }

    /// A turn that begins with the check. `None`: its work is not ours to check.
    pub(crate) async fn run_check(&mut self, io: &TurnIo) -> Option<TurnSummary> {
        match self {
            Self::Native(native) => Some(native.run_check(io).await),
            Self::Acp(_) => None,
            #[cfg(feature = "testing")]
            Self::Test(_) => None,
        }
    }

    /// The name of the model that answers from the next request on, or why not. `None`: which model answers is not ours to
    /// choose.
    pub(crate) fn set_model(&mut self, model: &str) -> Option<Result<String, ModelError>> {
        match self {
            Self::Native(native) => Some(native.set_model(model)),
            Self::Acp(acp) => acp.set_model(model),
            #[cfg(feature = "testing")]
            Self::Test(_) => None,
        }
    }

    /// Behind `set_model`: what the model holds, as far as that is ours to know.
    pub(crate) async fn ask_limit(&mut self) {
        match self {
            Self::Native(native) => native.ask_limit().await,
            Self::Acp(_) => {}
            #[cfg(feature = "testing")]
            Self::Test(_) => {}
        }
    }

    /// The model that answers where nobody chose one, or why none does. `None`: as with `set_model`.
    pub(crate) async fn usual_model(&self) -> Option<Result<String, ModelError>> {
        match self {
            Self::Native(native) => Some(native.usual_model().await),
            Self::Acp(_) => None,
            #[cfg(feature = "testing")]
            Self::Test(_) => None,
        }
    }

    /// What a person ran meanwhile, and what came of it. A model reads it in the history.
    pub(crate) fn read_along(&mut self, output: &str) {
        match self {
            Self::Acp(acp) => acp.read_along(output),
            Self::Native(_) => {}
            #[cfg(feature = "testing")]
            Self::Test(_) => {}
        }
    }

    /// What it is to be told between turns, where there is something to tell; can be left at any time.
    pub(crate) async fn attend(&mut self) -> Event {
        match self {
            Self::Acp(acp) => acp.attend().await,
            Self::Native(_) => std::future::pending().await,
            #[cfg(feature = "testing")]
            Self::Test(_) => std::future::pending().await,
        }
    }

    /// Works in another of its own modes from the next request on: the name of that, or why not. `None`: it has our agents, or
    /// none at all.
    pub(crate) fn set_mode(&mut self, mode: &str) -> Option<Result<String, String>> {
        match self {
            Self::Acp(acp) => Some(acp.set_mode(mode)),
            Self::Native(_) => None,
            #[cfg(feature = "testing")]
            Self::Test(_) => None,
        }
    }

    /// Works as somebody else from the next request on. `None`: it has no agents of ours.
    pub(crate) fn play(&mut self, persona: &Persona, registry: &Registry) -> Option<()> {
        match self {
            Self::Native(native) => {
                native.play(persona, registry);
                Some(())
            }
            Self::Acp(_) => None,
            #[cfg(feature = "testing")]
            Self::Test(_) => None,
        }
    }

    /// What agents are made from that work for this one. `None`: it launches its own.
    pub(crate) fn seed(&self) -> Option<Seed> {
        match self {
            Self::Native(native) => Some(Seed::Native(native.seed())),
            Self::Acp(_) => None,
            #[cfg(feature = "testing")]
            Self::Test(_) => None,
        }
    }

    /// Leaves no process behind.
    pub(crate) async fn close(&mut self) {
        match self {
            Self::Native(_) => {}
            Self::Acp(acp) => acp.close().await,
            #[cfg(feature = "testing")]
            Self::Test(_) => {}
        }
    }

    pub(crate) fn view(&self) -> View {
        match self {
            Self::Native(native) => View::Native(native.view()),
            Self::Acp(acp) => View::Acp(acp.view()),
            #[cfg(feature = "testing")]
            Self::Test(_) => View::Test,
        }
    }
}

/// A backend that another one can be made from, as its parent was at this moment.
#[derive(Clone)]
pub(crate) enum Seed {
    Native(native::Seed),
}

impl Seed {
    pub(crate) fn grow(&self, persona: &Persona, registry: &Registry) -> Result<Backend, ToolError> {
        match self {
            Self::Native(seed) => Ok(Backend::Native(Box::new(seed.grow(persona, registry)?))),
        }
    }
}

/// What is known of a backend without disturbing it.
#[derive(Clone)]
pub(crate) enum View {
    Native(native::View),
    Acp(acp::View),
    #[cfg(feature = "testing")]
    Test,
}

impl View {
    /// Who answers, as a person names it.
    pub(crate) fn model(&self) -> String {
        match self {
            Self::Native(view) => view.model(),
            Self::Acp(view) => view.model(),
            #[cfg(feature = "testing")]
            Self::Test => "scripted".to_owned(),
        }
    }

    /// The agent that answers in place of a model.
    pub(crate) fn agent(&self) -> Option<String> {
        match self {
            Self::Native(_) => None,
            Self::Acp(view) => Some(view.agent()),
            #[cfg(feature = "testing")]
            Self::Test => None,
        }
    }

    /// Tokens the model can hold, when somebody knows.
    pub(crate) fn context_limit(&self) -> Option<u64> {
        match self {
            Self::Native(view) => view.context_limit(),
            Self::Acp(view) => view.context_limit(),
            #[cfg(feature = "testing")]
            Self::Test => None,
        }
    }

    /// With a conversation of this size. `None`: nobody knows what it keeps of it.
    pub(crate) fn usage(&self, size: ContextSize) -> Option<ContextUsage> {
        match self {
            Self::Native(view) => Some(view.usage(size)),
            Self::Acp(view) => view.usage(),
            #[cfg(feature = "testing")]
            Self::Test => None,
        }
    }

    /// What the input of the next turn may weigh, beside a conversation of this size. `None`: nobody can say.
    pub(crate) fn input_bytes(&self, size: ContextSize) -> Option<usize> {
        match self {
            Self::Native(view) => Some(view.input_bytes(size)),
            Self::Acp(_) => None,
            #[cfg(feature = "testing")]
            Self::Test => None,
        }
    }

    /// What else could answer. `None`: nobody can say.
    pub(crate) async fn models(&self) -> Option<Result<Vec<ModelOffer>, ModelError>> {
        match self {
            Self::Native(view) => Some(view.models().await),
            Self::Acp(view) => view.models().await.map(Ok),
            #[cfg(feature = "testing")]
            Self::Test => None,
        }
    }

    /// The names of the same, as far as they are known at once.
    pub(crate) fn known_models(&self) -> Vec<String> {
        match self {
            Self::Native(view) => view.known_models(),
            Self::Acp(view) => view.known_models().into_iter().map(|model| model.name).collect(),
            #[cfg(feature = "testing")]
            Self::Test => Vec::new(),
        }
    }

    /// What it offers is not known yet.
    pub(crate) fn is_starting(&self) -> bool {
        match self {
            Self::Native(_) => false,
            Self::Acp(view) => view.is_starting(),
            #[cfg(feature = "testing")]
            Self::Test => false,
        }
    }

    /// The mode that it is in. `None`: it has our agents.
    pub(crate) fn mode(&self) -> Option<String> {
        match self {
            Self::Native(_) => None,
            Self::Acp(view) => Some(view.mode()),
            #[cfg(feature = "testing")]
            Self::Test => None,
        }
    }

    /// Its own modes. `None`: it has our agents.
    pub(crate) async fn modes(&self) -> Option<Vec<AgentInfo>> {
        match self {
            Self::Native(_) => None,
            Self::Acp(view) => Some(view.modes().await),
            #[cfg(feature = "testing")]
            Self::Test => None,
        }
    }

    pub(crate) fn known_modes(&self) -> Option<Vec<AgentInfo>> {
        match self {
            Self::Native(_) => None,
            Self::Acp(view) => Some(view.known_modes()),
            #[cfg(feature = "testing")]
            Self::Test => None,
        }
    }

    /// Commands of its own, which it takes as prompts.
    pub(crate) fn commands(&self) -> Vec<CommandInfo> {
        match self {
            Self::Native(_) => Vec::new(),
            Self::Acp(view) => view.commands(),
            #[cfg(feature = "testing")]
            Self::Test => Vec::new(),
        }
    }
}
