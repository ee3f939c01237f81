//! What a line typed in a chat asks for: a command of ours, one for the shell, or a prompt for the model.

use zdx_protocol::Listing;

#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Empty,
    Prompt(String),
    /// A command that the user wants run, as typed: `!ls`.
    Shell(String),
    /// The mark of a command, and no command behind it.
    NoCommand,
    Help,
    New,
    /// Without a name: list what there is.
    Model(Option<String>),
    Sessions,
    /// Without a name: list who there is.
    Agent(Option<String>),
    Approval(String),
    List(Listing),
    /// To this file, or to one named after the session.
    Export(Option<String>),
    /// To before this turn, or before the last one.
    Revert(Option<u32>),
    Redo,
    /// All of the session, or what was before this turn.
    Fork(Option<u32>),
    Summarize,
    Compact,
    Context,
    Exit,
    /// One of ours, with something that makes no sense.
    Misused(String),
    /// Looks like a command and is none of ours: perhaps one of the user's own.
    Custom {
        name: String,
        text: String,
    },
}

pub const HELP: &str = "\
/help            this list
/new             start a fresh session
/model [NAME]    list the models, or switch to one
/agent [NAME]    list the agents, or work as one
/approval PRESET what may happen unasked: yolo, balanced, paranoid
/todo            the todo list
/skills          what the model can look up
/commands        commands of your own and of this project
/sessions        list saved sessions
/export [FILE]   write this session down as text
/revert [TURN]   take back the last turn, or all from TURN on, with what it did to files
/redo            take back the last revert
/fork [TURN]     go on in a copy of this session, or of what was before TURN
/summarize       sum this session up
/context         how full the model's context is
/compact         replace the conversation so far by a summary
/exit            leave (Ctrl-D does too)
!COMMAND         run a command yourself; the model reads along
@FILE            put a file before the prompt; Tab completes it
A line that ends with \\ goes on in the next one; Alt-Enter and Ctrl-J begin a new line.
Ctrl-C interrupts a turn or clears the line; twice on an empty line it leaves.";

pub fn parse(text: &str) -> Line {
    let trimmed = text.trim();
    if let Some(command) = trimmed.strip_prefix('!').or_else(|| trimmed.strip_prefix("@!")) {
        return if command.trim().is_empty() { Line::NoCommand } else { Line::Shell(trimmed.to_owned()) };
    }
    let Some(command) = trimmed.strip_prefix('/') else {
        return if trimmed.is_empty() { Line::Empty } else { Line::Prompt(text.to_owned()) };
    };
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    // A path such as /etc/hosts is the beginning of a question, not a command.
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':')) {
        return Line::Prompt(text.to_owned());
    }
    match name {
        "help" | "" => Line::Help,
        "new" => Line::New,
        "model" | "models" => Line::Model(Some(rest.trim().to_owned()).filter(|name| !name.is_empty())),
        "sessions" => Line::Sessions,
        "agent" | "agents" => Line::Agent(Some(rest.trim().to_owned()).filter(|name| !name.is_empty())),
        "approval" => Line::Approval(rest.trim().to_owned()),
        "todo" | "todos" => Line::List(Listing::Todos),
        "skills" => Line::List(Listing::Skills),
        "commands" => Line::List(Listing::Commands),
        "export" => Line::Export(Some(rest.trim().to_owned()).filter(|path| !path.is_empty())),
        "revert" => turn(rest, Line::Revert),
        "redo" => Line::Redo,
        "fork" => turn(rest, Line::Fork),
        "summarize" => Line::Summarize,
        "compact" => Line::Compact,
        "context" => Line::Context,
        "exit" | "quit" => Line::Exit,
        other => Line::Custom { name: other.to_owned(), text: text.to_owned() },
    }
}

fn turn(text: &str, line: fn(Option<u32>) -> Line) -> Line {
    match text.trim() {
        "" => line(None),
        number => match number.parse() {
            Ok(turn) => line(Some(turn)),
            Err(_) => Line::Misused(format!("{number} is no number of a turn")),
        },
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
        assert_eq!(parse("/help"), Line::Help);
        assert_eq!(parse("/model"), Line::Model(None));
        assert_eq!(parse(" /model  lab/qwen "), Line::Model(Some("lab/qwen".into())));
        assert_eq!(parse("/nwe x"), Line::Custom { name: "nwe".into(), text: "/nwe x".into() });
        assert_eq!(parse("/agent plan"), Line::Agent(Some("plan".into())));
        assert_eq!(parse("/todo"), Line::List(Listing::Todos));
        assert_eq!(parse("/revert"), Line::Revert(None));
        assert_eq!(parse("/fork 3"), Line::Fork(Some(3)));
        assert_eq!(parse("/revert x"), Line::Misused("x is no number of a turn".into()));
        assert_eq!(parse("/etc/hosts: what is it?"), Line::Prompt("/etc/hosts: what is it?".into()));
    }
}
