//! What is going on, in one row below the composer; the welcome, the terminal's title and the list of warnings.
//! Folds events; holds no clock, and changes with time once a second at most.

mod doing;
mod row;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Instant;

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use zdx_protocol::display::format::{self, count, tokens};
use zdx_protocol::display::sessions::short_id;
use zdx_protocol::display::text::{hang, one_line, truncate_width, width};
use zdx_protocol::display::{demo, visible_line};
use zdx_protocol::{Approval, Event, NoticeLevel, Reply, RequestId, SessionInfo};

use crate::look::Look;
use doing::Doing;
use row::{Part, Piece, Slot, What, fitted};

/// From here on the context is told to be nearly full.
const NEARLY_FULL: u64 = 80;
/// Of a model's name where there is little room.
const SHORT_MODEL: usize = 24;
/// Older ones are forgotten.
const KEPT_WARNINGS: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct Status {
    home: Option<PathBuf>,
    session: Option<SessionInfo>,
    branch: Option<String>,
    /// How full the context is, in percent.
    context: Option<u64>,
    doing: Option<Doing>,
    /// Questions that nobody answered yet.
    open: Vec<RequestId>,
    queued: usize,
    warnings: Vec<String>,
    /// So many of them are no news: they were read, or are another session's.
    read: usize,
}

impl Status {
    pub(crate) fn new(home: Option<PathBuf>) -> Self {
        Self { home, ..Self::default() }
    }

    pub(crate) fn apply(&mut self, event: &Event, now: Instant) {
        match event {
            // A session that works for this one has its own.
            Event::SessionStarted(info) if info.task.is_none() => {
                if self.session.replace(info.clone()).is_some() {
                    self.read();
                }
                (self.context, self.doing) = (None, None);
                self.open.clear();
            }
            Event::ModelChanged { model } => self.in_session(|info| info.model.clone_from(model)),
            Event::AgentChanged { agent } => self.in_session(|info| info.agent.clone_from(agent)),
            Event::ApprovalChanged { approval } => self.in_session(|info| info.approval = *approval),
            Event::ContextUsage(usage) => self.context = Some(usage.percent),
            Event::Reply { answer: Reply::GitBranch(branch), .. } => self.branch.clone_from(branch),
            Event::Reply { answer: Reply::Context(usage), .. } => self.context = Some(usage.percent),
            Event::Notice { level: NoticeLevel::Warning, message, kept: false } => self.warn(message),
            Event::ApprovalRequested(request) => self.open.push(request.request),
            Event::TrustRequested(request) => self.open.push(request.request),
            Event::ApprovalWithdrawn { request, .. }
            | Event::ApprovalResolved { request, .. }
            | Event::TrustResolved { request, .. } => self.open.retain(|open| open != request),
            Event::TurnFinished(_) => self.doing = None,
            _ => {}
        }
        Doing::apply(&mut self.doing, event, now);
        if let Some(doing) = &mut self.doing {
            doing.asks(!self.open.is_empty(), now);
        }
    }

    fn in_session(&mut self, change: impl FnOnce(&mut SessionInfo)) {
        if let Some(info) = &mut self.session {
            change(info);
        }
    }

    fn warn(&mut self, message: &str) {
        if self.warnings.len() == KEPT_WARNINGS {
            self.warnings.remove(0);
            self.read = self.read.saturating_sub(1);
        }
        self.warnings.push(message.to_owned());
    }

    /// Somebody looked at the warnings.
    pub(crate) fn read(&mut self) {
        self.read = self.warnings.len();
    }

    /// How many messages wait for the turn to end.
    pub(crate) fn queued(&mut self, count: usize) {
        self.queued = count;
    }

    pub(crate) fn approval(&self) -> Option<Approval> {
        self.session.as_ref().map(|info| info.approval)
    }

    pub(crate) fn root(&self) -> Option<&Path> {
        self.session.as_ref().map(|info| info.root.as_path())
    }

    pub(crate) fn model(&self) -> Option<&str> {
        self.session.as_ref().map(|info| info.model.as_str())
    }

    /// A second that passes changes the row. Nothing ticks while it is the person who is waited for.
    pub(crate) fn needs_tick(&self) -> bool {
        self.doing.is_some() && self.open.is_empty()
    }

    /// The warnings of this run, the last one first.
    pub(crate) fn warning_lines(&self, look: Look<'_>) -> Vec<Line<'static>> {
        let columns = usize::from(look.width);
        let mut lines = vec![Line::styled(
            truncate_width(&count(self.warnings.len(), "warning"), columns),
            look.theme.strong,
        )];
        for warning in self.warnings.iter().rev() {
            let text = format!("⚠ {}", visible_line(warning));
            let rows = hang(&text, columns).into_iter();
            lines.extend(rows.map(|row| Line::styled(row, look.theme.warning)));
        }
        lines
    }

    pub(crate) fn row(&self, look: Look<'_>, now: Instant) -> Line<'static> {
        fitted(self.left(look, now), self.right(look), look)
    }

    fn left(&self, look: Look<'_>, now: Instant) -> Vec<Part> {
        let theme = look.theme;
        let mut parts = Vec::new();
        let mut push = |slot, style, forms| parts.push(Part { slot, forms, style });
        match self.state(now) {
            Some(forms) => {
                let style = if self.open.is_empty() { theme.text } else { theme.warning };
                push(Slot::State, style, forms);
            }
            None => push(Slot::Hints, theme.dim, hints()),
        }
        if let Some(doing) = self.doing.as_ref().filter(|doing| !doing.is_retrying())
            && doing.tokens() != (0, 0)
        {
            push(Slot::Tokens, theme.dim, spent(doing.tokens()));
        }
        if self.queued > 0 {
            push(Slot::Queue, theme.accent, vec![format!("{} queued", self.queued), String::new()]);
        }
        // Where there is room: who knows it needs no word about it.
        if self.doing.is_some() && self.open.is_empty() {
            push(Slot::Stops, theme.dim, vec!["esc stops".to_owned(), String::new()]);
        }
        parts
    }

    fn right(&self, look: Look<'_>) -> Vec<Piece> {
        let theme = look.theme;
        let mut pieces = Vec::new();
        let mut push = |what, style, kept, forms: Vec<String>| {
            pieces.push(Piece { what, forms, style, kept });
        };
        let count = self.warnings.len() - self.read;
        if count > 0 {
            let forms = vec![format!("⚠ {count} · F2"), format!("⚠ {count}"), String::new()];
            push(What::Warnings, theme.warning, 0, forms);
        }
        if let Some(info) = &self.session {
            push(What::Model, theme.dim, 0, models(&info.model));
            if !info.agent.is_empty() {
                push(What::Agent, theme.dim, 0, vec![one_line(&info.agent, 24), String::new()]);
            }
            let style = if info.approval == Approval::Yolo { theme.warning } else { theme.dim };
            push(What::Preset, style, 0, vec![info.approval.name().to_owned(), String::new()]);
            if let Some(branch) = &self.branch {
                let forms = vec![one_line(branch, 32), one_line(branch, 12), String::new()];
                push(What::Branch, theme.dim, 0, forms);
            }
            let (style, forms): (_, &[&str]) = match info.saved {
                true => (theme.dim, &["saved", ""]),
                false => (theme.warning, &["not saved", "not saved", "unsaved", ""]),
            };
            push(What::Saved, style, 0, forms.iter().map(|form| (*form).to_owned()).collect());
            let (style, forms) = self.filled(look);
            push(What::Context, style, "ctx 99 %".len(), forms);
        }
        pieces
    }

    /// How full the context is. Its place is kept for when that is known.
    fn filled(&self, look: Look<'_>) -> (Style, Vec<String>) {
        let plain = self.context.map(|percent| format!("ctx {percent} %")).unwrap_or_default();
        match self.context {
            Some(NEARLY_FULL..) => (
                look.theme.warning,
                vec![format!("{plain}, nearly full: /compact"), format!("{plain} full!"), String::new()],
            ),
            Some(_) | None => (look.theme.dim, vec![plain.clone(), plain, String::new()]),
        }
    }

    /// What is going on, in ever fewer words; nothing when nothing is.
    fn state(&self, now: Instant) -> Option<Vec<String>> {
        if !self.open.is_empty() {
            return Some(vec!["waiting for you".to_owned(), "your turn".to_owned()]);
        }
        if self.session.is_none() {
            return Some(vec!["starting".to_owned()]);
        }
        self.doing.as_ref().map(|doing| doing.words(now))
    }

    /// A turn goes on.
    pub(crate) fn is_working(&self) -> bool {
        self.doing.is_some()
    }

    /// Who answers, where and how freely; and how to get help.
    pub(crate) fn welcome(&self, look: Look<'_>) -> Vec<Line<'static>> {
        let name = format!("zdx {}", env!("CARGO_PKG_VERSION"));
        let Some(info) = &self.session else { return vec![Line::styled(name, look.theme.strong)] };
        // Another agent may have no modes, or not have told them yet.
        let agent = Some(visible_line(&info.agent)).filter(|agent| !agent.is_empty());
        let (model, root) = (visible_line(&info.model), format::path(&info.root, self.home.as_deref()));
        let agent = agent.map(|agent| format!(" · agent {agent}")).unwrap_or_default();
        let approval = info.approval.name();
        let columns = usize::from(look.width);
        let fits = |about: &String| width(&name) + width(about) <= columns;
        let whole = format!(" · {model} · {root}{agent} · approval {approval}");
        // The status row says all but the folder, too.
        let short = truncate_width(model.rsplit('/').next().unwrap_or_default(), SHORT_MODEL);
        let folder =
            info.root.file_name().map_or_else(|| root.clone(), |name| one_line(&name.to_string_lossy(), 40));
        let shorter = [
            format!(" · {model} · {root}{agent}"),
            format!(" · {model} · {root}"),
            format!(" · {short} · {root}"),
            format!(" · {short} · {folder}"),
            format!(" · {folder}"),
        ];
        let about = std::iter::once(whole.clone()).chain(shorter).find(fits).unwrap_or(whole);
        let mut lines = Vec::new();
        if fits(&about) {
            let spans = vec![Span::styled(name, look.theme.strong), Span::styled(about, look.theme.text)];
            lines.push(Line::from(spans));
        } else {
            let rows = hang(&format!("{name}{about}"), columns).into_iter();
            lines.extend(rows.map(|row| Line::styled(row, look.theme.text)));
        }
        let help = if info.model == demo::NAME {
            vec![format!("this is the built-in demo, not a language model (/help). {}", demo::HOW)]
        } else if info.resumed {
            let session = format!("session {} resumed", short_id(&info.session));
            vec![format!("{session} · /help: commands and keys"), format!("{session} · /help")]
        } else {
            let whole = "/help: commands and keys · Ctrl-C interrupts · Ctrl-D leaves";
            [whole, "/help: commands and keys"].map(str::to_owned).into()
        };
        let fits = |help: &&String| width(help) <= columns;
        let help = help.iter().find(fits).or(help.last()).cloned().unwrap_or_default();
        lines.extend(hang(&help, columns).into_iter().map(|row| Line::styled(row, look.theme.dim)));
        lines
    }

    /// `zdx · folder · state`, for the terminal's title.
    pub(crate) fn title(&self) -> String {
        let folder = self.session.as_ref().and_then(|info| info.root.file_name());
        let folder = folder.map(|name| format!(" · {}", one_line(&name.to_string_lossy(), 40)));
        let state = match (&self.doing, self.open.is_empty()) {
            (_, false) => "waiting for you",
            (Some(doing), true) => doing.state_word(),
            (None, true) => "idle",
        };
        format!("zdx{} · {state}", folder.unwrap_or_default())
    }
}

fn hints() -> Vec<String> {
    ["/help · @file · !cmd · Shift-Tab preset", "/help · @file · !cmd", "/help", ""].map(str::to_owned).into()
}

/// The tokens of the context as it was last sent, and of the answers of this turn. The context is the last to go.
fn spent((input, output): (u64, u64)) -> Vec<String> {
    let (read, written) = (tokens(input), tokens(output));
    match input {
        // Nobody has counted yet.
        0 => vec![format!("{written} out"), String::new()],
        _ => vec![format!("{read} in, {written} out"), format!("{read} in"), String::new()],
    }
}

/// `lab/qwen3-coder`, `qwen3-coder`, as much of it as can be read.
fn models(model: &str) -> Vec<String> {
    let clean = visible_line(model);
    let short = clean.rsplit('/').next().unwrap_or_default();
    let shorter = [24, 16, 8, 6].map(|columns| truncate_width(short, columns));
    std::iter::once(truncate_width(&clean, 48)).chain(shorter).chain([String::new()]).collect()
}
