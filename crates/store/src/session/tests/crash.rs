//! What happens when the process, not the disk, is the problem: a test starts itself once more as a child, which
//! writes and is killed, or runs into the limit on file sizes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitStatus, Stdio};

use super::recovery::Random;
use super::*;

/// Makes a test of this file the child that it starts, and says what the child needs.
const CHILD: &str = "ZDX_TEST_SESSION_CHILD";
const ROUNDS: &str = "ZDX_TEST_KILLS";

/// Runs the test `name` of this file once more, in a process of its own; what it says comes on stderr.
fn child(name: &str, argument: &str) -> Child {
    let module = module_path!().split_once("::").unwrap().1;
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "--test-threads=1"])
        .arg(format!("{module}::{name}"))
        .env(CHILD, argument)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What the parent handed over, if this process is a child.
fn argument() -> Option<String> {
    std::env::var(CHILD).ok()
}

fn say(line: &str) {
    // One write, so that the parent never reads half a line of a child it kills.
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn numbered(n: usize) -> Record {
    user(&format!("number {n}"))
}

/// Spans many pages and costs nothing to serialise: a kill is likely to land inside its write.
fn filler() -> Record {
    Record::parse(format!(r#"{{"type":"filler","text":"{}"}}"#, "x".repeat(400_000)).as_bytes()).unwrap()
}

fn write_until_killed(argument: &str) -> ! {
    let (dir, id) = argument.split_once(' ').unwrap();
    let (store, id) = (SessionStore::new(dir), id.parse().unwrap());
    let (mut log, mut n) = match store.open(id) {
        Ok(opened) => (opened.log, opened.transcript.turns as usize),
        Err(SessionOpenError::NotFound(_)) => (store.create(id), 0),
        Err(error) => panic!("{error}"),
    };
    let filler = filler();
    loop {
        assert_eq!(log.append(&numbered(n)), SaveOutcome::Yes);
        say(&n.to_string());
        assert_eq!(log.append(&filler), SaveOutcome::Yes);
        n += 1;
    }
}

#[test]
fn kills_lose_nothing_acknowledged() {
    if let Some(argument) = argument() {
        write_until_killed(&argument);
    }
    let rounds: usize = std::env::var(ROUNDS).map_or(200, |rounds| rounds.parse().unwrap());
    let (_base, store) = store();
    let mut random = Random(rounds as u64);
    let (mut torn_tails, mut acknowledged) = (0, 0);
    let mut id = SessionId::random();
    for round in 0..rounds {
        if round % 5 == 0 {
            let _ = store.delete(id);
            (id, acknowledged) = (SessionId::random(), 0);
        }
        let mut child = child("kills_lose_nothing_acknowledged", &format!("{} {id}", store.dir().display()));
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        for _ in 0..random.below(6) {
            let line = said.next().expect("the child writes until it is killed");
            acknowledged = line.unwrap().parse::<usize>().unwrap() + 1;
        }
        // Meanwhile it wrote on: the kill lands anywhere, and what it still acknowledged counts.
        child.kill().unwrap();
        child.wait().unwrap();
        for line in said {
            acknowledged = line.unwrap().parse::<usize>().unwrap() + 1;
        }
        torn_tails += u32::from(check_numbers(&store, id, acknowledged));
    }
    println!("{rounds} kills, {torn_tails} torn tails, no acknowledged record lost");
}

/// All acknowledged records are there, in order, once. Says whether the kill tore the last one.
fn check_numbers(store: &SessionStore, id: SessionId, acknowledged: usize) -> bool {
    let mut found = 0;
    let scanned = store.scan(id, |record| {
        if let Record::Message(_) = record {
            assert_eq!(record, numbered(found));
            found += 1;
        }
    });
    assert!(found >= acknowledged, "{acknowledged} acknowledged, {found} found");
    match scanned {
        Ok(scan) => scan.torn,
        Err(SessionOpenError::NotFound(_)) if acknowledged == 0 => false,
        Err(error) => panic!("{error}"),
    }
}

fn write_into_a_limit(dir: &str) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let store = SessionStore::new(dir);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { ignore_sigxfsz() }).unwrap();
    let maximum = getrlimit(Resource::Fsize).maximum;
    let limit = |current| setrlimit(Resource::Fsize, Rlimit { current, maximum }).unwrap();
    let id = SessionId::random();
    let mut log = store.create(id);
    log.append(&meta(id, "/project"));
    limit(Some(1000));
    let told: Vec<SaveOutcome> = (0..30).map(|n| log.append(&user(&format!("record {n}")))).collect();
    let first_failed = told.iter().position(|saved| *saved != SaveOutcome::Yes).unwrap();
    let path = path_of(&store, id);
    assert!(matches!(&told[first_failed], SaveOutcome::Not { why } if why.contains("ulimit -f")), "{told:?}");
    assert!(told[first_failed + 1..].iter().all(|saved| *saved == SaveOutcome::Waiting), "{told:?}");
    assert_eq!(log.unsaved(), 30 - first_failed as u64);
    let before = std::fs::metadata(&path).unwrap().len();
    assert_valid_jsonl(&path);
    assert!(before <= 1000 && first_failed > 5, "{before} bytes, {first_failed} records");
    limit(maximum);
    assert_eq!(log.append(&user("last")), SaveOutcome::Again { lost: 0 });
    assert_valid_jsonl(&path);
    let mut expected = vec![meta(id, "/project")];
    expected.extend((0..30).map(|n| user(&format!("record {n}"))));
    expected.push(user("last"));
    assert_eq!(records_of(&store, id), expected);
    say("done");
}

#[test]
fn a_limit_on_file_sizes_cuts_no_record_in_two() {
    if let Some(dir) = argument() {
        return write_into_a_limit(&dir);
    }
    let (_base, store) = store();
    let dir = store.dir().display().to_string();
    let (status, said) = finish(child("a_limit_on_file_sizes_cuts_no_record_in_two", &dir));
    assert!(status.success() && said.lines().any(|line| line == "done"), "{status}: {said}");
}

fn finish(child: Child) -> (ExitStatus, String) {
    let output = child.wait_with_output().unwrap();
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}
