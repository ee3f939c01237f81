//! How the state of the context is worded: how full it is, and what left it.

use crate::compaction::{Author, Compaction, ContextUsage, Trigger};
use crate::record::InputCut;
use crate::typeset::format::{count, size};
use crate::typeset::visible_line;

/// `context compacted (nearly full): 41 messages became a summary, the last 6 stay; …`.
pub fn compacted(compaction: &Compaction) -> String {
    let why = match compaction.trigger {
        Trigger::Auto => "nearly full",
        Trigger::Asked => "as asked",
        Trigger::Refused => "the server found it too long",
    };
    let by = match compaction.author {
        Author::Model => "",
        Author::Session => " made without the model",
    };
    let dropped = usize::try_from(compaction.dropped.messages).unwrap_or(usize::MAX);
    let kept = match compaction.kept.len() {
        0 => String::new(),
        1 => ", the last one stays as it was".to_owned(),
        kept => format!(", the last {kept} stay as they were"),
    };
    format!(
        "context compacted ({why}): {} ({}) became a summary{by}{kept}",
        count(dropped, "message"),
        size(compaction.dropped.bytes),
    )
}

/// Figures of what left the context, of one or several prunings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrunedTotals {
    pub calls: usize,
    pub images: usize,
    pub bytes: u64,
}

impl PrunedTotals {
    pub fn new(calls: &[String], images: &[String], bytes: u64) -> Self {
        Self { calls: calls.len(), images: images.len(), bytes }
    }

    pub fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.images += other.images;
        self.bytes += other.bytes;
    }

    /// Returns the totals and begins anew; None where nothing was pruned.
    pub fn take(&mut self) -> Option<Self> {
        Some(std::mem::take(self)).filter(|totals| *totals != Self::default())
    }

    fn counted(self) -> String {
        let kinds = [(self.calls, "old tool output"), (self.images, "old image")];
        let left = kinds.iter().filter(|(number, _)| *number > 0).map(|(number, what)| count(*number, what));
        left.collect::<Vec<_>>().join(" and ")
    }
}

pub fn pruned(totals: PrunedTotals) -> String {
    format!("context pruned: {} ({}) left out", totals.counted(), size(totals.bytes))
}

/// The same for a whole turn, beside what it took: `pruned 12 old tool outputs`.
pub fn pruned_in_turn(totals: PrunedTotals) -> String {
    format!("pruned {}", totals.counted())
}

/// `tools changed: 12 more, mcp__files__read and others; …`.
pub fn tools_changed(added: &[String], removed: &[String]) -> String {
    let told = |names: &[String], what: &str| {
        let first = names.first().map(|name| visible_line(name))?;
        let others = if names.len() > 1 { " and others" } else { "" };
        Some(format!("{} {what} ({first}{others})", count(names.len(), "tool")))
    };
    let parts: Vec<String> = [told(added, "more"), told(removed, "less")].into_iter().flatten().collect();
    match parts.is_empty() {
        true => "tools of MCP servers describe themselves anew".to_owned(),
        false => format!("MCP servers: {}", parts.join(", ")),
    }
}

/// `input too long for the model: 2 texts cut to 1.4 KiB; the whole is in …`.
pub fn cut(cuts: &[InputCut]) -> String {
    let bytes = |of: fn(&InputCut) -> usize| cuts.iter().map(of).sum::<usize>() as u64;
    let (was, left) = (bytes(|cut| cut.was), bytes(|cut| cut.text.len()));
    let files: Vec<&str> = cuts.iter().filter_map(|cut| cut.file.as_deref()).collect();
    let whole =
        if files.is_empty() { String::new() } else { format!("; the whole is in {}", files.join(", ")) };
    format!("input too long for the model: {} of {} stay{whole}", size(left), size(was))
}

/// `6,210 of 8,192 tokens (75 %)`, and a line for each part.
pub fn usage(usage: &ContextUsage) -> String {
    let guess = if usage.assumed { ", a guess: set context_limit for this model" } else { "" };
    let mut text = format!(
        "context: {} of {} tokens ({} %{guess})",
        thousands(usage.used),
        thousands(usage.limit),
        usage.percent
    );
    let parts = usage.breakdown;
    for (name, tokens) in [
        ("system", parts.system),
        ("tools", parts.tools),
        ("mcp tools", parts.mcp),
        ("messages", parts.messages),
        ("tool results", parts.tool_results),
        ("summary", parts.summary),
    ] {
        // Who has no servers need not read of them.
        if name == "mcp tools" && tokens == 0 {
            continue;
        }
        let number = thousands(tokens);
        text.push_str(&format!("\n  {name:<13}{number:>9}"));
    }
    text
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::Breakdown;

    #[test]
    fn usage_reads_as_a_table() {
        let breakdown =
            Breakdown { system: 1_200, tools: 800, mcp: 0, messages: 17, tool_results: 4_193, summary: 0 };
        let full = ContextUsage { used: 6_210, limit: 8_192, percent: 75, assumed: false, breakdown };
        let text = usage(&full);
        assert!(
            text.starts_with("context: 6,210 of 8,192 tokens (75 %)\n  system           1,200\n"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 6);
        assert!(usage(&ContextUsage { assumed: true, ..full }).contains("context_limit"));
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
