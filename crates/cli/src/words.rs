//! Sentences and figures of the command line itself that more than one place says.
//! How tool calls are worded is not here: that is `zdx_protocol::display::labels`.

use std::path::Path;

use zdx_protocol::SessionInfo;
use zdx_protocol::display::sessions::short_id;
pub use zdx_protocol::display::turns::{denials, failed};
use zdx_protocol::display::{format, visible_line};

pub fn start_line(info: &SessionInfo, home: Option<&Path>) -> String {
    let session = match (info.saved, info.resumed) {
        (true, false) => format!("session {}", short_id(&info.session)),
        (true, true) => format!("session {} resumed", short_id(&info.session)),
        (false, _) => "session not saved".to_owned(),
    };
    // Another agent may have no modes, or not have told them yet.
    let agent = Some(visible_line(&info.agent)).filter(|agent| !agent.is_empty());
    format!(
        "zdx {} · {} · {}{} · approval {} · {session}",
        env!("CARGO_PKG_VERSION"),
        info.model,
        format::path(&info.root, home),
        agent.map(|agent| format!(" · agent {agent}")).unwrap_or_default(),
        info.approval.name(),
    )
}
