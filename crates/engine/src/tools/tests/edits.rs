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
fn what_cannot_be_edited_says_why() {
    let desk = Desk::with(&[("main.rs", "x")]);
    fs::write(desk.path("latin1"), b"caf\xe9").unwrap();
    fs::File::create(desk.path("huge")).unwrap().set_len(1 << 40).unwrap();
    let edit = |path: &str| desk.err("edit", json!({"path": path, "old": "a", "new": "b"}));
    for (path, code) in [
        ("mian.rs", ToolCode::PathError),
        ("main.rs/x", ToolCode::PathError),
        ("latin1", ToolCode::ReadError),
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
