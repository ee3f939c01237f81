//! What stands in one place of a row: a grapheme, its columns, and whether a row may end beside it.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Space,
    /// Never the last of a row.
    Opening,
    /// Never the first of a row.
    Closing,
    /// Holds the parts of a long name together: a path, a URL.
    Joint,
    Letter,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cluster {
    pub start: usize,
    len: u32,
    pub width: u8,
    pub kind: Kind,
    /// A row may end on either side, without a blank.
    pub cjk: bool,
}

impl Cluster {
    pub fn of<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start..self.start + self.len as usize]
    }
}

pub(super) fn clusters(text: &str) -> Vec<Cluster> {
    if text.is_ascii() {
        let one = |(start, byte): (usize, u8)| {
            let kind = kind(char::from(byte));
            Cluster { start, len: 1, width: 1, kind, cjk: false }
        };
        return text.bytes().enumerate().map(one).collect();
    }
    text.grapheme_indices(true).map(|(start, grapheme)| cluster(start, grapheme)).collect()
}

fn cluster(start: usize, grapheme: &str) -> Cluster {
    let first = grapheme.chars().next().unwrap_or(' ');
    let width = u8::try_from(grapheme.width()).unwrap_or(u8::MAX);
    let cjk = width == 2 && !is_hangul(first);
    Cluster { start, len: u32::try_from(grapheme.len()).unwrap_or(u32::MAX), width, kind: kind(first), cjk }
}

/// Korean is written with blanks between its words.
fn is_hangul(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}')
}

fn kind(c: char) -> Kind {
    match c {
        ' ' => Kind::Space,
        '(' | '[' | '{' | '“' | '‘' | '（' | '［' | '｛' | '「' | '『' | '【' | '《' | '〈' | '〔' | '〖'
        | '｢' | '￥' | '＄' => Kind::Opening,
        ')' | ']' | '}' | ',' | ';' | '!' | '”' | '’' | '，' | '。' | '、' | '；' | '：' | '！' | '？'
        | '）' | '］' | '｝' | '」' | '』' | '】' | '》' | '〉' | '〕' | '〗' | '｣' | '．' | '・' | '…'
        | '‥' | '—' | '～' | '〜' | '％' | '‰' | '℃' | '々' | '〻' | 'ー' | 'ゝ' | 'ゞ' | 'ヽ' | 'ヾ'
        | 'ぁ' | 'ぃ' | 'ぅ' | 'ぇ' | 'ぉ' | 'っ' | 'ゃ' | 'ゅ' | 'ょ' | 'ゎ' | 'ァ' | 'ィ' | 'ゥ' | 'ェ'
        | 'ォ' | 'ッ' | 'ャ' | 'ュ' | 'ョ' | 'ヮ' | 'ヵ' | 'ヶ' => Kind::Closing,
        '/' | '?' | '&' | '=' | '-' | '_' | '.' | ':' | '#' | '%' | '+' | '|' | '\\' | '@' => Kind::Joint,
        _ => Kind::Letter,
    }
}
