//! Who answers a turn: a model that we drive (`native`); other agents join this enum.

pub mod native;

use zdx_protocol::{Prompt, TurnSummary};

use crate::turn::TurnIo;

/// A closed set of what we own, so an enum and not a trait with a dozen defaults.
pub enum Backend {
    Native(Box<native::Native>),
}

impl Backend {
    pub async fn run_turn(&mut self, prompt: Prompt, io: &TurnIo<'_>) -> TurnSummary {
        match self {
            Self::Native(native) => crate::turn::run::run(native, prompt, io).await,
        }
    }

    pub async fn compact(&mut self, io: &TurnIo<'_>) -> TurnSummary {
        match self {
            Self::Native(native) => crate::turn::room::run_compaction(native, io).await,
        }
    }
}
