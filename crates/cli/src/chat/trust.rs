//! The question about a folder that nobody trusts yet: what its files want, and three answers.
//! Only what is typed after the question was drawn counts.

use zdx_protocol::TrustState;
use zdx_protocol::display::trust::{UNTIL_THEN, listed, title};

use super::editor::Editor;
use super::keys::{MARK_PASTES, Pressed, UNMARK_PASTES};
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
    editor: &mut Editor,
    stage: &mut Stage,
    signals: &mut Signals,
) -> Result<TrustAnswer, Caught> {
    let terminal = settings.terminal;
    editor.set_aside().await;
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
    // The keys come last: once they can be seen, what is typed counts.
    if editor.hush(|key| "tnq".contains(key.to_ascii_lowercase())).await.is_err() {
        return Ok(TrustAnswer::Leave);
    }
    stage.ask(&format!("{MARK_PASTES}{} ", terminal.fit("[t] trust · [n] not now · [q] leave:")));
    stage.settle().await;
    let answer = loop {
        let pressed = match unless_signalled(signals, editor.quiet.pressed()).await {
            Ok(pressed) => pressed,
            Err(caught) => {
                stage.ask(&format!("{UNMARK_PASTES}\n"));
                return Err(caught);
            }
        };
        match pressed {
            Ok(Pressed::Key('t' | 'T')) => break ("t", TrustAnswer::Trust),
            Ok(Pressed::Key('n' | 'N')) => break ("n", TrustAnswer::NotNow),
            Ok(Pressed::Key('q' | 'Q') | Pressed::End) | Err(_) => break ("q", TrustAnswer::Leave),
            Ok(Pressed::Key(_)) => {}
        }
    };
    stage.ask(&format!("{UNMARK_PASTES}{}\n", answer.0));
    Ok(answer.1)
}
