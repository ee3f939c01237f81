//! Asks about a folder that nobody trusts yet: what its files want, and three answers.

use zdx_protocol::TrustState;
use zdx_protocol::display::trust::{UNTIL_THEN, listed, title};

use super::answer::read_choice;
use super::keyboard::ChatKeyboard;
use super::tty::UNMARK_PASTES;
use crate::pump::{Stage, unless_signalled};
use crate::settings::Settings;
use crate::signals::{Caught, Signals};

/// What fits on a screen together with the question.
const TALL: usize = 15;

pub enum TrustAnswer {
    Trust,
    NotNow,
    Leave,
}

pub async fn ask(
    asked: &TrustState,
    settings: &Settings,
    keyboard: &mut ChatKeyboard,
    stage: &mut Stage,
    signals: &mut Signals,
) -> Result<TrustAnswer, Caught> {
    let terminal = settings.terminal;
    keyboard.set_aside().await;
    // All of it: what is trusted must have been shown.
    let wants = terminal.fit(&listed(&asked.wants));
    let more = match wants.lines().count() {
        ..=TALL => String::new(),
        _ => {
            let count = match asked.wants.len() {
                1 => "1 wish".to_owned(),
                count => format!("{count} wishes"),
            };
            terminal.fit(&format!("  {count}, all shown: scroll up to read from the start")) + "\n"
        }
    };
    let (title, note) = (terminal.fit(&title(asked, settings.home())), terminal.fit(UNTIL_THEN));
    let (title, note) = (terminal.style.yellow(&title), terminal.style.dim(&note));
    stage.ask(&format!("{title}\n{}\n{more}{note}\n", wants.trim_end_matches('\n')));
    stage.settle().await;
    let choices = terminal.fit("[t] trust · [n] not now (Enter) · [q] leave");
    match unless_signalled(signals, read_choice(keyboard, &choices, choice, stage)).await {
        Ok(answer) => Ok(answer.unwrap_or(TrustAnswer::Leave)),
        Err(caught) => {
            stage.ask(&format!("{UNMARK_PASTES}\n"));
            Err(caught)
        }
    }
}

fn choice(line: &str) -> Option<TrustAnswer> {
    match line.to_lowercase().as_str() {
        "t" | "trust" => Some(TrustAnswer::Trust),
        "" | "n" | "no" | "not now" => Some(TrustAnswer::NotNow),
        "q" | "quit" | "leave" => Some(TrustAnswer::Leave),
        _ => None,
    }
}
