//! What somebody changed while a model was at work is not lost to what the model remembers of it.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Zdx};

use crate::{results, with_model};

type Step<'a> = (&'a str, Value);

fn read(path: &str) -> Step<'static> {
    ("read", json!({"path": path}))
}

fn write(path: &str, content: &str) -> Step<'static> {
    ("write", json!({"path": path, "content": content}))
}

/// One call after the other, as the model makes them; `before` is what happens elsewhere before a call is made.
fn script(server: &ModelServer, steps: Vec<Step<'static>>, before: impl Fn(usize) + Send + Sync + 'static) {
    let first = server.calls().len();
    let count = std::sync::atomic::AtomicUsize::new(first);
    server.always(move |_| {
        let at = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) - first;
        before(at);
        match steps.get(at) {
            Some((name, input)) => Reply::chat().tool_call(&format!("c{first}{at}"), name, input.clone()),
            None => Reply::chat().text("done"),
        }
    });
}

/// The last results, so many.
fn told(server: &ModelServer, count: usize) -> Vec<Value> {
    let all = results(server.calls().last().expect("a request"));
    all[all.len() - count..].to_vec()
}

#[track_caller]
fn refused(result: &Value) {
    assert_eq!(result["error"]["code"], "changed_since", "{result}");
    let words = result["error"]["message"].as_str().unwrap();
    assert!(words.contains("changed since you last read or wrote it"), "{words}");
    assert!(words.contains("Read it again"), "{words}");
}

fn run(zdx: &Zdx, args: &[&str]) {
    zdx.command().args(["exec"]).args(args).run().success();
}

#[test]
fn what_somebody_changed_since_it_was_read_is_not_overwritten() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("a.txt", "one\ntwo\n");
    let file = zdx.root().join("a.txt");
    let edit = ("edit", json!({"path": "a.txt", "old": "one", "new": "ONE"}));
    let hunk = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-ONE\n+1\n";
    let delete = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n";
    let steps = vec![
        read("a.txt"),
        write("a.txt", "mine\n"),
        edit,
        ("patch", json!({"patch": hunk})),
        ("patch", json!({"patch": delete})),
        write("a.txt", "mine\n"),
        read("a.txt"),
        write("a.txt", "mine and theirs\n"),
        write("a.txt", "mine again\n"),
    ];
    script(&server, steps, move |at| {
        if at == 1 {
            std::fs::write(&file, "one\ntwo\ntheirs\n").unwrap();
        }
        if at == 6 {
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\ntwo\ntheirs\n");
        }
    });
    run(&zdx, &["-p", "go"]);
    let told = told(&server, 9);
    refused(&told[1]);
    let note = "this file changed since you last read or wrote it";
    assert!(told[2]["data"]["note"].as_str().unwrap().starts_with(note), "{}", told[2]);
    assert!(told[3]["data"]["files"][0]["note"].as_str().unwrap().starts_with(note), "{}", told[3]);
    refused(&told[4]);
    refused(&told[5]);
    assert_eq!(told[6]["data"]["content"], "1\ntwo\ntheirs\n");
    assert_eq!((&told[7]["ok"], &told[8]["ok"]), (&json!(true), &json!(true)));
    assert_eq!(zdx.read("a.txt"), "mine again\n");
}

/// A command may be a formatter; whose change it is does not matter. What the model never looked at it may replace.
#[test]
fn what_a_command_changed_is_unseen_too() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("never.txt", "somebody's\n");
    let steps = vec![
        write("a.txt", "a  b\n"),
        ("bash", json!({"command": "echo formatted > a.txt"})),
        write("a.txt", "mine\n"),
        write("a.txt", "formatted\n"),
        write("never.txt", "mine\n"),
    ];
    script(&server, steps, |_| {});
    run(&zdx, &["--allow-dangerous", "-p", "go"]);
    let told = told(&server, 5);
    refused(&told[2]);
    assert_eq!(told[3]["data"]["operation"], "unchanged", "there is nothing to lose: {}", told[3]);
    assert_eq!(told[4]["data"]["operation"], "updated");
    assert_eq!((zdx.read("a.txt"), zdx.read("never.txt")), ("formatted\n".to_owned(), "mine\n".to_owned()));
}

#[test]
fn it_is_known_when_the_session_goes_on() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    for name in ["read.txt", "same.txt"] {
        zdx.write(name, "as it was read\n");
    }
    script(&server, vec![read("read.txt"), read("same.txt"), write("made.txt", "made\n")], |_| {});
    run(&zdx, &["-p", "look"]);
    zdx.write("read.txt", "theirs\n");
    zdx.write("made.txt", "theirs\n");
    let steps = ["read.txt", "made.txt", "same.txt"].map(|path| write(path, "mine\n"));
    script(&server, steps.to_vec(), |_| {});
    run(&zdx, &["-c", "-p", "write"]);
    let told = told(&server, 3);
    refused(&told[0]);
    refused(&told[1]);
    assert_eq!(told[2]["ok"], true, "{}", told[2]);
    assert_eq!((zdx.read("read.txt"), zdx.read("made.txt")), ("theirs\n".to_owned(), "theirs\n".to_owned()));
}

/// What zdx put back itself, and what the user attached, is known.
#[test]
fn what_was_put_back_or_attached_is_nothing_that_came_unseen() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("a.txt", "old\n");
    let steps = [write("a.txt", "first\n"), write("a.txt", "second\n")];
    let count = std::sync::atomic::AtomicUsize::new(0);
    server.always(move |request| {
        if request.messages().last().is_some_and(|last| last["role"] == "tool") {
            return Reply::chat().text("done");
        }
        let at = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let (name, input) = steps[at].clone();
        Reply::chat().tool_call(&format!("c{at}"), name, input)
    });
    zdx.command().args(["--yolo"]).stdin("go\n/revert\nwrite it\n").run().success();
    assert_eq!(told(&server, 1)[0]["data"]["operation"], "updated");
    assert_eq!(zdx.read("a.txt"), "second\n");
    zdx.write("a.txt", "theirs\n");
    script(&server, vec![write("a.txt", "third\n")], |_| {});
    run(&zdx, &["-c", "-p", "@a.txt write it"]);
    assert_eq!(zdx.read("a.txt"), "third\n", "{}", told(&server, 1)[0]);
}
