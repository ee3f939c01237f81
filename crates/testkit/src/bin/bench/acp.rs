//! What it costs to drive an agent: until its first frame is on our stdout, and a long turn. The agent is the scripted one.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::measure::{Cost, median};
use crate::place::Place;
use crate::sections::{Rows, interleaved, millis};
use crate::table::{Row, ms};

const ROUNDS: usize = 21;

pub fn measure(place: &Place) -> Rows {
    let text = |error: std::io::Error| error.to_string();
    let agent = std::env::current_exe().map_err(text)?.with_file_name("zdx-acp-fake");
    let settings = place.folder("acp")?.join("acp.json");
    let servers = json!({"agent_servers": {"fake": {"command": agent}}});
    std::fs::write(&settings, servers.to_string()).map_err(text)?;
    let mut rows = first_frame(place, &agent, &settings)?;
    rows.extend(chunks(place, &settings)?);
    rows.extend(crate::acp_agent::measure(place)?);
    Ok(rows)
}

fn acp(place: &Place, settings: &Path, args: &[&str]) -> Command {
    let mut command = place.zdx(&["acp", "--settings"]);
    command.arg(settings).args(args);
    command
}

/// Its answer to `initialize`, seen through zdx, and seen by somebody who asks the agent himself.
fn first_frame(place: &Place, agent: &PathBuf, settings: &Path) -> Rows {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(until_result(acp(place, settings, &["-o", "jsonl", "--list-caps"]), "")?);
        let ask =
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}});
        theirs.push(until_result(place.command(agent), &format!("{ask}\n"))?);
    }
    let (ours, theirs) = (median(ours)?, median(theirs)?);
    let row = Row::new("acp start → first frame", ms(ours), format!("the agent alone {}", ms(theirs)));
    Ok(vec![row.budget("≤ 20 ms over it", millis(ours) - millis(theirs), 20.0)])
}

fn until_result(mut command: Command, say: &str) -> Result<Duration, String> {
    let text = |error: std::io::Error| error.to_string();
    let start = Instant::now();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(text)?;
    let mut stdin = child.stdin.take().ok_or("no stdin")?;
    stdin.write_all(say.as_bytes()).map_err(text)?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
    // Who waits for more input of ours gets none.
    let waits = if say.is_empty() {
        drop(stdin);
        None
    } else {
        Some(stdin)
    };
    let found = lines.by_ref().map_while(Result::ok).any(|line| line.contains("\"agentCapabilities\""));
    let took = start.elapsed();
    drop(waits);
    lines.for_each(drop);
    child.wait().map_err(text)?;
    found.then_some(took).ok_or_else(|| "the agent did not answer".to_owned())
}

/// Both processes together, as a user pays for them.
fn chunks(place: &Place, settings: &Path) -> Rows {
    let turn = |prompt: &'static str| move || acp(place, settings, &["-o", "simple", prompt]);
    let (long, short) = (turn("play chunks 20000"), turn("play chunks 1"));
    let [long, short] = interleaved(7, [&long, &short])?;
    let cpu = |runs: &[Cost]| median(runs.iter().map(|cost| cost.cpu));
    let (long, short) = (cpu(&long)?, cpu(&short)?);
    let row =
        Row::new("20,000 chunks of an agent, CPU of both", ms(long), format!("one chunk {}", ms(short)));
    Ok(vec![row.budget("≤ 200 ms", millis(long), 200.0)])
}
