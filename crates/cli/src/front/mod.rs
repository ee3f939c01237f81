//! Renderers: events in, bytes for stdout and stderr out. None of them performs I/O or speaks to the engine.

mod activity;
mod json;
mod lines;
mod plain;
mod question;

use std::time::Instant;

use serde::Serialize;
use zdx_protocol::{ErrorKind, Event, TurnSummary};

use crate::args::Format;
use crate::output::Page;
use crate::settings::Settings;

pub use json::Json;
pub use plain::Plain;
pub use question::{dressed, offered};

/// How a conversation ended, for the last words of a renderer.
#[derive(Clone, Debug)]
pub struct Closing<'a> {
    pub summary: Option<&'a TurnSummary>,
    /// Set when the run was broken off before the engine could tell.
    pub interrupted: bool,
    /// What no event told.
    pub error: Option<Why>,
}

/// Why a run failed, as a script reads it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    pub kind: ErrorKind,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

impl Why {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: None }
    }
}

pub enum Front {
    Plain(Box<Plain>),
    Json(Json),
}

impl Front {
    pub fn new(settings: &Settings) -> Self {
        let home = settings.home().map(ToOwned::to_owned);
        match settings.format {
            Format::Text => Self::Plain(Box::new(Plain::new(settings.terminal, home))),
            Format::Json => Self::Json(Json::new(settings.terminal)),
        }
    }

    pub fn show(&mut self, event: &Event, page: &mut Page) {
        match self {
            Self::Plain(plain) => plain.show(event, page),
            Self::Json(json) => json.show(event, page),
        }
    }

    /// A word of the command line itself, on stderr whatever the format.
    pub fn say(&mut self, text: &str, page: &mut Page) {
        match self {
            Self::Plain(plain) => plain.say(text, page),
            Self::Json(json) => json.say(text, page),
        }
    }

    pub fn fail(&mut self, message: &str, page: &mut Page) {
        match self {
            Self::Plain(plain) => plain.fail(message, page),
            Self::Json(json) => json.fail(message, page),
        }
    }

    /// Text on stderr as it is, for a question that the answer follows on the same line.
    pub fn ask(&mut self, text: &str, page: &mut Page) {
        match self {
            Self::Plain(plain) => plain.ask(text, page),
            Self::Json(_) => page.err(text),
        }
    }

    pub fn close(&mut self, closing: &Closing<'_>, page: &mut Page) {
        match self {
            Self::Plain(plain) => plain.rest(page),
            Self::Json(json) => json.close(closing, page),
        }
    }

    /// Whether a second passing changes what is on the screen.
    pub fn is_live(&self) -> bool {
        match self {
            Self::Plain(plain) => plain.is_live(),
            Self::Json(_) => false,
        }
    }

    pub fn tick(&mut self, now: Instant, page: &mut Page) {
        match self {
            Self::Plain(plain) => plain.tick(now, page),
            Self::Json(_) => {}
        }
    }
}
