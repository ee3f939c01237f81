//! Outputs that were too long to come here: the files that have all of them, and what was read of those while somebody
//! looks at the whole conversation.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ratatui_core::text::Line;
use serde_json::Value;
use zdx_protocol::display::Gap;
use zdx_protocol::display::format::size;
use zdx_protocol::query::SpilledOutput;
use zdx_protocol::{ToolOutput, path_text};

use super::rows::{block, printed, row};
use crate::look::Look;

/// Fields of a result that may have a file beside them, in the order in which they are shown.
const FIELDS: [&str; 4] = ["stdout", "stderr", "content", "structured"];
/// A file may be a little shorter than what was counted: bytes that are no text were replaced in it.
const SLACK: u64 = 4 << 10;

/// Longer ones are laid out where somebody looks, not as a whole.
const LONG: usize = 256 << 10;

/// All that a call brought, in pieces.
#[derive(Debug)]
pub(super) struct SpilledPieces(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    /// Short enough to be in the result.
    Text(String),
    File(Box<SpilledPiece>),
}

#[derive(Debug)]
struct SpilledPiece {
    path: PathBuf,
    /// Bytes that were printed, as far as the result tells.
    printed: u64,
    /// The end of it, as the result has it.
    end: String,
    asked: bool,
    read: Option<Arc<SpilledOutput>>,
}

impl SpilledPieces {
    /// None where the result is all there is.
    pub(super) fn of(result: &ToolOutput) -> Option<Self> {
        let ToolOutput::Ok(data) = result else { return None };
        let pieces: Vec<Piece> = FIELDS.iter().filter_map(|field| Piece::of(data, field)).collect();
        pieces.iter().any(|piece| matches!(piece, Piece::File(_))).then_some(Self(pieces))
    }

    pub(super) fn bytes(&self) -> usize {
        let bytes = |piece: &Piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::File(file) => file.end.len(),
        };
        self.0.iter().map(bytes).sum()
    }

    /// The files that nobody asked for yet, as far as they fit into so many bytes.
    pub(super) fn take_unread(&mut self, room: &mut u64) -> Vec<PathBuf> {
        let ask = |file: &mut SpilledPiece| {
            let fits = !file.asked && file.printed <= *room;
            if fits {
                file.asked = true;
                *room -= file.printed;
            }
            fits.then(|| file.path.clone())
        };
        self.files_mut().filter_map(ask).collect()
    }

    pub(super) fn set_read(&mut self, read: &Arc<SpilledOutput>) {
        for file in self.files_mut().filter(|file| file.path == read.file) {
            file.read = Some(Arc::clone(read));
        }
    }

    /// The output that a row made by `placeholder` stands for.
    pub(super) fn find(&self, path: &Path) -> Option<&Arc<SpilledOutput>> {
        self.0.iter().find_map(|piece| match piece {
            Piece::File(file) if file.path == path => file.read.as_ref(),
            Piece::File(_) | Piece::Text(_) => None,
        })
    }

    pub(super) fn forget_read(&mut self) {
        self.files_mut().for_each(|file| (file.asked, file.read) = (false, None));
    }

    /// Everything, once all files were read.
    pub(super) fn rows(&self, indent: &'static str, look: Look<'_>) -> Option<Vec<Line<'static>>> {
        let is_there = |piece: &Piece| match piece {
            Piece::Text(_) => true,
            Piece::File(file) => file.read.is_some(),
        };
        let all = self.0.iter().all(is_there);
        all.then(|| self.0.iter().flat_map(|piece| piece.rows(indent, look)).collect())
    }

    fn files_mut(&mut self) -> impl Iterator<Item = &mut SpilledPiece> {
        self.0.iter_mut().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::File(file) => Some(file.as_mut()),
        })
    }
}

impl Piece {
    fn of(data: &Value, field: &str) -> Option<Self> {
        let text =
            data.get(field).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let text = text.unwrap_or_default();
        let Some(path) = data.get(format!("{field}_file")).and_then(Value::as_str) else {
            return (!text.is_empty()).then_some(Self::Text(text));
        };
        let (mut printed, mut end) = (0, String::new());
        for line in text.split_inclusive('\n') {
            match Gap::read(line.trim_end()) {
                Some(gap) => {
                    printed += gap.bytes;
                    end.clear();
                }
                None => {
                    printed += line.len() as u64;
                    end.push_str(line);
                }
            }
        }
        Some(Self::File(Box::new(SpilledPiece {
            path: path_text::decode(path),
            printed,
            end,
            asked: false,
            read: None,
        })))
    }

    fn rows(&self, indent: &'static str, look: Look<'_>) -> Vec<Line<'static>> {
        match self {
            Self::Text(text) => lines(text, indent, look),
            Self::File(file) => file.rows(indent, look),
        }
    }
}

impl SpilledPiece {
    fn rows(&self, indent: &'static str, look: Look<'_>) -> Vec<Line<'static>> {
        let Some(read) = &self.read else { return Vec::new() };
        let SpilledOutput { file, head, left_out, tail } = &**read;
        let mut rows =
            if head.len() > LONG { vec![placeholder(&self.path)] } else { lines(head, indent, look) };
        if *left_out > 0 {
            let note = format!("({} are not shown here; the whole is in {})", size(*left_out), shown(file));
            rows.extend(block(indent, &note, (look.theme.dim, look.theme.warning), look, usize::MAX));
        }
        rows.extend(lines(tail, indent, look));
        let there = (head.len() + tail.len()) as u64 + left_out;
        if there + SLACK < self.printed {
            let note = format!("({} of this were not kept)", size(self.printed - there));
            rows.push(row(indent, &note, look.theme.warning, look));
            rows.extend(lines(&self.end, indent, look));
        }
        rows
    }
}

/// The row that stands for a long output until the page is put together. No text on the screen has a NUL in it.
fn placeholder(path: &Path) -> Line<'static> {
    Line::from(format!("\0{}", path_text::encode(path)))
}

/// The file that a placeholder names.
pub(super) fn placeholder_of(line: &Line<'_>) -> Option<PathBuf> {
    let named = line.spans.last()?.content.strip_prefix('\0')?;
    Some(path_text::decode(named))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn lines(text: &str, indent: &'static str, look: Look<'_>) -> Vec<Line<'static>> {
    let dim = (look.theme.dim, look.theme.dim);
    let line = |line: &str| match line.trim().is_empty() {
        true => vec![Line::default()],
        false => block(indent, &printed(line), dim, look, usize::MAX),
    };
    text.trim_end().lines().flat_map(line).collect()
}
