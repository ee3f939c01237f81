//! What it costs to have a command judged: `zdx policy check`, fed with a file of calls.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::json;

use crate::measure::{self, median};
use crate::place::Place;
use crate::sections::{Rows, millis};
use crate::table::{Row, ms};

const DECISIONS: u32 = 50_000;
const A_SECOND: u32 = 10_000;
const ROUNDS: usize = 5;
/// What the guard is tested with, everyday commands and tricks: a verdict, a tab, the command.
const COMMANDS: &str = include_str!("../../../../guard/tests/cases/verdicts.tsv");

pub fn measure(place: &Place) -> Rows {
    let folder = place.folder("calls")?;
    let (one, many) = (folder.join("one"), folder.join("many"));
    write_calls(&one, 1)?;
    write_calls(&many, DECISIONS)?;
    let root = place.folder("judged")?.display().to_string();
    let check = || place.zdx(&["policy", "check", "--root", &root]);

    let answered = measure::count_lines(check(), &many)?;
    if answered != DECISIONS as usize {
        return Err(format!("expected {DECISIONS} decisions, saw {answered}"));
    }
    let (mut short, mut long) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        short.push(measure::run_reading(check(), &one)?.wall);
        long.push(measure::run_reading(check(), &many)?.wall);
    }
    let (short, long) = (median(short)?, median(long)?);
    let row = Row::new(
        "50,000 commands judged",
        format!("{:.0} a second", f64::from(DECISIONS) / long.as_secs_f64()),
        format!("one alone {}", ms(short)),
    );
    let limit = f64::from(DECISIONS) / f64::from(A_SECOND) * 1e3;
    Ok(vec![row.budget("≥ 10,000 a second", millis(long), limit)])
}

fn write_calls(path: &Path, count: u32) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let commands = COMMANDS.lines().filter_map(|line| Some(line.split_once('\t')?.1));
    let mut file = BufWriter::new(File::create(path).map_err(text)?);
    for command in commands.cycle().take(count as usize) {
        let call = json!({"tool": "bash", "input": {"command": command.replace("\\n", "\n")}});
        writeln!(file, "{call}").map_err(text)?;
    }
    file.flush().map_err(text)
}
