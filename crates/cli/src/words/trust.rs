//! What a folder's own files want, in words.

use std::path::PathBuf;

use zdx_protocol::Want;
use zdx_protocol::display::visible_line;

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
    let names: Vec<String> = changed.iter().map(|path| visible_line(&path.to_string_lossy())).collect();
    let what = if names.is_empty() { otherwise.to_owned() } else { names.join(", ") };
    format!("changed since you trusted it: {what}")
}
