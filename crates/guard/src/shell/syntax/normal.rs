//! The exact key under which a grant for a command is remembered.
//! Two texts share a key only if a shell cuts them into the very same tokens.

use crate::shell::syntax::lexer;
use brush_parser::Token;

/// The command with blanks and comments made uniform; text that cannot be cut is its own key.
pub(crate) fn normalise(command: &str) -> String {
    let Ok(tokens) = lexer::tokens(command) else { return command.to_owned() };
    // Here-documents and their place in the text do not survive joining: such a command is its own key.
    let plain = tokens.iter().all(|token| match token {
        Token::Operator(operator, _) => !operator.starts_with("<<") && operator != "(" && operator != ")",
        Token::Word(..) => true,
    });
    if !plain {
        return command.to_owned();
    }
    let mut out = String::new();
    let mut end = 0;
    for token in &tokens {
        let (text, location) = match token {
            Token::Operator(operator, location) if operator == "\n" => ("\n", location),
            Token::Operator(text, location) | Token::Word(text, location) => (text.as_str(), location),
        };
        // `2>x` and `2 >x` differ: what touched stays touching.
        if !out.is_empty() && location.start.index != end && !out.ends_with('\n') && text != "\n" {
            out.push(' ');
        }
        if !(text == "\n" && (out.is_empty() || out.ends_with('\n'))) {
            out.push_str(text);
        }
        end = location.end.index;
    }
    // Blanks at the end are part of a word (`a\\ `), or there would be none.
    out.trim_end_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blanks_and_comments_are_made_uniform() {
        assert_eq!(normalise("  git   status\t-s # look"), "git status -s");
        assert_eq!(normalise("ls &&   cat 'a  b'"), "ls && cat 'a  b'");
        assert_ne!(normalise("ls 2>x"), normalise("ls 2 >x"));
        assert_ne!(normalise("git status"), normalise("git status; rm x"));
        assert_ne!(normalise("ls\nrm x"), normalise("ls rm x"));
        assert_ne!(normalise("touch a\\ "), normalise("touch a\\"));
        assert_ne!(normalise("cat <<E\nE "), normalise("cat <<E\nE"));
        assert_eq!(normalise("ls 'open"), "ls 'open");
    }
}
