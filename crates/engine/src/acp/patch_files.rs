//! Finds the files that the text of a patch names, in every notation that agents use. Takes too many lines for headers
//! rather than too few. Applies nothing.

/// Line breaks of some programs, besides `\n`. A header behind one of them counts.
const OTHER_BREAKS: [char; 9] =
    ['\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];

/// Words between `***` and the file's name, in lower case.
const ENVELOPE: [&str; 8] =
    ["add file", "update file", "delete file", "move file", "move to", "rename file", "rename to", "copy to"];

/// Headers of a patch with the name behind them.
const NAMING: [&str; 7] = ["--- ", "+++ ", "Index: ", "rename from ", "rename to ", "copy from ", "copy to "];

/// Lines of a patch that name nothing.
const SILENT: [&str; 6] = [
    "index ",
    "old mode 100",
    "new mode 100",
    "new file mode 100",
    "deleted file mode 100",
    "similarity index ",
];

/// The files that a patch names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PatchFiles {
    /// Names as written, and without their first folder where that may be the `a/` or `b/` of a diff.
    pub named: Vec<String>,
    /// Every line is one that patches have, so no other file is meant.
    pub is_complete: bool,
}

/// The meaning of one line.
enum PatchLine {
    /// These names; one that cannot be read makes the patch incomplete.
    Header(Option<Vec<String>>),
    /// Part of a patch that names nothing.
    Plain,
    Other,
}

impl PatchFiles {
    pub(super) fn of(text: &str) -> Self {
        let mut files = Self { named: Vec::new(), is_complete: true };
        for line in text.split('\n') {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let mut pieces = line.split(OTHER_BREAKS);
            let first = pieces.next().unwrap_or_default();
            if matches!(read_line(first), PatchLine::Other) {
                files.is_complete = false;
            }
            for piece in std::iter::once(first).chain(pieces) {
                match read_line(piece) {
                    PatchLine::Header(Some(names)) => files.named.extend(names),
                    PatchLine::Header(None) => files.is_complete = false,
                    PatchLine::Plain | PatchLine::Other => {}
                }
            }
        }
        files.named.sort();
        files.named.dedup();
        files
    }
}

fn read_line(line: &str) -> PatchLine {
    // Some programs take an indented patch, and one that a mail quotes.
    let bare = line.trim_start_matches([' ', '\t', 'X']);
    if let Some(header) = bare.strip_prefix("***") {
        return envelope(header.trim());
    }
    if let Some(names) = bare.strip_prefix("diff ") {
        return PatchLine::Header(both_names(names));
    }
    if let Some(name) = NAMING.iter().find_map(|header| bare.strip_prefix(header)) {
        return PatchLine::Header(spellings(name));
    }
    let silent = bare.is_empty()
        || line.starts_with(['+', '-', ' ', '\t', '\\'])
        || bare.starts_with("@@")
        || bare.chars().all(|c| c == '=')
        || SILENT.iter().any(|start| bare.starts_with(start));
    if silent { PatchLine::Plain } else { PatchLine::Other }
}

/// `Update File: NAME`; the markers of beginning and end name nothing.
fn envelope(header: &str) -> PatchLine {
    if matches!(header, "Begin Patch" | "End Patch" | "End of File") {
        return PatchLine::Plain;
    }
    let named = header.split_once(':').filter(|(words, _)| {
        let words = words.trim().to_ascii_lowercase();
        ENVELOPE.contains(&words.as_str())
    });
    match named {
        Some((_, name)) if !name.trim().is_empty() => PatchLine::Header(Some(vec![name.trim().to_owned()])),
        Some(_) | None => PatchLine::Header(None),
    }
}

/// The two names of `diff --git a/NAME b/NAME`, which blanks divide as well as they may.
fn both_names(line: &str) -> Option<Vec<String>> {
    let names = line.strip_prefix("--git ")?.trim_end();
    let half = names.len() / 2;
    let same = names.is_char_boundary(half) && names.as_bytes().get(half) == Some(&b' ');
    let (old, new) = match same.then(|| names.split_at(half)) {
        Some((old, new)) if old.split_once('/')?.1 == new.split_once('/')?.1 => (old, &new[1..]),
        _ => names.split_once(' ').filter(|(_, new)| !new.contains(' '))?,
    };
    Some([spellings(old)?, spellings(new)?].concat())
}

/// The ways to read the name in a header: to the tab before a date or to the first blank, and with or without its first
/// folder. None where it is quoted.
fn spellings(header: &str) -> Option<Vec<String>> {
    let whole = header.split('\t').next().unwrap_or_default().trim();
    match whole {
        "/dev/null" => return Some(Vec::new()),
        quoted if quoted.starts_with('"') => return None,
        _ => {}
    }
    let short = whole.split_whitespace().next().unwrap_or_default();
    let mut names = vec![whole, short];
    names.extend([whole, short].iter().filter_map(|name| Some(name.split_once('/')?.1)));
    names.retain(|name| !name.is_empty());
    Some(names.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_header_names_its_files() {
        for (text, named) in [
            ("", &[][..]),
            ("@@ -1 +1 @@\n-x\n+y\n", &[]),
            ("--- a/x\n+++ b/y/z\n@@ -1 +1 @@\n-x\n+y\n", &["a/x", "b/y/z", "x", "y/z"]),
            ("--- /dev/null\t1970\n+++ .envrc\t2020-01-01 00:00\n", &[".envrc"]),
            ("+++ .envrc 2020-01-01\n", &[".envrc", ".envrc 2020-01-01"]),
            (
                "diff --git a/m n b/m n\nnew file mode 100644\nindex 1..2\n",
                &["a/m", "a/m n", "b/m", "b/m n", "m", "m n"],
            ),
            (
                "diff --git a/x b/y\nsimilarity index 9%\nrename from x\nrename to y\n",
                &["a/x", "b/y", "x", "y"],
            ),
            ("Index: x\n====\n", &["x"]),
            (
                "*** Begin Patch\n*** Add File: x\n+1\n *** Update File:y\n*** Move to: z\n*** End Patch",
                &["x", "y", "z"],
            ),
            ("*** Delete File: my file\r\n", &["my file"]),
            ("+text\u{2028}*** Update File: x\n-text\r+++ y\n", &["x", "y"]),
            ("  --- x\nX+++ y\n", &["x", "y"]),
        ] {
            let files = PatchFiles::of(text);
            assert_eq!(files.named, named, "{text:?}");
            assert!(files.is_complete, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_patch_is_incomplete() {
        for text in [
            "s/x/y/",
            "--- \"a/\\056envrc\"\n",
            "*** Create Link: x\n",
            "*** x\n--- x\n",
            "diff -u x y\n",
            "diff --git a/x y b/z\n",
            "GIT binary patch\n",
            "diff --git a/x b/x\nnew file mode 120000\n",
            "1d\nw .envrc\n",
        ] {
            assert!(!PatchFiles::of(text).is_complete, "{text:?}");
        }
    }
}
