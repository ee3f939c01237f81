//! Whether what is assigned to a name like `API_KEY` is a secret, or code that gets one from somewhere, or an example.
//! A masked line of code can be neither understood nor edited, so what reads like code stays.

use super::shapes::run;

/// The length of an assigned value that is a secret; none when it refers to one kept elsewhere, stands in for one, or is
/// code or JSON around it.
pub(super) fn assigned(value: &str, quoted: bool) -> usize {
    let length = run(value, is_value);
    let called = value[length..].starts_with(['(', '[']);
    let operator = is_operator(value);
    // What closes a call or ends a statement is no part of the value.
    let literal = value[..length].trim_end_matches([',', ';', ')', '}', ']', '>']);
    if called || operator || !is_random(literal) || is_placeholder(literal) || (!quoted && is_code(literal)) {
        0
    } else {
        literal.len()
    }
}

/// Whether this may stand in a value, rather than end it.
pub(super) fn is_value(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b'(' | b'[')
}

/// `KEY==x`, `KEY=$X`, `KEY=<your key>`: nothing is assigned here, or a reference.
pub(super) fn is_operator(value: &str) -> bool {
    value.starts_with(['$', '<', '>', '{', '*', '%', ',', ':', '}', ']', '=', '!', '&', '|', '?'])
}

/// Words alone are names of things; keys, tokens and passwords hold digits. Those that do not are known by their value.
fn is_random(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
}

/// What examples and templates put in the place of a secret.
fn is_placeholder(value: &str) -> bool {
    const PARTS: [&str; 10] = [
        "changeme",
        "change-me",
        "change_me",
        "changeit",
        "placeholder",
        "replace",
        "redacted",
        "xxxx",
        "dummy",
        "...",
    ];
    const STARTS: [&str; 5] = ["your", "my-", "my_", "example", "sample"];
    let lower = value.to_ascii_lowercase();
    is_filler(value)
        || PARTS.iter().any(|part| lower.contains(part))
        || STARTS.iter().any(|start| lower.starts_with(start))
}

/// Values that protect nothing, whatever they are the value of: masked, a word of the language would be missing
/// everywhere.
pub(super) fn is_filler(value: &str) -> bool {
    const WORDS: [&str; 12] = [
        "password",
        "passwort",
        "passphrase",
        "changeme",
        "change-me",
        "change_me",
        "changeit",
        "placeholder",
        "anonymous",
        "required",
        "optional",
        "undefined",
    ];
    let mut characters = value.chars();
    let first = characters.next();
    characters.all(|c| Some(c) == first) || WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// `settings.KEY_2`, `sha256_of_key`, `env::Key`, `this->token1`: names, joined the way that code joins them.
fn is_code(value: &str) -> bool {
    let joined = value.contains('_') || value.contains('.') || value.contains("::") || value.contains("->");
    let names = value.split(['.', ':', '-', '>', '_']).filter(|name| !name.is_empty());
    let begins = value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    joined && begins && names.into_iter().all(is_name)
}

/// Letters, with a short number behind them or alone: `utf8`, `v2`, `key`, `1`.
fn is_name(name: &str) -> bool {
    const LONGEST_NUMBER: usize = 3;
    let letters = run(name, |byte| byte.is_ascii_alphabetic());
    let digits = &name[letters..];
    digits.len() <= LONGEST_NUMBER && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_from_code_and_examples() {
        for (value, length) in [
            ("hunter2hunter2", 14),
            ("abcdefgh12345", 13),
            ("0123456789abcdef", 16),
            ("a8f5f167f44f4964e6c998dee827110c # note", 32),
            ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz", 32),
            ("p4ss,w0rd;x)", 11),
            ("SG.a1b2c3d4e5.f6g7h8i9j0", 24),
            ("correct-h0rse-battery", 21),
            ("tok_1a2b3c4d5e", 14),
        ] {
            assert_eq!(assigned(value, false), length, "{value}");
        }
        for value in [
            "value_of_something",
            "compute_key2(x)",
            "os.environ['KEY_1']",
            "os.getenv(\"K3Y\")",
            "process.env.API_KEY_2",
            "settings.SECRET_KEY1,",
            "sha256_of_file",
            "crypto::aes256::Key",
            "this->token1",
            "self.keys_v2",
            "${SECRET_1}",
            "$(cat token1.txt)",
            "%KEY1_VALUE%",
            "=expected_key_1",
            "=> 'sym1'",
            "keyword",
            "changeme123",
            "your-key-here-1",
            "xxxxxxxx1",
            "00000000",
            "<key-1>",
            "sk1...",
        ] {
            assert_eq!(assigned(value, false), 0, "{value}");
        }
        assert_eq!((assigned("my_planted_1", true), assigned("some_planted_1", true)), (0, 14));
    }
}
