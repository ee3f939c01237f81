//! The end of a text that still comes: bold and code are set from their first letter on, not when the mark behind them comes.

use super::inline::MEANT;

/// The text as if what it opened were closed here. A mark that nothing stands behind yet is held back.
pub(super) fn closed(text: &str) -> String {
    let body = text.trim_end();
    let open = Open::of(body);
    let blank = &text[body.len()..];
    let body = match open.bare {
        Some(at) => body[..at].trim_end(),
        None if open.code == 0 => without_half_tag(body),
        None => body,
    };
    let code = "`".repeat(open.code);
    let bold = match open.bold {
        false => "",
        // Half of the mark is there.
        true if open.code == 0 && body.ends_with('*') && !body.ends_with("**") => "*",
        true => "**",
    };
    format!("{body}{code}{bold}{blank}")
}

/// A tag that will show as something else, once all of it is there.
fn without_half_tag(text: &str) -> &str {
    let Some(at) = text.rfind('<') else { return text };
    let half = text[at..].to_ascii_lowercase();
    let begins = |tag: &&str| tag.len() > half.len() && tag.starts_with(&half);
    if half.len() > 1 && MEANT.iter().any(begins) { text[..at].trim_end() } else { text }
}

#[derive(Default)]
struct Open {
    /// Backticks of the code that is open.
    code: usize,
    bold: bool,
    /// Where a mark begins that nothing stands behind.
    bare: Option<usize>,
}

impl Open {
    fn of(text: &str) -> Self {
        let mut open = Self::default();
        let mut rest = text;
        let mut before = ' ';
        while let Some(c) = rest.chars().next() {
            let at = text.len() - rest.len();
            let run = rest.len() - rest.trim_start_matches(c).len();
            let after = rest[run..].chars().next();
            let taken = match c {
                '\\' if open.code == 0 => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
                '`' => {
                    open.ticks(run, at, after);
                    run
                }
                '*' if open.code == 0 => {
                    open.stars(run, at, before, after);
                    run
                }
                c => c.len_utf8(),
            };
            before = c;
            rest = &rest[taken.min(rest.len())..];
        }
        open
    }

    fn ticks(&mut self, run: usize, at: usize, after: Option<char>) {
        match (self.code, after) {
            (0, None) => self.bare = Some(at),
            (0, Some(after)) if !after.is_whitespace() => self.code = run,
            (0, Some(_)) => {}
            (open, _) if open == run => self.code = 0,
            _ => {}
        }
    }

    fn stars(&mut self, run: usize, at: usize, before: char, after: Option<char>) {
        let begins = !before.is_alphanumeric();
        match after {
            None if !self.bold && begins => self.bare = Some(at),
            Some(after) if run == 2 && !self.bold && begins && !after.is_whitespace() => self.bold = true,
            _ if run == 2 && self.bold && !before.is_whitespace() => self.bold = false,
            Some(_) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::closed;

    #[test]
    fn what_is_open_is_closed_and_a_bare_mark_is_held_back() {
        // What a backslash is about may be a backslash.
        assert_eq!(closed("\\\\漢字 `co"), "\\\\漢字 `co`");
        for (text, wanted) in [
            ("plain", "plain"),
            ("a `b", "a `b`"),
            ("a `b` c", "a `b` c"),
            ("a ``b ` c", "a ``b ` c``"),
            ("a **b c", "a **b c**"),
            ("a **b ", "a **b** "),
            ("a **b*", "a **b**"),
            ("a **b `c", "a **b `c`**"),
            ("a **b**", "a **b**"),
            ("a **", "a"),
            ("a *", "a"),
            ("a `", "a"),
            ("2 ** 3", "2 ** 3"),
            ("2 * 3", "2 * 3"),
            ("a \\`b", "a \\`b"),
            ("`**x", "`**x`"),
            ("press <kb", "press"),
            ("`<kb", "`<kb`"),
            ("a < b", "a < b"),
        ] {
            assert_eq!(closed(text), wanted, "{text:?}");
        }
    }
}
