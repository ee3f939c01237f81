//! The three ways to look at a turn.

use serde_json::{Value, json};

use super::{acp, playing, sent, sent_of, with_agent};
use crate::SOON;

#[test]
fn text_has_the_answer_and_a_line_for_everything_else() {
    let zdx = playing(json!([
        {"think": "hm, "}, {"think": "right"},
        {"update": {"sessionUpdate": "plan", "entries": [{"content": "do", "priority": "low", "status": "pending"}]}},
        {"say": "I l"}, {"say": "ook."},
        {"update": {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Read a", "kind": "read", "status": "pending",
            "locations": [{"path": "$cwd/a", "line": 7}], "rawInput": {"path": "a"}}},
        {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "rawOutput": {"n": 1},
            "content": [{"type": "diff", "path": "a", "oldText": "x", "newText": "y"}]}},
        {"say": "Done."}
    ]));
    let output = acp(&zdx, &["look"]).run().success();
    let expected = format!(
        "[thought] hm, right\n[plan] {{\"entries\":[{{\"content\":\"do\",\"priority\":\"low\",\"status\":\"pending\"}}]}}\nI look.\n\
         [tool] read Read a @ {}/a:7\n[tool.in] {{\"path\":\"a\"}}\n[tool.out] {{\"n\":1}}\n\
         [diff] {{\"path\":\"a\",\"oldText\":\"x\",\"newText\":\"y\"}}\nDone.\n",
        zdx.root().display()
    );
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), (expected.as_str(), ""));

    let output = acp(&zdx, &["-o", "simple", "look"]).run().success();
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("I look.\nDone.\n", ""));
}

/// What the agent wrote on its stdout must come out byte for byte: it writes frames in a shape of its own here.
#[test]
fn jsonl_mirrors_every_frame_of_both_sides_and_nothing_else() {
    let odd = r#"{ "params":{"update": {"content":{"text":"\u0041b","type":"text"},"sessionUpdate":"agent_message_chunk"},"sessionId":"s", "_meta":{"x":1.50}},"method":"session/update" ,"jsonrpc":"2.0"}"#;
    for mode in ["jsonl", "json"] {
        let zdx = playing(json!([{"raw": odd}, {"raw": "not a frame"}, {"ask": "no/such", "params": {}}]));
        let output = acp(&zdx, &["-o", mode, "hi"]).run().success();
        let frames = output.json_lines();
        let selected = json!({"name": "fake", "command": zdx_testkit::acp_fake()});
        assert_eq!(
            frames[0],
            json!({"jsonrpc": "2.0", "method": "client/selected_agent", "params": selected})
        );
        assert!(output.stdout.lines().any(|line| line == odd), "{}", output.stdout);
        assert!(
            !output.stdout.contains("not a frame") && output.stderr.contains("not a frame"),
            "{}",
            output.stderr
        );
        // Our own, in their order.
        let theirs: Vec<Value> =
            sent(&zdx).into_iter().filter(|frame| frame.get("jsonrpc").is_some()).collect();
        let ours: Vec<&Value> = frames.iter().filter(|frame| theirs.contains(frame)).collect();
        assert_eq!(ours.len(), theirs.len(), "{}", output.stdout);
        assert!(ours.iter().copied().eq(theirs.iter()), "{}", output.stdout);
        let results = frames.iter().filter(|frame| frame.get("result").is_some()).count();
        assert_eq!(results, 3, "initialize, session/new and the prompt: {}", output.stdout);
        assert_eq!(frames.last().unwrap()["result"]["stopReason"], "end_turn");
    }
}

#[test]
fn lists_add_nothing_to_the_frames() {
    let zdx = with_agent(json!({}));
    let output =
        acp(&zdx, &["-o", "jsonl", "--list-caps", "--list-modes", "--list-commands"]).run().success();
    assert!(output.json_lines().iter().all(|frame| frame["jsonrpc"] == "2.0"));
    let update = |frame: &Value| frame["params"]["update"]["sessionUpdate"] == "available_commands_update";
    assert!(output.json_lines().iter().any(update), "{}", output.stdout);
}

#[test]
fn text_is_shown_while_the_agent_goes_on() {
    let zdx = playing(json!([{"say": "begun"}, {"gate": "go"}, {"say": " and done"}]));
    let running = acp(&zdx, &["hi"]).spawn();
    running.wait_for_stdout("begun", SOON);
    zdx.write("go", "");
    assert_eq!(running.finish(SOON).success().stdout, "begun and done\n");
}

/// A datagram a write: twenty thousand chunks that come together are not written one by one.
#[test]
fn chunks_that_come_together_are_written_together() {
    let zdx = playing(json!("chunks"));
    let (ours, theirs) = std::os::unix::net::UnixDatagram::pair().unwrap();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_zdx"))
        .args(["acp", "-o", "simple", "hi"])
        .current_dir(zdx.root())
        .env("HOME", zdx.home())
        .env("ZDX_HOME", zdx.storage())
        .stdin(std::process::Stdio::null())
        .stdout(std::os::fd::OwnedFd::from(theirs))
        .spawn()
        .unwrap();
    ours.set_read_timeout(Some(SOON)).unwrap();
    let (mut writes, mut text, mut piece) = (0, Vec::new(), vec![0; 1 << 20]);
    while !text.ends_with(b"20000 \n") {
        let count = ours.recv(&mut piece).unwrap();
        writes += 1;
        text.extend_from_slice(&piece[..count]);
    }
    assert!(child.wait().unwrap().success());
    let expected: String = (1..=20_000).map(|n| format!("{n} ")).collect();
    assert!(text == format!("{expected}\n").into_bytes());
    assert!(writes < 2000, "{writes} writes");
}

#[test]
fn what_a_terminal_would_obey_does_not_reach_one() {
    let play = json!([
        {"say": "\u{1b}]0;owned\u{7}hello\u{1b}[2J"},
        {"update": {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "x\u{1b}[31m\ny", "kind": "ex\u{7}ecute"}}
    ]);
    let zdx = playing(play);
    let piped = acp(&zdx, &["hi"]).run().success().stdout;
    assert!(piped.starts_with("\u{1b}]0;owned\u{7}hello\u{1b}[2J\n"), "{piped:?}");
    let mut pty = acp(&zdx, &["hi"]).pty(24, 80);
    assert_eq!(pty.wait_exit(SOON), 0);
    let shown = String::from_utf8(pty.raw()).unwrap();
    assert!(!shown.contains("owned") && !shown.contains("\u{7}") && shown.contains("hello"), "{shown:?}");
    assert!(shown.contains("[tool] ex") && shown.contains("\\ny"), "{shown:?}");
}

#[test]
fn a_prompt_comes_from_the_argument_a_pipe_or_both() {
    let prompt = |zdx: &zdx_testkit::Zdx| sent_of(zdx, "session/prompt")[0]["prompt"].clone();
    let text = |text: &str| json!([{"type": "text", "text": text}]);

    let zdx = with_agent(json!({}));
    assert_eq!(acp(&zdx, &["--", "-x", "y"]).run().success().stdout, "echo: -x y\n");
    assert_eq!(prompt(&zdx), text("-x y"));
    let zdx = with_agent(json!({}));
    acp(&zdx, &[]).stdin("from the pipe\n").run().success();
    assert_eq!(prompt(&zdx), text("from the pipe"));
    let zdx = with_agent(json!({}));
    acp(&zdx, &["Review this"]).stdin("line @one\n").run().success();
    assert_eq!(prompt(&zdx), text("Review this\n\nline @one\n"));

    let zdx = with_agent(json!({}));
    let output = acp(&zdx, &[]).run().expect_code(2);
    assert!(output.stderr.contains("there is no prompt"), "{}", output.stderr);
    assert_eq!(acp(&zdx, &[]).pty(24, 80).wait_exit(SOON), 2);
    assert!(sent(&zdx).is_empty(), "nobody is started for it");
}

#[test]
fn mentions_go_along_as_links() {
    let zdx = with_agent(json!({}));
    zdx.write("src/a.rs", "");
    zdx.write("my file.txt", "");
    std::fs::write(zdx.home().join("n.md"), "").unwrap();
    let words = "see @src/a.rs, @\"my file.txt\" @~/n.md @https://e.com/x.json and me@home @gone.rs";
    // Beside a prompt it would be data.
    let output = acp(&zdx, &[]).stdin(words).run().success();
    assert!(output.stderr.contains("@gone.rs: there is no such file"), "{}", output.stderr);
    let blocks = sent_of(&zdx, "session/prompt")[0]["prompt"].clone();
    let link = |uri: String, name: &str, mime: &str| json!({"type": "resource_link", "uri": uri, "name": name, "mimeType": mime});
    let root = zdx.root().display();
    assert_eq!(
        blocks,
        json!([
            {"type": "text", "text": words},
            link(format!("file://{root}/src/a.rs"), "src/a.rs", "text/x-rust"),
            link(format!("file://{root}/my%20file.txt"), "my file.txt", "text/plain"),
            link(format!("file://{}/n.md", zdx.home().display()), "~/n.md", "text/markdown"),
            link("https://e.com/x.json".into(), "https://e.com/x.json", "application/json"),
        ])
    );
}

/// A picture is known by its content, whatever its name says.
#[test]
fn a_picture_is_sent_as_an_image_to_an_agent_that_takes_images() {
    let png = b"\x89PNG\r\n\x1a\n0123";
    let prompt = |capabilities: Value| {
        let zdx = with_agent(
            json!({"initialize": {"agentCapabilities": {"promptCapabilities": capabilities}}, "on": {"session/prompt": [{"say": "seen"}]}}),
        );
        for name in ["picture.png", "odd.txt"] {
            std::fs::write(zdx.root().join(name), png).unwrap();
        }
        zdx.write("text.png", "no picture");
        let output = acp(&zdx, &["look at @picture.png @odd.txt @text.png"]).run().success();
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("seen\n", ""));
        let uri = |name: &str| format!("file://{}", zdx.root().join(name).display());
        let uris = ["picture.png", "odd.txt", "text.png"].map(uri);
        (sent_of(&zdx, "session/prompt")[0]["prompt"].clone(), uris)
    };
    let text = json!({"type": "text", "text": "look at @picture.png @odd.txt @text.png"});
    let link = |uri: &str, name: &str| json!({"type": "resource_link", "uri": uri, "name": name, "mimeType": "image/png"});
    let (sent, [picture, odd, no_picture]) = prompt(json!({"image": true}));
    let image =
        |uri: &str| json!({"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgowMTIz", "uri": uri});
    assert_eq!(sent, json!([text, image(&picture), image(&odd), link(&no_picture, "text.png")]));
    // Others get the link, and are told what it leads to.
    let note = |name: &str| {
        let words = format!("[image {name}, 12 bytes: not sent as an image, the agent takes no images]");
        json!({"type": "text", "text": words})
    };
    let (sent, [picture, odd, no_picture]) = prompt(json!({"image": false}));
    assert_eq!(
        sent,
        json!([
            text,
            link(&picture, "picture.png"),
            note("picture.png"),
            link(&odd, "odd.txt"),
            note("odd.txt"),
            link(&no_picture, "text.png")
        ])
    );
}
