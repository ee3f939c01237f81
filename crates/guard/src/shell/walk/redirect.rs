//! Redirections: which file is opened how, and what a command reads from.
//! Says nothing about the command itself.

use std::path::Path;

use brush_parser::ast;
use zdx_protocol::ReasonCode;

use crate::protected::{descriptor, is_harmless_device};
use crate::shell::Part;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::feed::Stdin;
use crate::shell::walk::files::FileEffect;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Read,
    Overwrite,
    Append,
}

impl Walker<'_> {
    /// Redirections behind a group or a loop: a part of their own. Returns what feeds the group.
    pub(crate) fn compound_redirects(&mut self, redirects: Option<&ast::RedirectList>) -> Stdin {
        let mut feed = self.stdin.clone();
        let Some(list) = redirects else { return feed };
        let mut part = Part::of(list.to_string().trim().to_owned());
        part.views.push(Vec::new());
        for redirect in &list.0 {
            if let Some(stdin) = self.redirect(redirect, &mut part) {
                feed = stdin;
            }
        }
        part.plain = false;
        part.affirm();
        self.parts.push(part);
        feed
    }

    /// One redirection; returns what it makes the command read, when it does.
    pub(crate) fn redirect(&mut self, redirect: &ast::IoRedirect, part: &mut Part) -> Option<Stdin> {
        match redirect {
            ast::IoRedirect::File(descriptor, kind, target) => {
                self.file_redirect(*descriptor, kind, target, part)
            }
            ast::IoRedirect::OutputAndError(word, append) => {
                let mode = if *append { Mode::Append } else { Mode::Overwrite };
                self.opens(&[1, 2], &word.value);
                self.redirect_word(&word.value, mode, part);
                None
            }
            ast::IoRedirect::HereString(descriptor, word) => {
                let args = self.word_effects(&word.value, part);
                let text = match args.as_slice() {
                    [only] => only.known().map(|text| format!("{text}\n")),
                    _ => None,
                };
                descriptor.is_none_or(|fd| fd == 0).then(|| text.map_or(Stdin::Unknown, Stdin::Text))
            }
            ast::IoRedirect::HereDocument(descriptor, document) => {
                let raw = &document.doc.value;
                let text = if document.requires_expansion {
                    // bash joins such lines while it reads the body, in quotes of what runs in it too.
                    if raw.contains("\\\n") {
                        self.body_effects(&raw.replace("\\\n", ""), part);
                    }
                    self.body_effects(raw, part)
                } else {
                    Some(raw.clone())
                };
                let known = text.filter(|text| !text.contains(crate::pattern::UNKNOWN));
                descriptor.is_none_or(|fd| fd == 0).then(|| known.map_or(Stdin::Unknown, Stdin::Text))
            }
        }
    }

    fn file_redirect(
        &mut self,
        descriptor: Option<i32>,
        kind: &ast::IoFileRedirectKind,
        target: &ast::IoFileRedirectTarget,
        part: &mut Part,
    ) -> Option<Stdin> {
        let reads_stdin = descriptor.is_none_or(|fd| fd == 0);
        let output = matches!(
            kind,
            ast::IoFileRedirectKind::Write
                | ast::IoFileRedirectKind::Clobber
                | ast::IoFileRedirectKind::Append
                | ast::IoFileRedirectKind::DuplicateOutput
        );
        let number = descriptor.unwrap_or(i32::from(output));
        let word = match target {
            ast::IoFileRedirectTarget::Fd(from) => {
                self.found.copies.insert((number, *from));
                return None;
            }
            ast::IoFileRedirectTarget::ProcessSubstitution(_, inner) => {
                part.plain = false;
                part.ask("it is joined to another command");
                self.substituted(inner);
                return reads_stdin.then_some(Stdin::Unknown);
            }
            ast::IoFileRedirectTarget::Filename(word) | ast::IoFileRedirectTarget::Duplicate(word) => {
                &word.value
            }
        };
        match word.trim_end_matches('-').parse() {
            Ok(from) if matches!(target, ast::IoFileRedirectTarget::Duplicate(_)) => {
                self.found.copies.insert((number, from));
            }
            // `>&name` opens the file for both.
            Ok(_) | Err(_) if matches!(kind, ast::IoFileRedirectKind::DuplicateOutput) => {
                self.opens(&[1, 2], word);
            }
            Ok(_) | Err(_) => self.opens(&[number], word),
        }
        match kind {
            ast::IoFileRedirectKind::Read => {
                self.redirect_word(word, Mode::Read, part);
                reads_stdin.then(|| if word == "/dev/null" { Stdin::Nothing } else { Stdin::Unknown })
            }
            ast::IoFileRedirectKind::DuplicateInput => {
                self.word_effects(word, part);
                self.expanded_twice(word, part);
                reads_stdin.then_some(Stdin::Unknown)
            }
            ast::IoFileRedirectKind::DuplicateOutput => {
                let copies = |text: &str| {
                    text == "-" || text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit())
                };
                if !copies(word) {
                    self.expanded_twice(word, part);
                    self.redirect_word(word, Mode::Overwrite, part);
                }
                None
            }
            ast::IoFileRedirectKind::Write | ast::IoFileRedirectKind::Clobber => {
                self.redirect_word(word, Mode::Overwrite, part);
                None
            }
            ast::IoFileRedirectKind::ReadAndWrite => {
                self.redirect_word(word, Mode::Overwrite, part);
                reads_stdin.then_some(Stdin::Unknown)
            }
            ast::IoFileRedirectKind::Append => {
                self.redirect_word(word, Mode::Append, part);
                None
            }
        }
    }

    /// Notes what these descriptors stand for from now on.
    fn opens(&mut self, descriptors: &[i32], word: &str) {
        let path = Path::new(word.trim_matches(['"', '\'']));
        match descriptor(path) {
            Some(from) => self.found.copies.extend(descriptors.iter().map(|number| (*number, from))),
            None if word == "-" || is_harmless_device(path) => {}
            None => self.found.opened.extend(descriptors),
        }
    }

    /// bash expands the word behind `>&` a second time: quotes do not keep it what it is.
    fn expanded_twice(&mut self, raw: &str, part: &mut Part) {
        if raw.contains(['\'', '"', '\\', '`', '(', '{']) {
            part.confirm(ReasonCode::Unreadable, "what stands behind >& or <& is read twice");
        }
    }

    pub(crate) fn substituted(&mut self, inner: &ast::SubshellCommand) {
        self.nest.beside += 1;
        self.isolated(|walker| walker.fed(Stdin::Unknown, |walker| walker.list(&inner.list)));
        self.nest.beside -= 1;
    }

    /// Opens the file that a word names.
    pub(crate) fn redirect_word(&mut self, raw: &str, mode: Mode, part: &mut Part) {
        let args = self.word_effects(raw, part);
        let target = match args.as_slice() {
            [only] if !only.glob && !only.braced => only.clone(),
            _ => {
                // Which one it will be is not known, but none of the devices may be.
                if mode != Mode::Read && args.iter().any(|arg| self.is_device(arg)) {
                    part.forbid("it writes to a device");
                }
                Arg::unknown()
            }
        };
        // `/dev/null` is as good as no redirection.
        if self.is_harmless(&target) {
            return;
        }
        match mode {
            Mode::Read => self.reads(&target, part),
            Mode::Overwrite => {
                part.plain = false;
                self.changes(&target, FileEffect::Redirect, part);
            }
            Mode::Append => {
                part.plain = false;
                self.changes(&target, FileEffect::Append, part);
            }
        }
    }
}
