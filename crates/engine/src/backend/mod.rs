//! Who answers a turn: a model that we drive (`native`); other agents join this enum.

pub mod native;

use zdx_protocol::{ContextUsage, Prompt, Transcript, TurnSummary};

use crate::context::budget::Gauge;
use crate::turn::TurnIo;

/// A closed set of what we own, so an enum and not a trait with a dozen defaults.
pub enum Backend {
    Native(Box<native::Native>),
}

impl Backend {
    pub async fn run_turn(&mut self, prompt: Prompt, io: &mut TurnIo<'_>) -> TurnSummary {
        match self {
            Self::Native(native) => crate::turn::run::run(native, prompt, io).await,
        }
    }

    pub async fn compact(&mut self, io: &mut TurnIo<'_>) -> TurnSummary {
        match self {
            Self::Native(native) => crate::turn::room::run_compaction(native, io).await,
        }
    }

    pub fn context_usage(&self, transcript: &Transcript) -> ContextUsage {
        match self {
            Self::Native(native) => Gauge::of(native, transcript).usage(),
        }
    }
}
