//! The budgets, a section for each thing that is run. A new budget is a new line in the table and its function.

use std::io::Read;
use std::process::Command;
use std::time::Duration;

use crate::measure::{self, Cost, median};
use crate::place::{Place, Server};
use crate::table::{Row, in_mib, mib, ms};

pub type Rows = Result<Vec<Row>, String>;

pub struct Section {
    pub name: &'static str,
    pub measure: fn(&Place) -> Rows,
}

pub const SECTIONS: &[Section] = &[
    Section { name: "binary", measure: binary },
    Section { name: "version", measure: version },
    Section { name: "hello", measure: hello },
    Section { name: "gap", measure: gap },
    Section { name: "deltas", measure: deltas },
    Section { name: "growth", measure: growth },
    Section { name: "search", measure: crate::search::measure },
    Section { name: "policy", measure: crate::policy::measure },
    Section { name: "resume", measure: crate::history::resume },
    Section { name: "tui", measure: crate::tui::measure },
    Section { name: "acp", measure: crate::acp::measure },
    Section { name: "assembly", measure: crate::history::assembly },
];

/// The program headers follow the file's own header directly.
const ELF_HEADERS: u64 = 64 << 10;

/// Size of the binary, and whether it needs nothing installed.
fn binary(place: &Place) -> Rows {
    let text = |error: std::io::Error| error.to_string();
    let file = std::fs::File::open(&place.zdx).map_err(text)?;
    let size = file.metadata().map_err(text)?.len();
    // Not the whole of it: see [`Cost::peak_rss`].
    let mut start = Vec::new();
    file.take(ELF_HEADERS).read_to_end(&mut start).map_err(text)?;
    let is_static = !asks_for_loader(&start);
    let linked = if is_static { "static" } else { "dynamic" };
    Ok(vec![
        Row::new("binary, size", mib(size), "").budget("≤ 20 MiB", in_mib(size), 20.0),
        Row::new("binary, linking", linked, "").demand("static", is_static),
    ])
}

/// Whether a 64-bit ELF file names a program interpreter (PT_INTERP), as every dynamic executable does.
fn asks_for_loader(elf: &[u8]) -> bool {
    const PT_INTERP: u64 = 3;
    let number = |at: usize, size: usize| {
        let bytes = elf.get(at..at + size)?;
        Some(bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte)))
    };
    let header = |at: usize, size: usize| number(at, size).and_then(|value| usize::try_from(value).ok());
    let (Some(table), Some(size), Some(count)) = (header(0x20, 8), header(0x36, 2), header(0x38, 2)) else {
        return true;
    };
    !elf.starts_with(b"\x7fELF\x02") || (0..count).any(|at| number(table + at * size, 4) == Some(PT_INTERP))
}

fn version(place: &Place) -> Rows {
    let [zdx, reference] = interleaved(41, [&|| place.zdx(&["--version"]), &|| place.command("true")])?;
    let wall = median_wall(&zdx)?;
    let reference = format!("true {}", ms(median_wall(&reference)?));
    Ok(vec![Row::new("--version, wall", ms(wall), reference).budget("≤ 5 ms", millis(wall), 5.0)])
}

fn hello(place: &Place) -> Rows {
    let server = place.start_server(&["hello"])?;
    check_answer(&server)?;
    let (mut zdx, mut curl, mut idle) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..31 {
        zdx.push(asked(&server, server.exec())?);
        curl.push(asked(&server, server.curl())?);
        idle.push(measure::run(place.command("true"))?);
    }
    let wall = |runs: &[Run]| median(runs.iter().map(|run| run.cost.wall));
    let first = |runs: &[Run]| median(runs.iter().map(|run| run.first_request));
    let rss = |runs: &[Run]| median(runs.iter().map(|run| run.cost.peak_rss));
    let (mine, theirs, idle) = (wall(&zdx)?, wall(&curl)?, median_wall(&idle)?);
    let bytes = median(zdx.iter().map(|run| run.bytes))?;
    let references = format!("curl {}, true {}", ms(theirs), ms(idle));
    Ok(vec![
        Row::new("exec hello, wall", ms(mine), references).budget(
            "≤ 1.5 × curl",
            millis(mine),
            1.5 * millis(theirs),
        ),
        Row::new("exec start → first request", ms(first(&zdx)?), format!("curl {}", ms(first(&curl)?)))
            .budget("≤ 15 ms", millis(first(&zdx)?), 15.0),
        Row::new("exec hello, peak RSS", mib(rss(&zdx)?), format!("curl {}", mib(rss(&curl)?))).budget(
            "≤ 20 MiB",
            in_mib(rss(&zdx)?),
            20.0,
        ),
        Row::new("first request, size", format!("{bytes} B"), "").budget(
            "≤ 12,000 B",
            in_mib(bytes),
            in_mib(12_000),
        ),
    ])
}

/// From the first byte of an answer that calls a tool to the next request, tool `true`.
fn gap(place: &Place) -> Rows {
    let server = place.start_server(&["tool-steps", "25"])?;
    let (mut gaps, mut shell) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        measure::run(server.exec())?;
        let asked = server.take_log()?;
        gaps.extend(asked.iter().filter_map(|asked| Some(asked.answered?.until(asked.at))));
        for _ in 0..25 {
            let mut command = place.command("sh");
            command.args(["-c", "true"]);
            shell.push(measure::run(command)?);
        }
    }
    if gaps.len() != 100 {
        return Err(format!("expected 100 tool calls, saw {}", gaps.len()));
    }
    let (gap, shell) = (median(gaps)?, median_wall(&shell)?);
    let over = millis(gap) - millis(shell);
    let row = Row::new("tool call → next request, `true`", ms(gap), format!("sh -c true {}", ms(shell)));
    Ok(vec![row.budget("≤ 5 ms over it", over, 5.0)])
}

fn deltas(place: &Place) -> Rows {
    let server = place.start_server(&["deltas", "20000"])?;
    let [zdx, curl] = interleaved(7, [&|| server.exec(), &|| server.curl()])?;
    expect_requests(&server, 16)?;
    let cpu = |runs: &[Cost]| median(runs.iter().map(|cost| cost.cpu));
    let (mine, theirs) = (cpu(&zdx)?, cpu(&curl)?);
    let row = Row::new("20,000 deltas, CPU", ms(mine), format!("curl {}", ms(theirs)));
    Ok(vec![row.budget("≤ 150 ms", millis(mine), 150.0)])
}

/// What 10,000 tool calls leave in memory. A hundred calls an answer: with one, the wire itself would carry
/// the whole history 10,000 times, and that is what would be measured.
fn growth(place: &Place) -> Rows {
    let hello = place.start_server(&["hello"])?;
    let [small] = interleaved(5, [&|| hello.exec()])?;
    let small = median(small.iter().map(|cost| cost.peak_rss))?;
    let server = place.start_server(&["tool-steps", "10000", "100"])?;
    let large = measure::run(server.exec())?;
    expect_requests(&server, 101)?;
    let grown = large.peak_rss.saturating_sub(small);
    let seconds = large.wall.as_secs_f64();
    let row = Row::new(
        "10,000 tool calls, peak RSS over hello",
        format!("{} in {seconds:.0} s", mib(grown)),
        format!("hello {}", mib(small)),
    );
    Ok(vec![row.budget("≤ 10 MiB", in_mib(grown), 10.0)])
}

struct Run {
    cost: Cost,
    first_request: Duration,
    bytes: u64,
}

/// Runs a client that makes exactly one request.
fn asked(server: &Server, command: Command) -> Result<Run, String> {
    let cost = measure::run(command)?;
    match server.take_log()?.as_slice() {
        [asked] => Ok(Run { cost, first_request: cost.started.until(asked.at), bytes: asked.bytes }),
        asked => Err(format!("expected one request, saw {}", asked.len())),
    }
}

/// A figure is worth nothing if the answer did not arrive.
fn check_answer(server: &Server) -> Result<(), String> {
    let output = server.exec().output().map_err(|error| error.to_string())?;
    server.take_log()?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() && stdout.trim_end() == "hello" {
        return Ok(());
    }
    Err(format!("exec does not work: {}, stdout {stdout:?}, stderr {stderr:?}", output.status))
}

pub fn expect_requests(server: &Server, count: usize) -> Result<(), String> {
    match server.take_log()?.len() {
        seen if seen == count => Ok(()),
        seen => Err(format!("expected {count} requests, saw {seen}")),
    }
}

/// Runs the commands in turn, so that a busy moment of the machine hits all of them; the first round warms up.
pub fn interleaved<const N: usize>(
    rounds: usize,
    commands: [&dyn Fn() -> Command; N],
) -> Result<[Vec<Cost>; N], String> {
    let mut costs: [Vec<Cost>; N] = std::array::from_fn(|_| Vec::new());
    for round in 0..=rounds {
        for (command, costs) in commands.iter().zip(&mut costs) {
            let cost = measure::run(command())?;
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    Ok(costs)
}

pub fn median_wall(costs: &[Cost]) -> Result<Duration, String> {
    median(costs.iter().map(|cost| cost.wall))
}

pub fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
