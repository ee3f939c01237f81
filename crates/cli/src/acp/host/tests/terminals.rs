use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use zdx_acp::{Host, code};

use super::super::{HostEvent, Reach};
use super::{Place, text};

async fn create(place: &Place, params: Value) -> String {
    let made = place.ask("terminal/create", params).await.unwrap();
    made["terminalId"].as_str().unwrap().to_owned()
}

async fn script(place: &Place, script: &str) -> String {
    create(place, json!({"sessionId": "s", "command": "sh", "args": ["-c", script]})).await
}

async fn of(place: &Place, what: &str, id: &str) -> Value {
    let params = json!({"sessionId": "s", "terminalId": id});
    place.ask(&format!("terminal/{what}"), params).await.unwrap()
}

/// A process is there for as long as it runs or nobody has heard of its end.
fn runs(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !status.is_empty() && !status.contains(") Z ")
}

async fn until(condition: impl Fn() -> bool) {
    for _ in 0..1000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came to be");
}

fn written(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.len() > 0)
}

#[tokio::test]
async fn a_program_runs_and_is_told_of() {
    let mut place = Place::new(Reach::Default);
    let id = script(&place, "printf out; printf err >&2; pwd; exit 3").await;
    let exit = json!({"exitCode": 3, "signal": null});
    assert_eq!(of(&place, "wait_for_exit", &id).await, exit);
    assert_eq!(of(&place, "wait_for_exit", &id).await, exit);
    let output = of(&place, "output", &id).await;
    assert_eq!((&output["truncated"], &output["exitStatus"]), (&json!(false), &exit));
    let printed = output["output"].as_str().unwrap();
    assert!(printed.contains("out") && printed.contains("err"), "{printed}");
    assert!(printed.contains(place.root.to_str().unwrap()), "{printed}");
    assert_eq!(of(&place, "kill", &id).await, json!({}));
    assert_eq!(of(&place, "wait_for_exit", &id).await, exit);
    assert_eq!(of(&place, "release", &id).await, json!({}));
    for method in ["output", "wait_for_exit", "kill", "release"] {
        let gone = place.ask(&format!("terminal/{method}"), json!({"terminalId": id})).await.unwrap_err();
        assert_eq!(gone.code, code::NOT_FOUND, "{method}");
    }
    let told = place.told();
    let command = "sh -c 'printf out; printf err >&2; pwd; exit 3'".to_owned();
    assert_eq!(told.first(), Some(&HostEvent::TerminalCreated { id: id.clone(), command }));
    let exited = HostEvent::TerminalExited { id: id.clone(), code: Some(3), signal: None };
    assert_eq!(told[told.len() - 2..], [exited, HostEvent::TerminalReleased { id }]);
}

#[tokio::test]
async fn arguments_are_words_and_variables_are_set() {
    let place = Place::new(Reach::Default);
    std::fs::create_dir(place.root.join("sub")).unwrap();
    let id = create(
        &place,
        json!({
            "command": "printf", "args": ["%s|", "a b", "$HOME", "x;y"], "env": [{"name": "GREETING", "value": "hi there"}],
            "cwd": place.root.join("sub"), "outputByteLimit": null
        }),
    )
    .await;
    of(&place, "wait_for_exit", &id).await;
    assert_eq!(of(&place, "output", &id).await["output"], "a b|$HOME|x;y|");
    // A whole command line in place of a program, as some agents write it.
    let params = json!({"command": "echo \"$GREETING\" | tr a-z A-Z", "args": [], "env": [{"name": "GREETING", "value": "hi there"}], "cwd": "sub"});
    let id = create(&place, params).await;
    of(&place, "wait_for_exit", &id).await;
    assert_eq!(of(&place, "output", &id).await["output"], "HI THERE\n");
}

#[tokio::test]
async fn what_is_kept_is_the_end() {
    let mut place = Place::new(Reach::Default);
    let params = json!({"command": "sh", "args": ["-c", "yes äöü | head -n 400000; printf ende"], "outputByteLimit": 11});
    let id = create(&place, params).await;
    of(&place, "wait_for_exit", &id).await;
    let output = of(&place, "output", &id).await;
    assert_eq!(output["truncated"], true);
    let kept = output["output"].as_str().unwrap();
    assert!(kept.len() <= 11 && kept.ends_with("ende") && !kept.contains('\u{fffd}'), "{kept:?}");
    let told: usize = place
        .told()
        .iter()
        .map(|event| if let HostEvent::TerminalOutput { text, .. } = event { text.len() } else { 0 })
        .sum();
    assert!(told > 60_000 && told < 100_000, "{told}");
}

#[tokio::test]
async fn a_killed_one_can_still_be_looked_at() {
    let place = Place::new(Reach::Default);
    let id = script(&place, "echo begun; exec sleep 3600").await;
    let looked = || async { of(&place, "output", &id).await };
    while looked().await["output"] != "begun\n" {
        tokio::task::yield_now().await;
    }
    assert!(looked().await.get("exitStatus").is_none());
    let waits = || of(&place, "wait_for_exit", &id);
    let (one, other, _) = tokio::join!(waits(), waits(), of(&place, "kill", &id));
    let exit = json!({"exitCode": null, "signal": "SIGTERM"});
    assert_eq!((&one, &other), (&exit, &exit));
    assert_eq!(looked().await, json!({"output": "begun\n", "truncated": false, "exitStatus": exit}));
}

#[tokio::test]
async fn a_release_takes_all_that_was_started() {
    let place = Place::new(Reach::Default);
    // One that ended and left something behind, and one that does not want to end.
    let left = script(&place, "sleep 3600 & echo $! > left").await;
    let stubborn = script(&place, "trap '' TERM; echo $$ > stubborn; while :; do sleep 1; done").await;
    until(|| written(&place.root.join("left")) && written(&place.root.join("stubborn"))).await;
    of(&place, "wait_for_exit", &left).await;
    let pids = ["left", "stubborn"].map(|name| text(&place.root.join(name)));
    assert!(pids.iter().all(|pid| runs(pid)));
    of(&place, "release", &left).await;
    let waiting = of(&place, "wait_for_exit", &stubborn);
    let (exit, _) = tokio::join!(waiting, of(&place, "release", &stubborn));
    assert_eq!(exit["signal"], "SIGKILL");
    assert!(!pids.iter().any(|pid| runs(pid)), "{pids:?}");
}

#[tokio::test]
async fn the_end_leaves_no_process() {
    let place = Place::new(Reach::Default);
    for n in 0..3 {
        script(&place, &format!("echo $$ > pid{n}; sleep 3600")).await;
    }
    let pids = ["pid0", "pid1", "pid2"].map(|name| place.root.join(name));
    until(|| pids.iter().all(|path| written(path))).await;
    let pids = pids.map(|path| text(&path));
    assert!(pids.iter().all(|pid| runs(pid)));
    tokio::time::timeout(Duration::from_secs(60), place.host.terminals().close())
        .await
        .expect("the end comes");
    assert!(!pids.iter().any(|pid| runs(pid)));
    let late = place.ask("terminal/create", json!({"command": "true"})).await;
    assert_eq!(late.unwrap_err().code, code::INTERNAL);
}

#[tokio::test]
async fn what_may_not_run_does_not() {
    let mut place = Place::new(Reach::Yolo);
    place.write("keep.txt", "x");
    for (command, args) in [
        ("rm", json!(["-rf", "/"])),
        ("sh", json!(["-c", "rm -rf keep.txt"])),
        ("rm -rf keep.txt", json!([])),
        ("sudo", json!(["true"])),
    ] {
        let refused =
            place.ask("terminal/create", json!({"command": command, "args": args})).await.unwrap_err();
        assert_eq!(refused.code, code::INVALID_REQUEST, "{command}");
        assert!(refused.message.starts_with("not allowed: "), "{refused}");
        assert!(matches!(&place.told()[..], [HostEvent::Permission { allowed: false, .. }]));
    }
    assert!(place.root.join("keep.txt").exists());
    let preload = json!([{"name": "LD_PRELOAD", "value": "./evil.so"}]);
    for params in [
        json!({"command": "ls", "env": preload}),
        json!({"command": "ls", "cwd": "/"}),
        json!({"command": "ls", "cwd": "../outside"}),
        json!({"command": "ls", "cwd": "keep.txt"}),
        json!({"command": "ls", "args": [7]}),
        json!({"command": "ls", "args": "x"}),
        json!({"command": "ls", "env": [{"name": "A=B", "value": ""}]}),
        json!({"command": "ls", "env": [{"name": "1", "value": ""}]}),
        json!({"command": "  "}),
        json!({"command": "no-such-program-here"}),
        json!({"command": "a\0b"}),
        json!({}),
        json!(null),
    ] {
        assert!(place.ask("terminal/create", params.clone()).await.is_err(), "{params}");
    }
    let events = place.told();
    assert!(!events.iter().any(|event| matches!(event, HostEvent::TerminalCreated { .. })));
}

/// The guard is shown `env NAME=VALUE… program`: a name that is an option there would hide the program from it.
#[tokio::test]
async fn no_name_of_a_variable_hides_the_program() {
    let place = Place::new(Reach::Yolo);
    for name in ["--help", "--version", "--split-string", "-Secho hi", "--chdir", "-u", "--", "a b", ""] {
        place.write("keep.txt", "x");
        let params =
            json!({"command": "rm", "args": ["-rf", "keep.txt"], "env": [{"name": name, "value": "/"}]});
        let refused = place.ask("terminal/create", params).await.unwrap_err();
        assert_eq!(refused.code, code::INVALID_PARAMS, "{name}: {refused}");
    }
}

#[tokio::test]
async fn terminals_that_nobody_releases_are_few() {
    let place = Place::new(Reach::Default);
    for _ in 0..64 {
        create(&place, json!({"command": "true"})).await;
    }
    let refused = place.ask("terminal/create", json!({"command": "true"})).await.unwrap_err();
    assert!(refused.message.contains("release some first"), "{refused}");
    of(&place, "release", "term-1").await;
    create(&place, json!({"command": "true"})).await;
}
