//! Recognises words that mean the machine's root, the home folder, or a folder around the workspace.

use std::path::Path;

use crate::Located;
use crate::limits::MAX_PATH;
use crate::pattern::UNKNOWN;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::files::Place;

impl Walker<'_> {
    /// `/`, the home folder, or a folder that holds the workspace, with or without a trailing wildcard.
    pub(crate) fn is_ancestor(&self, arg: &Arg) -> bool {
        if arg.text.len() > MAX_PATH && arg.glob {
            self.budget.exceed();
        }
        if !self.budget.spend(arg.text.len()) {
            return false;
        }
        let mut trimmed = arg.text.as_str();
        // Everything in a folder is the folder.
        while arg.glob && is_everything(trimmed.trim_end_matches('/').rsplit('/').next().unwrap_or("")) {
            let name = trimmed.trim_end_matches('/');
            trimmed = name.rfind('/').map_or("", |slash| &name[..=slash]);
        }
        if let Some((before, after)) = arg.text.split_once(UNKNOWN) {
            // `rm -rf "/$x"` with nothing in the variable.
            let bare = after.trim_matches(['/', '*', UNKNOWN]).is_empty();
            let top =
                before == "/" || self.around.home.is_some_and(|home| before.strip_suffix('/') == Some(home));
            return bare && top;
        }
        if arg.text.is_empty() {
            return false;
        }
        let text = if trimmed.is_empty() { "." } else { trimmed };
        let whole = Arg { text: text.to_owned(), glob: false, ..arg.clone() };
        match self.place(&whole) {
            Place::At(all) => all.iter().any(|Located { path, .. }| {
                let home = self.around.home.map(Path::new);
                match self.is_outside(path) {
                    true => {
                        self.around.root.starts_with(path) || home.is_some_and(|home| home.starts_with(path))
                    }
                    false => home == Some(path) && path != self.around.root,
                }
            }),
            Place::Below(_) | Place::Unknown => false,
        }
    }
}

/// A pattern that any name would fit: `*`, `.*`, `?*`, `[a-z]*`.
fn is_everything(pattern: &str) -> bool {
    let mut rest = pattern.to_owned();
    while let Some((open, close)) =
        rest.find('[').and_then(|open| Some((open, open + rest[open..].find(']')?)))
    {
        rest.replace_range(open..=close, "");
    }
    pattern.contains(['*', '?']) && rest.chars().all(|c| matches!(c, '*' | '?' | '.'))
}
