//! Builtins of the shell that run text, set variables, change the folder or give names another meaning.

use zdx_protocol::ReasonCode;

use crate::shell::Concern;
use crate::shell::Part;
use crate::shell::programs::options::operands;
use crate::shell::programs::special::runners::basename;
use crate::shell::programs::table::{is_forbidden, is_listed, is_shell};
use crate::shell::syntax::word::{Arg, Known};
use crate::shell::walk::feed::{Stdin, joined};
use crate::shell::walk::files::FileEffect;
use crate::shell::walk::variables::selects_helper;
use crate::shell::walk::{Folders, Walker};

/// Options under which later lines mean something else: history is expanded, arguments become assignments,
/// `cd` looks into variables.
const REREADS: &[&str] = &["history", "histexpand", "keyword", "cdable_vars"];

fn rereads(argv: &[Arg]) -> bool {
    argv.iter().skip(1).take_while(|arg| arg.text != "--").any(|arg| {
        let letters = arg.text.strip_prefix('-').filter(|_| argv[0].text == "set");
        letters.is_some_and(|letters| letters.contains(['k', 'H'])) || REREADS.contains(&arg.text.as_str())
    })
}

fn has_letter(argv: &[Arg], letter: char) -> bool {
    let options = argv.iter().skip(1).take_while(|arg| arg.text.starts_with('-') && arg.text != "--");
    options.into_iter().any(|arg| arg.text.contains(letter))
}

impl Walker<'_> {
    /// True when the builtin is dealt with. Of these only a change of folder can be shown to do no more.
    pub(crate) fn builtin(&mut self, name: &str, argv: &[Arg], part: &mut Part) -> bool {
        match name {
            "eval" => self.eval(argv, part),
            "source" | "." => self.source_file(argv, part),
            "trap" => self.trap(argv, part),
            "alias" => self.define_alias(argv, part),
            "cd" | "pushd" | "chdir" => self.change_directory(argv, part),
            "popd" => {
                self.found.changes_folder = true;
                self.scope.folders = Folders::unknown();
            }
            "export" | "declare" | "typeset" | "readonly" | "local" => {
                self.found.environment |= operands(argv).is_empty();
                self.declare(argv, part);
            }
            "read" | "mapfile" | "readarray" | "getopts" | "unset" | "let" => {
                let own = |arg: &Arg| !selects_helper(&arg.text) && !self.around.env.contains_key(&arg.text);
                match name == "read" && argv.iter().skip(1).all(own) {
                    true => part.affirm(),
                    false => part.doubt(),
                }
                self.names_and_numbers(name, argv, part);
            }
            "test" | "[" | "printf" => {
                self.names_and_numbers(name, argv, part);
                return false;
            }
            "hash" if has_letter(argv, 'p') => {
                part.confirm(ReasonCode::Helper, "it makes a name run another program");
            }
            "enable" if has_letter(argv, 'f') => {
                part.confirm(ReasonCode::Helper, "it loads code into the shell");
            }
            "set" | "shopt" if rereads(argv) => {
                part.confirm(
                    ReasonCode::Opaque,
                    "it makes the shell read the rest of the script differently",
                );
            }
            "set" => {
                self.found.environment |= argv.len() == 1;
                self.numbers_later(argv.iter().map(|arg| arg.text.as_str()), part);
                self.found.literals.extend(argv.iter().skip(1).filter_map(Arg::known).map(str::to_owned));
                return false;
            }
            "history" => self.history(argv, part),
            "bind" | "complete" | "compgen" | "compopt" | "fc" => {
                part.confirm(ReasonCode::Opaque, format!("{name} can run text that is not plain here"));
            }
            "jobs" if argv.get(1).is_some_and(|arg| arg.text == "-x") => {
                part.doubt();
                self.inner(&argv[2..], part, false);
            }
            _ if is_shell(name) => self.shell(name, argv, part),
            _ => return false,
        }
        true
    }

    fn eval(&mut self, argv: &[Arg], part: &mut Part) {
        part.plain = false;
        let words = match argv.get(1) {
            Some(arg) if arg.text == "--" => &argv[2..],
            _ => &argv[1..],
        };
        match joined(words) {
            Some(text) => self.text(&text),
            None => match self.printed_argument(part) {
                Some(text) => self.text(&text),
                None => {
                    part.confirm(ReasonCode::Opaque, "eval runs text that is not known before it runs");
                    self.partly_known(words, part);
                }
            },
        }
    }

    /// `eval "$(cat <<'E' … )"`: the one substitution is a literal after all.
    fn printed_argument(&self, part: &Part) -> Option<String> {
        let text = part.text.trim_start().strip_prefix("eval")?.trim();
        let inner = text.strip_prefix("\"$(").and_then(|rest| rest.strip_suffix(")\""))?;
        self.printed_by(inner)
    }

    fn source_file(&mut self, argv: &[Arg], part: &mut Part) {
        part.plain = false;
        self.found.sources = true;
        self.scope.values.clear();
        if let Some(file) = operands(argv).first() {
            self.script_file(file, part);
        }
    }

    /// A script given by name.
    fn script_file(&mut self, file: &Arg, part: &mut Part) {
        if file.known().is_none() {
            part.confirm(ReasonCode::Opaque, "which file it runs is not known before it runs");
            return;
        }
        if matches!(file.text.as_str(), "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" | "-") {
            self.stdin_script(part);
            return;
        }
        // A bare name is looked for on the search path too.
        if is_listed(basename(&file.text)) || is_forbidden(basename(&file.text)) {
            part.confirm(ReasonCode::ListedCommand, format!("it runs {} through a shell", file.text));
        }
        let files = self.place(file).paths();
        if files.iter().any(|path| self.touched.written.contains(path) || self.was_fetched(path)) {
            part.confirm(ReasonCode::Opaque, "it runs a file that this very script writes");
        }
        if files.iter().any(|path| path.starts_with("/dev") || path.starts_with("/proc")) {
            part.confirm(ReasonCode::Opaque, "it runs whatever it reads");
        }
        for path in files.into_iter().filter(|path| self.is_outside(path)) {
            part.add(Concern::Outside { path, write: false });
        }
        part.ask("it runs a file of the workspace");
    }

    fn trap(&mut self, argv: &[Arg], part: &mut Part) {
        part.plain = false;
        let words = match argv.get(1) {
            Some(arg) if arg.text == "--" => &argv[2..],
            _ => &argv[1..],
        };
        let Some(action) = words.first().filter(|_| words.len() > 1) else { return };
        match action.known() {
            Some("-" | "") => {}
            Some(text) if text.starts_with('-') => {}
            Some(text) => {
                let text = text.to_owned();
                self.later(|walker| walker.text(&text));
            }
            None => {
                part.confirm(ReasonCode::Opaque, "the trap runs text that is not known before it runs");
                self.partly_known(std::slice::from_ref(action), part);
            }
        }
    }

    /// The file that history is read from, or written to.
    fn history(&mut self, argv: &[Arg], part: &mut Part) {
        let Some(file) = operands(argv).first().map(|arg| (*arg).clone()) else { return };
        if has_letter(argv, 'w') {
            self.changes(&file, FileEffect::Overwrite, part);
        } else if has_letter(argv, 'a') {
            self.changes(&file, FileEffect::Append, part);
        } else if has_letter(argv, 'r') || has_letter(argv, 'n') {
            self.reads(&file, part);
        }
    }

    fn define_alias(&mut self, argv: &[Arg], part: &mut Part) {
        part.plain = false;
        for arg in argv.iter().skip(1) {
            let Some(text) = arg.known() else {
                part.confirm(ReasonCode::Opaque, "which alias it defines is not known before it runs");
                continue;
            };
            let Some((name, value)) = text.split_once('=') else { continue };
            part.ask(format!("it gives {name} another meaning"));
            // With two meanings, which one a later line has depends on what runs.
            let known = self.found.aliases.entry(name.to_owned()).or_insert_with(|| Some(value.to_owned()));
            if known.as_deref() != Some(value) {
                *known = None;
            }
            let value = value.to_owned();
            self.later(|walker| walker.text(&value));
        }
    }

    fn change_directory(&mut self, argv: &[Arg], part: &mut Part) {
        part.affirm();
        let home = self.around.home.map_or_else(Arg::unknown, Arg::literal);
        let before = self.scope.folders.clone();
        self.found.changes_folder = true;
        let usual =
            |arg: &Arg| !arg.text.starts_with('-') || matches!(arg.text.as_str(), "-" | "--" | "-L" | "-P");
        // One shell takes the first of several names, another none; pushd and options are not the same either.
        let doubtful = argv[0].text != "cd" || operands(argv).len() > 1 || !argv[1..].iter().all(usual);
        match operands(argv).first() {
            None if argv[0].text == "pushd" => self.scope.folders = Folders::unknown(),
            None => self.change_folder(&home, part),
            Some(arg) if arg.text == "-" || arg.text.starts_with('+') => {
                self.scope.folders = Folders::unknown()
            }
            Some(target) => {
                let target = (*target).clone();
                self.change_folder(&target, part);
            }
        }
        // Behind a wrapper it changes a child's folder, ours, or none, by shell.
        if doubtful {
            self.may_have_stayed(&before);
        }
        if self.nest.wrapped > 1 {
            self.scope.folders = self.scope.folders.or(&before);
        }
    }

    fn declare(&mut self, argv: &[Arg], part: &mut Part) {
        part.plain = false;
        for arg in argv.iter().skip(1) {
            if arg.text.starts_with(['-', '+']) {
                if arg.text.starts_with('-') && arg.text.contains('n') && argv[0].text != "export" {
                    part.confirm(ReasonCode::Opaque, "it gives a variable a second name");
                }
                continue;
            }
            if self.runs_in_arithmetic(&arg.text) {
                part.confirm(ReasonCode::Opaque, "the value holds a command that arithmetic would run");
            }
            // A list in quotes is expanded once more.
            let list =
                arg.text.split_once("=(").is_some_and(|(_, list)| list.contains("$(") || list.contains('`'));
            if list {
                part.confirm(ReasonCode::Opaque, "the list holds a command that would run");
            }
            if arg.text.starts_with('\0') {
                part.confirm(ReasonCode::Opaque, "which variable it sets is not known before it runs");
                continue;
            }
            match arg.text.split_once('=') {
                Some((name, value)) => {
                    self.found.literals.extend(arg.known().map(|_| value.to_owned()));
                    let name = name.trim_end_matches('+');
                    let name = name.split('[').next().unwrap_or(name);
                    let known = arg.known().map(|_| value);
                    match argv[0].text == "export" {
                        true => self.given_to_tools(name, known, part),
                        false => self.set_variable_to(name, known, part),
                    }
                    match (argv[0].text.as_str(), known) {
                        ("export" | "readonly", Some(value)) if !arg.text.contains(['+', '[']) => {
                            self.remember(name, Known::Text(value.to_owned()));
                        }
                        _ => self.forget(name),
                    }
                }
                // `export X` passes on what is set elsewhere in the script, where it is seen.
                None => {
                    part.ask("it changes variables");
                    if argv[0].text != "export" {
                        self.forget_names(&arg.text);
                    }
                }
            }
        }
    }

    /// Builtins that take names of variables or numbers: both can hold `a[$(…)]`.
    fn names_and_numbers(&mut self, name: &str, argv: &[Arg], part: &mut Part) {
        let sets = !matches!(name, "test" | "[" | "printf")
            || argv.get(1).is_some_and(|arg| arg.text.starts_with("-v"));
        for arg in argv.iter().skip(1).filter(|_| sets) {
            self.forget_names(&arg.text);
            if name == "read" && matches!(&self.stdin, Stdin::Names(names) if !names.dash) {
                self.remember(&arg.text, Known::Name);
            }
        }
        if argv.iter().skip(1).any(|arg| self.runs_in_arithmetic(&arg.text)) {
            // In a comparison of strings it is only text.
            let numeric = !matches!(name, "test" | "[" | "printf")
                || argv.iter().any(|arg| {
                    (name == "printf" && arg.text.starts_with("-v"))
                        || matches!(arg.text.as_str(), "-v" | "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")
                });
            if numeric {
                part.confirm(ReasonCode::Opaque, "an argument holds a command that the shell would run");
            }
        }
        match name {
            "printf" => {
                let target = match argv.get(1).map(|arg| arg.text.as_str()) {
                    Some("-v") => argv.get(2).map(|arg| arg.text.clone()),
                    Some(text) => text.strip_prefix("-v").map(str::to_owned),
                    None => None,
                };
                if let Some(target) = target {
                    let name = target.split('[').next().unwrap_or("").to_owned();
                    self.set_variable_to(&name, None, part);
                }
            }
            "read" | "mapfile" | "readarray" | "getopts" | "let" => {
                if let Stdin::Text(text) = &self.stdin {
                    self.numbers_later([text.as_str()], part);
                    let lines = text.lines().map(str::to_owned);
                    self.found.literals.extend(lines);
                }
                if argv.iter().any(|arg| arg.text == "-C") && name != "read" {
                    part.confirm(ReasonCode::Opaque, "it runs a callback");
                }
                for arg in argv.iter().skip(1) {
                    for word in arg.text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
                        if selects_helper(word) {
                            self.set_variable_to(word, None, part);
                        }
                    }
                    if arg.text.starts_with('\0') {
                        part.ask("which variable it sets is not known before it runs");
                    }
                }
            }
            _ => {}
        }
    }

    /// `sh -c text`, `sh file`, `sh` reading its input.
    fn shell(&mut self, name: &str, argv: &[Arg], part: &mut Part) {
        part.plain = false;
        if let [_, option, file] = argv
            && option.text == "-n"
            && matches!(name, "sh" | "bash" | "dash" | "ksh" | "zsh")
            && !file.splits
        {
            part.ask("it checks a script without running it");
            self.reads(file, part);
            return;
        }
        let mut at = 1;
        let (mut text_follows, mut reads_stdin) = (false, false);
        while let Some(arg) = argv.get(at) {
            let text = arg.text.as_str();
            if text == "--" || text == "-" {
                at += 1;
                break;
            }
            if !text.starts_with(['-', '+']) {
                break;
            }
            if arg.known().is_none() {
                part.confirm(ReasonCode::Opaque, "how the shell starts is not known before it runs");
                return;
            }
            at += 1;
            if let Some(long) = text.strip_prefix("--") {
                match long.split('=').next().unwrap_or(long) {
                    "rcfile" | "init-file" => {
                        part.confirm(ReasonCode::Helper, "it runs a start-up file");
                        at += usize::from(!long.contains('='));
                    }
                    "norc" | "noprofile" | "posix" | "login" | "restricted" | "verbose" | "noediting" => {}
                    "version" | "help" => return,
                    "command" | "init-command" if name == "fish" => match long.split_once('=') {
                        Some((_, script)) => {
                            let script = script.to_owned();
                            self.apart(&script);
                        }
                        None => text_follows = true,
                    },
                    _ => part.confirm(
                        ReasonCode::Opaque,
                        format!("the option {text} is not known, so neither is what runs"),
                    ),
                }
                continue;
            }
            if name == "pwsh" && text.to_lowercase().starts_with("-e") {
                part.confirm(ReasonCode::Opaque, "its script is encoded");
            }
            if text.starts_with('-') && text.contains(['k', 'H']) && name != "pwsh" {
                part.confirm(ReasonCode::Opaque, "it makes the shell read the script differently");
            }
            text_follows |= text.starts_with('-')
                && (text.contains('c') || matches!((name, text), ("fish", "-C") | ("pwsh", "-Command")));
            reads_stdin |= text.contains('s');
            if name == "pwsh" {
                continue;
            }
            // -o and -O take a word.
            let words = text[1..].matches(['o', 'O']).count();
            if argv.iter().skip(at).take(words).any(|arg| REREADS.contains(&arg.text.as_str())) {
                part.confirm(ReasonCode::Opaque, "it makes the shell read the script differently");
            }
            at += words;
        }
        self.numbers_later(argv.iter().skip(at + 1).map(|arg| arg.text.as_str()), part);
        match argv.get(at) {
            Some(script) if text_follows => match script.known() {
                Some(text) => {
                    let text = text.to_owned();
                    self.apart(&text);
                }
                None => {
                    part.confirm(
                        ReasonCode::Opaque,
                        "the text it gives to a shell is not known before it runs",
                    );
                    self.partly_known(std::slice::from_ref(script), part);
                }
            },
            None if text_follows => {}
            Some(file) if !reads_stdin => self.script_file(file, part),
            _ => self.stdin_script(part),
        }
    }
}
