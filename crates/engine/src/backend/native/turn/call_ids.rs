//! Which id a call goes by. An id may name one call of a session: models and servers number their calls as they like, and
//! no server accepts a history with two of the same.

use std::collections::HashSet;

use zdx_protocol::{ToolCall, ToolCode, ToolError};

use crate::call::TurnIo;

/// A call under the id it keeps. With a fault it is answered, not run.
pub(super) struct Identified {
    pub call: ToolCall,
    pub fault: Option<ToolError>,
}

/// The ids that models used in this turn.
#[derive(Default)]
pub(super) struct CallIds {
    used: HashSet<String>,
}

/// The ids given to the calls of one answer, as soon as each call is known of.
#[derive(Default)]
pub(super) struct AnswerIds {
    given: Vec<Given>,
}

struct Given {
    /// The model's own.
    wanted: String,
    id: String,
    /// The model used it before in this turn.
    again: bool,
    /// The call itself has come.
    taken: bool,
}

impl CallIds {
    /// The id of a call that is just beginning.
    pub(super) fn announce(&mut self, wanted: &str, answer: &mut AnswerIds, io: &TurnIo) -> String {
        let again = !self.used.insert(wanted.to_owned());
        let transcript = io.session.events.transcript();
        let is_free = |id: &str| !transcript.has_call(id) && answer.given.iter().all(|given| given.id != id);
        let others = (2..).map(|n| format!("{wanted}-{n}"));
        let id = std::iter::once(wanted.to_owned()).chain(others).find(|id| is_free(id)).unwrap_or_default();
        answer.given.push(Given { wanted: wanted.to_owned(), id: id.clone(), again, taken: false });
        id
    }

    pub(super) fn identify(&mut self, mut call: ToolCall, answer: &mut AnswerIds, io: &TurnIo) -> Identified {
        // Models have their own names for tools; everyone else hears ours.
        call.name = io.called_name(&call);
        let known = |given: &Given| !given.taken && given.wanted == call.id;
        if !answer.given.iter().any(known) {
            self.announce(&call.id, answer, io);
        }
        let mut again = false;
        if let Some(given) = answer.given.iter_mut().find(|given| known(given)) {
            given.taken = true;
            again = given.again;
            call.id.clone_from(&given.id);
        }
        let fault = again.then(|| {
            let id = answer.given.iter().find(|given| given.id == call.id).map(|given| &given.wanted);
            let id = id.unwrap_or(&call.id);
            let message = format!("the id {id} was used before in this turn; the call was not run");
            ToolError::new(ToolCode::DuplicateId, message)
        });
        Identified { call, fault }
    }

    /// The answer broke off, and is asked for again: its ids are free.
    pub(super) fn forget(&mut self, answer: AnswerIds) {
        for given in answer.given.into_iter().filter(|given| !given.again) {
            self.used.remove(&given.wanted);
        }
    }
}
