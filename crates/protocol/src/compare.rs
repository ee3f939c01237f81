//! What differs between two texts, and how alike they are. One comparison over numbers, whatever they stand for: the
//! library's own front door is built anew for every kind of thing and every algorithm it knows, over a megabyte of program.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::Hash;
use std::time::Instant;

use similar::algorithms::{Capture, Compact, Replace, myers};
pub use similar::{DiffOp, DiffTag};
use similar::{group_diff_ops, udiff::UnifiedHunkHeader};

/// What has to happen to the one to become the other. After the deadline it is a rougher answer, but a true one.
pub fn differences<T: Copy + Eq + Hash>(old: &[T], new: &[T], deadline: Option<Instant>) -> Vec<DiffOp> {
    let mut numbers: HashMap<T, usize> = HashMap::new();
    let mut number = |item: &T| {
        let next = numbers.len();
        *numbers.entry(*item).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(&mut number).collect();
    let new: Vec<usize> = new.iter().map(&mut number).collect();
    compare(&old, &new, deadline)
}

fn compare(old: &[usize], new: &[usize], deadline: Option<Instant>) -> Vec<DiffOp> {
    let mut found = Compact::new(Replace::new(Capture::new()), old, new);
    let compared = myers::diff_deadline(&mut found, old, 0..old.len(), new, 0..new.len(), deadline);
    match compared {
        Ok(()) => found.into_inner().into_inner().into_ops(),
        Err(never) => match never {},
    }
}

/// From 0, nothing in common, to 1.
pub fn likeness(one: &str, other: &str, deadline: Option<Instant>) -> f32 {
    let letters = |text: &str| text.chars().map(|c| c as usize).collect::<Vec<_>>();
    let (one, other) = (letters(one), letters(other));
    similar::diff_ratio(&compare(&one, &other, deadline), one.len(), other.len())
}

/// The `most` names that are nearest to this one, the nearest first, and none that is less than `least` like it.
pub fn nearest<'a>(name: &str, names: &[&'a str], most: usize, least: f32) -> Vec<&'a str> {
    let length = name.chars().count();
    let like = |candidate: &&'a str| {
        let other = candidate.chars().count();
        // They cannot have more in common than the shorter one has.
        let at_best = 2.0 * length.min(other) as f32 / (length + other).max(1) as f32;
        let likeness = if at_best < least { 0.0 } else { likeness(name, candidate, None) };
        (likeness >= least).then_some((likeness, *candidate))
    };
    let mut near: Vec<(f32, &str)> = names.iter().filter_map(like).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().take(most).map(|(_, name)| name).collect()
}

/// Two texts, line by line. Lines are compared by their bytes, so two that read alike still differ.
pub struct LineDiff<'a> {
    old: Vec<&'a [u8]>,
    new: Vec<&'a [u8]>,
    ops: Vec<DiffOp>,
}

impl<'a> LineDiff<'a> {
    pub fn new<T: AsRef<[u8]> + ?Sized>(old: &'a T, new: &'a T, deadline: Option<Instant>) -> Self {
        let (old, new) = (lines(old.as_ref()), lines(new.as_ref()));
        let ops = differences(&old, &new, deadline);
        Self { old, new, ops }
    }

    /// Lines that came, and lines that went.
    pub fn counts(&self) -> (usize, usize) {
        let changed = self.ops.iter().filter(|op| op.tag() != DiffTag::Equal);
        changed.fold((0, 0), |(come, gone), op| (come + op.new_range().len(), gone + op.old_range().len()))
    }

    /// As parts of a unified diff, with so many lines around each change.
    pub fn hunks(&self, around: usize) -> impl Iterator<Item = String> {
        group_diff_ops(self.ops.clone(), around).into_iter().map(|ops| self.hunk(&ops))
    }

    /// All of them.
    pub fn unified(&self, around: usize) -> String {
        self.hunks(around).collect()
    }

    fn hunk(&self, ops: &[DiffOp]) -> String {
        let mut text = format!("{}\n", UnifiedHunkHeader::new(ops));
        for op in ops {
            let (old, new) = (&self.old[op.old_range()], &self.new[op.new_range()]);
            match op.tag() {
                DiffTag::Equal => old.iter().for_each(|line| put(&mut text, ' ', line)),
                DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                    old.iter().for_each(|line| put(&mut text, '-', line));
                    new.iter().for_each(|line| put(&mut text, '+', line));
                }
            }
        }
        text
    }
}

fn put(text: &mut String, sign: char, line: &[u8]) {
    let _ = write!(text, "{sign}{}", with_bytes_visible(line));
    if !line.ends_with(b"\r") && !line.ends_with(b"\n") {
        text.push_str("\n\\ No newline at end of file\n");
    }
}

/// Returns the text with each byte that is not UTF-8 written as `\xE9`.
pub fn with_bytes_visible(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| _ = write!(text, r"\x{byte:02X}"));
    }
    Cow::Owned(text)
}

/// Each with its end, which may be that of any system.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        let end = at + if rest[at..].starts_with(b"\r\n") { 2 } else { 1 };
        lines.push(&rest[..end]);
        rest = &rest[end..];
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use similar::TextDiff;

    use super::*;

    /// The text that a unified diff makes of another.
    fn patched(old: &str, diff: &str) -> String {
        let texts = |text: &'_ str| -> Vec<String> {
            lines(text.as_bytes()).into_iter().map(|line| String::from_utf8(line.to_vec()).unwrap()).collect()
        };
        let (old, mut at, mut out) = (texts(old), 0, String::new());
        let rest = texts(diff);
        let mut rest = rest.iter().map(String::as_str).peekable();
        while let Some(line) = rest.next() {
            if let Some(head) = line.strip_prefix("@@ -") {
                let (start, _) = head.split_once([',', ' ']).unwrap();
                let empty = head.split(' ').next().unwrap().ends_with(",0");
                let start = start.parse::<usize>().unwrap() - usize::from(!empty);
                out.extend(old[at..start].iter().map(String::as_str));
                at = start;
                continue;
            }
            let bare = rest.next_if(|next| next.starts_with('\\')).is_some();
            let body = if bare { line[1..].strip_suffix('\n').unwrap() } else { &line[1..] };
            match &line[..1] {
                " " => (out.push_str(body), at += 1).0,
                "-" => at += 1,
                _ => out.push_str(body),
            }
        }
        out.extend(old[at..].iter().map(String::as_str));
        out
    }

    fn text() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec!["a", "b", "", "{", "}", "中", "x y"]);
        let end = prop::sample::select(vec!["\n", "\n", "\n", "\r\n", "\r"]);
        let last = prop::sample::select(vec!["", "", "end"]);
        (prop::collection::vec((line, end), 0..40), last).prop_map(|(lines, last)| {
            lines.into_iter().map(|(line, end)| format!("{line}{end}")).chain([last.to_owned()]).collect()
        })
    }

    proptest! {
        #[test]
        fn a_diff_makes_the_one_out_of_the_other(old in text(), new in text()) {
            let diff = LineDiff::new(&old, &new, None);
            prop_assert_eq!(patched(&old, &diff.unified(3)), new);
        }

        #[test]
        fn it_reads_as_the_library_writes_it(old in text(), new in text()) {
            let ours = LineDiff::new(&old, &new, None);
            let theirs = TextDiff::from_lines(&old, &new);
            prop_assert_eq!(ours.unified(2), theirs.unified_diff().context_radius(2).to_string());
        }
    }

    #[test]
    fn a_line_that_differs_in_a_byte_that_is_no_text_is_shown() {
        let diff = LineDiff::new(&b"a\ncaf\xe9\n"[..], &b"a\ncaf\xe8\n"[..], None);
        assert_eq!(
            (diff.counts(), diff.unified(3)),
            ((1, 1), "@@ -1,2 +1,2 @@\n a\n-caf\\xE9\n+caf\\xE8\n".to_owned())
        );
        let diff = LineDiff::new(&b"\xff"[..], "\u{fffd}".as_bytes(), None);
        assert_eq!(diff.counts(), (1, 1));
    }

    #[test]
    fn lines_that_came_and_went_are_counted() {
        assert_eq!(LineDiff::new("a\nb\nc\n", "a\nx\ny\nc\n", None).counts(), (2, 1));
        assert_eq!(LineDiff::new("", "", None).unified(3), "");
    }

    #[test]
    fn the_nearest_names_come_first() {
        let names = ["main.rs", "mian.rs", "lib.rs", "completely-other", "mains.rs"];
        assert_eq!(nearest("main.rs", &names, 3, 0.6), ["main.rs", "mains.rs", "mian.rs"]);
        assert_eq!(nearest("zzz", &names, 3, 0.6), Vec::<&str>::new());
        assert!(likeness("", "", None) > 0.99);
    }
}
