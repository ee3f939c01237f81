//! Programs written in another language on the command line: sed, awk, and the interpreters.
//! Their code is not interpreted; only what hands work to a shell or a file is looked for.

use std::path::Path;

use super::Part;
use super::awk;
use super::feed::Stdin;
use super::files::Change;
use super::options::operands;
use super::walk::Walker;
use super::word::Arg;
use crate::policy::protected::descriptor;

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
    "Rscript",
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
pub fn script_program(walker: &mut Walker<'_>, name: &str, argv: &[Arg], part: &mut Part) -> bool {
    match name {
        "sed" | "gsed" => walker.sed(argv, part),
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => walker.awk(argv, part),
        _ => {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            if !INTERPRETERS.contains(&name) && !INTERPRETERS.contains(&stem) {
                return false;
            }
            walker.interpreter(argv, part);
        }
    }
    true
}

impl Walker<'_> {
    fn awk(&mut self, argv: &[Arg], part: &mut Part) {
        let from_file = argv.iter().any(|arg| arg.text.starts_with("-f") || arg.text.starts_with("--file"));
        let mut programs = Vec::new();
        let mut files = Vec::new();
        let mut at = 1;
        while let Some(arg) = argv.get(at) {
            at += 1;
            match arg.text.as_str() {
                "-F" | "-v" | "-i" | "-l" | "--assign" | "--field-separator" => at += 1,
                "-f" | "--file" => {
                    if let Some(file) = argv.get(at) {
                        self.reads(file, part);
                    }
                    part.ask("workspace_file", "it runs a script file");
                    at += 1;
                }
                "-e" | "--source" => {
                    programs.extend(argv.get(at).cloned());
                    at += 1;
                }
                text if text.starts_with('-') && text.len() > 1 => {}
                _ if programs.is_empty() && !from_file => programs.push(arg.clone()),
                text if text.contains('=') && !text.contains('/') => {}
                _ => files.push(arg.clone()),
            }
        }
        for program in &programs {
            self.awk_program(&program.text, part);
        }
        for file in &files {
            self.reads(file, part);
        }
    }

    fn awk_program(&mut self, code: &str, part: &mut Part) {
        let bare = awk::code(code).unwrap_or_else(|| code.to_owned());
        if awk::runs_commands(&bare) {
            part.confirm("helper", "the awk program runs other commands");
        }
        // `> "file"` after print opens a file; a comparison has no string behind it.
        for (index, _) in code.match_indices('>') {
            let after = code[index + 1..].trim_start_matches('>').trim_start();
            if let Some(rest) = after.strip_prefix('"') {
                let file = rest.split('"').next().unwrap_or(rest).to_owned();
                if bare.contains("print") {
                    part.plain = false;
                    self.changes(&Arg::literal(file), Change::Overwrite, part);
                }
            }
        }
        if bare.contains("print")
            && bare.split("print").skip(1).any(|rest| {
                rest.split([';', '}', '\n']).next().unwrap_or("").contains('>') && !rest.contains('(')
            })
        {
            part.ask("changes", "the awk program may write files");
        }
    }

    fn interpreter(&mut self, argv: &[Arg], part: &mut Part) {
        part.plain = false;
        let mut at = 1;
        let mut has_program = false;
        while let Some(arg) = argv.get(at) {
            at += 1;
            let text = arg.text.as_str();
            match text {
                "-c" | "-e" | "-E" | "--eval" | "-p" | "--print" | "-r" | "eval" | "-pe" | "-ne" | "-ple"
                | "-lne" | "-lpe" | "-nle" | "-i" => {
                    if let Some(code) = argv.get(at).filter(|_| text != "-i") {
                        has_program |= !(text == "-r" || text == "-p") || !code.text.starts_with('-');
                        self.foreign_code(&code.text.clone(), part);
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
                _ if text.starts_with('-') && text[1..].ends_with('e') && !text.starts_with("--") => {
                    has_program = true;
                    if let Some(code) = argv.get(at) {
                        self.foreign_code(&code.text.clone(), part);
                    }
                    at += 1;
                }
                _ if text.starts_with("--eval=") => {
                    has_program = true;
                    self.foreign_code(&text[7..], part);
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

    fn program_file(&mut self, file: &Arg, part: &mut Part) {
        let path = Path::new(&file.text);
        if descriptor(path) == Some(0) {
            self.code_from_input(part);
        } else if path.starts_with("/dev") || path.starts_with("/proc") {
            part.confirm("opaque", "it runs whatever it reads");
            self.reads(file, part);
        } else {
            part.ask("workspace_file", "it runs a file of the workspace");
            self.reads(file, part);
        }
    }

    fn code_from_input(&mut self, part: &mut Part) {
        match self.stdin.clone() {
            Stdin::Nothing => {}
            Stdin::Text(code) => self.foreign_code(&code, part),
            Stdin::Unknown => part.confirm("opaque", "it runs whatever it reads"),
        }
    }

    /// Code in another language: a listed command handed to a shell is still that command.
    fn foreign_code(&mut self, code: &str, part: &mut Part) {
        part.ask("opaque", "it runs code of another language");
        let shells_out = [
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
        ];
        if !shells_out.iter().any(|word| code.contains(word)) {
            return;
        }
        for text in strings_of(code) {
            self.only_listed(&text, part);
        }
    }
}

/// Every quoted text in a piece of code, and lists of words joined: `['rm', 'x']` is `rm x`.
fn strings_of(code: &str) -> Vec<String> {
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
    // `qx(rm x)` and `%x{rm x}` quote with brackets.
    for mark in ["qx", "%x"] {
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
    out.truncate(64);
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
