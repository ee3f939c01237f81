//! Programs that run others, or write files, through their options: find, tar, ssh, editors, containers.

use zdx_protocol::ReasonCode;

use crate::shell::Part;
use crate::shell::programs::git;
use crate::shell::programs::options::operands;
use crate::shell::programs::runners::is_runner;
use crate::shell::programs::scripts;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::feed::Stdin;
use crate::shell::walk::files::FileEffect;

/// True when the program and its files are dealt with.
pub(crate) fn program(walker: &mut Walker<'_>, name: &str, argv: &[Arg], part: &mut Part) -> bool {
    match name {
        "find" | "gfind" | "bfs" => walker.find(argv, part),
        "fd" | "fdfind" => walker.fd(argv, part),
        "git" => git::git(walker, argv, part),
        "ssh" | "mosh" | "autossh" | "rsh" => walker.ssh(argv, part),
        "tar" | "gtar" | "bsdtar" => walker.tar(argv, part),
        "curl" | "wget" => {
            walker.download(argv, part);
            walker.files_of(name, argv, part);
            walker.downloaded(argv, part);
        }
        "vim" | "vi" | "nvim" | "ex" | "view" | "gvim" | "vimdiff" | "rvim" | "emacs" | "ed" | "kak" => {
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
            part.confirm(ReasonCode::Destructive, "it changes the running system");
        }
        "make" | "gmake" => {
            walker.make(argv, part);
        }
        "sqlite3" | "psql" | "mysql" | "mariadb" => {
            walker.database(argv, part);
            walker.files_of(name, argv, part);
        }
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => walker.awk(argv, part),
        "sed" | "gsed" => walker.sed(argv, part),
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
    fn editor(&mut self, argv: &[Arg], part: &mut Part) {
        let escapes = |text: &str| {
            [
                "!",
                "system(",
                "te ",
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
                // `-sc`, `-ec`: letters together.
                text if text.starts_with('-') && text.len() == 3 && text.ends_with('c') => {
                    argv.get(index + 1).map(|next| next.text.clone())
                }
                "-e" if argv[0].text.ends_with("kak") => argv.get(index + 1).map(|next| next.text.clone()),
                _ => None,
            };
            match command {
                Some(text)
                    if text.contains('\0')
                        || escapes(&text)
                        || matches!(arg.text.as_str(), "-S" | "-s" | "-u" | "-l" | "--load" | "--script") =>
                {
                    part.confirm(ReasonCode::Helper, "the editor is told to run something");
                    self.only_listed(
                        text.split_once('!').map_or(text.as_str(), |(_, command)| command),
                        part,
                    );
                }
                _ => {}
            }
        }
        // It may save what it opens.
        for file in operands(argv).into_iter().filter(|file| !file.text.starts_with('+')) {
            self.changes(file, FileEffect::Alter, part);
        }
        if !matches!(self.stdin, Stdin::Nothing) {
            part.confirm(ReasonCode::Opaque, "the editor takes its orders from what it reads");
        }
    }

    fn kill(&mut self, argv: &[Arg], part: &mut Part) {
        let everything = argv.iter().skip(2).any(|arg| matches!(arg.text.as_str(), "-1" | "0" | "1"))
            || argv.iter().any(|arg| arg.text == "1");
        if everything {
            part.confirm(
                ReasonCode::Destructive,
                "it signals every process, or the one that runs the machine",
            );
        }
    }

    fn crontab(&mut self, argv: &[Arg], part: &mut Part) {
        let only_lists = argv.len() > 1 && argv.iter().skip(1).all(|arg| arg.text == "-l");
        if !only_lists {
            part.confirm(ReasonCode::Destructive, "it changes what runs later, without zdx");
        }
    }

    fn make(&mut self, argv: &[Arg], part: &mut Part) {
        part.ask("it runs what a file of the workspace says");
        let makefile = |path: &std::path::PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().to_lowercase().ends_with("makefile"))
        };
        if self.written.iter().any(makefile) {
            part.confirm(ReasonCode::Opaque, "it runs a file that this very script writes");
        }
        for (index, arg) in argv.iter().enumerate().skip(1) {
            let text = arg.text.as_str();
            let next = argv.get(index + 1).cloned();
            match text {
                "-f" | "--file" | "--makefile" | "-C" | "--directory" | "-I" => {
                    if let Some(file) = next {
                        self.makefile(&file, part);
                    }
                }
                _ if text.starts_with("-f") || text.starts_with("-C") => {
                    self.makefile(&Arg { text: text[2..].to_owned(), ..arg.clone() }, part)
                }
                _ if text.starts_with("--file=")
                    || text.starts_with("--directory=")
                    || text.starts_with("--makefile=") =>
                {
                    let value = text.split_once('=').map_or("", |(_, value)| value).to_owned();
                    self.makefile(&Arg { text: value, ..arg.clone() }, part);
                }
                // Long options may be cut short; values are expanded by make, and make runs what they say.
                _ if text == "-E"
                    || (text.len() > 3 && "--eval".starts_with(text.split('=').next().unwrap_or(text)))
                    || text.starts_with("SHELL=")
                    || text.starts_with("MAKEFLAGS=")
                    || text.contains("$(shell")
                    || text.contains("${shell") =>
                {
                    part.confirm(ReasonCode::Helper, "it tells make what to run");
                }
                _ if !text.starts_with('-') && text.contains('=') => {
                    let value = text.split_once('=').map_or("", |(_, value)| value).to_owned();
                    self.only_listed(&value, part);
                    self.loose_path(&Arg { text: value, ..arg.clone() }, false, part);
                }
                _ => {}
            }
        }
    }

    fn makefile(&mut self, file: &Arg, part: &mut Part) {
        if file.text == "-" || self.is_harmless(file) {
            part.confirm(ReasonCode::Opaque, "it runs whatever it reads");
        } else {
            self.reads(file, part);
        }
    }

    /// Shells of databases know a way out to ours: `.shell rm x`, `\\! rm x`, `system rm x`.
    fn database(&mut self, argv: &[Arg], part: &mut Part) {
        let input = match &self.stdin {
            Stdin::Text(text) => Some(text.clone()),
            Stdin::Nothing | Stdin::Unknown => None,
        };
        for text in argv.iter().skip(1).map(|arg| arg.text.clone()).chain(input) {
            for line in text.split(['\n', ';']).map(str::trim) {
                let command =
                    [".shell ", ".system ", "\\!", "system "].iter().find_map(|way| line.strip_prefix(way));
                if let Some(command) = command {
                    part.confirm(ReasonCode::Helper, "it runs a command out of the database's shell");
                    self.only_listed(command, part);
                }
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
            "scp" | "sftp" => &["-S", "-o", "-D", "-F"],
            "zip" => &["-TT", "--unzip-command"],
            "go" => &["-exec", "-toolexec", "--exec", "--toolexec"],
            "gcc" | "g++" | "cc" | "clang" => &["-wrapper", "-fplugin", "-B", "-specs"],
            "tcpdump" => &["-z"],
            "cargo" => &["--config"],
            "ip" => &["exec"],
            "less" | "more" | "most" => &["-k", "--lesskey-src"],
            "nmap" => &["--script", "--interactive"],
            "split" => &["--filter"],
            "npm" | "npx" | "pnpm" | "yarn" => &["--script-shell", "--node-options"],
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
            // `-oProxyCommand=x`, `-S./p`: the value may follow its letter at once.
            let attached = !text.starts_with("--")
                && matches!(name, "scp" | "sftp" | "man" | "tcpdump")
                && runs.iter().any(|letter| text.starts_with(letter));
            // Long options may be cut short.
            let cut = option.len() > 5
                && option.starts_with("--")
                && runs.iter().any(|long| long.starts_with(option));
            let chosen = runs.contains(&option) || attached || cut;
            if chosen && !(name == "cargo" && chooses_no_program(value)) {
                part.plain = false;
                part.confirm(ReasonCode::Helper, format!("{option} chooses a program or code to run"));
            }
            if matches!(name, "less" | "more") && text.starts_with('+') && text.contains(['!', '|']) {
                part.confirm(ReasonCode::Helper, "it tells the pager to run something");
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
