use proptest::prelude::*;

use super::*;

fn prompt(text: &str) -> Vec<MentionTarget> {
    match parse(text).unwrap() {
        TypedInput::Prompt { text: kept, mentions } => {
            assert_eq!(kept, text.trim());
            mentions.into_iter().map(|mention| mention.what).collect()
        }
        other => panic!("{text}: {other:?}"),
    }
}

fn bare(path: &str) -> MentionTarget {
    MentionTarget::Path { path: path.to_owned(), form: MentionForm::Bare }
}

fn named(path: &str) -> MentionTarget {
    MentionTarget::Path { path: path.to_owned(), form: MentionForm::Named }
}

#[test]
fn what_a_line_is_shows_in_its_first_characters() {
    let shell = |command: &str| Ok(TypedInput::Shell(command.to_owned()));
    let command =
        |name: &str, args: &str| Ok(TypedInput::Command { name: name.to_owned(), args: args.to_owned() });
    for (line, expected) in [
        ("", Ok(TypedInput::Empty)),
        (" \n ", Ok(TypedInput::Empty)),
        ("!ls -la", shell("ls -la")),
        ("  ! ls\n", shell("ls")),
        ("@!git status", shell("git status")),
        ("!", Err(TypedInputError::EmptyShell)),
        ("@!  ", Err(TypedInputError::EmptyShell)),
        ("/help", command("help", "")),
        ("/openspec:apply the 'first one'\nand more", command("openspec:apply", "the 'first one'\nand more")),
        ("/models  a/b ", command("models", "a/b")),
        ("@agent:plan", Ok(TypedInput::Agent("plan".to_owned()))),
    ] {
        assert_eq!(parse(line), expected, "{line:?}");
    }
}

#[test]
fn paths_and_odd_slashes_are_prompts() {
    for text in ["/usr/bin/env is broken", "/", "// comment", "/ help", "/*x*/", "a !ls", "say /help", "?"] {
        assert_eq!(prompt(text), [], "{text}");
    }
}

#[test]
fn every_form_of_mention_is_found() {
    for (text, expected) in [
        ("see @src/main.rs now", vec![bare("src/main.rs")]),
        (r#"@"a b" and @"q\"\\""#, vec![bare("a b"), bare("q\"\\")]),
        ("@~/x, @/etc/hosts", vec![bare("~/x,"), bare("/etc/hosts")]),
        (r#"@file:x @file:"a b""#, vec![named("x"), named("a b")]),
        (
            "(@https://example.org/a?b=@c).",
            vec![MentionTarget::Link("https://example.org/a?b=@c".to_owned())],
        ),
        ("ask @agent:code-review.", vec![MentionTarget::Agent("code-review".to_owned())]),
        ("看@src/main.rs", vec![bare("src/main.rs")]),
    ] {
        assert_eq!(prompt(text), expected, "{text}");
    }
}

#[test]
fn a_mention_knows_where_it_stands() {
    let text = r#"x @file:"a b" y"#;
    let [mention] = mentions_in(text).try_into().unwrap();
    assert_eq!((&text[mention.span], &text[mention.name]), (r#"@file:"a b""#, "a b"));
    let text = "(@src/main.rs)";
    let [mention] = mentions_in(text).try_into().unwrap();
    assert_eq!((mention.span.start, &text[mention.name]), (1, "src/main.rs)"));
}

#[test]
fn addresses_and_code_are_no_mentions() {
    for text in [
        "mail joe@example.org",
        "git@github.com:a/b.git",
        "foo@bar",
        "a/@b",
        "use `@src/main.rs` there",
        "```py\n@src/main.rs\n```",
        "~~~\n@file:x\n~~~\nend",
        "@",
        "@ x",
        "@. @..",
        r#"var s = @"open"#,
        "@agent: x",
    ] {
        assert_eq!(prompt(text), [], "{text}");
    }
}

proptest! {
    /// Whatever is typed: no panic, spans are in order and in bounds, and nothing is lost from the text.
    #[test]
    fn any_text_can_be_typed(text in "[@`\"a/:!.~ \n\\\\é，]{0,40}|\\PC{0,40}") {
        let mentions = mentions_in(&text);
        let mut end = 0;
        for mention in &mentions {
            prop_assert!(end <= mention.span.start && mention.span.end <= text.len());
            prop_assert!(mention.span.start < mention.name.start && mention.name.end <= mention.span.end);
            prop_assert!(text[mention.span.clone()].starts_with('@'));
            prop_assert!(text.get(mention.name.clone()).is_some());
            end = mention.span.end;
        }
        if let Ok(TypedInput::Prompt { text: kept, .. }) = parse(&text) {
            prop_assert_eq!(kept, text.trim());
        }
    }
}
