//! A change as lines to colour: what a person reads before and after a file is written.
//! Holds no colours itself; the text alone, with its signs, says everything.

use similar::TextDiff;

use super::format::count;
use super::sanitize::visible_line;
use super::text::truncate_width;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Add,
    Remove,
    Context,
    Hunk,
    /// Ours, not the file's: what was left out, a missing final newline.
    Note,
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

/// How much of a change is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub columns: usize,
    pub lines: usize,
}

/// Renders a unified diff. File headers are left out, for the caller has named the file; further files of the
/// same diff are named in notes.
pub fn unified(diff: &str, bounds: Bounds) -> Vec<Line> {
    let mut reader = Reader::default();
    let mut lines: Vec<(LineKind, &str)> = diff.split('\n').filter_map(|line| reader.line(line)).collect();
    while lines.last().is_some_and(|(_, text)| text.is_empty()) {
        lines.pop();
    }
    // With CRLF everywhere the returns are no news; where they differ they are the change.
    let is_content = |kind: LineKind| matches!(kind, LineKind::Add | LineKind::Remove | LineKind::Context);
    let crlf = lines.iter().filter(|(kind, _)| is_content(*kind)).all(|(_, text)| text.ends_with('\r'));
    let render = |(kind, text): &(LineKind, &str)| {
        let text = if crlf { text.strip_suffix('\r').unwrap_or(text) } else { text };
        Line::new(*kind, truncate_width(&visible_line(&text.replace('\t', "    ")), bounds.columns))
    };
    // A note about a single missing line would take the room of that line.
    let shown = if lines.len() > bounds.lines { bounds.lines.saturating_sub(1) } else { lines.len() };
    let mut out: Vec<Line> = lines[..shown].iter().map(render).collect();
    if shown < lines.len() {
        out.push(more(lines.len() - shown));
    }
    out
}

/// The diff between two short texts; nothing for long ones, whose diff the tool itself must bound.
pub fn between(old: &str, new: &str, bounds: Bounds) -> Vec<Line> {
    const LONGEST: usize = 64 * 1024;
    if old.len() + new.len() > LONGEST {
        return Vec::new();
    }
    let diff = TextDiff::from_lines(old, new).unified_diff().context_radius(2).to_string();
    unified(&diff, bounds)
}

pub(super) fn more(n: usize) -> Line {
    Line::new(LineKind::Note, format!("… {}", count(n, "more line")))
}

/// Tells a hunk's lines from headers by counting: a removed `-- x` looks just like a header.
#[derive(Default)]
struct Reader {
    old_left: usize,
    new_left: usize,
    files: usize,
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
            LineKind::Note => '#',
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
        assert_eq!(lines[9], Line::new(LineKind::Note, "… 22 more lines"));
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
    fn carriage_returns_show_only_where_they_differ() {
        assert_eq!(between("a\r\nb\r\n", "a\r\nc\r\n", WIDE)[2].text, "-b");
        assert_eq!(between("a\r\n", "a\n", WIDE)[1].text, "-a\\r");
    }
}
