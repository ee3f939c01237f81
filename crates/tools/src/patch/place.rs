//! Where a hunk belongs in a file, and the file with it. A hunk goes to the one place its old lines are found, or
//! nowhere: exactly first, then without regard to line ends, then to blanks at the end of lines.
//! Everything a hunk does not change stays as it is, byte for byte.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

use crate::patch_format::{HunkLineSign, PatchHunk};

const MARK: char = '\u{feff}';
const BOM: &[u8] = "\u{feff}".as_bytes();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnd {
    Lf,
    CrLf,
    /// The last line of a file without a final newline.
    None,
}

impl LineEnd {
    fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
            Self::None => b"",
        }
    }
}

type PatchLine<'a> = (Cow<'a, [u8]>, LineEnd);

/// How closely lines are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineMatch {
    Exact,
    LineEnds,
    EndBlanks,
}

const LIKENESSES: [LineMatch; 3] = [LineMatch::Exact, LineMatch::LineEnds, LineMatch::EndBlanks];

/// Why a hunk cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HunkMismatch {
    NotFound,
    /// At more than one place: the first few lines, from 1.
    Ambiguous(Vec<usize>),
    /// It only adds, and nothing says where.
    NoContext,
    /// It changes what another hunk changes.
    Overlap,
}

/// A hunk that does not fit, by its place among the hunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MisplacedHunk {
    pub hunk: usize,
    pub misfit: HunkMismatch,
}

struct HunkPosition {
    hunk: usize,
    start: usize,
    length: usize,
    likeness: LineMatch,
    /// Its first old line is the file's first, with the byte-order mark written out.
    names_bom: bool,
}

/// The content with all hunks applied.
pub(super) fn apply(content: &[u8], hunks: &[PatchHunk]) -> Result<Vec<u8>, MisplacedHunk> {
    let text = PatchedText::new(content);
    let mut places: Vec<HunkPosition> = Vec::with_capacity(hunks.len());
    let mut drift = 0;
    for (number, hunk) in hunks.iter().enumerate() {
        let place =
            text.locate(number, hunk, drift).map_err(|misfit| MisplacedHunk { hunk: number, misfit })?;
        if let Some(at) = hunk.at {
            drift = place.start as isize - at.saturating_sub(1) as isize;
        }
        places.push(place);
    }
    places.sort_by_key(|place| (place.start, place.hunk));
    if let Some(pair) = places.windows(2).find(|pair| pair[0].start + pair[0].length > pair[1].start) {
        let hunk = pair[0].hunk.max(pair[1].hunk);
        return Err(MisplacedHunk { hunk, misfit: HunkMismatch::Overlap });
    }
    Ok(text.with(hunks, &places))
}

struct PatchedText<'a> {
    bom: bool,
    lines: Vec<PatchLine<'a>>,
    /// For each likeness, each line as a number: equal lines have equal numbers.
    indexes: [OnceCell<LineIndex>; 3],
}

struct LineIndex {
    numbers: HashMap<Vec<u8>, u32>,
    lines: Vec<u32>,
}

fn split(content: &[u8]) -> Vec<PatchLine<'_>> {
    let line = |line: &'_ [u8]| match line {
        [text @ .., b'\r', b'\n'] => (text.len(), LineEnd::CrLf),
        [text @ .., b'\n'] => (text.len(), LineEnd::Lf),
        text => (text.len(), LineEnd::None),
    };
    let lines = content.split_inclusive(|&byte| byte == b'\n');
    lines.map(|raw| (Cow::Borrowed(&raw[..line(raw).0]), line(raw).1)).collect()
}

/// What of a line counts.
fn key(line: &[u8], likeness: LineMatch) -> &[u8] {
    match likeness {
        LineMatch::Exact => line,
        LineMatch::LineEnds => line.strip_suffix(b"\r").unwrap_or(line),
        LineMatch::EndBlanks => line.trim_ascii_end(),
    }
}

impl<'a> PatchedText<'a> {
    fn new(content: &'a [u8]) -> Self {
        // Of a file that holds nothing else, the mark is a line.
        let body = content.strip_prefix(BOM).filter(|body| !body.is_empty());
        Self { bom: body.is_some(), lines: split(body.unwrap_or(content)), indexes: Default::default() }
    }

    fn index(&self, likeness: LineMatch) -> &LineIndex {
        let cell = match likeness {
            LineMatch::Exact => &self.indexes[0],
            LineMatch::LineEnds => &self.indexes[1],
            LineMatch::EndBlanks => &self.indexes[2],
        };
        cell.get_or_init(|| {
            let mut numbers: HashMap<Vec<u8>, u32> = HashMap::new();
            let mut lines = Vec::with_capacity(self.lines.len());
            for (line, end) in &self.lines {
                let mut line = key(line, likeness).to_vec();
                if likeness == LineMatch::Exact && *end == LineEnd::CrLf {
                    line.push(b'\r');
                }
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                lines.push(*numbers.entry(line).or_insert(next));
            }
            LineIndex { numbers, lines }
        })
    }

    /// `drift` is how far the hunk before was from where it says it is.
    fn locate(&self, number: usize, hunk: &PatchHunk, drift: isize) -> Result<HunkPosition, HunkMismatch> {
        let length = hunk.old_lines().count();
        let place =
            |start, likeness| HunkPosition { hunk: number, start, length, likeness, names_bom: false };
        if length == 0 {
            return match hunk.at_end || self.lines.is_empty() {
                true => Ok(place(self.lines.len(), LineMatch::Exact)),
                false => Err(HunkMismatch::NoContext),
            };
        }
        if let Some(likeness) = LIKENESSES.into_iter().find(|likeness| self.begins_with_bom(hunk, *likeness))
        {
            return Ok(HunkPosition { names_bom: true, ..place(0, likeness) });
        }
        for likeness in LIKENESSES {
            let index = self.index(likeness);
            let wanted: Option<Vec<u32>> = hunk
                .old_lines()
                .map(|line| index.numbers.get(key(line.as_bytes(), likeness)).copied())
                .collect();
            let Some(wanted) = wanted else { continue };
            let mut starts = occurrences(&index.lines, &wanted);
            if hunk.at_end {
                starts.retain(|start| start + length == self.lines.len());
            }
            let stated = hunk.at.and_then(|at| at.saturating_sub(1).checked_add_signed(drift));
            let starts = self.below_anchors(starts, hunk);
            match starts.as_slice() {
                [] => {}
                [only] => return Ok(place(*only, likeness)),
                several => {
                    return match stated.filter(|stated| several.contains(stated)) {
                        Some(stated) => Ok(place(stated, likeness)),
                        None => {
                            Err(HunkMismatch::Ambiguous(several.iter().take(10).map(|at| at + 1).collect()))
                        }
                    };
                }
            }
        }
        Err(HunkMismatch::NotFound)
    }

    /// Whether the hunk is about the beginning of the file, and writes the byte-order mark as git does.
    fn begins_with_bom(&self, hunk: &PatchHunk, likeness: LineMatch) -> bool {
        let mut wanted: Vec<&[u8]> = hunk.old_lines().map(str::as_bytes).collect();
        let Some(first) = wanted.first().and_then(|line| line.strip_prefix(BOM)).filter(|_| self.bom) else {
            return false;
        };
        wanted[0] = first;
        let index = self.index(likeness);
        let number = |line: &&[u8]| index.numbers.get(key(line, likeness)).copied();
        let fits = wanted.len() <= index.lines.len()
            && wanted.iter().zip(&index.lines).all(|(line, there)| number(line) == Some(*there));
        fits && (!hunk.at_end || wanted.len() == self.lines.len())
    }

    /// Of each place the anchors name, the first start after it. An anchor that is nowhere in the file says nothing
    /// about a place that is unique without it.
    fn below_anchors(&self, starts: Vec<usize>, hunk: &PatchHunk) -> Vec<usize> {
        if hunk.anchors.is_empty() || starts.len() < 2 {
            return starts;
        }
        let lines_of = |anchor: &String| -> Vec<usize> {
            let fits = |at: &usize| self.lines[*at].0.trim_ascii() == anchor.trim().as_bytes();
            (0..self.lines.len()).filter(fits).collect()
        };
        let first_from = |places: &[usize], from: usize| places.iter().copied().find(|at| *at >= from);
        let mut anchored = lines_of(&hunk.anchors[0]);
        for anchor in &hunk.anchors[1..] {
            let places = lines_of(anchor);
            anchored = anchored.iter().filter_map(|at| first_from(&places, at + 1)).collect();
        }
        // A hunk may repeat its anchor as its first line.
        let mut below: Vec<usize> = anchored.iter().filter_map(|at| first_from(&starts, *at)).collect();
        below.dedup();
        if below.is_empty() { starts } else { below }
    }

    fn with(&self, hunks: &[PatchHunk], places: &[HunkPosition]) -> Vec<u8> {
        let mut out: Vec<PatchLine<'_>> = Vec::with_capacity(self.lines.len());
        let (mut at, mut bom) = (0, self.bom);
        let mut closed = self.lines.last().is_none_or(|(_, end)| *end != LineEnd::None);
        for place in places {
            let hunk = &hunks[place.hunk];
            out.extend_from_slice(&self.lines[at..place.start]);
            at = place.start;
            // A patch that names the mark says itself whether it stays.
            bom &= !place.names_bom;
            for (sign, line) in &hunk.lines {
                bom |= place.names_bom
                    && *sign != HunkLineSign::Remove
                    && out.is_empty()
                    && line.starts_with(MARK);
                match sign {
                    // A line that comes before the mark makes it a character like any other.
                    HunkLineSign::Context if place.names_bom && at == 0 && !out.is_empty() => {
                        out.push(([BOM, &self.lines[0].0].concat().into(), self.lines[0].1));
                    }
                    HunkLineSign::Context => out.push(self.lines[at].clone()),
                    HunkLineSign::Add if bom && out.is_empty() => {
                        out.push(self.added(line.strip_prefix(MARK).unwrap_or(line), place));
                    }
                    HunkLineSign::Add => out.push(self.added(line, place)),
                    HunkLineSign::Remove => {}
                }
                at += usize::from(*sign != HunkLineSign::Add);
            }
            closed = match (hunk.open_old, hunk.open_new) {
                (true, false) => true,
                (false, true) => false,
                (true, true) | (false, false) => closed,
            };
        }
        out.extend_from_slice(&self.lines[at..]);
        self.join(out, closed, bom)
    }

    /// A line that comes in has the line end of those around it, unless the patch speaks of line ends itself.
    fn added<'b>(&self, line: &'b str, place: &HunkPosition) -> PatchLine<'b> {
        let around = &self.lines[place.start..place.start + place.length];
        let bare = line.strip_suffix('\r').unwrap_or(line);
        // Old lines that match with their line ends are a patch that knows of them.
        let exact = place.likeness == LineMatch::Exact;
        let end = match bare.len() < line.len() {
            true if exact => LineEnd::CrLf,
            false if exact && around.iter().any(|(_, end)| *end != LineEnd::None) => LineEnd::Lf,
            true | false => self.usual_end(place),
        };
        (Cow::Borrowed(bare.as_bytes()), end)
    }

    fn usual_end(&self, place: &HunkPosition) -> LineEnd {
        let around = self.lines[place.start..].iter().take(place.length);
        let before = self.lines[..place.start].iter().rev().take(1);
        let near = around.chain(before).map(|(_, end)| *end).find(|end| *end != LineEnd::None);
        near.or_else(|| self.lines.first().map(|(_, end)| *end).filter(|end| *end != LineEnd::None))
            .unwrap_or(LineEnd::Lf)
    }

    fn join(&self, mut lines: Vec<PatchLine<'_>>, closed: bool, bom: bool) -> Vec<u8> {
        let usual =
            lines.iter().map(|(_, end)| *end).find(|end| *end != LineEnd::None).unwrap_or(LineEnd::Lf);
        let last = lines.len().saturating_sub(1);
        for (at, (_, end)) in lines.iter_mut().enumerate() {
            match (at == last, closed, *end) {
                (false, _, LineEnd::None) | (true, true, LineEnd::None) => *end = usual,
                (true, false, _) => *end = LineEnd::None,
                (false, _, LineEnd::Lf | LineEnd::CrLf) | (true, true, LineEnd::Lf | LineEnd::CrLf) => {}
            }
        }
        let mut content = if bom && !lines.is_empty() { BOM.to_vec() } else { Vec::new() };
        for (line, end) in &lines {
            content.extend_from_slice(line);
            content.extend_from_slice(end.bytes());
        }
        content
    }
}

/// Where `wanted` begins in `lines`, in time that grows with the sum of both (Knuth, Morris, Pratt).
fn occurrences(lines: &[u32], wanted: &[u32]) -> Vec<usize> {
    let mut fallback = vec![0; wanted.len()];
    let mut matched = 0;
    for at in 1..wanted.len() {
        while matched > 0 && wanted[at] != wanted[matched] {
            matched = fallback[matched - 1];
        }
        matched += usize::from(wanted[at] == wanted[matched]);
        fallback[at] = matched;
    }
    let (mut starts, mut matched) = (Vec::new(), 0);
    for (at, line) in lines.iter().enumerate() {
        while matched > 0 && *line != wanted[matched] {
            matched = fallback[matched - 1];
        }
        matched += usize::from(*line == wanted[matched]);
        if matched == wanted.len() {
            starts.push(at + 1 - matched);
            matched = fallback[matched - 1];
        }
    }
    starts
}
