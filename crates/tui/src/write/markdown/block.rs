//! What blocks are, between those who read and those who set them.

/// What a block stands in, seen from the outside in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    /// Tells one container from the next that looks the same.
    pub id: u32,
    pub kind: Kind,
    /// This block is the first in it.
    pub first: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Quote,
    /// What stands before an item or a footnote: `- `, `12. `, `[x] `, `[^1] `.
    Marked(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub inside: Vec<Place>,
    /// A blank line stood before it.
    pub apart: bool,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    Text(String),
    /// The same paragraph goes on.
    MoreText(String),
    Heading(u8, String),
    /// Code begins; what stood behind the fence.
    Code(String),
    CodeLine(String),
    /// The same line goes on.
    MoreCode(String),
    Html(String),
    Rule,
    /// Head, rule and rows.
    Table(String),
    /// The same with further rows of the same table.
    MoreTable(String),
}
