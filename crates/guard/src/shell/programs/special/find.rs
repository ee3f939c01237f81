//! find and fd: where they look, what they run for each file, what they write.

use zdx_protocol::ReasonCode;

use crate::pattern::among;
use crate::shell::programs::effects::{Effect, Effects, Inner};
use crate::shell::programs::options::{Call, may_be_option};
use crate::shell::programs::special::runners::basename;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::files::FileEffect;

/// Tests with a value that names no file, and those whose value is one.
const VALUES: &str = "-name -iname -path -ipath -regex -iregex -type -xtype -maxdepth -mindepth -size -mtime -mmin -user \
    -group -perm -printf -wholename -iwholename -lname -ilname -atime -amin -ctime -cmin -uid -gid -inum \
    -links -fstype -used -regextype -context";
const FILES: &str = "-newer -samefile -anewer -cnewer -files0-from";
const FLAGS: &str = "-print -print0 -ls -prune -quit -empty -readable -writable -executable -true -false -depth -d -xdev \
    -mount -noleaf -nouser -nogroup -and -a -or -o -not -H -P -daystart -warn -nowarn \
    -ignore_readdir_race -noignore_readdir_race ( ) ! ,";

const MAY_ACT: &str = "an argument of find may tell it to delete or to run something";

pub(crate) fn find(call: &Call<'_>, out: &mut Effects) {
    let argv = call.argv;
    let mut at = 1;
    let mut in_paths = true;
    let mut deletes = false;
    let mut roots = Vec::new();
    // Which names it would find, for whatever is done to them.
    let like = pattern(argv);
    while let Some(arg) = argv.get(at) {
        at += 1;
        let text = arg.text.as_str();
        match text {
            "-delete" => {
                deletes = true;
                out.confirm(ReasonCode::Destructive, "find deletes what it finds");
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let ends = |arg: &Arg| arg.text == ";" || arg.text == "+";
                let end = argv[at..].iter().position(ends).map_or(argv.len(), |n| at + n);
                let mut inner = argv[at..end].to_vec();
                found_names(&mut inner, like);
                deletes |= inner.first().is_some_and(|arg| basename(&arg.text) == "rm");
                out.push(Effect::Unproven);
                let how = if text.ends_with("dir") { Inner::Elsewhere } else { Inner::Changed };
                out.push(Effect::Runs(inner, how));
                at = end + 1;
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                out.0.extend(argv.get(at).map(|_| Effect::NotPlain));
                out.0.extend(argv.get(at).map(|file| Effect::Changes(file.clone(), FileEffect::Overwrite)));
                at += 1 + usize::from(text == "-fprintf");
            }
            "-L" | "-follow" => {
                out.push(Effect::Unproven);
                out.ask("it follows links, wherever they lead");
            }
            _ if among(VALUES, text) => {
                // Without quotes it may become several words, and each of these an action.
                if let Some(value) = argv.get(at).filter(|value| value.glob || value.splits) {
                    out.push(Effect::Unproven);
                    if may_be_option(value) {
                        out.confirm(ReasonCode::Opaque, MAY_ACT);
                    }
                }
                at += 1;
            }
            _ if among(FILES, text) || text.starts_with("-newer") => {
                out.0.extend(argv.get(at).cloned().map(Effect::Reads));
                out.0.extend((text == "-files0-from").then_some(Effect::Unproven));
                at += 1;
            }
            _ if text.starts_with(['-', '(', '!', ')', ',']) && text != "-" => {
                in_paths = in_paths && matches!(text, "-H" | "-P");
                if !among(FLAGS, text) {
                    out.push(Effect::Unproven);
                }
            }
            _ => {
                if may_be_option(arg) || (arg.has_unknown() && arg.splits && arg.dash) {
                    out.confirm(ReasonCode::Opaque, MAY_ACT);
                }
                if in_paths {
                    roots.push(arg.clone());
                    out.reads(arg);
                }
            }
        }
    }
    if deletes {
        out.0.extend(roots.into_iter().map(Effect::Empties));
    }
}

/// The folders it looks through: all words up to the first of its expression.
pub(crate) fn roots(argv: &[Arg]) -> &[Arg] {
    let from = argv.iter().skip(1).take_while(|arg| matches!(arg.text.as_str(), "-H" | "-P")).count() + 1;
    let behind = argv.get(from..).unwrap_or_default();
    let ends = |arg: &Arg| arg.text.starts_with(['-', '(', '!']);
    &behind[..behind.iter().position(ends).unwrap_or(behind.len())]
}

/// The pattern that everything it finds fits.
pub(crate) fn pattern(argv: &[Arg]) -> Option<&str> {
    let other = |arg: &Arg| matches!(arg.text.as_str(), "!" | "-not" | "-o" | "-or" | ",");
    let mut named = argv.windows(2).filter(|two| matches!(two[0].text.as_str(), "-name" | "-iname"));
    let only = named.next().filter(|_| named.next().is_none() && !argv.iter().any(other))?;
    (!only[1].has_unknown()).then_some(only[1].text.as_str())
}

/// Does it print the names that it finds, whole, and nothing else?
pub(crate) fn prints_names(argv: &[Arg]) -> bool {
    let other = |text: &str| {
        ["-printf", "-ls", "-exec", "-ok", "-L", "-follow", "-files0"]
            .iter()
            .any(|word| text.starts_with(word))
    };
    !argv.iter().skip(1).any(|arg| other(&arg.text))
}

/// Puts what is found in place of `{}`: any name, or one that fits a pattern.
fn found_names(inner: &mut [Arg], pattern: Option<&str>) {
    for arg in inner.iter_mut().filter(|arg| arg.text.contains("{}")) {
        if let Some(pattern) = pattern.filter(|_| arg.text == "{}") {
            arg.text = pattern.to_owned();
            arg.glob = true;
        } else {
            arg.text = arg.text.replace("{}", "\0");
        }
        arg.found = true;
        arg.dash = false;
    }
}

pub(crate) fn fd(call: &Call<'_>, out: &mut Effects) {
    let exec = ["exec", "exec-batch"];
    let at = call.argv.iter().position(|arg| {
        let letters = arg.text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        exec.iter().any(|name| arg.text.strip_prefix("--").is_some_and(|text| text.starts_with(name)))
            || letters.is_some_and(|letters| letters.contains(['x', 'X']))
    });
    if exec.iter().any(|name| call.has(name)) {
        let attached = at.is_some_and(|at| {
            call.argv[at].text.contains('=') || !call.argv[at].text.ends_with(['x', 'X', 'c', 'h'])
        });
        if attached {
            out.confirm(ReasonCode::Opaque, "it runs a command for every file it finds");
        }
        let mut inner = call.argv.get(at.map_or(call.argv.len(), |at| at + 1)..).unwrap_or_default().to_vec();
        found_names(&mut inner, None);
        inner.push(Arg { dash: false, found: true, ..Arg::unknown() });
        out.push(Effect::Unproven);
        out.push(Effect::Runs(inner, Inner::Changed));
    }
    for path in
        call.operands.iter().skip(1).take_while(|arg| at.is_none_or(|at| call.argv[..at].contains(arg)))
    {
        out.reads(path);
    }
}
