use std::fs;

use serde_json::json;
use zdx_protocol::{Signature, ToolError};

use super::*;
use zdx_config::AppPaths;
use zdx_config::{ConfigFlags, ResolveInput, resolve};

fn redactor_for(dotenv: &str, vars: &[(&str, &str)], config: &str) -> Redactor {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().to_str().unwrap();
    fs::write(dir.path().join(".env"), dotenv).unwrap();
    fs::write(dir.path().join("config.toml"), config).unwrap();
    let env = Environment::from_pairs(vars.iter().copied().chain([("ZDX_HOME", base)]));
    let paths = AppPaths::from_env(&env).unwrap();
    let flags = ConfigFlags::default();
    let input = ResolveInput {
        paths: &paths,
        root: dir.path(),
        env: &env,
        flags: &flags,
        project: None,
        foreign: &[],
        trusted: false,
    };
    redactor(&resolve(&input).unwrap().config, &env, dir.path()).unwrap()
}

#[test]
fn keys_named_secrets_dotenv_values_and_passwords_are_known() {
    let redactor = redactor_for(
        "DB_PASSWORD=dotenv-hunter2\nREGION=ap-southeast-1\n",
        &[
            ("ANTHROPIC_API_KEY", "anthropic-value"),
            ("LAB", "configured-value"),
            ("LAB_URL", "http://u:url-password@h/v1"),
            ("MY_TOKEN", "named-by-itself"),
            ("GIT_AUTHOR_NAME", "Jane Developer"),
            ("SSH_AUTH_SOCK", "/tmp/ssh-1/agent"),
            ("OTHER", "an ordinary value"),
            ("MULTI_KEY", "first line of it\nsecond-line-of-the-key\nshort"),
        ],
        "[providers.lab]\nwire = \"openai-chat\"\nbase_url_env = \"LAB_URL\"\napi_key_env = \"LAB\"",
    );
    for secret in [
        "dotenv-hunter2",
        "anthropic-value",
        "configured-value",
        "named-by-itself",
        "url-password",
        "second-line-of-the-key",
    ] {
        assert_eq!(redactor.redact(secret), MASK, "{secret}");
    }
    for plain in ["ap-southeast-1", "Jane Developer", "/tmp/ssh-1/agent", "an ordinary value"] {
        assert_eq!(redactor.redact(plain), plain);
    }
}

#[test]
fn what_a_server_is_given_as_a_secret_is_one() {
    let config =
        "[mcp.db]\ncommand = [\"db\"]\n[mcp.db.environment]\nDB_TOKEN = \"${PLAIN}\"\nREGION = \"${PLACE}\"";
    let vars = [("PLAIN", "harmless-name-9f8e7d"), ("PLACE", "ap-southeast-1")];
    let redactor = redactor_for("", &vars, config);
    assert_eq!(redactor.redact("harmless-name-9f8e7d"), MASK);
    assert_eq!(redactor.redact("ap-southeast-1"), "ap-southeast-1");
}

#[test]
fn what_is_saved_is_masked_and_what_is_asked_stays_exact() {
    let redactor = Redactor::new(["planted-secret"]).unwrap();
    let text = || "a planted-secret b".to_owned();
    let masked = |mut event: Event| {
        let changed = mask(&redactor, &mut event);
        let kept = event.record(zdx_protocol::record::now());
        let line =
            kept.map(|record| String::from_utf8(record.to_line().unwrap()).unwrap()).unwrap_or_default();
        assert!(!line.contains("planted"), "{line}");
        changed
    };
    assert_eq!(masked(Event::TurnStarted { turn: 1, prompt: text() }), Masked::Prompt);
    let reasoning = Reasoning {
        text: text(),
        wire: "anthropic".into(),
        model: "m".into(),
        opaque: Some(json!({"signature": "s"})),
        took_ms: None,
    };
    assert_eq!(masked(Event::ReasoningFinal(reasoning.clone())), Masked::Reasoning(reasoning));
    let finished = |result| Event::ToolFinished {
        id: "i".into(),
        name: "n".into(),
        origin: zdx_protocol::CallOrigin::Model,
        result,
        diff: Some(text()),
        content: Vec::new(),
        duration_ms: 1,
        reads: None,
        beside: None,
    };
    for event in [
        Event::AssistantFinal { text: text(), partial: true, continues: false },
        Event::ToolRequested {
            id: "i".into(),
            name: "n".into(),
            input: json!({"a": [text()]}),
            raw: Some(text()),
            signature: Some(signature(text())),
            origin: zdx_protocol::CallOrigin::Model,
            parent: None,
        },
        finished(ToolOutput::Ok(json!({"stdout": text()}))),
        finished(ToolOutput::Err(ToolError::new("c".into(), text()))),
        Event::Error {
            command: None,
            kind: zdx_protocol::ErrorKind::Provider,
            message: text(),
            details: Some(text()),
        },
    ] {
        assert_eq!(masked(event), Masked::Else);
    }
    let mut delta = Event::AssistantDelta { text: text() };
    assert_eq!(mask(&redactor, &mut delta), Masked::Nothing);
    assert_eq!(delta, Event::AssistantDelta { text: text() });
}

fn signature(opaque: String) -> Box<Signature> {
    Box::new(Signature { wire: "gemini".into(), model: "m".into(), opaque: json!(opaque), call_id: None })
}

/// A call without the signature it came with is refused: what is masked in its input does not take it away.
#[test]
fn a_signature_stays_whole_or_goes() {
    let redactor = Redactor::new(["planted-secret"]).unwrap();
    let signature_after = |opaque: &str| {
        let mut event = Event::ToolRequested {
            id: "i".into(),
            name: "n".into(),
            input: json!({"a": "planted-secret"}),
            raw: None,
            signature: Some(signature(opaque.into())),
            origin: zdx_protocol::CallOrigin::Model,
            parent: None,
        };
        assert_eq!(mask(&redactor, &mut event), Masked::Else);
        match event {
            Event::ToolRequested { signature, .. } => signature,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(signature_after("CpcBAdHtim+/=="), Some(signature("CpcBAdHtim+/==".into())));
    assert_eq!(signature_after("of planted-secret"), None);
}

#[test]
fn a_mask_counts_as_shown_wherever_a_model_was_told_it() {
    let masked = "KEY=[redacted]";
    let result = |output: ToolOutput| Part::result("i", output);
    let (user, assistant) = (zdx_protocol::Role::User, zdx_protocol::Role::Assistant);
    for (role, part, expected) in [
        (user, result(ToolOutput::Ok(json!({"content": masked}))), true),
        (user, result(ToolOutput::Err(ToolError::new("c".into(), masked))), true),
        (user, Part::text(masked), true),
        (zdx_protocol::Role::System, Part::text(masked), true),
        (assistant, Part::text(masked), false),
        (user, Part::text("KEY=x"), false),
    ] {
        assert_eq!(
            showed_mask(&[Message { role, parts: vec![part.clone()] }]),
            expected,
            "{role:?} {part:?}"
        );
    }
}

#[test]
fn each_call_and_each_kind_of_text_streams_for_itself() {
    let redactor = Redactor::new(["planted-secret"]).unwrap();
    let mut live = LiveMasks::default();
    let progress = |id: &str, chunk: &str| Event::ToolProgress { id: id.into(), chunk: chunk.into() };
    let finished = |id: &str| Event::ToolFinished {
        id: id.into(),
        name: "bash".into(),
        origin: zdx_protocol::CallOrigin::Model,
        result: ToolOutput::Ok(json!({})),
        diff: None,
        content: Vec::new(),
        duration_ms: 0,
        reads: None,
        beside: None,
    };
    let mut told = Vec::new();
    for mut event in [
        Event::ReasoningDelta { text: "think planted-".into() },
        Event::AssistantDelta { text: "say planted-".into() },
        progress("a", "1 planted-"),
        progress("b", "2 planted-"),
        Event::AssistantDelta { text: "secret, pl".into() },
        progress("a", "secret"),
        progress("b", "x p"),
        finished("b"),
        Event::AssistantFinal { text: "say planted-secret, pl".into(), partial: false, continues: false },
    ] {
        let held = live.release(&redactor, &event);
        told.extend(held);
        if live.pass(&redactor, &mut event) {
            told.push(event);
        }
    }
    let expected = [
        Event::ReasoningDelta { text: "think ".into() },
        Event::ReasoningDelta { text: "planted-".into() },
        Event::AssistantDelta { text: "say ".into() },
        progress("a", "1 "),
        progress("b", "2 "),
        Event::AssistantDelta { text: "[redacted], ".into() },
        progress("a", "[redacted]"),
        progress("b", "planted-x "),
        progress("b", "p"),
        finished("b"),
        Event::AssistantDelta { text: "pl".into() },
        Event::AssistantFinal { text: "say planted-secret, pl".into(), partial: false, continues: false },
    ];
    assert_eq!(format!("{told:?}"), format!("{expected:?}"));
}
