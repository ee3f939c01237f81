//! Words on the command line that are no command: a prompt when they hold a blank or anything else that no command is spelled
//! with, or stand behind `--`; else a mistake.
//! A mistyped command must not become a request to a model.

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use super::acp::{self, AcpArgs};
use super::{Cli, Command};

/// Whose command line it is.
pub enum Line {
    Zdx(Box<Cli>),
    Acp(Box<AcpArgs>),
}

/// The command line, or what is wrong with it.
pub fn parse() -> Result<Line, clap::Error> {
    let words: Vec<_> = std::env::args_os().collect();
    if let Some(parsed) = acp::parse(&words) {
        return parsed.map(|args| Line::Acp(Box::new(args)));
    }
    match Cli::try_parse() {
        Ok(cli) => cli.checked().map(|cli| Line::Zdx(Box::new(cli))),
        // What does not fit behind a mistyped command is no news: the command is.
        Err(error) if error.use_stderr() => Err(mistyped().unwrap_or(error)),
        Err(help) => Err(help),
    }
}

impl Cli {
    fn checked(self) -> Result<Self, clap::Error> {
        if let Some(error) = no_prompt(&self.text) {
            return Err(error);
        }
        if let Some(Command::Acp(_)) = self.command {
            return Err(wrong("`zdx acp` has options of its own; put them behind it, and nothing before it"));
        }
        let prompts = self.text.len() + usize::from(!self.words.is_empty());
        if self.command.is_some() && (prompts > 0 || self.prompt.is_some()) {
            return Err(wrong(
                "a prompt stands beside a command; give it behind `exec`, or leave the command out",
            ));
        }
        if prompts > 1 {
            return Err(wrong("there are several prompts; give one, quoted as a whole"));
        }
        Ok(self)
    }

    /// The prompt that stands there without -p.
    pub fn said(&mut self) -> Option<String> {
        let words = std::mem::take(&mut self.words);
        self.text.pop().or_else(|| (!words.is_empty()).then(|| words.join(" ")))
    }
}

fn mistyped() -> Option<clap::Error> {
    let found = Cli::command().ignore_errors(true).try_get_matches().ok()?;
    let text: Vec<String> = found.get_many("text")?.cloned().collect();
    no_prompt(&text).filter(|_| found.subcommand_name().is_none())
}

/// A single word is a command that there is not. `-` is stdin; many a language needs no blank for a sentence.
fn no_prompt(text: &[String]) -> Option<clap::Error> {
    let like_a_command =
        |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let word = text.first().filter(|word| *word != "-" && like_a_command(word))?;
    let cli = Cli::command();
    let commands =
        clap::Command::new("zdx").override_usage(super::USAGE).subcommands(cli.get_subcommands().cloned());
    // It knows the commands alone: so the words are those that it always has for one that it does not know.
    commands.try_get_matches_from(["zdx", word.as_str()]).err()
}

fn wrong(message: &str) -> clap::Error {
    Cli::command().error(ErrorKind::ArgumentConflict, message)
}
