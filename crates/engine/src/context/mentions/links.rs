//! Mentioned files and pages as mere references, for who reads them himself: another agent. Opens nothing.

use std::path::PathBuf;

use super::attach::{Found, find, is_absolute, looks_like_a_file};
use zdx_protocol::mentions::{MentionForm, MentionTarget, mentions_in, trimmed};
use zdx_workspace::Workspace;

/// Something that a prompt mentions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Linked {
    Page(String),
    /// As it was written, and what that is.
    File {
        label: String,
        path: PathBuf,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Each once, in the order of mention.
    pub found: Vec<Linked>,
    pub notices: Vec<String>,
}

/// The text is the user's own words. May block on a slow disk: not for an async thread.
pub fn links(text: &str, workspace: &Workspace) -> Links {
    let mut links = Links::default();
    for mention in mentions_in(text) {
        let found = match mention.what {
            MentionTarget::Link(link) => Some(Linked::Page(link)),
            MentionTarget::Path { path, form } => links.file(&path, form, workspace),
            // Whoever answers has agents of his own.
            MentionTarget::Agent(_) => None,
        };
        if let Some(found) = found.filter(|found| !links.found.contains(found)) {
            links.found.push(found);
        }
    }
    links
}

impl Links {
    fn file(&mut self, written: &str, form: MentionForm, workspace: &Workspace) -> Option<Linked> {
        let Some(Found { label, path, target, .. }) = find(workspace, written) else {
            if form == MentionForm::Named || looks_like_a_file(trimmed(written)) {
                self.notices
                    .push(format!("@{}: there is no such file; it is sent as text only", trimmed(written)));
            }
            return None;
        };
        if !target.inside && !is_absolute(path) {
            self.notices.push(format!(
                "@{path}: it leaves the project, so it is sent as text only; type its absolute path if you mean it"
            ));
            return None;
        }
        Some(Linked::File { label: label.to_owned(), path: target.path })
    }
}
