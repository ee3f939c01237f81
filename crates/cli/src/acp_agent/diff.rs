//! A change, as a unified diff tells it, in the shape that editors draw: for each hunk the lines before and after.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zdx_protocol::display::diff::Head;

#[derive(Debug, PartialEq)]
struct Hunk {
    path: PathBuf,
    /// None where nothing was there.
    old: Option<String>,
    new: String,
}

/// `path` is the file that it is about, unless the diff names several itself; those are named from the root.
pub fn content(diff: &str, path: Option<&Path>, root: &Path) -> Vec<Value> {
    let shown = |hunk: Hunk| {
        let path = hunk.path.to_string_lossy();
        json!({"type": "diff", "path": path, "oldText": hunk.old, "newText": hunk.new})
    };
    hunks(diff, path, root).into_iter().map(shown).collect()
}

fn hunks(diff: &str, path: Option<&Path>, root: &Path) -> Vec<Hunk> {
    let mut path = path.map(Path::to_owned);
    let mut found = Vec::new();
    let mut lines = diff.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let Some((old_lines, new_lines)) = counts(line) else {
            if let Some(named) = Head::read(line).map(|head| head.path) {
                path = Some(root.join(named));
            }
            continue;
        };
        let Some(path) = path.clone() else { continue };
        let (mut old, mut new) = (String::new(), String::new());
        let (mut old_left, mut new_left) = (old_lines, new_lines);
        let mut last = ' ';
        while let Some(line) = lines.next_if(|line| old_left + new_left > 0 || line.starts_with('\\')) {
            let mut chars = line.chars();
            let sign = chars.next().unwrap_or(' ');
            let text = chars.as_str();
            match sign {
                '\\' => ended(last, &mut old, &mut new),
                '-' => {
                    old.push_str(text);
                    old_left = old_left.saturating_sub(1);
                }
                '+' => {
                    new.push_str(text);
                    new_left = new_left.saturating_sub(1);
                }
                ' ' => {
                    old.push_str(text);
                    new.push_str(text);
                    (old_left, new_left) = (old_left.saturating_sub(1), new_left.saturating_sub(1));
                }
                // It was cut here.
                _ => break,
            }
            last = sign;
        }
        found.push(Hunk { path, old: (old_lines > 0).then_some(old), new });
    }
    found
}

/// The line before has no end.
fn ended(last: char, old: &mut String, new: &mut String) {
    if last != '+' && old.ends_with('\n') {
        old.pop();
    }
    if last != '-' && new.ends_with('\n') {
        new.pop();
    }
}

/// Of `@@ -1,3 +1,4 @@`: how many lines there are on either side.
fn counts(line: &str) -> Option<(usize, usize)> {
    let mut words = line.strip_prefix("@@ -")?.split(' ');
    let count = |range: &str| match range.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => Some(1),
    };
    let old = count(words.next()?)?;
    let new = count(words.next()?.strip_prefix('+')?)?;
    Some((old, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(path: &str, old: Option<&str>, new: &str) -> Hunk {
        Hunk { path: path.into(), old: old.map(str::to_owned), new: new.to_owned() }
    }

    #[test]
    fn each_hunk_has_its_lines_before_and_after() {
        let diff = "@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n+d\n@@ -9 +10 @@\n-x\n+y\n";
        assert_eq!(
            hunks(diff, Some(Path::new("/w/f")), Path::new("/w")),
            [hunk("/w/f", Some("a\nb\nc\n"), "a\nB\nc\nd\n"), hunk("/w/f", Some("x\n"), "y\n")]
        );
    }

    #[test]
    fn a_new_file_has_nothing_before_and_a_last_line_may_have_no_end() {
        let root = Path::new("/w");
        let diff = "@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n";
        assert_eq!(hunks(diff, Some(Path::new("/w/f")), root), [hunk("/w/f", None, "one\ntwo")]);
        let diff = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n";
        assert_eq!(hunks(diff, Some(Path::new("/w/f")), root), [hunk("/w/f", Some("a"), "a\n")]);
    }

    #[test]
    fn several_files_are_named_in_the_diff_and_a_cut_ends_it() {
        let diff = "a (updated, +1 -1)\n@@ -1 +1 @@\n-a (x, +1 -1)\n+b\nsub/c (created, +9 -0)\n@@ -0,0 +1,9 @@\n+c\n\n(the rest of the diff is not shown)\n";
        assert_eq!(
            hunks(diff, None, Path::new("/w")),
            [hunk("/w/a", Some("a (x, +1 -1)\n"), "b\n"), hunk("/w/sub/c", None, "c\n")]
        );
    }
}
