//! One quiet line that says what is going on while nothing streams. It erases itself before anything else is
//! written, is redrawn at most once a second, and exists only on a terminal.

use std::time::{Duration, Instant};

use zdx_protocol::TurnState;
use zdx_protocol::display::text::truncate_width;
use zdx_protocol::display::{format, plain};

use crate::output::Page;
use crate::style::Style;

const ERASE: &str = "\r\x1b[K";
/// Answers that come sooner than this need no explanation.
const PATIENCE: Duration = Duration::from_millis(900);

pub struct Activity {
    model: String,
    /// What goes on, and since when.
    doing: Option<(String, Instant)>,
    drawn: bool,
}

impl Activity {
    pub fn new() -> Self {
        Self { model: String::new(), doing: None, drawn: false }
    }

    pub fn model(&mut self, name: &str) {
        self.model = plain(name).into_owned();
    }

    pub fn state(&mut self, state: TurnState, now: Instant) {
        self.doing = label(state).map(|label| (label.to_owned(), now));
    }

    pub fn running(&mut self, what: &str, now: Instant) {
        self.doing = Some((plain(what).into_owned(), now));
    }

    pub fn is_live(&self) -> bool {
        self.doing.is_some()
    }

    pub fn tick(&mut self, now: Instant, width: usize, style: Style, page: &mut Page) {
        let Some((what, since)) = &self.doing else { return };
        let elapsed = now.saturating_duration_since(*since);
        if elapsed < PATIENCE {
            return;
        }
        let elapsed = format::elapsed(elapsed.as_secs() + u64::from(elapsed.subsec_nanos() > 0));
        // A line that wraps cannot be erased by going back to its start.
        let line = truncate_width(&format!("· {what} {elapsed} · {}", self.model), width.saturating_sub(1));
        page.err(ERASE);
        page.err(style.dim(&line).as_bytes());
        self.drawn = true;
    }

    /// Takes the line away, if it is there.
    pub fn erase(&mut self, page: &mut Page) {
        if std::mem::take(&mut self.drawn) {
            page.err(ERASE);
        }
    }
}

fn label(state: TurnState) -> Option<&'static str> {
    match state {
        TurnState::Planning => Some("waiting for the model"),
        TurnState::ModelGenerating => Some("thinking"),
        TurnState::ToolRunning => Some("running tools"),
        TurnState::Idle | TurnState::AwaitingPermission | TurnState::Done | TurnState::Error => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Channel;

    fn drawn_after(activity: &mut Activity, now: Instant, width: usize) -> String {
        let mut page = Page::default();
        activity.tick(now, width, Style::default(), &mut page);
        page.text(Channel::Err)
    }

    #[test]
    fn it_waits_then_names_state_seconds_and_model() {
        let start = Instant::now();
        let mut activity = Activity::new();
        activity.model("lab/qwen");
        assert_eq!(drawn_after(&mut activity, start, 80), "");
        activity.state(TurnState::ModelGenerating, start);
        assert_eq!(drawn_after(&mut activity, start + Duration::from_millis(100), 80), "");
        assert_eq!(
            drawn_after(&mut activity, start + Duration::from_secs(3), 80),
            "\r\x1b[K· thinking 3 s · lab/qwen"
        );
    }

    #[test]
    fn it_is_erased_once_and_never_wraps() {
        let start = Instant::now();
        let mut activity = Activity::new();
        activity.model("数据/模型");
        activity.running("running bash", start);
        let line = drawn_after(&mut activity, start + Duration::from_secs(2), 25);
        assert_eq!(line, "\r\x1b[K· running bash 2 s · 数…");
        let mut page = Page::default();
        activity.erase(&mut page);
        activity.erase(&mut page);
        assert_eq!(page.text(Channel::Err), ERASE);
    }
}
