//! What a person typed while a turn ran, before a question came: it answers nothing and is kept for the next prompts, as the
//! line editor would have read it. Reads no terminal itself.

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// More than this nobody typed without looking.
pub const MOST_AHEAD: usize = 1 << 20;

/// The bytes as they came. They are read when the next line is wanted: a question may cut a character in two.
#[derive(Clone, Debug, Default)]
pub struct Ahead(Vec<u8>);

impl Ahead {
    pub fn keep(&mut self, typed: &[u8]) {
        self.0.extend_from_slice(typed);
        self.0.truncate(MOST_AHEAD);
    }

    /// Keeps a line that was ended by Enter.
    pub fn keep_line(&mut self, line: &str) {
        // Its own newlines are Alt-Enter to the reader of these bytes.
        self.keep(line.replace('\n', "\x1b\r").as_bytes());
        self.keep(b"\r");
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub fn has_unfinished(&self) -> bool {
        !self.clone().take_unfinished().is_empty()
    }

    /// Takes the text that no Enter has ended.
    pub fn take_unfinished(&mut self) -> String {
        let mut rest = &*self.0;
        while let (_, Some(after)) = read(rest) {
            rest = after;
        }
        let (text, _) = read(rest);
        self.0.truncate(self.0.len() - rest.len());
        text
    }

    /// The next line that Enter ended.
    pub fn line(&mut self) -> Option<String> {
        let (line, rest) = read(&self.0);
        self.0 = rest?.to_vec();
        Some(line)
    }

    /// What the next line begins with: one that Enter ended, or all that there is.
    pub fn begun(&mut self) -> String {
        let (line, rest) = read(&self.0);
        self.0 = rest.unwrap_or_default().to_vec();
        line
    }
}

/// A line, and what stands behind its Enter; without one it is not over. What moves the cursor or asks for something counts
/// for nothing: nobody saw what it would have done.
fn read(bytes: &[u8]) -> (String, Option<&[u8]>) {
    let mut line = Vec::new();
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'\r' if line.last() == Some(&b'\\') => {
                line.pop();
                line.push(b'\n');
            }
            b'\r' => return (text(&line), Some(rest)),
            b'\n' => line.push(b'\n'),
            0x7f | 0x08 => rub_out(&mut line),
            // Ctrl-U and Ctrl-W.
            0x15 => line.clear(),
            0x17 => {
                while line.pop_if(|last| *last == b' ').is_some() {}
                while line.pop_if(|last| *last != b' ').is_some() {}
            }
            0x1b => rest = escape(rest, &mut line),
            0..0x20 => {}
            0x20.. => line.push(byte),
        }
    }
    (text(&line), None)
}

/// Behind an escape: a paste, Alt-Enter, or a key that counts for nothing.
fn escape<'a>(rest: &'a [u8], line: &mut Vec<u8>) -> &'a [u8] {
    if let Some(pasted) = rest.strip_prefix(&PASTE_BEGINS[1..]) {
        let end = pasted.windows(PASTE_ENDS.len()).position(|window| window == PASTE_ENDS);
        let (pasted, after) = match end {
            Some(end) => (&pasted[..end], &pasted[end + PASTE_ENDS.len()..]),
            None => (pasted, &[][..]),
        };
        line.extend(pasted.iter().map(|byte| if *byte == b'\r' { b'\n' } else { *byte }));
        return after;
    }
    match rest {
        [b'\r', after @ ..] => {
            line.push(b'\n');
            after
        }
        [b'[', after @ ..] => {
            let last = after.iter().position(|byte| matches!(byte, 0x40..=0x7e));
            last.map_or(&[], |last| &after[last + 1..])
        }
        [b'O', _, after @ ..] | [_, after @ ..] => after,
        [] => rest,
    }
}

/// The last character with all its bytes.
fn rub_out(line: &mut Vec<u8>) {
    while line.pop_if(|last| matches!(last, 0x80..=0xbf)).is_some() {}
    line.pop();
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ahead(typed: &str) -> Ahead {
        let mut ahead = Ahead::default();
        typed.bytes().for_each(|byte| ahead.keep(&[byte]));
        ahead
    }

    #[test]
    fn lines_come_one_by_one_and_the_rest_begins_the_next() {
        let mut typed = ahead("one\rtwo 短\rthr");
        assert_eq!(typed.line().as_deref(), Some("one"));
        assert_eq!(typed.begun(), "two 短", "where it is not wanted to be sent unasked");
        assert_eq!(typed.line(), None);
        assert_eq!(typed.begun(), "thr");
        assert_eq!((typed.begun(), typed.line()), (String::new(), None));
    }

    #[test]
    fn unfinished_text_is_taken_and_whole_lines_stay() {
        let mut typed = ahead("one\rtw");
        assert_eq!((typed.take_unfinished().as_str(), typed.take_unfinished().as_str()), ("tw", ""));
        typed.keep_line("two\nlines");
        assert_eq!(typed.take_unfinished(), "");
        assert_eq!(typed.line().as_deref(), Some("one"));
        assert_eq!(typed.line().as_deref(), Some("two\nlines"));
        assert_eq!(typed.line(), None);
    }

    #[test]
    fn keys_mean_what_they_mean_to_the_editor() {
        for (typed, text) in [
            ("短x\x7f\x7fab", "ab"),
            ("two words \x17x", "two x"),
            ("gone\x15kept", "kept"),
            ("a\\\rb\x1b\rc\nd", "a\nb\nc\nd"),
            ("a\x1b[A\x1bOB\x1b[3~\x01\tb", "ab"),
            ("\x1b[200~two\rlines\x1b[201~ more", "two\nlines more"),
            ("\x1b[200~cut", "cut"),
        ] {
            assert_eq!(ahead(typed).begun(), text, "{typed:?}");
        }
    }
}
