//! The bytes of one frame: where the terminal's cursor is and which style is on is kept, so that moves and styles are as short
//! as they can be. Rows are counted from wherever the frame begins: nothing here needs to know where on the screen that is.

use ratatui_core::buffer::Cell;
use ratatui_core::style::{Color, Modifier};

use super::cells::{Row, is_doubtful};
use crate::theme::Depth;

/// What a cell looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pen {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

const PLAIN: Pen = Pen { fg: Color::Reset, bg: Color::Reset, modifier: Modifier::empty() };

const ATTRIBUTES: [(Modifier, &str, &str); 8] = [
    (Modifier::BOLD, "1", "22"),
    (Modifier::DIM, "2", "22"),
    (Modifier::ITALIC, "3", "23"),
    (Modifier::UNDERLINED, "4", "24"),
    (Modifier::SLOW_BLINK, "5", "25"),
    (Modifier::REVERSED, "7", "27"),
    (Modifier::HIDDEN, "8", "28"),
    (Modifier::CROSSED_OUT, "9", "29"),
];

pub(super) struct Out {
    pub(super) bytes: Vec<u8>,
    /// Something was printed, not only moved.
    pub(super) printed: bool,
    pen: Pen,
    depth: Depth,
    row: usize,
    /// None: anybody's guess, as behind the last column or an emoji.
    column: Option<usize>,
    columns: usize,
}

impl Out {
    pub(super) fn new(depth: Depth, columns: u16, row: usize, column: u16) -> Self {
        let column = usize::from(column);
        let columns = usize::from(columns);
        Self {
            bytes: Vec::new(),
            printed: false,
            pen: PLAIN,
            depth,
            row,
            column: (column < columns).then_some(column),
            columns,
        }
    }

    pub(super) fn code(&mut self, code: &str) {
        self.bytes.extend_from_slice(code.as_bytes());
    }

    /// Down by line feeds, for these are right even at the bottom of the screen.
    pub(super) fn down(&mut self, rows: usize) {
        self.bytes.resize(self.bytes.len() + rows, b'\n');
        self.row += rows;
    }

    pub(super) fn go(&mut self, row: usize, column: usize) {
        if row < self.row {
            match self.row - row {
                1 => self.code("\x1b[A"),
                up => self.code(&format!("\x1b[{up}A")),
            }
            self.row = row;
        } else {
            self.down(row - self.row);
        }
        self.across(column);
    }

    fn across(&mut self, column: usize) {
        let right = |by: usize| if by == 1 { "\x1b[C".to_owned() } else { format!("\x1b[{by}C") };
        let from_start = if column == 0 { "\r".to_owned() } else { format!("\r{}", right(column)) };
        let shortest = match self.column {
            Some(now) if now == column => return,
            Some(now) if now < column => right(column - now),
            Some(now) if now - column < 4 => "\x08".repeat(now - column),
            Some(now) => format!("\x1b[{}D", now - column),
            None => from_start.clone(),
        };
        self.code(if shortest.len() < from_start.len() { &shortest } else { &from_start });
        self.column = Some(column);
    }

    /// From here to the end of the row.
    pub(super) fn erase_rest(&mut self) {
        self.plain();
        self.code("\x1b[K");
        self.printed = true;
    }

    /// These cells of a row, from the cursor on.
    pub(super) fn cells(&mut self, row: &Row, from: usize, to: usize) {
        let mut doubtful = false;
        for (at, cell) in row.cells.iter().enumerate().take(to).skip(from) {
            if cell.symbol().is_empty() {
                continue;
            }
            // A terminal may have moved on by more or less than we think.
            let now = is_doubtful(cell.symbol());
            if doubtful && !now {
                self.column = None;
                self.across(at);
            }
            doubtful = now;
            self.cell(cell);
            let next = at + row.width_at(at);
            self.column = (next < self.columns).then_some(next);
        }
        if doubtful {
            self.column = None;
        }
        self.printed |= from < to;
    }

    fn cell(&mut self, cell: &Cell) {
        let pen = self.seen(cell);
        if pen != self.pen {
            let codes = change(self.pen, pen);
            self.code(&codes);
            self.pen = pen;
        }
        self.bytes.extend_from_slice(cell.symbol().as_bytes());
    }

    pub(super) fn plain(&mut self) {
        if self.pen != PLAIN {
            self.code("\x1b[m");
            self.pen = PLAIN;
        }
    }

    /// What this terminal can show of it.
    fn seen(&self, cell: &Cell) -> Pen {
        let mut pen =
            Pen { fg: fit(cell.fg, self.depth), bg: fit(cell.bg, self.depth), modifier: cell.modifier };
        // The foreground of a blank is not seen.
        let shows = Modifier::REVERSED | Modifier::UNDERLINED | Modifier::CROSSED_OUT;
        if cell.symbol() == " " && !pen.modifier.intersects(shows) {
            pen.fg = self.pen.fg;
            pen.modifier = self.pen.modifier;
            if pen.modifier.intersects(shows) {
                pen = Pen { fg: Color::Reset, modifier: Modifier::empty(), ..pen };
            }
        }
        pen
    }
}

fn change(from: Pen, to: Pen) -> String {
    if to == PLAIN {
        return "\x1b[m".to_owned();
    }
    let mut afresh = vec!["0".to_owned()];
    let mut further = Vec::new();
    for (bit, on, off) in ATTRIBUTES {
        match (from.modifier.contains(bit), to.modifier.contains(bit)) {
            (false, true) => further.push(on.to_owned()),
            (true, false) => further.push(off.to_owned()),
            (true, true) | (false, false) => {}
        }
        if to.modifier.contains(bit) {
            afresh.push(on.to_owned());
        }
    }
    // Bold and dim end together.
    let both = Modifier::BOLD | Modifier::DIM;
    let ended = (from.modifier - to.modifier).intersects(both) && to.modifier.intersects(both);
    for (base, before, after) in [(30, from.fg, to.fg), (40, from.bg, to.bg)] {
        if before != after {
            further.push(colour(after, base));
        }
        if after != Color::Reset {
            afresh.push(colour(after, base));
        }
    }
    let (afresh, further) = (afresh.join(";"), further.join(";"));
    let codes = if ended || afresh.len() < further.len() { afresh } else { further };
    format!("\x1b[{codes}m")
}

fn colour(colour: Color, base: u16) -> String {
    match colour {
        Color::Reset => (base + 9).to_string(),
        Color::Rgb(red, green, blue) => format!("{};2;{red};{green};{blue}", base + 8),
        Color::Indexed(index @ 16..) => format!("{};5;{index}", base + 8),
        Color::Indexed(index @ 8..) => (base + 60 + u16::from(index) - 8).to_string(),
        Color::Indexed(index) => (base + u16::from(index)).to_string(),
        named => {
            number(named).map_or((base + 9).to_string(), |index| self::colour(Color::Indexed(index), base))
        }
    }
}

fn number(colour: Color) -> Option<u8> {
    Some(match colour {
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
        Color::Reset | Color::Rgb(..) | Color::Indexed(_) => return None,
    })
}

/// The nearest colour the terminal knows.
fn fit(colour: Color, depth: Depth) -> Color {
    match (depth, colour) {
        (Depth::None, _) => Color::Reset,
        (Depth::True, _) => colour,
        (Depth::Many, Color::Rgb(red, green, blue)) => Color::Indexed(cube(red, green, blue)),
        (Depth::Many, _) => colour,
        (Depth::Sixteen, Color::Rgb(red, green, blue)) => Color::Indexed(sixteen(red, green, blue)),
        (Depth::Sixteen, Color::Indexed(index @ 16..)) => {
            let (red, green, blue) = of_cube(index);
            Color::Indexed(sixteen(red, green, blue))
        }
        (Depth::Sixteen, _) => colour,
    }
}

fn cube(red: u8, green: u8, blue: u8) -> u8 {
    let spread = red.max(green).max(blue) - red.min(green).min(blue);
    if spread < 10 && (8..=238).contains(&red) {
        return 232 + (red - 8) / 10;
    }
    // 0, 95, 135, 175, 215, 255.
    let step = |part: u8| {
        if part < 48 {
            0
        } else if part < 115 {
            1
        } else {
            (part - 35) / 40
        }
    };
    16 + 36 * step(red) + 6 * step(green) + step(blue)
}

fn of_cube(index: u8) -> (u8, u8, u8) {
    if index >= 232 {
        let grey = 8 + (index - 232) * 10;
        return (grey, grey, grey);
    }
    let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
    let at = index - 16;
    (level(at / 36), level(at / 6 % 6), level(at % 6))
}

fn sixteen(red: u8, green: u8, blue: u8) -> u8 {
    let most = red.max(green).max(blue);
    let least = red.min(green).min(blue);
    if most - least < 40 {
        return match most {
            0..64 => 0,
            64..140 => 8,
            140..210 => 7,
            _ => 15,
        };
    }
    let half = least + (most - least) / 2;
    let bit = |part: u8, bit: u8| if part > half { bit } else { 0 };
    let bright = if most > 215 && least > 60 { 8 } else { 0 };
    bright + bit(red, 1) + bit(green, 2) + bit(blue, 4)
}
