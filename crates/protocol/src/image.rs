//! Image formats by their content: which one it is and how large the picture is. Decodes no pixels.

use serde::Serialize;

/// Largest image that is taken in where the configuration says nothing else.
pub const MAX_IMAGE_BYTES: u64 = 5 << 20;

/// Endings that files of these formats have. What a file is, its content says.
pub const IMAGE_ENDINGS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageFormat {
    Png,
    Jpeg,
    Gif,
    WebP,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ImageInfo {
    pub format: ImageFormat,
    pub width: u32,
    pub height: u32,
}

impl ImageFormat {
    pub const ALL: [Self; 4] = [Self::Png, Self::Jpeg, Self::Gif, Self::WebP];

    /// By the first bytes of a file.
    pub fn of_magic(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::WebP),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Gif => "GIF",
            Self::WebP => "WebP",
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }

    pub fn of_media_type(media_type: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.media_type().eq_ignore_ascii_case(media_type))
    }
}

impl ImageInfo {
    /// Reads the beginning of a file. None when it is no image of these formats, or one without a size.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let format = ImageFormat::of_magic(bytes)?;
        let (width, height) = match format {
            ImageFormat::Png => png(bytes)?,
            ImageFormat::Jpeg => jpeg(bytes)?,
            ImageFormat::Gif => gif(bytes)?,
            ImageFormat::WebP => webp(bytes)?,
        };
        (width > 0 && height > 0).then_some(Self { format, width, height })
    }
}

fn big16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn little16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    (bytes.get(12..16)? == b"IHDR").then_some(())?;
    Some((number(16)?, number(20)?))
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    Some((little16(bytes, 6)?, little16(bytes, 8)?))
}

/// Walks the segments to the frame header.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        while *bytes.get(at)? == 0xff && *bytes.get(at + 1)? == 0xff {
            at += 1;
        }
        let marker = (*bytes.get(at)? == 0xff).then(|| bytes.get(at + 1))??;
        match marker {
            // Start of frame; C4, C8 and CC are tables.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big16(bytes, at + 7)?, big16(bytes, at + 5)?));
            }
            0x01 | 0xd0..=0xd8 => at += 2,
            // The picture begins, and no frame header came before it.
            0xd9 | 0xda => return None,
            _ => at += 2 + usize::try_from(big16(bytes, at + 2)?.max(2)).ok()?,
        }
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    let number24 = |at: usize| {
        let [low, middle, high] = bytes.get(at..at + 3)?.try_into().ok()?;
        Some(u32::from_le_bytes([low, middle, high, 0]))
    };
    match bytes.get(12..16)? {
        b"VP8 " => Some((little16(bytes, 26)? & 0x3fff, little16(bytes, 28)? & 0x3fff)),
        b"VP8L" => {
            let bits = u32::from_le_bytes(bytes.get(21..25)?.try_into().ok()?);
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => Some((number24(24)? + 1, number24(27)? + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(bytes: &[u8]) -> Option<(&'static str, u32, u32)> {
        ImageInfo::of(bytes).map(|info| (info.format.name(), info.width, info.height))
    }

    fn cases() -> Vec<(Vec<u8>, &'static str)> {
        let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x05\0\0\0\x03 ".as_slice(), &[8, 2, 0, 0, 0]].concat();
        let gif = b"GIF89a\0\x05 \x03".to_vec();
        let jpeg = [
            b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0".as_slice(),
            b"\xff\xc4\0\x04ab\xff\xff\xc2\0\x11\x08\x03 \x05\0\x03",
        ]
        .concat();
        let riff = |chunk: &[u8]| [b"RIFF\0\0\0\0WEBP".as_slice(), chunk].concat();
        let lossy = riff(b"VP8 \0\0\0\0\0\0\0\x9d\x01\x2a\0\x05 \x03");
        let bits: u32 = (1280 - 1) | (800 - 1) << 14;
        let lossless = riff(&[b"VP8L\0\0\0\0\x2f".as_slice(), &bits.to_le_bytes()].concat());
        let extended = riff(b"VP8X\0\0\0\0\0\0\0\0\xff\x04\0\x1f\x03\0");
        vec![
            (png, "PNG"),
            (gif, "GIF"),
            (jpeg, "JPEG"),
            (lossy, "WebP"),
            (lossless, "WebP"),
            (extended, "WebP"),
        ]
    }

    #[test]
    fn formats_and_sizes_are_read_from_the_content() {
        for (bytes, name) in cases() {
            assert_eq!(info(&bytes), Some((name, 1280, 800)), "{bytes:x?}");
        }
    }

    #[test]
    fn a_cut_or_empty_image_is_none() {
        for (bytes, name) in cases() {
            let needed = (0..bytes.len()).find(|length| info(&bytes[..*length]).is_some());
            assert!(needed.is_none_or(|length| length > 9), "{name}: {needed:?}");
        }
        for other in [&b""[..], b"text", b"\x89PNG\r\n\x1a\n", b"%PDF-1.7", b"RIFF\0\0\0\0WAVEfmt "] {
            assert_eq!(info(other), None, "{other:x?}");
        }
        let mut empty = cases().remove(0).0;
        empty[16..20].fill(0);
        assert_eq!(info(&empty), None, "no width");
    }
}
