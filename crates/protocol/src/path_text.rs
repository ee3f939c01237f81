//! Paths as text. A path that is valid UTF-8 is written as it is; in any other, each byte that is not UTF-8, and each
//! backslash, is written as `\xE9`. Records, events and tool results put `/` (or `.//`) before such a path: no resolved
//! path begins so, therefore the bytes can be told again from the text.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const ABSOLUTE: &str = "//";
const RELATIVE: &str = ".//";

/// Returns the path as records hold it; [`decode`] is the way back.
pub fn encode(path: &Path) -> Cow<'_, str> {
    match (path.to_str(), path.is_absolute()) {
        (Some(text), _) => Cow::Borrowed(text),
        (None, true) => Cow::Owned(format!("/{}", shown(path))),
        (None, false) => Cow::Owned(format!("{RELATIVE}{}", shown(path))),
    }
}

/// Returns the path that a record names.
pub fn decode(text: &str) -> PathBuf {
    is_encoded(text).then(|| unescape(text)).flatten().map_or_else(|| text.into(), |path| plain(&path))
}

/// Whether [`encode`] may have made this text of a path that is not UTF-8.
pub fn is_encoded(text: &str) -> bool {
    text.starts_with(ABSOLUTE) || text.starts_with(RELATIVE)
}

/// Without the mark, which is no part of the path.
fn plain(path: &Path) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    let rest = bytes.strip_prefix(RELATIVE.as_bytes()).or_else(|| bytes.strip_prefix(b"/"));
    OsString::from_vec(rest.unwrap_or(bytes).to_vec()).into()
}

/// Returns the path for people and models to read: what is not UTF-8 is escaped, and nothing marks it.
pub fn shown(path: &Path) -> Cow<'_, str> {
    if let Some(text) = path.to_str() {
        return Cow::Borrowed(text);
    }
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', r"\x5C"));
        for byte in chunk.invalid() {
            let _ = write!(text, r"\x{byte:02X}");
        }
    }
    Cow::Owned(text)
}

/// Returns the path that is not UTF-8 and that [`shown`] names so; None if the text names no such path.
pub fn unescape(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(r"\x") {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let byte = rest.get(at + 2..at + 4).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(|byte| *byte >= 0x80 || *byte == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[at + 4..];
            }
            None => {
                bytes.extend_from_slice(br"\x");
                rest = &rest[at + 2..];
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    // A path that is UTF-8 is never escaped.
    std::str::from_utf8(&bytes).is_err().then(|| OsString::from_vec(bytes).into())
}

pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    encode(path).serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Cow::<'_, str>::deserialize(deserializer).map(|text| decode(&text))
}

/// For fields that may hold no path.
pub mod option {
    use super::{Cow, Deserialize, Deserializer, Path, PathBuf, Serialize, Serializer, decode, encode};

    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(|path: &Path| encode(path)).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
        Option::<Cow<'_, str>>::deserialize(deserializer).map(|text| text.map(|text| decode(&text)))
    }
}

/// For lists of paths.
pub mod list {
    use super::{PathBuf, Serializer, encode};

    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| encode(path)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(bytes: &[u8]) -> PathBuf {
        OsString::from_vec(bytes.to_vec()).into()
    }

    #[test]
    fn only_what_is_not_utf8_is_escaped() {
        for (bytes, encoded, readable) in [
            (&b"/a/b.rs"[..], "/a/b.rs", "/a/b.rs"),
            ("/é/\\xE9".as_bytes(), "/é/\\xE9", "/é/\\xE9"),
            (b"/a\xff/b", r"//a\xFF/b", r"/a\xFF/b"),
            (b"caf\xe9.txt", r".//caf\xE9.txt", r"caf\xE9.txt"),
            (b"/\xff\\xFE", r"//\xFF\x5CxFE", r"/\xFF\x5CxFE"),
        ] {
            let path = path(bytes);
            assert_eq!(encode(&path), encoded);
            assert_eq!(shown(&path), readable);
            assert_eq!(decode(encoded), path);
            if path.to_str().is_none() {
                assert_eq!(unescape(readable), Some(path));
            }
        }
        assert_eq!(decode("//server/share"), Path::new("//server/share"), "nothing in it is escaped");
        assert_eq!(unescape(r"a\x41\xZZ\x"), None);
        assert_eq!(unescape(r"\xé\xFF"), Some(path(b"\\x\xc3\xa9\xff")));
    }

    proptest! {
        #[test]
        fn every_resolved_path_survives(names in prop::collection::vec(
            prop::collection::vec(prop::sample::select(b"a.\\x9fF\xff\xc3\xa9\xf0\x80".to_vec()), 1..6), 1..4,
        ), absolute: bool) {
            let mut bytes = names.join(&b'/');
            if absolute {
                bytes.insert(0, b'/');
            }
            let path = path(&bytes);
            prop_assert_eq!(decode(&encode(&path)), path.clone());
            if path.to_str().is_none() {
                prop_assert_eq!(unescape(&shown(&path)), Some(path));
            }
        }
    }
}
