//! Colours and text attributes: which of them pass, written anew in one canonical form.
//! Never passes what hides text: conceal, blink, or a foreground that equals its background.

use std::fmt::Write as _;

use vte::{Params, Perform};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Colour {
    #[default]
    Default,
    Indexed(u8),
    Rgb(u8, u8, u8),
}

/// What a terminal would be drawing with after all that was let through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    foreground: Colour,
    background: Colour,
    /// Bit n: attribute n (bold 1, dim 2, italic 3, underline 4, reverse 7, struck 9) is on.
    attributes: u16,
}

/// Takes what the parser found in one escape sequence; only SGR leaves a trace.
pub(super) struct SgrWriter<'a> {
    pub style: &'a mut Style,
    pub out: &'a mut String,
}

impl Perform for SgrWriter<'_> {
    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        if action != 'm' || ignore || !intermediates.is_empty() {
            return;
        }
        let (style, codes) = self.style.apply(params);
        if style != *self.style {
            *self.style = style;
            let _ = write!(self.out, "\x1b[{codes}m");
        }
    }
}

impl Style {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The style after `params`, and the codes that lead there.
    fn apply(self, params: &Params) -> (Style, String) {
        let mut style = self;
        let mut codes = Codes::default();
        let mut params = params.iter();
        while let Some(param) = params.next() {
            let Some(&code) = param.first() else { continue };
            match code {
                0 => {
                    style = Style::default();
                    codes.push(0);
                }
                4 if param.get(1) == Some(&0) => style.clear(4, 24, &mut codes),
                1..=4 | 7 | 9 => style.set(code, &mut codes),
                21 => style.set(4, &mut codes),
                22 => {
                    style.attributes &= !(1 << 1);
                    style.clear(2, 22, &mut codes);
                }
                23 | 24 | 27 | 29 => style.clear(code - 20, code, &mut codes),
                30..=37 | 90..=97 | 39 => style.foreground = named(code, 30, &mut codes),
                40..=47 | 100..=107 | 49 => style.background = named(code - 10, 40, &mut codes),
                38 | 48 | 58 => match extended(param, &mut params) {
                    Some(_) if code == 58 => {}
                    Some(colour) => {
                        let slot = if code == 38 { &mut style.foreground } else { &mut style.background };
                        *slot = colour;
                        codes.colour(colour, code - 8);
                    }
                    // What follows can no longer be told apart from the colour's own numbers.
                    None => break,
                },
                _ => {}
            }
        }
        if style.background != Colour::Default && style.background == style.foreground {
            style.background = Colour::Default;
            codes.push(49);
        }
        (style, codes.0)
    }

    fn set(&mut self, attribute: u16, codes: &mut Codes) {
        self.attributes |= 1 << attribute;
        codes.push(attribute);
    }

    fn clear(&mut self, attribute: u16, code: u16, codes: &mut Codes) {
        self.attributes &= !(1 << attribute);
        codes.push(code);
    }
}

/// `code` counts from the foreground's 30; `base` is 30 or 40.
fn named(code: u16, base: u16, codes: &mut Codes) -> Colour {
    let colour = match code {
        30..=37 => Colour::Indexed((code - 30) as u8),
        90..=97 => Colour::Indexed((code - 82) as u8),
        _ => Colour::Default,
    };
    codes.colour(colour, base);
    colour
}

/// `38;5;n`, `38;2;r;g;b` and their colon forms, with or without a colour space.
fn extended<'a>(param: &[u16], rest: &mut impl Iterator<Item = &'a [u16]>) -> Option<Colour> {
    let byte = |value: u16| u8::try_from(value).ok();
    if let [_, kind, values @ ..] = param {
        return match (kind, values) {
            (5, [index, ..]) => Some(Colour::Indexed(byte(*index)?)),
            (2, [r, g, b] | [_, r, g, b, ..]) => Some(Colour::Rgb(byte(*r)?, byte(*g)?, byte(*b)?)),
            _ => None,
        };
    }
    let mut next = || match rest.next() {
        Some([value]) => Some(*value),
        _ => None,
    };
    match next()? {
        5 => Some(Colour::Indexed(byte(next()?)?)),
        2 => Some(Colour::Rgb(byte(next()?)?, byte(next()?)?, byte(next()?)?)),
        _ => None,
    }
}

/// Parameters joined by `;`.
#[derive(Default)]
struct Codes(String);

impl Codes {
    fn push(&mut self, code: u16) {
        if !self.0.is_empty() {
            self.0.push(';');
        }
        let _ = write!(self.0, "{code}");
    }

    fn colour(&mut self, colour: Colour, base: u16) {
        match colour {
            Colour::Default => self.push(base + 9),
            Colour::Indexed(n @ 0..=7) => self.push(base + u16::from(n)),
            Colour::Indexed(n @ 8..=15) => self.push(base + 52 + u16::from(n)),
            Colour::Indexed(n) => [base + 8, 5, u16::from(n)].into_iter().for_each(|code| self.push(code)),
            Colour::Rgb(r, g, b) => [base + 8, 2, u16::from(r), u16::from(g), u16::from(b)]
                .into_iter()
                .for_each(|code| self.push(code)),
        }
    }
}
