//! Children that outlive their command: allowed, listed, and gone when zdx wants it or is gone itself.

use std::process::{Command, Stdio};
use std::time::Duration;

use libtest_mimic::Trial;
use zdx_tools::{CommandEnd, RunOptions};

use crate::kit::{Bench, trial};
use crate::wait::{in_time, living_in, until_deserted, until_files, until_made};

/// The argument that makes this binary play zdx.
pub const PLAY_ZDX: &str = "__play_zdx";

pub fn trials() -> Vec<Trial> {
    vec![
        trial("a_child_that_holds_the_pipe_does_not_hold_the_result", holds_the_pipe),
        trial("a_silent_child_is_listed_and_stopped_on_demand", listed_and_stopped),
        trial("what_ends_by_itself_leaves_the_list", leaves_the_list),
        trial("a_dropped_shell_stops_what_it_started", dropped_shell),
        trial("the_output_of_what_was_left_goes_on_into_its_file", goes_on),
        trial("when_zdx_is_killed_nothing_survives", killed_parent),
    ]
}

async fn holds_the_pipe() {
    let bench = Bench::new();
    let started = std::time::Instant::now();
    let output = bench.run("echo done; sleep 1000 &").await;
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    assert_eq!((output.end, output.stdout.text.as_str()), (CommandEnd::Exited(0), "done\n"));
    assert!(output.background);
    bench.shell.stop_background(&[]).await;
    assert_eq!(living_in(bench.dir.path()), [""; 0]);
}

async fn listed_and_stopped() {
    let bench = Bench::new();
    let command = "setsid sleep 100 >/dev/null 2>&1 &";
    assert!(bench.run(command).await.background);
    let listed = bench.shell.background();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].id.as_str(), listed[0].command.as_str()), ("call_1", command));
    assert!(!living_in(bench.dir.path()).is_empty());
    // Another command neither waits for it nor ends it.
    assert!(!bench.run("true").await.background);
    bench.shell.stop_background(&[]).await;
    assert!(bench.shell.background().is_empty());
    assert_eq!(living_in(bench.dir.path()), [""; 0]);
}

async fn leaves_the_list() {
    let bench = Bench::new();
    let output = bench.run("(while [ ! -e go ]; do sleep 0.01; done) >/dev/null 2>&1 &").await;
    assert!(output.background && bench.shell.background().len() == 1);
    std::fs::write(bench.path("go"), "").unwrap();
    until_deserted(bench.dir.path()).await;
    // The task that takes it off the list was woken by the same end: its turn comes before ours comes again.
    let off_the_list = async {
        while !bench.shell.background().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    in_time("the list is empty", off_the_list).await;
}

async fn dropped_shell() {
    let bench = Bench::new();
    assert!(bench.run("sleep 100 &").await.background);
    let Bench { dir, shell } = bench;
    drop(shell);
    until_deserted(dir.path()).await;
}

async fn goes_on() {
    let bench = Bench::new();
    let output = bench.run("echo early; (while [ ! -e go ]; do sleep 0.01; done; echo late) &").await;
    let file = output.stdout.file.unwrap();
    assert_eq!(output.stdout.text, "early\n");
    std::fs::write(bench.path("go"), "").unwrap();
    let late = || std::fs::read_to_string(&file).unwrap() == "early\nlate\n";
    until_files(file.parent().unwrap(), "the late line is in the file", late).await;
}

/// Plays zdx in a process of its own: leaves one child behind and sits in a second command.
pub fn play_zdx() {
    let bench = Bench::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let cwd = std::env::current_dir().unwrap();
        let options = || RunOptions { cwd: cwd.clone(), ..bench.options() };
        let left = bench.shell.run("setsid sleep 100 & touch one", options()).await.unwrap();
        assert!(left.background);
        let _ = bench.shell.run("trap '' TERM; touch two; while :; do sleep 1; done", options()).await;
    });
}

async fn killed_parent() {
    let bench = Bench::new();
    let mut zdx = Command::new(std::env::current_exe().unwrap())
        .arg(PLAY_ZDX)
        .current_dir(bench.dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until_made(bench.dir.path(), &["one", "two"]).await;
    zdx.kill().unwrap();
    zdx.wait().unwrap();
    until_deserted(bench.dir.path()).await;
}
