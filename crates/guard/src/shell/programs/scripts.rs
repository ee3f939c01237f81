//! Programs written in another language on the command line, for the interpreters.
//! Their code is not interpreted; only what hands work to a shell or a file is looked for.

use std::path::Path;

use zdx_protocol::ReasonCode;

use crate::pattern::UNKNOWN;
use crate::protected::descriptor;
use crate::shell::Part;
use crate::shell::programs::options::operands;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::feed::Stdin;

const INTERPRETERS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "pypy",
    "pypy3",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "wish",
    "rscript",
    "r",
    "ghc",
    "julia",
    "osascript",
    "guile",
    "racket",
    "sbcl",
    "groovy",
    "scala",
    "ghci",
    "runghc",
    "irb",
    "ipython",
    "iex",
    "elixir",
    "jshell",
    "ts-node",
    "tsx",
    "jrunscript",
    "gjs",
    "expect",
    "raku",
    "ocaml",
];

/// True when the program and its files are dealt with.
pub(crate) fn script_program(walker: &mut Walker<'_>, name: &str, argv: &[Arg], part: &mut Part) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.contains(&name) && !INTERPRETERS.contains(&stem) {
        return false;
    }
    walker.interpreter(argv, part);
    true
}

impl Walker<'_> {
    fn interpreter(&mut self, argv: &[Arg], part: &mut Part) {
        part.plain = false;
        let mut at = 1;
        let mut has_program = false;
        if argv
            .iter()
            .skip(1)
            .take_while(|arg| arg.text.starts_with('-'))
            .any(|arg| edits_in_place(&arg.text))
        {
            for file in operands(argv) {
                self.protected_only(file, part);
            }
        }
        while let Some(arg) = argv.get(at) {
            at += 1;
            let text = arg.text.as_str();
            match text {
                "-c" | "-e" | "-E" | "--eval" | "-p" | "--print" | "-r" | "eval" | "-pe" | "-ne" | "-ple"
                | "-lne" | "-lpe" | "-nle" | "--run" | "--command" | "-i" => {
                    if let Some(code) = argv.get(at).filter(|_| text != "-i") {
                        has_program |= !(text == "-r" || text == "-p") || !code.text.starts_with('-');
                        self.code_argument(code, part);
                    }
                    at += usize::from(text != "-i");
                }
                "-m" => {
                    has_program = true;
                    break;
                }
                "--version" | "-V" | "-v" | "--help" | "-h" => has_program = true,
                "-" => {}
                "-X" | "-W" | "-I" => at += 1,
                _ if text.starts_with("-c") || (text.starts_with("-e") && text.len() > 2) => {
                    has_program = true;
                    self.foreign_code(&text[2..], part);
                }
                // Letters together: `-we`, `-wE`, `-uc`.
                _ if text.starts_with('-') && text.ends_with(['e', 'E', 'c']) && !text.starts_with("--") => {
                    has_program = true;
                    if let Some(code) = argv.get(at) {
                        self.code_argument(code, part);
                    }
                    at += 1;
                }
                _ if ["--eval=", "--print=", "--run="].iter().any(|option| text.starts_with(option)) => {
                    has_program = true;
                    self.foreign_code(text.split_once('=').map_or("", |(_, code)| code), part);
                }
                _ if text.starts_with('-') => {}
                _ => {
                    has_program = true;
                    self.program_file(arg, part);
                    break;
                }
            }
        }
        for file in operands(&argv[at.min(argv.len()).saturating_sub(1)..]) {
            self.loose_path(file, false, part);
        }
        if !has_program {
            self.code_from_input(part);
        }
    }

    fn code_argument(&mut self, code: &Arg, part: &mut Part) {
        if code.text.starts_with(UNKNOWN) {
            part.confirm(ReasonCode::Opaque, "which code it runs is not known before it runs");
        }
        self.foreign_code(&code.text.clone(), part);
        self.each_reading(code, part, |walker, reading, part| walker.foreign_code(&reading.text, part));
    }

    /// The text of a script that `-f` names, where the command line itself holds it.
    pub(crate) fn script_text(&mut self, file: &Arg, part: &mut Part) -> Option<String> {
        if file.text != "-" && descriptor(Path::new(&file.text)) != Some(0) {
            self.reads(file, part);
            part.ask("it runs a script file");
            return None;
        }
        match self.stdin.clone() {
            Stdin::Nothing => None,
            Stdin::Text(program) => Some(program),
            Stdin::Unknown => {
                part.confirm(ReasonCode::Opaque, "it runs whatever it reads");
                None
            }
        }
    }

    fn program_file(&mut self, file: &Arg, part: &mut Part) {
        let path = Path::new(&file.text);
        if descriptor(path) == Some(0) {
            self.code_from_input(part);
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

    fn code_from_input(&mut self, part: &mut Part) {
        match self.stdin.clone() {
            Stdin::Nothing => {}
            Stdin::Text(code) => self.foreign_code(&code, part),
            Stdin::Unknown => part.confirm(ReasonCode::Opaque, "it runs whatever it reads"),
        }
    }

    /// Code in another language: a listed command handed to a shell is still that command.
    fn foreign_code(&mut self, code: &str, part: &mut Part) {
        part.ask("it runs code of another language");
        let lower = code.to_lowercase();
        if lower.contains("fork") && LOOPS.iter().any(|word| lower.contains(word)) {
            part.forbid("it starts itself again and again (a fork bomb)");
        }
        let removes = ["rmtree", "rm_rf", "rmsync", "remove_tree", "removeall", "rimraf"];
        if removes.iter().any(|word| lower.contains(word))
            && strings_of(code).into_iter().any(|text| self.is_ancestor(&Arg::literal(text)))
        {
            part.forbid("it removes the home folder, the machine's files or a folder around the workspace");
        }
        let texts = strings_of(code);
        // perl opens a program like a file.
        let opens = lower.contains("open")
            && texts.iter().any(|text| text.starts_with(['|', '-']) && text.contains('|'));
        if !opens && !SHELLS_OUT.iter().any(|word| lower.contains(word)) {
            return;
        }
        for text in texts {
            self.only_listed(text.trim_start_matches(['|', ' ']), part);
        }
        // Tcl and its kin need no quotes.
        for word in ["exec ", "spawn ", "system "] {
            for (at, _) in code.match_indices(word).take(MAX_TEXTS) {
                let rest = code[at + word.len()..].split([';', '\n', ']', '}']).next().unwrap_or("");
                self.only_listed(beginning(rest.trim_start_matches("-- ")), part);
            }
        }
    }
}

/// Words with which code hands work to a shell or another program.
const SHELLS_OUT: &[&str] = &[
    "system",
    "exec",
    "popen",
    "spawn",
    "subprocess",
    "child_process",
    "qx",
    "%x",
    "`",
    "shell",
    "os.",
    "run(",
    "getoutput",
    "passthru",
    "proc_open",
    "deno.command",
    "callcommand",
    "readprocess",
];

/// So many texts out of one piece of code are looked at.
const MAX_TEXTS: usize = 64;

/// Enough of a text to see which command it begins with: each of many beginnings is read.
pub(crate) fn beginning(text: &str) -> &str {
    const MOST: usize = 256;
    text.char_indices().nth(MOST).map_or(text, |(end, _)| &text[..end])
}

/// Words that repeat something without an end in sight.
const LOOPS: &[&str] = &["while", "loop", "for(;;)", "for (;;)", "until", "iter(int"];

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
    // `qx(rm x)`, `qw(rm x)` and `%x{rm x}` quote with brackets.
    for mark in ["qx", "qw", "%x", "%w"] {
        for (at, _) in code.match_indices(mark) {
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
    out.truncate(MAX_TEXTS);
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
