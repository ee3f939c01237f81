//! Which arguments of a command are files, and what happens to them.

use std::path::{Path, PathBuf};

use zdx_protocol::ReasonCode;

use crate::files::FileEntry;
use crate::shell::programs::names::{CREATORS, NO_FILES, OUTPUT_OPTIONS, PATTERN_FIRST, READERS};
use crate::shell::programs::options::{operands, pattern_values};
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::files::{FileEffect, Place};
use crate::shell::{Concern, Part};

impl Walker<'_> {
    pub(crate) fn files_of(&mut self, name: &str, argv: &[Arg], part: &mut Part) {
        let mut argv = argv;
        match name {
            "docker" | "podman" | "nerdctl" => argv = &argv[..self.container_files(argv, part)],
            // Behind the file stand patterns.
            "csplit" => {
                if let Some(file) = operands(argv).first() {
                    self.reads(file, part);
                }
                return;
            }
            "tee" | "sponge" => self.tee(argv, part),
            "truncate" | "fallocate" => self.each_operand(argv, FileEffect::Overwrite, part),
            // The second name is written.
            "uniq" | "xxd" => {
                let numbers = pattern_values(name, argv);
                let is_number = |arg: &Arg| numbers.iter().any(|index| std::ptr::eq(&argv[*index], arg));
                let files: Vec<Arg> =
                    operands(argv).into_iter().filter(|arg| !is_number(arg)).cloned().collect();
                if let [_, .., written] = files.as_slice() {
                    self.changes(written, FileEffect::Overwrite, part);
                }
                for file in &files {
                    self.reads(file, part);
                }
            }
            "patch" | "split" | "gzip" | "gunzip" | "bzip2" | "xz" | "zstd" | "unzip" => {
                self.read_operands(name, argv, 0, part);
                for file in operands(argv) {
                    self.protected_only(file, part);
                }
                if matches!(name, "patch" | "split" | "unzip") && !argv.iter().any(|arg| arg.text == "-d") {
                    self.unpacks_here(part);
                }
            }
            "cp" | "install" | "gcp" | "rsync" | "scp" => self.copy(name, argv, part),
            "ln" | "link" => self.link(argv, part),
            _ if CREATORS.contains(&name) => {
                self.each_operand(argv, FileEffect::Alter, part);
                for folder in operands(argv).into_iter().filter(|_| name == "mkdir") {
                    self.makes_folder(folder);
                }
            }
            _ if NO_FILES.contains(&name) => {}
            _ if READERS.contains(&name) => self.read_operands(name, argv, 0, part),
            _ if PATTERN_FIRST.contains(&name) => {
                let given = argv.iter().any(|arg| {
                    let text = arg.text.as_str();
                    // `-rf file`: letters together, and long ones cut short.
                    let together =
                        text.starts_with('-') && !text.starts_with("--") && text.contains(['e', 'f']);
                    let long = ["--regexp", "--file", "--expression"];
                    (together && name.ends_with("grep"))
                        || text.starts_with("-e")
                        || text.starts_with("-f")
                        || long
                            .iter()
                            .any(|long| text.starts_with(long) || (text.len() > 3 && long.starts_with(text)))
                        || text == "--files"
                });
                self.read_operands(name, argv, usize::from(!given), part);
            }
            "kubectl" | "oc" | "helm" => {
                // Behind `--` it is another machine's disk.
                let own = argv.iter().position(|arg| arg.text == "--").unwrap_or(argv.len());
                for arg in operands(&argv[..own]) {
                    self.loose_path(arg, false, part);
                }
            }
            _ => self.unknown_program(name, argv, part),
        }
        if !NO_FILES.contains(&name) {
            self.option_files(name, argv, part);
        }
    }

    fn each_operand(&mut self, argv: &[Arg], change: FileEffect, part: &mut Part) {
        for (index, arg) in argv.iter().enumerate().skip(1) {
            let value_of_option = index > 1
                && matches!(
                    argv[index - 1].text.as_str(),
                    "-s" | "-r" | "-m" | "-d" | "-t" | "-l" | "-o" | "--size"
                );
            if !arg.text.starts_with('-') && !value_of_option {
                self.changes(arg, change, part);
            }
        }
    }

    fn read_operands(&mut self, name: &str, argv: &[Arg], skip: usize, part: &mut Part) {
        let patterns = pattern_values(name, argv);
        let mut only_operands = false;
        let mut seen = 0;
        for (index, arg) in argv.iter().enumerate().skip(1) {
            if !only_operands && arg.text == "--" {
                only_operands = true;
                continue;
            }
            if !only_operands && arg.text.starts_with('-') && arg.text.len() > 1 {
                continue;
            }
            if patterns.contains(&index) {
                continue;
            }
            seen += 1;
            // `cut -d /`, `sort -t /`: a separator, not the root of the disk.
            let separator =
                arg.text == "/" && matches!(argv[index - 1].text.as_str(), "-d" | "-t" | "-s" | "-F" | "-D");
            if seen <= skip || separator || arg.text == "-" || is_remote(&arg.text) {
                continue;
            }
            self.reads(arg, part);
        }
    }

    fn tee(&mut self, argv: &[Arg], part: &mut Part) {
        let append = argv.iter().any(|arg| {
            arg.text == "--append"
                || (arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.contains('a'))
        });
        for file in operands(argv) {
            self.changes(file, if append { FileEffect::Append } else { FileEffect::Overwrite }, part);
        }
    }

    /// The last operand is written: a file, or a folder that gets the names of the others.
    fn copy(&mut self, name: &str, argv: &[Arg], part: &mut Part) {
        let files: Vec<Arg> = operands(argv).into_iter().cloned().collect();
        let target_option = argv.iter().enumerate().find_map(|(index, arg)| {
            let text = arg.text.as_str();
            let at = |value: &str| Arg { text: value.to_owned(), ..arg.clone() };
            let (long, value) =
                text.split_once('=').map_or((text, None), |(long, value)| (long, Some(value)));
            if long.len() > 2 && long.starts_with("--") && "--target-directory".starts_with(long) {
                return value.map(at).or_else(|| argv.get(index + 1).cloned());
            }
            // Letters together; those of install before it take values themselves.
            let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-') && name != "rsync")?;
            let (before, value) = letters.split_once('t')?;
            match value {
                _ if before.contains(['S', 'g', 'm', 'o']) || matches!(name, "scp") => None,
                "" => argv.get(index + 1).cloned(),
                value => Some(at(value)),
            }
        });
        let no_clobber =
            argv.iter().any(|arg| matches!(arg.text.as_str(), "-n" | "--no-clobber" | "--ignore-existing"));
        let folders = |arg: &Arg| {
            arg.text == "--directory"
                || (arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.contains('d'))
        };
        if name == "install" && argv.iter().any(folders) {
            for folder in files.iter().filter(|file| !file.text.bytes().all(|b| b.is_ascii_digit())) {
                self.changes(folder, FileEffect::Alter, part);
            }
            return;
        }
        if argv.iter().any(|arg| arg.text.starts_with("--del") || arg.text == "--remove-source-files") {
            part.confirm(ReasonCode::Destructive, "it deletes files on the other side");
        }
        if argv.iter().any(|arg| {
            arg.text == "-e"
                || (name == "rsync"
                    && arg.text.starts_with('-')
                    && !arg.text.starts_with("--")
                    && arg.text.contains('e'))
                || arg.text.starts_with("--rsh")
                || arg.text.starts_with("--rsync-path")
                || arg.text == "-S"
        }) && matches!(name, "rsync" | "scp")
        {
            part.confirm(ReasonCode::Helper, "it runs a program of its options' choice");
        }
        let (sources, target) = match target_option {
            Some(target) => (files.as_slice(), target),
            None => match files.split_last() {
                Some((target, sources)) => (sources, target.clone()),
                None => return,
            },
        };
        for source in sources.iter().filter(|arg| !is_remote(&arg.text)) {
            self.reads(source, part);
        }
        if is_remote(&target.text) {
            return;
        }
        let change = if no_clobber { FileEffect::Alter } else { FileEffect::Overwrite };
        if self.is_dir(&target) {
            let made = self.made.clone();
            self.changes(&target, FileEffect::Alter, part);
            // What comes into a folder leaves it one.
            self.made = made;
            for source in sources.iter().filter(|arg| arg.known().is_some()) {
                let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or("");
                let inside = Arg { text: format!("{}/{name}", target.text), ..target.clone() };
                self.changes(&inside, change, part);
            }
        } else {
            self.changes(&target, change, part);
        }
    }

    fn link(&mut self, argv: &[Arg], part: &mut Part) {
        let files: Vec<Arg> = operands(argv).into_iter().cloned().collect();
        let forced = argv.iter().any(|arg| {
            arg.text == "--force"
                || (arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.contains('f'))
        });
        let symbolic = argv.iter().any(|arg| {
            arg.text == "--symbolic"
                || (arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.contains('s'))
        });
        let mut new_links = Vec::new();
        let (link, targets) = match files.split_last() {
            Some((only, [])) => (None, std::slice::from_ref(only)),
            Some((link, targets)) => (Some(link), targets),
            None => return,
        };
        for target in targets {
            match (symbolic, link.filter(|_| !target.text.starts_with('/'))) {
                // A relative target is read from where the link lies.
                (true, Some(link)) => {
                    let folder = if self.is_dir(link) { link.text.clone() } else { parent(&link.text) };
                    let from_link = Arg { text: format!("{folder}/{}", target.text), ..target.clone() };
                    self.reads(
                        if folder.starts_with('/') || !folder.is_empty() { &from_link } else { target },
                        part,
                    );
                }
                _ => self.reads(target, part),
            }
        }
        if let Some(link) = link {
            let made = if self.is_dir(link) {
                let names = targets.iter().map(|target| target.text.trim_end_matches('/').rsplit('/').next());
                names.flatten().map(|name| format!("{}/{name}", link.text)).collect()
            } else {
                vec![link.text.clone()]
            };
            for text in made {
                if let Place::At(all) = self.place(&Arg { text, ..link.clone() }) {
                    new_links.extend(all.into_iter().map(|located| located.path));
                }
            }
            self.changes(link, if forced { FileEffect::Overwrite } else { FileEffect::Alter }, part);
        } else {
            // Alone, a target is linked under its own name, here.
            for name in
                targets.iter().filter_map(|target| target.text.trim_end_matches('/').rsplit('/').next())
            {
                if let Place::At(all) = self.place(&Arg::literal(name.to_owned())) {
                    new_links.extend(all.into_iter().map(|located| located.path));
                }
            }
        }
        self.linked.extend(new_links);
    }

    /// Files named inside options: `--output=x`, `-o x`, `-C/`, `@file`.
    fn option_files(&mut self, name: &str, argv: &[Arg], part: &mut Part) {
        let strict = READERS.contains(&name) || PATTERN_FIRST.contains(&name);
        for (index, arg) in argv.iter().enumerate().skip(1) {
            let at = |text: &str| Arg { text: text.to_owned(), ..arg.clone() };
            if let Some((option, value)) =
                arg.text.split_once('=').filter(|(option, _)| option.starts_with("--"))
            {
                // GNU takes long options cut short.
                let cut = name == "sort" && option.len() > 3 && "--output".starts_with(option);
                if cut || OUTPUT_OPTIONS.contains(&option) {
                    part.plain = false;
                    self.changes(&at(value), FileEffect::Overwrite, part);
                } else if strict && PATTERN_OPTIONS.contains(&option) {
                } else if strict && (value.starts_with('/') || value.starts_with("..")) {
                    self.reads(&at(value), part);
                } else {
                    self.loose_path(&at(value), false, part);
                }
            } else if OUTPUT_OPTIONS.contains(&arg.text.as_str()) {
                part.plain = false;
                if let Some(value) = argv.get(index + 1) {
                    self.changes(&value.clone(), FileEffect::Overwrite, part);
                }
            } else if arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.len() > 2 && strict
            {
                let value = &arg.text[1..];
                // `-d/` is a separator.
                let separator = value.len() == 2;
                if let Some(slash) = value.find(['/', '~']).filter(|at| *at == 1 && !separator) {
                    self.reads(&at(&value[slash..]), part);
                }
            }
        }
        self.written_by_option(name, argv, part);
    }

    /// `sort -o`, `curl -o`, `gcc -o`: the commands whose short option writes a file.
    fn written_by_option(&mut self, name: &str, argv: &[Arg], part: &mut Part) {
        let letters: &[&str] = match name {
            "sort" | "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "ld" | "as" | "tree" | "iconv"
            | "rustc" | "shuf" | "objdump" | "xsltproc" | "protoc" | "gpg" | "pandoc" | "dot" | "patch" => {
                &["-o"]
            }
            "go" if argv.get(1).is_some_and(|arg| arg.text == "build" || arg.text == "test") => &["-o"],
            "openssl" => &["-out"],
            "ssh-keygen" => &["-f"],
            "unzip" => &["-d"],
            "7z" => &["-o"],
            "curl" => &["-c", "-D"],
            "wget" => &["-o", "-a"],
            "split" => &[],
            _ => return,
        };
        for (index, arg) in argv.iter().enumerate().skip(1) {
            for letter in letters {
                // Letters together: `-uo file`. A word like `-no-pie` of a compiler is none of these.
                let together = matches!(name, "sort" | "shuf")
                    && arg.text.starts_with('-')
                    && !arg.text.starts_with("--")
                    && arg.text.contains('o')
                    && !arg.text.starts_with(letter);
                let value = if together {
                    match arg.text.split_once('o') {
                        Some((_, "")) | None => argv.get(index + 1).cloned(),
                        Some((_, rest)) => Some(Arg { text: rest.to_owned(), ..arg.clone() }),
                    }
                } else if arg.text == *letter {
                    argv.get(index + 1).cloned()
                } else {
                    arg.text
                        .strip_prefix(letter)
                        .filter(|rest| !rest.is_empty())
                        .map(|rest| Arg { text: rest.to_owned(), ..arg.clone() })
                };
                if let Some(value) = value.filter(|value| value.text != "-") {
                    part.plain = false;
                    self.changes(&value, FileEffect::Overwrite, part);
                }
            }
        }
    }

    /// An argument of a command we do not know: a path only when it looks like one that is there.
    pub(crate) fn loose_path(&mut self, arg: &Arg, write: bool, part: &mut Part) {
        // `/here:/there` of a container: only the first is a path of this machine.
        let here = arg.text.split_once(':').filter(|(here, _)| here.starts_with('/'));
        let here = here.map(|(here, _)| Arg { text: here.to_owned(), ..arg.clone() });
        let arg = here.as_ref().unwrap_or(arg);
        let text = arg.text.as_str();
        let climbs =
            text == ".." || text.starts_with("../") || text.contains("/../") || text.ends_with("/..");
        if is_remote(text) || text.contains(' ') || text.contains('\n') {
            return;
        }
        let absolute = text.starts_with('/') && self.first_folder_exists(text);
        if !absolute && !climbs && !self.is_link(arg) {
            if write {
                self.changes(arg, FileEffect::Alter, part);
            }
            return;
        }
        if write {
            self.changes(arg, FileEffect::Alter, part);
            return;
        }
        for path in self.place(arg).paths().into_iter().filter(|path| self.is_outside(path)) {
            let system = ["/usr", "/bin", "/sbin", "/lib", "/opt", "/nix"]
                .iter()
                .any(|folder| path.starts_with(folder));
            if !system || climbs {
                part.add(Concern::Outside { path, write });
            }
        }
    }

    fn is_link(&self, arg: &Arg) -> bool {
        arg.known().is_some()
            && self.folders.0.iter().any(|folder| {
                matches!(self.around.files.entry(&folder.join(&arg.text)), Some(FileEntry::Link(_)))
            })
    }

    /// `/api/v1` is a route, `/etc/x` is a file.
    fn first_folder_exists(&self, text: &str) -> bool {
        let first = text.trim_start_matches('/').split('/').next().unwrap_or("");
        first.is_empty()
            || self.around.files.entry(&PathBuf::from("/").join(first)).is_some()
            || Path::new(text).starts_with(self.around.root)
    }
}

/// Options of commands that read files whose value is a pattern.
const PATTERN_OPTIONS: &[&str] =
    &["--regexp", "--include", "--exclude", "--exclude-dir", "--glob", "--iglob"];

fn parent(text: &str) -> String {
    match text.rfind('/') {
        Some(at) => text[..at.max(1)].to_owned(),
        None => ".".to_owned(),
    }
}

/// `host:path`, `https://…`: not on this disk. A `file:` address is.
fn is_remote(text: &str) -> bool {
    match text.split_once(':') {
        Some(("file", _)) | None => false,
        Some((host, rest)) => rest.starts_with("//") || (!host.contains('/') && !host.is_empty()),
    }
}
