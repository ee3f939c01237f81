//! `zdx handoff`: five sections, whatever the model says or does not say.

use std::fs;
use std::net::TcpListener;

use serde_json::json;
use zdx_testkit::{ModelServer, Reply, Zdx};

use crate::{place, with_model};

const HEADINGS: [&str; 5] = ["Goal", "Starter prompt", "Relevant files", "Open tasks", "Repro commands"];

/// The text under each heading.
fn sections(markdown: &str) -> Vec<String> {
    let mut rest = markdown;
    let starts = HEADINGS.map(|heading| {
        let mark = format!("\n## {heading}\n\n");
        let at = rest.find(&mark).unwrap_or_else(|| panic!("{heading} is missing in {markdown}"));
        rest = &rest[at + mark.len()..];
        (markdown.len() - rest.len() - mark.len(), markdown.len() - rest.len())
    });
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([markdown.len()]);
    starts.iter().zip(ends).map(|((_, body), end)| markdown[*body..end].trim().to_owned()).collect()
}

/// A session with something to hand over.
fn worked(server: &ModelServer) -> Zdx {
    let zdx = with_model(server);
    zdx.write("src/lib.rs", "fn main() {}\n");
    zdx.write("notes.md", "n");
    let items = json!([{"id": "1", "content": "write it", "status": "completed"},
                       {"id": "2", "content": "test it", "status": "pending"}]);
    server.push(Reply::chat().tool_call("c1", "read", json!({"path": "notes.md"})));
    server.push(Reply::chat().tool_call("c2", "write", json!({"path": "src/new.rs", "content": "x"})));
    server.push(Reply::chat().tool_call("c3", "bash", json!({"command": "ls src"})));
    server.push(Reply::chat().tool_call("c4", "bash", json!({"command": "exit 3"})));
    server.push(Reply::chat().tool_call("c5", "todowrite", json!({"items": items})));
    server.push(Reply::chat().text("It is written."));
    zdx.run(["exec", "-p", "write the parser"]).success();
    zdx
}

const OWN: [&str; 5] = [
    "ship \"it\"\n## really",
    "```text\nship \"it\"\n## really\n\nThis continues earlier work.\nIt began with: write the parser\n\
     The last answer was: It is written.\nRead first: src/new.rs, notes.md\nOpen: test it\n```",
    "- src/new.rs\n- notes.md",
    "- [ ] test it",
    "```sh\nls src\n```",
];

#[test]
fn a_good_answer_is_used_section_by_section() {
    let server = ModelServer::start();
    let zdx = worked(&server);
    let calls = server.calls().len();
    server.push(Reply::chat().text(
        "## Goal\nanother goal\n\n## Starter prompt\nFinish the parser in src/new.rs.\n\n## Relevant files\n\
         - `src/new.rs`: new\n- src/lib.rs\n- src/invented.rs\n- ../../etc/passwd-not\n\n## Open tasks\n- [ ] test it well\n- [x] write it\n\n\
         ## Repro commands\n```sh\n$ cargo test\n```\n",
    ));
    let out = zdx.run(["handoff", "--goal", "ship it"]).success();
    assert_eq!(out.stderr, "");
    assert_eq!(
        sections(&out.stdout),
        [
            "ship it",
            "```text\nFinish the parser in src/new.rs.\n```",
            "- src/new.rs\n- src/lib.rs",
            "- [ ] test it well",
            "```sh\ncargo test\n```"
        ]
    );
    let asked = server.calls();
    assert_eq!(asked.len(), calls + 1, "one request");
    let asked = asked.last().unwrap();
    assert!(asked.tool_names().is_empty());
    let body = asked.body.to_string();
    for part in ["ship it", "write the parser", "src/new.rs", "ls src", "test it"] {
        assert!(body.contains(part), "{part} in {body}");
    }
}

#[test]
fn a_useless_answer_still_gives_all_five_sections() {
    let server = ModelServer::start();
    let zdx = worked(&server);
    let goal = OWN[0];
    for (reply, why) in [
        (Reply::chat().text("").into(), "answered with nothing"),
        (Reply::chat().tool_call("x", "read", json!({"path": "notes.md"})).into(), "wanted to call a tool"),
        (Reply::chat().text("I would rather not.").into(), "lacks relevant files, open tasks"),
        (Reply::status(500), "500"),
        (Reply::status(401).json(json!({"error": {"message": "who are you?"}})), "who are you?"),
    ] {
        server.push(reply);
        let out = zdx.run(["handoff", "--goal", goal]).success();
        let body = out.stdout.replacen(goal, "ship \"it\"\n(really)", 1);
        let mut expected = OWN.map(str::to_owned);
        expected[0] = "ship \"it\"\n(really)".to_owned();
        assert_eq!(sections(&body), expected, "{why}");
        assert!(out.stderr.contains(why) && out.stderr.lines().count() == 1, "{why}: {}", out.stderr);
    }
}

#[test]
fn a_section_that_is_missing_is_made_from_the_session() {
    let server = ModelServer::start();
    let zdx = worked(&server);
    server.push(
        Reply::chat()
            .text("**Starter prompt**\nFinish the parser, please.\n\n**Open tasks**\n1. test it well\n"),
    );
    let out = zdx.run(["handoff", "--goal", "ship it"]).success();
    let found = sections(&out.stdout);
    assert_eq!(found[1], "```text\nFinish the parser, please.\n```");
    assert_eq!(found[3], "- [ ] test it well");
    assert_eq!((found[2].as_str(), found[4].as_str()), (OWN[2], OWN[4]));
    assert!(out.stderr.contains("relevant files, repro commands"), "{}", out.stderr);
}

#[test]
fn an_unreachable_model_is_no_failure() {
    let server = ModelServer::start();
    let zdx = worked(&server);
    drop(server);
    let out = zdx.run(["handoff", "--goal", "ship it"]).success();
    assert_eq!(sections(&out.stdout)[2..], OWN[2..]);
    assert!(out.stderr.contains("made from the session itself"), "{}", out.stderr);

    // A port that nobody listens on, and no key where one is needed.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (name, value) in [
        ("ZDX_BASE_URL", format!("http://127.0.0.1:{port}/v1")),
        ("ZDX_MODEL", "anthropic/claude-x".to_owned()),
    ] {
        let out = zdx.command().env(name, value).args(["handoff", "--goal", "ship it"]).run().success();
        assert_eq!(sections(&out.stdout)[2..], OWN[2..], "{name}");
        assert!(out.stderr.contains("made from the session itself"), "{}", out.stderr);
    }
}

#[test]
fn source_and_place_can_be_chosen() {
    let server = ModelServer::start();
    let zdx = worked(&server);
    let id = zdx.session_files()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    server.push(Reply::chat().text("fine"));
    zdx.run(["exec", "-p", "something else"]).success();
    server.always(|_| Reply::chat().text(""));

    let latest = zdx.run(["handoff", "--goal", "ship it"]).success().stdout;
    assert!(latest.contains("something else") && !latest.contains("src/new.rs"), "{latest}");
    let out =
        zdx.run(["handoff", "--goal", "ship it", "--from-session", &id[..8], "--out", "next.md"]).success();
    assert_eq!(out.stdout, "");
    assert_eq!(sections(&zdx.read("next.md"))[2..], OWN[2..]);

    // Paths are told from the root that is asked for.
    let src = zdx.root().join("src");
    let args = ["handoff", "--goal", "g", "--from-session", &id, "--root", src.to_str().unwrap()];
    assert_eq!(sections(&zdx.run(args).success().stdout)[2], "- new.rs\n- ../notes.md");
}

#[test]
fn what_makes_no_sense_is_told_before_anybody_is_asked() {
    let server = ModelServer::start();
    let zdx = worked(&server);
    let calls = server.calls().len();
    zdx.run(["handoff"]).expect_code(2);
    zdx.run(["handoff", "--goal", " "]).expect_code(2);
    zdx.run(["handoff", "--goal", "g", "--from-session", "0000"]).expect_code(1);
    let out = zdx.run(["handoff", "--goal", "g", "--out", "no/such/folder.md"]).expect_code(1);
    assert!(out.stderr.contains("no/such/folder.md"), "{}", out.stderr);
    let out = zdx.run(["handoff", "--goal", "g", "--out", "src"]).expect_code(1);
    assert!(out.stderr.contains("it is a folder"), "{}", out.stderr);
    assert_eq!(server.calls().len(), calls);
    assert!(
        fs::read_dir(zdx.root())
            .unwrap()
            .flatten()
            .all(|entry| { !entry.file_name().to_string_lossy().starts_with(".tmp") })
    );

    let empty = place().run(["handoff", "--goal", "g"]).expect_code(1);
    assert!(empty.stderr.contains("no session yet"), "{}", empty.stderr);
}
