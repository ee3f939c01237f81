//! From blocks to rows: margins of what they stand in, blank rows between them, each block in its own manner.
//! Remembers what the next block needs to know of the last one, and nothing else.

use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::block::{Block, Kind, Place, What};
use super::{inline, table};
use crate::write::code::{FOLDED, MOST_STREAMED, Painter, is_language};
use crate::write::wrap::{Margin, fold_in, spaces, width_of, wrap_in};
use crate::{Look, Theme};

const QUOTE: &str = "│ ";
/// Code stands as far in as the mark of a folded row is wide.
const CODE: &str = "  ";

#[derive(Clone, Default)]
pub(super) struct Setter {
    before: Option<Before>,
    painter: Option<Painter>,
    columns: Option<table::Columns>,
}

#[derive(Clone)]
struct Before {
    inside: Vec<Place>,
    sort: Sort,
}

/// What decides whether two blocks need a blank row between them.
#[derive(Clone, Copy, PartialEq)]
enum Sort {
    Text,
    Heading,
    Html,
    /// Code, tables, rules.
    Set,
}

impl Setter {
    pub(super) fn set(&mut self, block: Block, look: Look<'_>, out: &mut Vec<Line<'static>>) {
        let sort = match block.what {
            What::Text(_) => Some(Sort::Text),
            What::Heading(..) => Some(Sort::Heading),
            What::Code(_) | What::Rule | What::Table(_) => Some(Sort::Set),
            What::Html(_) => Some(Sort::Html),
            What::MoreText(_) | What::CodeLine(_) | What::MoreCode(_) | What::MoreTable(_) => None,
        };
        if let Some(sort) = sort {
            if self.wants_gap(&block, sort) {
                out.push(self.gap(&block.inside, look.theme));
            }
            self.before = Some(Before { inside: block.inside.clone(), sort });
        }
        let margin = margin(&block.inside, look.theme);
        self.rows(block.what, &margin, look, out);
    }

    fn rows(&mut self, what: What, margin: &Margin, look: Look<'_>, out: &mut Vec<Line<'static>>) {
        let theme = look.theme;
        match what {
            What::Text(text) | What::MoreText(text) => {
                push_all(inline::paragraph(&text, theme.text, theme), margin, look, out);
            }
            What::Heading(level, text) => {
                out.extend(wrap_in(inline::title(&text, heading(level, theme), theme), look.width, margin));
            }
            What::Html(text) => {
                let lines = inline::literal(&text, theme.dim);
                lines.into_iter().for_each(|line| out.extend(fold_in(line, look.width, margin)));
            }
            What::Rule => out.push(rule(margin, look)),
            What::Code(info) => {
                self.painter = Some(Painter::new(language(&info), MOST_STREAMED));
                if !is_only_language(&info) {
                    let line = Line::from(Span::styled(info, theme.dim));
                    out.extend(wrap_in(line, look.width, &coded(margin, CODE, theme)));
                } else if margin.first != margin.rest {
                    // Code right behind the mark of an item: the mark stands alone.
                    out.extend(wrap_in(Line::default(), look.width, margin));
                }
            }
            What::CodeLine(text) => {
                let spans = match &mut self.painter {
                    Some(painter) => painter.line(&text, theme),
                    None => vec![Span::styled(text, theme.text)],
                };
                out.extend(fold_in(Line::from(spans), look.width, &coded(margin, CODE, theme)));
            }
            What::MoreCode(text) => {
                let line = Line::from(Span::styled(text, theme.text));
                out.extend(fold_in(line, look.width, &coded(margin, FOLDED, theme)));
            }
            What::Table(text) => self.table(&text, false, margin, look, out),
            What::MoreTable(text) => self.table(&text, true, margin, look, out),
        }
    }

    fn table(
        &mut self,
        text: &str,
        more: bool,
        margin: &Margin,
        look: Look<'_>,
        out: &mut Vec<Line<'static>>,
    ) {
        let room = usize::from(look.width).saturating_sub(width_of(&margin.first)).max(8);
        // A row that was not even begun is none.
        let text = match text.trim_end().rsplit_once('\n') {
            Some((rows, "|")) => rows,
            Some(_) | None => text,
        };
        let Some(table) = table::read(text, look.theme) else {
            return push_all(
                inline::literal(text.trim_end_matches('\n'), look.theme.text),
                margin,
                look,
                out,
            );
        };
        let columns = match self.columns.take().filter(|columns| more && columns.room == room) {
            Some(columns) => columns,
            None => table::Columns::of(&table, room),
        };
        push_all(table::rows(table, &columns, more, look.theme), margin, look, out);
        self.columns = Some(columns);
    }

    fn wants_gap(&self, block: &Block, sort: Sort) -> bool {
        let Some(before) = &self.before else { return false };
        let in_list = block.inside.iter().any(|place| matches!(place.kind, Kind::Marked(_)));
        match (before.sort, sort) {
            _ if block.apart => true,
            (Sort::Html, Sort::Html) => false,
            (_, Sort::Heading) => true,
            (Sort::Heading, _) => false,
            (Sort::Set, _) | (_, Sort::Set) => !in_list,
            (Sort::Text | Sort::Html, Sort::Text | Sort::Html) => false,
        }
    }

    /// A blank row; quotes around both blocks go on through it.
    fn gap(&self, inside: &[Place], theme: &Theme) -> Line<'static> {
        let before = self.before.as_ref().map_or(&[][..], |before| &before.inside);
        let both =
            before.iter().zip(inside).take_while(|(one, other)| one.id == other.id).map(|(_, place)| place);
        let both: Vec<Place> = both.map(|place| Place { first: false, ..place.clone() }).collect();
        let margin = margin(&both, theme);
        wrap_in(Line::default(), u16::MAX, &margin).pop().unwrap_or_default()
    }
}

fn push_all(lines: Vec<Line<'static>>, margin: &Margin, look: Look<'_>, out: &mut Vec<Line<'static>>) {
    let mut margin = margin.clone();
    for line in lines {
        out.extend(wrap_in(line, look.width, &margin));
        margin.first.clone_from(&margin.rest);
    }
}

fn margin(inside: &[Place], theme: &Theme) -> Margin {
    let mut margin = Margin::default();
    for place in inside {
        match &place.kind {
            Kind::Quote => {
                let bar = Span::styled(QUOTE, theme.dim);
                margin.first.push(bar.clone());
                margin.rest.push(bar);
            }
            Kind::Marked(mark) => {
                let blank = spaces(mark.width());
                if place.first {
                    margin.first.push(Span::styled(mark.clone(), theme.accent));
                } else {
                    margin.first.extend(blank.clone());
                }
                margin.rest.extend(blank);
            }
        }
    }
    margin
}

/// The margin of code in the margin of what it stands in.
fn coded(margin: &Margin, first: &'static str, theme: &Theme) -> Margin {
    let mut margin = margin.clone();
    margin.first.push(Span::styled(first, theme.dim));
    margin.rest.push(Span::styled(FOLDED, theme.dim));
    margin
}

fn heading(level: u8, theme: &Theme) -> Style {
    match level {
        1 => theme.heading.add_modifier(Modifier::UNDERLINED),
        2 => theme.heading,
        3 => theme.strong,
        _ => theme.strong.add_modifier(Modifier::ITALIC),
    }
}

fn rule(margin: &Margin, look: Look<'_>) -> Line<'static> {
    const LONGEST: usize = 40;
    let room = usize::from(look.width).saturating_sub(width_of(&margin.first)).clamp(1, LONGEST);
    let line = Line::from(Span::styled("─".repeat(room), look.theme.dim));
    wrap_in(line, look.width, margin).into_iter().next().unwrap_or_default()
}

fn language(info: &str) -> &str {
    info.split([' ', ',', '{']).next().unwrap_or_default()
}

/// A language that we know shows in its colours; anything else that stands behind a fence is shown.
fn is_only_language(info: &str) -> bool {
    let is_word = info.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_'));
    is_word && is_language(info)
}
