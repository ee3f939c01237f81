//! Code of other languages on a command line: interpreters, editors, databases. It is not followed: what it does is
//! the kernel's to hold. Only what hands a listed command to a shell in plain sight is looked for.

use zdx_protocol::ReasonCode;

use crate::limits::MAX_TEXTS;
use crate::pattern::{UNKNOWN, among};
use crate::shell::programs::effects::{Effect, Effects, Input};
use crate::shell::programs::options::{Call, operands};
use crate::shell::programs::special::runners::basename;
use crate::shell::programs::table;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::files::FileEffect;

/// Options whose next word is code, for one interpreter or another.
const CODE: &str = "-c -e -E --eval -p --print -r eval -pe -ne -ple -lne -lpe -nle --run --command";

pub(crate) fn interpreter(call: &Call<'_>, out: &mut Effects) {
    let argv = call.argv;
    out.push(Effect::NotPlain);
    let options = argv.iter().skip(1).take_while(|arg| arg.text.starts_with('-'));
    if options.into_iter().any(|arg| edits_in_place(&arg.text)) {
        out.0.extend(operands(argv).into_iter().cloned().map(Effect::Protects));
    }
    let mut has_program = false;
    let mut at = 1;
    while let Some(arg) = argv.get(at) {
        at += 1;
        let text = arg.text.as_str();
        let attached = |value: &str| Arg { text: value.to_owned(), ..arg.clone() };
        match text {
            _ if among(CODE, text) => {
                if let Some(code) = argv.get(at) {
                    has_program |= !(text == "-r" || text == "-p") || !code.text.starts_with('-');
                    out.push(Effect::Code(code.clone()));
                }
                at += 1;
            }
            "-m" => {
                has_program = true;
                break;
            }
            "--version" | "-V" | "-v" | "--help" | "-h" => has_program = true,
            "-" | "-i" => {}
            "-X" | "-W" | "-I" => at += 1,
            _ if text.starts_with("-c") || (text.starts_with("-e") && text.len() > 2) => {
                has_program = true;
                out.push(Effect::Code(attached(&text[2..])));
            }
            // Letters together: `-we`, `-wE`, `-uc`.
            _ if text.starts_with('-') && text.ends_with(['e', 'E', 'c']) && !text.starts_with("--") => {
                has_program = true;
                out.0.extend(argv.get(at).cloned().map(Effect::Code));
                at += 1;
            }
            _ if ["--eval=", "--print=", "--run="].iter().any(|option| text.starts_with(option)) => {
                has_program = true;
                out.push(Effect::Code(attached(text.split_once('=').map_or("", |(_, code)| code))));
            }
            _ if text.starts_with('-') => {}
            _ => {
                has_program = true;
                out.push(Effect::CodeFile(arg.clone()));
                break;
            }
        }
    }
    operands(&argv[at.min(argv.len()).saturating_sub(1)..]).iter().for_each(|file| out.loose(file));
    if !has_program {
        out.push(Effect::Input(Input::Code));
    }
}

/// Words by which an editor's command does more than move in a text.
const EDITOR_RUNS: &str =
    "!|system(|te |term|exe|py|lua|perl|ruby|so |source|shell|call-process|async|writefile|saveas";

pub(crate) fn editor(call: &Call<'_>, out: &mut Effects) {
    for (index, arg) in call.argv.iter().enumerate().skip(1) {
        let text = arg.text.as_str();
        let next = || call.argv.get(index + 1).map(|next| next.text.clone());
        let loads = matches!(text, "-S" | "-s" | "-u" | "-l" | "--load" | "--script");
        // Every key that is pressed is kept.
        if matches!(text, "-w" | "-W") {
            out.0.extend(
                call.argv.get(index + 1).cloned().map(|file| Effect::Changes(file, FileEffect::Overwrite)),
            );
        }
        let command = match text {
            "-c" | "--cmd" | "--eval" | "-eval" | "-f" | "-W" | "-w" => next(),
            _ if loads => next(),
            _ if text.starts_with('+') => Some(text[1..].to_owned()),
            _ if text.starts_with("--eval=") || text.starts_with("-c") => Some(text.to_owned()),
            // `-sc`, `-ec`: letters together.
            _ if text.starts_with('-') && text.len() == 3 && text.ends_with('c') => next(),
            "-e" if matches!(call.name, "kak" | "emacsclient") => next(),
            _ => None,
        };
        let Some(command) = command else { continue };
        if loads || command.contains(UNKNOWN) || EDITOR_RUNS.split('|').any(|word| command.contains(word)) {
            out.helper("the editor is told to run something");
            let inner = command.split_once('!').map_or(command.as_str(), |(_, inner)| inner);
            out.push(Effect::Perhaps(inner.to_owned()));
        }
    }
    // It may save what it opens.
    for file in operands(call.argv).iter().filter(|file| !file.text.starts_with('+')) {
        out.reads(file);
        out.changes(file, FileEffect::Alter);
    }
    out.push(Effect::Input(Input::Orders));
}

pub(crate) fn database(call: &Call<'_>, out: &mut Effects) {
    for arg in call.argv.iter().skip(1) {
        orders(&arg.text, out);
        if !arg.text.starts_with('-') && !arg.text.contains(' ') {
            out.reads(arg);
        }
    }
    out.push(Effect::Input(Input::Database));
}

/// Lines for the shell of a database, which knows ways out to ours: `.shell rm x`, `\\! rm x`, `system rm x`.
pub(crate) fn orders(text: &str, out: &mut Effects) {
    const HARMLESS: &str = ".databases .echo .exit .explain .fullschema .headers .header .help .indexes .indices .mode \
        .nullvalue .print .quit .schema .separator .show .stats .tables .timeout .timer .width .dump .bail \
        .changes";
    const ORDERS: &str = "source tee pager";
    const FINAL: &str = "drop truncate";
    const FUNCTIONS: &str =
        "load_extension|writefile|edit(|into outfile|into dumpfile|program '|pg_read_file";
    for line in text.split(['\n', ';']).map(str::trim) {
        let command = [".shell ", ".system ", "\\!", "system "].iter().find_map(|way| line.strip_prefix(way));
        let first = line.split_whitespace().next().unwrap_or("");
        let dot =
            first.len() > 1 && first.starts_with('.') && first[1..].chars().all(|c| c.is_ascii_alphabetic());
        let escapes = first.starts_with('\\')
            && matches!(first.get(1..2), Some("!" | "o" | "w" | "g" | "i" | "c" | "." | "T" | "P"));
        if let Some(command) = command {
            out.helper("it runs a command out of the database's shell");
            out.push(Effect::Perhaps(command.to_owned()));
        } else if (dot && !among(HARMLESS, first)) || escapes || among(ORDERS, first) {
            out.helper(format!("{first} of the database's shell writes files, or runs something"));
        } else if among(FINAL, &first.to_lowercase()) && line.contains(' ') {
            out.confirm(ReasonCode::Destructive, "it deletes what the database keeps, for good");
        }
    }
    let lower = text.to_lowercase();
    if FUNCTIONS.split('|').any(|word| lower.contains(word))
        || (lower.contains("vacuum") && lower.contains("into"))
    {
        out.helper("its text loads code, or writes files");
    }
}

/// The effects of code of another language, as far as it hands commands to a shell in plain sight.
pub(crate) fn code(code: &str) -> Effects {
    let mut out = Effects::default();
    out.ask("it runs code given on the command line");
    let lower = code.to_lowercase();
    if lower.contains("fork") && LOOPS.split('|').any(|word| lower.contains(word)) {
        out.push(Effect::Forbid("it starts itself again and again (a fork bomb)".to_owned()));
    }
    let texts = strings_of(code);
    let removes = ["rmtree", "rm_rf", "rmsync", "remove_tree", "removeall", "rimraf"];
    if removes.iter().any(|word| lower.contains(word)) {
        out.0.extend(texts.iter().map(|text| Effect::Empties(Arg::literal(text.as_str()))));
    }
    // perl opens a program like a file.
    let opens =
        lower.contains("open") && texts.iter().any(|text| text.starts_with(['|', '-']) && text.contains('|'));
    if !opens && !SHELLS_OUT.split('|').any(|word| lower.contains(word)) {
        return out;
    }
    if BARE.iter().chain(&BRACKETED).any(|word| code.matches(word).count() > MAX_TEXTS) {
        out.confirm(ReasonCode::TooLarge, "its code runs more commands than can be judged");
    }
    let texts = texts.iter().map(|text| text.trim_start_matches(['|', ' '])).filter(|text| may_run(text));
    out.0.extend(texts.map(|text| Effect::Listed(text.to_owned())));
    for word in BARE {
        for (at, _) in code.match_indices(word).take(MAX_TEXTS) {
            let rest = code[at + word.len()..].split([';', '\n', ']', '}']).next().unwrap_or("");
            out.push(Effect::Listed(beginning(rest.trim_start_matches("-- ")).to_owned()));
        }
    }
    out
}

/// Words that begin a command in Tcl and its kin, which need no quotes.
const BARE: [&str; 3] = ["exec ", "spawn ", "system "];
/// Marks that quote with brackets: `qx(rm x)`, `qw(rm x)` and `%x{rm x}`.
const BRACKETED: [&str; 4] = ["qx", "qw", "%x", "%w"];

/// Whether a text could be a command worth reading: code is full of texts that are none.
fn may_run(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || " _-./:,".contains(c);
    !text.chars().all(plain)
        || text.split(' ').any(|word| table::row(&basename(word).to_lowercase()).is_some())
}

/// Words with which code hands work to a shell or another program.
const SHELLS_OUT: &str = "system|exec|popen|spawn|subprocess|child_process|qx|%x|`|shell|os.|run(|getoutput|passthru|\
    proc_open|deno.command|callcommand|readprocess";

/// Enough of a text to see which command it begins with: each of many beginnings is read.
pub(crate) fn beginning(text: &str) -> &str {
    const MOST: usize = 256;
    text.char_indices().nth(MOST).map_or(text, |(end, _)| &text[..end])
}

/// Words that repeat something without an end in sight.
const LOOPS: &str = "while|loop|for(;;)|for (;;)|until|iter(int";

/// Options that are the interpreter's own and that no row knows: what gives it code says so itself, and behind a script they
/// are the script's.
pub(crate) fn unknown_options(call: &Call<'_>) -> Vec<Arg> {
    let own = call.argv.iter().skip(1).take_while(|arg| arg.text.starts_with('-'));
    let is_code =
        |text: &str| among(CODE, text) || text == "-m" || text.starts_with("-c") || text.starts_with("-e");
    own.filter(|arg| call.unknown.contains(arg) && !is_code(&arg.text)).cloned().collect()
}

/// `-i`, `-i.bak`, `-pi`: the files are changed.
fn edits_in_place(option: &str) -> bool {
    option.split('.').next().is_some_and(|letters| {
        letters.ends_with('i') || letters.strip_prefix("-p").is_some_and(|rest| rest.starts_with('i'))
    }) && !option.starts_with("--")
}

/// Every quoted text in a piece of code, and lists of words joined: `['rm', 'x']` is `rm x`.
pub(crate) fn strings_of(code: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut words = Vec::new();
    let mut chars = code.chars().peekable();
    while let Some(c) = chars.next() {
        if !matches!(c, '"' | '\'' | '`') {
            if c == ']' || c == ')' {
                if words.len() > 1 {
                    out.push(words.join(" "));
                }
                words.clear();
            }
            continue;
        }
        let mut text = String::new();
        while let Some(next) = chars.next() {
            match next {
                '\\' => text.extend(chars.next()),
                _ if next == c => break,
                _ => text.push(next),
            }
        }
        words.push(text.clone());
        out.push(text);
    }
    for mark in BRACKETED {
        for (at, _) in code.match_indices(mark).take(MAX_TEXTS) {
            let rest = &code[at + mark.len()..];
            let inner: String = rest
                .trim_start()
                .chars()
                .skip(1)
                .take_while(|c| !matches!(c, ')' | '}' | ']' | '/' | '|' | '!'))
                .collect();
            out.push(inner);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_in_code_are_found() {
        assert_eq!(strings_of("os.system(\"rm x\")"), ["rm x"]);
        assert!(strings_of("run(['rm', '-rf', 'x'])").contains(&"rm -rf x".to_owned()));
    }
}
