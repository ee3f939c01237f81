//! In tmux, which breaks rows anew like most terminals: resized two hundred times while lines stream. Every line is there
//! once, what the shell printed before too, and there is one live region. Ignored where the build found no tmux.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::demo::{ARGUMENTS, ROWS, VARIABLE, marker};

const SOON: Duration = Duration::from_secs(120);

struct Tmux {
    dir: tempfile::TempDir,
}

impl Tmux {
    fn start(script: &str, columns: u16, rows: u16) -> Self {
        let tmux = Self { dir: tempfile::tempdir().unwrap() };
        std::fs::write(tmux.dir.path().join("conf"), "set -g history-limit 50000\nset -g status off\n")
            .unwrap();
        let (columns, rows) = (columns.to_string(), rows.to_string());
        tmux.run(&["new-session", "-d", "-x", &columns, "-y", &rows, script]);
        tmux
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.socket()).arg("-f").arg(self.dir.path().join("conf"));
        let done = command.args(args).env_remove("TMUX").env("LC_ALL", "C.UTF-8").output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Scrollback and screen, rows that tmux broke joined again.
    fn all(&self) -> Vec<String> {
        self.run(&["capture-pane", "-p", "-J", "-S", "-"])
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }

    #[track_caller]
    fn wait_for(&self, seen: impl Fn(&[String]) -> bool) -> Vec<String> {
        let until = Instant::now() + SOON;
        loop {
            let all = self.all();
            if seen(&all) {
                return all;
            }
            assert!(Instant::now() < until, "{}", all.join("\n"));
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(self.socket()).arg("kill-server").output();
    }
}

fn script(lines: usize, more_rows: usize) -> String {
    let demo = std::env::current_exe().unwrap();
    format!(
        "for n in $(seq 40); do echo earlier $n; done; {ROWS}={more_rows} {VARIABLE}={lines} {} {}; sleep 1000",
        demo.display(),
        ARGUMENTS.join(" ")
    )
}

/// The same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, from: u64, to: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from + (self.0 >> 33) % (to - from)
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    lost: usize,
    doubled: usize,
    earlier_lost: usize,
    regions: usize,
    rules: usize,
    more_rows: usize,
}

fn figures(all: &[String], lines: usize) -> Figures {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for line in all {
        *seen.entry(line).or_default() += 1;
    }
    let times = |line: &str| seen.get(line).copied().unwrap_or(0);
    let each = |n: usize| times(&marker(n));
    Figures {
        lost: (1..=lines).filter(|n| each(*n) == 0).count(),
        doubled: (1..=lines).map(|n| each(n).saturating_sub(1)).sum(),
        earlier_lost: (1..=40).filter(|n| times(&format!("earlier {n}")) != 1).count(),
        regions: all.iter().filter(|line| line.contains("live region")).count(),
        rules: all.iter().filter(|line| line.contains("────")).count(),
        more_rows: all.iter().filter(|line| line.contains("++++")).count(),
    }
}

const RIGHT: Figures = Figures { lost: 0, doubled: 0, earlier_lost: 0, regions: 1, rules: 1, more_rows: 0 };

struct Storm {
    lines: usize,
    resizes: usize,
    /// Milliseconds between two.
    pause: (u64, u64),
    columns: (u64, u64),
    rows: (u64, u64),
    /// Full rows of the live region besides its four.
    more_rows: usize,
    seed: u64,
}

const STORM: Storm = Storm {
    lines: 2_000,
    resizes: 200,
    pause: (5, 60),
    columns: (40, 130),
    rows: (12, 45),
    more_rows: 0,
    seed: 7,
};

fn weathered(storm: &Storm) -> Figures {
    let tmux = Tmux::start(&script(storm.lines, storm.more_rows), 80, 24);
    tmux.wait_for(|all| all.iter().any(|line| line.starts_with("marker 00010")));
    let mut dice = Dice(storm.seed);
    for _ in 0..storm.resizes {
        let mut roll = |(from, to): (u64, u64)| dice.roll(from, to);
        let (columns, rows) = (roll(storm.columns).to_string(), roll(storm.rows).to_string());
        tmux.run(&["resize-window", "-x", &columns, "-y", &rows]);
        std::thread::sleep(Duration::from_millis(roll(storm.pause)));
    }
    tmux.run(&["resize-window", "-x", "100", "-y", "30"]);
    let last = marker(storm.lines);
    let all = tmux
        .wait_for(|all| all.contains(&last) && all.iter().any(|line| line.contains("live region 100x30")));
    let found = figures(&all, storm.lines);
    println!("{} resizes, {} lines: {found:?}", storm.resizes, storm.lines);
    if found != RIGHT {
        std::fs::write(std::env::temp_dir().join("zdx-tmux-storm.txt"), all.join("\n")).unwrap();
    }
    found
}

#[track_caller]
fn holds(storm: &Storm) {
    assert_eq!(weathered(storm), Figures { more_rows: storm.more_rows, ..RIGHT });
}

#[test]
#[cfg_attr(not(has_tmux), ignore = "tmux is not installed")]
fn two_hundred_resizes_in_a_storm_lose_nothing() {
    holds(&STORM);
}

/// Each is drawn before the next comes, so that each can meet a frame on its way.
#[test]
#[cfg_attr(not(has_tmux), ignore = "tmux is not installed")]
fn resizes_one_by_one_while_lines_stream_lose_nothing() {
    holds(&Storm { lines: 3_000, resizes: 40, pause: (320, 520), ..STORM });
}

/// What left the screen at the top cannot be taken back, so no row of it may ever stand on the main one.
#[test]
#[cfg_attr(not(has_tmux), ignore = "tmux is not installed")]
fn a_tall_question_leaves_nothing_behind_in_a_window_that_shrinks() {
    let tmux = Tmux::start(&script(100, 0), 100, 45);
    let is_drawn = |columns: u16, rows: u16| {
        let status = format!("live region {columns}x{rows}");
        move |all: &[String]| all.iter().any(|line| line.contains(&status))
    };
    tmux.wait_for(|all| all.contains(&marker(100)) && is_drawn(100, 45)(all));
    let screen = || tmux.run(&["capture-pane", "-p"]);
    let before = screen();
    tmux.run(&["send-keys", "C-t"]);
    tmux.wait_for(|all| all.iter().filter(|line| line.contains("++++")).count() == 40);
    for (columns, rows) in [(92, 40), (84, 33), (76, 26), (68, 20), (60, 14), (52, 10), (76, 26), (100, 45)] {
        tmux.run(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
        tmux.wait_for(is_drawn(columns, rows));
    }
    tmux.run(&["send-keys", "C-t", "x"]);
    let all = tmux.wait_for(|all| all.iter().any(|line| line == "> x"));
    assert_eq!(figures(&all, 100), RIGHT, "{}", all.join("\n"));
    // The conversation stands where it stood, and the region below it.
    assert_eq!(screen(), before.replace("\n>\n", "\n> x\n"));
}

#[test]
#[cfg_attr(not(has_tmux), ignore = "tmux is not installed")]
fn tmux_keeps_what_is_copied_and_tells_modified_keys_apart() {
    let tmux = Tmux::start(&script(0, 0), 80, 24);
    let shows = |text: &'static str| move |all: &[String]| all.iter().any(|line| line.contains(text));
    tmux.wait_for(shows("live region"));
    tmux.run(&["send-keys", "C-y"]);
    tmux.wait_for(shows("> TmuxBuffer"));
    assert_eq!(tmux.run(&["show-buffer"]), "text for the clipboard");
    tmux.run(&["send-keys", "S-Enter", "Up"]);
    tmux.wait_for(shows("<Enter><Up>"));
    assert_eq!(tmux.run(&["display-message", "-p", "#{pane_title}"]).trim(), "zdx demo");
    tmux.run(&["send-keys", "q"]);
    // Gone below, and the shell goes on behind it.
    let all = tmux.wait_for(shows("test result: ok"));
    assert_eq!(all.iter().filter(|line| line.contains("live region")).count(), 1);
    assert_ne!(tmux.run(&["display-message", "-p", "#{pane_title}"]).trim(), "zdx demo");
}

#[test]
fn continuous_integration_has_tmux() {
    assert!(cfg!(has_tmux) || std::env::var_os("CI").is_none(), "install tmux: its tests were left out");
}

/// For figures, too: `ZDX_STORMS=20 cargo test -p zdx-tui --lib many_storms -- --ignored --nocapture`.
#[test]
#[ignore = "minutes long"]
fn many_storms() {
    let many: u64 = std::env::var("ZDX_STORMS").ok().and_then(|many| many.parse().ok()).unwrap_or(5);
    for seed in 0..many {
        holds(&Storm { lines: 8_000, pause: (300, 420), seed: 100 + seed, ..STORM });
        holds(&Storm { lines: 3_000, pause: (5, 120), seed: 200 + seed, ..STORM });
        // A region of twelve rows, in windows it fits in however they break it, and in some where it does not.
        holds(&Storm { more_rows: 8, columns: (60, 130), rows: (30, 50), seed: 300 + seed, ..STORM });
        holds(&Storm { more_rows: 8, columns: (30, 130), rows: (8, 45), seed: 400 + seed, ..STORM });
        let slow = Storm { lines: 8_000, pause: (300, 420), resizes: 100, more_rows: 8, ..STORM };
        holds(&Storm { columns: (60, 130), rows: (30, 50), seed: 500 + seed, ..slow });
    }
}
