//! Bytes as text a model can be shown: lossy where they are none, cut only between characters.
//! Holds no state and knows no tool.

/// What a model sees of one file or stream, at most.
pub const LIMIT: usize = 50 * 1024;

/// Lossy UTF-8. NULs go the way of other bytes that are no text: some servers refuse a request that holds one.
pub(crate) fn decode(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.into_owned() }
}

/// Bytes of a text that are not UTF-8, which [`decode`] shows as U+FFFD.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidUtf8 {
    bytes: usize,
    /// The first few lines they are on, and `…` for more.
    lines: String,
}

impl InvalidUtf8 {
    /// None for UTF-8. `first_line` is the number of the first line of these bytes.
    pub(crate) fn find(bytes: &[u8], first_line: u64) -> Option<Self> {
        const FEW: usize = 10;
        let (mut count, mut line, mut lines) = (0, first_line, Vec::new());
        for chunk in bytes.utf8_chunks() {
            line += chunk.valid().matches('\n').count() as u64;
            count += chunk.invalid().len();
            if !chunk.invalid().is_empty() && lines.last() != Some(&line) && lines.len() <= FEW {
                lines.push(line);
            }
        }
        let mut names: Vec<String> = lines.iter().map(u64::to_string).collect();
        if let Some(last) = names.get_mut(FEW) {
            "…".clone_into(last);
        }
        (count > 0).then(|| Self { bytes: count, lines: names.join(", ") })
    }
}

impl std::fmt::Display for InvalidUtf8 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (byte, is) = if self.bytes == 1 { ("byte", "is") } else { ("bytes", "are") };
        let line = if self.lines.contains(',') { "lines" } else { "line" };
        write!(
            f,
            "{} {byte} on {line} {} {is} not UTF-8 and shown as U+FFFD: change this file with edit, which keeps them (leave \
             U+FFFD out of `old` and `new`)",
            self.bytes, self.lines
        )
    }
}

/// Whether a file begins with a byte-order mark of UTF-16.
pub(crate) fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// Drops an unfinished character at the end.
pub(crate) fn before_cut(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() - unfinished(bytes)]
}

/// Drops the rest of a character whose beginning was cut.
pub fn after_cut(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|&&byte| byte & 0xc0 == 0x80).count();
    &bytes[rest..]
}

/// How many bytes at the end begin a character that is not complete yet.
pub fn unfinished(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let length = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return 0,
        };
        return if length > back { back } else { 0 };
    }
    0
}

pub(crate) fn first(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or_default()]
}

pub(crate) fn last(text: &str, limit: usize) -> &str {
    let start = (text.len().saturating_sub(limit)..text.len()).find(|&at| text.is_char_boundary(at));
    &text[start.unwrap_or(text.len())..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_utf8_are_counted_with_their_lines() {
        let found = |bytes: &[u8]| InvalidUtf8::find(bytes, 1).map(|found| (found.bytes, found.lines));
        assert_eq!(found("é\u{fffd}\0".as_bytes()), None);
        assert_eq!(found(b"a\nb\xe9\xe8\nc\xff \xff"), Some((4, "2, 3".to_owned())));
        assert_eq!(found(&b"\xff\n".repeat(11)), Some((11, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …".to_owned())));
        assert_eq!(found(b"a\xe2\x82"), Some((2, "1".to_owned())), "a character that is cut off");
    }
}
