//! A whole screen of its own, for what is read and left again: the alternate screen. Only changed rows are written.

use super::cells::Row;
use super::out::Out;
use crate::look::Drawn;
use crate::theme::Depth;

#[derive(Default)]
pub(super) struct Page {
    /// What is shown; nothing is known of rows beyond.
    rows: Vec<Row>,
    size: (u16, u16),
    cursor: Option<(u16, u16)>,
}

impl Page {
    /// The bytes for it, none if nothing changes. `size` is columns and rows.
    pub(super) fn draw(&mut self, drawn: &Drawn, size: (u16, u16), depth: Depth) -> Vec<u8> {
        let afresh = self.size != size;
        if afresh {
            self.rows.clear();
        }
        let (columns, rows) = (size.0.max(1), usize::from(size.1.max(1)));
        let blank = Row::default();
        let mut bytes = Vec::new();
        let wanted: Vec<Row> =
            drawn.lines.iter().take(rows).map(|line| Row::new(line, usize::from(columns))).collect();
        for at in 0..rows {
            let row = wanted.get(at).unwrap_or(&blank);
            if !afresh && self.rows.get(at).unwrap_or(&blank) == row {
                continue;
            }
            let mut out = Out::new(depth, columns, 0, 0);
            out.cells(row, 0, row.cells.len());
            out.plain();
            bytes.extend_from_slice(format!("\x1b[{};1H\x1b[K", at + 1).as_bytes());
            bytes.extend_from_slice(&out.bytes);
        }
        if !bytes.is_empty() || self.cursor != drawn.cursor || afresh {
            let cursor = drawn.cursor.map_or("\x1b[?25l".to_owned(), |(column, row)| {
                format!("\x1b[{};{}H\x1b[?25h", row + 1, column + 1)
            });
            bytes = [b"\x1b[?7l".as_slice(), &bytes, b"\x1b[?7h", cursor.as_bytes()].concat();
        }
        (self.rows, self.size, self.cursor) = (wanted, size, drawn.cursor);
        bytes
    }
}
