//! The commands that begin with a slash: one table with their help and what may stand behind them, and the one reading
//! of a line that a person typed. Carries nothing out; every front end shows and completes the same table.

use std::path::PathBuf;

use crate::check::CheckChoice;
use crate::command::{Open, SessionPick};
use crate::compare::nearest;
use crate::policy::Approval;

/// What may stand behind a command, and so what can be completed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    None,
    Agent,
    Model,
    Preset,
    Session,
    /// Something that was allowed for good.
    Grant,
    /// An answer to the offer of a check.
    Check,
    /// The number of a turn.
    Turn,
    File,
    /// A folder, in the workspace or anywhere else.
    Folder,
    /// What of an answer.
    Clip,
    /// Words for which nothing can be offered.
    Text(&'static str),
}

impl Argument {
    /// A line without it means nothing.
    pub fn is_needed(self) -> bool {
        match self {
            Self::Text(_) => true,
            Self::None
            | Self::Agent
            | Self::Model
            | Self::Preset
            | Self::Session
            | Self::Grant
            | Self::Check
            | Self::Turn
            | Self::File
            | Self::Folder
            | Self::Clip => false,
        }
    }

    /// How help names it.
    pub fn shown(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Agent | Self::Model => " [NAME]",
            Self::Preset => " [PRESET]",
            Self::Session => " [ID]",
            Self::Grant => " [GRANT]",
            Self::Check => " [ANSWER]",
            Self::Turn => " [TURN]",
            Self::File => " [FILE]",
            Self::Folder => " [PATH]",
            Self::Clip => " [code [N]]",
            Self::Text(shown) => shown,
        }
    }
}

#[derive(Debug)]
pub struct SlashCommand {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub argument: Argument,
    pub help: &'static str,
    read: fn(&str) -> Result<Slash, String>,
}

/// What is to go to the clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clip {
    /// The last answer, as the model wrote it.
    Answer,
    /// A block of code, counted from the last one, which is 1.
    Code(usize),
}

/// What such a command asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slash {
    Help,
    Open(Open),
    /// List the sessions there are to go on with, and let one be picked.
    Resume,
    /// Without a name: list what there is.
    Model(Option<String>),
    /// Without a name: list who there is.
    Agent(Option<String>),
    /// Without one: say which holds.
    Approval(Option<Approval>),
    Todos,
    Skills,
    Commands,
    Mcp,
    Sessions,
    Files,
    Export(Option<PathBuf>),
    Copy(Clip),
    Revert {
        turn: Option<u32>,
        keep_files: bool,
    },
    Redo,
    Retry,
    Summarize,
    Handoff(String),
    Context,
    Compact,
    Trust,
    Policy,
    /// Without one: list what was allowed.
    Revoke(Option<String>),
    /// Without one: say how the check stands.
    Check(Option<CheckChoice>),
    /// Without a path: list the folders that were added.
    AddDir(Option<String>),
    Config,
    Exit,
}

const fn row(
    name: &'static str,
    argument: Argument,
    help: &'static str,
    read: fn(&str) -> Result<Slash, String>,
) -> SlashCommand {
    SlashCommand { name, aliases: &[], argument, help, read }
}

const fn or(row: SlashCommand, aliases: &'static [&'static str]) -> SlashCommand {
    SlashCommand { aliases, ..row }
}

/// In the order help shows them.
pub static COMMANDS: [SlashCommand; 29] = [
    row("help", Argument::None, "this list", |_| Ok(Slash::Help)),
    or(row("new", Argument::None, "start a fresh session", |_| Ok(Slash::Open(Open::New))), &["clear"]),
    row(
        "resume",
        Argument::Session,
        "go on with another session; without an ID, pick one from a list",
        |rest| {
            let pick = given(rest).map(|id| Slash::Open(Open::Resume(SessionPick::Id(id))));
            Ok(pick.unwrap_or(Slash::Resume))
        },
    ),
    row("sessions", Argument::None, "list the saved sessions", |_| Ok(Slash::Sessions)),
    or(row("model", Argument::Model, "list the models, or switch to one", model), &["models"]),
    or(
        row("agent", Argument::Agent, "list the agents, or work as one", |rest| {
            Ok(Slash::Agent(given(rest)))
        }),
        &["agents"],
    ),
    row(
        "approval",
        Argument::Preset,
        "how much may happen without asking: yolo, balanced, paranoid",
        approval,
    ),
    row("policy", Argument::None, "what may happen without asking, and what was allowed for good", |_| {
        Ok(Slash::Policy)
    }),
    row("revoke", Argument::Grant, "take back what was allowed, by number, by words, or all", |rest| {
        Ok(Slash::Revoke(given(rest)))
    }),
    row("check", Argument::Check, "the check of the edits: run, always (after each turn) or never", check),
    row(
        "add-dir",
        Argument::Folder,
        "add a folder outside the workspace for this session, or list those that were added",
        |rest| Ok(Slash::AddDir(given(rest))),
    ),
    row("trust", Argument::None, "what this folder's own files want, and whether they get it", |_| {
        Ok(Slash::Trust)
    }),
    row("config", Argument::None, "every setting and where it came from", |_| Ok(Slash::Config)),
    or(row("todo", Argument::None, "the list of steps", |_| Ok(Slash::Todos)), &["todos"]),
    row("files", Argument::None, "the files changed in this session", |_| Ok(Slash::Files)),
    row("skills", Argument::None, "list the skills", |_| Ok(Slash::Skills)),
    row("commands", Argument::None, "list your own commands and this project's", |_| Ok(Slash::Commands)),
    row("mcp", Argument::None, "list the MCP servers and what they bring", |_| Ok(Slash::Mcp)),
    row("export", Argument::File, "write this session to a text file", |rest| {
        Ok(Slash::Export(given(rest).map(PathBuf::from)))
    }),
    row(
        "copy",
        Argument::Clip,
        "put the last answer on the clipboard, or its last block of code, or the one N before the end",
        copy,
    ),
    row(
        "revert",
        Argument::Turn,
        "take back the last turn, or all from TURN on, with what it did to files",
        revert,
    ),
    row("retry", Argument::None, "take back the last turn and ask the same again", |_| Ok(Slash::Retry)),
    row("redo", Argument::None, "take back the last revert", |_| Ok(Slash::Redo)),
    row("fork", Argument::Turn, "go on in a copy of this session, or of what was before TURN", |rest| {
        turn(rest).map(|turn| Slash::Open(Open::Fork { turn }))
    }),
    or(row("summarize", Argument::None, "sum this session up", |_| Ok(Slash::Summarize)), &["summary"]),
    row("handoff", Argument::Text(" GOAL"), "a draft to start the next session from", |rest| {
        given(rest)
            .map(Slash::Handoff)
            .ok_or_else(|| "say behind /handoff what the next session is to achieve".to_owned())
    }),
    row("context", Argument::None, "how full the model's context is", |_| Ok(Slash::Context)),
    row("compact", Argument::None, "replace the conversation so far by a summary", compact),
    or(row("exit", Argument::None, "leave (Ctrl-D does too)", |_| Ok(Slash::Exit)), &["quit"]),
];

/// Of those that begin alike, these are meant before others, in this order.
const OFTEN: [&str; 10] =
    ["exit", "resume", "revert", "new", "model", "agent", "compact", "context", "files", "approval"];

/// How often a command is meant, the most often first; what is not said of stays as it is listed.
pub fn often(name: &str) -> usize {
    OFTEN.iter().position(|often| *often == name).unwrap_or(OFTEN.len())
}

/// What other agents call it, and how it is done here.
const ELSEWHERE: [(&str, &str); 21] = [
    ("status", "/context"),
    ("cost", "/context"),
    ("usage", "/context"),
    ("stats", "/context"),
    ("permissions", "/policy"),
    ("approvals", "/approval"),
    ("allowed-tools", "/policy"),
    ("settings", "/config"),
    ("diff", "/files"),
    ("undo", "/revert"),
    ("rewind", "/revert"),
    ("checkpoint", "/revert"),
    ("plan", "/agent plan"),
    ("continue", "/resume"),
    ("history", "/sessions"),
    ("reset", "/new"),
    ("q", "/exit"),
    ("tasks", "/todo"),
    ("init", "write AGENTS.md, or ask for it in words"),
    ("memory", "write AGENTS.md, or ask for it in words"),
    ("review", "ask for it in words, or write a command of your own (/commands)"),
];

/// How much of a name must be right for it to be guessed.
const NEAR: f32 = 0.7;

/// That there is no such command, with ours for what other agents mean by it.
pub fn unknown(name: &str) -> String {
    let ours = ELSEWHERE.iter().find(|(theirs, _)| *theirs == name);
    let ours = ours.map(|(_, ours)| format!(" here: {ours} ·"));
    let near = || {
        let near = nearest(name, &names().collect::<Vec<_>>(), 1, NEAR).pop()?;
        Some(format!(" is it /{near}? ·"))
    };
    let ours = ours.or_else(near).unwrap_or_default();
    format!("there is no command /{name};{ours} /help lists those there are")
}

fn given(rest: &str) -> Option<String> {
    Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty())
}

/// Who answers in place of a model is chosen before there is a session.
fn model(rest: &str) -> Result<Slash, String> {
    match given(rest) {
        Some(name) if name.starts_with("acp:") => {
            Err(format!("an agent is no model of this chat: leave, and start `zdx --backend {name}`"))
        }
        name => Ok(Slash::Model(name)),
    }
}

fn turn(rest: &str) -> Result<Option<u32>, String> {
    let number = |text: String| text.parse().map_err(|_| format!("{text} is no number of a turn"));
    given(rest).map(number).transpose()
}

fn revert(rest: &str) -> Result<Slash, String> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (options, rest): (Vec<&str>, Vec<&str>) = words.into_iter().partition(|word| *word == "--keep-files");
    turn(&rest.join(" ")).map(|turn| Slash::Revert { turn, keep_files: !options.is_empty() })
}

fn copy(rest: &str) -> Result<Slash, String> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let clip = match words.as_slice() {
        [] => Some(Clip::Answer),
        ["code"] => Some(Clip::Code(1)),
        ["code", n] | [n] => n.parse().ok().filter(|n| *n > 0).map(Clip::Code),
        _ => None,
    };
    clip.map(Slash::Copy)
        .ok_or_else(|| "/copy takes the last answer, /copy code [N] a block of code".to_owned())
}

fn compact(rest: &str) -> Result<Slash, String> {
    match given(rest) {
        None => Ok(Slash::Compact),
        Some(_) => {
            Err("/compact takes no words; what you say in a prompt before it is kept word for word"
                .to_owned())
        }
    }
}

fn check(rest: &str) -> Result<Slash, String> {
    let choice = |text: String| {
        CheckChoice::named(&text).ok_or_else(|| "one of run, always, never goes behind /check".to_owned())
    };
    given(rest).map(choice).transpose().map(Slash::Check)
}

fn approval(rest: &str) -> Result<Slash, String> {
    let preset = |text: String| {
        Approval::named(&text)
            .ok_or_else(|| "one of yolo, balanced, paranoid goes behind /approval".to_owned())
    };
    given(rest).map(preset).transpose().map(Slash::Approval)
}

/// The row of a command, by its name or another one for it.
pub fn find(name: &str) -> Option<&'static SlashCommand> {
    COMMANDS.iter().find(|command| command.name == name || command.aliases.contains(&name))
}

/// Every name that is taken, so that nobody's own command hides behind one.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().flat_map(|command| std::iter::once(command.name).chain(command.aliases.iter().copied()))
}

/// A line for each command, and for what else a front end lets people type.
pub fn help(more: &[(&str, &str)]) -> String {
    let usage = |command: &SlashCommand| format!("/{}{}", command.name, command.argument.shown());
    let own = COMMANDS.iter().map(|command| (usage(command), command.help));
    let rows: Vec<(String, &str)> =
        own.chain(more.iter().map(|(typed, help)| ((*typed).to_owned(), *help))).collect();
    let widest = rows.iter().map(|(usage, _)| usage.chars().count()).max().unwrap_or_default();
    rows.iter().map(|(usage, help)| format!("{usage:widest$}  {help}\n")).collect()
}

/// What a line that a person typed asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Empty,
    Prompt(String),
    /// A command that the user wants run, as typed: `!ls`.
    Shell(String),
    /// The mark of a command, and no command behind it.
    NoCommand,
    Slash(Slash),
    /// One of ours, with something that makes no sense.
    Misused(String),
    /// Looks like a command and is none of ours: perhaps one of the user's own.
    Custom {
        name: String,
        text: String,
    },
}

pub fn parse(text: &str) -> Line {
    let trimmed = text.trim();
    if let Some(command) = trimmed.strip_prefix('!').or_else(|| trimmed.strip_prefix("@!")) {
        return if command.trim().is_empty() { Line::NoCommand } else { Line::Shell(trimmed.to_owned()) };
    }
    // Typed by the habit of other programs; no model is asked to leave.
    if matches!(trimmed, "exit" | "quit" | ":q") {
        return Line::Slash(Slash::Exit);
    }
    if matches!(trimmed, "help" | "?") {
        return Line::Slash(Slash::Help);
    }
    let Some(command) = trimmed.strip_prefix('/') else {
        return if trimmed.is_empty() { Line::Empty } else { Line::Prompt(text.to_owned()) };
    };
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    // A path such as /etc/hosts is the beginning of a question, not a command.
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':')) {
        return Line::Prompt(text.to_owned());
    }
    if name.is_empty() {
        return Line::Slash(Slash::Help);
    }
    match find(name) {
        Some(command) => (command.read)(rest).map_or_else(Line::Misused, Line::Slash),
        None => Line::Custom { name: name.to_owned(), text: text.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_prompts() {
        assert_eq!(parse("  "), Line::Empty);
        assert_eq!(parse(" hi "), Line::Prompt(" hi ".into()));
        assert_eq!(parse(" !ls -l"), Line::Shell("!ls -l".into()));
        assert_eq!(parse("@!ls"), Line::Shell("@!ls".into()));
        assert_eq!([parse("!"), parse("@! ")], [Line::NoCommand, Line::NoCommand]);
        assert_eq!(parse("no! really"), Line::Prompt("no! really".into()));
        assert_eq!([parse("/help"), parse("/")], [Line::Slash(Slash::Help), Line::Slash(Slash::Help)]);
        assert_eq!([parse("exit"), parse(" :q ")], [Line::Slash(Slash::Exit), Line::Slash(Slash::Exit)]);
        assert_eq!(parse("quit smoking"), Line::Prompt("quit smoking".into()));
        assert_eq!(parse("/model"), Line::Slash(Slash::Model(None)));
        assert_eq!(parse(" /models  lab/qwen "), Line::Slash(Slash::Model(Some("lab/qwen".into()))));
        assert_eq!(parse("/nwe x"), Line::Custom { name: "nwe".into(), text: "/nwe x".into() });
        let revert = |turn, keep_files| Line::Slash(Slash::Revert { turn, keep_files });
        assert_eq!(
            [parse("/revert"), parse("/revert 3 --keep-files")],
            [revert(None, false), revert(Some(3), true)]
        );
        assert_eq!(parse("/resume"), Line::Slash(Slash::Resume));
        assert_eq!(parse("/clear"), Line::Slash(Slash::Open(Open::New)));
        assert_eq!(parse("/copy"), Line::Slash(Slash::Copy(Clip::Answer)));
        assert_eq!(parse("/copy code 2"), Line::Slash(Slash::Copy(Clip::Code(2))));
        assert!(matches!(parse("/copy code 0"), Line::Misused(_)));
        assert_eq!(parse("/retry"), Line::Slash(Slash::Retry));
        assert_eq!(parse("/compact "), Line::Slash(Slash::Compact));
        assert!(matches!(parse("/compact the tests"), Line::Misused(_)), "no word is passed over");
        assert_eq!(parse("/fork 3"), Line::Slash(Slash::Open(Open::Fork { turn: Some(3) })));
        assert_eq!(parse("/revert x"), Line::Misused("x is no number of a turn".into()));
        assert!(
            matches!(parse("/model acp:fake"), Line::Misused(why) if why.contains("zdx --backend acp:fake"))
        );
        assert_eq!(parse("/model lab/acp:7b"), Line::Slash(Slash::Model(Some("lab/acp:7b".into()))));
        assert_eq!(parse("/add-dir ~/my data "), Line::Slash(Slash::AddDir(Some("~/my data".into()))));
        assert_eq!(parse("/add-dir"), Line::Slash(Slash::AddDir(None)));
        assert_eq!(parse("/approval yolo"), Line::Slash(Slash::Approval(Some(Approval::Yolo))));
        assert!(matches!(parse("/approval all"), Line::Misused(_)));
        assert!(matches!(parse("/handoff"), Line::Misused(_)));
        assert_eq!(parse("/etc/hosts: what is it?"), Line::Prompt("/etc/hosts: what is it?".into()));
    }

    #[test]
    fn every_name_is_taken_once_and_does_what_its_row_says() {
        let mut seen = std::collections::HashSet::new();
        for name in names() {
            assert!(seen.insert(name), "{name} stands twice");
            assert!(!matches!(parse(&format!("/{name} x")), Line::Custom { .. } | Line::Prompt(_)), "{name}");
        }
        for (theirs, ours) in ELSEWHERE {
            assert!(find(theirs).is_none(), "{theirs} is ours");
            let is_ours = |ours: &str| !matches!(parse(ours), Line::Custom { .. });
            assert!(!ours.starts_with('/') || is_ours(ours), "{ours} is none of ours");
        }
        assert!(OFTEN.iter().all(|name| find(name).is_some()));
        assert_eq!(unknown("hlep"), "there is no command /hlep; is it /help? · /help lists those there are");
        assert_eq!(unknown("frobnicate"), "there is no command /frobnicate; /help lists those there are");
        assert_eq!([parse("help"), parse(" ? ")], [Line::Slash(Slash::Help), Line::Slash(Slash::Help)]);
        assert!(matches!(parse("help me"), Line::Prompt(_)));
        let help = help(&[("!x", "run it")]);
        assert_eq!(help.lines().count(), COMMANDS.len() + 1);
        assert!(help.contains("/handoff GOAL") && help.contains("/model [NAME]"), "{help}");
    }
}
