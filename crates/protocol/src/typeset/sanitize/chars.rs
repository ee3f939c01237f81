//! What one character may do to a reader: the only table of hidden, reordering and lookalike characters.
//! Says nothing about escape sequences.

use unicode_width::UnicodeWidthChar;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Shows as itself.
    Plain,
    /// Sits on the character before it.
    Mark,
    /// Chooses a glyph for the character before it.
    Selector,
    /// ZWJ or ZWNJ: shapes its neighbours in emoji and in joining scripts, hides text anywhere else.
    Joiner,
    /// U+E0020–E007F: real only in the flags of England, Scotland and Wales.
    Tag,
    /// Blank, and not the space that a shell or a compiler takes it for.
    Space,
    /// Ends a line, by another code than a newline.
    Break,
    /// C0 (newline and tab too), DEL and C1.
    Control,
    /// Bidi controls, zero-width characters, fillers, deprecated format characters.
    Hidden,
    /// Noncharacters and planes that hold nothing.
    Invalid,
}

/// Most text by far: decided by comparison alone.
pub(super) fn is_plain_fast(c: char) -> bool {
    matches!(c,
        ' '..='~'
        | '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{2ff}' | '\u{370}'..='\u{482}' | '\u{48a}'..='\u{52f}'
        | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{20a0}'..='\u{20c0}' | '\u{2500}'..='\u{259f}'
        | '\u{3000}'..='\u{3029}' | '\u{3041}'..='\u{3096}' | '\u{30a0}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{ff01}'..='\u{ff9f}')
}

pub(super) fn classify(c: char) -> Class {
    if is_plain_fast(c) {
        return Class::Plain;
    }
    match c {
        '\u{85}' | '\u{2028}' | '\u{2029}' => Class::Break,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Class::Control,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' => Class::Space,
        '\u{200c}' | '\u{200d}' => Class::Joiner,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Class::Selector,
        '\u{e0020}'..='\u{e007f}' => Class::Tag,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d159}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => Class::Hidden,
        '\u{fdd0}'..='\u{fdef}' | '\u{40000}'..='\u{dffff}' | '\u{e1000}'..='\u{effff}' => Class::Invalid,
        _ if u32::from(c) & 0xfffe == 0xfffe => Class::Invalid,
        _ if c.width() == Some(0) => Class::Mark,
        _ => Class::Plain,
    }
}

/// Bidi controls, zero-width characters, tags, fillers: what a person who judges does not see. The two selectors that only
/// choose between a sign and its picture are left out, for they stand in honest text.
pub fn is_invisible(c: char) -> bool {
    match classify(c) {
        Class::Hidden | Class::Joiner | Class::Tag => true,
        Class::Break => c != '\u{85}',
        Class::Selector => !matches!(c, '\u{fe0e}' | '\u{fe0f}'),
        Class::Plain | Class::Mark | Class::Space | Class::Control | Class::Invalid => false,
    }
}

/// What a terminal obeys instead of showing it, newline and tab aside: controls, and what turns the direction of text.
pub fn is_obeyed(c: char) -> bool {
    match classify(c) {
        Class::Control => !matches!(c, '\n' | '\t'),
        Class::Break => c == '\u{85}',
        Class::Hidden => matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'),
        Class::Plain
        | Class::Mark
        | Class::Selector
        | Class::Joiner
        | Class::Tag
        | Class::Space
        | Class::Invalid => false,
    }
}

/// How a visible character lets its neighbours be shaped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shape {
    #[default]
    Other,
    Pictograph,
    /// A letter of a script whose spelling needs ZWJ and ZWNJ: Arabic, Syriac, the Indic scripts, Mongolian.
    Joining,
    Ideograph,
}

pub(super) fn shape(c: char) -> Shape {
    match c {
        '\u{620}'..='\u{7ff}'
        | '\u{840}'..='\u{8ff}'
        | '\u{900}'..='\u{dff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{18aa}'
        | '\u{fb50}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}'
        | '\u{11000}'..='\u{11fff}' => Shape::Joining,
        '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => Shape::Ideograph,
        '\u{a9}'
        | '\u{ae}'
        | '\u{203c}'
        | '\u{2049}'
        | '\u{2122}'
        | '\u{2139}'
        | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}'
        | '\u{2460}'..='\u{24ff}'
        | '\u{25a0}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}'
        | '\u{3030}'
        | '\u{303d}'
        | '\u{3297}'
        | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}' => Shape::Pictograph,
        _ => Shape::Other,
    }
}

/// Whether a joiner between these two is spelling rather than smuggling.
pub(super) fn joins(before: Shape, joiner: char, after: Shape) -> bool {
    match (before, after) {
        (Shape::Pictograph, Shape::Pictograph) => joiner == '\u{200d}',
        (Shape::Joining, Shape::Joining) => true,
        _ => false,
    }
}
