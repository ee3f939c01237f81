//! Ids of calls. Inside a session every call has an id of its own; what the model's server called it is kept beside it, for
//! that server alone. Servers number calls as they like: many begin anew with each answer, some give all calls of one
//! answer the same id.

use serde_json::Value;
use zdx_models::Endpoint;
use zdx_protocol::{Arguments, Signature, ToolCall, ToolCode, ToolError};

use crate::call::TurnIo;

/// A call under the id it keeps. With a fault it is answered, not run.
pub(super) struct Identified {
    pub call: ToolCall,
    pub fault: Option<ToolError>,
}

/// The ids given to the calls of one answer, as soon as each call is known of.
#[derive(Default)]
pub(super) struct AnswerIds {
    given: Vec<GivenId>,
}

struct GivenId {
    /// The server's own.
    server: String,
    id: String,
    /// Name and arguments, once the call itself has come.
    call: Option<(String, Arguments)>,
}

impl AnswerIds {
    /// Returns the number of calls that are known of.
    pub(super) fn len(&self) -> usize {
        self.given.len()
    }

    /// The id of a call that is just beginning: the server's, unless a call of the session has it.
    pub(super) fn announce(&mut self, server: &str, io: &TurnIo) -> String {
        let transcript = io.session.events.transcript();
        let is_free = |id: &str| !transcript.has_call(id) && self.given.iter().all(|given| given.id != id);
        let others = (2..).map(|n| format!("{server}-{n}"));
        let id = std::iter::once(server.to_owned()).chain(others).find(|id| is_free(id)).unwrap_or_default();
        self.given.push(GivenId { server: server.to_owned(), id: id.clone(), call: None });
        id
    }

    pub(super) fn identify(&mut self, mut call: ToolCall, endpoint: &Endpoint, io: &TurnIo) -> Identified {
        // Models have their own names for tools; everyone else hears ours.
        call.name = io.called_name(&call);
        let server = std::mem::take(&mut call.id);
        let same = |given: &GivenId| {
            given.server == server
                && given
                    .call
                    .as_ref()
                    .is_some_and(|(name, arguments)| *name == call.name && *arguments == call.arguments)
        };
        let fault = self.given.iter().any(same).then(|| {
            let message =
                format!("this answer holds the call {server} twice, word for word; the copy was not run");
            ToolError::new(ToolCode::DuplicateId, message)
        });
        let waits = |given: &GivenId| given.call.is_none() && given.server == server;
        if !self.given.iter().any(waits) {
            self.announce(&server, io);
        }
        if let Some(given) = self.given.iter_mut().find(|given| waits(given)) {
            given.call = Some((call.name.clone(), call.arguments.clone()));
            call.id.clone_from(&given.id);
        }
        if call.id != server {
            let kept = call.signature.get_or_insert_with(|| {
                let (wire, model) = (endpoint.wire.name().to_owned(), endpoint.model.clone());
                Box::new(Signature { wire, model, opaque: Value::Null, call_id: None })
            });
            kept.call_id = Some(server);
        }
        Identified { call, fault }
    }
}
