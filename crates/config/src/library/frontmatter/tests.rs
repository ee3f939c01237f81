use std::fs;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parsed(text: &str) -> MarkdownDocument {
    MarkdownDocument::parse(Path::new("/x/SKILL.md"), text)
}

fn fields(front: &str) -> Value {
    let document = parsed(&format!("---\n{front}\n---\nbody"));
    assert_eq!(document.fault, None, "{front}");
    assert_eq!(document.body, "body");
    document.fields.entries.into_iter().map(|entry| (entry.key, entry.value)).collect()
}

#[test]
fn fields_keep_their_order_and_types() {
    let front = "b: two\na: 1\nf: 0.5\nt: true\nn:\nl: [x, 'y z']\np:\n  bash:\n    \"*\": deny\n    git *: ask\n  edit: deny";
    let read = fields(front);
    assert_eq!(
        read.to_string(),
        json!({"b": "two", "a": 1, "f": 0.5, "t": true, "n": null, "l": ["x", "y z"],
            "p": {"bash": {"*": "deny", "git *": "ask"}, "edit": "deny"}})
        .to_string()
    );
}

#[test]
fn a_body_needs_no_front_matter() {
    for text in ["# Title\n\ntext", "", "-- -\nx", "text\n---\na: b\n---"] {
        let document = parsed(text);
        assert_eq!((document.fault, document.fields.entries.len()), (None, 0), "{text}");
        assert_eq!(document.body, text);
    }
    let empty = parsed("---\n---\n\nbody\n");
    assert_eq!((empty.fault, empty.body.as_str()), (None, "body"));
    let comments = parsed("---\n# nothing yet\n---\nbody");
    assert_eq!((comments.fault, comments.body.as_str()), (None, "body"));
}

#[test]
fn windows_lines_a_byte_order_mark_and_dots_are_understood() {
    let document = parsed("\u{feff}---\r\nname: x\r\n...\r\nbody\r\nmore\r\n");
    assert_eq!(document.fields.text(&["name"]).as_deref(), Some("x"));
    assert_eq!((document.body.as_str(), document.fault), ("body\nmore", None));
}

#[test]
fn what_people_forget_to_quote_is_read_as_meant() {
    for (front, expected) in [
        ("description: Use when: the user asks", json!({"description": "Use when: the user asks"})),
        (
            "name: x\ndescription: a: b\nhidden: true",
            json!({"name": "x", "description": "a: b", "hidden": true}),
        ),
        ("paths: *.rs", json!({"paths": "*.rs"})),
        ("d: it's: fine", json!({"d": "it's: fine"})),
        ("d: \"a\" and: b", json!({"d": "\"a\" and: b"})),
        ("d: one: two\n  goes on: here\nn: 1", json!({"d": "one: two goes on: here", "n": 1})),
        ("d: @agent does it", json!({"d": "@agent does it"})),
        ("d: `code` first", json!({"d": "`code` first"})),
        ("p:\n  *: deny\n  bash: ask", json!({"p": {"*": "deny", "bash": "ask"}})),
        (
            "d: a: b\ntext: |\n  keep: this: as it is\n  * too",
            json!({"d": "a: b", "text": "keep: this: as it is\n* too\n"}),
        ),
        ("argument-hint: [file] [mode: x", json!({"argument-hint": "[file] [mode: x"})),
    ] {
        assert_eq!(fields(front), expected, "{front}");
    }
}

#[test]
fn a_fault_names_file_and_line_and_the_rest_is_kept() {
    let document = parsed("---\nname: x\nlist: [a,\nhidden: true\n---\nbody");
    let fault = document.fault.unwrap();
    assert!(fault.place.starts_with("/x/SKILL.md:"), "{fault}");
    let line: usize = fault.place.rsplit(':').next().unwrap().parse().unwrap();
    assert!((3..=5).contains(&line), "{fault}");
    assert_eq!(document.fields.text(&["name"]).as_deref(), Some("x"));
    assert_eq!(document.fields.flag(&["hidden"]), Ok(true));
    assert_eq!(document.body, "body");
}

#[test]
fn hostile_yaml_is_refused_not_followed() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b]";
    let deep_block = format!("k:\n  {}x", "- ".repeat(20_000));
    let deep_flow = format!("k: {}", "[".repeat(20_000));
    for front in [bomb, &deep_block, &deep_flow, "- a\n- b", "just text", "? [a]\n: b", "a: 1\na: 2"] {
        let document = parsed(&format!("---\n{front}\n---\nbody"));
        assert!(document.fault.is_some(), "{}", &front[..front.len().min(60)]);
        assert_eq!(document.body, "body");
    }
    let long = parsed(&format!("---\nd: {}\n---\nbody", "x".repeat(70_000)));
    assert!(long.fault.unwrap().message.contains("64 KiB"));
    let open = parsed("---\nname: x\n");
    assert_eq!(open.fault.unwrap().to_string(), "/x/SKILL.md:1: the front matter has no closing `---`");
    assert_eq!(open.body, "---\nname: x");
}

#[test]
fn files_are_bounded_regular_and_text() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.md");
    let folder = Workspace::open(dir.path()).unwrap();
    let read = |path: &Path| MarkdownDocument::read(&folder, path);
    let message = |content: &[u8]| {
        fs::write(&path, content).unwrap();
        read(&path).unwrap_err().to_string()
    };
    assert!(message(&vec![b'x'; LARGEST_FILE as usize + 1]).contains("longer than 256 KiB"));
    assert!(message(b"a\0b").contains("not a text file"));
    let latin = message(b"---\nname: x\n---\ncaf\xe9");
    assert!(latin.contains("a.md:4: ") && latin.contains("UTF-8"), "{latin}");
    assert!(read(dir.path()).unwrap_err().message.contains("cannot be read"));
    assert!(read(&dir.path().join("none")).unwrap_err().message.contains("cannot be read"));
    fs::write(&path, vec![b'x'; LARGEST_FILE as usize]).unwrap();
    assert_eq!(read(&path).unwrap().body.len() as u64, LARGEST_FILE);
}

#[test]
fn values_are_asked_for_in_any_spelling() {
    let document = parsed("---\nmaxSteps: '12'\ntop-p: 0.5\nhidden: yes\nname: 7\nmode:\nbad: [1]\n---\n");
    let fields = &document.fields;
    assert_eq!(fields.count(&["steps", "max_steps"]), Ok(Some(12)));
    assert_eq!(fields.number(&["top_p"], (0.0, 1.0)), Ok(Some(0.5)));
    assert_eq!(fields.flag(&["hidden"]), Ok(true));
    assert_eq!(fields.flag(&["absent"]), Ok(false));
    assert_eq!(fields.text(&["name"]).as_deref(), Some("7"));
    assert_eq!((fields.text(&["mode"]), fields.get(&["mode"])), (None, None));
    let error = fields.count(&["bad"]).unwrap_err().to_string();
    assert!(error.starts_with("/x/SKILL.md:7: `bad` must be a number"), "{error}");
    for (value, ok) in [("1", true), ("0", false), ("1.5", false), ("-3", false), ("1e30", false)] {
        assert_eq!(parsed(&format!("---\ns: {value}\n---")).fields.count(&["s"]).is_ok(), ok, "{value}");
    }
    assert!(fields.flag(&["maxsteps"]).unwrap_err().message.contains("true or false"));
}

#[test]
fn the_first_paragraph_is_prose_on_one_line() {
    for (body, expected) in [
        ("# Title\n\nFirst line\ngoes on.\n\nSecond.", Some("First line goes on.")),
        ("# Title\nright below", Some("right below")),
        ("<!-- note -->\n\n---\n\n```\ncode\n```\n\ntext", Some("text")),
        ("# Only a title\n\n## And another", Some("Only a title")),
        ("\n\n", None),
    ] {
        assert_eq!(first_paragraph(body).as_deref(), expected, "{body}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    /// Nothing a file can hold makes the reader panic, and the body is never lost.
    #[test]
    fn any_front_matter_is_survived(front in "[-a:'\"|>&*!%@`{}\\[\\],? #\n\t~0.]{0,60}") {
        let document = parsed(&format!("---\n{front}\n---\nbody"));
        prop_assert!(document.body.ends_with("body"));
    }
}
