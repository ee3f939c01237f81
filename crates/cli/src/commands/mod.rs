//! Commands that look something up and print it on stdout. None of them starts a conversation.

pub mod compaction;
pub mod config;
pub mod handoff;
pub mod history;
pub mod mcp;
pub mod models;
pub mod policy;
mod replay;
pub mod sessions;
pub mod trust;

use clap::CommandFactory;
use zdx_protocol::display::json_safe;

use crate::args::Cli;
use crate::exit::{Ending, Failure};
use crate::output::write_all;
use crate::settings::Settings;

/// All of a command's output, as one write.
pub fn print(text: impl AsRef<[u8]>) -> Result<Ending, Failure> {
    write_all(rustix::stdio::stdout(), text.as_ref())?;
    Ok(Ending::Completed)
}

/// A value as a line of JSON that may be looked at on a terminal.
pub fn json_line(value: &serde_json::Value) -> String {
    format!("{}\n", json_safe(&value.to_string()))
}

/// What the user should know besides the output, on stderr.
pub fn warn(settings: &Settings, notices: &[String]) {
    for notice in notices {
        let line = settings.terminal.fit(&format!("warning: {notice}"));
        // Nobody can be told that stderr does not work.
        let _ = write_all(
            rustix::stdio::stderr(),
            format!("{}\n", settings.terminal.style.yellow(&line)).as_bytes(),
        );
    }
}

/// What is to be said of the result itself, on stderr: that there is none, what became of it.
pub fn say(settings: &Settings, text: &str) {
    // Nobody can be told that stderr does not work.
    let _ = write_all(rustix::stdio::stderr(), format!("{}\n", settings.terminal.fit(text)).as_bytes());
}

pub fn completions(shell: clap_complete::Shell) -> Result<Ending, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "zdx", &mut script);
    print(script)
}

pub fn man() -> Result<Ending, Failure> {
    let command = Cli::command();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for sub in command.get_subcommands() {
        describe(sub, "zdx", &mut page);
    }
    print(page)
}

/// A command's own help as a section of the manual page; what every command takes is told once, above.
fn describe(command: &clap::Command, parent: &str, page: &mut Vec<u8>) {
    let name = format!("{parent} {}", command.get_name());
    let help = command.clone().bin_name(name.clone()).render_long_help().to_string();
    page.extend(format!(".SH {}\n.nf\n", name.to_uppercase()).bytes());
    for line in help.lines() {
        // A dot or a quote at the start of a line would be read as a request to the formatter.
        page.extend(format!("\\&{}\n", line.replace('\\', "\\e").replace('-', "\\-")).bytes());
    }
    page.extend(b".fi\n");
    for sub in command.get_subcommands() {
        describe(sub, &name, page);
    }
}
