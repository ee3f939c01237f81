//! What can be said of a command before it is read: its size and the characters in it.
//! Never looks at syntax.

use zdx_protocol::display::is_invisible;

use crate::limits::MAX_BYTES;

/// Why a text is not even read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Raw {
    /// A NUL ends the text for the shell but not for us.
    Nul,
    TooLong,
    /// A character that a person would not see, or that moves the cursor.
    Hidden(char),
}

pub(crate) fn check(text: &str) -> Option<Raw> {
    if text.contains('\0') {
        return Some(Raw::Nul);
    }
    if text.len() > MAX_BYTES {
        return Some(Raw::TooLong);
    }
    let hidden = |c: &char| (c.is_control() && *c != '\n' && *c != '\t') || is_invisible(*c);
    text.chars().find(hidden).map(Raw::Hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_seen() {
        assert_eq!(check("ls\0"), Some(Raw::Nul));
        assert_eq!(check("ls \u{1b}[2K"), Some(Raw::Hidden('\u{1b}')));
        assert_eq!(check("r\u{200b}m"), Some(Raw::Hidden('\u{200b}')));
        assert_eq!(check("cat x\r\nrm y"), Some(Raw::Hidden('\r')));
        assert_eq!(check(&"a".repeat(MAX_BYTES + 1)), Some(Raw::TooLong));
        assert_eq!(check("echo 'héllo ✓ 日本'\n\tls"), None);
    }
}
