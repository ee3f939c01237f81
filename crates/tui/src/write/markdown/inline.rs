//! What stands inside a block: emphasis, code, links. A link always shows where it goes; HTML shows as it is, but for breaks
//! and keys. A name with underscores (`__init__.py`) stays a name.
//! Whatever `pulldown-cmark` decodes is cleaned again, for `&#27;` is an escape character by then.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use zdx_protocol::display::plain;

use crate::{Depth, Theme};

/// A line of the source that is longer was broken to fit a width, not to end something.
const BROKEN_TO_FIT: usize = 60;

/// The lines of a paragraph, not wrapped yet.
pub(super) fn paragraph(text: &str, base: Style, theme: &Theme) -> Vec<Line<'static>> {
    // Most of what streams, and each time that more of it comes.
    if is_plain(text) {
        return literal(text.trim_end_matches(' '), base);
    }
    parsed(text, base, theme)
}

/// One line of words, with nothing in it that means something to markdown.
fn is_plain(text: &str) -> bool {
    const MEANS: &[u8] = b"\n\r\t\\`*_~<&[";
    !text.starts_with(char::is_whitespace)
        && !text.trim_end_matches(' ').ends_with(char::is_whitespace)
        && !text.bytes().any(|byte| MEANS.contains(&byte))
}

fn parsed(text: &str, base: Style, theme: &Theme) -> Vec<Line<'static>> {
    let Some(text) = without_first_breaks(text) else { return Vec::new() };
    let parser = Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH);
    if parser.reference_definitions().iter().next().is_some() {
        return literal(text, base);
    }
    let mut events = parser.into_offset_iter();
    if !matches!(events.next(), Some((Event::Start(Tag::Paragraph), _))) {
        return literal(text, base);
    }
    let mut setter = Setter::new(text, base, theme);
    for (event, at) in events.by_ref() {
        match event {
            Event::End(TagEnd::Paragraph) => break,
            event => setter.event(event, at),
        }
    }
    // Blocks where we saw none: better all of it as it was written.
    if events.next().is_some() { literal(text, base) } else { setter.finish() }
}

/// A title on one line.
pub(super) fn title(text: &str, base: Style, theme: &Theme) -> Line<'static> {
    // As a heading, so that `1. First` is no list.
    let source = format!("# {text}");
    let mut setter = Setter::new(&source, base, theme);
    for (event, at) in Parser::new_ext(&source, Options::ENABLE_STRIKETHROUGH).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. }) | Event::End(TagEnd::Heading(_)) => {}
            event => setter.event(event, at),
        }
    }
    setter.on_one_line()
}

/// A line that only breaks says nothing at the start of a block, where it would make HTML of all of it.
fn without_first_breaks(text: &str) -> Option<&str> {
    let mut rest = text;
    while is_break(rest.lines().next().unwrap_or_default().trim()) {
        rest = rest.split_once('\n')?.1;
    }
    Some(rest)
}

fn is_break(tag: &str) -> bool {
    ["<br>", "<br/>", "<br />"].iter().any(|known| tag.eq_ignore_ascii_case(known))
}

/// The tags that stand for something else than themselves.
pub(super) const MEANT: &[&str] = &["<br>", "<br/>", "<br />", "<kbd>", "</kbd>"];

/// Text as it is, line by line.
pub(super) fn literal(text: &str, style: Style) -> Vec<Line<'static>> {
    text.split('\n').map(|line| Line::from(Span::styled(clean(line), style))).collect()
}

/// On one line and safe to print.
fn clean(text: &str) -> String {
    plain(text).replace('\n', " ").replace('\t', "    ")
}

/// Takes events as they come and makes lines of them.
pub(super) struct Setter<'a> {
    /// What the events are of.
    source: &'a str,
    theme: &'a Theme,
    styles: Vec<Style>,
    lines: Vec<Line<'static>>,
    spans: Vec<Span<'static>>,
    /// Columns since the last break of the source.
    columns: usize,
    /// The source broke here only to fit.
    joint: bool,
    links: Vec<Target>,
}

/// Where a link goes, and where its text begins.
struct Target {
    url: String,
    from: (usize, usize),
}

impl<'a> Setter<'a> {
    pub(super) fn new(source: &'a str, base: Style, theme: &'a Theme) -> Self {
        Self {
            source,
            theme,
            styles: vec![base],
            lines: Vec::new(),
            spans: Vec::new(),
            columns: 0,
            joint: false,
            links: Vec::new(),
        }
    }

    pub(super) fn finish(mut self) -> Vec<Line<'static>> {
        // A break at the very end breaks nothing.
        if self.lines.is_empty() || !self.spans.is_empty() {
            self.newline();
        }
        self.lines
    }

    /// A blank where a line was broken.
    pub(super) fn on_one_line(self) -> Line<'static> {
        let mut spans: Vec<Span<'static>> = Vec::new();
        for line in self.finish() {
            if !spans.is_empty() && !line.spans.is_empty() {
                spans.push(Span::raw(" "));
            }
            spans.extend(line.spans);
        }
        Line::from(spans)
    }

    /// `at` is where it stands in the source.
    pub(super) fn event(&mut self, event: Event<'_>, at: Range<usize>) {
        match event {
            Event::Start(Tag::Strong | Tag::Emphasis) if is_name(self.source, &at) => {
                self.push(underscores(&self.source[at]), self.style());
                self.styles.push(self.style());
            }
            Event::End(tag @ (TagEnd::Strong | TagEnd::Emphasis)) if is_name(self.source, &at) => {
                self.end(tag);
                self.push(underscores(&self.source[at]), self.style());
            }
            Event::InlineHtml(tag) if is_break(&tag) => self.newline(),
            Event::InlineHtml(tag) if MEANT.iter().any(|known| tag.eq_ignore_ascii_case(known)) => {}
            Event::SoftBreak | Event::HardBreak if self.spans.is_empty() => {}
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.push(&text, self.style()),
            Event::Code(text) => self.marked("`", &text, self.theme.code),
            Event::Html(text) | Event::InlineHtml(text) => {
                self.push(&text, self.style().patch(self.theme.dim))
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.push(&text, self.style()),
            Event::FootnoteReference(label) => self.push(&format!("[^{label}]"), self.style()),
            Event::TaskListMarker(done) => self.push(if done { "[x] " } else { "[ ] " }, self.style()),
            Event::SoftBreak if self.columns >= BROKEN_TO_FIT => (self.joint, self.columns) = (true, 0),
            Event::SoftBreak | Event::HardBreak | Event::Rule => self.newline(),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let style = self.style();
        let style = match tag {
            Tag::Strong => style.add_modifier(Modifier::BOLD),
            Tag::Emphasis => style.add_modifier(Modifier::ITALIC),
            Tag::Strikethrough => {
                self.sign("~~", style);
                style.add_modifier(Modifier::CROSSED_OUT)
            }
            Tag::Link { dest_url, .. } => {
                self.target(&dest_url);
                style.patch(self.theme.link)
            }
            Tag::Image { dest_url, .. } => {
                self.push("image: ", style.patch(self.theme.dim));
                self.target(&dest_url);
                style
            }
            _ => style,
        };
        self.styles.push(style);
    }

    fn end(&mut self, tag: TagEnd) {
        if self.styles.len() > 1 {
            self.styles.pop();
        }
        match tag {
            TagEnd::Link | TagEnd::Image => self.show_target(),
            TagEnd::Strikethrough => self.sign("~~", self.style()),
            _ => {}
        }
    }

    /// A sign stands for a style where no terminal shows it.
    fn sign(&mut self, sign: &str, style: Style) {
        if self.theme.depth == Depth::None {
            self.push(sign, style);
        }
    }

    fn marked(&mut self, sign: &str, text: &str, style: Style) {
        let style = self.style().patch(style);
        self.sign(sign, style);
        self.push(text, style);
        self.sign(sign, style);
    }

    fn target(&mut self, url: &str) {
        let from = (self.lines.len(), self.spans.len());
        self.links.push(Target { url: clean(url), from });
    }

    /// Never a hidden address: it stands behind its text, unless it is the text.
    fn show_target(&mut self) {
        let Some(Target { url, from: (line, span) }) = self.links.pop() else { return };
        let earlier = self.lines.iter().skip(line).flat_map(|line| &line.spans);
        let text: String = earlier.chain(&self.spans).skip(span).map(|span| span.content.as_ref()).collect();
        let bare = |text: &str| text.trim_end_matches('/').to_owned();
        let known = [url.as_str(), url.trim_start_matches("mailto:"), url.trim_start_matches("https://")];
        if url.is_empty() || known.iter().any(|known| bare(known) == bare(text.trim())) {
            return;
        }
        let style = self.styles.first().copied().unwrap_or_default().patch(self.theme.dim);
        let blank = if text.is_empty() { "" } else { " " };
        self.push(&format!("{blank}({url})"), style);
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn push(&mut self, text: &str, style: Style) {
        let text = clean(text);
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.joint) && !self.is_cjk_on_both_sides(&text) {
            self.spans.push(Span::raw(" "));
        }
        self.columns += text.width();
        match self.spans.last_mut() {
            // Text between two links is theirs apart.
            Some(last) if last.style == style && self.links.is_empty() => {
                last.content.to_mut().push_str(&text)
            }
            _ => self.spans.push(Span::styled(text, style)),
        }
    }

    /// Chinese and Japanese have no blank where a line was broken.
    fn is_cjk_on_both_sides(&self, text: &str) -> bool {
        let wide = |c: char| c.width() == Some(2) && !('\u{ac00}'..='\u{d7ff}').contains(&c);
        let before = self.spans.last().and_then(|span| span.content.chars().next_back());
        before.is_some_and(wide) && text.chars().next().is_some_and(wide)
    }

    fn newline(&mut self) {
        (self.joint, self.columns) = (false, 0);
        self.lines.push(Line::from(std::mem::take(&mut self.spans)));
    }
}

/// What is set off by underscores without a blank is how a name is spelled (`__init__.py`), not emphasis: two of them always,
/// one where the word goes on.
fn is_name(source: &str, at: &Range<usize>) -> bool {
    let text = &source[at.clone()];
    let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '(' | '[');
    let mut behind = source[at.end..].chars();
    let joined = match behind.next() {
        Some('.' | '-' | ':') => behind.next().is_some_and(goes_on),
        Some(next) => goes_on(next),
        None => false,
    };
    let after = source[..at.start].ends_with(['.', '/', '-', '_', ':']);
    match underscores(text) {
        "" => false,
        _ if text.contains(char::is_whitespace) => false,
        "_" => joined || after,
        _ => true,
    }
}

fn underscores(text: &str) -> &str {
    let all = text.len() - text.trim_start_matches('_').len();
    &text[..all.min(2)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::theme::Depth;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn plain_words_are_what_a_parser_makes_of_them(
            text in "[a-z0-9A-Z漢é🦀 .,:;!?()\\-+=#>|/'\"%$@^{}\\]]{0,60}",
        ) {
            let theme = Theme::new(Depth::Many, false);
            if is_plain(&text) {
                let shown = |lines: Vec<Line<'static>>| lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect::<Vec<_>>();
                let of = |lines: Vec<Line<'static>>| shown(lines).join("\n");
                prop_assert_eq!(
                    of(paragraph(&text, theme.text, &theme)),
                    of(parsed(&text, theme.text, &theme))
                );
            }
        }
    }
}
