//! The line editor. It blocks, so it lives on a thread of its own and draws on the terminal itself, never on
//! stdout.

use std::sync::{Arc, Mutex, mpsc as thread_mpsc};

use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::history::{History, MemHistory};
use rustyline::{
    Behavior, Cmd, CompletionType, ConditionalEventHandler, Config, Event, EventContext, EventHandler,
    KeyCode, KeyEvent, Modifiers, Movement, RepeatCount,
};
use tokio::sync::mpsc;
use zdx_protocol::prompt_history::{LONG, MOST};

use super::input::Typed;
use super::keyboard::ChatKeyboard;
use super::tab::{Asked, Tab};
use crate::exit::reason;

const PROMPT: &str = "> ";

pub struct Editor {
    orders: thread_mpsc::Sender<Order>,
    entries: mpsc::Receiver<Typed>,
    completions: mpsc::Receiver<Asked>,
    /// A line was asked for and has not come yet.
    waiting: bool,
    pub keyboard: ChatKeyboard,
}

/// What the editor's thread is told.
enum Order {
    /// Read a line that begins with this text.
    Read(String),
    /// Offer a line again.
    Remember(String),
}

impl Editor {
    /// `remembered` are the lines of earlier chats, oldest first.
    pub fn start(remembered: Vec<String>) -> std::io::Result<Self> {
        let keyboard = ChatKeyboard::open(true)?;
        let (tab, completions) = Tab::new();
        let mut lines = LineEditor::new(remembered, tab).map_err(std::io::Error::other)?;
        let (orders, wanted) = thread_mpsc::channel();
        let (send, entries) = mpsc::channel(1);
        std::thread::Builder::new().name("editor".into()).spawn(move || {
            while let Ok(order) = wanted.recv() {
                match order {
                    Order::Remember(line) => lines.remember(&line),
                    Order::Read(begun) if send.blocking_send(lines.read(&begun)).is_err() => return,
                    Order::Read(_) => {}
                }
            }
        })?;
        Ok(Self { orders, entries, completions, waiting: false, keyboard })
    }

    /// Offers a line again. The caller sees to it that no secret is in it.
    pub fn remember(&self, line: String) {
        // An editor that is gone remembers nothing.
        let _ = self.orders.send(Order::Remember(line));
    }

    /// Reads the next prompt. It begins with what was typed before a request came. Cancelled, it goes on in the background,
    /// and the next call gets what it brings.
    pub async fn prompt(&mut self) -> Typed {
        if !std::mem::replace(&mut self.waiting, true)
            && self.orders.send(Order::Read(self.keyboard.ahead.begun())).is_err()
        {
            return Typed::End;
        }
        tokio::select! {
            biased;
            Some(asked) = self.completions.recv() => Typed::Complete(asked),
            entry = self.entries.recv() => {
                self.waiting = false;
                entry.unwrap_or(Typed::End)
            }
        }
    }
}

struct LineEditor {
    editor: rustyline::Editor<Tab, MemHistory>,
    folds: Folds,
}

impl LineEditor {
    fn new(remembered: Vec<String>, tab: Tab) -> rustyline::Result<Self> {
        let config = Config::builder()
            .behavior(Behavior::PreferTerm)
            .max_history_size(MOST)?
            .history_ignore_dups(true)?
            .history_ignore_space(true)
            .auto_add_history(false)
            .bracketed_paste(true)
            .completion_type(CompletionType::List)
            .build();
        let lines = MemHistory::with_config(&config);
        let mut editor = rustyline::Editor::with_history(config, lines)?;
        // Nobody asked the terminal whether it knows that.
        editor.enable_synchronized_output(false);
        editor.set_helper(Some(tab));
        let folds = Folds::default();
        let newline = || EventHandler::Simple(Cmd::Newline);
        editor.bind_sequence(KeyEvent(KeyCode::Char('J'), Modifiers::CTRL), newline());
        editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), newline());
        editor.bind_sequence(KeyEvent::ctrl('C'), EventHandler::Conditional(Box::new(ClearFirst)));
        editor.bind_sequence(
            KeyEvent(KeyCode::Enter, Modifiers::NONE),
            EventHandler::Conditional(Box::new(folds.clone())),
        );
        // A paste has no chip here: it would fill the screen.
        for line in remembered.into_iter().filter(|line| line.len() <= LONG) {
            let _ = editor.history_mut().add_owned(line);
        }
        Ok(Self { editor, folds })
    }

    fn read(&mut self, begun: &str) -> Typed {
        match self.editor.readline_with_initial(PROMPT, (begun, "")) {
            Ok(line) => Typed::Line(self.folds.unfold(line)),
            Err(ReadlineError::Interrupted) => Typed::Interrupt,
            Err(ReadlineError::Eof) => Typed::End,
            Err(ReadlineError::Io(error)) => {
                Typed::Failed(format!("cannot read the terminal: {}", reason(&error)))
            }
            Err(error) => Typed::Failed(format!("cannot read the terminal: {error}")),
        }
    }

    fn remember(&mut self, line: &str) {
        let _ = self.editor.add_history_entry(line);
    }
}

/// A backslash at the end of what is typed makes Enter begin a new line. Where that happened is remembered, so
/// that these backslashes go and pasted ones stay.
#[derive(Clone, Default)]
struct Folds(Arc<Mutex<Vec<usize>>>);

impl Folds {
    fn note(&self, backslash: usize) {
        self.places().push(backslash);
    }

    /// The line without the backslashes that stood for a newline. A place that was edited since is left alone.
    fn unfold(&self, mut line: String) -> String {
        let mut places = std::mem::take(&mut *self.places());
        places.sort_unstable();
        places.dedup();
        for place in places.into_iter().rev() {
            if line.get(place..).is_some_and(|rest| rest.starts_with("\\\n")) {
                line.remove(place);
            }
        }
        line
    }

    fn places(&self) -> std::sync::MutexGuard<'_, Vec<usize>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl ConditionalEventHandler for Folds {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, cx: &EventContext) -> Option<Cmd> {
        let unfinished = cx.line().ends_with('\\') && cx.pos() == cx.line().len();
        unfinished.then(|| {
            self.note(cx.pos() - 1);
            Cmd::Newline
        })
    }
}

/// Ctrl-C takes back what is typed; only with nothing typed does it mean more.
struct ClearFirst;

impl ConditionalEventHandler for ClearFirst {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, cx: &EventContext) -> Option<Cmd> {
        (!cx.line().is_empty()).then_some(Cmd::Kill(Movement::WholeBuffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_backslashes_that_enter_followed_are_taken_away() {
        let folds = Folds::default();
        folds.note(1);
        assert_eq!(folds.unfold("a\\\nb\\\nc".into()), "a\nb\\\nc");
        assert_eq!(folds.unfold("a\\\nb".into()), "a\\\nb");
        folds.note(40);
        assert_eq!(folds.unfold("短".into()), "短");
    }
}
