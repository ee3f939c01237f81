use std::os::unix::fs::PermissionsExt;

use super::*;

fn mode(desk: &Desk, name: &str) -> u32 {
    fs::metadata(desk.path(name)).unwrap().permissions().mode() & 0o7777
}

/// One file under a patch: its new content, or the error's code.
fn patched(before: &str, patch: &str) -> Result<String, ToolCode> {
    let desk = Desk::with(&[("f", before)]);
    match desk.call("patch", json!({"patch": patch})) {
        ToolOutput::Ok(_) => Ok(desk.content("f")),
        ToolOutput::Err(error) => {
            assert_eq!(desk.content("f"), before, "changed despite {error}");
            Err(error.code)
        }
    }
}

fn unified(hunks: &str) -> String {
    format!("--- a/f\n+++ b/f\n{hunks}")
}

fn envelope(hunks: &str) -> String {
    format!("*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch\n")
}

#[test]
fn files_are_changed_added_moved_and_deleted_at_once() {
    let files = [("src.txt", "one\ntwo\nthree\n"), ("old.txt", "x\ny\n"), ("gone.txt", "bye\n")];
    let forms = [
        "diff --git a/src.txt b/src.txt\nindex 123..456 100644\n--- a/src.txt\n+++ b/src.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+TWO\n+2\n three\n\
         diff --git a/old.txt b/dir/new.txt\nsimilarity index 50%\nrename from old.txt\nrename to dir/new.txt\n--- a/old.txt\n+++ b/dir/new.txt\n@@ -1,2 +1,2 @@\n-x\n+z\n y\n\
         diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n\
         diff --git a/run.sh b/run.sh\nnew file mode 100755\n--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1,2 @@\n+#!/bin/sh\n+true\n\\ No newline at end of file\n",
        "```\napply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src.txt\n@@ one\n-two\n+TWO\n+2\n three\n*** Update File: old.txt\n*** Move to: dir/new.txt\n@@\n-x\n+z\n y\n\
         *** Delete File: gone.txt\n*** Add File: run.sh\n+#!/bin/sh\n+true\n\\ No newline at end of file\n*** End Patch\nEOF\n",
    ];
    for patch in forms {
        let desk = Desk::with(&files);
        fs::set_permissions(desk.path("old.txt"), fs::Permissions::from_mode(0o640)).unwrap();
        let prepared = desk.prepare("apply_patch", json!({"patch": patch})).unwrap();
        let Action::Write { tool, targets } = &prepared.action else { panic!("no write") };
        assert_eq!((tool.as_str(), targets.len()), ("patch", 5));
        let Preview::Text { text } = &prepared.preview else { panic!("{:?}", prepared.preview) };
        assert!(text.contains("src.txt (updated, +2 -1)\n@@ -1,3 +1,4 @@\n one\n-two\n+TWO"), "{text}");
        assert!(prepared.doomed.is_none());
        assert_eq!(desk.content("src.txt"), files[0].1, "preparing changes nothing");
        let ToolOutput::Ok(data) = run(prepared) else { panic!("failed") };
        assert_eq!(
            data,
            json!({"files": [
                {"path": "src.txt", "operation": "updated", "additions": 2, "deletions": 1},
                {"path": "dir/new.txt", "operation": "renamed", "additions": 1, "deletions": 1, "from": "old.txt"},
                {"path": "gone.txt", "operation": "deleted", "additions": 0, "deletions": 1},
                {"path": "run.sh", "operation": "created", "additions": 2, "deletions": 0},
            ]})
        );
        assert_eq!(desk.content("src.txt"), "one\nTWO\n2\nthree\n");
        assert_eq!(desk.content("dir/new.txt"), "z\ny\n");
        assert_eq!(desk.content("run.sh"), "#!/bin/sh\ntrue");
        assert!(!desk.path("old.txt").exists() && !desk.path("gone.txt").exists());
        assert_eq!(mode(&desk, "dir/new.txt"), 0o640);
        assert_eq!(mode(&desk, "run.sh") & 0o100 != 0, patch.starts_with("diff"));
        assert_eq!(fs::read_dir(desk.dir.path()).unwrap().count(), 3);
    }
}

#[test]
fn everything_a_hunk_does_not_name_stays_byte_for_byte() {
    for (before, hunk, after) in [
        // A patch with plain line ends meets CRLF, and the other way round.
        ("a\r\nb\r\nc\r\n", "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B2\n c\n", "a\r\nB\r\nB2\r\nc\r\n"),
        ("a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\r\n-b\r\n+B\r\n c\r\n", "a\nB\nc\n"),
        // A patch that knows of the line ends changes them.
        ("a\r\nb\r\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n", "a\nb\r\n"),
        ("a\nb\r\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\r\n+B\r\n c\n", "a\nB\r\nc\n"),
        ("\u{feff}a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "\u{feff}A\nb\n"),
        // A missing final newline stays missing, unless the patch says otherwise.
        ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\nB"),
        ("a\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\nb\nc"),
        ("a\r\nb", "@@ -2,1 +2,2 @@\n b\n+c\n", "a\r\nb\r\nc"),
        ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"),
        ("a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", "a\nb"),
        ("a\nb", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n", "A\nb"),
        // Blanks at the end of lines may differ; the file's own lines stay.
        ("a  \nb\t\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a  \nB\nc\n"),
        // An empty line may have lost its blank, and the counts may be wrong.
        ("a\n\nb\nc\n", "@@ -1,9 +1,9 @@\n a\n\n-b\n+B\n c\n\n", "a\n\nB\nc\n"),
        ("a\n\nb\nc\n", "@@ ... @@\n a\n\n-b\n+B\n", "a\n\nB\nc\n"),
        // A removed `-- x` is no header.
        ("-- x\na\n", "@@ -1,2 +1,2 @@\n--- x\n+++ y\n a\n", "++ y\na\n"),
        ("-- x\na\n", "@@ -1,9 +1,9 @@\n--- x\n+y\n a\n", "y\na\n"),
        ("one\n", "@@ -1 +1 @@\n-one\n+two\n", "two\n"),
        // The line number tells equal places apart, earlier hunks what it is off by.
        ("x\ny\nx\ny\n", "@@ -3,2 +3,2 @@\n x\n-y\n+Y\n", "x\ny\nx\nY\n"),
        (
            "new\nk\nx\ny\nx\ny\n",
            "@@ -1 +1 @@\n-k\n+K\n@@ -2,2 +2,2 @@\n x\n-y\n+Y\n",
            "new\nK\nx\nY\nx\ny\n",
        ),
        ("", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n"),
        ("a\nb\n", "@@ -1,2 +0,0 @@\n-a\n-b\n", ""),
    ] {
        assert_eq!(patched(before, &unified(hunk)).as_deref(), Ok(after), "{before:?} {hunk:?}");
    }
}

#[test]
fn an_envelope_finds_its_place_by_what_it_says() {
    let two = "class A\n  def f\n    x\n  end\nclass B\n  def f\n    x\n  end\n";
    for (before, hunks, after) in [
        ("a\nb\n", "@@\n a\n-b\n+B\n", "a\nB\n".to_owned()),
        ("a\nb\n", " a\n-b\n+B\n", "a\nB\n".to_owned()),
        (
            two,
            "@@ class B\n   def f\n-    x\n+    y\n",
            two.replacen("    x", "    y", 2).replacen("    y", "    x", 1),
        ),
        (two, "@@ class A\n@@   def f\n-    x\n+    y\n", two.replacen("    x", "    y", 1)),
        ("a\nb\na\n", "@@\n-a\n+A\n*** End of File\n", "a\nb\nA\n".to_owned()),
        ("a\nb\n", "@@\n+c\n*** End of File\n", "a\nb\nc\n".to_owned()),
        ("a\nb\nc\nd\n", "@@\n-a\n+A\n b\n@@\n c\n-d\n+D\n", "A\nb\nc\nD\n".to_owned()),
        // Hunks out of order are no guess: each has its place.
        ("a\nb\nc\nd\n", "@@\n-d\n+D\n@@\n-a\n+A\n", "A\nb\nc\nD\n".to_owned()),
        ("a\nb\n", "@@ -2,1 +2,1 @@\n-b\n+B\n", "a\nB\n".to_owned()),
    ] {
        assert_eq!(patched(before, &envelope(hunks)), Ok(after), "{before:?} {hunks:?}");
    }
}

#[test]
fn what_does_not_fit_without_a_doubt_is_rejected() {
    let two = "x\ny\nx\ny\n";
    for (before, patch) in [
        ("a\nb\n", unified("@@ -1,2 +1,2 @@\n a\n-c\n+C\n")),
        // Equal places, and the line number fits none.
        (two, unified("@@ -9,2 +9,2 @@\n x\n-y\n+Y\n")),
        (two, envelope("@@\n x\n-y\n+Y\n")),
        (two, envelope("@@ nowhere\n x\n-y\n+Y\n")),
        // Indentation is not guessed.
        ("\ta\n", unified("@@ -1 +1 @@\n-    a\n+b\n")),
        // Nothing says where.
        ("a\nb\n", unified("@@ -1,0 +2 @@\n+c\n")),
        ("a\nb\n", envelope("@@ a\n+c\n")),
        ("a\nb\n", envelope("@@\n+c\n")),
        // Not the end of the file.
        ("a\nb\n", envelope("@@\n-a\n+A\n*** End of File\n")),
        ("a\nb\nc\n", envelope("@@\n a\n-b\n+B\n@@\n-b\n-c\n+C\n")),
        ("bin\0ary\n", unified("@@ -1 +1 @@\n-bin\n+x\n")),
        ("a\n", "*** Begin Patch\n*** Add File: f\n+x\n*** End Patch".to_owned()),
        ("a\n", "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n".to_owned()),
        ("a\nb\n", "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n".to_owned()),
    ] {
        assert_eq!(patched(before, &patch), Err(ToolCode::PatchRejected), "{before:?} {patch:?}");
    }
}

#[test]
fn a_rejected_hunk_names_the_nearest_text_but_not_before_it_is_allowed() {
    let desk = Desk::with(&[("f", "fn a() {\n\tlet x = 1;\n}\n")]);
    let patch = json!({"patch": "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n fn a() {\n-    let x = 1;\n+    let x = 2;\n }\n"});
    let prepared = desk.prepare("patch", patch.clone()).unwrap();
    let doomed = prepared.doomed.unwrap();
    let plain = format!(
        "hunk 1 of 1 for {} (line 3 of the patch) does not match the file: read it again; nothing was changed",
        desk.path("f").display()
    );
    assert_eq!((doomed.code, &doomed.message), (ToolCode::PatchRejected, &plain));
    let (_, message) = desk.err("patch", patch);
    assert_eq!(
        message,
        format!(
            "{plain}. The nearest text is at line 1 (· space, → tab, ␍ carriage return):\n1: fn·a()·{{\n2: →let·x·=·1;\n3: }}"
        )
    );
    let two = Desk::with(&[("f", "x\ny\nx\ny\n")]);
    let (_, message) = two.err("patch", json!({"patch": envelope("@@\n x\n-y\n+Y\n")}));
    assert!(message.ends_with("It matches at lines 1, 3."), "{message}");
}

#[test]
fn a_patch_that_fails_at_its_third_file_changes_none() {
    let desk = Desk::with(&[("a", "old\n"), ("b", "old\n"), ("c", "other\n")]);
    let part = |name: &str| format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-old\n+new\n");
    let patch = format!("{}{}{}", part("a"), part("b"), part("c"));
    assert_eq!(desk.err("patch", json!({"patch": patch})).0, ToolCode::PatchRejected);
    let missing = format!("{}{}{}", part("a"), part("b"), part("d"));
    let (code, message) = desk.err("patch", json!({"patch": missing}));
    assert_eq!(code, ToolCode::PathError);
    assert!(message.contains("does not exist"), "{message}");
    // The third cannot be made: a file stands where its folder should be.
    let under = format!("{}{}--- /dev/null\n+++ b/c/x/y\n@@ -0,0 +1 @@\n+x\n", part("a"), part("b"));
    let (code, _) = desk.err("patch", json!({"patch": under}));
    assert_eq!(code, ToolCode::PathError);
    assert_eq!(
        (desk.content("a"), desk.content("b"), desk.content("c")),
        ("old\n".into(), "old\n".into(), "other\n".into())
    );
    assert_eq!(fs::read_dir(desk.dir.path()).unwrap().count(), 3);
}

#[test]
fn what_changed_since_it_was_shown_is_not_touched() {
    let desk = Desk::with(&[("f", "a\nb\n")]);
    let patch = json!({"patch": unified("@@ -1 +1 @@\n-a\n+A\n")});
    let prepared = desk.prepare("patch", patch.clone()).unwrap();
    fs::write(desk.path("f"), "a\nsomebody else\n").unwrap();
    let ToolOutput::Err(error) = run(prepared) else { panic!("written") };
    assert_eq!((error.code, desk.content("f").as_str()), (ToolCode::ChangedSince, "a\nsomebody else\n"));
    // A file that did not fit when it was judged is not written although it fits now.
    fs::write(desk.path("f"), "x\n").unwrap();
    let prepared = desk.prepare("patch", patch).unwrap();
    fs::write(desk.path("f"), "a\n").unwrap();
    assert!(!run(prepared).is_ok());
    assert_eq!(desk.content("f"), "a\n");
}

#[test]
fn one_file_may_be_changed_in_several_parts() {
    let desk = Desk::with(&[("f", "a\nb\n")]);
    let patch = "*** Begin Patch\n*** Update File: f\n-a\n+A\n*** Update File: ./f\n A\n-b\n+B\n*** Add File: g\n+x\n\n+y\n\n*** Update File: g\n-y\n+z\n*** End Patch";
    let data = desk.ok("patch", json!({"patch": patch}));
    assert_eq!(
        data["files"][0],
        json!({"path": "f", "operation": "updated", "additions": 2, "deletions": 2})
    );
    assert_eq!((desk.content("f"), desk.content("g")), ("A\nB\n".to_owned(), "x\n\nz\n".to_owned()));
}

#[test]
fn modes_are_kept_and_changed_where_the_patch_says_so() {
    let desk = Desk::with(&[("f", "a\n"), ("g", "a\n")]);
    fs::set_permissions(desk.path("f"), fs::Permissions::from_mode(0o751)).unwrap();
    fs::set_permissions(desk.path("g"), fs::Permissions::from_mode(0o640)).unwrap();
    let patch =
        format!("{}diff --git a/g b/g\nold mode 100644\nnew mode 100755\n", unified("@@ -1 +1 @@\n-a\n+b\n"));
    desk.ok("patch", json!({"patch": patch}));
    assert_eq!((mode(&desk, "f"), mode(&desk, "g")), (0o751, 0o750));
    assert_eq!((desk.content("f"), desk.content("g")), ("b\n".to_owned(), "a\n".to_owned()));
}

#[test]
fn odd_names_and_links() {
    let desk = Desk::with(&[("a b", "x\n"), ("ä", "x\n"), ("real", "x\n")]);
    symlink("real", desk.path("link")).unwrap();
    let patch = "--- a/a b\t2024-01-01\n+++ b/a b\t2024-01-01\n@@ -1 +1 @@\n-x\n+y\n\
                 --- \"a/\\303\\244\"\n+++ \"b/\\303\\244\"\n@@ -1 +1 @@\n-x\n+y\n\
                 --- link\n+++ link\n@@ -1 +1 @@\n-x\n+y\n";
    desk.ok("patch", json!({"patch": patch}));
    assert_eq!(
        (desk.content("a b"), desk.content("ä"), desk.content("real")),
        ("y\n".into(), "y\n".into(), "y\n".into())
    );
    assert!(desk.path("link").is_symlink());
    for gone in ["*** Delete File: link", "*** Update File: link\n*** Move to: new\n-y\n+z"] {
        let (code, message) =
            desk.err("patch", json!({"patch": format!("*** Begin Patch\n{gone}\n*** End Patch")}));
        assert_eq!(code, ToolCode::PatchRejected);
        assert!(message.contains("symbolic link"), "{message}");
    }
    let outside = desk
        .prepare("patch", json!({"patch": "*** Begin Patch\n*** Add File: ../x\n+y\n*** End Patch"}))
        .unwrap();
    assert!(matches!(outside.action, Action::Write { targets, .. } if !targets[0].inside));
}

#[test]
fn what_is_no_patch_is_named() {
    let desk = Desk::with(&[("f", "a\n")]);
    for (patch, part) in [
        ("", "empty"),
        ("just words", "holds no change"),
        ("*** Begin Patch\n*** End Patch", "holds no change"),
        ("@@ -1 +1 @@\n-a\n+b\n", "before any file name"),
        ("diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 3\n", "binary"),
        ("diff --git a/x b/x\nBinary files a/x and b/x differ\n", "binary"),
        (
            "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\nno sign\n+b\n",
            "line 5 of the patch cannot be read: \"no sign\"",
        ),
        ("--- a/f\n+++ b/f\n", "changes nothing"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n", "is empty"),
        ("*** Begin Patch\n*** Add File: x\nno plus\n*** End Patch", "line 3 of the patch"),
        ("*** Begin Patch\n*** Update File: f\n*** End Patch", "changes nothing"),
        ("*** Begin Patch\n*** Update File:\n-a\n+b\n*** End Patch", "names no file"),
        ("diff --git a/x b/y\ncopy from x\ncopy to y\n", "copies"),
        ("diff --git a/f b/f\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", "disagree about the file: f and g"),
        ("diff --git a/f b/f\n--- a/g\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "disagree about the file: f and g"),
        (
            "diff --git a/f b/g\nrename from f\nrename to g\n--- a/f\n+++ b/h\n@@ -1 +1 @@\n-a\n+b\n",
            "disagree about the file: g and h",
        ),
        (
            "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+f\n",
            "symbolic link",
        ),
    ] {
        let (code, message) = desk.err("patch", json!({"patch": patch}));
        assert_eq!(code, ToolCode::InvalidInput, "{patch:?}: {message}");
        assert!(message.contains(part), "{patch:?}: {message}");
    }
}

#[test]
fn a_hostile_file_costs_no_time() {
    let before = "same\n".repeat(300_000);
    let hunk: String = " same\n".repeat(20_000) + "-other\n+x\n";
    let desk = Desk::with(&[("f", &format!("{before}other\n"))]);
    let started = std::time::Instant::now();
    desk.ok("patch", json!({"patch": unified(&format!("@@ @@\n{hunk}"))}));
    assert_eq!(
        desk.err("patch", json!({"patch": unified("@@ @@\n same\n-same\n+x\n")})).0,
        ToolCode::PatchRejected
    );
    assert!(started.elapsed() < Duration::from_secs(180), "{:?}", started.elapsed());
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// The diff between two texts, as a diff program makes it, turns the one into the other.
        #[test]
        fn a_diff_leads_from_one_text_to_the_other(
            old in "([abc]{0,2}(\r?\n)){0,12}[abc]{0,2}",
            new in "([abc]{0,2}(\r?\n)){0,12}[abc]{0,2}",
        ) {
            prop_assume!(old != new);
            let diff = similar::TextDiff::from_lines(&old, &new);
            let patch = diff.unified_diff().header("a/f", "b/f").to_string();
            prop_assert_eq!(patched(&old, &patch), Ok(new), "{}", patch);
        }

        /// No text whatever makes the tool panic, or change a file it does not say it changed.
        #[test]
        fn any_text_is_applied_or_refused(
            lines in prop::collection::vec(
                prop_oneof![
                    Just("--- a/f"), Just("+++ b/f"), Just("@@ -1,2 +1,2 @@"), Just("@@"), Just(" a"), Just("-a"), Just("+b"),
                    Just("\\ No newline"), Just("*** Begin Patch"), Just("*** Update File: f"), Just("*** Add File: g"),
                    Just("*** Delete File: f"), Just("*** Move to: h"), Just("*** End of File"), Just(""), Just("é"), Just("\r"),
                    Just("diff --git a/f b/f"), Just("rename from f"), Just("rename to h"), Just("deleted file mode 100644"),
                ],
                0..14,
            )
        ) {
            let desk = Desk::with(&[("f", "a\nb\n")]);
            match desk.call("patch", json!({"patch": lines.join("\n")})) {
                ToolOutput::Ok(data) => prop_assert!(!data["files"].as_array().unwrap().is_empty()),
                ToolOutput::Err(_) => {
                    prop_assert_eq!(desk.content("f"), "a\nb\n");
                    prop_assert_eq!(fs::read_dir(desk.dir.path()).unwrap().count(), 1);
                }
            }
        }
    }
}

#[test]
fn lines_that_are_not_utf8_are_left_alone_by_a_patch() {
    let desk = Desk::new();
    let before = b"caf\xe9\none\ntwo\n";
    fs::write(desk.path("f"), before).unwrap();
    let patch = |hunk: &str| desk.call("patch", json!({"patch": unified(hunk)}));
    assert!(patch("@@ -2,2 +2,2 @@\n one\n-two\n+2\n").is_ok());
    assert_eq!(fs::read(desk.path("f")).unwrap(), b"caf\xe9\none\n2\n");
    let ToolOutput::Err(error) = patch("@@ -1,2 +1,2 @@\n caf\u{fffd}\n-one\n+1\n") else {
        panic!("applied")
    };
    assert_eq!(error.code, ToolCode::PatchRejected);
    assert!(error.message.contains("leave such lines out"), "{error}");
    let ToolOutput::Err(error) = patch("@@ -2,1 +2,1 @@\n-one\n+caf\u{fffd}\n") else { panic!("applied") };
    assert_eq!(error.code, ToolCode::PatchRejected);
    assert!(error.message.contains("U+FFFD"), "{error}");
    assert_eq!(fs::read(desk.path("f")).unwrap(), b"caf\xe9\none\n2\n");
}

#[test]
fn a_byte_order_mark_may_be_named_or_not() {
    for (before, hunk, after) in [
        ("\u{feff}a\nb\n", "@@ -1,2 +1,2 @@\n-\u{feff}a\n+\u{feff}A\n b\n", "\u{feff}A\nb\n"),
        ("\u{feff}a\nb\n", "@@ -1,2 +1,2 @@\n \u{feff}a\n-b\n+B\n", "\u{feff}a\nB\n"),
        ("\u{feff}a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "\u{feff}A\nb\n"),
        ("\u{feff}a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+\u{feff}A\n b\n", "\u{feff}A\nb\n"),
        // Who names it says whether it stays.
        ("\u{feff}a\nb\n", "@@ -1,2 +1,2 @@\n-\u{feff}a\n+a\n b\n", "a\nb\n"),
        ("a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+\u{feff}a\n b\n", "\u{feff}a\nb\n"),
        ("\u{feff}a\nb\n", "@@ -1,2 +1 @@\n-\u{feff}a\n b\n", "b\n"),
        ("\u{feff}a\r\nb\r\n", "@@ -1,2 +1,2 @@\n-\u{feff}a\n+\u{feff}A\n b\n", "\u{feff}A\r\nb\r\n"),
        ("a\n\u{feff}b\n", "@@ -2 +2 @@\n-\u{feff}b\n+b\n", "a\nb\n"),
    ] {
        assert_eq!(patched(before, &unified(hunk)), Ok(after.to_owned()), "{before:?} {hunk:?}");
        if after.starts_with('\u{feff}') {
            let hunk = hunk.split_once('\n').unwrap().1;
            let patch = envelope(&format!("@@\n{hunk}"));
            assert_eq!(patched(before, &patch), Ok(after.to_owned()), "{before:?} {patch:?}");
        }
    }
    let desk = Desk::with(&[("f", "\u{feff}a\n"), ("g", "\u{feff}a\n")]);
    let delete = |name: &str, line: &str| format!("--- a/{name}\n+++ /dev/null\n@@ -1 +0,0 @@\n-{line}\n");
    desk.ok("patch", json!({"patch": delete("f", "\u{feff}a") + &delete("g", "a")}));
    assert!(!desk.path("f").exists() && !desk.path("g").exists());
}

/// What git says is the difference between two files makes the one of the other.
#[test]
fn diffs_of_git_apply_to_files_with_marks_and_any_line_ends() {
    let dir = tempfile::tempdir().unwrap();
    let texts = [
        "a\nb\nc\n",
        "a\r\nb\r\nc\r\n",
        "a\nb\r\nc",
        "\u{feff}a\nb\nc\n",
        "\u{feff}a\r\nB\r\nc",
        "\u{feff}",
        "\u{feff}x\na\n",
    ];
    for (before, after) in texts.iter().flat_map(|one| texts.iter().map(move |other| (one, other))) {
        if before == after {
            continue;
        }
        fs::write(dir.path().join("old"), before).unwrap();
        fs::write(dir.path().join("new"), after).unwrap();
        let git = std::process::Command::new("git")
            .args(["-c", "core.autocrlf=false", "diff", "--no-index", "--no-color", "old", "new"])
            .current_dir(dir.path())
            .output()
            .expect("install git: this test compares with it");
        let diff = String::from_utf8(git.stdout).unwrap();
        let hunks = &diff[diff.find("@@").unwrap()..];
        assert_eq!(patched(before, &unified(hunks)), Ok((*after).to_owned()), "{before:?}\n{diff}");
    }
}
