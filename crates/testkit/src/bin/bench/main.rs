//! Measures a zdx binary against its budgets, each beside a reference taken in the same run.
//! Knows no more of zdx than a user does: arguments, a config file, and what happens outside the process.

mod acp;
mod acp_agent;
mod history;
mod measure;
mod place;
mod policy;
mod search;
mod sections;
mod table;
mod terminal;
mod tui;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use place::Place;
use sections::SECTIONS;
use table::Row;

const USAGE: &str = "usage: zdx-bench PATH_OF_ZDX [SECTION…]";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(zdx) = args.next().map(PathBuf::from) else { return refuse(USAGE) };
    let wanted: Vec<String> = args.collect();
    let known: Vec<&str> = SECTIONS.iter().map(|section| section.name).collect();
    if let Some(unknown) = wanted.iter().find(|name| !known.contains(&name.as_str())) {
        return refuse(&format!("no section {unknown:?}; there are: {}", known.join(", ")));
    }
    match Place::new(zdx) {
        Ok(place) => run(&place, &wanted),
        Err(error) => refuse(&error),
    }
}

fn run(place: &Place, wanted: &[String]) -> ExitCode {
    let mut rows = Vec::new();
    for section in SECTIONS {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == section.name) {
            continue;
        }
        say(&format!("measuring {} …", section.name));
        match (section.measure)(place) {
            Ok(measured) => rows.extend(measured),
            Err(error) => rows.push(Row::failed(section.name, error)),
        }
    }
    let table = table::render(&rows);
    let _ = writeln!(std::io::stdout(), "{}\n\n{table}", place.describe());
    if rows.iter().any(Row::is_fatal) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "bench: {text}");
}

fn refuse(text: &str) -> ExitCode {
    say(text);
    ExitCode::from(2)
}
