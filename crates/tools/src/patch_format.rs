//! A patch as text, and what it asks for. Reads two forms: unified diffs, as `git diff` and `diff -u` make them, and the
//! `*** Begin Patch` envelope. The only reader of patches; knows nothing of the files they are about.

use zdx_protocol::ToolError;

mod envelope;
mod names;
mod unified;

/// What is to happen to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchSection {
    pub path: String,
    pub change: PatchSectionKind,
    pub hunks: Vec<PatchHunk>,
    /// Set when the patch says so.
    pub executable: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchSectionKind {
    Add,
    Update { move_to: Option<String> },
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HunkLineSign {
    Context,
    Remove,
    Add,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchHunk {
    /// Where it stands in the patch, from 1.
    pub line: usize,
    /// The first line it is about in the old file, from 1, if the patch says so.
    pub at: Option<usize>,
    /// Lines that come before it in the file, not necessarily right before.
    pub anchors: Vec<String>,
    pub lines: Vec<(HunkLineSign, String)>,
    /// Its last line is the last of the file.
    pub at_end: bool,
    /// The old, and the new, last line has no line end.
    pub open_old: bool,
    pub open_new: bool,
}

impl PatchHunk {
    pub fn old_lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(|(sign, _)| *sign != HunkLineSign::Add).map(|(_, text)| text.as_str())
    }

    /// Adds a line as it stands in a patch, sign first; false if it is none.
    fn push(&mut self, line: &str) -> bool {
        let (sign, text) = match (line.chars().next(), line.get(1..)) {
            // Editors and models drop the blank of an empty line.
            (None, _) => (HunkLineSign::Context, ""),
            (Some('\r'), Some("")) => (HunkLineSign::Context, "\r"),
            (Some(' '), Some(text)) => (HunkLineSign::Context, text),
            (Some('-'), Some(text)) => (HunkLineSign::Remove, text),
            (Some('+'), Some(text)) => (HunkLineSign::Add, text),
            (Some(_), _) => return false,
        };
        self.lines.push((sign, text.to_owned()));
        true
    }

    /// `\ No newline at end of file`, after the line it is about.
    fn no_newline(&mut self) {
        match self.lines.last() {
            Some((HunkLineSign::Context, _)) => (self.open_old, self.open_new) = (true, true),
            Some((HunkLineSign::Remove, _)) => self.open_old = true,
            Some((HunkLineSign::Add, _)) => self.open_new = true,
            None => {}
        }
        self.at_end = true;
    }

    /// Empty lines at the end are those between two parts of a patch.
    fn drop_empty_end(&mut self) {
        while self
            .lines
            .last()
            .is_some_and(|(sign, text)| *sign == HunkLineSign::Context && text.trim().is_empty())
        {
            self.lines.pop();
        }
    }
}

pub fn parse(text: &str) -> Result<Vec<PatchSection>, ToolError> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    // A patch written with CRLF throughout says nothing about the files' line ends.
    if lines.iter().all(|line| line.ends_with('\r')) {
        lines.iter_mut().for_each(|line| *line = &line[..line.len() - 1]);
    }
    let sections = match lines.iter().any(|line| envelope::is_header(line)) {
        true => envelope::parse(&lines)?,
        false => unified::parse(&lines)?,
    };
    let idle = |section: &&PatchSection| {
        section.change == (PatchSectionKind::Update { move_to: None })
            && section.hunks.is_empty()
            && section.executable.is_none()
    };
    if let Some(section) = sections.iter().find(idle) {
        return Err(ToolError::invalid(format!(
            "the patch names {} and changes nothing in it",
            section.path
        )));
    }
    match sections.is_empty() {
        true => Err(ToolError::invalid(
            "`patch` holds no change: give a unified diff (---, +++, @@), or *** Begin Patch with *** Update File: and so on",
        )),
        false => Ok(sections),
    }
}

/// The files that a patch names, as it names them; none if it cannot be read.
pub fn paths(text: &str) -> Vec<String> {
    let named = |section: PatchSection| match section.change {
        PatchSectionKind::Update { move_to: Some(to) } => vec![section.path, to],
        PatchSectionKind::Add | PatchSectionKind::Delete | PatchSectionKind::Update { move_to: None } => {
            vec![section.path]
        }
    };
    parse(text).unwrap_or_default().into_iter().flat_map(named).collect()
}

/// `-12,5 +13,6`: the first old line and both lengths.
fn ranges(text: &str) -> Option<(usize, usize, usize)> {
    let (old, new) = text.trim().strip_prefix('-')?.split_once(" +")?;
    let range = |text: &str| match text.split_once(',') {
        Some((start, length)) => Some((start.parse().ok()?, length.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    let (start, old): (usize, usize) = range(old)?;
    let (_, new): (usize, usize) = range(new.trim_end())?;
    Some((start, old, new))
}

fn unreadable(line: usize, text: &str) -> ToolError {
    let text: String = text.chars().take(80).collect();
    ToolError::invalid(format!(
        "line {line} of the patch cannot be read: {text:?}; in a hunk each line begins with a blank, `+` or `-`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_its_files() {
        let envelope = "*** Begin Patch\n*** Add File: new.rs\n+x\n*** Update File: old.rs\n*** Move to: sub/old.rs\n\
                        *** Delete File: gone.rs\n*** End Patch";
        assert_eq!(paths(envelope), ["new.rs", "old.rs", "sub/old.rs", "gone.rs"]);
        let unified = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- no header\n+++ this neither\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n";
        assert_eq!(paths(unified), ["x", "y"], "lines of a hunk are no names");
        assert_eq!(paths("no patch"), Vec::<String>::new());
    }
}
