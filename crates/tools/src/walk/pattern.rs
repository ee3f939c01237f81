//! Which names are wanted: a glob as `.gitignore` reads it, and what models make of one.

use std::path::Path;

use ignore::Match;
use ignore::overrides::{Override, OverrideBuilder};
use serde_json::Value;
use zdx_protocol::ToolError;

use super::super::input::invalid;

/// One or more globs, relative to a folder. `*.rs` matches at any depth, `src/*.rs` from the folder on, `!x` excludes.
pub struct GlobPatterns {
    globs: Override,
    wants_folders: bool,
}

impl GlobPatterns {
    pub fn new(folder: &Path, globs: &[String]) -> Result<Self, ToolError> {
        let fault = |error: ignore::Error| invalid(format!("the glob is not valid: {error}"));
        let mut builder = OverrideBuilder::new(folder);
        for glob in globs {
            let glob = glob.strip_prefix("./").unwrap_or(glob);
            if glob.is_empty() {
                return Err(invalid("the glob is empty: `*` matches every file"));
            }
            if glob.split('/').any(|part| part == "..") {
                return Err(invalid("a glob cannot hold `..` after a wildcard: name the folder in `path`"));
            }
            builder.add(glob).map_err(fault)?;
        }
        let wants_folders = globs.iter().any(|glob| glob.ends_with('/'));
        Ok(Self { globs: builder.build().map_err(fault)?, wants_folders })
    }

    pub fn matches(&self, path: &Path, folder: bool) -> bool {
        match self.globs.matched(path, folder) {
            Match::Whitelist(_) => !folder || self.wants_folders,
            // With exclusions alone, everything else is wanted.
            Match::None => !folder && self.globs.num_whitelists() == 0,
            Match::Ignore(_) => false,
        }
    }

    /// Nothing below is wanted either.
    pub fn excludes(&self, path: &Path, folder: bool) -> bool {
        folder && self.globs.matched(path, true).is_ignore()
    }
}

/// A glob, or a list of them.
pub fn globs(value: Value) -> Result<Vec<String>, ToolError> {
    let text = |value: Value| match value {
        Value::String(text) => Ok(text),
        _ => Err(invalid("`glob` must be text")),
    };
    match value {
        Value::Array(items) => items.into_iter().map(text).collect(),
        other => Ok(vec![text(other)?]),
    }
}

/// The part of a pattern that names a folder, and the rest. Only where the pattern says where it starts: `/a/b/*.rs`,
/// `~/x/*`, `../x/*`.
pub fn split(pattern: &str) -> (Option<&str>, &str) {
    let anchored = ["/", "~/", "../"].iter().any(|start| pattern.starts_with(start));
    if !anchored {
        return (None, pattern);
    }
    let wild = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    match pattern[..wild].rfind('/') {
        Some(0) => (Some("/"), &pattern[1..]),
        Some(at) => (Some(&pattern[..at]), &pattern[at + 1..]),
        None => (None, pattern),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_starts_somewhere_names_its_folder() {
        for (pattern, parts) in [
            ("*.rs", (None, "*.rs")),
            ("src/**/*.rs", (None, "src/**/*.rs")),
            ("/a/b/**/*.rs", (Some("/a/b"), "**/*.rs")),
            ("/*.rs", (Some("/"), "*.rs")),
            ("/a/b/file", (Some("/a/b"), "file")),
            ("~/x*", (Some("~"), "x*")),
            ("../x/y?", (Some("../x"), "y?")),
            ("/a/{b,c}/d", (Some("/a"), "{b,c}/d")),
        ] {
            assert_eq!(split(pattern), parts, "{pattern}");
        }
    }

    #[test]
    fn globs_match_as_in_an_ignore_file() {
        let root = Path::new("/r");
        for (globs, path, wanted) in [
            (&["*.rs"][..], "/r/a/b.rs", true),
            (&["./*.rs"], "/r/a/b.rs", true),
            (&["src/*.rs"], "/r/src/b.rs", true),
            (&["src/*.rs"], "/r/x/src/b.rs", false),
            (&["**/src/*.rs"], "/r/x/src/b.rs", true),
            (&["src/**"], "/r/src/x/b.rs", true),
            (&["*.{ts,tsx}"], "/r/a.tsx", true),
            (&["!*.md"], "/r/a.md", false),
            (&["!*.md"], "/r/a.rs", true),
            (&["*.rs", "!b.rs"], "/r/b.rs", false),
            (&["a[0-9].txt"], "/r/a5.txt", true),
        ] {
            let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
            let pattern = GlobPatterns::new(root, &globs).unwrap();
            assert_eq!(pattern.matches(Path::new(path), false), wanted, "{globs:?} {path}");
        }
        let folders = GlobPatterns::new(root, &["src/".to_owned()]).unwrap();
        assert!(folders.matches(Path::new("/r/x/src"), true) && !folders.matches(Path::new("/r/src"), false));
        for bad in ["", "a/../b", "*/..", "{a", "[z-a]"] {
            assert!(GlobPatterns::new(root, &[bad.to_owned()]).is_err(), "{bad}");
        }
    }
}
