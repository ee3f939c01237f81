use super::*;

#[test]
fn created_updated_unchanged() {
    let desk = Desk::new();
    let write = |content: &str| desk.ok("write", json!({"path": "a/b.txt", "content": content}));
    let path = desk.path("a/b.txt");
    assert_eq!(
        write("one\ntwo\n"),
        json!({
            "path": path, "bytes": 8, "created": true, "operation": "created", "additions": 2, "deletions": 0
        })
    );
    assert_eq!(
        write("one\n2\n3\n"),
        json!({
            "path": path, "bytes": 8, "created": false, "operation": "updated", "additions": 2, "deletions": 1
        })
    );
    let before = fs::metadata(&path).unwrap();
    let same = write("one\n2\n3\n");
    assert_eq!((&same["operation"], &same["additions"]), (&json!("unchanged"), &json!(0)));
    let after = fs::metadata(&path).unwrap();
    assert_eq!(
        std::os::unix::fs::MetadataExt::ino(&before),
        std::os::unix::fs::MetadataExt::ino(&after),
        "an unchanged file was written again"
    );
}

#[test]
fn the_preview_shows_the_change() {
    let desk = Desk::with(&[("a", "one\ntwo\n")]);
    let prepared = desk.prepare("write", json!({"path": "a", "text": "one\n2\n"})).unwrap();
    assert_eq!(
        prepared.preview,
        Preview::Change {
            path: desk.path("a"),
            operation: Operation::Updated,
            additions: 1,
            deletions: 1,
            diff: "@@ -1,2 +1,2 @@\n one\n-two\n+2\n".into(),
        }
    );
    assert!(prepared.doomed.is_none());
}

#[test]
fn what_cannot_be_written_says_why() {
    let desk = Desk::with(&[("file", "x")]);
    fs::create_dir(desk.path("folder")).unwrap();
    for (path, expected) in [
        ("folder", ToolCode::NotRegular),
        ("file/below", ToolCode::MkdirError),
        ("/dev/null", ToolCode::NotRegular),
        ("/proc/zdx/new", ToolCode::MkdirError),
        ("/proc/zdx", ToolCode::WriteError),
    ] {
        let (code, message) = desk.err("write", json!({"path": path, "content": "y"}));
        assert_eq!(code, expected, "{path}: {message}");
        assert!(!message.contains("os error"), "{message}");
    }
    let prepared = desk.prepare("write", json!({"path": "folder", "content": "y"})).unwrap();
    assert_eq!(prepared.doomed.unwrap().code, ToolCode::NotRegular);
    assert_eq!(desk.content("file"), "x");
}

#[test]
fn a_file_that_changed_after_the_preview_is_not_overwritten() {
    let desk = Desk::with(&[("a", "seen")]);
    let prepared = desk.prepare("write", json!({"path": "a", "content": "mine"})).unwrap();
    fs::write(desk.path("a"), "theirs").unwrap();
    let ToolOutput::Err(error) = run(prepared) else { panic!("overwritten") };
    assert_eq!(error.code, ToolCode::ChangedSince);
    assert_eq!(desk.content("a"), "theirs");

    let prepared = desk.prepare("write", json!({"path": "new", "content": "mine"})).unwrap();
    fs::write(desk.path("new"), "theirs").unwrap();
    assert!(!run(prepared).is_ok());
}

#[test]
fn a_huge_file_is_replaced_without_being_read() {
    let desk = Desk::new();
    fs::File::create(desk.path("huge")).unwrap().set_len(1 << 40).unwrap();
    let data = desk.ok("write", json!({"path": "huge", "content": "small\n"}));
    assert_eq!((&data["operation"], data.get("deletions")), (&json!("updated"), None));
    assert_eq!(desk.content("huge"), "small\n");
}

#[test]
fn an_interrupt_that_came_first_changes_nothing() {
    let desk = Desk::new();
    let prepared = desk.prepare("write", json!({"path": "new", "content": "x"})).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (progress, _) = mpsc::channel(1);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let output = runtime.block_on((prepared.run)(ToolRunContext {
        id: String::new(),
        cancel,
        progress,
        beside: Default::default(),
        images: Default::default(),
    }));
    let ToolOutput::Err(error) = output else { panic!("written") };
    assert_eq!(error.code, ToolCode::Interrupted);
    assert!(!desk.path("new").exists());
}

#[test]
fn bytes_that_are_not_utf8_are_not_written_over_by_what_read_shows_of_them() {
    let desk = Desk::new();
    let file = |content: &[u8]| fs::write(desk.path("f"), content).unwrap();
    let write = |content: &str| desk.call("write", json!({"path": "f", "content": content}));
    for before in [&b"caf\xe9\nx \xff\n"[..], b"a\0b"] {
        file(before);
        let shown = String::from_utf8_lossy(before).replace('\0', "\u{fffd}");
        let prepared = desk.prepare("write", json!({"path": "f", "content": shown})).unwrap();
        assert_eq!(prepared.doomed.as_ref().unwrap().code, ToolCode::WriteError);
        let ToolOutput::Err(error) = run(prepared) else { panic!("written") };
        assert!(error.message.contains("edit"), "{error}");
        assert_eq!(fs::read(desk.path("f")).unwrap(), before);
    }
    file(b"caf\xe9\n");
    let prepared = desk.prepare("write", json!({"path": "f", "content": "caf\u{e9}\n"})).unwrap();
    let Preview::Change { diff, .. } = &prepared.preview else { panic!("no preview") };
    assert_eq!(diff, "@@ -1 +1 @@\n-caf\\xE9\n+caf\u{e9}\n", "a line that differs in bytes alone is shown");
    assert!(run(prepared).is_ok(), "nothing is lost that the model did not replace");
    // Where all of it is text, U+FFFD is a character like any other; and so is one that the file has already.
    assert!(write("\u{fffd}\n").is_ok());
    let real = "one \u{fffd}\nx\n";
    let desk = Desk::new();
    fs::write(desk.path("f"), [real.as_bytes(), b"caf\xe9\n"].concat()).unwrap();
    let (code, _) = desk.err("write", json!({"path": "f", "content": "one\nx\ncaf\u{fffd}\n"}));
    assert_eq!(code, ToolCode::WriteError, "as many as before, but elsewhere");
    desk.ok("write", json!({"path": "f", "content": real}));
}
