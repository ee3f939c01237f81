//! The command line of `zdx acp`, also called `acpcli`: options of its own, none of those that every other command takes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, ValueEnum};

const NAME: &str = "acp";
/// A link to the binary by this name is the command.
const LINK: &str = "acpcli";

const USAGE: &str = "zdx acp [OPTIONS] [--] [PROMPT]";

pub(super) const EXAMPLES: &str = "\
Examples:
  zdx acp \"Summarize README.md\"                     the first agent of the settings
  zdx acp -a gemini \"Review @src/main.rs\"           another one, and a file to look at
  cat log | zdx acp -a claude \"why does it fail?\"   stdin goes along
  zdx acp -o jsonl \"Test\" | jq .method              every frame of both sides
  zdx acp -a qwen --list-caps --list-modes          what an agent can do
  zdx acp --save-session id \"Begin\"; zdx acp --resume $(cat id) \"Go on\"
  zdx acp --write \"Create test.txt\"                 let it write, in this folder
  zdx acp --proxy log.jsonl -- gemini --acp         an editor's agent, with every frame written down
  zdx acp --replay log.jsonl                        that agent again, from what was written down

Agents are read from --settings, else from acp.json in zdx's folder and [acp.agents] in its configuration:
  {\"agent_servers\": {\"gemini\": {\"command\": \"gemini\", \"args\": [\"--acp\"]}}}

Exit codes: 0 the turn ended well, 1 it did not, 2 usage or settings, 130 cancelled.";

#[derive(Debug, Parser)]
#[command(name = "zdx acp", version, about = "Drive any ACP agent from the command line")]
#[command(override_usage = USAGE, after_help = EXAMPLES)]
struct Line {
    #[command(flatten)]
    args: AcpArgs,
}

#[derive(Debug, Args)]
pub struct AcpArgs {
    /// The prompt; `@path` and `@https://…` in it go along as links. What is piped in is appended to it
    #[arg(value_name = "PROMPT")]
    pub words: Vec<String>,

    /// The agent, by its name in the settings; without it the first one listed
    #[arg(short, long, value_name = "NAME")]
    pub agent: Option<String>,

    /// What goes to stdout: text, simple (the answer alone), json or jsonl (every frame of both sides)
    #[arg(short, long, value_name = "MODE", default_value = "text")]
    pub output: Shown,

    /// Read agents and MCP servers from this file
    #[arg(long, value_name = "PATH")]
    pub settings: Option<PathBuf>,

    /// Let the agent write files in this folder
    #[arg(long)]
    pub write: bool,

    /// Let it read anywhere, and write in this folder
    #[arg(long)]
    pub yolo: bool,

    /// Show what the agent can do
    #[arg(long)]
    pub list_caps: bool,

    /// Show its modes
    #[arg(long)]
    pub list_modes: bool,

    /// Show its slash commands
    #[arg(long)]
    pub list_commands: bool,

    /// Show the sessions that it keeps for this folder
    #[arg(long)]
    pub list_sessions: bool,

    /// Set the session's mode
    #[arg(long, value_name = "ID")]
    pub mode: Option<String>,

    /// Set the session's model
    #[arg(long, value_name = "ID")]
    pub model: Option<String>,

    /// Set another option of the session; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub config: Vec<String>,

    /// Log in with this method of the agent first
    #[arg(long, value_name = "METHOD")]
    pub auth: Option<String>,

    /// Have the agent forget who is logged in
    #[arg(long)]
    pub logout: bool,

    /// Go on with this session
    #[arg(long, value_name = "ID")]
    pub resume: Option<String>,

    /// Write the session's id to this file
    #[arg(long, value_name = "PATH")]
    pub save_session: Option<PathBuf>,

    /// Close the session at the end
    #[arg(long)]
    pub close: bool,

    /// Have the agent delete this session
    #[arg(long, value_name = "ID")]
    pub delete_session: Option<String>,

    /// Hold the agent against a checklist of the protocol, and print what passed; a prompt is for the turn in it
    #[arg(long)]
    pub conform: bool,

    /// Sit between an editor and the agent whose command stands behind `--`, and append every frame to this file
    #[arg(long, value_name = "FILE")]
    pub proxy: Option<PathBuf>,

    /// Play the agent of such a file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["proxy", "words"])]
    pub replay: Option<PathBuf>,

    /// Seconds that the agent may take to answer, turns and logging in aside
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shown {
    Text,
    Simple,
    Json,
    Jsonl,
}

impl AcpArgs {
    /// Something is wanted that needs no prompt.
    pub fn asks_without_prompt(&self) -> bool {
        let Self { list_caps, list_modes, list_commands, list_sessions, logout, close, resume, .. } = self;
        *list_caps
            || *list_modes
            || *list_commands
            || *list_sessions
            || *logout
            || self.delete_session.is_some()
            || (*close && resume.is_some())
    }

    /// Something is wanted that is done to a session, a prompt aside.
    pub fn wants_session(&self) -> bool {
        let Self { list_modes, list_commands, mode, model, config, resume, save_session, close, .. } = self;
        *list_modes
            || *list_commands
            || *close
            || [mode, model, resume].into_iter().any(Option::is_some)
            || !config.is_empty()
            || save_session.is_some()
    }
}

/// What stands behind `acp`, when that is what the binary is asked to be.
pub(super) fn parse(words: &[OsString]) -> Option<Result<AcpArgs, clap::Error>> {
    let called = words.first().and_then(|word| Path::new(word).file_name());
    let word = |at: usize| words.get(at).and_then(|word| word.to_str());
    let rest = match (called.and_then(|name| name.to_str()), word(1), word(2)) {
        (Some(LINK), _, _) => words[1..].to_vec(),
        (_, Some(NAME), _) => words[2..].to_vec(),
        (_, Some("help"), Some(NAME)) => vec!["--help".into()],
        _ => return None,
    };
    let line = std::iter::once(OsString::from("zdx acp")).chain(rest);
    Some(Line::try_parse_from(line).map(|line| line.args))
}
