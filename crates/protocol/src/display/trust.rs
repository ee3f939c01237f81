//! What a folder's own files want, in words.

use std::path::{Path, PathBuf};

use crate::path_text;
use crate::trust::{Standing, TrustState, Want};
use crate::typeset::{format, visible_line};

/// Said below what is wanted.
pub const UNTIL_THEN: &str =
    "until you trust these files as they are, zdx leaves that out and only reads their text";

/// What the question about a folder begins with.
pub fn title(asked: &TrustState, home: Option<&Path>) -> String {
    let folder = format::path(&asked.root, home);
    match asked.standing {
        Standing::Changed => {
            format!("{folder}: {}. It wants to:", changed_since(&asked.changed, "its files"))
        }
        Standing::Unknown | Standing::Trusted => format!("{folder} is not trusted. It wants to:"),
    }
}

/// What is shown of a want that is longer than both together.
const WANT_START: usize = 3_000;
const WANT_END: usize = 1_000;

/// One line a want, safe to look at. Whoever trusts must have seen what would run: only of what nobody reads to the end
/// the middle is left out, and its end is always there.
pub fn listed(wants: &[Want]) -> String {
    let line = |want: &Want| {
        let text: Vec<char> = visible_line(&want.to_string()).chars().collect();
        let Some(hidden) = text.len().checked_sub(WANT_START + WANT_END).filter(|hidden| *hidden > 0) else {
            return format!("  {}\n", String::from_iter(text));
        };
        let (start, end) = (&text[..WANT_START], &text[text.len() - WANT_END..]);
        let note = format!("… {hidden} characters, see `zdx trust --format json` …");
        format!("  {} {note} {}\n", String::from_iter(start), String::from_iter(end))
    };
    wants.iter().map(line).collect()
}

/// What changed, by name where that is known.
pub fn changed_since(changed: &[PathBuf], otherwise: &str) -> String {
    let names: Vec<String> = changed.iter().map(|path| visible_line(&path_text::shown(path))).collect();
    let what = if names.is_empty() { otherwise.to_owned() } else { names.join(", ") };
    format!("changed since you trusted it: {what}")
}
