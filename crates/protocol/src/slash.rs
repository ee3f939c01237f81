//! The commands that begin with a slash: one table with their help and what may stand behind them, and the one reading
//! of a line that a person typed. Carries nothing out; every front end shows and completes the same table.

use std::path::PathBuf;

use crate::check::CheckChoice;
use crate::command::{Command, Open, SessionPick};
use crate::compare::nearest;
use crate::policy::Approval;
use crate::query::Query;

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
    read: fn(&str) -> Result<SlashAction, String>,
}

/// What is to go to the clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clip {
    /// The last answer, as the model wrote it.
    Answer,
    /// A block of code, counted from the last one, which is 1.
    Code(usize),
}

/// The effect of a slash command. Front ends differ only in how they show what comes of it.
#[derive(Clone, Debug, PartialEq)]
pub enum SlashAction {
    Send(Command),
    Ask(Query),
    Local(LocalAction),
}

/// A slash command that the front end carries out itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalAction {
    Help,
    Exit,
    /// Lists the sessions that can be resumed, to choose one.
    PickSession,
    /// Shows the approval mode, in as many words as the front end has room for.
    ShowApprovalMode,
    Copy(Clip),
}

/// Sessions that `/sessions` lists.
const LISTED_SESSIONS: usize = 20;

const fn row(
    name: &'static str,
    argument: Argument,
    help: &'static str,
    read: fn(&str) -> Result<SlashAction, String>,
) -> SlashCommand {
    SlashCommand { name, aliases: &[], argument, help, read }
}

const fn or(row: SlashCommand, aliases: &'static [&'static str]) -> SlashCommand {
    SlashCommand { aliases, ..row }
}

/// In the order help shows them.
pub static COMMANDS: [SlashCommand; 29] = [
    row("help", Argument::None, "this list", |_| local(LocalAction::Help)),
    or(row("new", Argument::None, "start a fresh session", |_| send(Command::Open(Open::New))), &["clear"]),
    row(
        "resume",
        Argument::Session,
        "go on with another session; without an ID, pick one from a list",
        |rest| {
            let open = |id| send(Command::Open(Open::Resume(SessionPick::Id(id))));
            given(rest).map_or(local(LocalAction::PickSession), open)
        },
    ),
    row("sessions", Argument::None, "list the saved sessions", |_| {
        ask(Query::Sessions { limit: LISTED_SESSIONS })
    }),
    or(
        row("model", Argument::Model, "list the models, or switch to one; --default keeps it", model),
        &["models"],
    ),
    or(
        row("agent", Argument::Agent, "list the agents, or work as one", |rest| {
            given(rest).map_or(ask(Query::Agents), |name| send(Command::SetAgent(name)))
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
        ask(Query::Grants)
    }),
    row("revoke", Argument::Grant, "take back what was allowed, by number, by words, or all", |rest| {
        given(rest).map_or(ask(Query::Grants), |grant| send(Command::Revoke { grant }))
    }),
    row("check", Argument::Check, "the check of the edits: run, always (after each turn) or never", check),
    row(
        "add-dir",
        Argument::Folder,
        "add a folder outside the workspace for this session, or list those that were added",
        |rest| given(rest).map_or(ask(Query::AddedFolders), |path| send(Command::AddFolder { path })),
    ),
    row("trust", Argument::None, "what this folder's own files want, and whether they get it", |_| {
        send(Command::Trust)
    }),
    row("config", Argument::None, "every setting and where it came from", |_| ask(Query::Config)),
    or(row("todo", Argument::None, "the list of steps", |_| ask(Query::Todos)), &["todos"]),
    row("files", Argument::None, "the files changed in this session", |_| ask(Query::FilesChanged)),
    row("skills", Argument::None, "list the skills", |_| ask(Query::Skills)),
    row("commands", Argument::None, "list your own commands and this project's", |_| ask(Query::Commands)),
    row("mcp", Argument::None, "list the MCP servers and what they bring", |_| ask(Query::Mcp)),
    row("export", Argument::File, "write this session to a text file", |rest| {
        send(Command::Export { path: given(rest).map(PathBuf::from) })
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
    row("retry", Argument::None, "take back the last turn and ask the same again", |_| send(Command::Retry)),
    row("redo", Argument::None, "take back the last revert", |_| send(Command::Redo)),
    row("fork", Argument::Turn, "go on in a copy of this session, or of what was before TURN", |rest| {
        send(Command::Open(Open::Fork { turn: turn(rest)? }))
    }),
    or(row("summarize", Argument::None, "sum this session up", |_| ask(Query::Summary)), &["summary"]),
    row("handoff", Argument::Text(" GOAL"), "a draft to start the next session from", |rest| {
        let missing = || "say behind /handoff what the next session is to achieve".to_owned();
        ask(Query::Handoff { goal: given(rest).ok_or_else(missing)? })
    }),
    row("context", Argument::None, "how full the model's context is", |_| ask(Query::Context)),
    row("compact", Argument::None, "replace the conversation so far by a summary", compact),
    or(row("exit", Argument::None, "leave (Ctrl-D does too)", |_| local(LocalAction::Exit)), &["quit"]),
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
fn model(rest: &str) -> Result<SlashAction, String> {
    match given(rest) {
        Some(name) if name.starts_with("acp:") => {
            Err(format!("an agent is no model of this chat: leave, and start `zdx --backend {name}`"))
        }
        Some(word) if word == "--default" => send(Command::KeepModel),
        Some(words) if words.starts_with("--") => {
            Err("/model --default stands alone and keeps the model in use; /model NAME switches first"
                .to_owned())
        }
        Some(name) => send(Command::SetModel(name)),
        None => ask(Query::Models),
    }
}

fn turn(rest: &str) -> Result<Option<u32>, String> {
    let number = |text: String| text.parse().map_err(|_| format!("{text} is no number of a turn"));
    given(rest).map(number).transpose()
}

fn revert(rest: &str) -> Result<SlashAction, String> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (options, rest): (Vec<&str>, Vec<&str>) = words.into_iter().partition(|word| *word == "--keep-files");
    send(Command::Revert { turn: turn(&rest.join(" "))?, keep_files: !options.is_empty() })
}

fn copy(rest: &str) -> Result<SlashAction, String> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let clip = match words.as_slice() {
        [] => Some(Clip::Answer),
        ["code"] => Some(Clip::Code(1)),
        ["code", n] | [n] => n.parse().ok().filter(|n| *n > 0).map(Clip::Code),
        _ => None,
    };
    let why = || "/copy takes the last answer, /copy code [N] a block of code".to_owned();
    local(LocalAction::Copy(clip.ok_or_else(why)?))
}

fn compact(rest: &str) -> Result<SlashAction, String> {
    match given(rest) {
        None => send(Command::Compact),
        Some(_) => {
            Err("/compact takes no words; what you say in a prompt before it is kept word for word"
                .to_owned())
        }
    }
}

fn check(rest: &str) -> Result<SlashAction, String> {
    let choice = |text: String| {
        CheckChoice::named(&text).ok_or_else(|| "one of run, always, never goes behind /check".to_owned())
    };
    send(Command::Check(given(rest).map(choice).transpose()?))
}

fn approval(rest: &str) -> Result<SlashAction, String> {
    let preset = |text: String| {
        Approval::named(&text)
            .ok_or_else(|| "one of yolo, balanced, paranoid goes behind /approval".to_owned())
    };
    match given(rest) {
        Some(text) => send(Command::SetApproval(preset(text)?)),
        None => local(LocalAction::ShowApprovalMode),
    }
}

fn send(command: Command) -> Result<SlashAction, String> {
    Ok(SlashAction::Send(command))
}

fn ask(query: Query) -> Result<SlashAction, String> {
    Ok(SlashAction::Ask(query))
}

fn local(action: LocalAction) -> Result<SlashAction, String> {
    Ok(SlashAction::Local(action))
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
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    Empty,
    Prompt(String),
    /// A command that the user wants run, as typed: `!ls`.
    Shell(String),
    /// The mark of a command, and no command behind it.
    NoCommand,
    Slash(SlashAction),
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
        return Line::Slash(SlashAction::Local(LocalAction::Exit));
    }
    if matches!(trimmed, "help" | "?") {
        return Line::Slash(SlashAction::Local(LocalAction::Help));
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
        return Line::Slash(SlashAction::Local(LocalAction::Help));
    }
    match find(name) {
        Some(command) => (command.read)(rest).map_or_else(Line::Misused, Line::Slash),
        None => Line::Custom { name: name.to_owned(), text: text.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(command: Command) -> Line {
        Line::Slash(SlashAction::Send(command))
    }

    fn asked(query: Query) -> Line {
        Line::Slash(SlashAction::Ask(query))
    }

    fn local(action: LocalAction) -> Line {
        Line::Slash(SlashAction::Local(action))
    }

    #[test]
    fn commands_are_told_from_prompts() {
        assert_eq!(parse("  "), Line::Empty);
        assert_eq!(parse(" hi "), Line::Prompt(" hi ".into()));
        assert_eq!(parse(" !ls -l"), Line::Shell("!ls -l".into()));
        assert_eq!(parse("@!ls"), Line::Shell("@!ls".into()));
        assert_eq!([parse("!"), parse("@! ")], [Line::NoCommand, Line::NoCommand]);
        assert_eq!(parse("no! really"), Line::Prompt("no! really".into()));
        assert_eq!(parse("quit smoking"), Line::Prompt("quit smoking".into()));
        assert_eq!(parse("/nwe x"), Line::Custom { name: "nwe".into(), text: "/nwe x".into() });
        assert!(matches!(parse("/copy code 0"), Line::Misused(_)));
        assert!(matches!(parse("/compact the tests"), Line::Misused(_)), "no word is passed over");
        assert_eq!(parse("/revert x"), Line::Misused("x is no number of a turn".into()));
        assert!(
            matches!(parse("/model acp:fake"), Line::Misused(why) if why.contains("zdx --backend acp:fake"))
        );
        assert!(matches!(parse("/approval all"), Line::Misused(_)));
        assert!(matches!(parse("/check later"), Line::Misused(_)));
        assert!(matches!(parse("/handoff"), Line::Misused(_)));
        assert_eq!(parse("/etc/hosts: what is it?"), Line::Prompt("/etc/hosts: what is it?".into()));
    }

    #[test]
    fn every_command_has_one_action() {
        let revert = |turn, keep_files| sent(Command::Revert { turn, keep_files });
        let by_id = Open::Resume(SessionPick::Id("7f3a".into()));
        let actions = [
            ("/help", local(LocalAction::Help)),
            ("/", local(LocalAction::Help)),
            ("/new", sent(Command::Open(Open::New))),
            ("/clear", sent(Command::Open(Open::New))),
            ("/resume", local(LocalAction::PickSession)),
            ("/resume 7f3a", sent(Command::Open(by_id))),
            ("/sessions", asked(Query::Sessions { limit: LISTED_SESSIONS })),
            ("/model", asked(Query::Models)),
            (" /models  lab/qwen ", sent(Command::SetModel("lab/qwen".into()))),
            ("/model --default ", sent(Command::KeepModel)),
            ("/model lab/acp:7b", sent(Command::SetModel("lab/acp:7b".into()))),
            ("/agent", asked(Query::Agents)),
            ("/agent plan", sent(Command::SetAgent("plan".into()))),
            ("/approval", local(LocalAction::ShowApprovalMode)),
            ("/approval yolo", sent(Command::SetApproval(Approval::Yolo))),
            ("/policy", asked(Query::Grants)),
            ("/revoke", asked(Query::Grants)),
            ("/revoke all", sent(Command::Revoke { grant: "all".into() })),
            ("/check", sent(Command::Check(None))),
            ("/check run", sent(Command::Check(Some(CheckChoice::Run)))),
            ("/add-dir", asked(Query::AddedFolders)),
            ("/add-dir ~/my data ", sent(Command::AddFolder { path: "~/my data".into() })),
            ("/trust", sent(Command::Trust)),
            ("/config", asked(Query::Config)),
            ("/todo", asked(Query::Todos)),
            ("/files", asked(Query::FilesChanged)),
            ("/skills", asked(Query::Skills)),
            ("/commands", asked(Query::Commands)),
            ("/mcp", asked(Query::Mcp)),
            ("/export", sent(Command::Export { path: None })),
            ("/export a.md", sent(Command::Export { path: Some("a.md".into()) })),
            ("/copy", local(LocalAction::Copy(Clip::Answer))),
            ("/copy code 2", local(LocalAction::Copy(Clip::Code(2)))),
            ("/revert", revert(None, false)),
            ("/revert 3 --keep-files", revert(Some(3), true)),
            ("/retry", sent(Command::Retry)),
            ("/redo", sent(Command::Redo)),
            ("/fork 3", sent(Command::Open(Open::Fork { turn: Some(3) }))),
            ("/summarize", asked(Query::Summary)),
            ("/handoff ship it", asked(Query::Handoff { goal: "ship it".into() })),
            ("/context", asked(Query::Context)),
            ("/compact ", sent(Command::Compact)),
            ("/exit", local(LocalAction::Exit)),
            (" :q ", local(LocalAction::Exit)),
        ];
        for (typed, action) in &actions {
            assert_eq!(parse(typed), *action, "{typed}");
        }
        let is_listed = |name: &str| {
            let named = |typed: &str| typed.trim().strip_prefix('/')?.split(' ').next().map(str::to_owned);
            actions.iter().any(|(typed, _)| named(typed).as_deref() == Some(name))
        };
        assert!(COMMANDS.iter().all(|command| is_listed(command.name)), "a command has no line here");
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
        assert_eq!([parse("help"), parse(" ? ")], [local(LocalAction::Help), local(LocalAction::Help)]);
        assert!(matches!(parse("help me"), Line::Prompt(_)));
        let help = help(&[("!x", "run it")]);
        assert_eq!(help.lines().count(), COMMANDS.len() + 1);
        assert!(help.contains("/handoff GOAL") && help.contains("/model [NAME]"), "{help}");
    }
}
