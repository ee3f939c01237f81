//! Masks text while it streams, as the whole would be, however it is split. Holds back only what may be the start of a
//! secret, and nothing of one that is sure to be one.

use aho_corasick::Input;

use super::codes::{Codes, Piece};
use super::inside::Inside;
use super::shapes::{Found, Rest, last_char};
use super::{Redactor, SHORTEST_SECRET};

/// One text that comes in pieces: an answer, a thought, the output of one call.
#[derive(Debug, Default)]
pub struct LiveMask {
    plain: Pass,
    /// The same again, looking through colours.
    seen: Pass,
    codes: Codes,
    /// A colour came: from here on it takes both.
    coloured: bool,
}

impl LiveMask {
    /// Takes the next piece and gives what can be told by now, which is nearly always all of it.
    pub fn push(&mut self, redactor: &Redactor, text: String) -> String {
        let told = self.plain.push(redactor, text.into(), Rest::MayCome).text;
        self.look_through(redactor, told, Rest::MayCome)
    }

    /// What was held back. More may follow, but nobody waits for it.
    pub fn flush(&mut self, redactor: &Redactor) -> String {
        let told = self.plain.push(redactor, Piece::default(), Rest::Ended).text;
        self.look_through(redactor, told, Rest::Ended)
    }

    pub fn holds_back(&self) -> bool {
        self.plain.holds_back() || self.seen.holds_back()
    }

    fn look_through(&mut self, redactor: &Redactor, text: String, rest: Rest) -> String {
        self.coloured |= Codes::begin_in(&text);
        // What came through the first pass and has no colour in it holds nothing for the second.
        if !self.coloured {
            self.seen.shapes.passed(&text);
            return text;
        }
        let piece = self.codes.part(&text);
        self.seen.push(redactor, piece, rest).weave()
    }
}

#[derive(Debug, Default)]
struct Pass {
    known: Piece,
    shapes: ShapePass,
}

impl Pass {
    fn holds_back(&self) -> bool {
        !(self.known.text.is_empty() && self.shapes.held.text.is_empty())
    }

    fn push(&mut self, redactor: &Redactor, piece: Piece, rest: Rest) -> Piece {
        let piece = self.known(redactor, piece, rest);
        self.shapes.push(redactor, piece, rest)
    }

    /// Leftmost and longest, as in a whole text: a value counts once no other one can begin before it or go on behind it.
    fn known(&mut self, redactor: &Redactor, piece: Piece, rest: Rest) -> Piece {
        let mut all = std::mem::take(&mut self.known);
        all.append(piece);
        let mut found = Vec::new();
        let mut at = 0;
        let wait = loop {
            let open = match rest {
                Rest::MayCome => redactor.known_starts.open(&all.text, at, |_| true),
                Rest::Ended => all.text.len(),
            };
            // Most pieces are shorter than any value: those need no look.
            let value = (all.text.len() - at >= SHORTEST_SECRET)
                .then(|| redactor.known.find(Input::new(&all.text).range(at..)))
                .flatten();
            match value.filter(|value| value.start() < open) {
                Some(value) => {
                    at = value.end();
                    found.push(value.range());
                }
                None => break open,
            }
        };
        self.known = all.split_off(wait);
        all.mask(found)
    }
}

#[derive(Debug, Default)]
struct ShapePass {
    held: Piece,
    /// What stands before `held`, unless a colour does.
    before: Option<char>,
    /// In a secret whose mask is out already.
    inside: Option<Inside>,
}

impl ShapePass {
    fn passed(&mut self, text: &str) {
        if let Some(last) = last_char(text, text.len()) {
            self.before = Some(last);
        }
    }

    fn push(&mut self, redactor: &Redactor, piece: Piece, rest: Rest) -> Piece {
        let mut all = std::mem::take(&mut self.held);
        all.append(piece);
        let mut out = self.drop_inside(&mut all, rest);
        if self.inside.is_some() {
            self.held = all;
            return out;
        }
        let before = |at: usize| match at {
            _ if all.coded(at) => None,
            0 => self.before,
            _ => last_char(&all.text, at),
        };
        let mut found = Vec::new();
        let mut at = 0;
        let mut goes_on = None;
        let wait = loop {
            match redactor.shapes.next(&all.text, at, before, rest) {
                Found::Secret(secret) => {
                    at = secret.end;
                    found.push(secret);
                }
                Found::Growing(start, mut inside) => {
                    let (more, over) = inside.take(&all.text[start.end..], rest);
                    at = start.end + more;
                    found.push(start.start..at);
                    if !over {
                        goes_on = Some(inside);
                        break at;
                    }
                }
                Found::Wait(from) => break from,
            }
        };
        let behind = before(wait);
        (self.before, self.inside) = (behind, goes_on);
        self.held = all.split_off(wait);
        out.append(all.mask(found));
        out
    }

    /// Drops what belongs to a secret whose mask is out, and gives the colours that stood in it.
    fn drop_inside(&mut self, all: &mut Piece, rest: Rest) -> Piece {
        let Some(inside) = &mut self.inside else { return Piece::default() };
        let (length, over) = inside.take(&all.text, rest);
        if over {
            self.inside = None;
        }
        let behind = all.split_off(length);
        let dropped = std::mem::replace(all, behind);
        if let Some(last) = last_char(&dropped.text, length) {
            self.before = Some(last);
        }
        dropped.without_text()
    }
}

#[cfg(test)]
mod tests;
