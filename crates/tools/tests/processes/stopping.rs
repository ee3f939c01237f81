//! Timeouts and cancels against commands that do not want to end.

use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use tokio_util::sync::CancellationToken;
use zdx_tools::{CommandEnd, RunOptions, ShellError};

use crate::kit::{Bench, PROMPTLY, trial};
use crate::wait::{living_in, until_deserted, until_made};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("no_hostile_child_survives_its_end", no_survivor),
        trial("a_timeout_keeps_what_was_said_before", keeps_output),
        trial("a_command_that_ends_when_asked_is_not_killed", graceful),
        trial("a_dropped_call_takes_its_command_along", dropped),
        trial("a_stopped_supervisor_cannot_delay_the_end", stopped_supervisor),
        trial("a_killed_supervisor_is_noticed_and_cleaned_up_after", killed_supervisor),
        trial("a_supervisor_that_is_told_to_end_sweeps_first", terminated_supervisor),
        trial("a_cancel_before_the_start_starts_nothing", cancelled_at_once),
    ]
}

/// Each makes `ready` once it is as hostile as it gets.
const HOSTILE: &[&str] = &[
    "setsid sh -c 'touch ready; sleep 100' & wait",
    "(setsid sh -c '(touch ready; exec sleep 100) &' &) ; sleep 100",
    "trap '' TERM INT HUP; touch ready; while :; do sleep 1; done",
    "trap '' TERM; (trap '' TERM; setsid sh -c 'trap \"\" TERM; touch ready; while :; do sleep 1; done') & while :; do sleep 1; done",
    "sleep 100 & sleep 100 & touch ready; kill -STOP $$",
    "touch ready; exec sleep 100",
    "nohup setsid sleep 100 >/dev/null 2>&1 & touch ready; cat /dev/zero >/dev/null",
    "trap 'setsid sleep 100 & setsid sleep 100 &' TERM; touch ready; while :; do sleep 0.05; done",
    "touch ready; g() { [ $1 = 0 ] && exec sleep 100; g $(($1-1)) & g $(($1-1)) & wait; }; g 5",
    "touch ready; while :; do (sleep 0.01 &) ; done",
];

async fn no_survivor() {
    let stress: Option<usize> = std::env::var("ZDX_STRESS").ok().and_then(|n| n.parse().ok());
    let limit = if stress.is_some() { Duration::from_secs(2) } else { PROMPTLY };
    for round in 0..stress.unwrap_or(50) {
        let command = HOSTILE[round % HOSTILE.len()];
        let took = time_to_end(command).await;
        assert!(took < limit, "{took:?}: {command}");
    }
}

async fn time_to_end(command: &str) -> Duration {
    let bench = Bench::new();
    let cancel = CancellationToken::new();
    let options = RunOptions { cancel: cancel.clone(), ..bench.options() };
    let stop = async {
        until_made(bench.dir.path(), &["ready"]).await;
        cancel.cancel();
        Instant::now()
    };
    let (output, stopped) = tokio::join!(bench.shell.run(command, options), stop);
    let took = stopped.elapsed();
    assert_eq!(output.unwrap().end, CommandEnd::Cancelled, "{command}");
    assert_eq!(living_in(bench.dir.path()), [""; 0], "{command}");
    took
}

async fn keeps_output() {
    let bench = Bench::new();
    let output =
        bench.run_until_ready("echo before; echo oops >&2; touch ready; sleep 100; echo after").await;
    assert_eq!((output.stdout.text.as_str(), output.stderr.text.as_str()), ("before\n", "oops\n"));
    assert!(!output.background);
}

async fn graceful() {
    let bench = Bench::new();
    let command = "trap 'touch saved; exit 0' TERM; touch ready; while :; do sleep 0.02; done";
    bench.run_until_ready(command).await;
    assert!(bench.path("saved").exists());
}

async fn dropped() {
    let bench = Bench::new();
    tokio::select! {
        _ = bench.run("touch ready; setsid sleep 100") => unreachable!("it sleeps"),
        () = until_made(bench.dir.path(), &["ready"]) => {}
    }
    until_deserted(bench.dir.path()).await;
}

async fn stopped_supervisor() {
    let bench = Bench::new();
    bench.run_for("kill -STOP $PPID; sleep 100", Duration::from_millis(300)).await;
    assert_eq!(living_in(bench.dir.path()), [""; 0]);
}

async fn killed_supervisor() {
    let bench = Bench::new();
    let error = bench.shell.run("sleep 100 & kill -9 $PPID; sleep 100", bench.options()).await.unwrap_err();
    assert!(matches!(error, ShellError::Lost), "{error}");
    assert_eq!(living_in(bench.dir.path()), [""; 0]);
}

async fn terminated_supervisor() {
    let bench = Bench::new();
    let output = bench.run("setsid sleep 100 & kill -TERM $PPID; wait").await;
    assert_eq!(output.end, CommandEnd::Signalled(15));
    until_deserted(bench.dir.path()).await;
}

async fn cancelled_at_once() {
    let bench = Bench::new();
    let options = bench.options();
    options.cancel.cancel();
    let output = bench.shell.run("touch made", options).await.unwrap();
    assert_eq!(output.end, CommandEnd::Cancelled);
    assert!(!bench.path("made").exists());
}
