//! Finds the file that an argument means, and says what touching it would do.
//! Looks at the disk through the file view only.

use std::path::{Component, Path, PathBuf};

use zdx_protocol::ReasonCode;

use crate::files::{FileEntry, Located, Step, follow, locate};
use crate::limits::{LOOK, MAX_PATH};
use crate::pattern::UNKNOWN;
use crate::protected;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::values::FRESH;
use crate::shell::{Concern, Part};

/// The way a file is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileEffect {
    /// Opened by `>`: its target must be known.
    Redirect,
    Append,
    /// A command replaces its content.
    Overwrite,
    /// A command changes it in place, creates it or removes it.
    Alter,
}

/// Where an argument leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// One of these, in the workspace or not.
    At(Vec<Located>),
    /// Somewhere below this folder, which is outside the workspace.
    Below(PathBuf),
    Unknown,
}

impl Place {
    /// Every path it may be, or lie below.
    pub(crate) fn paths(self) -> Vec<PathBuf> {
        match self {
            Self::At(all) => all.into_iter().map(|located| located.path).collect(),
            Self::Below(folder) => vec![folder],
            Self::Unknown => Vec::new(),
        }
    }
}

impl Walker<'_> {
    /// Resolves an argument in every folder the command may run in.
    pub(crate) fn place(&self, arg: &Arg) -> Place {
        let text = arg.text.as_str();
        // The names that such a pattern finds are shortened by whoever gets them, and cannot be looked up.
        if text.len() > MAX_PATH && arg.glob {
            self.budget.exceed();
            return Place::Unknown;
        }
        let parts = 1 + text.bytes().filter(|byte| *byte == b'/').count();
        if !self.budget.spend((text.len() + LOOK * parts) * self.scope.folders.0.len().max(1)) {
            return Place::Unknown;
        }
        // Known up to some folder: `/etc/$x` is outside whatever x is.
        let known = match text.find(UNKNOWN) {
            Some(at) => text[..at].rfind('/').map(|slash| &text[..=slash]),
            None => Some(text),
        };
        let Some(path) = known.map(Path::new) else { return Place::Unknown };
        if !path.is_absolute() && self.scope.folders.is_unknown() {
            return Place::Unknown;
        }
        let nowhere = [PathBuf::from("/")];
        let folders = if self.scope.folders.is_unknown() { &nowhere[..] } else { &self.scope.folders.0[..] };
        let mut whole = known == Some(text);
        let mut all = Vec::new();
        for folder in folders {
            let located = if path.as_os_str().len() > MAX_PATH {
                let (shortened, complete) = self.shortened(folder, path);
                whole &= complete;
                shortened.iter().map(|path| self.located(folder, path, false)).collect::<Result<Vec<_>, _>>()
            } else {
                self.located(folder, path, arg.glob).map(|located| vec![located])
            };
            match located {
                Ok(located) => located.into_iter().for_each(|located| {
                    if !all.contains(&located) {
                        all.push(located);
                    }
                }),
                Err(place) => return place,
            }
        }
        if whole {
            return Place::At(all);
        }
        let outside = all.into_iter().map(|located| located.path).find(|path| self.is_outside(path));
        outside.map_or(Place::Unknown, Place::Below)
    }

    /// Where a path leads from one folder.
    fn located(&self, folder: &Path, path: &Path, glob: bool) -> Result<Located, Place> {
        // A descriptor or `/dev/null` is what its name says; where its link leads now, in our own
        // process, is nothing to the command.
        let named = flatten(&folder.join(path));
        if protected::is_harmless_device(&named) {
            return Ok(Located { path: named, entry: Some(FileEntry::Other) });
        }
        // Where these lead is a matter of the process that asks.
        if ["/proc/self", "/proc/thread-self"].iter().any(|own| named.starts_with(own)) {
            return Err(Place::Below(PathBuf::from("/proc/self")));
        }
        if self.goes_through_new_link(folder, path) {
            return Err(Place::Unknown);
        }
        Ok(match glob {
            true => Located { path: named, entry: None },
            false => locate(self.around.files, self.around.root, folder, path),
        })
    }

    /// The paths that a longer one than the kernel takes becomes when it is shortened before it is used: a shell's `cd` takes
    /// out `x/..` whatever x is, other programs go from folder to folder and follow links. Absolute; false if one of them
    /// is still too long, and only its beginning is given.
    fn shortened(&self, folder: &Path, path: &Path) -> (Vec<PathBuf>, bool) {
        let (files, mut there) = (self.around.files, true);
        let walked = follow(folder.to_path_buf(), path, |step| match step {
            Step::Up(_) => {
                there = true;
                Ok(None)
            }
            Step::Down(next) if next.as_os_str().len() > MAX_PATH => Err(next.to_path_buf()),
            Step::Down(next) => {
                let entry = files.entry(next).filter(|_| there);
                there = entry.is_some();
                Ok(entry.and_then(|entry| match entry {
                    FileEntry::Link(target) => Some(target),
                    FileEntry::File | FileEntry::Dir | FileEntry::Other => None,
                }))
            }
        });
        let walked = match walked {
            Ok(path) => path,
            Err(path) => Some(path),
        };
        let mut all = vec![flatten(&folder.join(path))];
        all.extend(walked.filter(|walked| *walked != all[0]));
        let fits = |path: &Path| path.as_os_str().len() <= MAX_PATH;
        let complete = all.iter().all(|path| fits(path));
        for path in &mut all {
            *path = path.ancestors().find(|path| fits(path)).unwrap_or(Path::new("/")).to_path_buf();
        }
        (all, complete)
    }

    /// Pseudo-files that keep nothing are nobody's outside, and what `mktemp` makes is the script's own.
    pub(crate) fn is_outside(&self, path: &Path) -> bool {
        let fresh = path.components().any(|part| part.as_os_str() == FRESH);
        !path.starts_with(self.around.root) && !protected::is_harmless_device(path) && !fresh
    }

    /// Whether it lies neither in the workspace nor in a folder that was added to it.
    fn is_beyond(&self, path: &Path) -> bool {
        self.is_outside(path) && !self.around.added.iter().any(|folder| path.starts_with(folder))
    }

    pub(crate) fn is_protected(&self, path: &Path) -> bool {
        protected::is_protected(path, self.around.root, self.around.own)
    }

    /// Reading somebody's keys is confirmed wherever outside paths pass.
    pub(crate) fn note_credentials(&self, path: &Path, part: &mut Part) {
        if protected::holds_credentials(path, self.around.root, self.around.home.map(Path::new)) {
            part.confirm(ReasonCode::ProtectedPath, format!("{} holds keys or passwords", path.display()));
        }
    }

    /// Every place outside that an argument may be.
    fn note_outside(&self, place: &Place, write: bool, part: &mut Part) {
        for path in place.clone().paths().into_iter().filter(|path| self.is_outside(path)) {
            self.note_credentials(&path, part);
            part.add(Concern::Outside { path, write });
        }
    }

    /// `ln -s . d; cat d/../x`: the disk does not show yet what the script will have made of it.
    fn goes_through_new_link(&self, folder: &Path, path: &Path) -> bool {
        if self.touched.linked.is_empty() {
            return false;
        }
        let mut at = folder.to_path_buf();
        path.components().any(|component| {
            push(&mut at, component);
            // Which file it is stays unknown where that takes too long.
            at.as_os_str().len() > MAX_PATH
                || !self.budget.spend(at.as_os_str().len())
                || self.touched.linked.contains(&at)
        })
    }

    pub(crate) fn is_harmless(&self, arg: &Arg) -> bool {
        match self.place(arg) {
            Place::At(all) => all.iter().all(|located| {
                protected::is_harmless_device(&located.path) && !self.is_open_file(&located.path)
            }),
            Place::Below(_) | Place::Unknown => false,
        }
    }

    pub(crate) fn is_device(&self, arg: &Arg) -> bool {
        match self.place(arg) {
            Place::At(all) => all.iter().any(|located| protected::is_raw_device(&located.path)),
            Place::Below(path) => protected::is_raw_device(&path),
            Place::Unknown => false,
        }
    }

    pub(crate) fn reads(&mut self, arg: &Arg, part: &mut Part) {
        if arg.inside {
            return;
        }
        let place = self.place(arg);
        let own = matches!(&place, Place::Below(path) if path.starts_with("/proc/self"));
        self.found.environment |= own && arg.text.contains("environ");
        self.note_outside(&place, false, part);
        // Some programs read the tilde themselves.
        if let (Some(below), Some(home)) = (arg.text.strip_prefix("~/"), self.around.home) {
            self.note_credentials(&Path::new(home).join(below), part);
        }
        for reading in self.readings(arg) {
            self.place(&reading).paths().iter().for_each(|path| self.note_credentials(path, part));
        }
        if !self.stays_inside(arg, &place) {
            part.doubt();
        }
        if place == Place::Unknown {
            part.ask("which file it reads is not known before it runs");
        }
    }

    /// Does everything that the word names lie in the workspace or an added folder, wildcards and links followed?
    pub(super) fn stays_inside(&self, arg: &Arg, place: &Place) -> bool {
        match place {
            Place::At(all) => match arg.glob {
                false => all.iter().all(|located| !self.is_beyond(&located.path)),
                true => self.expanded(arg).is_some_and(|all| all.iter().all(|path| !self.is_beyond(path))),
            },
            Place::Below(_) | Place::Unknown => false,
        }
    }

    /// For files that are changed in a way that is asked about anyway: only a protected one says more.
    pub(crate) fn protected_only(&mut self, arg: &Arg, part: &mut Part) {
        part.doubt();
        let found = match self.place(arg) {
            Place::At(all) => all.iter().any(|located| self.is_protected(&located.path)),
            Place::Below(path) => self.is_protected(&path),
            Place::Unknown => false,
        };
        if found || may_be_protected(arg) {
            part.confirm(ReasonCode::ProtectedPath, format!("{} is a protected path", arg.text));
        }
        if matches!(self.place(arg), Place::At(all) if all.iter().any(|located| protected::is_instruction(&located.path)))
        {
            part.add(Concern::Instructions);
        }
    }

    pub(crate) fn changes(&mut self, arg: &Arg, change: FileEffect, part: &mut Part) {
        part.doubt();
        if may_be_protected(arg) {
            part.confirm(ReasonCode::ProtectedPath, "what it finds may be a protected path");
        } else if arg.glob && names_protected(arg) {
            part.confirm(ReasonCode::ProtectedPath, format!("{} may name a protected path", arg.text));
        }
        if arg.glob && change == FileEffect::Overwrite {
            part.confirm(ReasonCode::Overwrite, "the pattern may name files that are there");
        }
        self.changes_where_stayed(arg, change, part);
        self.changes_by_reading(arg, change, part);
        let place = self.place(arg);
        self.note_outside(&place, true, part);
        if let Place::At(all) = place {
            for located in all {
                self.change_at(located, change, part);
            }
            return;
        }
        // It may be one of the folders that were made, and be something else from now on.
        self.touched.made.clear();
        if let Place::Below(folder) = place
            && self.is_protected(&folder.join("file"))
        {
            let folder = folder.display();
            part.confirm(
                ReasonCode::ProtectedPath,
                format!("what lies in {folder} runs or steers something later"),
            );
        }
        match change {
            FileEffect::Redirect | FileEffect::Append => {
                part.confirm(ReasonCode::Opaque, "which file it writes is not known before it runs");
            }
            FileEffect::Overwrite if arg.known().is_some() => {
                part.confirm(
                    ReasonCode::Opaque,
                    "in which folder it overwrites a file is not known before it runs",
                );
            }
            FileEffect::Overwrite if !arg.glob => {
                part.confirm(ReasonCode::Opaque, "which file it overwrites is not known before it runs");
            }
            FileEffect::Alter
                if arg.known().is_some_and(|path| self.goes_through_any_new_link(Path::new(path))) =>
            {
                part.confirm(ReasonCode::Opaque, "it changes what a new link leads to");
            }
            FileEffect::Alter if arg.text == "\0" && !arg.found && !arg.visible => {
                let why = "which file it changes is not known before it runs, and may be a protected path";
                part.confirm(ReasonCode::ProtectedPath, why);
            }
            FileEffect::Overwrite | FileEffect::Alter => {
                part.ask("which file it changes is not known before it runs")
            }
        }
    }

    /// A device, a protected path or a file that is there stays what it is by way of a variable.
    fn changes_by_reading(&mut self, arg: &Arg, change: FileEffect, part: &mut Part) {
        for reading in self.readings(arg) {
            if self.is_device(&reading) {
                part.forbid("it writes to a device");
            }
            let Place::At(all) = self.place(&reading) else { continue };
            for Located { path, entry } in all {
                let there = entry.is_some_and(|entry| entry != FileEntry::Dir);
                if self.is_protected(&path) {
                    let shown = path.display();
                    part.confirm(
                        ReasonCode::ProtectedPath,
                        format!("it may write {shown}, which is a protected path"),
                    );
                } else if there && matches!(change, FileEffect::Redirect | FileEffect::Overwrite) {
                    part.confirm(ReasonCode::Overwrite, format!("it may overwrite {}", path.display()));
                }
                if protected::is_instruction(&path) {
                    part.add(Concern::Instructions);
                }
            }
        }
    }

    pub(crate) fn goes_through_any_new_link(&self, path: &Path) -> bool {
        self.scope.folders.0.iter().any(|folder| self.goes_through_new_link(folder, path))
    }

    fn change_at(&mut self, located: Located, change: FileEffect, part: &mut Part) {
        let Located { path, entry } = located;
        if protected::is_raw_device(&path) {
            part.forbid(format!("it writes to the device {}", path.display()));
            return;
        }
        if protected::is_harmless_device(&path) {
            if self.is_open_file(&path) {
                part.confirm(
                    ReasonCode::Overwrite,
                    format!("{} is a file that this script opened", path.display()),
                );
            }
            return;
        }
        let shown = path.strip_prefix(self.around.root).unwrap_or(&path).display().to_string();
        let shown = shown.replace(FRESH, "tmp.…");
        if self.is_protected(&path) {
            part.confirm(
                ReasonCode::ProtectedPath,
                format!("{shown} is a protected path: what is written there runs or steers something later"),
            );
        }
        if protected::is_instruction(&path) {
            part.add(Concern::Instructions);
        }
        let there =
            entry.is_some_and(|entry| entry != FileEntry::Dir) || self.touched.written.contains(&path);
        match change {
            FileEffect::Redirect | FileEffect::Overwrite if there => {
                part.confirm(ReasonCode::Overwrite, format!("it overwrites {shown}"));
            }
            FileEffect::Redirect | FileEffect::Overwrite => part.ask(format!("it creates {shown}")),
            FileEffect::Append => part.ask(format!("it appends to {shown}")),
            FileEffect::Alter => part.ask(format!("it changes {shown}")),
        }
        self.touched.made.retain(|made| !made.starts_with(&path));
        if matches!(change, FileEffect::Redirect | FileEffect::Append) {
            self.touched.authored.insert(path.clone());
        }
        self.touched.written.insert(path);
    }

    /// Does a name like `/dev/stdin` stand for a file, in some part of the script?
    /// Writing to it would empty a file that was only opened to be read or appended to.
    fn is_open_file(&self, path: &Path) -> bool {
        let Some(first) = protected::descriptor(path) else { return false };
        self.looked.names_open_files.set(true);
        let (opened, copies) = (&self.facts.opened, &self.facts.copies);
        let mut todo = vec![first];
        let mut seen = Vec::new();
        while let Some(descriptor) = todo.pop() {
            // Higher numbers can be given out by the shell itself: `{name}>file`.
            let unnamed = descriptor > 2 && !opened.is_empty();
            if unnamed || opened.contains(&descriptor) {
                return true;
            }
            if !seen.contains(&descriptor) {
                seen.push(descriptor);
                todo.extend(copies.iter().filter(|(to, _)| *to == descriptor).map(|(_, from)| *from));
            }
        }
        false
    }

    /// Is it a file that is there?
    pub(crate) fn is_file(&self, arg: &Arg) -> bool {
        let file = |located: &Located| located.exists() && !located.is_dir();
        matches!(self.place(arg), Place::At(all) if all.iter().any(file))
    }

    /// Is this argument a folder that exists, whichever folder we are in?
    pub(crate) fn is_dir(&self, arg: &Arg) -> bool {
        match self.place(arg) {
            Place::At(all) => all.iter().all(|located| {
                let made = || self.touched.made.iter().any(|made| made.starts_with(&located.path));
                located.is_dir() || (located.entry.is_none() && made())
            }),
            Place::Below(_) | Place::Unknown => false,
        }
    }

    /// `mkdir`: what is copied there later lies in it and does not replace it.
    pub(crate) fn makes_folder(&mut self, arg: &Arg) {
        if let Place::At(all) = self.place(arg) {
            let absent = all.into_iter().filter(|located| located.entry.is_none());
            self.touched.made.extend(absent.map(|located| located.path));
        }
    }
}

/// Names that are found while it runs may be any, but for those that a pattern with an extension leaves.
fn may_be_protected(arg: &Arg) -> bool {
    arg.found && (arg.has_unknown() || !protected::has_extension(&arg.text))
}

/// `.gi[t]/config`: a pattern that begins with a dot finds hidden names, and the protected ones are hidden. `find` finds
/// them by any pattern.
fn names_protected(arg: &Arg) -> bool {
    let parts = arg.text.split('/').filter(|part| part.contains(['*', '?', '[']) || arg.found);
    parts.into_iter().any(|part| (arg.found || part.starts_with(['.', '['])) && protected::may_name(part))
}

/// `a/../b` without asking the disk: what a wildcard matches cannot be asked.
pub(crate) fn flatten(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    path.components().for_each(|component| push(&mut out, component));
    out
}

fn push(path: &mut PathBuf, component: Component<'_>) {
    match component {
        Component::ParentDir => {
            path.pop();
        }
        Component::CurDir => {}
        other => path.push(other),
    }
}
