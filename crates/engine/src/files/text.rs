//! Bytes as text a model can be shown: lossy where they are none, cut only between characters.
//! Holds no state and knows no tool.

/// What a model sees of one file or stream, at most.
pub const LIMIT: usize = 50 * 1024;

/// Lossy UTF-8. NULs go the way of other bytes that are no text: some servers refuse a request that holds one.
pub(crate) fn decode(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.into_owned() }
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
