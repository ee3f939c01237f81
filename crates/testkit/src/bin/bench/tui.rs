//! The front end on a terminal: how soon it is there, how quickly a key shows, what it costs to wait, to listen to a long
//! answer, and to have had a long conversation. Goals are in milliseconds, for a person is what it is measured by.

use std::time::Duration;

use crate::measure::median;
use crate::place::{Place, Server};
use crate::sections::Rows;
use crate::table::{Row, in_mib, mib, ms};
use crate::terminal::{Terminal, Used};

/// What the composer begins with.
const COMPOSER: &str = "›";
const STARTS: usize = 11;
const KEYS: usize = 200;
const IDLE: Duration = Duration::from_secs(10);
const QUIET: Duration = Duration::from_millis(300);

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn open(server: &Server<'_>) -> Result<Terminal, String> {
    Terminal::start(server.on_terminal())
}

/// Started, and all that loads behind the first frame is there.
fn opened(server: &Server<'_>) -> Result<Terminal, String> {
    let terminal = open(server)?;
    terminal.wait_for(COMPOSER, 0)?;
    terminal.settle(QUIET);
    Ok(terminal)
}

pub fn measure(place: &Place) -> Rows {
    let mut rows = start(place)?;
    rows.extend(keys(place)?);
    rows.extend(idle(place)?);
    rows.extend(stream(place)?);
    rows.extend(trickle(place)?);
    rows.extend(long(place)?);
    rows.extend(question(place)?);
    rows.extend(calls(place)?);
    Ok(rows)
}

fn start(place: &Place) -> Rows {
    let server = place.start_server(&["hello"])?;
    let (mut frames, mut echoes, mut cpu) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let terminal = open(&server)?;
        let frame = terminal.wait_for(COMPOSER, 0)?;
        let behind = terminal.written();
        terminal.send("Q")?;
        echoes.push(terminal.wait_for("Q", behind)? - terminal.started);
        frames.push(frame - terminal.started);
        terminal.settle(QUIET);
        cpu.push(terminal.used()?.cpu);
    }
    let (frame, echo, cpu) = (median(frames)?, median(echoes)?, median(cpu)?);
    let terminal = opened(&server)?;
    let resident = terminal.resident()?;
    Ok(vec![
        Row::new("tui, start to composer", ms(frame), "best peer 40 ms").budget(
            "≤ 25 ms",
            millis(frame),
            25.0,
        ),
        Row::new("tui, start, CPU", ms(cpu), "best peer 44 ms").budget("≤ 20 ms", millis(cpu), 20.0),
        Row::new("tui, first key echoed", ms(echo), "best peer 83 ms").budget("≤ 40 ms", millis(echo), 40.0),
        Row::new("tui, RSS idle", mib(resident), "best peer 157 MiB").budget(
            "≤ 20 MiB",
            in_mib(resident),
            20.0,
        ),
    ])
}

/// One key after another, each waited for; the middle and the slowest twentieth.
fn echo(terminal: &Terminal) -> Result<(Duration, Duration), String> {
    let mut times = Vec::new();
    for at in 0..KEYS {
        // Told apart, so that no other frame is taken for the echo.
        let key = char::from(b'A' + u8::try_from(at % 26).unwrap_or_default()).to_string();
        let behind = terminal.written();
        let pressed = std::time::Instant::now();
        terminal.send(&key)?;
        times.push(terminal.wait_for(&key, behind)? - pressed);
    }
    times.sort_unstable();
    let slow = times.get(KEYS * 95 / 100).copied().unwrap_or_default();
    Ok((median(times)?, slow))
}

fn keys(place: &Place) -> Rows {
    let server = place.start_server(&["hello"])?;
    let (middle, slow) = echo(&opened(&server)?)?;
    Ok(vec![
        Row::new("tui, key echo idle, median", ms(middle), "best peer 3.7 ms").budget(
            "≤ 1 ms",
            millis(middle),
            1.0,
        ),
        Row::new("tui, key echo idle, p95", ms(slow), "best peer 6.4 ms").budget("≤ 3 ms", millis(slow), 3.0),
    ])
}

fn idle(place: &Place) -> Rows {
    let server = place.start_server(&["hello"])?;
    let terminal = opened(&server)?;
    let before = terminal.used()?;
    std::thread::sleep(IDLE);
    let used = terminal.used()?.since(&before);
    let waiting = waiting(place)?;
    Ok(vec![
        Row::new("tui, idle 10 s, bytes", used.written.to_string(), "best peer 0")
            .demand("0", used.written == 0),
        Row::new("tui, idle 10 s, wakeups", used.wakeups.to_string(), "best peer 5")
            .demand("0", used.wakeups == 0),
        Row::new("tui, idle 10 s, CPU", ms(used.cpu), "best peer 1 ms").budget(
            "< 0.1 ms",
            millis(used.cpu),
            0.1,
        ),
        Row::new("tui, waiting 10 s, bytes", waiting.written.to_string(), "best peer 4 KB").budget(
            "≤ 1 KB",
            count(waiting.written),
            1000.0,
        ),
        Row::new("tui, waiting 10 s, CPU", ms(waiting.cpu), "best peer 202 ms").budget(
            "≤ 10 ms",
            millis(waiting.cpu),
            10.0,
        ),
    ])
}

/// A model that never answers.
fn waiting(place: &Place) -> Result<Used, String> {
    let server = place.start_server(&["stall"])?;
    let terminal = opened(&server)?;
    terminal.send("hello\r")?;
    std::thread::sleep(Duration::from_secs(1));
    let before = terminal.used()?;
    std::thread::sleep(IDLE);
    Ok(terminal.used()?.since(&before))
}

#[allow(clippy::cast_precision_loss, reason = "bytes on a screen are far below 2^52")]
fn count(bytes: usize) -> f64 {
    bytes as f64
}

fn stream(place: &Place) -> Rows {
    let server = place.start_server(&["deltas", "20000"])?;
    let terminal = opened(&server)?;
    let (before, asked) = (terminal.used()?, std::time::Instant::now());
    terminal.send("go\r")?;
    let behind = terminal.written();
    let over = terminal.wait_for("ANSWER", behind)?;
    terminal.settle(QUIET);
    let used = terminal.used()?.since(&before);
    let resident = terminal.resident()?;
    let (middle, _) = echo(&terminal)?;
    let wall = over - asked;
    let text: usize = (0..20_000).map(|n| format!("word{n} ").len()).sum();
    Ok(vec![
        Row::new("tui, 20,000 deltas, CPU", ms(used.cpu), "best peer 906 ms").budget(
            "≤ 200 ms",
            millis(used.cpu),
            200.0,
        ),
        Row::new("tui, 20,000 deltas, wall", ms(wall), "best peer 558 ms").budget(
            "≤ 250 ms",
            millis(wall),
            250.0,
        ),
        // It stays in the scrollback, so that no less than the text itself is written.
        Row::new(
            "tui, 20,000 deltas, written",
            format!("{} KB", used.written / 1000),
            format!("the text {} KB", text / 1000),
        )
        .budget("≤ 1.1 × it", count(used.written) / count(text), 1.1),
        Row::new("tui, RSS after it", mib(resident), "best peer 164 MiB").budget(
            "≤ 30 MiB",
            in_mib(resident),
            30.0,
        ),
        Row::new("tui, key echo after it", ms(middle), "best peer 5.3 ms").budget(
            "≤ 2 ms",
            millis(middle),
            2.0,
        ),
    ])
}

fn calls(place: &Place) -> Rows {
    let server = place.start_server(&["tool-steps", "60"])?;
    let terminal = Terminal::start(server.on_terminal_with(&["--yolo"]))?;
    terminal.wait_for(COMPOSER, 0)?;
    terminal.settle(QUIET);
    let before = terminal.used()?;
    let behind = terminal.written();
    terminal.send("go\r")?;
    terminal.wait_for("ANSWER", behind)?;
    terminal.settle(QUIET);
    let used = terminal.used()?.since(&before);
    let rows = terminal.rows_since("› go");
    Ok(vec![
        Row::new("tui, 60 calls, CPU", ms(used.cpu), "best peer 3020 ms").budget(
            "≤ 500 ms",
            millis(used.cpu),
            500.0,
        ),
        Row::new("tui, 60 commands, rows", rows.to_string(), "best peer inline 172").budget(
            "≤ 30",
            count(rows),
            30.0,
        ),
    ])
}

/// An answer at a reading pace: what it costs, and how quickly a key shows meanwhile.
fn trickle(place: &Place) -> Rows {
    const PER_SECOND: usize = 20;
    let server = place.start_server(&["trickle", "2000", "50"])?;
    let terminal = opened(&server)?;
    let behind = terminal.written();
    terminal.send("go\r")?;
    terminal.wait_for("word9", behind)?;
    let before = terminal.used()?;
    std::thread::sleep(IDLE);
    let used = terminal.used()?.since(&before);
    let deltas = PER_SECOND * usize::try_from(IDLE.as_secs()).unwrap_or(1);
    let each = used.written / deltas;
    let (middle, slow) = echo(&terminal)?;
    Ok(vec![
        Row::new("tui, 20 deltas a second, bytes each", each.to_string(), "best peer 56").budget(
            "≤ 50",
            count(each),
            50.0,
        ),
        Row::new("tui, the same for 10 s, CPU", ms(used.cpu), "best peer 639 ms").budget(
            "≤ 100 ms",
            millis(used.cpu),
            100.0,
        ),
        Row::new("tui, key echo meanwhile, median", ms(middle), "best peer 4.5 ms").budget(
            "≤ 2 ms",
            millis(middle),
            2.0,
        ),
        Row::new("tui, key echo meanwhile, p95", ms(slow), "best peer 9.5 ms").budget(
            "≤ 5 ms",
            millis(slow),
            5.0,
        ),
    ])
}

fn long(place: &Place) -> Rows {
    let server = place.start_server(&["lines", "10000"])?;
    let terminal = opened(&server)?;
    let behind = terminal.written();
    terminal.send("go\r")?;
    terminal.wait_for("ANSWER", behind)?;
    terminal.settle(QUIET);
    let resident = terminal.resident()?;
    let (middle, _) = echo(&terminal)?;
    Ok(vec![
        Row::new("tui, RSS after 10,000 lines", mib(resident), "best peer 164 MiB").budget(
            "≤ 30 MiB",
            in_mib(resident),
            30.0,
        ),
        Row::new("tui, key echo after them", ms(middle), "best peer 5.3 ms").budget(
            "≤ 2 ms",
            millis(middle),
            2.0,
        ),
    ])
}

/// From Enter over the model's answer to a question that can be read.
fn question(place: &Place) -> Rows {
    let server = place.start_server(&["call", "bash", "{\"command\":\"touch made\"}"])?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let terminal = opened(&server)?;
        let (behind, asked) = (terminal.written(), std::time::Instant::now());
        terminal.send("go\r")?;
        times.push(terminal.wait_for("yes, once", behind)? - asked);
    }
    let time = median(times)?;
    Ok(vec![Row::new("tui, Enter to question", ms(time), "").budget("≤ 150 ms", millis(time), 150.0)])
}
