//! The `*** Begin Patch` form: files by name, hunks by their context.

use zdx_protocol::ToolError;

use super::{Hunk, Section, SectionKind, Sign, ranges, unreadable};

enum Header<'a> {
    Begin,
    End,
    Add(&'a str),
    Update(&'a str),
    Delete(&'a str),
    MoveTo(&'a str),
    EndOfFile,
}

fn header(line: &str) -> Option<Header<'_>> {
    let rest = line.trim().strip_prefix("*** ")?;
    let named = |start: &str| rest.strip_prefix(start).map(str::trim);
    Some(match rest {
        "Begin Patch" => Header::Begin,
        "End Patch" => Header::End,
        "End of File" => Header::EndOfFile,
        _ => named("Add File:")
            .map(Header::Add)
            .or_else(|| named("Update File:").map(Header::Update))
            .or_else(|| named("Delete File:").map(Header::Delete))
            .or_else(|| named("Move to:").map(Header::MoveTo))?,
    })
}

/// A line that only this form has. In a hunk each line begins with a sign.
pub(super) fn is_header(line: &str) -> bool {
    line.starts_with("***") && header(line).is_some()
}

pub(super) fn parse(lines: &[&str]) -> Result<Vec<Section>, ToolError> {
    let begin = lines.iter().position(|line| matches!(header(line), Some(Header::Begin)));
    let mut sections: Vec<Section> = Vec::new();
    // What stands before is how the patch was handed over: a fence, a here-document.
    for (at, line) in lines.iter().enumerate().skip(begin.map_or(0, |at| at + 1)) {
        let found = if line.starts_with("***") { header(line) } else { None };
        match (found, sections.last_mut()) {
            (Some(Header::End), _) => break,
            (Some(Header::Begin), _) => {}
            (Some(Header::Add(path)), _) => sections.push(section(path, SectionKind::Add)),
            (Some(Header::Delete(path)), _) => sections.push(section(path, SectionKind::Delete)),
            (Some(Header::Update(path)), _) => {
                sections.push(section(path, SectionKind::Update { move_to: None }));
            }
            (
                Some(Header::MoveTo(to)),
                Some(Section { change: SectionKind::Update { move_to }, hunks, .. }),
            ) if hunks.is_empty() => {
                *move_to = Some(to.to_owned());
            }
            (Some(Header::EndOfFile), Some(Section { hunks, .. })) if !hunks.is_empty() => {
                if let Some(hunk) = hunks.last_mut() {
                    hunk.drop_empty_end();
                    hunk.at_end = true;
                }
            }
            (None, Some(section)) => section.body(line, at + 1)?,
            (None, None) if line.trim().is_empty() => {}
            (Some(Header::MoveTo(_) | Header::EndOfFile) | None, _) => return Err(unreadable(at + 1, line)),
        }
    }
    for section in &mut sections {
        section.finish()?;
    }
    Ok(sections)
}

fn section(path: &str, change: SectionKind) -> Section {
    Section { path: path.to_owned(), change, hunks: Vec::new(), executable: None }
}

impl Section {
    fn body(&mut self, line: &str, number: usize) -> Result<(), ToolError> {
        if matches!(self.change, SectionKind::Update { .. })
            && let Some(anchor) = line.strip_prefix("@@")
        {
            self.anchor(anchor, number);
            return Ok(());
        }
        if self.hunks.is_empty() {
            self.hunks.push(Hunk { line: number, ..Hunk::default() });
        }
        let added = match (self.hunks.last_mut(), &self.change) {
            (Some(hunk), _) if line.starts_with('\\') => {
                hunk.no_newline();
                true
            }
            // Only a line that comes after it tells an empty line of the file from one between two parts.
            (Some(hunk), SectionKind::Add) if line.is_empty() => hunk.push(""),
            (Some(hunk), SectionKind::Add) => line.starts_with('+') && hunk.push(line),
            (Some(hunk), SectionKind::Update { .. }) => hunk.push(line),
            (_, SectionKind::Delete) => line.trim().is_empty(),
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
            self.hunks.push(Hunk { line: number, ..Hunk::default() });
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
            SectionKind::Delete => self.hunks.clear(),
            SectionKind::Add => {
                if let Some(hunk) = self.hunks.last_mut() {
                    hunk.drop_empty_end();
                    hunk.lines.iter_mut().for_each(|(sign, _)| *sign = Sign::Add);
                }
            }
            SectionKind::Update { .. } => {
                self.hunks.iter_mut().filter(|hunk| !hunk.at_end).for_each(Hunk::drop_empty_end);
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
