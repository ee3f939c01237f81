//! Picking a session from a list: the next line that is a number means the one of that number, any other line means what it
//! always means. So it works the same on a terminal and from a pipe.

use jiff::Timestamp;
use zdx_protocol::display::sessions::table;
use zdx_protocol::slash::Line;
use zdx_protocol::{Query, Reply};

use super::Chat;
use crate::terminal;

const OFFERED: usize = 20;
/// Of a number and what stands behind it.
const NUMBER_COLUMNS: usize = 4;

impl Chat<'_> {
    /// Lists the other sessions, newest first.
    pub(super) async fn offer_sessions(&mut self) {
        // One more than is shown, for the open one is among them.
        let Some(Reply::Sessions(mut found)) = self.ask(Query::Sessions { limit: OFFERED + 1 }).await else {
            return;
        };
        let open = self.session.as_ref().map(|session| session.id.as_str());
        found.retain(|session| Some(session.id.as_str()) != open && session.fault.is_none());
        found.truncate(OFFERED);
        if found.is_empty() {
            return self.stage.say("there is no other saved session to go on with");
        }
        let columns = terminal::width().saturating_sub(NUMBER_COLUMNS);
        let rows = table(&found, Timestamp::now(), self.settings.home(), Some(columns));
        for (number, row) in (1..).zip(rows.lines()) {
            self.stage.say(&format!("{number:>2}  {row}"));
        }
        self.stage.say("a number goes on with that session; anything else stays in this one");
        self.offered = Some(found.into_iter().map(|session| session.id).collect());
    }

    /// The session that a line picks, or the line if it picks none.
    pub(super) fn picked(&mut self, line: Line) -> Result<String, Line> {
        let Some(offered) = self.offered.take() else { return Err(line) };
        let number = match &line {
            Line::Prompt(text) => text.trim().parse::<usize>().ok(),
            Line::Empty
            | Line::Shell(_)
            | Line::NoCommand
            | Line::Slash(_)
            | Line::Misused(_)
            | Line::Custom { .. } => None,
        };
        let Some(number) = number else { return Err(line) };
        match number.checked_sub(1).and_then(|at| offered.get(at)) {
            Some(id) => Ok(id.clone()),
            None => {
                let why =
                    format!("there is no number {number} in the list; it goes from 1 to {}", offered.len());
                self.offered = Some(offered);
                Err(Line::Misused(why))
            }
        }
    }
}
