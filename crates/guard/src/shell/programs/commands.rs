//! One command: which program its first word means, by name, path, alias or function. What it does with the rest is the
//! table's to say.

use std::path::{Path, PathBuf};

use zdx_protocol::ReasonCode;

use crate::files::{Located, locate};
use crate::limits::{LOOK, MAX_PATH, MAX_STAYED, MAX_WORDS, MAX_WRAPPED};
use crate::shell::programs::special::runners::basename;
use crate::shell::programs::{generic, table};
use crate::shell::syntax::word::Arg;
use crate::shell::walk::feed::Stdin;
use crate::shell::walk::files::{Place, flatten};
use crate::shell::walk::{Folders, Walker};
use crate::shell::{Concern, Part};

/// Folders of programs that came with the machine.
const PROGRAM_FOLDERS: &[&str] = &["/bin", "/sbin", "/usr", "/opt", "/nix", "/snap", "/lib", "/lib64"];

/// Programs found here are the ones a bare name finds.
const BIN_FOLDERS: &[&str] = &["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/"];

impl Walker<'_> {
    /// Looks at one command. `transparent`: the words are what the outer command would run unchanged.
    pub(crate) fn argv(&mut self, argv: &[Arg], part: &mut Part, transparent: bool) {
        let Some(first) = argv.first() else { return };
        let length: usize = argv.iter().map(|arg| arg.text.len() + 16).sum();
        if argv.len() > MAX_WORDS || !self.budget.spend(length) {
            self.budget.exceed();
            return;
        }
        if self.nest.wrapped >= MAX_WRAPPED {
            part.confirm(
                ReasonCode::TooDeep,
                "it wraps commands in commands more often than can be followed",
            );
            part.plain = false;
            return;
        }
        self.nest.wrapped += 1;
        self.one_command(first, argv, part, transparent);
        self.nest.wrapped -= 1;
    }

    fn one_command(&mut self, first: &Arg, argv: &[Arg], part: &mut Part, transparent: bool) {
        let view = view(argv);
        if transparent {
            part.views.insert(0, view);
        } else {
            part.plain = false;
            part.views.push(view);
        }
        if argv.iter().any(|arg| arg.known().is_none() || arg.braced) {
            part.plain = false;
        }
        let Some(text) = first.known().filter(|_| !first.braced) else {
            part.confirm(ReasonCode::Opaque, "which command it runs is not known before it runs");
            return;
        };
        // Some file systems do not tell RM from rm.
        let name = basename(text).to_ascii_lowercase();
        if text.contains('/') {
            self.program_path(first, part);
        }
        if self.alias(first, argv, part) {
            return;
        }
        let before = self.touched.written.clone();
        self.named(&name, argv, part);
        if !table::row(&name).is_some_and(|row| row.is("compiles")) {
            let made: Vec<_> = self.touched.written.difference(&before).cloned().collect();
            self.touched.authored.extend(made);
        }
        // Inside a substitution or a pipe, what is printed may become a number.
        let printed =
            matches!(name.as_str(), "echo" | "printf") && (self.nest.depth > 1 || self.nest.beside > 0);
        if printed || self.is_function(&name) || matches!(name.as_str(), "shift" | "exit" | "return") {
            self.numbers_later(argv.iter().skip(1).map(|arg| arg.text.as_str()), part);
        }
        self.call_function(&name, part);
    }

    /// A program given by path: one of the machine's, one of the workspace, or a stranger.
    fn program_path(&mut self, program: &Arg, part: &mut Part) {
        let text = program.text.as_str();
        if BIN_FOLDERS.iter().any(|folder| text.strip_prefix(folder).is_some_and(|rest| !rest.contains('/')))
        {
            return;
        }
        part.views.push(vec![basename(text).to_owned()]);
        part.doubt();
        let of_the_system = |path: &Path| PROGRAM_FOLDERS.iter().any(|folder| path.starts_with(folder));
        let files = self.place(program).paths();
        let link = program.known().is_some_and(|path| self.goes_through_any_new_link(Path::new(path)));
        if link || files.iter().any(|path| self.touched.authored.contains(path) || self.was_fetched(path)) {
            part.confirm(ReasonCode::Opaque, "it runs a file that this very script makes");
        }
        for path in &files {
            if self.is_outside(path) && !of_the_system(path) {
                part.add(Concern::Outside { path: path.clone(), write: false });
            }
        }
        if files.is_empty() || files.iter().any(|path| !self.is_outside(path)) {
            part.ask("it runs a file of the workspace");
        }
    }

    /// dash replaces aliases in scripts too, from the line after the definition on.
    fn alias(&mut self, first: &Arg, argv: &[Arg], part: &mut Part) -> bool {
        let Some(value) = self.facts.aliases.get(&first.text).cloned() else { return false };
        part.plain = false;
        part.doubt();
        self.budget.spend(value.as_ref().map_or(0, String::len));
        part.ask(format!("{} is an alias here", first.text));
        if matches!(first.text.as_str(), "cd" | "pushd" | "popd") {
            part.confirm(ReasonCode::Opaque, "an alias changes where the rest runs");
        }
        if !first.bare || self.nest.inside.iter().any(|name| name == &first.text) {
            return false;
        }
        let words: Option<Vec<&str>> =
            value.as_deref().filter(|text| simple_words(text)).map(|text| text.split_whitespace().collect());
        match words {
            Some(words)
                if !words.is_empty() && !value.as_deref().is_some_and(|text| text.ends_with([' ', '\t'])) =>
            {
                let mut inner: Vec<Arg> = words.into_iter().map(Arg::literal).collect();
                inner.extend_from_slice(&argv[1..]);
                self.nest.inside.push(first.text.clone());
                self.argv(&inner, part, false);
                self.nest.inside.pop();
                // The name itself still means its own command where aliases are off.
                false
            }
            _ => {
                part.confirm(ReasonCode::Opaque, "an alias changes what this runs");
                true
            }
        }
    }

    fn is_function(&self, name: &str) -> bool {
        self.facts.functions.contains(name) || self.found.functions.contains(name)
    }

    fn call_function(&mut self, name: &str, part: &mut Part) {
        if !self.is_function(name) {
            return;
        }
        part.plain = false;
        part.doubt();
        part.ask(format!("{name} is a function here"));
        self.found.calls.extend(self.nest.inside.last().map(|outer| (outer.clone(), name.to_owned())));
        if self.nest.beside > 0 && self.nest.inside.iter().any(|outer| self.leads_back(name, outer)) {
            part.forbid("it starts itself again and again (a fork bomb)");
        }
        if self.facts.function_changes_folder || matches!(name, "cd" | "pushd" | "popd") {
            self.found.changes_folder = true;
            self.scope.folders = Folders::unknown();
        }
    }

    /// Does calling this function end in calling that one?
    fn leads_back(&self, from: &str, to: &str) -> bool {
        let mut seen = vec![from];
        let mut at = 0;
        while let Some(&name) = seen.get(at) {
            if name == to {
                return true;
            }
            for (_, callee) in self.facts.calls.iter().filter(|(caller, _)| caller == name) {
                if !seen.contains(&callee.as_str()) {
                    seen.push(callee);
                }
            }
            at += 1;
        }
        false
    }

    fn named(&mut self, name: &str, argv: &[Arg], part: &mut Part) {
        if self.is_shadowed(name) {
            part.doubt();
        }
        if self.builtin(name, argv, part) {
            return;
        }
        let row = table::row(name).unwrap_or_else(table::any);
        let mut argv = argv.to_vec();
        for arg in argv.iter_mut().filter(|arg| arg.glob && !arg.found) {
            arg.dash &= self.may_begin_with_dash(arg);
        }
        self.apply(generic::effects_of(row, name, &argv), part);
    }

    /// `cd`, `pushd`, `env -C`, `git -C`: later paths are read from there.
    pub(crate) fn change_folder(&mut self, target: &Arg, part: &mut Part) {
        let place = self.place(target);
        // Where no name is short enough, a shell might still get there step by step.
        let base = self.scope.folders.0.first().map_or(Path::new("/"), PathBuf::as_path);
        if target.text.len() > MAX_PATH && flatten(&base.join(&target.text)).as_os_str().len() > MAX_PATH {
            self.budget.exceed();
        }
        self.move_stayed(target);
        for path in place.clone().paths().into_iter().filter(|path| self.is_outside(path)) {
            part.add(Concern::Outside { path, write: false });
        }
        match place {
            Place::At(mut all) if target.known().is_some() => {
                self.enter_by_name(target, &mut all, part);
                let certain = all.iter().all(Located::is_dir) && self.touched.written.is_empty();
                self.scope.maybe_moved |= !certain;
                self.scope.folders = Folders(all.into_iter().map(|located| located.path).collect());
            }
            Place::At(_) | Place::Below(_) | Place::Unknown => {
                if target.known().is_none() {
                    part.ask("which folder it changes to is not known before it runs");
                }
                part.doubt();
                self.scope.folders = Folders::unknown();
            }
        }
    }

    /// Shells follow `..` by the names of folders, not by where links led: `cd link; cd ..` is back where it was.
    fn enter_by_name(&mut self, target: &Arg, all: &mut Vec<Located>, part: &mut Part) {
        let entered = std::mem::take(&mut self.scope.entered);
        for base in self.scope.folders.0.iter().chain(&entered) {
            let name = flatten(&base.join(&target.text));
            if name.as_os_str().len() > MAX_PATH || self.scope.entered.len() >= MAX_STAYED {
                self.budget.exceed();
                return;
            }
            if !self.budget.spend(LOOK * (1 + name.components().count())) {
                return;
            }
            let located = locate(self.around.files, self.around.root, Path::new("/"), &name);
            if located.path != name && !self.scope.entered.contains(&name) {
                self.scope.entered.push(name);
            }
            if !all.iter().any(|known| known.path == located.path) {
                if self.is_outside(&located.path) {
                    part.add(Concern::Outside { path: located.path.clone(), write: false });
                }
                all.push(located);
            }
        }
    }

    /// A shell that reads its script: known text is judged, anything else is a confirmation.
    pub(crate) fn stdin_script(&mut self, part: &mut Part) {
        part.plain = false;
        part.doubt();
        match self.stdin.clone() {
            Stdin::Nothing => part.ask("it starts a shell"),
            Stdin::Text(text) => self.fed(Stdin::Nothing, |walker| walker.apart(&text)),
            Stdin::Unknown | Stdin::Names(_) => part.confirm(ReasonCode::Opaque, "it runs whatever it reads"),
        }
    }
}

/// The words as rules see them.
fn view(argv: &[Arg]) -> Vec<String> {
    argv.iter()
        .enumerate()
        .map(|(index, arg)| {
            let text = arg.text.as_str();
            let bare = BIN_FOLDERS
                .iter()
                .find_map(|folder| text.strip_prefix(folder))
                .filter(|rest| !rest.contains('/'));
            if index == 0 { bare.unwrap_or(text).to_owned() } else { text.to_owned() }
        })
        .collect()
}

/// Words without any character a shell would look at twice.
fn simple_words(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || " _-./=:,+@%".contains(c))
}
