//! Markdown's blocks, line by line as they come (an incremental block parser after CommonMark). `pulldown-cmark` wants the
//! whole text, and would read it again for every delta; here a line is read once, and a block is given away when it is
//! closed. What stands inside a block (emphasis, links, cells) is left to `pulldown-cmark`.
//!
//! Departures, all so that nothing has to wait or gets lost: lists are as loose as their source; a nested item may stand
//! two blanks in; a definition of a link is text; a paragraph, a table and a line that grow too long are given away in parts.

use super::block::{Block, Kind, Place, What};
use super::starts::{self, Fence, HtmlEnd, Marker, indent, is_blank};

/// A paragraph or a table longer than this is given away in parts.
const LONGEST: usize = 4 * 1024;
/// Rows after which a table is given away with the widths it has.
const MOST_ROWS: usize = 200;
/// Quotes and items nest no deeper; what looks like more of them is text.
const DEEPEST: usize = 32;

#[derive(Clone, Debug)]
struct Container {
    place: Place,
    /// Of an item: blanks that its lines have before them.
    marker: Option<Marker>,
    /// Nothing stood in it yet.
    empty: bool,
}

#[derive(Clone, Debug, Default)]
enum Leaf {
    #[default]
    None,
    Paragraph {
        text: String,
        apart: bool,
        more: bool,
    },
    Table {
        head: String,
        text: String,
        rows: usize,
        apart: bool,
        more: bool,
    },
    Fence(Fence),
    /// Code by indent, and the blank lines that may belong to it.
    Indented {
        blanks: usize,
    },
    Html(HtmlEnd),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    open: Vec<Container>,
    leaf: Leaf,
    /// A blank line came, and nothing since.
    blank: bool,
    ids: u32,
}

impl Blocks {
    /// One line without its end, without tabs.
    pub fn line(&mut self, line: &str, out: &mut Vec<Block>) {
        let (mut at, mut rest) = self.matched(line);
        let all = at == self.open.len();
        if all && self.verbatim(rest, out) {
            return;
        }
        let mut paragraph = all && matches!(self.leaf, Leaf::Paragraph { .. });
        let before = at;
        while !is_blank(rest) {
            if indent(rest) >= 4 {
                if matches!(self.leaf, Leaf::Paragraph { .. }) {
                    break;
                }
                return self.indented(at, rest, out);
            }
            if self.leaf_starts(at, rest, paragraph, out) {
                return;
            } else if at >= DEEPEST {
                break;
            } else if let Some(inner) = starts::quote(rest) {
                self.close(at, out);
                self.enter(Kind::Quote, None);
                rest = inner;
            } else if let Some(marker) = starts::marker(rest).filter(|marker| may_start(marker, paragraph)) {
                rest = self.item(at, marker, rest, out);
            } else if let Some((label, inner)) =
                starts::footnote(rest.trim_start_matches(' ')).filter(|_| !paragraph)
            {
                self.close(at, out);
                let marker =
                    Marker { indent: 0, column: 4, sign: '^', number: None, empty: inner.is_empty() };
                self.enter(Kind::Marked(format!("[^{label}] ")), Some(marker));
                rest = inner;
            } else {
                break;
            }
            at += 1;
            paragraph = false;
        }
        if is_blank(rest) {
            // An item that just began waits for its first line.
            if at == before {
                self.blank_line(at, out);
            }
            return;
        }
        // A paragraph goes on, whatever is missing before its line.
        let goes_on = matches!(self.leaf, Leaf::Paragraph { .. });
        if at < self.open.len() && !goes_on {
            self.close(at, out);
        }
        self.text(rest, out);
    }

    /// More of the last line, which was too long to wait for its end.
    pub fn more(&mut self, piece: &str, out: &mut Vec<Block>) {
        match &mut self.leaf {
            Leaf::Fence(_) | Leaf::Indented { .. } => self.give(What::MoreCode(piece.to_owned()), false, out),
            Leaf::Html(end) => {
                if matches!(end, HtmlEnd::With(end) if piece.to_ascii_lowercase().contains(*end)) {
                    self.leaf = Leaf::None;
                }
                self.give(What::Html(piece.to_owned()), false, out);
            }
            Leaf::Paragraph { text, .. } | Leaf::Table { text, .. } => {
                text.push_str(piece);
                self.part(out);
            }
            Leaf::None => self.leaf = Leaf::Paragraph { text: piece.to_owned(), apart: false, more: true },
        }
    }

    pub fn finish(&mut self, out: &mut Vec<Block>) {
        self.close(0, out);
    }

    /// How many containers go on in this line, and what is left of it inside them.
    fn matched<'a>(&mut self, line: &'a str) -> (usize, &'a str) {
        let mut rest = line;
        for (at, container) in self.open.iter_mut().enumerate() {
            let inner = match &mut container.marker {
                None => starts::quote(rest).filter(|_| indent(rest) <= 3),
                Some(_) if is_blank(rest) => (!container.empty).then_some(rest),
                Some(marker) => {
                    // An item that stands two blanks in is meant to be nested, also below a mark of three columns.
                    if let Some(column) = nested(rest, marker) {
                        marker.column = column;
                    }
                    rest.get(marker.column..).filter(|_| indent(rest) >= marker.column)
                }
            };
            match inner {
                Some(inner) => rest = inner,
                None => return (at, rest),
            }
        }
        (self.open.len(), rest)
    }

    /// Code and HTML take lines as they are.
    fn verbatim(&mut self, rest: &str, out: &mut Vec<Block>) -> bool {
        match &mut self.leaf {
            Leaf::Fence(fence) => {
                if starts::closes(rest, fence) {
                    self.leaf = Leaf::None;
                } else {
                    let own = indent(rest).min(fence.indent);
                    let line = rest[own..].to_owned();
                    self.give(What::CodeLine(line), false, out);
                }
                true
            }
            Leaf::Html(end) => {
                let over = match end {
                    HtmlEnd::Blank if is_blank(rest) => {
                        self.leaf = Leaf::None;
                        return false;
                    }
                    HtmlEnd::Blank => false,
                    HtmlEnd::With(end) => rest.to_ascii_lowercase().contains(*end),
                };
                self.give(What::Html(rest.to_owned()), false, out);
                if over {
                    self.leaf = Leaf::None;
                }
                true
            }
            Leaf::Indented { blanks } if is_blank(rest) => {
                *blanks += 1;
                true
            }
            Leaf::None | Leaf::Paragraph { .. } | Leaf::Table { .. } | Leaf::Indented { .. } => false,
        }
    }

    fn indented(&mut self, at: usize, rest: &str, out: &mut Vec<Block>) {
        let blanks = match &mut self.leaf {
            Leaf::Indented { blanks } if at == self.open.len() => Some(std::mem::take(blanks)),
            _ => None,
        };
        match blanks {
            Some(blanks) => {
                (0..blanks).for_each(|_| self.give(What::CodeLine(String::new()), false, out));
            }
            None => {
                self.close(at, out);
                let apart = self.apart();
                self.give(What::Code(String::new()), apart, out);
                self.leaf = Leaf::Indented { blanks: 0 };
            }
        }
        self.give(What::CodeLine(rest[4..].to_owned()), false, out);
    }

    /// Blocks that begin with this line and hold no others.
    fn leaf_starts(&mut self, at: usize, rest: &str, paragraph: bool, out: &mut Vec<Block>) -> bool {
        let text = rest.trim_start_matches(' ');
        if let Some((level, title)) = starts::heading(text) {
            self.close(at, out);
            let apart = self.apart();
            self.give(What::Heading(level, title.to_owned()), apart, out);
        } else if let Some((fence, info)) = starts::fence(rest) {
            self.close(at, out);
            let apart = self.apart();
            self.give(What::Code(info.to_owned()), apart, out);
            self.leaf = Leaf::Fence(fence);
        } else if let Some(end) = starts::html(text, paragraph) {
            self.close(at, out);
            let apart = self.apart();
            self.give(What::Html(rest.to_owned()), apart, out);
            let over = matches!(end, HtmlEnd::With(end) if text.to_ascii_lowercase().contains(end));
            self.leaf = if over { Leaf::None } else { Leaf::Html(end) };
        } else if paragraph && self.underlined(text, out) {
        } else if starts::is_rule(text) {
            self.close(at, out);
            let apart = self.apart();
            self.give(What::Rule, apart, out);
        } else if !(paragraph && self.table(text, out)) {
            return false;
        }
        true
    }

    /// The paragraph was a heading.
    fn underlined(&mut self, text: &str, out: &mut Vec<Block>) -> bool {
        let Leaf::Paragraph { text: title, apart, more: false } = &mut self.leaf else { return false };
        let Some(level) = starts::underline(text) else { return false };
        let (title, apart) = (std::mem::take(title).replace('\n', " "), *apart);
        self.leaf = Leaf::None;
        self.give(What::Heading(level, title), apart, out);
        true
    }

    /// The last line of the paragraph was the head of a table.
    fn table(&mut self, rule: &str, out: &mut Vec<Block>) -> bool {
        let Leaf::Paragraph { text, apart, more } = &mut self.leaf else { return false };
        let start = text.rfind('\n').map_or(0, |at| at + 1);
        if !starts::is_table(&text[start..], rule) {
            return false;
        }
        let head = format!("{}\n{rule}\n", &text[start..]);
        let (before, apart, more) = (text[..start].trim_end_matches('\n').to_owned(), *apart, *more);
        let first = before.is_empty();
        if !first {
            self.give(if more { What::MoreText(before) } else { What::Text(before) }, apart, out);
        }
        let apart = first && apart;
        self.leaf = Leaf::Table { head, text: String::new(), rows: 0, apart, more: false };
        true
    }

    fn item<'a>(&mut self, at: usize, marker: Marker, rest: &'a str, out: &mut Vec<Block>) -> &'a str {
        // The next of the same list: what it is called follows from the one before.
        let before = self.open.get(at).and_then(|container| container.marker.as_ref());
        let number = match (before, marker.number) {
            (Some(before), Some(_)) if before.sign == marker.sign => before.number.map(|number| number + 1),
            (_, number) => number,
        };
        self.close(at, out);
        let shown = match number {
            Some(number) => format!("{number}{} ", marker.sign),
            None => "- ".to_owned(),
        };
        let inner = rest.get(marker.column..).unwrap_or_default();
        self.enter(Kind::Marked(shown), Some(Marker { number, ..marker }));
        inner
    }

    fn blank_line(&mut self, at: usize, out: &mut Vec<Block>) {
        match self.leaf {
            Leaf::Paragraph { .. } | Leaf::Table { .. } => self.close(at, out),
            _ if at < self.open.len() => self.close(at, out),
            Leaf::None | Leaf::Fence(_) | Leaf::Indented { .. } | Leaf::Html(_) => {}
        }
        self.blank = true;
    }

    fn text(&mut self, rest: &str, out: &mut Vec<Block>) {
        let line = rest.trim_start_matches(' ');
        match &mut self.leaf {
            Leaf::Paragraph { text, .. } => {
                text.push('\n');
                text.push_str(line);
            }
            Leaf::Table { text, rows, .. } => {
                *rows += 1;
                text.push_str(line);
                text.push('\n');
            }
            Leaf::None | Leaf::Fence(_) | Leaf::Indented { .. } | Leaf::Html(_) => {
                self.close(self.open.len(), out);
                let apart = self.apart();
                let text = self.task(line).to_owned();
                self.leaf = Leaf::Paragraph { text, apart, more: false };
                self.used();
            }
        }
        self.part(out);
    }

    /// What is long is not waited for.
    fn part(&mut self, out: &mut Vec<Block>) {
        match &mut self.leaf {
            Leaf::Paragraph { text, apart, more } if text.len() >= LONGEST => {
                let (text, apart) = (std::mem::take(text), std::mem::take(apart));
                let what =
                    if std::mem::replace(more, true) { What::MoreText(text) } else { What::Text(text) };
                self.give(what, apart, out);
            }
            Leaf::Table { head, text, rows, apart, more }
                if *rows >= MOST_ROWS || text.len() >= LONGEST * 4 =>
            {
                let all = format!("{head}{}", std::mem::take(text));
                let apart = std::mem::take(apart);
                *rows = 0;
                let what =
                    if std::mem::replace(more, true) { What::MoreTable(all) } else { What::Table(all) };
                self.give(what, apart, out);
            }
            Leaf::None
            | Leaf::Paragraph { .. }
            | Leaf::Table { .. }
            | Leaf::Fence(_)
            | Leaf::Indented { .. }
            | Leaf::Html(_) => {}
        }
    }

    /// `[ ]` and `[x]` at the start of an item stand in the place of its mark.
    fn task<'a>(&mut self, line: &'a str) -> &'a str {
        let Some(container) = self.open.last_mut().filter(|container| container.empty) else { return line };
        let Kind::Marked(mark) = &mut container.place.kind else { return line };
        let done = match line.as_bytes() {
            [b'[', b' ', b']', b' ', ..] => ' ',
            [b'[', b'x' | b'X', b']', b' ', ..] => 'x',
            _ => return line,
        };
        if mark == "- " {
            *mark = format!("[{done}] ");
        } else {
            return line;
        }
        line[4..].trim_start_matches(' ')
    }

    fn enter(&mut self, kind: Kind, marker: Option<Marker>) {
        self.ids += 1;
        let place = Place { id: self.ids, kind, first: true };
        self.used();
        self.open.push(Container { place, marker, empty: true });
    }

    /// Something stands in all that is open.
    fn used(&mut self) {
        self.open.iter_mut().for_each(|container| container.empty = false);
    }

    fn apart(&mut self) -> bool {
        std::mem::take(&mut self.blank)
    }

    /// Closes the leaf and every container from `at` on.
    fn close(&mut self, at: usize, out: &mut Vec<Block>) {
        match std::mem::take(&mut self.leaf) {
            Leaf::Paragraph { text, apart, more } if !text.is_empty() => {
                self.give(if more { What::MoreText(text) } else { What::Text(text) }, apart, out);
            }
            Leaf::Table { head, text, apart, more, .. } if !(more && text.is_empty()) => {
                let all = head + &text;
                self.give(if more { What::MoreTable(all) } else { What::Table(all) }, apart, out);
            }
            Leaf::Indented { blanks } if blanks > 0 => self.blank = true,
            Leaf::None
            | Leaf::Paragraph { .. }
            | Leaf::Table { .. }
            | Leaf::Fence(_)
            | Leaf::Indented { .. }
            | Leaf::Html(_) => {}
        }
        while self.open.len() > at {
            // An item without anything in it is there all the same.
            let unseen = self.open.last().is_some_and(|last| last.place.first);
            if unseen {
                let apart = self.apart();
                self.give(What::Text(String::new()), apart, out);
            }
            self.open.pop();
        }
    }

    fn give(&mut self, what: What, apart: bool, out: &mut Vec<Block>) {
        self.used();
        let inside = self.open.iter().map(|container| container.place.clone()).collect();
        self.open.iter_mut().for_each(|container| container.place.first = false);
        out.push(Block { inside, apart, what });
    }
}

/// In the middle of a paragraph a number is more often just a number.
fn may_start(marker: &Marker, paragraph: bool) -> bool {
    !paragraph || (!marker.empty && marker.number.is_none_or(|number| number == 1))
}

/// Where an item stands that belongs into another, though not far enough in.
fn nested(rest: &str, parent: &Marker) -> Option<usize> {
    let column = indent(rest);
    let meant = (parent.indent + 2..parent.column).contains(&column) && parent.sign != '^';
    (meant && starts::marker(rest).is_some() && !starts::is_rule(rest)).then_some(column)
}
