//! What a line typed in a chat asks for: a command of ours, or a prompt for the model.

#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Empty,
    Prompt(String),
    Help,
    New,
    /// Without a name: list what there is.
    Model(Option<String>),
    Sessions,
    Compact,
    Context,
    Exit,
    /// Looks like a command, and is none of ours.
    Unknown(String),
}

pub const HELP: &str = "\
/help            this list
/new             start a fresh session
/model [NAME]    list the models, or switch to one
/sessions        list saved sessions
/context         how full the model's context is
/compact         replace the conversation so far by a summary
/exit            leave (Ctrl-D does too)
A line that ends with \\ goes on in the next one; Alt-Enter and Ctrl-J begin a new line.
Ctrl-C interrupts a turn or clears the line; twice on an empty line it leaves.";

pub fn parse(text: &str) -> Line {
    let trimmed = text.trim();
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
        "model" => Line::Model(Some(rest.trim().to_owned()).filter(|name| !name.is_empty())),
        "sessions" => Line::Sessions,
        "compact" => Line::Compact,
        "context" => Line::Context,
        "exit" | "quit" => Line::Exit,
        other => Line::Unknown(other.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_prompts() {
        assert_eq!(parse("  "), Line::Empty);
        assert_eq!(parse(" hi "), Line::Prompt(" hi ".into()));
        assert_eq!(parse("/help"), Line::Help);
        assert_eq!(parse("/model"), Line::Model(None));
        assert_eq!(parse(" /model  lab/qwen "), Line::Model(Some("lab/qwen".into())));
        assert_eq!(parse("/nwe"), Line::Unknown("nwe".into()));
        assert_eq!(parse("/etc/hosts: what is it?"), Line::Prompt("/etc/hosts: what is it?".into()));
    }
}
