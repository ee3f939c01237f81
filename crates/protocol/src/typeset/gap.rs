//! The line that stands where a text was cut, and what it says is missing.

/// What was left out of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub bytes: u64,
    /// Unless nobody counted them.
    pub lines: Option<usize>,
}

impl Gap {
    /// `[zdx: 12345 of 99999 bytes (800 lines) left out here; …]`, `[... 345 bytes (17 lines) left out to fit the context …]`.
    pub fn read(line: &str) -> Option<Self> {
        let said = line.strip_prefix("[zdx: ").or_else(|| line.strip_prefix("[... "))?;
        let (about, _) =
            said.split_once(" left out here").or_else(|| said.split_once(" left out to fit the context"))?;
        let lines = about.split_once('(').and_then(|(_, lines)| lines.split(' ').next()?.parse().ok());
        Some(Self { bytes: about.split(' ').next()?.parse().ok()?, lines })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_read_from_the_line_that_says_so() {
        let gap = |bytes, lines| Some(Gap { bytes, lines });
        for (line, read) in [
            ("[zdx: 12 of 99 bytes (3 lines) left out here; the whole is in /x]", gap(12, Some(3))),
            ("[zdx: 12 of 99 bytes left out here]", gap(12, None)),
            ("[... 345 bytes (17 lines) left out to fit the context; read on ...]", gap(345, Some(17))),
            ("[zdx: nothing]", None),
            ("12 bytes left out here", None),
        ] {
            assert_eq!(Gap::read(line), read, "{line}");
        }
    }
}
