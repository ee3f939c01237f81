//! How the command line looks: colour or none, decided once for stderr.
//! Never decides what is said, only how it is dressed.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    pub colour: bool,
}

impl Style {
    pub fn dim<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.wrap("2", text)
    }

    pub fn red<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.wrap("31", text)
    }

    pub fn green<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.wrap("32", text)
    }

    pub fn yellow<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.wrap("33", text)
    }

    fn wrap<'a>(self, code: &str, text: &'a str) -> Cow<'a, str> {
        if self.colour { Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m")) } else { Cow::Borrowed(text) }
    }
}
