//! Applies the effects of a call to where the script is: files are located, scripts read, folders changed.
//! The only place that turns the effects of `programs` into findings.

use std::path::{Path, PathBuf};

use zdx_protocol::ReasonCode;

use crate::files::Located;
use crate::limits::{EFFECT, MAX_COMMANDS};
use crate::pattern::UNKNOWN;
use crate::protected::{self, descriptor};
use crate::shell::programs::effects::{Effect, Effects, Inner, Input, ProgramKind};
use crate::shell::programs::special::{awk, code, sed};
use crate::shell::syntax::word::Arg;
use crate::shell::walk::feed::{Stdin, joined};
use crate::shell::walk::files::{FileEffect, Place};
use crate::shell::walk::simple::split_assignment;
use crate::shell::walk::{Folders, Walker};
use crate::shell::{Concern, Part};

impl Walker<'_> {
    /// One call. Folders that it changes to are its own.
    pub(crate) fn apply(&mut self, effects: Effects, part: &mut Part) {
        let before = self.scope.folders.clone();
        part.affirm();
        let moves = effects.0.iter().any(|effect| matches!(effect, Effect::Chdir(_)));
        for effect in effects.0 {
            self.effect(effect, part);
        }
        if moves {
            self.scope.folders = before;
        }
    }

    fn effect(&mut self, effect: Effect, part: &mut Part) {
        if !self.budget.spend(EFFECT) {
            return;
        }
        match effect {
            Effect::Ask(why) => part.ask(why),
            Effect::Confirm(code, why) => part.confirm(code, why),
            Effect::Forbid(why) => part.forbid(why),
            Effect::Unproven => part.doubt(),
            Effect::NotPlain => part.plain = false,
            Effect::Reads(arg) => self.reads(&arg, part),
            Effect::Changes(arg, change) => self.changes(&arg, change, part),
            Effect::Protects(arg) => self.protected_only(&arg, part),
            Effect::Loose { arg, write } => self.loose_path(&arg, write, part),
            Effect::MayWrite { by, arg } => self.may_write(&by, &arg, part),
            Effect::Removes { arg, recursive } => {
                if recursive {
                    self.empties(&arg, part);
                }
                self.changes(&arg, FileEffect::Alter, part);
            }
            Effect::Empties(arg) => self.empties(&arg, part),
            Effect::Device(arg) => {
                if self.is_device(&arg) {
                    part.forbid(format!("it writes to the device {}", arg.text));
                }
            }
            Effect::Mounts { arg, read_only } => {
                self.reads(&arg, part);
                if !read_only {
                    self.protected_only(&arg, part);
                }
                if self.is_ancestor(&arg) {
                    part.confirm(
                        ReasonCode::Helper,
                        "the container is given the machine's files, or the home's",
                    );
                }
            }
            Effect::Copies { sources, target, change } => self.copies(&sources, &target, change, part),
            Effect::Links { targets, link, symbolic, forced } => {
                self.links(&targets, link.as_ref(), symbolic, forced, part);
            }
            Effect::MakesFolder(arg) => self.makes_folder(&arg),
            Effect::Fetches(arg) => self.fetches(&arg),
            Effect::Unpacks(archives) => self.unpacks_here(&archives, part),
            Effect::Chdir(arg) => self.change_folder(&arg, part),
            Effect::Sets(name, value) => self.given_to_tools(&name, value.as_deref(), part),
            Effect::Runs(argv, how) => self.runs(&argv, how, part),
            Effect::Arguments(argv) => {
                let start = self.assignments(&argv, part);
                self.inner(&argv[start..], part, true);
            }
            Effect::Shell(words) => self.shell_words(&words, part),
            Effect::Remote(words) => self.remote_text(&words, part),
            Effect::Perhaps(text) => self.perhaps(&text, part),
            Effect::Listed(text) => self.only_listed(&text, part),
            Effect::Program(program, kind) => self.program(&program, kind, part),
            Effect::ProgramFile(file, kind) => {
                if let Some(text) = self.script_text(&file, part) {
                    self.program(&Arg::literal(text), kind, part);
                }
            }
            Effect::Code(arg) => self.code(&arg, part),
            Effect::CodeFile(file) => self.code_file(&file, part),
            Effect::Input(input) => self.input(input, part),
            Effect::Project => self.project(part),
            Effect::Makefile(file) => self.makefile(&file, part),
            Effect::ShowsEnvironment => self.found.environment = true,
            Effect::Sends if self.facts.environment => {
                let why = "what the environment holds, keys among it, may go to another machine";
                part.confirm(ReasonCode::ProtectedPath, why);
            }
            Effect::Sends => {}
            Effect::Discards(arg) => self.discards(&arg, part),
            Effect::Repository => self.repository(part),
            Effect::UserSettings => {
                let settings = self.around.home.map(|home| Path::new(home).join(".gitconfig"));
                part.doubt();
                if let Some(path) = settings {
                    part.add(Concern::Outside { path, write: true });
                }
            }
        }
    }

    fn empties(&mut self, arg: &Arg, part: &mut Part) {
        part.doubt();
        let ancestor = self.is_ancestor(arg) || self.readings(arg).iter().any(|arg| self.is_ancestor(arg));
        if ancestor {
            part.forbid("it removes the home folder, the machine's files or a folder around the workspace");
        }
    }

    /// A program that is not known may write what it is given: a disk, or a name that steers something, is enough.
    pub(crate) fn may_write(&mut self, by: &str, arg: &Arg, part: &mut Part) {
        let Place::At(all) = self.place(arg) else { return };
        for Located { path, .. } in all.into_iter().filter(|_| !arg.glob) {
            if protected::is_disk(&path) {
                part.forbid(format!("{by} may write to the device {}", path.display()));
            } else if protected::steers(&path, self.around.root) {
                let why = format!("{by} may write {}, a protected path", arg.text);
                part.confirm(ReasonCode::ProtectedPath, why);
            }
        }
    }

    fn runs(&mut self, argv: &[Arg], how: Inner, part: &mut Part) {
        let names = match &self.stdin {
            Stdin::Names(names) if how == Inner::Fed => Some(names.clone()),
            Stdin::Names(_) | Stdin::Nothing | Stdin::Text(_) | Stdin::Unknown => None,
        };
        if how != Inner::Transparent && !names.as_ref().is_some_and(|names| names.inside) {
            part.doubt();
        }
        match how {
            Inner::Transparent => self.inner(argv, part, true),
            Inner::Changed => self.inner(argv, part, false),
            Inner::Elsewhere => self.isolated(|walker| {
                walker.scope.folders = Folders::unknown();
                walker.inner(argv, part, false);
            }),
            Inner::Fed | Inner::Listed => {
                let mut argv = argv.to_vec();
                if let Some(names) = names {
                    argv.iter_mut().filter(|arg| arg.found).for_each(|arg| names.shape(arg));
                }
                self.fed(Stdin::Unknown, |walker| walker.inner(&argv, part, false));
            }
            Inner::Contained | Inner::Perhaps => {
                let feed = if how == Inner::Contained { self.stdin.clone() } else { Stdin::Unknown };
                self.probe(part, is_floor, |walker, probe| {
                    walker.fed(feed, |walker| walker.inner(argv, probe, false));
                });
            }
        }
    }

    /// To bash, `time` is followed by a command with its assignments. Returns how many there are.
    fn assignments(&mut self, argv: &[Arg], part: &mut Part) -> usize {
        let is_name = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let count = argv.iter().take_while(|arg| arg.text.contains('=') && is_name(&arg.text)).count();
        for arg in &argv[..count] {
            part.plain = false;
            let (name, value) = split_assignment(&arg.text);
            let value = arg.known().map(|_| value.to_owned());
            self.given_to_tools(name, value.as_deref(), part);
        }
        count
    }

    /// The wrapped command, which is the same part of the script.
    pub(crate) fn inner(&mut self, argv: &[Arg], part: &mut Part, transparent: bool) {
        if !argv.is_empty() {
            self.argv(argv, part, transparent);
        }
    }

    /// Words that are joined and given to a shell.
    fn shell_words(&mut self, words: &[Arg], part: &mut Part) {
        part.plain = false;
        part.doubt();
        if words.is_empty() {
            return;
        }
        match joined(words) {
            Some(text) => self.apart(&text),
            None => {
                let why = "the command it hands to a shell is not known before it runs";
                part.confirm(ReasonCode::Opaque, why);
                self.partly_known(words, part);
            }
        }
    }

    /// A command for another machine: only what it names matters, its files are not ours.
    fn remote_text(&mut self, words: &[Arg], part: &mut Part) {
        part.plain = false;
        match joined(words) {
            Some(text) => self.only_floors(&text, part),
            None => {
                let why = "the command for the other machine is not known before it runs";
                part.confirm(ReasonCode::Opaque, why);
                self.partly_known(words, part);
            }
        }
    }

    /// Visits something as if it ran, and keeps only the concerns that `counts` picks.
    pub(crate) fn probe(
        &mut self,
        part: &mut Part,
        counts: fn(&Concern) -> bool,
        visit: impl FnOnce(&mut Self, &mut Part),
    ) {
        let from = self.parts.len();
        let mut probe = Part::of("");
        self.isolated(|walker| visit(walker, &mut probe));
        let inner: Vec<Part> = self.parts.split_off(from);
        let concerns = inner.into_iter().flat_map(|part| part.concerns).chain(probe.concerns);
        concerns.filter(counts).for_each(|concern| part.add(concern));
    }

    /// A text that may or may not be a script: whatever in it would have to be confirmed counts. That it makes no sense
    /// as one says nothing.
    pub(crate) fn perhaps(&mut self, text: &str, part: &mut Part) {
        part.doubt();
        self.probe(part, must_be_confirmed, |walker, _| walker.text(text));
    }

    /// The same for text out of which anything could be made: only a listed command in it counts.
    pub(crate) fn only_listed(&mut self, text: &str, part: &mut Part) {
        part.doubt();
        let before = self.nest.commands;
        self.probe(part, is_listed, |walker, _| walker.text(text));
        // Code holds many texts; each alone is no longer script for the others.
        if self.nest.commands <= MAX_COMMANDS {
            self.nest.commands = before;
        }
    }

    /// The same for a script that runs elsewhere: what must be confirmed or refused wherever it runs.
    fn only_floors(&mut self, text: &str, part: &mut Part) {
        part.doubt();
        self.probe(part, holds_anywhere, |walker, _| walker.text(text));
    }

    fn program(&mut self, program: &Arg, kind: ProgramKind, part: &mut Part) {
        let effects = |program: &Arg| match kind {
            ProgramKind::Sed => sed::program(program),
            ProgramKind::Awk => awk::program(program),
        };
        for effect in effects(program).0 {
            self.effect(effect, part);
        }
        self.each_reading(program, part, |walker, reading, part| walker.apply(effects(reading), part));
    }

    fn code(&mut self, arg: &Arg, part: &mut Part) {
        part.doubt();
        if arg.text.starts_with(UNKNOWN) {
            part.confirm(ReasonCode::Opaque, "which code it runs is not known before it runs");
        }
        self.apply(code::code(&arg.text), part);
        self.each_reading(arg, part, |walker, reading, part| walker.apply(code::code(&reading.text), part));
    }

    fn code_file(&mut self, file: &Arg, part: &mut Part) {
        part.doubt();
        let path = Path::new(&file.text);
        if descriptor(path) == Some(0) {
            self.input(Input::Code, part);
        } else if path.starts_with("/dev") || path.starts_with("/proc") {
            part.confirm(ReasonCode::Opaque, "it runs whatever it reads");
            self.reads(file, part);
        } else if self.is_fetched(file) {
            part.confirm(ReasonCode::Opaque, "it runs what this very script fetches");
        } else {
            part.ask("it runs a file of the workspace");
            self.reads(file, part);
        }
    }

    /// The text of a script that `-f` names, where the command line itself holds it.
    fn script_text(&mut self, file: &Arg, part: &mut Part) -> Option<String> {
        part.doubt();
        if file.text != "-" && descriptor(Path::new(&file.text)) != Some(0) {
            self.reads(file, part);
            part.ask("it runs a script file");
            if self.is_fetched(file) {
                part.confirm(ReasonCode::Opaque, "it runs what this very script fetches");
            }
            return None;
        }
        match self.stdin.clone() {
            Stdin::Nothing => None,
            Stdin::Text(program) => Some(program),
            Stdin::Unknown | Stdin::Names(_) => {
                part.confirm(ReasonCode::Opaque, "it runs whatever it reads");
                None
            }
        }
    }

    fn input(&mut self, input: Input, part: &mut Part) {
        part.doubt();
        match (input, self.stdin.clone()) {
            (Input::Shell, _) => self.stdin_script(part),
            (_, Stdin::Nothing) => {}
            (Input::Code, Stdin::Text(text)) => self.apply(code::code(&text), part),
            (Input::Remote, Stdin::Text(text)) => self.only_floors(&text, part),
            (Input::Perhaps, Stdin::Text(text)) => self.perhaps(&text, part),
            (Input::Database, Stdin::Text(text)) => {
                let mut effects = Effects::default();
                code::orders(&text, &mut effects);
                self.apply(effects, part);
            }
            (Input::Orders, _) => {
                part.confirm(ReasonCode::Opaque, "it takes its orders from what it reads");
            }
            (Input::Code, Stdin::Unknown | Stdin::Names(_)) => {
                part.confirm(ReasonCode::Opaque, "it runs whatever it reads");
            }
            (Input::Remote, Stdin::Unknown | Stdin::Names(_)) => {
                part.confirm(ReasonCode::Opaque, "the other machine runs whatever it reads");
            }
            (Input::Database, Stdin::Unknown | Stdin::Names(_)) => {
                part.confirm(ReasonCode::Opaque, "the database's shell takes its orders from what it reads");
            }
            (Input::Perhaps, Stdin::Unknown | Stdin::Names(_)) => {}
        }
    }

    /// Notes that files of the project decide what runs: files that this script fetched are a stranger's.
    fn project(&mut self, part: &mut Part) {
        part.doubt();
        let fetched = |folder: &PathBuf| {
            self.was_fetched(folder) || self.touched.fetched.iter().any(|file| file.starts_with(folder))
        };
        if self.scope.folders.0.iter().any(fetched) {
            part.confirm(ReasonCode::Opaque, "it runs what this very script fetches");
        }
        let makefile = |path: &Path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().to_lowercase().ends_with("makefile"))
        };
        if self.touched.written.iter().any(|path| makefile(path)) {
            part.confirm(ReasonCode::Opaque, "it runs a file that this very script writes");
        }
    }

    fn makefile(&mut self, file: &Arg, part: &mut Part) {
        part.doubt();
        if file.text == "-" || self.is_harmless(file) {
            part.confirm(ReasonCode::Opaque, "it runs whatever it reads");
        } else if self.is_fetched(file) {
            part.confirm(ReasonCode::Opaque, "it runs what this very script fetches");
        } else {
            self.reads(file, part);
        }
    }

    fn discards(&mut self, arg: &Arg, part: &mut Part) {
        part.doubt();
        let names_file = match self.place(arg) {
            Place::At(all) => all.iter().any(|located| located.exists() && !self.is_outside(&located.path)),
            Place::Below(_) | Place::Unknown => false,
        };
        if names_file {
            part.confirm(ReasonCode::Destructive, "it throws away changes that were not committed");
        }
    }
}

fn is_floor(concern: &Concern) -> bool {
    matches!(concern, Concern::Forbidden { .. } | Concern::Confirm { .. })
}

/// Its files are not ours.
fn holds_anywhere(concern: &Concern) -> bool {
    let of_files =
        matches!(concern, Concern::Confirm { code: ReasonCode::Overwrite | ReasonCode::ProtectedPath, .. });
    is_floor(concern) && !of_files
}

/// A listed command, or text in which one may be hidden too deep to be found.
fn is_listed(concern: &Concern) -> bool {
    use ReasonCode::{ListedCommand, TooDeep, TooLarge};
    matches!(
        concern,
        Concern::Forbidden { .. } | Concern::Confirm { code: ListedCommand | TooDeep | TooLarge, .. }
    )
}

/// Whatever it is part of.
pub(crate) fn must_be_confirmed(concern: &Concern) -> bool {
    match concern {
        Concern::Forbidden { .. } => true,
        Concern::Confirm { code, .. } => !matches!(code, ReasonCode::Opaque | ReasonCode::Unreadable),
        Concern::Outside { .. } | Concern::Ask { .. } | Concern::Instructions => false,
    }
}
