//! What came of the list.

use serde_json::{Value, json};
use zdx_protocol::display::visible_line;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Pass,
    Fail { why: String, frame: Option<String> },
    Skipped(String),
}

impl Outcome {
    pub(super) fn fail(why: impl Into<String>) -> Self {
        Self::Fail { why: why.into(), frame: None }
    }

    /// With the frame that it fails by.
    pub(super) fn by(why: impl Into<String>, frame: impl Into<String>) -> Self {
        Self::Fail { why: why.into(), frame: Some(frame.into()) }
    }

    pub(super) fn not_advertised() -> Self {
        Self::Skipped("not advertised".to_owned())
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    items: Vec<(&'static str, Outcome)>,
}

/// Of a frame that is shown, or of what is said about it.
const SHOWN: usize = 600;

impl Report {
    pub(super) fn add(&mut self, item: &'static str, outcome: Outcome) {
        self.items.push((item, outcome));
    }

    pub fn failed(&self) -> bool {
        self.items.iter().any(|(_, outcome)| matches!(outcome, Outcome::Fail { .. }))
    }

    #[cfg(test)]
    pub(super) fn of(&self, item: &str) -> &Outcome {
        let found = self.items.iter().find(|(name, _)| *name == item);
        &found.unwrap_or_else(|| panic!("no {item} in {self:?}")).1
    }

    /// A line an item, offending frames below it, and how many of each.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let [mut passed, mut failed, mut skipped] = [0; 3];
        for (item, outcome) in &self.items {
            match outcome {
                Outcome::Pass => {
                    passed += 1;
                    text.push_str(&format!("pass     {item}\n"));
                }
                Outcome::Fail { why, frame } => {
                    failed += 1;
                    text.push_str(&format!("fail     {item}: {}\n", short(why)));
                    if let Some(frame) = frame {
                        text.push_str(&format!("         < {}\n", short(frame)));
                    }
                }
                Outcome::Skipped(why) => {
                    skipped += 1;
                    text.push_str(&format!("skipped  {item}: {}\n", short(why)));
                }
            }
        }
        text.push_str(&format!("{passed} passed, {failed} failed, {skipped} skipped\n"));
        text
    }

    /// The same, for programs.
    pub fn values(&self) -> impl Iterator<Item = Value> {
        self.items.iter().map(|(item, outcome)| match outcome {
            Outcome::Pass => json!({"item": item, "outcome": "pass"}),
            Outcome::Fail { why, frame } => {
                json!({"item": item, "outcome": "fail", "why": why, "frame": frame})
            }
            Outcome::Skipped(why) => json!({"item": item, "outcome": "skipped", "why": why}),
        })
    }
}

/// One line, whatever the agent put into it.
fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", visible_line(&text[..at])),
        None => visible_line(text),
    }
}
