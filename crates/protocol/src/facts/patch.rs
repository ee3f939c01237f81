//! `patch`.

use serde_json::Value;

use super::{Argument, Given, LESS, Label, PermissionKey, Title, ToolFacts, Touches};
use crate::code::Level;
use crate::tool::CallKind;
use crate::typeset::diff::{self, Bounds, Line, LineKind};
use crate::typeset::format::count;
use crate::typeset::text::truncate_width;
use crate::typeset::visible_line;

pub static PATCH: ToolFacts = ToolFacts {
    name: "patch",
    aliases: &["apply_patch", "apply_diff", "patch_file"],
    listed_as: &[],
    arguments: &[Argument::spelt("patch", &["input", "diff", "patch_text", "patchText", "patch_content"])],
    permission: PermissionKey { others: &["edit"], ..PermissionKey::plain("patch", Level::Ask) },
    kind: CallKind::Edit,
    touches: Touches::Patches("patch"),
    when_cut: LESS,
    label: Label { outcome, summary, ..Label::PLAIN },
    title: Title { subject, ended, ..Title::of("Patching", "Patched", "Patch") },
};

fn outcome(data: &Value) -> Option<String> {
    let files = data.get("files")?.as_array()?;
    let sum = |key: &str| files.iter().filter_map(|file| file.get(key)?.as_u64()).sum::<u64>();
    Some(format!("{} +{} -{}", count(files.len(), "file"), sum("additions"), sum("deletions")))
}

/// A patch as it was given: a diff as such, an envelope by its signs.
fn summary(given: &Given<'_>, _: &Value, bounds: Bounds) -> Vec<Line> {
    let patch = given.text("patch").unwrap_or_default();
    if !patch.contains("*** Begin Patch") {
        return diff::unified(&patch, bounds);
    }
    let ours = ["*** Begin Patch", "*** End Patch"];
    let lines: Vec<&str> = patch.lines().filter(|line| !ours.contains(&line.trim_end())).collect();
    let shown = if lines.len() > bounds.lines { bounds.lines.saturating_sub(1) } else { lines.len() };
    let line = |text: &&str| {
        let kind = match text.as_bytes().first() {
            Some(b'+') => LineKind::Add,
            Some(b'-') => LineKind::Remove,
            Some(b'@') => LineKind::Hunk,
            Some(b'*') => LineKind::Note,
            _ => LineKind::Context,
        };
        Line::new(kind, truncate_width(&visible_line(&text.replace('\t', "    ")), bounds.columns))
    };
    let mut out: Vec<Line> = lines[..shown].iter().map(line).collect();
    if shown < lines.len() {
        out.push(diff::more(lines.len() - shown));
    }
    out
}

/// `src/a.rs and 2 more`, as far as the patch names its files.
fn subject(given: &Given<'_>) -> Option<String> {
    let patch = given.text("patch")?;
    let heads = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/", "+++ "];
    let named = |line: &'_ str| heads.iter().find_map(|head| line.strip_prefix(head)).map(visible_line);
    let mut names = patch.lines().filter_map(named).filter(|name| name != "/dev/null");
    let first = names.next()?;
    match names.count() {
        0 => Some(first),
        more => Some(format!("{first} and {more} more")),
    }
}

fn ended(data: &Value) -> Option<String> {
    let files = data.get("files")?.as_array()?;
    let sum = |key: &str| files.iter().filter_map(|file| file.get(key)?.as_u64()).sum::<u64>();
    Some(format!("{}, +{} −{}", count(files.len(), "file"), sum("additions"), sum("deletions")))
}
