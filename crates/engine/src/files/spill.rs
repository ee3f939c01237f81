//! Files beside a session that keep whole what a model is shown in part. Decides nothing about what is too long.

use std::borrow::Cow;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// `read` goes by lines: a longer one could only be seen whole or not at all.
const LONGEST_LINE: usize = 1_000;
/// What such a line is broken into, between words where it has any.
const BROKEN_LINE: usize = 200;

/// The name of a file for one stream or text of a call or turn.
pub(crate) fn name(id: &str, what: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    let mut id: String = id.chars().take(64).map(plain).collect();
    if id.is_empty() {
        id.push_str("call");
    }
    format!("{id}.{what}")
}

/// Never over a file that is there: an id may come again in a resumed session.
pub(crate) fn create(dir: &Path, name: &str) -> io::Result<(PathBuf, File)> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    for number in 1..1000 {
        let path = match number {
            1 => dir.join(name),
            _ => dir.join(format!("{name}.{number}")),
        };
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (path, file)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Keeps a text whole; nothing if that cannot be done: half a file called whole would mislead.
pub(crate) fn keep(dir: &Path, name: &str, text: &str) -> Option<PathBuf> {
    let (path, mut file) = create(dir, name).ok()?;
    if file.write_all(text.as_bytes()).is_err() {
        let _ = std::fs::remove_file(&path);
        return None;
    }
    Some(path)
}

pub(crate) fn has_long_line(text: &str) -> bool {
    text.split('\n').any(|line| line.len() > LONGEST_LINE)
}

/// The text in lines that can be read in parts.
pub(crate) fn readable(text: &str) -> Cow<'_, str> {
    if !has_long_line(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / BROKEN_LINE + 1);
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while rest.len() > BROKEN_LINE && line.len() > LONGEST_LINE {
            let window = &rest[..rest.floor_char_boundary(BROKEN_LINE)];
            let end = window.rfind(' ').map_or(window.len(), |at| at + 1);
            out.push_str(&rest[..end]);
            out.push('\n');
            rest = &rest[end..];
        }
        out.push_str(rest);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_long_line_becomes_many_between_words_and_characters() {
        assert_eq!(readable("a\nb"), "a\nb");
        for text in [
            "12345 678 ".repeat(300),
            "x".repeat(3_000),
            "汉字".repeat(900),
            format!("short\n{}\nend\n", "word ".repeat(400)),
        ] {
            let broken = readable(&text);
            assert!(broken.lines().all(|line| line.len() <= BROKEN_LINE), "{broken}");
            assert_eq!(broken.replace('\n', ""), text.replace('\n', ""), "nothing is lost");
        }
        assert!(
            readable(&"12345 678 ".repeat(300)).lines().all(|line| line.ends_with(' ')),
            "no number is broken"
        );
    }

    #[test]
    fn a_file_that_is_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let one = keep(dir.path(), &name("turn 1", "input"), "a").unwrap();
        let two = keep(dir.path(), &name("turn 1", "input"), "b").unwrap();
        assert_eq!(one.file_name().unwrap(), "turn_1.input");
        assert_eq!(two.file_name().unwrap(), "turn_1.input.2");
        assert_eq!(std::fs::read_to_string(one).unwrap(), "a");
    }
}
