//! placeholder
use crate::{ModelEvent, ModelRequest, StopReason};
pub(crate) fn answer(_: &ModelRequest) -> Vec<ModelEvent> {
    vec![ModelEvent::Stop(StopReason::EndTurn)]
}
