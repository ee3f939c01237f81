//! Programs that stay and are talked to: their streams, their end, and nobody left behind.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use zdx_tools::{ChildSpec, CommandEnd, RunningProgram, ShellError};

use crate::kit::{Bench, trial};
use crate::wait::{in_time, living_in, until_deserted, until_made};

/// The argument that makes this binary play a zdx that talks to a server.
pub const PLAY_CLIENT: &str = "__play_client";

/// For those that end by themselves: the clock only ends a wait that is in vain.
const AMPLE: Duration = Duration::from_secs(30);

pub fn trials() -> Vec<Trial> {
    vec![
        trial("a_server_answers_round_after_round", rounds),
        trial("a_server_says_its_complaints_apart", apart),
        trial("arguments_folder_and_variables_arrive_as_given", as_given),
        trial("a_server_holds_its_three_streams_and_nothing_else_of_ours", nothing_else),
        trial("many_bytes_both_ways_do_not_deadlock", many_bytes),
        trial("a_closed_input_ends_a_server", closed_input),
        trial("a_server_that_still_talks_can_end", still_talks),
        trial("a_wait_may_be_given_up_and_asked_again", waits),
        trial("what_a_server_left_running_goes_with_it", left_running),
        trial("a_server_that_ends_when_asked_is_not_killed", asked),
        trial("a_server_that_ignores_all_is_killed_with_its_family", ignores_all),
        trial("a_dropped_server_takes_its_family_along", dropped),
        trial("a_server_whose_supervisor_was_killed_does_not_stay", killed_supervisor),
        trial("a_server_whose_supervisor_was_stopped_can_be_stopped", stopped_supervisor),
        trial("a_start_of_a_server_may_be_given_up", given_up),
        trial("when_zdx_is_killed_no_server_survives", killed_client),
        trial("a_program_that_cannot_run_is_told_by_its_name", cannot_run),
    ]
}

fn spec(bench: &Bench, program: &str, args: &[&str]) -> ChildSpec {
    ChildSpec {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        cwd: bench.dir.path().to_owned(),
        env: Vec::new(),
    }
}

async fn script(bench: &Bench, script: &str) -> RunningProgram {
    bench.shell.spawn(spec(bench, "sh", &["-c", script])).await.unwrap()
}

async fn rest(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

async fn rounds() {
    let bench = Bench::new();
    let RunningProgram { mut stdin, stdout, stderr: _stderr, mut process } =
        script(&bench, "while read -r line; do echo \"heard $line\"; done").await;
    let mut answers = BufReader::new(stdout).lines();
    for round in 0..20 {
        stdin.write_all(format!("{round}\n").as_bytes()).await.unwrap();
        assert_eq!(answers.next_line().await.unwrap(), Some(format!("heard {round}")));
    }
    drop(stdin);
    assert_eq!(answers.next_line().await.unwrap(), None);
    assert_eq!(process.wait().await, CommandEnd::Exited(0));
    until_deserted(bench.dir.path()).await;
}

async fn apart() {
    let bench = Bench::new();
    let mut child = script(&bench, "echo out; echo err >&2; exit 7").await;
    assert_eq!(
        (rest(&mut child.stdout).await, rest(&mut child.stderr).await),
        ("out\n".into(), "err\n".into())
    );
    assert_eq!(child.wait().await, CommandEnd::Exited(7));
}

async fn as_given() {
    let bench = Bench::new();
    let mut spec =
        spec(&bench, "sh", &["-c", "printf '<%s>' \"$@\"; pwd -P; env", "sh", "", "a b", "-x", "$HOME"]);
    spec.env =
        [("SERVER_TOKEN", "t"), ("PAGER", "less")].map(|(name, value)| (name.into(), value.into())).to_vec();
    let mut child = bench.shell.spawn(spec).await.unwrap();
    let said = rest(&mut child.stdout).await;
    let folder = bench.dir.path().canonicalize().unwrap();
    assert!(said.starts_with(&format!("<><a b><-x><$HOME>{}\n", folder.display())), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    for variable in ["SERVER_TOKEN=t", "PAGER=less", "GIT_PAGER=cat"] {
        assert!(lines.contains(&variable), "{variable}: {said}");
    }
    assert!(!lines.contains(&"PAGER=cat"), "{said}");
}

async fn nothing_else() {
    let bench = Bench::new();
    let mut child = script(&bench, "ls -l /proc/$$/fd; true").await;
    let said = rest(&mut child.stdout).await;
    let held = said.lines().filter_map(|line| line.split_once(" -> "));
    let held = held.filter_map(|(line, what)| Some((line.rsplit(' ').next()?.parse::<u32>().ok()?, what)));
    let (streams, more): (Vec<_>, Vec<_>) = held.partition(|(number, _)| *number < 3);
    let streams: Vec<&str> = streams.into_iter().map(|(_, what)| what).collect();
    assert!(streams.len() == 3 && streams.iter().all(|stream| stream.starts_with("pipe:")), "{said}");
    // Whoever started the tests may have left something open for all.
    let ours = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let ours: Vec<_> = ours.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect();
    for (_, what) in more {
        assert!(!streams.contains(&what) && ours.iter().any(|held| held.as_os_str() == what), "{said}");
    }
}

async fn many_bytes() {
    let bench = Bench::new();
    // No shell between: `cat` itself is the program.
    let child = bench.shell.spawn(spec(&bench, "cat", &[])).await.unwrap();
    let RunningProgram { mut stdin, mut stdout, stderr: _stderr, mut process } = child;
    let sent: Vec<u8> = (0..4_000_000_u32).map(|n| n.to_le_bytes()[usize::from(n % 3 == 0)]).collect();
    let write = async {
        stdin.write_all(&sent).await.unwrap();
        drop(stdin);
    };
    let mut echoed = Vec::new();
    let talk = async { tokio::join!(write, stdout.read_to_end(&mut echoed)).1.unwrap() };
    in_time("all of it came back", async { assert_eq!(talk.await, sent.len()) }).await;
    assert!(echoed == sent);
    assert_eq!(process.wait().await, CommandEnd::Exited(0));
}

async fn closed_input() {
    let bench = Bench::new();
    let child = script(&bench, "cat; touch saved; exit 3").await;
    let started = Instant::now();
    assert_eq!(child.stop(AMPLE).await, CommandEnd::Exited(3));
    assert!(started.elapsed() < AMPLE);
    assert!(bench.path("saved").exists());
    assert_eq!(living_in(bench.dir.path()), [""; 0]);
}

async fn still_talks() {
    let bench = Bench::new();
    let child = script(&bench, "cat; seq 100000; seq 100000 >&2; exit 4").await;
    assert_eq!(child.stop(AMPLE).await, CommandEnd::Exited(4));
}

async fn waits() {
    let bench = Bench::new();
    let mut child = script(&bench, "read -r line; kill -9 $$").await;
    tokio::select! {
        biased;
        end = child.wait() => panic!("it waits for a line: {end:?}"),
        () = std::future::ready(()) => {}
    }
    child.stdin.write_all(b"go\n").await.unwrap();
    for _ in 0..2 {
        assert_eq!(child.wait().await, CommandEnd::Signalled(9));
    }
    assert_eq!(child.stop(AMPLE).await, CommandEnd::Signalled(9));
}

async fn left_running() {
    let bench = Bench::new();
    let mut child = script(&bench, "setsid sleep 100 >/dev/null 2>&1 & exit 0").await;
    assert_eq!(child.wait().await, CommandEnd::Exited(0));
    // The streams end with those who hold them; the supervisor, which stays, does not.
    in_time("its output ends", async { assert_eq!(rest(&mut child.stdout).await, "") }).await;
    in_time("its complaints end", async { assert_eq!(rest(&mut child.stderr).await, "") }).await;
    let unread = child.stdin.write_all(b"hello").await.unwrap_err();
    assert_eq!(unread.kind(), io::ErrorKind::BrokenPipe);
    assert!(!living_in(bench.dir.path()).is_empty());
    assert_eq!(child.stop(AMPLE).await, CommandEnd::Exited(0));
    assert_eq!(living_in(bench.dir.path()), [""; 0]);
}

async fn asked() {
    let bench = Bench::new();
    let child =
        script(&bench, "trap 'touch saved; exit 5' TERM; touch ready; while :; do sleep 0.02; done").await;
    until_made(bench.dir.path(), &["ready"]).await;
    assert_eq!(child.stop(Duration::ZERO).await, CommandEnd::Exited(5));
    assert!(bench.path("saved").exists());
}

/// Deaf to its input and to every polite signal, as are its child and the one that left the session.
const DEAF: &str = "trap '' TERM INT HUP; sh -c 'while :; do sleep 1; done' & \
    setsid sh -c 'touch away; while :; do sleep 1; done' & touch here; while :; do sleep 1; done";

async fn ignores_all() {
    let bench = Bench::new();
    let child = script(&bench, DEAF).await;
    until_made(bench.dir.path(), &["here", "away"]).await;
    assert_eq!(child.stop(Duration::from_millis(100)).await, CommandEnd::Signalled(9));
    assert_eq!(living_in(bench.dir.path()), [""; 0]);
}

async fn dropped() {
    let bench = Bench::new();
    let child = script(&bench, DEAF).await;
    until_made(bench.dir.path(), &["here", "away"]).await;
    drop(child);
    until_deserted(bench.dir.path()).await;
}

async fn killed_supervisor() {
    let bench = Bench::new();
    // Nobody waits for it: that it goes is not left to whoever asks.
    let mut child = script(&bench, "touch ready; read -r line; sleep 100 & kill -9 $PPID; sleep 100").await;
    until_made(bench.dir.path(), &["ready"]).await;
    child.stdin.write_all(b"go\n").await.unwrap();
    until_deserted(bench.dir.path()).await;
    assert_eq!(child.wait().await, CommandEnd::Signalled(9));
}

async fn stopped_supervisor() {
    let bench = Bench::new();
    let deaf = "trap '' TERM; read -r line; kill -STOP $PPID; touch ready; while :; do sleep 1; done";
    let mut child = script(&bench, deaf).await;
    child.stdin.write_all(b"go\n").await.unwrap();
    until_made(bench.dir.path(), &["ready"]).await;
    assert_eq!(child.stop(Duration::ZERO).await, CommandEnd::Signalled(9));
    assert_eq!(living_in(bench.dir.path()), [""; 0]);
}

async fn given_up() {
    let bench = Bench::new();
    let start = async {
        // Its supervisor may be stopped before it can say that the program runs.
        let child = script(&bench, "kill -STOP $PPID; touch ready; while :; do sleep 1; done").await;
        std::future::pending::<()>().await;
        drop(child);
    };
    tokio::select! {
        () = start => {}
        () = until_made(bench.dir.path(), &["ready"]) => {}
    }
    until_deserted(bench.dir.path()).await;
}

/// Plays zdx in a process of its own, with one server that it talks to and one that is deaf.
pub fn play_client() {
    let bench = Bench::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let cwd = std::env::current_dir().unwrap();
        let start = |script| {
            let spec = ChildSpec { cwd: cwd.clone(), ..spec(&bench, "sh", &["-c", script]) };
            bench.shell.spawn(spec)
        };
        let _deaf = start(DEAF).await.unwrap();
        // Hears the end of its input, but has left somebody who does not.
        let mut server = start("setsid sleep 100 >/dev/null 2>&1 & cat").await.unwrap();
        server.stdin.write_all(b"hello\n").await.unwrap();
        let mut answer = [0; 6];
        server.stdout.read_exact(&mut answer).await.unwrap();
        std::fs::write("answered", answer).unwrap();
        server.wait().await;
    });
}

async fn killed_client() {
    let bench = Bench::new();
    let mut zdx = Command::new(std::env::current_exe().unwrap())
        .arg(PLAY_CLIENT)
        .current_dir(bench.dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until_made(bench.dir.path(), &["here", "away", "answered"]).await;
    zdx.kill().unwrap();
    zdx.wait().unwrap();
    until_deserted(bench.dir.path()).await;
}

async fn cannot_run() {
    let bench = Bench::new();
    let error = |spec| async { bench.shell.spawn(spec).await.err().unwrap() };
    let missing = error(spec(&bench, "no-such-server", &["--stdio"])).await;
    let ShellError::Start { source, .. } = &missing else { panic!("{missing}") };
    assert_eq!(source.kind(), io::ErrorKind::NotFound);
    assert!(missing.to_string().starts_with("could not start no-such-server: No such file"), "{missing}");

    std::fs::write(bench.path("notes"), "no program").unwrap();
    let plain = error(spec(&bench, "./notes", &[])).await;
    assert!(plain.to_string().starts_with("could not start ./notes: Permission denied"), "{plain}");

    let long = error(spec(&bench, "cat", &["x".repeat(200_000).as_str()])).await;
    assert!(long.to_string().starts_with("could not start cat: Argument list too long"), "{long}");

    let gone = error(ChildSpec { cwd: bench.path("gone"), ..spec(&bench, "cat", &[]) }).await;
    assert!(matches!(gone, ShellError::NoFolder(_)), "{gone}");
    for nul in [
        spec(&bench, "cat", &["a\0b"]),
        ChildSpec { env: vec![("A".into(), "\0".into())], ..spec(&bench, "cat", &[]) },
    ] {
        assert!(matches!(error(nul).await, ShellError::Nul));
    }
    assert_eq!(living_in(bench.dir.path()), [""; 0]);
}
