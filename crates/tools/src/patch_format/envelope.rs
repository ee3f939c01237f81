//! The `*** Begin Patch` form: files by name, hunks by their context.

use zdx_protocol::ToolError;

use super::{HunkLineSign, PatchHunk, PatchSection, PatchSectionKind, ranges, unreadable};

enum EnvelopeHeader<'a> {
    Begin,
    End,
    Add(&'a str),
    Update(&'a str),
    Delete(&'a str),
    MoveTo(&'a str),
    EndOfFile,
}

fn header(line: &str) -> Option<EnvelopeHeader<'_>> {
    let rest = line.trim().strip_prefix("*** ")?;
    let named = |start: &str| rest.strip_prefix(start).map(str::trim);
    Some(match rest {
        "Begin Patch" => EnvelopeHeader::Begin,
        "End Patch" => EnvelopeHeader::End,
        "End of File" => EnvelopeHeader::EndOfFile,
        _ => named("Add File:")
            .map(EnvelopeHeader::Add)
            .or_else(|| named("Update File:").map(EnvelopeHeader::Update))
            .or_else(|| named("Delete File:").map(EnvelopeHeader::Delete))
            .or_else(|| named("Move to:").map(EnvelopeHeader::MoveTo))?,
    })
}

/// A line that only this form has. In a hunk each line begins with a sign.
pub(super) fn is_header(line: &str) -> bool {
    line.starts_with("***") && header(line).is_some()
}

pub(super) fn parse(lines: &[&str]) -> Result<Vec<PatchSection>, ToolError> {
    let begin = lines.iter().position(|line| matches!(header(line), Some(EnvelopeHeader::Begin)));
    let mut sections: Vec<PatchSection> = Vec::new();
    // What stands before is how the patch was handed over: a fence, a here-document.
    for (at, line) in lines.iter().enumerate().skip(begin.map_or(0, |at| at + 1)) {
        let found = if line.starts_with("***") { header(line) } else { None };
        match (found, sections.last_mut()) {
            (Some(EnvelopeHeader::End), _) => break,
            (Some(EnvelopeHeader::Begin), _) => {}
            (Some(EnvelopeHeader::Add(path)), _) => sections.push(section(path, PatchSectionKind::Add)),
            (Some(EnvelopeHeader::Delete(path)), _) => sections.push(section(path, PatchSectionKind::Delete)),
            (Some(EnvelopeHeader::Update(path)), _) => {
                sections.push(section(path, PatchSectionKind::Update { move_to: None }));
            }
            (
                Some(EnvelopeHeader::MoveTo(to)),
                Some(PatchSection { change: PatchSectionKind::Update { move_to }, hunks, .. }),
            ) if hunks.is_empty() => {
                *move_to = Some(to.to_owned());
            }
            (Some(EnvelopeHeader::EndOfFile), Some(PatchSection { hunks, .. })) if !hunks.is_empty() => {
                if let Some(hunk) = hunks.last_mut() {
                    hunk.drop_empty_end();
                    hunk.at_end = true;
                }
            }
            (None, Some(section)) => section.body(line, at + 1)?,
            (None, None) if line.trim().is_empty() => {}
            (Some(EnvelopeHeader::MoveTo(_) | EnvelopeHeader::EndOfFile) | None, _) => {
                return Err(unreadable(at + 1, line));
            }
        }
    }
    for section in &mut sections {
        section.finish()?;
    }
    Ok(sections)
}

fn section(path: &str, change: PatchSectionKind) -> PatchSection {
    PatchSection { path: path.to_owned(), change, hunks: Vec::new(), executable: None }
}

impl PatchSection {
    fn body(&mut self, line: &str, number: usize) -> Result<(), ToolError> {
        if matches!(self.change, PatchSectionKind::Update { .. })
            && let Some(anchor) = line.strip_prefix("@@")
        {
            self.anchor(anchor, number);
            return Ok(());
        }
        if self.hunks.is_empty() {
            self.hunks.push(PatchHunk { line: number, ..PatchHunk::default() });
        }
        let added = match (self.hunks.last_mut(), &self.change) {
            (Some(hunk), _) if line.starts_with('\\') => {
                hunk.no_newline();
                true
            }
            // Only a line that comes after it tells an empty line of the file from one between two parts.
            (Some(hunk), PatchSectionKind::Add) if line.is_empty() => hunk.push(""),
            (Some(hunk), PatchSectionKind::Add) => line.starts_with('+') && hunk.push(line),
            (Some(hunk), PatchSectionKind::Update { .. }) => hunk.push(line),
            (_, PatchSectionKind::Delete) => line.trim().is_empty(),
            (None, _) => false,
        };
        if added { Ok(()) } else { Err(unreadable(number, line)) }
    }

    fn anchor(&mut self, text: &str, number: usize) {
        let fresh = self.hunks.last().is_none_or(|hunk| !hunk.lines.is_empty() || hunk.at_end);
        if fresh {
            if let Some(hunk) = self.hunks.last_mut() {
                hunk.drop_empty_end();
            }
            self.hunks.push(PatchHunk { line: number, ..PatchHunk::default() });
        }
        let Some(hunk) = self.hunks.last_mut() else { return };
        let text = text.strip_suffix("@@").unwrap_or(text);
        match (ranges(text), text.trim()) {
            (Some((at, ..)), _) => hunk.at = Some(at),
            (None, "") => {}
            (None, _) => hunk.anchors.push(text.strip_prefix(' ').unwrap_or(text).trim_end().to_owned()),
        }
    }

    fn finish(&mut self) -> Result<(), ToolError> {
        if self.path.is_empty() {
            return Err(ToolError::invalid("a header of the patch names no file"));
        }
        match self.change {
            PatchSectionKind::Delete => self.hunks.clear(),
            PatchSectionKind::Add => {
                if let Some(hunk) = self.hunks.last_mut() {
                    hunk.drop_empty_end();
                    hunk.lines.iter_mut().for_each(|(sign, _)| *sign = HunkLineSign::Add);
                }
            }
            PatchSectionKind::Update { .. } => {
                self.hunks.iter_mut().filter(|hunk| !hunk.at_end).for_each(PatchHunk::drop_empty_end);
                if let Some(empty) = self.hunks.iter().find(|hunk| hunk.lines.is_empty()) {
                    return Err(ToolError::invalid(format!(
                        "the hunk at line {} of the patch is empty",
                        empty.line
                    )));
                }
            }
        }
        Ok(())
    }
}
