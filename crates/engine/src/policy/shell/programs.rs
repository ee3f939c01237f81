//! Programs that run others, or write files, through their options: find, tar, ssh, editors, containers.

use super::Part;
use super::feed::Stdin;
use super::files::Change;
use super::options::operands;
use super::runners::is_runner;
use super::walk::Walker;
use super::word::Arg;
use super::{git, scripts};

/// True when the program and its files are dealt with.
pub fn program(walker: &mut Walker<'_>, name: &str, argv: &[Arg], part: &mut Part) -> bool {
    match name {
        "find" | "gfind" => walker.find(argv, part),
        "fd" | "fdfind" => walker.fd(argv, part),
        "git" => git::git(walker, argv, part),
        "ssh" | "mosh" | "autossh" | "rsh" => walker.ssh(argv, part),
        "tar" | "gtar" | "bsdtar" => walker.tar(argv, part),
        "curl" | "wget" => {
            walker.download(argv, part);
            walker.files_of(name, argv, part);
        }
        "vim" | "vi" | "nvim" | "ex" | "view" | "gvim" | "vimdiff" | "rvim" | "emacs" | "ed" => {
            walker.editor(argv, part);
            walker.files_of(name, argv, part);
        }
        "kill" => walker.kill(argv, part),
        "crontab" => walker.crontab(argv, part),
        "sysctl"
            if argv.iter().any(|arg| {
                matches!(arg.text.as_str(), "-w" | "--write" | "-p") || arg.text.contains('=')
            }) =>
        {
            part.confirm("destructive", "it changes the running system");
        }
        "make" | "gmake" => {
            walker.make(argv, part);
        }
        _ if scripts::script_program(walker, name, argv, part) => {}
        _ => {
            walker.helper_options(name, argv, part);
            if is_runner(name) {
                walker.loose_runner(name, argv, part);
            }
            return false;
        }
    }
    true
}

impl Walker<'_> {
    fn tar(&mut self, argv: &[Arg], part: &mut Part) {
        let mut letters = String::new();
        for (index, arg) in argv.iter().enumerate().skip(1) {
            let text = arg.text.as_str();
            if text.starts_with("--") {
                let (option, value) = text.split_once('=').unwrap_or((text, ""));
                let runs = matches!(
                    option,
                    "--to-command"
                        | "--info-script"
                        | "--new-volume-script"
                        | "--rmt-command"
                        | "--rsh-command"
                ) || (option == "--checkpoint-action"
                    && (value.contains("exec") || value.is_empty()))
                    || (option == "--use-compress-program" && value.contains(['/', ' ', '\0']));
                if runs {
                    part.confirm("helper", format!("{option} runs a program"));
                }
                match option {
                    "--create" => letters.push('c'),
                    "--extract" | "--get" => letters.push('x'),
                    "--remove-files" => part.confirm("destructive", "it removes the files it packs"),
                    _ => {}
                }
            } else if index == 1 || text.starts_with('-') {
                letters.push_str(text.trim_start_matches('-'));
                let program = argv.get(index + 1).filter(|_| text.ends_with('I') || text.ends_with('F'));
                if program.is_some_and(|program| program.text.contains(['/', ' ', '\0'])) {
                    part.confirm("helper", "it runs a program of its options' choice");
                }
            }
        }
        if letters.contains('P') || argv.iter().any(|arg| arg.text == "--absolute-names") {
            part.confirm("destructive", "it may write anywhere");
        }
        let archive = argv
            .iter()
            .position(|arg| {
                arg.text.starts_with("--file") || (!arg.text.starts_with("--") && arg.text.ends_with('f'))
            })
            .and_then(|at| {
                argv[at]
                    .text
                    .split_once('=')
                    .map(|(_, value)| Arg { text: value.to_owned(), ..argv[at].clone() })
                    .or_else(|| argv.get(at + 1).cloned())
            });
        if let Some(archive) = archive.filter(|_| letters.contains('c')) {
            part.plain = false;
            self.changes(&archive, Change::Overwrite, part);
        }
        for file in operands(argv)
            .into_iter()
            .skip(usize::from(!argv.get(1).is_some_and(|arg| arg.text.starts_with('-'))))
        {
            self.reads(file, part);
        }
        if letters.contains('x') {
            part.ask("changes", "it writes the files of the archive");
        }
    }

    fn editor(&mut self, argv: &[Arg], part: &mut Part) {
        let escapes = |text: &str| {
            [
                "!",
                "system(",
                "term",
                "exe",
                "py",
                "lua",
                "perl",
                "ruby",
                "so ",
                "source",
                "shell",
                "call-process",
                "async",
            ]
            .iter()
            .any(|word| text.contains(word))
        };
        for (index, arg) in argv.iter().enumerate().skip(1) {
            let command = match arg.text.as_str() {
                "-c" | "--cmd" | "--eval" | "-eval" | "-S" | "-s" | "-u" | "-l" | "--load" | "-f"
                | "--script" | "-W" | "-w" => argv.get(index + 1).map(|next| next.text.clone()),
                text if text.starts_with('+') => Some(text[1..].to_owned()),
                text if text.starts_with("--eval=") || text.starts_with("-c") => Some(text.to_owned()),
                _ => None,
            };
            match command {
                Some(text)
                    if text.contains('\0')
                        || escapes(&text)
                        || matches!(arg.text.as_str(), "-S" | "-s" | "-u" | "-l" | "--load") =>
                {
                    part.confirm("helper", "the editor is told to run something");
                }
                _ => {}
            }
        }
        if !matches!(self.stdin, Stdin::Nothing) {
            part.confirm("opaque", "the editor takes its orders from what it reads");
        }
    }

    fn kill(&mut self, argv: &[Arg], part: &mut Part) {
        let everything = argv.iter().skip(2).any(|arg| matches!(arg.text.as_str(), "-1" | "0" | "1"))
            || argv.iter().any(|arg| arg.text == "1");
        if everything {
            part.confirm("destructive", "it signals every process, or the one that runs the machine");
        }
    }

    fn crontab(&mut self, argv: &[Arg], part: &mut Part) {
        let only_lists = argv.len() > 1 && argv.iter().skip(1).all(|arg| arg.text == "-l");
        if !only_lists {
            part.confirm("destructive", "it changes what runs later, without zdx");
        }
    }

    fn make(&mut self, argv: &[Arg], part: &mut Part) {
        part.ask("workspace_file", "it runs what a file of the workspace says");
        let makefile = |path: &std::path::PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().to_lowercase().ends_with("makefile"))
        };
        if self.written.iter().any(makefile) {
            part.confirm("opaque", "it runs a file that this very script writes");
        }
        for (index, arg) in argv.iter().enumerate().skip(1) {
            let text = arg.text.as_str();
            let next = argv.get(index + 1).cloned();
            match text {
                "-f" | "--file" | "--makefile" | "-C" | "--directory" | "-I" => {
                    if let Some(file) = next {
                        let path = std::path::Path::new(&file.text);
                        if file.text == "-" || path.starts_with("/dev") || path.starts_with("/proc") {
                            part.confirm("opaque", "it runs whatever it reads");
                        } else {
                            self.reads(&file, part);
                        }
                    }
                }
                _ if text.starts_with("-f") || text.starts_with("-C") => {
                    self.reads(&Arg { text: text[2..].to_owned(), ..arg.clone() }, part)
                }
                _ if text.starts_with("--file=")
                    || text.starts_with("--directory=")
                    || text.starts_with("--makefile=") =>
                {
                    let value = text.split_once('=').map_or("", |(_, value)| value).to_owned();
                    self.reads(&Arg { text: value, ..arg.clone() }, part);
                }
                _ if text == "--eval"
                    || text.starts_with("--eval=")
                    || text.starts_with("SHELL=")
                    || text.starts_with("MAKEFLAGS=") =>
                {
                    part.confirm("helper", "it tells make what to run");
                }
                _ => {}
            }
        }
    }

    /// Options of otherwise harmless tools that run a program.
    fn helper_options(&mut self, name: &str, argv: &[Arg], part: &mut Part) {
        let runs: &[&str] = match name {
            "rg" | "ugrep" => &["--pre", "--hostname-bin", "--filter", "--pager"],
            "sort" => &["--compress-program"],
            "man" => &["-P", "--pager", "-H", "--html"],
            "rsync" => &["-e", "--rsh", "--rsync-path"],
            "scp" | "sftp" => &["-S", "-o", "-D"],
            "zip" => &["-TT", "--unzip-command"],
            "go" => &["-exec", "-toolexec", "--exec", "--toolexec"],
            "gcc" | "g++" | "cc" | "clang" => &["-wrapper", "-fplugin", "-B", "-specs"],
            "tcpdump" => &["-z"],
            "cargo" => &["--config"],
            "ip" => &["exec"],
            "less" | "more" | "most" => &["-k", "--lesskey-src"],
            "nmap" => &["--script", "--interactive"],
            "split" => &["--filter"],
            "date" => &["-s", "--set"],
            "pip" | "pip3" => &["--python"],
            "bat" | "batcat" | "delta" => &["--pager"],
            "jq" => &[],
            _ => return,
        };
        for (index, arg) in argv.iter().enumerate().skip(1) {
            let text = arg.text.as_str();
            let (option, value) = match text.split_once('=') {
                Some((option, value)) => (option, value),
                None => (text, argv.get(index + 1).map_or("", |next| next.text.as_str())),
            };
            if runs.contains(&option) && !(name == "cargo" && chooses_no_program(value)) {
                part.plain = false;
                part.confirm("helper", format!("{option} chooses a program or code to run"));
            }
            if matches!(name, "less" | "more") && text.starts_with('+') && text.contains(['!', '|']) {
                part.confirm("helper", "it tells the pager to run something");
            }
        }
    }
}

/// Settings of cargo that change how much it does, not what it runs.
fn chooses_no_program(setting: &str) -> bool {
    const PROFILE: &[&str] = &[
        "opt-level",
        "debug",
        "lto",
        "codegen-units",
        "strip",
        "incremental",
        "panic",
        "debug-assertions",
        "overflow-checks",
    ];
    let Some((key, value)) = setting.split_once('=') else { return false };
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.\"".contains(c));
    let harmless = match key.trim().split('.').collect::<Vec<_>>().as_slice() {
        ["profile", _, setting] => PROFILE.contains(setting),
        ["net", "offline" | "retry"] | ["build", "jobs"] | ["term", "color" | "verbose" | "quiet"] => true,
        _ => false,
    };
    harmless && plain(key.trim()) && plain(value.trim())
}
