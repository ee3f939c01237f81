//! JSON text for people and programs alike. JSON's own rules escape C0 controls alone: a terminal obeys more.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::chars::{Class, classify, is_plain_fast};

/// JSON that means the same, with everything a terminal obeys or a reader cannot see escaped as `\uXXXX`. Outside of
/// strings JSON holds no such character, so the text need not be parsed.
pub fn json_safe(json: &str) -> Cow<'_, str> {
    let Some(first) = json.char_indices().find(|(_, c)| is_unsafe(*c)) else { return Cow::Borrowed(json) };
    let (clean, rest) = json.split_at(first.0);
    let mut out = String::with_capacity(json.len() + 16);
    out.push_str(clean);
    for c in rest.chars() {
        if is_unsafe(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn is_unsafe(c: char) -> bool {
    // Line breaks between values; inside strings they are escaped already.
    if is_plain_fast(c) || matches!(c, '\n' | '\r' | '\t') {
        return false;
    }
    match classify(c) {
        Class::Control | Class::Hidden | Class::Break | Class::Tag | Class::Invalid => true,
        Class::Plain | Class::Mark | Class::Selector | Class::Joiner | Class::Space => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_means_the_same() {
        let value = json!({"a\u{9b}": "x\x1b[2J\u{9b}31m\x7f\u{85}\u{202e}\u{2028}\u{feff}\u{e0041}é 漢 👩\u{200d}💻\n"});
        let text = value.to_string();
        let safe = json_safe(&text);
        assert!(!safe.chars().any(|c| is_unsafe(c) || c.is_control()), "{safe:?}");
        assert!(
            safe.contains("\\u009b31m\\u007f\\u0085\\u202e\\u2028\\ufeff\\udb40\\udc41é 漢 👩\u{200d}💻")
        );
        assert_eq!(serde_json::from_str::<Value>(&safe).unwrap(), value);
        assert!(matches!(json_safe("{\"a\":\"é\"}\n"), Cow::Borrowed(_)));
    }
}
