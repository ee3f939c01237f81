//! What Tab offers in the line editor: files after `@`, agents after `@agent:`, commands after `/`.
//! Runs on the editor's thread and never waits longer than the completer's patience.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::OnceLock;

use rustyline::completion::Completer as Complete;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use serde_json::Map;
use zdx_engine::RESERVED;
use zdx_engine::context::complete::{Completer, Completions, Names};
use zdx_engine::library::{Agents, Commands, Mode, Places};
use zdx_engine::paths::Paths;

pub struct Tab {
    completer: Completer,
    paths: Paths,
    root: PathBuf,
    /// Looked up when Tab is first pressed: most people never need them.
    names: OnceLock<Names>,
}

impl Tab {
    pub fn new(paths: Paths, root: PathBuf) -> Self {
        let completer = Completer::new(root.clone(), paths.home().map(PathBuf::from));
        Self { completer, paths, root, names: OnceLock::new() }
    }

    fn names(&self) -> &Names {
        self.names.get_or_init(|| {
            let places = Places::new(&self.root, &self.paths);
            let (agents, _) = Agents::load(&places, &Map::new());
            let (commands, _) = Commands::load(&places, &RESERVED);
            let own = commands.iter().map(|command| command.name.clone());
            Names {
                agents: agents.names(Mode::Primary).into_iter().map(str::to_owned).collect(),
                commands: RESERVED.iter().map(|name| (*name).to_owned()).chain(own).collect(),
            }
        })
    }
}

impl Complete for Tab {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        cursor: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let Completions { replace, candidates, .. } = self.completer.complete(line, cursor, self.names());
        Ok((replace.start, candidates))
    }
}

impl Hinter for Tab {
    type Hint = String;
}

/// What is typed or pasted is drawn as it is but for what a terminal would obey: a page may put more on a clipboard than
/// it shows. The line itself stays as it came.
impl Highlighter for Tab {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if !line.contains(is_obeyed) {
            return Cow::Borrowed(line);
        }
        // As wide as the editor takes the original to be, so that the cursor stays where it belongs.
        let drawn = line.chars().filter_map(|c| match is_obeyed(c) {
            true if c.is_control() => Some(char::REPLACEMENT_CHARACTER),
            true => None,
            false => Some(c),
        });
        Cow::Owned(drawn.collect())
    }

    fn highlight_char(&self, line: &str, _: usize, _: CmdKind) -> bool {
        line.contains(is_obeyed)
    }
}

/// Controls, and what turns the direction of text.
fn is_obeyed(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl Validator for Tab {}
impl Helper for Tab {}
