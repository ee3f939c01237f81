//! Images from every source they come from, to a model that takes them and to one that does not, on both wires.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Request, Zdx};

use crate::SOON;
use crate::acp_agent::Client;
use crate::tui_start::{leave, open};
use crate::{place, results};

/// The beginning of an image of 1,280 × 800 pixels, and its base64 text.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x05\0\0\0\x03 \x08\x02\0\0\0";
const PNG_BASE64: &str = "iVBORw0KGgoAAAANSUhEUgAABQAAAAMgCAIAAAA=";
const TAKES_IMAGES: &str = "[models.\"test/scripted\"]\nimages = true";

#[derive(Clone, Copy, Debug, PartialEq)]
enum WireKind {
    Chat,
    Anthropic,
}

const WIRES: [WireKind; 2] = [WireKind::Chat, WireKind::Anthropic];

impl WireKind {
    fn place(self, server: &ModelServer) -> Zdx {
        let place = match self {
            Self::Chat => place().chat(server),
            Self::Anthropic => place().anthropic(server),
        };
        place.write("shot.png", PNG);
        place
    }

    fn says(self, text: &str) -> Reply {
        match self {
            Self::Chat => Reply::chat().text(text).done(),
            Self::Anthropic => Reply::anthropic().text(text).done(),
        }
    }

    fn calls(self, tool: &str, input: Value) -> Reply {
        match self {
            Self::Chat => Reply::chat().tool_call("c1", tool, input).done(),
            Self::Anthropic => Reply::anthropic().tool_use("c1", tool, input).done(),
        }
    }

    /// The images of a request, as base64 text.
    fn images(self, request: &Request) -> Vec<String> {
        let mut found = Vec::new();
        collect(&request.body["messages"], &mut |block| match self {
            Self::Chat => {
                let url = block["image_url"]["url"].as_str();
                found.extend(url.map(|url| url.strip_prefix("data:image/png;base64,").unwrap().to_owned()));
            }
            Self::Anthropic if block["type"] == "image" => {
                assert_eq!(block["source"]["media_type"], "image/png");
                found.push(block["source"]["data"].as_str().unwrap().to_owned());
            }
            Self::Anthropic => {}
        });
        found
    }
}

fn collect(value: &Value, each: &mut impl FnMut(&Value)) {
    match value {
        Value::Object(fields) => {
            each(value);
            fields.values().for_each(|value| collect(value, each));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, each)),
        _ => {}
    }
}

/// The note that a text-only model reads in the place of an image.
fn note(name: &str) -> String {
    format!("[image not sent: {name}, PNG 1280×800, 29 B; this model is not known to take images")
}

fn has_note(request: &Request, name: &str) -> bool {
    let mut found = false;
    collect(&json!({"all": request.body["messages"]}), &mut |block| {
        found |= block
            .as_object()
            .unwrap()
            .values()
            .any(|value| value.as_str().is_some_and(|text| text.contains(&note(name))));
    });
    found
}

/// Runs both kinds of model on both wires; `name` is what the image is known by.
fn reaches_the_model(name: &dyn Fn(&Zdx) -> String, run: &dyn Fn(WireKind, &ModelServer, &Zdx) -> String) {
    for (wire, takes) in WIRES.into_iter().flat_map(|wire| [(wire, true), (wire, false)]) {
        let server = ModelServer::start();
        let zdx = wire.place(&server);
        let zdx = if takes { zdx.config_more(TAKES_IMAGES) } else { zdx };
        let told = run(wire, &server, &zdx);
        let calls = server.calls();
        let (last, name) = (calls.last().unwrap(), name(&zdx));
        let expected: &[&str] = if takes { &[PNG_BASE64] } else { &[] };
        assert_eq!(wire.images(last), expected, "{wire:?}");
        assert_eq!(has_note(last, &name), !takes, "{wire:?}: {}", last.body);
        let warned = told
            .contains("is not known to take images; set models.\"test/scripted\".images = true if it does");
        assert_eq!(warned, !takes, "{wire:?}: {told}");
    }
}

#[test]
fn a_mentioned_image_reaches_the_model() {
    reaches_the_model(&|_| "shot.png".to_owned(), &|wire, server, zdx| {
        server.push(wire.says("a blue one"));
        let output = zdx.run(["exec", "-p", "what is in @shot.png?"]).success();
        let attached =
            output.records_of("message").into_iter().find(|record| record["role"] == "system").unwrap();
        assert_eq!(attached["text"], "[image: shot.png, PNG 1280×800, 29 B]");
        assert_eq!(attached["content"]["image"]["origin"], "mention");
        assert!(output.stderr.contains("attached shot.png, PNG 1280×800, 29 B"), "{}", output.stderr);
        output.stderr
    });
}

#[test]
fn a_dropped_path_reaches_the_model() {
    let outside = |zdx: &Zdx| {
        let path = zdx.home().join("my shot.png");
        fs::write(&path, PNG).unwrap();
        path
    };
    reaches_the_model(&|zdx| outside(zdx).display().to_string(), &|wire, server, zdx| {
        server.push(wire.says("a blue one"));
        let prompt = format!("'{}' why is it blue?", outside(zdx).display());
        zdx.run(["exec", "-p", &prompt]).success().stderr
    });
}

#[test]
fn an_image_that_the_model_reads_reaches_it() {
    reaches_the_model(&|zdx| real(zdx).join("shot.png").display().to_string(), &|wire, server, zdx| {
        server.push(wire.calls("read", json!({"path": "shot.png"})));
        server.push(wire.says("a blue one"));
        let output = zdx.run(["exec", "-p", "look"]).success();
        let result = &output.records_of("tool_result")[0];
        assert_eq!(result["output"]["data"]["width"], 1280);
        assert_eq!(result["content"][0]["image"]["origin"], "tool");
        output.stderr
    });
}

fn real(zdx: &Zdx) -> PathBuf {
    zdx.root().canonicalize().unwrap()
}

#[test]
fn an_image_of_an_mcp_server_reaches_the_model() {
    reaches_the_model(&|_| "fake/image".to_owned(), &|wire, server, zdx| {
        let file = zdx.storage().join("config.toml");
        let config = fs::read_to_string(&file).unwrap();
        let command = zdx_testkit::mcp_fake();
        let entry = format!("{config}\n[mcp]\nfirst_wait_ms = 600000\n[mcp.fake]\ncommand = [{command:?}]\n");
        fs::write(file, entry).unwrap();
        server.push(wire.calls("mcp__fake__image", json!({"data": PNG_BASE64})));
        server.push(wire.says("a blue one"));
        let output = zdx.run(["exec", "-p", "look"]).success();
        let result = &output.records_of("tool_result")[0];
        assert_eq!(result["output"]["data"]["content"], "[image: fake/image, PNG 1280×800, 29 B]");
        output.stderr
    });
}

#[test]
fn an_image_of_an_acp_client_reaches_the_model() {
    reaches_the_model(&|_| "clip.png".to_owned(), &|wire, server, zdx| {
        server.push(wire.says("a blue one"));
        let mut client = Client::raw(zdx, &[]);
        let can = json!({"session": {"notices": {}}});
        client.call("initialize", json!({"protocolVersion": 1, "clientCapabilities": can})).unwrap();
        let session = client.open(zdx);
        let image = json!({"type": "image", "data": PNG_BASE64, "mimeType": "image/png", "uri": "file:///x/clip.png"});
        let prompt = json!([{"type": "text", "text": "why is it blue?"}, image]);
        let id = client.ask("session/prompt", json!({"sessionId": session, "prompt": prompt}));
        assert_eq!(client.answer(id).unwrap()["stopReason"], "end_turn");
        let told = client.heard().iter().map(Value::to_string).collect::<String>();
        client.hang_up();
        told.replace('\\', "")
    });
}

#[test]
fn an_image_survives_resume_fork_and_an_unsaved_session() {
    let server = ModelServer::start();
    let zdx = WireKind::Chat.place(&server).config_more(TAKES_IMAGES);
    server.push(Reply::chat().text("blue"));
    zdx.run(["exec", "-p", "what is in @shot.png?"]).success();
    fs::remove_file(zdx.root().join("shot.png")).unwrap();
    server.push(Reply::chat().text("still blue"));
    zdx.run(["-c", "exec", "-p", "sure?"]).success();
    let calls = server.calls();
    assert_eq!(WireKind::Chat.images(&calls[1]), [PNG_BASE64]);
    assert_eq!(calls[0].body["messages"][1], calls[1].body["messages"][1], "the prefix stays as it was");

    server.push(Reply::chat().text("blue in the copy"));
    let forked = zdx.command().arg("-c").stdin("/fork\nand in a copy?\n").run().success();
    assert!(forked.stdout.contains("blue in the copy"), "{}", forked.stdout);
    assert_eq!(WireKind::Chat.images(&server.calls()[2]), [PNG_BASE64]);
    assert_eq!(zdx.session_files().len(), 2);

    zdx.write("shot.png", PNG);
    server.push(Reply::chat().tool_call("c1", "read", json!({"path": "shot.png"})));
    server.push(Reply::chat().text("blue"));
    let before = zdx.session_files().len();
    zdx.run(["--no-save", "exec", "-p", "look at shot.png"]).success();
    assert_eq!(WireKind::Chat.images(server.calls().last().unwrap()), [PNG_BASE64]);
    assert_eq!(zdx.session_files().len(), before);
}

#[test]
fn an_image_that_is_too_large_or_none_is_refused_with_its_size() {
    let server = ModelServer::start();
    let zdx = WireKind::Chat.place(&server).config_more("max_image_bytes = 20").config_more(TAKES_IMAGES);
    server.push(Reply::chat().tool_call("c1", "read", json!({"path": "shot.png"})));
    server.push(Reply::chat().text("sorry"));
    let output = zdx.run(["exec", "-p", "what is in @shot.png?"]).success();
    let refused = "it has 29 B, more than the limit of 20 B (max_image_bytes)";
    assert!(output.stderr.contains(&format!("@shot.png: not attached: {refused}")), "{}", output.stderr);
    let result = &results(&server.calls()[1])[0];
    assert!(result["error"]["message"].as_str().unwrap().ends_with(refused), "{result}");
    assert_eq!(WireKind::Chat.images(&server.calls()[1]), [] as [&str; 0]);
}

#[test]
fn a_path_pasted_into_the_composer_is_a_chip_and_an_image() {
    let server = ModelServer::start();
    let zdx = WireKind::Chat.place(&server).config_more(TAKES_IMAGES);
    let path = zdx.home().join("pasted shot.png");
    fs::write(&path, PNG).unwrap();
    server.push(Reply::chat().text("a blue one"));
    let mut pty = open(&zdx, &[]);
    pty.send("what is ");
    pty.send(format!("\x1b[200~{}\x1b[201~", path.display().to_string().replace(' ', "\\ ")));
    pty.wait_for_text("› what is [Image 1280×800]", SOON);
    pty.send(" showing?\r");
    pty.wait_for_text("a blue one", SOON);
    pty.wait_for_text("pasted shot.png, PNG 1280×800, 29 B", SOON);
    assert_eq!(WireKind::Chat.images(&server.calls()[0]), [PNG_BASE64]);
    leave(&mut pty);
}
