//! The `zdx` binary: arguments in, one of the commands, an exit code out.

mod acp;
mod acp_agent;
mod args;
mod chat;
mod commands;
mod exit;
mod front;
mod output;
mod pump;
mod run;
mod screen;
mod settings;
mod signals;
mod start;
mod stdin;
mod stdio;
mod style;
mod terminal;
mod words;

use std::process::ExitCode;

use zdx_config::Environment;
use zdx_engine::Way;
use zdx_protocol::display::{plain, sanitize};
use zdx_protocol::{Open, SessionPick};
use zdx_tools::supervisor;

use crate::args::{AcpArgs, Cli, Command, Line, Options, Sessions};
use crate::commands::history::Mode;
use crate::exit::{Ending, Failure};
use crate::settings::Settings;
use crate::stdin::Asked;
use crate::terminal::Terminal;

fn main() -> ExitCode {
    // Before anything else: keys in our environment are nobody else's business.
    supervisor::keep_private();
    // The supervisor of a command must owe nothing to arguments or configuration.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == supervisor::ARGUMENT) {
        return supervisor::run();
    }
    let line = match args::parse() {
        Ok(line) => line,
        Err(error) => return usage(&error).into(),
    };
    let env = Environment::capture();
    // From here on only we know them.
    supervisor::scrub_environment();
    let terminal = terminal_of(&env);
    let ended = match line {
        Line::Zdx(cli) => dispatch(*cli, env, terminal),
        Line::Acp(args) => drive(&args, env, terminal),
    };
    let ending = ended.unwrap_or_else(|failure| {
        if let Some(message) = failure.message() {
            let line = terminal.fit(&format!("zdx: {message}"));
            // Nobody can be told that stderr does not work.
            let _ = output::write_all(
                rustix::stdio::stderr(),
                format!("{}\n", terminal.style.red(&line)).as_bytes(),
            );
        }
        failure.ending()
    });
    ending.into()
}

fn terminal_of(env: &Environment) -> Terminal {
    let no_colour = env.first_of(&["NO_COLOR", "AGENT_NO_COLOR"]).is_some();
    Terminal::detect(no_colour, env.get("TERM"))
}

/// Help, or what is wrong with the command line. That quotes arguments, which a script may have from anywhere.
fn usage(error: &clap::Error) -> Ending {
    if !error.use_stderr() {
        // Help that nobody reads to its end is no failure.
        let _ = error.print();
        return Ending::Completed;
    }
    let text = error.render();
    let shown = match terminal_of(&Environment::capture()).style.colour {
        true => sanitize(&text.ansi().to_string()).into_owned(),
        false => plain(&text.to_string()).into_owned(),
    };
    // Nobody can be told that stderr does not work.
    let _ = output::write_all(rustix::stdio::stderr(), shown.as_bytes());
    Ending::Usage
}

fn dispatch(mut cli: Cli, env: Environment, terminal: Terminal) -> Result<Ending, Failure> {
    // These two need nothing but the definition of the command line itself.
    match cli.command {
        Some(Command::Completions { shell }) => return commands::completions(shell),
        Some(Command::Man) => return commands::man(),
        _ => {}
    }
    let streams_json = cli.streams_json();
    let (prompt, said) = (cli.prompt.take(), cli.said());
    let settings = match Settings::resolve(cli.options, env, terminal) {
        Ok(settings) => settings,
        Err(failure) => {
            // A command line that makes no sense has no result.
            let told = failure.why().filter(|_| streams_json && !matches!(failure, Failure::Usage(_)));
            if let Some(why) = told {
                commands::print(front::Json::stillborn(why))?;
            }
            return Err(failure);
        }
    };
    start::check_backend(&settings)?;
    start::check_added_folders(&settings)?;
    match cli.command {
        None => converse(talk(&settings, prompt, said)),
        Some(Command::Sessions(Sessions::Resume { id })) => {
            let open = resumed(&settings, id)?;
            converse(person(&settings, open, None))
        }
        Some(Command::Exec { prompt, text }) => converse(run::exec(&settings, Asked::new(prompt, text))),
        Some(Command::Sessions(Sessions::List { limit, all })) => {
            commands::sessions::list(&settings, limit, all)
        }
        Some(Command::Sessions(Sessions::Show { id })) => commands::sessions::show(&settings, &id),
        Some(Command::Sessions(Sessions::Compaction { id })) => commands::compaction::show(&settings, &id),
        Some(Command::Sessions(Sessions::Delete { ids })) => commands::sessions::delete(&settings, &ids),
        Some(Command::Sessions(Sessions::Fork { id, turn })) => commands::history::fork(&settings, &id, turn),
        Some(Command::Sessions(Sessions::Revert { id, turn, keep_files, dry_run })) => {
            let way = if keep_files { Way::Unsay(turn) } else { Way::Back(turn) };
            converse(async { commands::history::go(&settings, &id, way, mode(dry_run)) })
        }
        Some(Command::Sessions(Sessions::Redo { id, dry_run })) => {
            converse(async { commands::history::go(&settings, &id, Way::Forth, mode(dry_run)) })
        }
        Some(Command::Sessions(Sessions::Summarize { id })) => {
            block_on(commands::history::print_summary(&settings, &id))
        }
        Some(Command::Handoff { goal, from_session, out }) => {
            block_on(commands::handoff::run(&settings, &goal, from_session.as_deref(), out.as_deref()))
        }
        Some(Command::Config(command)) => commands::config::run(&settings, &command),
        Some(Command::Trust { revoke, list, yes }) => {
            commands::trust::run(&settings, commands::trust::Wish::of(revoke, list, yes))
        }
        Some(Command::Policy(command)) => commands::policy::run(&settings, &command),
        Some(Command::Mcp(command)) => block_on(commands::mcp::run(&settings, &command)),
        Some(Command::AcpAgent) => converse(acp_agent::serve(&settings)),
        Some(Command::Models) => block_on(commands::models::run(&settings)),
        // Answered above, or refused by `args`.
        Some(Command::Completions { .. } | Command::Man | Command::Acp(_)) => Ok(Ending::Completed),
    }
}

/// Another agent, spoken to over ACP.
fn drive(args: &AcpArgs, env: Environment, terminal: Terminal) -> Result<Ending, Failure> {
    let settings = Settings::resolve(Options::default(), env, terminal)?;
    converse(acp::run(args, &settings))
}

/// Without a command: a chat, perhaps with a prompt to begin with. `-p`, or data on stdin, makes it `exec`.
async fn talk(settings: &Settings, prompt: Option<String>, said: Option<String>) -> Result<Ending, Failure> {
    let waits = said.as_deref() == Some("-");
    if prompt.is_some() || waits || (said.is_some() && !settings.terminal.stdin) {
        return run::exec(settings, Asked::new(prompt, said)).await;
    }
    person(settings, settings.open.clone(), said).await
}

/// On the terminal's own screen where there is one, else line by line.
async fn person(settings: &Settings, open: Open, first: Option<String>) -> Result<Ending, Failure> {
    match screen::is_there(settings) {
        true => screen::converse(settings, open, first).await,
        false => chat::chat(settings, open, first).await,
    }
}

fn mode(dry_run: bool) -> Mode {
    if dry_run { Mode::DryRun } else { Mode::Do }
}

fn resumed(settings: &Settings, id: Option<String>) -> Result<Open, Failure> {
    match (&settings.open, id, settings.save) {
        (Open::New, Some(id), true) => Ok(Open::Resume(SessionPick::Id(id))),
        (Open::New, None, true) => Ok(Open::Resume(SessionPick::Latest)),
        (Open::Resume(pick), None, true) => Ok(Open::Resume(pick.clone())),
        _ => {
            Err(Failure::usage("`sessions resume` takes the session's id alone; leave the other options out"))
        }
    }
}

/// Runs something that writes files as it goes.
fn converse(run: impl Future<Output = Result<Ending, Failure>>) -> Result<Ending, Failure> {
    block_on(async {
        zdx_store::ignore_sigxfsz().map_err(Failure::runtime)?;
        run.await
    })
}

fn block_on<T>(run: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::runtime(format!("cannot start: {error}")))?;
    let result = runtime.block_on(run);
    // Whatever still hangs in a blocking call is not worth waiting for.
    runtime.shutdown_background();
    result
}
