//! STUB
use crate::key::Key;
use crate::look::Look;
use ratatui_core::text::Line;
use std::ops::Range;
use zdx_protocol::query::Completions;
#[derive(Debug, Default)]
pub(crate) struct Popup;
pub(crate) enum Chosen {
    Moved,
    Take { replace: Range<usize>, text: String, submit: bool },
}
impl Popup {
    pub(crate) fn close(&mut self) {}
    pub(crate) fn ask(&mut self, _: &str, _: usize) -> Option<u64> {
        None
    }
    pub(crate) fn answer(&mut self, _: u64, _: Completions) {}
    pub(crate) fn key(&mut self, _: Key) -> Option<Chosen> {
        None
    }
    pub(crate) fn draw(&self, _: Look<'_>, _: usize) -> Vec<Line<'static>> {
        Vec::new()
    }
}
