//! Unified diffs: of `git diff` with its headers, of `diff -u`, and as models write them, with wrong counts.

use zdx_protocol::ToolError;

use super::names;
use super::{HunkLineSign, PatchHunk, PatchSection, PatchSectionKind, ranges, unreadable};

pub(super) fn parse(lines: &[&str]) -> Result<Vec<PatchSection>, ToolError> {
    let mut reader = UnifiedDiffReader { lines, at: 0, sections: Vec::new(), header: None };
    while reader.at < lines.len() {
        reader.step()?;
    }
    reader.close_header()?;
    Ok(reader.sections)
}

struct UnifiedDiffReader<'a> {
    lines: &'a [&'a str],
    at: usize,
    sections: Vec<PatchSection>,
    /// What `diff --git` and the lines after it say of a file whose hunks have not begun.
    header: Option<GitHeader>,
}

#[derive(Default)]
struct GitHeader {
    names: Option<(String, String)>,
    from: Option<String>,
    to: Option<String>,
    created: bool,
    deleted: bool,
    executable: Option<bool>,
}

impl UnifiedDiffReader<'_> {
    fn step(&mut self) -> Result<(), ToolError> {
        let line = self.lines[self.at];
        if let Some(rest) = line.strip_prefix("diff --git ") {
            self.close_header()?;
            self.header =
                Some(GitHeader { names: names::of_git_line(rest.trim_end()), ..GitHeader::default() });
        } else if line.starts_with("--- ") && self.next_starts("+++ ") {
            return self.names();
        } else if line.starts_with("@@") {
            return self.hunk();
        } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            return Err(ToolError::invalid(format!(
                "line {} of the patch is about a binary file: binary patches cannot be applied",
                self.at + 1
            )));
        } else if let Some(header) = &mut self.header {
            header.read(line)?;
        } else if !self.sections.is_empty() && self.is_stray(line) {
            return Err(unreadable(self.at + 1, line));
        }
        self.at += 1;
        Ok(())
    }

    /// A line of a hunk where there is none.
    fn is_stray(&self, line: &str) -> bool {
        line.starts_with(['+', '-', ' '])
            && !line.starts_with("-- ")
            && line != "--"
            && !line.trim().is_empty()
    }

    fn next_starts(&self, start: &str) -> bool {
        self.lines.get(self.at + 1).is_some_and(|line| line.starts_with(start))
    }

    fn names(&mut self) -> Result<(), ToolError> {
        let old = names::of_file_line(&self.lines[self.at][4..])?;
        let new = names::of_file_line(&self.lines[self.at + 1][4..])?;
        let header = self.header.take().unwrap_or_default();
        let names = names::pair(old, new)?;
        header.check(names.0.as_deref(), names.1.as_deref(), self.at + 1)?;
        self.sections.push(header.section(names)?);
        self.at += 2;
        Ok(())
    }

    /// A header that no `---` followed: a rename, a mode, an empty file.
    fn close_header(&mut self) -> Result<(), ToolError> {
        let Some(mut header) = self.header.take() else { return Ok(()) };
        if header.from.is_none() && header.executable.is_none() && !header.created && !header.deleted {
            return Ok(());
        }
        let names = header.names.take().or_else(|| header.from.clone().zip(header.to.clone()));
        let Some((old, new)) = names else {
            return Err(ToolError::invalid("a `diff --git` line names no file"));
        };
        let names = match (header.created, header.deleted) {
            (true, _) => (None, Some(new)),
            (_, true) => (Some(old), None),
            (false, false) => (Some(old), Some(new)),
        };
        self.sections.push(header.section(names)?);
        Ok(())
    }

    fn hunk(&mut self) -> Result<(), ToolError> {
        self.close_header()?;
        let (start, line) = (self.at, self.lines[self.at]);
        if self.sections.is_empty() {
            return Err(ToolError::invalid(format!(
                "the hunk at line {} of the patch comes before any file name (--- and +++ lines)",
                start + 1
            )));
        }
        let range = line[2..].split("@@").next().and_then(ranges);
        self.at += 1;
        let counted = range.and_then(|(_, old, new)| self.counted(old, new));
        let mut hunk = match counted {
            Some(hunk) => hunk,
            None => self.uncounted(start + 1)?,
        };
        hunk.line = start + 1;
        hunk.at = range.map(|(at, ..)| at);
        if hunk.lines.is_empty() {
            return Err(ToolError::invalid(format!("the hunk at line {} of the patch is empty", start + 1)));
        }
        if let Some(section) = self.sections.last_mut() {
            section.hunks.push(hunk);
        }
        Ok(())
    }

    /// The hunk by the lengths in its header, if what follows bears them out.
    fn counted(&mut self, mut old: usize, mut new: usize) -> Option<PatchHunk> {
        let (mut hunk, mut at) = (PatchHunk::default(), self.at);
        while old + new > 0 || self.lines.get(at).is_some_and(|line| line.starts_with('\\')) {
            let line = self.lines.get(at)?;
            at += 1;
            if line.starts_with('\\') {
                hunk.no_newline();
                continue;
            }
            if !hunk.push(line) {
                return None;
            }
            let (is_old, is_new) = match hunk.lines.last()?.0 {
                HunkLineSign::Context => (1, 1),
                HunkLineSign::Remove => (1, 0),
                HunkLineSign::Add => (0, 1),
            };
            (old, new) = (old.checked_sub(is_old)?, new.checked_sub(is_new)?);
        }
        let bears_out =
            self.lines.get(at).is_none_or(|line| line.trim().is_empty() || self.ends_hunk(at, line));
        bears_out.then(|| {
            self.at = at;
            hunk
        })
    }

    /// The hunk as far as its lines look like lines of a hunk.
    fn uncounted(&mut self, number: usize) -> Result<PatchHunk, ToolError> {
        let mut hunk = PatchHunk { line: number, ..PatchHunk::default() };
        while let Some(line) = self.lines.get(self.at) {
            if self.ends_hunk(self.at, line) {
                break;
            }
            if line.starts_with('\\') {
                hunk.no_newline();
            } else if !hunk.push(line) {
                return Err(unreadable(self.at + 1, line));
            }
            self.at += 1;
        }
        hunk.drop_empty_end();
        Ok(hunk)
    }

    fn ends_hunk(&self, at: usize, line: &str) -> bool {
        let next = |start: &str| self.lines.get(at + 1).is_some_and(|line| line.starts_with(start));
        ["@@", "diff ", "Index: ", "From ", "```"].iter().any(|start| line.starts_with(start))
            || line.starts_with("--- ") && next("+++ ")
            || line.trim_end() == "--"
            || line == "-- " && at + 3 >= self.lines.len()
    }
}

impl GitHeader {
    fn read(&mut self, line: &str) -> Result<(), ToolError> {
        let executable = |mode: &str| match mode.trim() {
            "100755" => Ok(Some(true)),
            "100644" | "100664" => Ok(Some(false)),
            "120000" => {
                Err(ToolError::invalid("the patch makes or changes a symbolic link: use bash for that"))
            }
            "160000" => Err(ToolError::invalid("the patch changes a submodule: use git for that")),
            _ => Ok(None),
        };
        if let Some(mode) = line.strip_prefix("new file mode ") {
            self.created = true;
            // What a new file gets anyway is nothing to set.
            self.executable = executable(mode)?.filter(|executable| *executable);
        } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
            self.deleted = true;
            executable(mode)?;
        } else if let Some(mode) = line.strip_prefix("new mode ") {
            self.executable = executable(mode)?;
        } else if let Some(from) = line.strip_prefix("rename from ") {
            self.from = Some(names::of_file_line(from)?.unwrap_or_default());
        } else if let Some(to) = line.strip_prefix("rename to ") {
            self.to = Some(names::of_file_line(to)?.unwrap_or_default());
        } else if line.starts_with("copy from ") {
            return Err(ToolError::invalid(
                "the patch copies a file: copies cannot be applied, add the file instead",
            ));
        }
        Ok(())
    }

    /// What is shown and judged by one header must not be done to the file of another.
    fn check(&self, old: Option<&str>, new: Option<&str>, line: usize) -> Result<(), ToolError> {
        let named = self.names.as_ref().map(|(old, new)| (old, new));
        let renamed = self.from.as_ref().zip(self.to.as_ref());
        for (before, after) in named.into_iter().chain(renamed) {
            let other = old.filter(|old| old != before).map(|old| (before, old));
            if let Some((one, two)) = other.or(new.filter(|new| new != after).map(|new| (after, new))) {
                return Err(ToolError::invalid(format!(
                    "the headers at line {line} of the patch disagree about the file: {one} and {two}"
                )));
            }
        }
        Ok(())
    }

    /// None stands for /dev/null.
    fn section(self, names: (Option<String>, Option<String>)) -> Result<PatchSection, ToolError> {
        let (path, change) = match (self.from, self.to, names) {
            (Some(from), Some(to), _) => (from, PatchSectionKind::Update { move_to: Some(to) }),
            (_, _, (None, Some(new))) => (new, PatchSectionKind::Add),
            (_, _, (Some(old), None)) => (old, PatchSectionKind::Delete),
            (_, _, (Some(_), Some(new))) => (new, PatchSectionKind::Update { move_to: None }),
            (_, _, (None, None)) => {
                return Err(ToolError::invalid("a file of the patch has no name on either side"));
            }
        };
        Ok(PatchSection { path, change, hunks: Vec::new(), executable: self.executable })
    }
}
