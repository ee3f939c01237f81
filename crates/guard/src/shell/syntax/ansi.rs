//! The escapes of `$'…'`.

/// The value of `$'…'`.
pub(crate) fn decode(inside: &str) -> String {
    let mut out = String::new();
    let mut chars = inside.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(kind) = chars.next() else { break };
        let decoded = match kind {
            'a' => Some('\u{7}'),
            'b' => Some('\u{8}'),
            'e' | 'E' => Some('\u{1b}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            'x' if chars.next_if_eq(&'{').is_some() => braced(&mut chars),
            // Without a digit the letter stands for itself.
            'x' | 'u' | 'U' if chars.peek().is_none_or(|c| !c.is_ascii_hexdigit()) => {
                out.push('\\');
                Some(kind)
            }
            'x' => number(&mut chars, 16, 2, 0),
            'u' => number(&mut chars, 16, 4, 0),
            'U' => number(&mut chars, 16, 8, 0),
            // Three octal digits are one byte: what is too much for it falls off.
            '0'..='7' => number(&mut chars, 8, 2, kind.to_digit(8).unwrap_or(0))
                .and_then(|c| char::from_u32(u32::from(c) & 0xff)),
            'c' => chars.next().map(|c| char::from((c as u32 & 0x1f) as u8)),
            other => {
                if !matches!(other, '\\' | '\'' | '"' | '?') {
                    out.push('\\');
                }
                Some(other)
            }
        };
        match decoded {
            // A NUL ends the string for the shell.
            Some('\0') | None => break,
            Some(c) => out.push(c),
        }
    }
    out
}

/// bash's `\x{…}`: any number of digits, the last byte of them counts, and the closing brace may be missing.
fn braced(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    let mut value = 0_u32;
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(16)) {
        value = (value << 4 | digit) & 0xff;
        chars.next();
    }
    chars.next_if_eq(&'}');
    char::from_u32(value)
}

fn number(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    radix: u32,
    most: usize,
    start: u32,
) -> Option<char> {
    let mut value = start;
    for _ in 0..most {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
        value = value.wrapping_mul(radix).wrapping_add(digit);
        chars.next();
    }
    // Bytes above ASCII cannot spell a command name; any stand-in will do.
    char::from_u32(value).or(Some('\u{fffd}'))
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_are_read_as_bash_reads_them() {
        for (inside, value) in [
            (r"\x72m", "rm"),
            (r"\x{72}m", "rm"),
            (r"\x{72m", "rm"),
            (r"\x{000172}m", "rm"),
            (r"\162m", "rm"),
            (r"\562\555", "rm"),
            (r"\u0072m", "rm"),
            (r"a\xqb", r"a\xqb"),
            (r"a\uqb", r"a\uqb"),
            (r"a\x{}b", "a"),
        ] {
            assert_eq!(decode(inside), value, "{inside}");
        }
    }
}
