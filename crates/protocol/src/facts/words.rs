//! Wordings and readings that several tools share.

use serde_json::Value;

use crate::typeset::format::{count, size};
use crate::typeset::visible_line;

use super::Given;

/// `path="src/main.rs"`.
pub(super) fn path(given: &Given<'_>) -> Option<String> {
    given.text("path").map(|path| format!("path=\"{}\"", visible_line(&path)))
}

/// `src/main.rs`, and where in it.
pub(super) fn place(given: &Given<'_>) -> Option<String> {
    let path = visible_line(&given.text("path")?);
    match given.get("offset").and_then(Value::as_u64) {
        Some(line) if line > 1 => Some(format!("{path}:{line}")),
        Some(_) | None => Some(path),
    }
}

pub(super) fn folder(given: &Given<'_>) -> Option<String> {
    Some(given.text("path").map_or(".".to_owned(), |path| visible_line(&path)))
}

/// `"foo" in src`.
pub(super) fn sought(given: &Given<'_>) -> Option<String> {
    let pattern = visible_line(&given.text("pattern")?);
    let place = given.text("path").filter(|path| path != ".");
    let place = place.map(|path| format!(" in {}", visible_line(&path))).unwrap_or_default();
    Some(format!("\"{pattern}\"{place}"))
}

/// `+12 −3`.
pub(super) fn changed(data: &Value) -> Option<String> {
    let number = |key: &str| data.get(key)?.as_u64();
    Some(format!("+{} −{}", number("additions")?, number("deletions")?))
}

/// `+12 -3`.
pub(super) fn signs(data: &Value) -> Option<String> {
    let number = |key: &str| data.get(key)?.as_u64();
    Some(format!("+{} -{}", number("additions")?, number("deletions")?))
}

/// `(1.2 kB)`.
pub(super) fn bytes(bytes: u64) -> String {
    format!("({})", size(bytes))
}

/// How many were found, by tools that say the total when they show less.
pub(super) fn found(data: &Value, one: &str, many: &str) -> Option<String> {
    let total = data.get("total")?.as_u64()?;
    let what = if total == 1 { one } else { many };
    Some(format!("{total} {what}{}", cut_note(data)))
}

pub(super) fn cut_note(data: &Value) -> &'static str {
    match data.get("truncated").and_then(Value::as_bool) {
        Some(true) => ", not all shown",
        Some(false) | None => "",
    }
}

pub(super) fn lines(text: &str) -> String {
    count(text.lines().count(), "line")
}

/// The command line that a list of words stands for; none if it is no such list.
pub(super) fn command_line(words: &Value) -> Option<String> {
    let words: Option<Vec<String>> = words.as_array()?.iter().map(|word| word.as_str().map(quote)).collect();
    words.map(|words| words.join(" "))
}

/// One word that a shell reads back as itself.
pub fn quote(word: &str) -> String {
    let plain =
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_quoted_so_that_a_shell_reads_them_back() {
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), "'it'\\''s'");
        assert_eq!(quote("plain-1.txt"), "plain-1.txt");
        assert_eq!(quote(""), "''");
        assert_eq!(command_line(&json!(["rm", "a b"])).as_deref(), Some("rm 'a b'"));
        assert_eq!(command_line(&json!(["rm", 1])), None);
        assert_eq!(command_line(&json!("rm x")), None);
    }
}
