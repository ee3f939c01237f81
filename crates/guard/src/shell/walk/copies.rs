//! Copies and links: where they come to lie, and what may be reached through them from then on.

use crate::shell::Part;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::files::{FileEffect, Place};

impl Walker<'_> {
    /// The target is a file, or a folder that gets the names of the others.
    pub(super) fn copies(&mut self, sources: &[Arg], target: &Arg, change: FileEffect, part: &mut Part) {
        let fetched = sources.iter().any(|source| self.is_fetched(source));
        for source in sources {
            self.reads(source, part);
        }
        if !self.is_dir(target) {
            self.changes(target, change, part);
        } else {
            let made = self.touched.made.clone();
            self.changes(target, FileEffect::Alter, part);
            // What comes into a folder leaves it one.
            self.touched.made = made;
            for source in sources.iter().filter(|arg| arg.known().is_some()) {
                let inside =
                    Arg { text: format!("{}/{}", target.text, last_name(&source.text)), ..target.clone() };
                self.changes(&inside, change, part);
            }
        }
        if fetched {
            self.fetches(target);
        }
    }

    pub(super) fn links(
        &mut self,
        targets: &[Arg],
        link: Option<&Arg>,
        symbolic: bool,
        forced: bool,
        part: &mut Part,
    ) {
        for target in targets {
            match link.filter(|_| symbolic && !target.text.starts_with('/')) {
                // A relative target is read from where the link lies.
                Some(link) => {
                    let folder = if self.is_dir(link) { link.text.clone() } else { parent(&link.text) };
                    self.reads(&Arg { text: format!("{folder}/{}", target.text), ..target.clone() }, part);
                }
                None => self.reads(target, part),
            }
        }
        part.doubt();
        // Alone, a target is linked under its own name, here.
        let names = targets.iter().map(|target| last_name(&target.text));
        let made: Vec<Arg> = match link {
            None => names.map(Arg::literal).collect(),
            Some(link) if self.is_dir(link) => {
                names.map(|name| Arg { text: format!("{}/{name}", link.text), ..link.clone() }).collect()
            }
            Some(link) => vec![link.clone()],
        };
        let mut new_links = Vec::new();
        for link in made {
            if let Place::At(all) = self.place(&link) {
                new_links.extend(all.into_iter().map(|located| located.path));
            }
        }
        if let Some(link) = link {
            self.changes(link, if forced { FileEffect::Overwrite } else { FileEffect::Alter }, part);
        }
        self.touched.linked.extend(new_links);
    }
}

fn last_name(text: &str) -> &str {
    text.trim_end_matches('/').rsplit('/').next().unwrap_or("")
}

fn parent(text: &str) -> String {
    match text.rfind('/') {
        Some(at) => text[..at.max(1)].to_owned(),
        None => ".".to_owned(),
    }
}
