//! The line that stands where a text was cut, written and read: what it says is missing.

/// What was left out of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub bytes: u64,
    /// Unless nobody counted them.
    pub lines: Option<usize>,
}

impl Gap {
    /// In what a command printed, so many bytes in all. `whole`: where all of it is.
    pub fn in_output(self, total: u64, whole: &str) -> String {
        let lines = self.lines.map(|lines| format!(" ({lines} lines)")).unwrap_or_default();
        format!("[zdx: {} of {total} bytes{lines} left out here{whole}]", self.bytes)
    }

    /// In what was too long for the model. `hint`: how it gets the rest.
    pub fn in_context(self, hint: &str) -> String {
        let lines = self.lines.map(|lines| format!(" ({lines} lines)")).unwrap_or_default();
        format!("[... {} bytes{lines} left out to fit the context{hint} ...]", self.bytes)
    }

    /// Either of them.
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
        let written = |bytes, lines| Gap { bytes, lines };
        let (counted, not_counted) = (written(12, Some(3)), written(12, None));
        assert_eq!(
            counted.in_output(99, "; the whole is in /x"),
            "[zdx: 12 of 99 bytes (3 lines) left out here; the whole is in /x]"
        );
        assert_eq!(not_counted.in_output(99, ""), "[zdx: 12 of 99 bytes left out here]");
        assert_eq!(
            written(345, Some(17)).in_context("; read on"),
            "[... 345 bytes (17 lines) left out to fit the context; read on ...]"
        );
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
