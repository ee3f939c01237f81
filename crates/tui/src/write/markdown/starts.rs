//! How a block begins: what one line says, read after CommonMark. Knows nothing of the lines around it.

/// A line that opens a list item.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Marker {
    /// Blanks before it.
    pub indent: usize,
    /// Where its content begins, counted from the start of the line.
    pub column: usize,
    /// `-`, `+`, `*`, or what ends a number.
    pub sign: char,
    pub number: Option<u64>,
    /// Nothing stands behind it.
    pub empty: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fence {
    pub sign: char,
    pub len: usize,
    pub indent: usize,
}

/// What ends a block of HTML.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum HtmlEnd {
    Blank,
    With(&'static str),
}

pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

pub(super) fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| byte == b' ')
}

/// The rest behind `>`.
pub(super) fn quote(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ').strip_prefix('>')?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

pub(super) fn heading(text: &str) -> Option<(u8, &str)> {
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with(' ')) {
        return None;
    }
    let rest = rest.trim_matches(' ');
    let bare = rest.trim_end_matches('#');
    // A closing sequence, unless it is part of a word.
    let title = if bare.is_empty() || bare.ends_with(' ') { bare.trim_end_matches(' ') } else { rest };
    Some((u8::try_from(level).unwrap_or(6), title))
}

/// The line below a paragraph that makes a heading of it.
pub(super) fn underline(text: &str) -> Option<u8> {
    let text = text.trim_end_matches(' ');
    let all = |sign: char| !text.is_empty() && text.chars().all(|c| c == sign);
    if all('=') {
        return Some(1);
    }
    all('-').then_some(2)
}

pub(super) fn is_rule(text: &str) -> bool {
    let mut signs = text.chars().filter(|c| *c != ' ');
    let Some(sign @ ('-' | '*' | '_')) = signs.next() else { return false };
    let mut more = 0;
    signs.all(|c| {
        more += 1;
        c == sign
    }) && more >= 2
}

pub(super) fn fence(line: &str) -> Option<(Fence, &str)> {
    let text = line.trim_start_matches(' ');
    let sign = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = text.trim_start_matches(sign);
    let len = text.len() - rest.len();
    if len < 3 || (sign == '`' && rest.contains('`')) {
        return None;
    }
    Some((Fence { sign, len, indent: indent(line) }, rest.trim_matches(' ')))
}

pub(super) fn closes(line: &str, fence: &Fence) -> bool {
    let text = line.trim_matches(' ');
    indent(line) <= 3 && text.len() >= fence.len && text.chars().all(|c| c == fence.sign)
}

pub(super) fn marker(line: &str) -> Option<Marker> {
    let indent = indent(line);
    let text = &line[indent..];
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = text[digits..].chars().next()?;
    let number = match (digits, sign) {
        (0, '-' | '+' | '*') => None,
        (1..=9, '.' | ')') => Some(text[..digits].parse().ok()?),
        _ => return None,
    };
    let rest = &text[digits + 1..];
    if !(rest.is_empty() || rest.starts_with(' ')) {
        return None;
    }
    let empty = is_blank(rest);
    let blanks = self::indent(rest);
    // More than four belong to code.
    let gap = if empty || blanks > 4 { 1 } else { blanks };
    Some(Marker { indent, column: indent + digits + 1 + gap, sign, number, empty })
}

/// `[^label]:` and where its text begins.
pub(super) fn footnote(text: &str) -> Option<(&str, &str)> {
    let (label, rest) = text.strip_prefix("[^")?.split_once("]:")?;
    let fine = !label.is_empty() && !label.contains([' ', '[', ']']);
    fine.then(|| (label, rest.trim_start_matches(' ')))
}

/// What begins a block of HTML; a lone tag begins none in the middle of a paragraph.
pub(super) fn html(text: &str, in_paragraph: bool) -> Option<HtmlEnd> {
    let rest = text.strip_prefix('<')?;
    let lower = rest.get(..rest.len().min(12)).unwrap_or(rest).to_ascii_lowercase();
    let ends = [
        ("!--", "-->"),
        ("?", "?>"),
        ("![cdata[", "]]>"),
        ("!", ">"),
        ("script", "</script>"),
        ("pre", "</pre>"),
        ("style", "</style>"),
        ("textarea", "</textarea>"),
    ];
    if let Some((start, end)) = ends.iter().find(|(start, _)| lower.starts_with(start)) {
        let follows = lower[start.len()..].chars().next();
        if !start.chars().all(char::is_alphabetic) || follows.is_none_or(|c| matches!(c, ' ' | '>')) {
            return Some(HtmlEnd::With(end));
        }
    }
    let name = rest.strip_prefix('/').unwrap_or(rest);
    let len = name.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let (name, behind) = name.split_at(len);
    let ended = behind.is_empty() || behind.starts_with([' ', '>']) || behind.starts_with("/>");
    if ended && BLOCK_TAGS.contains(&name.to_ascii_lowercase().as_str()) {
        return Some(HtmlEnd::Blank);
    }
    // A break or a key is a part of a text.
    let inline = ["br", "kbd"].iter().any(|known| name.eq_ignore_ascii_case(known));
    let named = !inline && name.starts_with(|c: char| c.is_ascii_alphabetic());
    let lone = named && ended && text.trim_end_matches(' ').ends_with('>') && text.matches('>').count() == 1;
    (lone && !in_paragraph).then_some(HtmlEnd::Blank)
}

const BLOCK_TAGS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "iframe",
    "legend",
    "li",
    "link",
    "main",
    "menu",
    "nav",
    "ol",
    "optgroup",
    "option",
    "p",
    "param",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "track",
    "ul",
];

/// Whether `line` rules off a table below the row `head`.
pub(super) fn is_table(head: &str, line: &str) -> bool {
    let line = line.trim_matches(' ');
    let Some(columns) = cells(line) else { return false };
    let dashes = |cell: &str| {
        let cell = cell.trim_matches(' ');
        let cell = cell.strip_prefix(':').unwrap_or(cell);
        let cell = cell.strip_suffix(':').unwrap_or(cell);
        !cell.is_empty() && cell.bytes().all(|byte| byte == b'-')
    };
    let inner = line.strip_prefix('|').unwrap_or(line);
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    inner.split('|').all(dashes) && cells(head.trim_matches(' ')) == Some(columns)
}

/// How many cells a row has; none when it has no bar.
fn cells(row: &str) -> Option<usize> {
    let mut bars = 0;
    let mut escaped = false;
    for byte in row.bytes() {
        bars += usize::from(byte == b'|' && !escaped);
        escaped = byte == b'\\' && !escaped;
    }
    let edges = usize::from(row.starts_with('|'))
        + usize::from(row.len() > 1 && row.ends_with('|') && !row.ends_with("\\|"));
    (bars > 0).then(|| bars + 1 - edges.min(bars))
}
