//! The raw command line, as clap reads it. Nothing is decided here: see `settings` for what it resolves to.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod acp;
mod servers;
mod words;

pub use acp::{AcpArgs, Shown};
pub use servers::McpCommand;
pub use words::{Line, parse};

const EXAMPLES: &str = "\
Examples:
  zdx                                        talk in the terminal
  zdx \"why does the build fail?\"            the same, beginning with this prompt
  zdx exec -p \"what does this project do?\"   one prompt, answer on stdout
  cat log | zdx exec -p \"why does it fail?\"  stdin goes along as context
  zdx -c                                     go on with this folder's last session
  zdx --model lab/qwen3-coder exec -p \"…\"    another model, for once
  zdx exec --format json -p \"…\" | jq         every event as a line of JSON

Without any configuration zdx looks for a model server on this machine, then falls back to a
built-in demo model. `zdx config init` writes a commented configuration file.";

const USAGE: &str = "\
zdx [OPTIONS] [COMMAND]
       zdx [OPTIONS] \"PROMPT\"
       zdx [OPTIONS] -- PROMPT";

const GLOBAL: &str = "Options for every command";

const EXEC_EXAMPLES: &str = "\
Examples:
  zdx exec -p \"list the TODOs in src\"
  zdx exec \"add a test for parse_date\" >answer.txt
  git diff | zdx exec -p \"review this change\"
  slow-command | zdx exec -p \"summarise\" -    wait for stdin, however long it takes

Only the answer goes to stdout; tool activity and errors go to stderr.
Exit codes: 0 completed, 1 failed or stopped at a limit, 2 usage, 130 interrupted.";

const HANDOFF_EXAMPLES: &str = "\
Examples:
  zdx handoff --goal \"finish the parser\" >next.md
  zdx handoff --goal \"ship it\" --from-session 550e --out next.md

The result is a draft: read it, change it, then use its starter prompt.";

const TRUST_EXAMPLES: &str = "\
Examples:
  zdx trust               show what the folder wants, then ask
  zdx trust --yes         the same for scripts
  zdx trust --revoke      back to a folder that may only tighten
  zdx --trust exec -p \"…\"  for one run, remembering nothing

Trust holds for the content: when one of the files changes, zdx asks again.";

const ACP_AGENT: &str = "\
Editors start this themselves: give them the command `zdx acp-agent`, with options such as --model,
--agent or --approval behind it. Sessions are those of `zdx sessions list`. Nothing but frames of the
protocol goes to stdout; notices go to stderr.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  zdx policy explain 'git status && rm -rf build'
  zdx policy explain --approval yolo --format json 'make install'

Judged as a model's call with somebody there to be asked, under `balanced` unless --approval or the
configuration says otherwise.";

const CHECK_EXAMPLES: &str = "\
Example:
  echo '{\"tool\":\"bash\",\"input\":{\"command\":\"rm x\"}}' | zdx policy check

A line that is no such call is answered with the verdict deny and the code invalid_input, and the exit
code is 1 at the end.";

#[derive(Debug, Parser)]
#[command(name = "zdx", version, about = "The terminal coding agent that talks to any model", after_help = EXAMPLES)]
#[command(override_usage = USAGE)]
pub struct Cli {
    #[command(flatten)]
    pub options: Options,

    /// Answer this prompt and leave: short for `zdx exec -p`
    #[arg(short, long, value_name = "PROMPT", allow_hyphen_values = true)]
    pub prompt: Option<String>,

    /// Begin the chat with this prompt, in quotes or behind `--`; with stdin piped, answer it and leave
    #[arg(value_name = "PROMPT")]
    pub text: Vec<String>,

    /// The same, word by word
    #[arg(last = true, hide = true, value_name = "PROMPT")]
    pub words: Vec<String>,

    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Clone, Default, Args)]
pub struct Options {
    /// The folder to work in; relative paths and commands start there
    #[arg(long, global = true, value_name = "FOLDER", help_heading = GLOBAL)]
    pub root: Option<PathBuf>,

    /// Let this folder outside the workspace count like it, for this run's session; may be given again
    #[arg(long, global = true, value_name = "FOLDER", help_heading = GLOBAL)]
    pub add_dir: Vec<PathBuf>,

    /// The model, as NAME or PROVIDER/NAME
    #[arg(long, global = true, value_name = "MODEL", help_heading = GLOBAL)]
    pub model: Option<String>,

    /// The provider of a model that names none
    #[arg(long, global = true, value_name = "PROVIDER", help_heading = GLOBAL)]
    pub provider: Option<String>,

    /// Replace the system prompt for this run; "" for none at all
    #[arg(long, global = true, value_name = "TEXT", allow_hyphen_values = true, help_heading = GLOBAL)]
    pub system_prompt: Option<String>,

    /// Sampling temperature
    #[arg(long, global = true, value_name = "NUMBER", help_heading = GLOBAL)]
    pub temperature: Option<f64>,

    /// The most tokens one answer may have
    #[arg(long, global = true, value_name = "N", help_heading = GLOBAL)]
    pub max_tokens: Option<u32>,

    /// The most model calls one turn may take; 0 for no limit
    #[arg(long, global = true, value_name = "N", help_heading = GLOBAL)]
    pub max_steps: Option<u32>,

    /// Work as this agent: build, plan, or one of your own
    #[arg(long, global = true, value_name = "NAME", help_heading = GLOBAL)]
    pub agent: Option<String>,

    /// Have another agent answer in place of a model: acp:NAME, from acp.json or [acp.agents.NAME]
    #[arg(long, global = true, value_name = "acp:NAME", help_heading = GLOBAL)]
    pub backend: Option<String>,

    /// Go on with the session of this id (its first characters are enough)
    #[arg(long, global = true, value_name = "ID", help_heading = GLOBAL)]
    pub session: Option<String>,

    /// Go on with the last session of this folder
    #[arg(short = 'c', long = "continue", global = true, help_heading = GLOBAL)]
    pub continue_last: bool,

    /// Keep no record of this session
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub no_save: bool,

    /// What goes to stdout: the answer, or every event as a line of JSON
    #[arg(long, global = true, value_name = "FORMAT", help_heading = GLOBAL)]
    pub format: Option<Format>,

    /// What may happen unasked: yolo all but the dangerous, balanced no changes, paranoid nothing but what you allowed
    #[arg(long, global = true, value_name = "PRESET", help_heading = GLOBAL)]
    pub approval: Option<ApprovalArg>,

    /// Short for --approval yolo
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub yolo: bool,

    /// With nobody to ask, let dangerous commands run that a person would have to confirm
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub allow_dangerous: bool,

    /// Trust this folder's own configuration, commands and agents for this run
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub trust: bool,

    /// Line mode, even where a full screen is possible
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub plain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ApprovalArg {
    #[value(alias = "god_mode")]
    Yolo,
    Balanced,
    Paranoid,
}

impl Cli {
    /// Whether this run promises a stream of events that ends with a result.
    pub fn streams_json(&self) -> bool {
        let converses = match &self.command {
            None | Some(Command::Exec { .. } | Command::Sessions(Sessions::Resume { .. })) => true,
            Some(
                Command::Sessions(
                    Sessions::List { .. }
                    | Sessions::Show { .. }
                    | Sessions::Compaction { .. }
                    | Sessions::Delete { .. }
                    | Sessions::Fork { .. }
                    | Sessions::Revert { .. }
                    | Sessions::Redo { .. }
                    | Sessions::Summarize { .. },
                )
                | Command::Handoff { .. }
                | Command::Config(_)
                | Command::Trust { .. }
                | Command::Models
                | Command::Mcp(_)
                | Command::Acp(_)
                | Command::AcpAgent
                | Command::Policy(_)
                | Command::Completions { .. }
                | Command::Man,
            ) => false,
        };
        converses && self.options.format == Some(Format::Json)
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one prompt and print the answer
    #[command(after_help = EXEC_EXAMPLES)]
    Exec {
        /// The prompt; anything piped in is appended to it
        #[arg(short, long, value_name = "PROMPT", allow_hyphen_values = true)]
        prompt: Option<String>,

        /// The prompt, without -p; `-` waits for stdin
        #[arg(value_name = "PROMPT")]
        text: Option<String>,
    },

    /// List, show, resume, fork, revert, summarize and delete saved sessions
    #[command(subcommand)]
    Sessions(Sessions),

    /// Draft the start of the next session: goal, prompt, files, tasks and commands
    #[command(after_help = HANDOFF_EXAMPLES)]
    Handoff {
        /// What the next session is to achieve
        #[arg(long, value_name = "GOAL", allow_hyphen_values = true)]
        goal: String,

        /// The session to start from, instead of the latest one
        #[arg(long, value_name = "ID")]
        from_session: Option<String>,

        /// Write to this file instead of stdout
        #[arg(long, value_name = "PATH")]
        out: Option<PathBuf>,
    },

    /// Show and create the configuration
    #[command(subcommand)]
    Config(ConfigCommand),

    /// Show what this folder's own files want, and trust them as they are
    #[command(after_help = TRUST_EXAMPLES)]
    Trust {
        /// Trust this folder no longer
        #[arg(long, conflicts_with_all = ["list", "yes"])]
        revoke: bool,

        /// List the folders that are trusted
        #[arg(long, conflicts_with = "yes")]
        list: bool,

        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },

    /// List the models that the provider offers
    Models,

    /// List, try, add and switch the MCP servers that bring tools
    #[command(subcommand)]
    Mcp(McpCommand),

    /// Drive any ACP agent (Claude, Codex, Gemini, Qwen, opencode …) from the command line; options of its own
    #[command(after_help = acp::EXAMPLES)]
    Acp(Box<AcpArgs>),

    /// Be the agent of an editor that speaks ACP (Zed, JetBrains, Neovim, Toad …), on stdin and stdout
    #[command(after_help = ACP_AGENT)]
    AcpAgent,

    /// Ask the guard what may run, and take back what was granted
    #[command(subcommand)]
    Policy(PolicyCommand),

    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  zdx completions bash >~/.local/share/bash-completion/completions/zdx"
    )]
    Completions { shell: clap_complete::Shell },

    /// Print the manual page
    #[command(after_help = "Example:\n  zdx man | man -l -")]
    Man,
}

#[derive(Debug, Subcommand)]
pub enum Sessions {
    /// List sessions, newest first
    List {
        /// How many to show; 0 for all
        #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
        limit: usize,
        /// Show the sessions of tasks too, each below the one it works for
        #[arg(long)]
        all: bool,
    },
    /// Print what was said and done in a session
    Show {
        /// The session's id, or the first characters of it
        id: String,
    },
    /// Print what left the context of a session, and what each compaction kept
    Compaction {
        /// The session's id, or the first characters of it
        id: String,
    },
    /// Go on with a session, or with the latest one
    Resume {
        /// The session's id, or the first characters of it
        id: Option<String>,
    },
    /// Copy a session into a new one and print its id
    Fork {
        /// The session's id, or the first characters of it
        id: String,
        /// Copy only what was before this turn
        #[arg(long, value_name = "N")]
        turn: Option<u32>,
    },
    /// Take back the last turns: what was said, and what zdx's own tools did to files
    Revert {
        /// The session's id, or the first characters of it
        id: String,
        /// Go back to before this turn, instead of the last one
        #[arg(long, value_name = "N")]
        turn: Option<u32>,
        /// Leave files as they are: the conversation alone goes back
        #[arg(long)]
        keep_files: bool,
        /// Show what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Take back the last revert
    Redo {
        /// The session's id, or the first characters of it
        id: String,
        /// Show what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Print a summary of a session
    Summarize {
        /// The session's id, or the first characters of it
        id: String,
    },
    /// Delete sessions for good
    Delete {
        /// The sessions' ids, or the first characters of them
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Say what would happen to a command, and why; nothing is run
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain {
        /// The whole command line, as one argument
        #[arg(allow_hyphen_values = true)]
        command: String,
    },
    /// Judge calls, one JSON object a line on stdin, one verdict a line on stdout; nothing is run
    #[command(after_help = CHECK_EXAMPLES)]
    Check,
    /// Judge a table of cases and list what falls short
    Test {
        /// JSON lines with id, class, kind, input, expect and perhaps setup
        file: PathBuf,
    },
    /// List what this project was granted for good, or take it back
    Grants {
        /// Of every project, not only of this one
        #[arg(long)]
        everywhere: bool,

        /// Take this grant back, named as the list shows it
        #[arg(long, value_name = "GRANT")]
        revoke: Vec<String>,

        /// Take all of them back
        #[arg(long, alias = "all", conflicts_with = "revoke")]
        revoke_all: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the path of the configuration file
    Path,
    /// Write a commented configuration file, unless there is one
    Init,
    /// Print every value and where it comes from
    Show {
        /// Print the system prompt instead, as the model gets it
        // Shares its id with the global option, which takes a value: clap then lets this one stand in for it.
        #[arg(long, num_args = 0..=1, value_name = "TEXT", allow_hyphen_values = true)]
        system_prompt: Option<Option<String>>,
    },
}
