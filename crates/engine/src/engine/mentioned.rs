//! What of servers a user's line names, read within the turn so that an interrupt is heard: resources that go before a
//! prompt, and prompts that stand for one.

use std::sync::Arc;

use zdx_protocol::{AttachedContent, ErrorKind, Event, NoticeLevel, Outcome, Prompt};

use crate::call::TurnIo;
use zdx_mcp::{RequestedPrompt, ServerTask, read_resource};

/// Each goes before the prompt; what cannot be read is told and left out. False when the user has had enough of it.
pub(super) async fn attach(resources: Vec<(Arc<ServerTask>, String)>, io: &TurnIo) -> bool {
    for (server, uri) in resources {
        let label = format!("{}:{uri}", server.id);
        match read_resource(&server, &uri, &io.session.state.tools.content, &io.cancel).await {
            None => {
                io.session.events.emit(Event::Interrupted).await;
                return false;
            }
            Some(Ok(read)) => {
                for content in read {
                    io.session.events.emit(Event::Attached(AttachedContent::new(content))).await;
                }
            }
            Some(Err(why)) => {
                io.session
                    .events
                    .notice(NoticeLevel::Warning, format!("@{label}: {why}; nothing was attached"))
                    .await;
            }
        }
    }
    true
}

/// The words of a server's prompt, as data: they trigger nothing. How it ended if there are none.
pub(super) async fn fill(prompted: RequestedPrompt, data: String, io: &TurnIo) -> Result<Prompt, Outcome> {
    let message = match prompted.text(&io.cancel).await {
        None => {
            io.session.events.emit(Event::Interrupted).await;
            return Err(Outcome::Interrupted);
        }
        Some(Ok(text)) if text.trim().is_empty() => "the server gave an empty prompt".to_owned(),
        Some(Ok(text)) => {
            let between = if data.is_empty() { "" } else { "\n\n" };
            return Ok(Prompt::with_data("", &format!("{text}{between}{data}")));
        }
        Some(Err(why)) => why,
    };
    io.session
        .events
        .emit(Event::Error { command: None, kind: ErrorKind::Tool, message, details: None })
        .await;
    Err(Outcome::Error)
}
