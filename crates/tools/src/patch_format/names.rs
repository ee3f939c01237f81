//! File names in the headers of a diff: prefixes, quotes, what is behind a tab.

use zdx_protocol::ToolError;

/// The name on a `---`, `+++` or `rename` line; none for /dev/null.
pub(super) fn of_file_line(text: &str) -> Result<Option<String>, ToolError> {
    let text = text.trim_end_matches('\r');
    let name = match text.strip_prefix('"') {
        Some(quoted) => unquote(quoted).map(|(name, _)| name).ok_or_else(|| {
            ToolError::invalid(format!(
                "the quoted file name {text:?} of the patch cannot be read as UTF-8 text"
            ))
        })?,
        // A time stamp follows the tab.
        None => text.split('\t').next().unwrap_or(text).trim_end().to_owned(),
    };
    if name.is_empty() {
        return Err(ToolError::invalid("a header of the patch names no file"));
    }
    Ok((name != "/dev/null").then_some(name))
}

/// Both names of a file without the `a/` and `b/` that git puts before them.
pub(super) fn pair(
    old: Option<String>,
    new: Option<String>,
) -> Result<(Option<String>, Option<String>), ToolError> {
    let prefixed = |name: &Option<String>, prefixes: &[&str]| {
        name.as_ref().is_none_or(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)))
    };
    // `i/`, `w/`, `c/`, `o/`: diff.mnemonicPrefix.
    let old_prefixes = ["a/", "i/", "c/", "o/", "w/"];
    let new_prefixes = ["b/", "w/", "i/", "c/"];
    let plain = !prefixed(&old, &old_prefixes)
        || !prefixed(&new, &new_prefixes)
        || old.as_ref().zip(new.as_ref()).is_some_and(|(old, new)| old[..2] == new[..2]);
    if plain {
        return Ok((old, new));
    }
    let strip = |name: Option<String>| name.map(|name| name[2..].to_owned());
    let stripped = (strip(old), strip(new));
    let nameless = [&stripped.0, &stripped.1].into_iter().flatten().any(String::is_empty);
    if nameless { Err(ToolError::invalid("a header of the patch names no file")) } else { Ok(stripped) }
}

/// `a/x b/x`, where `x` may hold blanks: both halves must be one name.
pub(super) fn of_git_line(text: &str) -> Option<(String, String)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (old, rest) = unquote(quoted)?;
        let rest = rest.trim_start();
        let new = match rest.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?.0,
            None => rest.to_owned(),
        };
        return both(old, new);
    }
    let halves = text.match_indices(' ').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let same = |(old, new): &(&str, &str)| {
        old == new || old.split_once('/').zip(new.split_once('/')).is_some_and(|(old, new)| old.1 == new.1)
    };
    let (old, new) = halves.into_iter().find(same)?;
    both(old.to_owned(), new.to_owned())
}

fn both(old: String, new: String) -> Option<(String, String)> {
    let (old, new) = pair(Some(old), Some(new)).ok()?;
    old.zip(new)
}

/// A name in C's spelling up to its closing quote, and what is behind it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut bytes = Vec::new();
    let mut at = text.bytes().enumerate();
    while let Some((index, byte)) = at.next() {
        match byte {
            b'"' => return Some((String::from_utf8(bytes).ok()?, &text[index + 1..])),
            b'\\' => bytes.push(match at.next()?.1 {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'a' => 7,
                b'b' => 8,
                b'f' => 12,
                b'v' => 11,
                digit @ b'0'..=b'3' => {
                    let octal = |byte: u8| (b'0'..=b'7').contains(&byte).then(|| byte - b'0');
                    let (high, middle, low) = (octal(digit)?, octal(at.next()?.1)?, octal(at.next()?.1)?);
                    high << 6 | middle << 3 | low
                }
                other @ (b'"' | b'\\') => other,
                _ => return None,
            }),
            other => bytes.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_is_not_theirs() {
        let line = |text: &str| of_file_line(text).unwrap();
        assert_eq!(line("a/x y.txt\t2024-01-01 00:00:00"), Some("a/x y.txt".to_owned()));
        assert_eq!(line("/dev/null"), None);
        assert_eq!(line(r#""a/\303\244\t\"q\".txt""#), Some("a/ä\t\"q\".txt".to_owned()));
        assert!(
            of_file_line(r#""a/\377""#).is_err()
                && of_file_line(r#""a/x"#).is_err()
                && of_file_line("").is_err()
        );
        let pair = |old: &str, new: &str| {
            let name = |name: &str| Some(name.to_owned()).filter(|name| name != "null");
            let (old, new) = super::pair(name(old), name(new)).unwrap();
            (old.unwrap_or_default(), new.unwrap_or_default())
        };
        for (old, new, names) in [
            ("a/x", "b/x", ("x", "x")),
            ("x", "x", ("x", "x")),
            ("a/x", "a/x", ("a/x", "a/x")),
            ("null", "b/d/x", ("", "d/x")),
            ("a/x", "null", ("x", "")),
            ("i/x", "w/x", ("x", "x")),
            ("x.orig", "x", ("x.orig", "x")),
        ] {
            assert_eq!(pair(old, new), (names.0.to_owned(), names.1.to_owned()), "{old} {new}");
        }
        let git = |text: &str| of_git_line(text).map(|(old, new)| format!("{old}|{new}"));
        assert_eq!(git("a/x b/x").as_deref(), Some("x|x"));
        assert_eq!(git("a/x b/y b/x b/y").as_deref(), Some("x b/y|x b/y"));
        assert_eq!(git(r#""a/\303\244" "b/\303\244""#).as_deref(), Some("ä|ä"));
        assert_eq!(git("x x").as_deref(), Some("x|x"));
        assert_eq!(git("a/x b/y"), None);
    }
}
