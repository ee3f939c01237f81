//! What a long answer costs as an agent of an editor: frames, bytes and CPU, beside `zdx exec` with the same stream.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};

use serde_json::{Value, json};

use crate::measure::{self, Cost, median};
use crate::place::Place;
use crate::sections::{Rows, expect_requests, millis};
use crate::table::{Row, mib, ms};

const DELTAS: u32 = 20_000;
const ROUNDS: usize = 7;

/// What the client was sent.
#[derive(Clone, Copy, Default)]
struct Sent {
    frames: u32,
    bytes: u64,
    /// Of these, what the model said.
    text: u64,
}

pub fn measure(place: &Place) -> Rows {
    let server = place.start_server(&["deltas", &DELTAS.to_string()])?;
    let folder = place.folder("edited")?;
    // The first round warms up.
    let (mut ours, mut exec, mut sent) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let (cost, told) =
            measure::run_talking(server.zdx(&["acp-agent"]), |stdin, stdout| talk(stdin, stdout, &folder))?;
        let alone = measure::run(server.exec())?;
        if round > 0 {
            ours.push(cost);
            exec.push(alone);
            sent.push(told);
        }
    }
    // The agent asks for the list of models besides.
    expect_requests(&server, 3 * (ROUNDS + 1))?;
    let said: u64 = (0..DELTAS).map(|n| format!("word{n} ").len() as u64).sum();
    if sent.iter().any(|sent| sent.text != said) {
        return Err("not all that the model said was told".to_owned());
    }
    let cpu = |runs: &[Cost]| median(runs.iter().map(|cost| cost.cpu));
    let (mine, theirs) = (cpu(&ours)?, cpu(&exec)?);
    let (frames, bytes) =
        (median(sent.iter().map(|sent| sent.frames))?, median(sent.iter().map(|sent| sent.bytes))?);
    let per_delta = f64::from(frames) / f64::from(DELTAS);
    Ok(vec![
        Row::new("acp-agent, 20,000 deltas, CPU", ms(mine), format!("exec {}", ms(theirs))).budget(
            "≤ 150 ms",
            millis(mine),
            150.0,
        ),
        Row::new(
            "acp-agent, frames per delta",
            format!("{per_delta:.4}"),
            format!("{frames} frames, {}", mib(bytes)),
        )
        .budget("≤ 0.1", per_delta, 0.1),
    ])
}

/// A client that reads at once whatever comes, and leaves after one turn.
fn talk(mut stdin: ChildStdin, stdout: ChildStdout, folder: &Path) -> Result<Sent, String> {
    let mut sent = Sent::default();
    let mut lines = BufReader::new(stdout).split(b'\n');
    let mut ask = |id: u64, method: &str, params: Value| {
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        stdin.write_all(format!("{frame}\n").as_bytes()).map_err(|error| error.to_string())?;
        for line in lines.by_ref().map_while(Result::ok) {
            let frame: Value = serde_json::from_slice(&line).map_err(|error| error.to_string())?;
            sent.frames += 1;
            sent.bytes += line.len() as u64 + 1;
            let update = &frame["params"]["update"];
            if update["sessionUpdate"] == "agent_message_chunk" {
                sent.text += update["content"]["text"].as_str().unwrap_or_default().len() as u64;
            }
            if frame["id"] == id {
                return Ok(frame["result"].clone());
            }
        }
        Err("the agent is gone".to_owned())
    };
    ask(0, "initialize", json!({"protocolVersion": 1}))?;
    let session = ask(1, "session/new", json!({"cwd": folder, "mcpServers": []}))?;
    let prompt = json!([{"type": "text", "text": "hello"}]);
    let end = ask(2, "session/prompt", json!({"sessionId": session["sessionId"], "prompt": prompt}))?;
    if end["stopReason"] != "end_turn" {
        return Err(format!("the turn ended with {end}"));
    }
    drop(stdin);
    lines.for_each(drop);
    Ok(sent)
}
