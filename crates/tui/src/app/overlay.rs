//! What is open in front of the conversation: a page to read, or a list to choose from.

use super::Choice;
use super::pager::{Paged, Pager};
use crate::dialog::Picker;

#[derive(Debug)]
pub(super) enum Overlay {
    Page(Pager),
    Picker(Choice, Picker<String>),
}

/// The open overlays. A page stands before a picker; a request stands between the two.
#[derive(Debug, Default)]
pub(super) struct Overlays {
    /// The one in front last; at most one of each kind.
    open: Vec<Overlay>,
    /// The conversation as it was read when a request came.
    left: Option<Pager>,
    /// Something was told since the page was laid out.
    pub(super) grown: bool,
}

impl Overlays {
    /// The overlay that takes the keys. `request`: one is open, and stands before a picker.
    pub(super) fn in_front(&mut self, request: bool) -> Option<&mut Overlay> {
        self.open.last_mut().filter(|overlay| matches!(overlay, Overlay::Page(_)) || !request)
    }

    /// Takes the overlay in front out, to be drawn and put back.
    pub(super) fn take(&mut self, request: bool) -> Option<Overlay> {
        self.in_front(request)?;
        self.open.pop()
    }

    pub(super) fn put_back(&mut self, overlay: Overlay) {
        self.open.push(overlay);
    }

    pub(super) fn page(&self) -> Option<&Pager> {
        match self.open.last() {
            Some(Overlay::Page(pager)) => Some(pager),
            Some(Overlay::Picker(..)) | None => None,
        }
    }

    pub(super) fn has_picker(&self) -> bool {
        self.open.iter().any(|overlay| matches!(overlay, Overlay::Picker(..)))
    }

    /// Opens a page in place of the one that is open.
    pub(super) fn show(&mut self, what: Paged) {
        self.close_page();
        self.open.push(Overlay::Page(Pager::new(what)));
    }

    /// Opens the conversation, where it was left when a request came.
    pub(super) fn show_conversation(&mut self) {
        let pager = self.left.take().unwrap_or_else(|| Pager::new(Paged::Conversation));
        self.close_page();
        self.open.push(Overlay::Page(pager));
        self.grown = true;
    }

    /// Opens a list in place of the one that is open, behind a page.
    pub(super) fn offer(&mut self, choice: Choice, picker: Picker<String>) {
        self.close_picker();
        self.open.insert(0, Overlay::Picker(choice, picker));
    }

    pub(super) fn close_page(&mut self) -> Option<Pager> {
        match self.open.pop() {
            Some(Overlay::Page(pager)) => Some(pager),
            other => {
                self.open.extend(other);
                None
            }
        }
    }

    pub(super) fn close_picker(&mut self) {
        self.open.retain(|overlay| matches!(overlay, Overlay::Page(_)));
    }

    pub(super) fn is_conversation(&self) -> bool {
        self.page().is_some_and(|pager| pager.what == Paged::Conversation)
    }

    /// Has the page laid out anew.
    pub(super) fn outdate(&mut self) {
        if let Some(Overlay::Page(pager)) = self.open.last_mut() {
            pager.outdate();
        }
    }

    /// Closes the page for a request. The conversation is opened again where it was read.
    pub(super) fn interrupt(&mut self) {
        self.left = self.close_page().filter(|pager| pager.what == Paged::Conversation);
    }

    /// Another session is open: its conversation is read from its end.
    pub(super) fn forget(&mut self) {
        self.left = None;
    }
}
