//! Names that one command prints for another: what is known of them before they are, and whether they can be anything
//! but names. A name that begins with a dash is an option, and one with a blank in it is two words.

use std::path::{Path, PathBuf};

use brush_parser::ast;

use crate::files::{FileEntry, locate};
use crate::shell::programs::options::{self, Call};
use crate::shell::programs::special::{find, runners::basename};
use crate::shell::programs::table::{self, Files, OptionEffect, Row};
use crate::shell::syntax::word::{self, Arg, Effects};
use crate::shell::walk::Walker;
use crate::shell::walk::feed::Stdin;
use crate::shell::walk::files::Place;
use crate::shell::{Part, Proof};

/// Names of files or numbers, one or many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// One of them may begin with a dash, or hold a blank and then one.
    pub dash: bool,
    /// Hidden ones may be among them, and the protected names are hidden.
    pub hidden: bool,
    /// Each is a plain word, and leads nowhere out of the workspace.
    pub inside: bool,
    /// The pattern that each of them fits.
    pub like: Option<String>,
}

impl Names {
    /// Gives a word that comes from them the properties they are known to have.
    pub(crate) fn shape(&self, arg: &mut Arg) {
        arg.dash &= self.dash;
        (arg.found, arg.visible) = (self.hidden, !self.hidden);
        if arg.text != "\0" {
            return;
        }
        arg.inside = self.inside;
        if let Some(pattern) = &self.like {
            arg.text.clone_from(pattern);
            (arg.glob, arg.found) = (true, true);
        }
    }
}

impl Walker<'_> {
    /// The words that a command prints, when these are names of files or numbers and nothing else.
    pub(crate) fn prints_names(&self, command: &ast::Command, before: &Stdin) -> Option<Names> {
        let argv = self.words_of(command)?;
        let name = argv.first().and_then(Arg::known).filter(|name| !self.is_shadowed(name))?;
        let (mut row, mut from) = (table::row(basename(name))?, 0);
        if row.is("subs") {
            row = argv.get(1).and_then(Arg::known).and_then(|word| table::subcommand(row, word))?;
            from = 1;
        }
        let call = options::read(row, name, &argv[from..]);
        let whole = (call.unknown.is_empty() || row.is("words"))
            && !call.has_effect(OptionEffect::Shapes)
            && !call.doubtful;
        let lists = row.is("files") || (row.is("lists") && call.has_effect(OptionEffect::Names));
        match before {
            _ if !whole => None,
            _ if lists && call.found.iter().all(|found| only_chooses(found.option.effect)) => {
                self.lists_files(&call)
            }
            Stdin::Names(names) if row.is("filters") && reads_input(&call) => Some(names.clone()),
            _ if row.is("names") && self.prints_words(&call) => {
                Some(Names { dash: false, hidden: true, inside: false, like: None })
            }
            Stdin::Names(_) | Stdin::Nothing | Stdin::Text(_) | Stdin::Unknown => None,
        }
    }

    fn words_of(&self, command: &ast::Command) -> Option<Vec<Arg>> {
        let ast::Command::Simple(simple) = command else { return None };
        let words = simple.word_or_name.iter().chain(
            simple.suffix.iter().flat_map(|suffix| &suffix.0).filter_map(|item| match item {
                ast::CommandPrefixOrSuffixItem::Word(word) => Some(word),
                ast::CommandPrefixOrSuffixItem::IoRedirect(_)
                | ast::CommandPrefixOrSuffixItem::AssignmentWord(..)
                | ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => None,
            }),
        );
        let mut argv: Vec<Arg> = Vec::new();
        for word in words {
            argv.extend(word::evaluate(&word.value, self, &mut Effects::default()).unwrap_or_default());
        }
        argv.iter_mut().filter(|arg| arg.glob).for_each(|arg| arg.dash &= self.may_begin_with_dash(arg));
        Some(argv)
    }

    /// Numbers and single words: whatever it was given to print begins with no dash either.
    fn prints_words(&self, call: &Call<'_>) -> bool {
        let starts = |text: &str| text.split(['/', '+', ' ', '\t', '\n']).any(|word| word.starts_with('-'));
        let plain = |arg: &Arg| arg.known().is_some_and(|text| !starts(text) && !text.contains(' '));
        let values = call.found.iter().flat_map(|found| &found.values);
        let folder = self.known_pwd().is_some_and(|folder| !folder.contains(char::is_whitespace));
        folder && call.operands.iter().chain(values).all(plain)
    }

    /// Names as they lie in the folders that it looks at.
    fn lists_files(&self, call: &Call<'_>) -> Option<Names> {
        let expression = call.row.special == Some("find");
        if expression && !find::prints_names(call.argv) {
            return None;
        }
        let like = find::pattern(call.argv).filter(|_| expression).map(str::to_owned);
        let lists_folders = call.row.special.is_none() && call.row.files == Files::Read;
        let inside = self.are_tame(&roots(call), lists_folders);
        Some(Names { dash: !inside, hidden: !shows_only_visible(call), inside, like })
    }

    /// Is every name below these plain, and does every link lead to where the workspace is?
    /// Only where nothing in the script could have made another by now.
    fn are_tame(&self, roots: &[Arg], lists_folders: bool) -> bool {
        let only_read = |part: &Part| part.proof == Proof::Reads;
        let settled = self.nest.looping == 0 && self.nest.later == 0 && self.parts.iter().all(only_read);
        let here = [Arg::literal(".")];
        let mut todo: Vec<PathBuf> = Vec::new();
        for root in if roots.is_empty() { &here[..] } else { roots } {
            match (self.place(root), root.glob) {
                (Place::At(_), true) => match self.expanded(root) {
                    Some(all) => todo.extend(all),
                    None => return false,
                },
                (Place::At(all), false) => todo.extend(all.into_iter().map(|located| located.path)),
                (Place::Below(_) | Place::Unknown, _) => return false,
            }
        }
        // What lies in a listed folder is named as if it lay here.
        if lists_folders && todo.iter().any(|path| self.around.files.entry(path) != Some(FileEntry::File)) {
            todo.extend(self.scope.folders.0.iter().cloned());
        }
        settled && todo.iter().all(|path| self.around.files.entry(path).is_some()) && self.is_tame(todo)
    }

    fn is_tame(&self, mut todo: Vec<PathBuf>) -> bool {
        let files = self.around.files;
        while let Some(path) = todo.pop() {
            let Some(left) = self.looked.names_left.get().checked_sub(1) else { return false };
            self.looked.names_left.set(left);
            match files.entry(&path) {
                // What a link leads to, inside, is come across by itself.
                Some(FileEntry::Link(_)) => {
                    if self.is_outside(&locate(files, self.around.root, Path::new("/"), &path).path) {
                        return false;
                    }
                }
                _ if self.is_outside(&path) => return false,
                Some(FileEntry::Dir) => {
                    let Some(names) = self.names_in(&path) else { return false };
                    if !names.iter().all(|name| is_plain(name)) {
                        return false;
                    }
                    todo.extend(names.iter().map(|name| path.join(name)));
                }
                Some(FileEntry::File | FileEntry::Other) | None => {}
            }
        }
        true
    }
}

/// A word by itself to whoever reads it: no option, no expression, no quote and no blank.
fn is_plain(name: &str) -> bool {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "'\"\\=:".contains(c);
    !name.starts_with(['-', '(', '!', ',', ')', '@', '+']) && !name.contains(odd)
}

/// Tells whether all it does to names is to choose among them.
fn only_chooses(effect: OptionEffect) -> bool {
    matches!(effect, OptionEffect::None | OptionEffect::Names | OptionEffect::Pattern | OptionEffect::Hidden)
}

/// It reads what comes through the pipe, and no file of its own.
fn reads_input(call: &Call<'_>) -> bool {
    let pattern = usize::from(call.row.files == Files::Pattern && !call.has_pattern());
    call.operands.len() <= pattern && call.found.iter().all(|found| only_chooses(found.option.effect))
}

/// The folders and files that it looks through; none: where it runs.
fn roots(call: &Call<'_>) -> Vec<Arg> {
    let row: &Row = call.row;
    if row.special == Some("find") {
        return find::roots(call.argv).to_vec();
    }
    let pattern = (row.files == Files::Pattern && !call.has_pattern()) || row.special == Some("fd");
    call.operands.iter().skip(usize::from(pattern)).cloned().collect()
}

/// Names with a dot are left out, unless a word asks for them.
fn shows_only_visible(call: &Call<'_>) -> bool {
    let hidden = |text: &str| {
        let named = |part: &str| part.starts_with('.') && !matches!(part, "." | "..");
        text.split('/').any(named)
    };
    call.row.is("visible")
        && !call.has_effect(OptionEffect::Hidden)
        && !call.argv.iter().skip(1).any(|arg| hidden(&arg.text))
}
