//! Long sessions: what it costs to resume one, and to put its context on the wire. The files are written here, as any
//! zdx would have written them.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::Command;

use serde_json::{Value, json};

use crate::measure::{self, Cost, median};
use crate::place::{Place, Server};
use crate::sections::{Rows, expect_requests, interleaved, median_wall, millis};
use crate::table::{Row, in_mib, mib, ms};

const ID: &str = "550e8400-e29b-41d4-a716-446655440000";
const TS: &str = "2026-01-01T00:00:00.000Z";
const ROUNDS: usize = 9;

type Lines = BufWriter<File>;

/// A hundred thousand records, with and without a compaction near the end of them: opened, and left again.
pub fn resume(place: &Place) -> Rows {
    let server = place.start_server(&["hello"])?;
    let resume = || server.zdx(&["sessions", "resume", ID]);
    let whole = run(&server, |file| exchanges(file, 25_000), &resume)?;
    let with_summary = |file: &mut Lines| {
        exchanges(file, 24_750)?;
        push(file, compaction())?;
        exchanges(file, 250)
    };
    let compacted = run(&server, with_summary, &resume)?;
    let [fresh] = interleaved(ROUNDS, [&|| server.zdx(&[])])?;
    expect_requests(&server, 0)?;
    let reference = format!("a new one {}", ms(median_wall(&fresh)?));
    let rows = |what: &str, costs: &[Cost]| {
        let wall = median_wall(costs)?;
        let rss = median(costs.iter().map(|cost| cost.peak_rss))?;
        let wall = Row::new(&format!("{what}, wall"), ms(wall), reference.clone()).budget(
            "≤ 150 ms",
            millis(wall),
            150.0,
        );
        let rss = Row::new(&format!("{what}, peak RSS"), mib(rss), "").budget("≤ 80 MiB", in_mib(rss), 80.0);
        Ok::<_, String>([wall, rss])
    };
    let mut all = Vec::from(rows("resume of 100,000 records", &whole)?);
    all.extend(rows("the same, compacted near its end", &compacted)?);
    Ok(all)
}

/// A context of 2,000 messages, read back, assembled and encoded: until the request is on the wire.
pub fn assembly(place: &Place) -> Rows {
    let server = place.start_server(&["hello"])?;
    let until_asked = |count: usize| {
        let exec = || server.zdx(&["exec", "--session", ID, "-p", "hello"]);
        let costs = run(&server, |file| exchanges(file, count), &exec)?;
        let asked = server.take_log()?;
        if asked.len() != costs.len() {
            return Err(format!("expected {} requests, saw {}", costs.len(), asked.len()));
        }
        let times = costs.iter().zip(&asked).map(|(cost, asked)| cost.started.until(asked.at));
        Ok((median(times)?, median(asked.iter().map(|asked| asked.bytes))?))
    };
    let (short, _) = until_asked(1)?;
    let (long, bytes) = until_asked(500)?;
    let over = millis(long) - millis(short);
    let what = format!("context of 2,000 messages ({}) → request", mib(bytes));
    let row = Row::new(&what, ms(long), format!("of 4 messages {}", ms(short)));
    Ok(vec![row.budget("≤ 25 ms over it", over, 25.0)])
}

/// The records go straight into the file: see [`Cost::peak_rss`].
fn run(
    server: &Server,
    records: impl FnOnce(&mut Lines) -> io::Result<()>,
    command: &dyn Fn() -> Command,
) -> Result<Vec<Cost>, String> {
    server.save_session(|file| {
        push(file, header())?;
        records(file)
    })?;
    let one = |_| {
        server.reset_session(ID)?;
        measure::run(command())
    };
    (0..ROUNDS).map(one).collect()
}

fn push(lines: &mut Lines, record: Value) -> io::Result<()> {
    writeln!(lines, "{record}")
}

fn header() -> Value {
    json!({"type": "meta", "schema_version": 1, "id": ID, "model": "bench/m", "ts": TS})
}

/// Four records and four messages each: a prompt, a call, its result, an answer.
fn exchanges(lines: &mut Lines, count: usize) -> io::Result<()> {
    for n in 0..count {
        let (id, path) = (format!("call_{n}"), format!("src/file_{n}.rs"));
        push(
            lines,
            json!({"type": "message", "role": "user", "text": format!("what does {path} do?"), "ts": TS}),
        )?;
        push(
            lines,
            json!({"type": "tool_use", "id": id, "name": "read", "input": {"path": path}, "ts": TS}),
        )?;
        let content = format!("fn number_{n}() -> usize {{\n    {n}\n}}\n");
        let output =
            json!({"ok": true, "data": {"path": path, "content": content, "truncated": false, "bytes": 99}});
        push(
            lines,
            json!({"type": "tool_result", "tool_use_id": id, "output": output, "ok": true, "ts": TS}),
        )?;
        let text = format!("It gives back {n}.");
        push(lines, json!({"type": "message", "role": "assistant", "text": text, "ts": TS}))?;
    }
    Ok(())
}

fn compaction() -> Value {
    json!({
        "type": "compaction", "trigger": "auto", "author": "model", "summary": "many files were looked at",
        "instructions": ["look at the files"], "objective": "look at the files", "files": [], "todos": [],
        "risks": [], "next_steps": [], "skills": [], "kept": [],
        "dropped": {"messages": 99_000, "bytes": 9_000_000, "calls": [], "earlier_calls": 24_750},
        "state": {"model": "bench/m", "turns": 24_750, "usage": {"input_tokens": 0, "output_tokens": 0}},
        "ts": TS
    })
}
