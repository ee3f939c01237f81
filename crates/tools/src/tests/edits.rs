use super::*;

fn edited(before: &str, old: &str, new: &str) -> Result<String, ToolCode> {
    let desk = Desk::with(&[("f", before)]);
    match desk.call("edit", json!({"path": "f", "old_string": old, "new_string": new})) {
        ToolOutput::Ok(_) => Ok(desk.content("f")),
        ToolOutput::Err(error) => {
            assert_eq!(desk.content("f"), before, "changed despite {error}");
            Err(error.code)
        }
    }
}

#[test]
fn one_exact_replacement() {
    let desk = Desk::with(&[("f", "a\nb\nc\n")]);
    let prepared = desk.prepare("edit", json!({"path": "f", "old": "b", "new": "B\nB2"})).unwrap();
    let Preview::Change { operation, diff, .. } = &prepared.preview else { panic!("no preview") };
    assert_eq!((*operation, diff.as_str()), (Operation::Updated, "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B2\n c\n"));
    let ToolOutput::Ok(data) = run(prepared) else { panic!("failed") };
    assert_eq!(data, json!({"path": desk.path("f"), "replacements": 1, "additions": 2, "deletions": 1}));
    assert_eq!(desk.content("f"), "a\nB\nB2\nc\n");
}

#[test]
fn everything_else_stays_byte_for_byte() {
    for (before, old, new, after) in [
        ("a\r\nb\r\n", "b", "B", Ok("a\r\nB\r\n")),
        // Plain line ends in `old` meet CRLF in the file: the file keeps its own.
        ("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", Ok("x\r\ny\r\nz\r\nc\r\n")),
        ("a\r\nb\r\n", "a\r\nb", "a\r\nB", Ok("a\r\nB\r\n")),
        // An exact match comes first, also in a file of mixed line ends.
        ("a\nb\na\r\nb\r\n", "a\nb\n", "x\n", Ok("x\na\r\nb\r\n")),
        ("\u{feff}a\nb", "a\n", "x\n", Ok("\u{feff}x\nb")),
        ("no end", "end", "END", Ok("no END")),
        ("gone\n", "gone\n", "", Ok("")),
        ("é€😀", "€", "$", Ok("é$😀")),
        // Nothing is guessed.
        ("\tx\n", "    x", "y", Err(ToolCode::OldNotFound)),
        ("a\nb\n", "a\r\nb", "y", Err(ToolCode::OldNotFound)),
        ("x x", "x", "y", Err(ToolCode::ReplacementCountMismatch)),
        ("x", "x", "x", Err(ToolCode::InvalidInput)),
        ("x", "", "x", Err(ToolCode::InvalidInput)),
    ] {
        let after = after.map(str::to_owned);
        assert_eq!(edited(before, old, new), after, "{before:?} {old:?} → {new:?}");
    }
}

#[test]
fn a_match_by_the_files_own_line_ends_says_so() {
    let desk = Desk::with(&[("f", "a\r\nb\r\nc\n")]);
    let edit = |old: &str, new: &str| desk.ok("edit", json!({"path": "f", "old": old, "new": new}));
    assert_eq!(edit("c\n", "C\n").get("note"), None);
    let note = edit("a\nb\n", "x\ny\n")["note"].clone();
    assert!(note.as_str().unwrap().contains("CRLF"), "{note}");
    assert_eq!(desk.content("f"), "x\r\ny\r\nC\n");
}

#[test]
fn the_count_must_be_as_expected() {
    let desk = Desk::with(&[("f", "aaaa\nb\naa\n")]);
    let edit =
        |n: u64| desk.call("edit", json!({"path": "f", "old": "aa", "new": "x", "expected_replacements": n}));
    let ToolOutput::Err(error) = edit(2) else { panic!("replaced") };
    assert_eq!(error.code, ToolCode::ReplacementCountMismatch);
    assert!(error.message.contains("3 times") && error.message.ends_with("(lines 1, 1, 3)"), "{error}");
    assert_eq!(
        desk.err("edit", json!({"path": "f", "old": "b", "new": "x", "expected_replacements": 0})).0,
        ToolCode::InvalidInput
    );
    assert!(edit(3).is_ok());
    assert_eq!(desk.content("f"), "xx\nb\nx\n");
}

#[test]
fn a_near_miss_is_shown_only_once_reading_was_allowed() {
    let desk = Desk::with(&[("f", "fn main() {\n\tsecret();\n}\n")]);
    let prepared = desk.prepare("edit", json!({"path": "f", "old": "    secret();", "new": "x"})).unwrap();
    let doomed = prepared.doomed.clone().unwrap();
    assert_eq!(doomed.code, ToolCode::OldNotFound);
    assert!(!doomed.message.contains("secret"), "{doomed}");
    assert_eq!(prepared.preview, Preview::None);
    let ToolOutput::Err(error) = run(prepared) else { panic!("replaced") };
    assert_eq!(error.code, ToolCode::OldNotFound);
    assert!(error.message.contains("line 2 ") && error.message.ends_with("\n2: →secret();"), "{error}");
}

#[test]
fn a_file_that_changed_after_the_preview_is_left_alone() {
    let desk = Desk::with(&[("f", "old text")]);
    let prepared = desk.prepare("edit", json!({"path": "f", "old": "old", "new": "new"})).unwrap();
    fs::write(desk.path("f"), "old text, and more").unwrap();
    let ToolOutput::Err(error) = run(prepared) else { panic!("edited") };
    assert_eq!(error.code, ToolCode::ChangedSince);
    assert_eq!(desk.content("f"), "old text, and more");
}

#[test]
fn an_edit_is_applied_to_what_other_calls_of_the_session_left() {
    let desk = Desk::with(&[("f", "one\ntwo\nthree x\n")]);
    let prepare =
        |old: &str, new: &str| desk.prepare("edit", json!({"path": "f", "old": old, "new": new})).unwrap();
    let [first, second, third] = [prepare("one", "1"), prepare("two", "2"), prepare("three", "3")];
    let clash = prepare("three", "III");
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-three x\n+3 y\n*** End Patch\n";
    let patch = desk.prepare("patch", json!({"patch": patch})).unwrap();
    assert!(run(first).is_ok() && run(second).is_ok());
    assert_eq!(desk.content("f"), "1\n2\nthree x\n");
    assert!(run(patch).is_ok());
    assert_eq!(desk.content("f"), "1\n2\n3 y\n");
    // The text to replace is gone, or stands in another line than the one that was shown.
    for refused in [third, clash] {
        let ToolOutput::Err(error) = run(refused) else { panic!("edited") };
        assert_eq!(error.code, ToolCode::ChangedSince);
    }
    let shown = prepare("y", "z");
    desk.ok("edit", json!({"path": "f", "old": "3 y", "new": "33 y"}));
    assert!(!run(shown).is_ok(), "it would change a line that nobody was shown");
    assert_eq!(desk.content("f"), "1\n2\n33 y\n");
    // Somebody else's change under one of ours.
    let mine = prepare("1", "I");
    fs::write(desk.path("f"), "1\ntheirs\n").unwrap();
    desk.ok("edit", json!({"path": "f", "old": "theirs", "new": "ours"}));
    assert!(!run(mine).is_ok());
}

/// A call never waits with a lock in its hands: it is prepared, maybe asked about, and locks only when it runs.
#[test]
fn a_locked_file_is_not_touched_and_an_interrupt_ends_the_wait() {
    let desk = Desk::with(&[("f", "old")]);
    let guard = desk.cx.workspace.lock_paths([desk.path("f")], &|| false).unwrap();
    let prepared = desk.prepare("edit", json!({"path": "f", "old": "old", "new": "new"})).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (progress, _) = mpsc::channel(1);
    let cancel = CancellationToken::new();
    let id = "call_1".to_owned();
    let cx = ToolRunContext {
        id,
        cancel: cancel.clone(),
        progress,
        beside: Default::default(),
        images: Default::default(),
    };
    let output = runtime.block_on(async {
        let call = tokio::spawn((prepared.run)(cx));
        tokio::task::yield_now().await;
        cancel.cancel();
        call.await.unwrap()
    });
    let ToolOutput::Err(error) = output else { panic!("edited") };
    assert_eq!(error.message, "interrupted before anything was changed");
    assert_eq!(desk.content("f"), "old");
    drop(guard);
}

/// Calls of two agents, each with a workspace of its own over the same folder.
#[test]
fn no_edit_that_was_reported_ok_is_lost() {
    const EDITS: usize = 32;
    let lines: String = (0..2 * EDITS).map(|at| format!("line {at:03}\n")).collect();
    let desk = Desk::with(&[("f", &lines)]);
    let done: Vec<usize> = std::thread::scope(|scope| {
        let agents: Vec<_> = (0..2)
            .map(|agent| {
                let workspace = Arc::new(desk.cx.workspace.for_child("t", None).unwrap());
                let (cx, registry) = (ToolContext { workspace, ..desk.cx.clone() }, &desk.registry);
                scope.spawn(move || {
                    let edit = |at: &usize| {
                        let old = format!("line {at:03}");
                        let input = json!({"path": "f", "old": old, "new": format!("done {at:03}")});
                        let Value::Object(input) = input else { unreachable!() };
                        run(registry.find("edit").unwrap().prepare(input, &cx).unwrap()).is_ok()
                    };
                    (0..EDITS).map(|at| agent * EDITS + at).filter(edit).collect::<Vec<_>>()
                })
            })
            .collect();
        agents.into_iter().flat_map(|agent| agent.join().unwrap()).collect()
    });
    let content = desk.content("f");
    let lost = done.iter().filter(|at| !content.contains(&format!("done {at:03}")));
    assert_eq!((lost.count(), done.len()), (0, 2 * EDITS));
}

#[test]
fn what_cannot_be_edited_says_why() {
    let desk = Desk::with(&[("main.rs", "x")]);
    fs::write(desk.path("utf16"), b"\xff\xfea\0").unwrap();
    fs::File::create(desk.path("huge")).unwrap().set_len(1 << 40).unwrap();
    let edit = |path: &str| desk.err("edit", json!({"path": path, "old": "a", "new": "b"}));
    for (path, code) in [
        ("mian.rs", ToolCode::PathError),
        ("main.rs/x", ToolCode::PathError),
        ("utf16", ToolCode::ReadError),
        (".", ToolCode::NotRegular),
        ("huge", ToolCode::TooLarge),
    ] {
        assert_eq!(edit(path).0, code, "{path}");
    }
    assert!(edit("mian.rs").1.ends_with("near names here: main.rs"));
}

#[test]
fn a_link_stays_a_link() {
    let desk = Desk::with(&[("f", "old")]);
    symlink("f", desk.path("link")).unwrap();
    let data = desk.ok("edit", json!({"path": "link", "old": "old", "new": "new"}));
    assert_eq!(data["path"], json!(desk.path("f")));
    assert!(desk.path("link").is_symlink());
    assert_eq!(desk.content("f"), "new");
}

#[test]
fn bytes_that_are_not_utf8_stay_and_are_shown_where_they_change() {
    let desk = Desk::new();
    let file = |content: &[u8]| fs::write(desk.path("f"), content).unwrap();
    file(b"caf\xe9\none\r\n\xff\xfe two\n");
    let prepared = desk.prepare("edit", json!({"path": "f", "old": "two", "new": "2"})).unwrap();
    let Preview::Change { diff, .. } = &prepared.preview else { panic!("no preview") };
    assert_eq!(diff, "@@ -1,3 +1,3 @@\n caf\\xE9\n one\r\n-\\xFF\\xFE two\n+\\xFF\\xFE 2\n");
    assert!(run(prepared).is_ok());
    assert_eq!(fs::read(desk.path("f")).unwrap(), b"caf\xe9\none\r\n\xff\xfe 2\n");
    let (code, message) = desk.err("edit", json!({"path": "f", "old": "caf\u{fffd}", "new": "x"}));
    assert_eq!(code, ToolCode::OldNotFound);
    assert!(message.contains("leave it out of `old`"), "{message}");
    let (code, message) = desk.err("edit", json!({"path": "f", "old": "one", "new": "\u{fffd}"}));
    assert_eq!(code, ToolCode::WriteError);
    assert!(message.contains("not text"), "{message}");
    assert_eq!(fs::read(desk.path("f")).unwrap(), b"caf\xe9\none\r\n\xff\xfe 2\n");
    for (content, said) in [(&b"\xff\xfea\0"[..], "UTF-16"), (b"a\0\xff", "binary")] {
        file(content);
        let (code, message) = desk.err("edit", json!({"path": "f", "old": "a", "new": "b"}));
        assert_eq!(code, ToolCode::ReadError);
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn a_line_that_comes_in_ends_like_those_around_it() {
    for (before, old, new, after) in [
        ("a\r\nb\r\nc\r\n", "b", "b\nB", "a\r\nb\r\nB\r\nc\r\n"),
        ("a\r\nb", "b", "b\nB", "a\r\nb\r\nB"),
        ("a\r\nb", "b", "b\nB\n", "a\r\nb\r\nB\r\n"),
        ("a\r\n", "a", "0\na", "0\r\na\r\n"),
        ("a", "a", "a\nb", "a\nb"),
        // A line end at either edge of `old` is a whole one.
        ("a\r\nb\r\n", "\nb", "\nx\nb", "a\r\nx\r\nb\r\n"),
        ("a\r\nb\r\n", "\nb", "", "a\r\n"),
        ("a\r\nb\r\nc", "b\n", "", "a\r\nc"),
        // Lines that stay keep their ends, also in a file of mixed ones.
        ("a\r\nb\nc\r\n", "a\nb\nc", "a\nB\nb\nc", "a\r\nB\r\nb\nc\r\n"),
        ("a\r\nb\nc\r\n", "b", "b\nB", "a\r\nb\nB\nc\r\n"),
        ("a\r\nb\nc\r\n", "a\nb\nc\n", "x\nb\nc\n", "x\r\nb\nc\r\n"),
        // Whoever writes returns means them.
        ("a\r\nb\r\n", "a\r\nb\r\n", "a\nb\n", "a\nb\n"),
        ("a\nb\n", "b", "b\r\nc", "a\nb\r\nc\n"),
        ("a\r\nb\r\n", "a\nb", "a\r\nx\nb", "a\r\nx\r\nb\r\n"),
        // Returns alone are no line ends here.
        ("a\rb\rc", "b", "b\nB", "a\rb\nB\rc"),
        ("\u{feff}a\r\nb\r\n", "a\nb\n", "b\n", "\u{feff}b\r\n"),
    ] {
        assert_eq!(edited(before, old, new), Ok(after.to_owned()), "{before:?} {old:?} → {new:?}");
    }
    let desk = Desk::with(&[("f", "x\r\ny\nx\n")]);
    let input = json!({"path": "f", "old": "x\n", "new": "x\nz\n", "expected_replacements": 2});
    assert!(desk.call("edit", input).is_ok());
    assert_eq!(desk.content("f"), "x\r\nz\r\ny\nx\nz\n");
    let desk = Desk::with(&[("f", "a\r\nb\r\na\r\nb\r\n")]);
    let (code, message) = desk.err("edit", json!({"path": "f", "old": "a\nb\n", "new": ""}));
    assert_eq!(code, ToolCode::ReplacementCountMismatch);
    assert!(message.ends_with("(lines 1, 3)"), "{message}");
}
