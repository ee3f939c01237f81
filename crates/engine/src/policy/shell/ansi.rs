//! The escapes of `$'…'`.

/// The value of `$'…'`.
pub fn decode(inside: &str) -> String {
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
            'x' => number(&mut chars, 16, 2, 0),
            'u' => number(&mut chars, 16, 4, 0),
            'U' => number(&mut chars, 16, 8, 0),
            '0'..='7' => number(&mut chars, 8, 2, kind.to_digit(8).unwrap_or(0)),
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
