//! What Tab offers in the line editor: files after `@`, agents after `@agent:`, commands after `/`.
//! Runs on the editor's thread and never waits longer than the completer's patience.

use std::path::PathBuf;
use std::sync::OnceLock;

use rustyline::completion::Completer as Complete;
use rustyline::highlight::Highlighter;
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

impl Highlighter for Tab {}
impl Validator for Tab {}
impl Helper for Tab {}
