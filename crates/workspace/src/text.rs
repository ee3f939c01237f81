//! Bytes as text a model can be shown: lossy where they are none, cut only between characters.
//! Holds no state and knows no tool.

use zdx_protocol::display::Gap;

use std::collections::HashMap;
use std::io::{self, Read};

/// What a model sees of one file or stream, at most.
pub const LIMIT: usize = 50 * 1024;

/// Lossy UTF-8. NULs go the way of other bytes that are no text: some servers refuse a request that holds one.
pub fn decode(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.into_owned() }
}

/// Bytes of a text that are not UTF-8, which [`decode`] shows as U+FFFD.
#[derive(Debug, PartialEq, Eq)]
pub struct InvalidUtf8 {
    bytes: usize,
    /// The first few lines they are on, and `…` for more.
    lines: String,
}

impl InvalidUtf8 {
    /// None for UTF-8. `first_line` is the number of the first line of these bytes.
    pub fn find(bytes: &[u8], first_line: u64) -> Option<Self> {
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

const REPLACEMENT: &str = "\u{fffd}";

/// Whether U+FFFD is in a text. Only such text can lose bytes of a file.
pub fn has_replacement(text: &[u8]) -> bool {
    memchr::memmem::find(text, REPLACEMENT.as_bytes()).is_some()
}

/// Whether new text puts U+FFFD where the old content may have bytes that are no text: `read` shows those so, and they would
/// be lost. A line with U+FFFD loses none if it was there byte for byte, and as many times.
pub fn loses_bytes(old: &[u8], new: &[u8]) -> bool {
    if !has_replacement(new) || (!old.contains(&0) && std::str::from_utf8(old).is_ok()) {
        return false;
    }
    let mut there: HashMap<&[u8], usize> = HashMap::new();
    lines_with_replacement(old).for_each(|line| *there.entry(line).or_default() += 1);
    let is_new = |line| match there.get_mut(line) {
        Some(left @ 1..) => {
            *left -= 1;
            false
        }
        Some(0) | None => true,
    };
    lines_with_replacement(new).any(is_new)
}

/// Without their line ends.
fn lines_with_replacement(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text.split(|&byte| byte == b'\n').filter(|line| has_replacement(line));
    lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// Whether bytes are UTF-8 without NUL, however many they are.
pub fn is_plain_text(mut from: impl Read) -> io::Result<bool> {
    let (mut buffer, mut kept) = (vec![0; 64 * 1024], 0);
    loop {
        let read = match from.read(&mut buffer[kept..]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let filled = kept + read;
        // At the end a character that is not complete is none.
        let whole = if read == 0 { filled } else { filled - unfinished(&buffer[..filled]) };
        if buffer[..whole].contains(&0) || std::str::from_utf8(&buffer[..whole]).is_err() {
            return Ok(false);
        }
        if read == 0 {
            return Ok(true);
        }
        buffer.copy_within(whole..filled, 0);
        kept = filled - whole;
    }
}

/// Whether a file begins with a byte-order mark of UTF-16.
pub fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// Drops an unfinished character at the end.
pub fn before_cut(bytes: &[u8]) -> &[u8] {
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

pub fn first(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or_default()]
}

pub fn last(text: &str, limit: usize) -> &str {
    let start = (text.len().saturating_sub(limit)..text.len()).find(|&at| text.is_char_boundary(at));
    &text[start.unwrap_or(text.len())..]
}

/// Head and tail of a text, whole lines where it has any, with a marker between them.
pub fn shorten(text: &str, bytes: usize, hint: &str) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let room = bytes.saturating_sub(90 + hint.len());
    let head = &text[..text.floor_char_boundary(room * 2 / 3)];
    let tail = &text[text.ceil_char_boundary(text.len() - room / 3)..];
    // A line cut in two is worth it only where lines are long.
    let head = head.rfind('\n').filter(|at| at * 2 > head.len()).map_or(head, |at| &head[..=at]);
    let tail = tail.find('\n').filter(|at| at * 2 < tail.len()).map_or(tail, |at| &tail[at + 1..]);
    let gone = &text[head.len()..text.len() - tail.len()];
    // What was cut there before is missing, too.
    let before: Vec<Gap> = gone.lines().filter_map(Gap::read).collect();
    let bytes = gone.len() as u64 + before.iter().map(|gap| gap.bytes).sum::<u64>();
    let counted: usize = before.iter().filter_map(|gap| gap.lines).sum();
    let lines = gone.matches('\n').count().saturating_sub(before.len()) + counted;
    let end = if head.ends_with('\n') || head.is_empty() { "" } else { "\n" };
    let gap = Gap { bytes, lines: Some(lines) }.in_context(hint);
    format!("{head}{end}{gap}\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_script_is_shortened_between_characters() {
        for bytes in 100..260 {
            assert!(shorten(&"汉字".repeat(400), bytes, "").len() <= bytes.max(120));
        }
    }

    #[test]
    fn what_was_cut_before_is_counted_again() {
        let line = "a line of some length\n".repeat(40);
        let text = format!("{line}[zdx: 5000 of 9000 bytes (300 lines) left out here]\n{line}");
        let short = shorten(&text, 600, "");
        let gap = short.lines().find_map(Gap::read).unwrap();
        assert_eq!(gap.lines.unwrap() + short.lines().count() - 1, 380, "{short}");
    }

    #[test]
    fn a_line_with_the_replacement_character_is_new_unless_it_was_there_byte_for_byte() {
        let loses = |old: &[u8], new: &str| loses_bytes(old, new.as_bytes());
        assert!(loses(b"\xe9", "\u{fffd}") && loses(b"\0", "\u{fffd}") && loses(b"a\0b\n", "x\ny \u{fffd}"));
        assert!(!loses("\u{fffd}\u{fffd}".as_bytes(), "\u{fffd}\u{fffd}\u{fffd}"), "all of it is text");
        assert!(!loses(b"\xe9", "e"));
        let old = [b"one \xe9\n", "real \u{fffd}\r\nend\n".as_bytes()].concat();
        assert!(!loses(&old, "one\nreal \u{fffd}\nend\n"), "it is there, but for its line end");
        assert!(loses(&old, "one \u{fffd}\nend\n"), "as many as before, but on another line");
        assert!(loses(&old, "real \u{fffd}\nreal \u{fffd}\n"), "the second one may stand for other bytes");
    }

    #[test]
    fn text_is_recognised_in_pieces_of_any_size() {
        struct Dribble<'a>(&'a [u8], usize);
        impl Read for Dribble<'_> {
            fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
                let most = self.1.min(to.len());
                Read::read(&mut self.0, &mut to[..most])
            }
        }
        let is_text = |bytes: &[u8]| {
            let found = [1, 2, 3, 7, 70_000].map(|size| is_plain_text(Dribble(bytes, size)).unwrap());
            assert_eq!(found, [found[0]; 5]);
            found[0]
        };
        assert!(is_text(b"") && is_text("é€𝄞".repeat(20_000).as_bytes()));
        for bad in [&b"\xe9"[..], b"a\0", &"é€".as_bytes()[..4], b"\xe2\x82"] {
            assert!(!is_text(bad), "{bad:?}");
        }
        assert!(!is_text(&["é".repeat(50_000).as_bytes(), b"\xff"].concat()));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_counted_with_their_lines() {
        let found = |bytes: &[u8]| InvalidUtf8::find(bytes, 1).map(|found| (found.bytes, found.lines));
        assert_eq!(found("é\u{fffd}\0".as_bytes()), None);
        assert_eq!(found(b"a\nb\xe9\xe8\nc\xff \xff"), Some((4, "2, 3".to_owned())));
        assert_eq!(found(&b"\xff\n".repeat(11)), Some((11, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …".to_owned())));
        assert_eq!(found(b"a\xe2\x82"), Some((2, "1".to_owned())), "a character that is cut off");
    }
}
