//! Files outside the workspace: who is asked about them, and folders that are added to a session.

use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use zdx_testkit::{ModelServer, Reply, Zdx};

use crate::approvals::{begin, code, open, told, wait_for_question};
use crate::chat::{leave, wait_for_prompt};
use crate::turns::chat_results;
use crate::{SOON, guard, tui_start, with_model};

/// A folder beside the workspace with a few files.
struct Data {
    dir: TempDir,
}

impl Data {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.txt"), "alpha\n").unwrap();
        std::fs::write(dir.path().join("b.txt"), "beta\n").unwrap();
        std::fs::write(dir.path().join("AGENTS.md"), "instructions of another folder\n").unwrap();
        Self { dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn folder(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }

    fn file(&self, name: &str) -> String {
        self.path().join(name).to_str().unwrap().to_owned()
    }

    fn read(&self, name: &str) -> Value {
        json!({"path": self.file(name)})
    }

    fn write(&self, name: &str) -> Value {
        json!({"path": self.file(name), "content": "new\n"})
    }
}

fn calls(tool: &str, input: Value) -> zdx_testkit::ChatReply {
    Reply::chat().tool_call("c1", tool, input)
}

fn session_file(zdx: &Zdx) -> String {
    std::fs::read_to_string(&zdx.session_files()[0]).unwrap()
}

#[test]
fn where_nobody_can_answer_it_is_refused_with_the_way_out() {
    let (server, data) = (ModelServer::start(), Data::new());
    let zdx = with_model(&server);
    let list = |name: &str| json!({"command": format!("cat {}", data.file(name))});
    let calls = [("read", data.read("a.txt")), ("write", data.write("new.txt")), ("bash", list("a.txt"))];
    let (_, results) = guard::told(&zdx, &server, &calls, &["--approval", "balanced"]);
    for result in &results {
        assert_eq!(code(result), "approval_required", "{result}");
    }
    let message = results[0]["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("lies outside the workspace") && message.contains("--add-dir FOLDER"),
        "{message}"
    );
    let folder = data.folder();
    let (_, results) =
        guard::told(&zdx, &server, &calls, &["--approval", "balanced", "--add-dir", folder.as_str()]);
    let codes: Vec<&str> = results.iter().map(code).collect();
    assert_eq!(codes, ["none", "approval_required", "none"], "writing is asked about as in the workspace");
    assert!(!results[1].to_string().contains("outside"), "{}", results[1]);
    let (_, results) = guard::told(&zdx, &server, &calls, &["--yolo"]);
    assert!(results.iter().all(|result| code(result) == "none"), "{results:?}");
    let denying = zdx.config_more("[permission]\nexternal_directory = \"deny\"\n");
    let (_, results) = guard::told(&denying, &server, &calls, &["--yolo", "--add-dir", folder.as_str()]);
    assert!(results.iter().all(|result| code(result) == "path_escape"), "{results:?}");
}

#[test]
fn a_person_is_asked_and_may_add_the_folder_for_the_session() {
    let (server, data) = (ModelServer::start(), Data::new());
    let zdx = with_model(&server);
    let pty = open(&zdx, 100, &[]);
    let call = begin(&server, &pty, calls("read", data.read("a.txt")));
    wait_for_question(&pty);
    let asked = pty.contents();
    assert!(asked.contains("OUTSIDE the workspace"), "{asked}");
    assert!(asked.contains("[y] yes, once (Enter)  [d] add this folder"), "{asked}");
    assert!(!asked.contains("[a] always"), "{asked}");
    pty.send("d\r");
    assert_eq!(told(&server, call, &pty)["ok"], true);
    // Reading is not asked about again; a change is, as in the workspace.
    let call = begin(&server, &pty, calls("read", data.read("b.txt")));
    assert_eq!(told(&server, call, &pty)["ok"], true);
    let call = begin(&server, &pty, calls("write", data.write("new.txt")));
    wait_for_question(&pty);
    assert!(pty.contents().contains("[a] always  [e] every edit"), "{}", pty.contents());
    pty.send("n\r");
    assert_eq!(code(&told(&server, call, &pty)), "rejected");
    leave(pty);
    assert!(session_file(&zdx).contains(&format!("\"grant\":\"folder {}\"", data.folder())));
    // The session keeps it; another one does not have it.
    for (args, expected) in [(&["-c"][..], "none"), (&[][..], "approval_required")] {
        let args = [&["--approval", "balanced"], args].concat();
        let (_, results) = guard::told(&zdx, &server, &[("read", data.read("a.txt"))], &args);
        assert_eq!(code(&results[0]), expected, "{args:?}");
    }
}

#[test]
fn once_is_once_and_no_is_no() {
    let (server, data) = (ModelServer::start(), Data::new());
    let zdx = with_model(&server);
    let pty = open(&zdx, 100, &[]);
    for (key, expected) in [("y", "none"), ("y", "none"), ("n", "rejected")] {
        let call = begin(&server, &pty, calls("read", data.read("a.txt")));
        wait_for_question(&pty);
        pty.send(format!("{key}\r"));
        assert_eq!(code(&told(&server, call, &pty)), expected);
    }
    leave(pty);
}

#[test]
fn add_dir_adds_lists_and_is_taken_back() {
    let (server, data) = (ModelServer::start(), Data::new());
    let zdx = with_model(&server);
    let pty = open(&zdx, 120, &[]);
    let typed = |line: &str, answer: &str| {
        pty.send(format!("{line}\r"));
        pty.wait_for_text(answer, SOON);
        wait_for_prompt(&pty);
    };
    typed("/add-dir", "no folder was added to this session");
    typed("/add-dir /", "it is the whole disk");
    typed("/add-dir ~", "it is your home folder");
    typed("/add-dir nowhere", "there is no such folder");
    typed(&format!("/add-dir {}", data.folder()), &format!("added for this session: {}", data.folder()));
    let call = begin(&server, &pty, calls("read", data.read("a.txt")));
    assert_eq!(told(&server, call, &pty)["ok"], true);
    assert!(session_file(&zdx).contains("\"type\":\"folder_added\""));
    leave(pty);
    let pty = open(&zdx, 120, &["-c"]);
    pty.wait_for_text("still allowed in this session: the folder", SOON);
    pty.send("/add-dir\r");
    pty.wait_for_text(&format!("\n{}", data.folder()), SOON);
    wait_for_prompt(&pty);
    pty.send(format!("/revoke {}\r", data.folder()));
    pty.wait_for_text("no longer allowed: the folder", SOON);
    wait_for_prompt(&pty);
    let call = begin(&server, &pty, calls("read", data.read("a.txt")));
    wait_for_question(&pty);
    pty.send("n\r");
    assert_eq!(code(&told(&server, call, &pty)), "rejected");
    leave(pty);
}

#[test]
fn an_added_folder_serves_tasks_and_brings_no_instructions() {
    let (server, data) = (ModelServer::start(), Data::new());
    let zdx = with_model(&server);
    let folder = data.folder();
    server.push(calls("task", json!({"agent": "explore", "prompt": "look", "description": "look"})));
    server.push(calls("read", data.read("a.txt")));
    server.push(Reply::chat().text("found"));
    server.push(Reply::chat().text("done"));
    zdx.run(["exec", "--approval", "balanced", "--add-dir", folder.as_str(), "-p", "go"]).success();
    let read = chat_results(&server.calls()[2]).pop().unwrap().1;
    assert_eq!(read["ok"], true, "{read}");
    for call in server.calls() {
        assert!(!call.body.to_string().contains("instructions of another folder"));
    }
}

#[test]
fn what_the_user_typed_is_not_asked_about() {
    let (server, data) = (ModelServer::start(), Data::new());
    let zdx = with_model(&server).config_more("[permission]\nbash = \"ask\"\nexternal_directory = \"ask\"\n");
    let pty = open(&zdx, 100, &["--approval", "paranoid"]);
    pty.send(format!("!cat {}\r", data.file("a.txt")));
    pty.wait_for_text("\nalpha", SOON);
    wait_for_prompt(&pty);
    pty.send(format!("!rm {}\r", data.file("a.txt")));
    wait_for_question_of_the_user(&pty);
    pty.send("n\r");
    wait_for_prompt(&pty);
    assert!(data.path().join("a.txt").exists());
    leave(pty);
}

fn wait_for_question_of_the_user(pty: &zdx_testkit::Pty) {
    crate::approvals::wait_for_keys(pty, "[n] no");
}

#[test]
fn on_a_screen_the_folder_is_one_of_the_choices() {
    let (server, data) = (ModelServer::start(), Data::new());
    let zdx = with_model(&server);
    let mut pty = tui_start::open(&zdx, &[]);
    server.push(calls("read", data.read("a.txt")));
    server.push(Reply::chat().tool_call("c2", "read", data.read("b.txt")));
    server.push(Reply::chat().text("both"));
    pty.send("go\r");
    pty.wait_for_text("yes, and add the folder", SOON);
    crate::tui_approval::confirm(&pty, "d");
    pty.wait_for_text("both", SOON);
    let results = chat_results(&server.calls()[2]);
    assert!(results.iter().all(|(_, result)| result["ok"] == true), "{results:?}");
    tui_start::wait_idle(&pty);
    pty.send("/add-dir\r");
    pty.wait_for_text(&data.folder(), SOON);
    tui_start::leave(&mut pty);
}

#[test]
fn a_folder_that_cannot_be_added_is_a_mistake_of_the_command_line() {
    let zdx = crate::place();
    for (folder, why) in [("nowhere", "no such file"), ("/dev/null", "not a folder")] {
        let out = zdx.run(["exec", "--add-dir", folder, "-p", "go"]).expect_code(2);
        assert!(out.stderr.contains("--add-dir") && out.stderr.contains(why), "{}", out.stderr);
    }
    let home = zdx.home().to_str().unwrap().to_owned();
    let refused = [
        ("/", "the whole disk"),
        (home.as_str(), "your home folder"),
        ("/etc", "keys or passwords"),
        ("/proc", "belongs to the system"),
    ];
    for (folder, why) in refused {
        for args in [&["exec", "-p", "go"][..], &["policy", "explain", "ls"]] {
            let out = zdx.run([args, &["--add-dir", folder]].concat()).expect_code(2);
            assert!(out.stderr.contains(why), "{}", out.stderr);
        }
    }
}
