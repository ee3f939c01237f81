//! Keys, `.env` values and tokens: in none of the files zdx writes, and not in the hands of commands.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Zdx};

use crate::{SOON, place};

const KEY: &str = "planted-api-key-0d9f";
const NAMED: &str = "planted named secret";
const DOTENV: &str = "planted.dotenv.value.77";
const SHAPED: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const JWT: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlMTIz";
const PLANTED: [&str; 5] = [KEY, NAMED, DOTENV, SHAPED, JWT];

fn all() -> String {
    PLANTED.join(" | ")
}

fn with_secrets(server: &ModelServer, anthropic: bool) -> Zdx {
    let zdx = if anthropic { place().anthropic(server) } else { place().chat(server) };
    // A variable whose name tells nothing: it is a key because the configuration says so.
    let zdx = zdx.config_more(
        "[providers.other]\nwire = \"anthropic\"\nbase_url = \"http://127.0.0.1:1\"\napi_key_env = \"LAB\"",
    );
    zdx.write(".env", format!("# local\nSETTING='{DOTENV}'\nREGION=ap-southeast-1\n"));
    zdx.write("notes.txt", format!("start {} end\n", all()));
    zdx.env("LAB", KEY).env("DEPLOY_TOKEN", NAMED)
}

/// Every file below, whatever it is.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

/// Nothing zdx wrote holds a planted value, in any spelling, nor half of one.
#[track_caller]
fn assert_clean(zdx: &Zdx) {
    let written = files(zdx.storage());
    assert!(written.iter().any(|file| file.extension().is_some_and(|e| e == "jsonl")), "{written:?}");
    for file in written {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        for secret in PLANTED {
            for part in [secret, &secret[..secret.len() - 6], &secret[6..]] {
                assert!(!text.contains(part), "{part} in {}", file.display());
            }
        }
    }
}

#[test]
fn a_planted_secret_is_in_no_file() {
    for anthropic in [false, true] {
        let server = ModelServer::start();
        let big = format!("yes \"$(cat notes.txt)\" | head -n 3000; echo '{}' >&2", all());
        let calls = [
            ("read", json!({"path": "notes.txt"})),
            ("bash", json!({"command": "cat notes.txt .env; echo \"$LAB$DEPLOY_TOKEN\""})),
            ("bash", json!({"command": big})),
            ("write", json!({"path": "out.txt", "content": format!("made {}", all())})),
            ("edit", json!({"path": "notes.txt", "old": "absent", "new": all()})),
        ];
        for (n, (tool, input)) in calls.into_iter().enumerate() {
            let id = format!("c{n}");
            if anthropic {
                server.push(
                    Reply::anthropic()
                        .thinking(&format!("hm {}", all()), "sig")
                        .tool_use(&id, tool, input)
                        .done(),
                );
            } else {
                server.push(
                    Reply::chat()
                        .reasoning(&all())
                        .text(&format!("I say {}", all()))
                        .tool_call(&id, tool, input)
                        .done(),
                );
            }
        }
        server.push(Reply::status(400).json(json!({"error": {"message": format!("bad key {}", all())}})));
        let zdx = with_secrets(&server, anthropic);
        let out = zdx.run(["exec", "-p", &format!("use {}", all())]).expect_code(1);
        assert_eq!(server.calls().len(), 6, "{}", out.stderr);
        assert_clean(&zdx);
        for secret in PLANTED {
            assert!(!out.stderr.contains(secret), "{secret} in {}", out.stderr);
        }
        assert!(out.stderr.contains("in your prompt was masked"), "{}", out.stderr);
        // The spill was there to be looked at, and what was written to the project is what the model wrote.
        assert!(
            files(zdx.storage()).iter().any(|file| file.ends_with("c2.stdout")),
            "{:?}",
            files(zdx.storage())
        );
        assert_eq!(zdx.read("out.txt"), format!("made {}", all()));
        // What no secret is stays readable.
        assert!(out.records_of("tool_result")[1].to_string().contains("ap-southeast-1"));
    }
}

/// The pieces of one stream, joined.
fn streamed(events: &[Value], kind: &str, field: &str) -> String {
    events.iter().filter(|event| event["type"] == kind).filter_map(|event| event[field].as_str()).collect()
}

#[test]
fn what_streams_is_masked_however_it_is_split() {
    let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc1\n-----END RSA PRIVATE KEY-----";
    let said = format!(
        "I say {} and sk-ab\u{1b}[31mcd0123456789ef\u{1b}[0m, {pem}. DB_PASSWORD=hunter2x1 no sk-learn, p",
        all()
    );
    let masks = ["[redacted]"; PLANTED.len()].join(" | ");
    let masked = format!(
        "I say {masks} and [redacted]\u{1b}[31m\u{1b}[0m, [redacted]. DB_PASSWORD=[redacted] no sk-learn, p"
    );
    let shown = format!("start {masks} end\n[redacted]\u{1b}[31m ghp\n");
    let command = "cat notes.txt; printf 'plan\\033[31mted-api-'; printf 'key-0d9f ghp'; echo";
    for format in ["json", "text"] {
        let server = ModelServer::start();
        let letters = || said.chars().map(String::from);
        let thought =
            letters().fold(Reply::chat(), |reply, letter| reply.delta(json!({"reasoning_content": letter})));
        server.push(thought.text_deltas(letters()).tool_call("c1", "bash", json!({ "command": command })));
        server.push(Reply::chat().text_deltas(["it ends with gh", "p_"]));
        let zdx = with_secrets(&server, false);
        let out = zdx.run(["exec", "--format", format, "-p", "go"]).success();
        for secret in PLANTED {
            assert!(!out.stdout.contains(secret), "{secret} in {}", out.stdout);
        }
        if format == "text" {
            assert_eq!(out.stdout, format!("{masked}\nit ends with ghp_\n"));
            continue;
        }
        let events = out.json_lines();
        assert_eq!(streamed(&events, "assistant_delta", "text"), format!("{masked}it ends with ghp_"));
        assert_eq!(streamed(&events, "reasoning_delta", "text"), masked);
        assert_eq!(streamed(&events, "tool_progress", "chunk"), shown);
        let result = events.iter().find(|event| event["type"] == "tool_finished").unwrap();
        assert_eq!(result["result"]["data"]["stdout"], shown);
        // What was held back comes before what ends its block.
        let place = |found: &dyn Fn(&Value) -> bool| events.iter().rposition(found).unwrap();
        let last = place(&|event| event["type"] == "assistant_delta");
        assert_eq!(events[last]["text"], "ghp_");
        assert!(last < place(&|event| event["type"] == "assistant_final"));
        let finished = place(&|event| event["type"] == "tool_finished");
        assert!(place(&|event| event["type"] == "tool_progress") < finished);
    }
}

#[test]
fn a_model_is_shown_the_mask_and_not_the_secret() {
    let server = ModelServer::start();
    server.push(Reply::chat().tool_call("c1", "read", json!({"path": "notes.txt"})));
    server.push(Reply::chat().tool_call("c2", "bash", json!({"command": "cat .env"})));
    server.push(Reply::chat().text("done"));
    let zdx = with_secrets(&server, false);
    zdx.run(["exec", "-p", "look"]).success();
    let last = server.calls().pop().unwrap().body.to_string();
    assert!(last.contains("start [redacted] | [redacted]"), "{last}");
    for secret in PLANTED {
        assert!(!last.contains(secret), "{secret} in {last}");
    }
    // Resumed, it sees the very same.
    server.push(Reply::chat().text("again"));
    zdx.run(["exec", "-c", "-p", "more"]).success();
    let (before, after) =
        (serde_json::from_str::<serde_json::Value>(&last).unwrap(), server.calls().pop().unwrap().body);
    let before = before["messages"].as_array().unwrap();
    assert_eq!(before[..], after["messages"].as_array().unwrap()[..before.len()]);
}

#[test]
fn signed_thinking_goes_back_unchanged_within_its_turn() {
    let server = ModelServer::start();
    server.push(
        Reply::anthropic()
            .thinking(&format!("about {SHAPED}"), "sig-1")
            .tool_use("t1", "bash", json!({"command": "true"}))
            .done(),
    );
    server.push(Reply::anthropic().text("done").done());
    let zdx = with_secrets(&server, true);
    zdx.run(["exec", "-p", "go"]).success();
    let calls = server.calls();
    let thought = &calls[1].messages()[1]["content"][0];
    assert_eq!(
        (&thought["thinking"], &thought["signature"]),
        (&json!(format!("about {SHAPED}")), &json!("sig-1"))
    );
    assert_clean(&zdx);
    // What is left of it in the file cannot be sent as if it were signed.
    server.push(Reply::anthropic().text("again").done());
    zdx.run(["exec", "-c", "-p", "more"]).success();
    let body = server.calls().pop().unwrap().body.to_string();
    assert!(!body.contains("sig-1") && !body.contains(SHAPED), "{body}");
}

#[test]
fn a_mask_is_never_written_over_what_it_stands_for() {
    let server = ModelServer::start();
    server.push(Reply::chat().tool_call("c1", "read", json!({"path": ".env"})));
    server.push(Reply::chat().tool_call(
        "c2",
        "write",
        json!({"path": ".env", "content": "SETTING='[redacted]'\nNEW=1\n"}),
    ));
    server.push(Reply::chat().tool_call(
        "c3",
        "edit",
        json!({"path": ".env", "old": "# local", "new": "# [redacted]"}),
    ));
    server.push(Reply::chat().text("done"));
    let zdx = with_secrets(&server, false);
    let before = zdx.read(".env");
    let out = zdx.run(["exec", "-p", "add NEW"]).success();
    assert_eq!(zdx.read(".env"), before);
    for result in &out.records_of("tool_result")[1..] {
        let message = result["output"]["error"]["message"].as_str().unwrap();
        assert!(message.contains("stands for a secret"), "{message}");
    }
}

#[test]
fn commands_do_not_inherit_keys_unless_told() {
    let seen = |pass: &str| {
        let server = ModelServer::start();
        // Spelled apart, so that no mask hides what was there.
        let command = "for v in LAB DEPLOY_TOKEN ANTHROPIC_API_KEY AWS_SECRET_ACCESS_KEY LD_PRELOAD; do \
                       eval \"x=\\${$v-}\"; [ -z \"$x\" ] || echo \"$v has ${#x}\"; done";
        server.push(Reply::chat().tool_call("c1", "bash", json!({"command": command})));
        server.push(Reply::chat().text("done"));
        let zdx = with_secrets(&server, false).config_more(pass);
        let args = ["exec", "--allow-dangerous", "-p", "x"];
        let keys = zdx.command().args(args).env("ANTHROPIC_API_KEY", KEY);
        let out = keys.env("AWS_SECRET_ACCESS_KEY", KEY).run().success();
        out.records_of("tool_result")[0]["output"]["data"]["stdout"].as_str().unwrap().to_owned()
    };
    assert_eq!(seen(""), "");
    assert_eq!(seen("env.pass = [\"DEPLOY_TOKEN\"]"), format!("DEPLOY_TOKEN has {}\n", NAMED.len()));
}

#[test]
fn what_is_typed_in_a_chat_is_masked_in_its_history() {
    let server = ModelServer::start();
    server.push(Reply::chat().text("answered"));
    let zdx = with_secrets(&server, false);
    let mut pty = zdx.command().line_mode(40, 100);
    pty.wait_for_text("\n> ", SOON);
    pty.send(format!("call it with {KEY} and {SHAPED}\r"));
    pty.wait_for_text("answered", SOON);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
    let history = fs::read_to_string(zdx.storage().join("history")).unwrap();
    assert!(history.contains("call it with [redacted] and [redacted]"), "{history}");
    assert_clean(&zdx);
}

#[test]
fn a_handoff_masks_its_goal_like_the_rest() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("").done());
    let zdx = with_secrets(&server, false);
    zdx.run(["exec", "-p", "hello"]).success();
    // At the edge of what an excerpt keeps, half of one must not be left over either.
    for goal in [format!("ship with {} soon", all()), format!("{}{NAMED}", "x ".repeat(292))] {
        let out = zdx.run(["handoff", "--goal", &goal]).success();
        let asked = server.calls().last().unwrap().body.to_string();
        for secret in PLANTED {
            for part in [secret, &secret[..secret.len() - 6]] {
                assert!(!out.stdout.contains(part), "{part} in {}", out.stdout);
                assert!(!asked.contains(part), "{part} in {asked}");
            }
        }
        let goal = out.stdout.split("## ").nth(1).unwrap();
        assert!(goal.starts_with("Goal\n") && goal.contains("[redacted]"), "{goal}");
    }
}
