//! A session's todo list: plain data and how it reads as a checklist.
//! Decides nothing about what may stand in it; that is the tool's business.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    pub id: String,
    pub content: String,
    pub status: TodoStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

impl TodoStatus {
    /// `[ ]`, `[~]`, `[x]`.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Pending => "[ ]",
            Self::InProgress => "[~]",
            Self::Completed => "[x]",
        }
    }
}

/// `[~] build`, on one line whatever the content holds.
impl fmt::Display for Todo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.status.mark())?;
        self.content.split_whitespace().try_for_each(|word| write!(f, " {word}"))
    }
}

/// The list as a model and a person read it, a line for each item.
pub fn checklist(items: &[Todo]) -> String {
    items.iter().map(Todo::to_string).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_reads_as_a_checklist() {
        let todo = |content: &str, status| Todo { id: "1".to_owned(), content: content.to_owned(), status };
        let items = [
            todo("plan", TodoStatus::Completed),
            todo("build\nall  of it", TodoStatus::InProgress),
            todo("ship", TodoStatus::Pending),
        ];
        assert_eq!(checklist(&items), "[x] plan\n[~] build all of it\n[ ] ship");
        assert_eq!(checklist(&[]), "");
    }
}
