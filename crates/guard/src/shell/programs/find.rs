//! find and fd: where they look, what they run for each file, what they write.

use zdx_protocol::ReasonCode;

use crate::shell::Part;
use crate::shell::programs::commands::basename;
use crate::shell::programs::options::operands;
use crate::shell::programs::wrappers::fill;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::files::FileEffect;

impl Walker<'_> {
    pub(crate) fn find(&mut self, argv: &[Arg], part: &mut Part) {
        let mut at = 1;
        let mut in_paths = true;
        let (mut deletes, mut everything) = (false, false);
        while let Some(arg) = argv.get(at) {
            at += 1;
            let text = arg.text.clone();
            match text.as_str() {
                "-delete" => {
                    deletes = true;
                    part.confirm(ReasonCode::Destructive, "find deletes what it finds");
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let end = argv[at..]
                        .iter()
                        .position(|arg| arg.text == ";" || arg.text == "+")
                        .map_or(argv.len(), |n| at + n);
                    let mut inner = argv[at..end].to_vec();
                    fill(&mut inner, "{}");
                    deletes |= inner.first().is_some_and(|arg| basename(&arg.text) == "rm");
                    if text.ends_with("dir") {
                        self.elsewhere(&inner, part)
                    } else {
                        self.inner(&inner, part, false)
                    }
                    at = end + 1;
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    if let Some(file) = argv.get(at).cloned() {
                        part.plain = false;
                        self.changes(&file, FileEffect::Overwrite, part);
                    }
                    at += 1 + usize::from(text == "-fprintf");
                }
                "-name" | "-iname" | "-path" | "-ipath" | "-regex" | "-iregex" | "-type" | "-maxdepth"
                | "-mindepth" | "-size" | "-mtime" | "-mmin" | "-user" | "-group" | "-perm" | "-printf"
                | "-wholename" | "-lname" | "-atime" | "-ctime" => at += 1,
                "-newer" | "-samefile" | "-anewer" | "-cnewer" | "-files0-from" => {
                    if let Some(file) = argv.get(at).cloned() {
                        self.reads(&file, part);
                    }
                    at += 1;
                }
                _ if text.starts_with(['-', '(', '!', ')', ',']) && text != "-" => {
                    in_paths = in_paths && matches!(text.as_str(), "-L" | "-H" | "-P")
                }
                _ => {
                    if arg.has_unknown() && (!in_paths || arg.splits) && self.may_hold_action(part) {
                        part.confirm(
                            ReasonCode::Opaque,
                            "an argument of find may tell it to delete or to run something",
                        );
                    }
                    if in_paths {
                        everything |= self.is_ancestor(arg);
                        self.reads(arg, part);
                    }
                }
            }
        }
        if deletes && everything {
            part.forbid("it removes the home folder, the machine's files or a folder around the workspace");
        }
    }

    /// An unknown word of `find` matters when the script itself holds an action to put there, or input does.
    fn may_hold_action(&self, part: &Part) -> bool {
        !self.facts.assigned.is_empty()
            || part.text.trim_start().starts_with("xargs")
            || part.text.contains("$(")
            || part.text.contains('`')
    }

    pub(crate) fn fd(&mut self, argv: &[Arg], part: &mut Part) {
        // Flags may stand before the letter: `-Hx rm`.
        let bundled = |text: &str| {
            text.strip_prefix('-').is_some_and(|letters| {
                letters.ends_with(['x', 'X']) && letters.chars().all(|c| "HIusiFaLplgqh01xX".contains(c))
            })
        };
        let exec = argv
            .iter()
            .position(|arg| matches!(arg.text.as_str(), "--exec" | "--exec-batch") || bundled(&arg.text));
        let attached = argv.iter().find(|arg| {
            arg.text.starts_with("--exec=")
                || arg.text.starts_with("--exec-batch=")
                || (arg.text.len() > 2 && (arg.text.starts_with("-x") || arg.text.starts_with("-X")))
        });
        if attached.is_some() {
            part.confirm(ReasonCode::Opaque, "it runs a command for every file it finds");
        }
        if let Some(at) = exec {
            let mut inner = argv[at + 1..].to_vec();
            fill(&mut inner, "{}");
            inner.push(Arg::unknown());
            self.inner(&inner, part, false);
        }
        let own = &argv[..exec.unwrap_or(argv.len())];
        for (index, arg) in own.iter().enumerate() {
            match arg.text.split_once('=') {
                Some(("--base-directory" | "--search-path", folder)) => {
                    self.reads(&Arg { text: folder.to_owned(), ..arg.clone() }, part);
                }
                None if matches!(arg.text.as_str(), "--base-directory" | "--search-path" | "-C") => {
                    if let Some(folder) = own.get(index + 1) {
                        self.reads(folder, part);
                    }
                }
                _ => {}
            }
        }
        for path in operands(own).into_iter().skip(1) {
            self.reads(path, part);
        }
    }
}
