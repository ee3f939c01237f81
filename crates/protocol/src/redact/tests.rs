use proptest::prelude::*;
use serde_json::json;

use super::*;

fn redactor(secrets: &[&str]) -> Redactor {
    Redactor::new(secrets).unwrap()
}

#[test]
fn token_shapes_are_masked_and_what_stands_around_them_stays() {
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlMTIz";
    let table = [
        ("key sk-ant-api03-AbCd1234efgh5678 end", "key [redacted] end"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "[redacted]"),
        ("(AKIAIOSFODNN7EXAMPLE)", "([redacted])"),
        ("xoxb-1234567890-abcdef", "[redacted]"),
        (jwt, "[redacted]"),
        ("Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer [redacted]"),
        ("export DB_PASSWORD=hunter2hunter2", "export DB_PASSWORD=[redacted]"),
        ("API_KEY=\"abcdefgh12\" x", "API_KEY=\"[redacted]\" x"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE+/=\nabc\n-----END RSA PRIVATE KEY-----\nafter",
            "[redacted]\nafter",
        ),
        ("-----BEGIN PRIVATE KEY-----\\nMIIEabc\\n-----END PRIVATE KEY-----\\n\"", "[redacted]\\n\""),
        ("+-----BEGIN OPENSSH PRIVATE KEY-----\n+b3BlbnNza\n+cut off", "+[redacted]"),
    ];
    let redactor = redactor(&[]);
    for (text, masked) in table {
        assert_eq!(redactor.redact(text), masked);
        assert_eq!(redactor.redact(masked), masked, "twice");
    }
}

#[test]
fn what_is_no_secret_is_borrowed() {
    let redactor = redactor(&["short", "a-real-secret-value"]);
    for text in [
        "short",
        "task-runner-with-a-long-name-2 and sk-learn",
        "sk-only-words-and-dashes-here",
        "API_KEY=$OTHER_KEY and TOKEN=$(cat token.txt) and SECRET=<your secret here>",
        "TOKEN=abc",
        "API_KEY=process.env.API_KEY SECRET=config.secret_key API_KEY=your_api_key_here",
        "the bearer of this letter",
        "Bearer authentication-is-a-scheme",
        "AKIAIOSFODNN7EXAMPLELONGER",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----",
        "eyJhbGciOiJIUzI1NiJ9 alone",
        "KEY=",
        "{\"KEY=\":12345678901}",
        "client = Client(API_KEY=settings_value, SECRET_KEY=settings.SECRET_2)",
        "if API_KEY==expected_key_1 && TOKEN=>other_token_2 {}",
        "SORT_KEY=created_at PRIMARY_KEY=inventory_id PASSWORD=changeme123 TOKEN=xxxxxxxx1",
        "API_KEY=\"your-key-here-1\" SECRET=\"example-123456\" TOKEN=00000000",
    ] {
        assert!(matches!(redactor.redact(text), Cow::Borrowed(_)), "{}", redactor.redact(text));
    }
}

#[test]
fn known_values_are_masked_in_every_spelling() {
    let redactor = redactor(&["p\"ss word/1\n2", "abcdefgh", "abcdefghijkl"]);
    for (text, masked) in [
        ("x p\"ss word/1\n2 y", "x [redacted] y"),
        (r#"{"a":"p\"ss word/1\n2"}"#, r#"{"a":"[redacted]"}"#),
        ("?q=p%22ss%20word%2F1%0A2", "?q=[redacted]"),
        ("abcdefghijkl", "[redacted]"),
        ("xabcdefghy", "x[redacted]y"),
    ] {
        assert_eq!(redactor.redact(text), masked);
    }
}

/// With time in the square of the length this would not come back.
#[test]
fn hostile_text_costs_no_more_than_its_length() {
    let redactor = redactor(&["planted-secret"]);
    for piece in [
        "sk-",
        "eyJ-",
        "eyJa.",
        "KEY=(",
        "KEY=a[",
        "Bearer ",
        "bearer=Bearer ",
        "-----BEGIN ",
        "AKIA-",
        "planted-",
    ] {
        let text = piece.repeat(100_000 / piece.len());
        assert!(matches!(redactor.redact(&text), Cow::Borrowed(_)), "{piece}");
    }
    let open = "-----BEGIN PRIVATE KEY-----".repeat(5_000);
    assert_eq!(redactor.redact(&open), MASK);
}

#[test]
fn json_keeps_its_shape() {
    let redactor = redactor(&["planted-secret"]);
    let mut value = json!({
        "planted-secret": 1, "[redacted]": 2, "n": [1, true, null, "a planted-secret b"],
        "deep": {"x": {"y": "planted-secretplanted-secret"}},
    });
    assert!(redactor.redact_value(&mut value));
    let masked = json!({
        "[redacted]": 1, "[redacted]_": 2, "n": [1, true, null, "a [redacted] b"],
        "deep": {"x": {"y": "[redacted][redacted]"}},
    });
    assert_eq!(value, masked);
    assert!(!redactor.redact_value(&mut value));
}

#[test]
fn a_dotenv_gives_its_secrets_and_not_its_commonplaces() {
    let text = "# comment\nSECRET='a b c d e'\nexport TOKEN=abcdefgh1 # note\nDB=postgres://u:p4ss@db/x\nURL=http://localhost:3000\n\
                NODE_ENV=production\nREGION=ap-southeast-1\nDB_NAME=inventory\nOTHER=some_planted_value_1\nPORT=12345678\nHOME_DIR=/var/lib/thing\nSHORT=abc\nREF=${OTHER_THING}\nnot a line\nEMPTY=\n";
    assert_eq!(
        dotenv_secrets(text),
        ["a b c d e", "abcdefgh1", "postgres://u:p4ss@db/x", "some_planted_value_1"]
    );
}

#[test]
fn a_word_of_the_language_is_no_secret() {
    let text = "DB_PASSWORD=password\nSECRET_KEY=changeme\nAUTH_TYPE=internal\nAUTH_TOKEN=letmeinnow\nKEY=xxxxxxxx\n\
                API_KEY=my-company-key-81\nAUTH=basic-auth-9f8e7d6c5b\n";
    assert_eq!(dotenv_secrets(text), ["letmeinnow", "my-company-key-81", "basic-auth-9f8e7d6c5b"]);
}

#[test]
fn names_tell_secrets_from_the_rest() {
    for name in [
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "db.password",
        "npm_config__authToken",
        "AWS_KEYS",
        "SSH_AUTH_SOCK",
    ] {
        assert!(names_secret(name), "{name}");
    }
    for name in ["GIT_AUTHOR_NAME", "KEYBOARD", "PASSENGER", "PATH", "XAUTHORITY", "TOKENIZERS_PARALLELISM"] {
        assert!(!names_secret(name), "{name}");
    }
}

/// However a stream is cut, what comes out is what the whole would have become.
#[test]
fn a_stream_is_masked_whatever_its_pieces() {
    let pem =
        format!("-----BEGIN RSA PRIVATE KEY-----\n{}-----END RSA PRIVATE KEY-----", "QUJD\n".repeat(1_000));
    let filler = "plain words and é ünïcödé\n".repeat(5_000);
    let secret = "planted-secret-value";
    let mut whole = Vec::new();
    for at in [10, 65_530, 70_000, 81_920, filler.len() - 10] {
        let at = filler.floor_char_boundary(at);
        whole.extend_from_slice(&filler.as_bytes()[..at]);
        whole.extend_from_slice(format!("{secret}\nTOKEN=abcdefgh12345\n{pem}").as_bytes());
        whole.extend_from_slice(b"\xff\xfe binary \x00");
        whole.extend_from_slice(&filler.as_bytes()[at..]);
    }
    let redactor = std::sync::Arc::new(redactor(&[secret]));
    let masked_by = |size: usize| {
        let mut stream = RedactStream::new(std::sync::Arc::clone(&redactor));
        let mut out = Vec::new();
        whole.chunks(size).for_each(|piece| out.extend(stream.push(piece)));
        out.extend(stream.finish());
        out
    };
    let once = masked_by(whole.len());
    for size in [1, 7, 4_096, 65_536, 65_537] {
        let out = masked_by(size);
        assert!(out == once, "pieces of {size}");
    }
    let text = String::from_utf8_lossy(&once);
    assert!(!text.contains(secret) && !text.contains("QUJD") && !text.contains("abcdefgh12345"));
    assert_eq!(text.matches(MASK).count(), 15);
    assert_eq!(text.matches("binary").count(), 5);
}

#[test]
fn little_is_held_back_even_of_a_secret_without_end() {
    let mut stream = RedactStream::new(std::sync::Arc::new(redactor(&[])));
    let mut given = stream.push(b"sk-1").len();
    for _ in 0..10 {
        given += stream.push(&[b'a'; 64 << 10]).len();
    }
    assert!(given > 8 * (64 << 10), "{given}");
}

const SECRETS: [&str; 4] = ["k3y-\"quoted\"-\\value", "ünïcödé-sëcret", "0123456789abcdef", "KEY=12345678"];

fn pieces() -> impl Strategy<Value = Vec<String>> {
    let fixed = prop::sample::select(vec![
        "KEY=",
        "sk-",
        "Bearer ",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END RSA PRIVATE KEY-----",
        "\\n",
        "\"",
        "\\",
        "eyJ",
        ".",
        "\n",
        "AKIA",
        "ghp_",
        "[redacted]",
        "{",
        "0123456789abcde",
        "漢",
    ]);
    let planted = prop::sample::select(SECRETS.to_vec());
    let piece =
        prop_oneof![fixed.prop_map(str::to_owned), planted.prop_map(str::to_owned), "[a-zA-Z0-9 ]{0,12}"];
    prop::collection::vec(piece, 0..12)
}

proptest! {
    #[test]
    fn nothing_planted_is_left_and_json_stays_json(pieces in pieces()) {
        let redactor = redactor(&SECRETS);
        let text = pieces.concat();
        let masked = redactor.redact(&text);
        for secret in SECRETS {
            prop_assert!(!masked.contains(secret), "{masked}");
        }
        prop_assert_eq!(redactor.redact(&masked), masked.as_ref());

        let value = json!({"text": &text, "list": &pieces, &text: {"n": 1.5}});
        let line = value.to_string();
        let mut record = value;
        redactor.redact_value(&mut record);
        let written = record.to_string();
        serde_json::from_str::<Value>(&written).unwrap();
        for secret in SECRETS {
            prop_assert!(!written.contains(secret));
            prop_assert!(!written.contains(Value::from(secret).to_string().trim_matches('"')));
        }
        // A finished line is safe as well, whatever it holds.
        let line = redactor.redact(&line);
        prop_assert!(serde_json::from_str::<Value>(&line).is_ok(), "{line}");
    }
}
