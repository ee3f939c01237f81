//! Generated scripts, really run by bash and dash in a sandbox folder of stub commands, against the verdict.
//! A stub that ran, or a file that was overwritten, below `confirm` is a failure. `ZDX_FUZZ` sets how many.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use zdx_guard::{PolicyContext, judge};
use zdx_protocol::{Action, Approval, Level, Origin};

use crate::scripts::{DOUBTFUL, LINKED, Rng, dangerous, harmless, reader};

const STUBS: &[&str] = &[
    "rm",
    "mv",
    "chmod",
    "chown",
    "dd",
    "mkfs.ext4",
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "sudo",
    "su",
    "doas",
    "shred",
    "unlink",
];
const TOOLS: &[&str] = &[
    "cat", "ls", "grep", "head", "tail", "wc", "sort", "env", "nohup", "nice", "timeout", "stdbuf", "setsid",
    "xargs", "find", "true", "false", "printf", "echo", "tee", "cp", "basename", "sleep", "seq", "tr", "cut",
    "uniq", "expr", "test", "flock", "sh", "bash", "dash", "sed", "awk", "pwd", "ln", "tar", "du", "diff",
    "stat", "readlink",
];
static RUN: AtomicUsize = AtomicUsize::new(0);
/// What must not be overwritten, in the workspace and outside.
const FILES: &[&str] = &["ws/existing.txt", "ws/a", "ws/sub/existing.txt", "home/existing.txt"];
const ORIGINAL: &str = "untouched content\n";

/// Says when it would have thrown work away; an option that there is not, or that is a path, throws none.
const GIT: &str = r#"#!/bin/sh
while :; do case "$1" in -C|-c) shift 2;; -*) shift;; *) break;; esac; done
dry=
for word; do case "$word" in --no-dry*) dry=;; -n|--dry-run) dry=1;; esac; done
before=
for word; do [ "$word" = -- ] && break; before="$before $word"; done
case "$before " in
" reset "*" --h "*|" reset "*" --ha "*|" reset "*" --har "*|" reset "*" --hard "*) echo git >> "$ZDX_STUB_LOG";;
" push "*" --forc "*|" push "*" --force"*) echo git >> "$ZDX_STUB_LOG";;
esac
case " $* " in
" clean "*f*) [ "$dry" ] || echo git >> "$ZDX_STUB_LOG";;
" push "*" +"*|" checkout -- "*|" checkout :"*|" restore "*) echo git >> "$ZDX_STUB_LOG";;
" stash drop "*|" branch -D "*) echo git >> "$ZDX_STUB_LOG";;
esac
"#;

/// What lies beside the workspace, and must not be shown by what passes unasked.
const SECRET: &str = "kept-beside-the-workspace";

struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = fs::canonicalize(folder.path()).unwrap();
        for name in ["bin", "ws/sub", "home"] {
            fs::create_dir_all(at.join(name)).unwrap();
        }
        for stub in STUBS {
            // Each run has a log of its own: what an earlier script left behind must not speak for a later one.
            write_program(
                &at.join("bin").join(stub),
                &format!("#!/bin/sh\necho {stub} >> \"$ZDX_STUB_LOG\"\n"),
            );
        }
        write_program(&at.join("bin/busybox"), "#!/bin/sh\nexec \"$@\"\n");
        write_program(&at.join("bin/git"), GIT);
        for tool in TOOLS {
            let real = ["/bin", "/usr/bin"]
                .iter()
                .map(|folder| Path::new(folder).join(tool))
                .find(|path| path.exists());
            if let Some(real) = real {
                let _ = symlink(real, at.join("bin").join(tool));
            }
        }
        let sandbox = Self { folder };
        sandbox.reset();
        sandbox
    }

    fn at(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    /// An untouched workspace: two files with content, one folder, a link inside and one that leads out.
    fn reset(&self) {
        let at = self.at();
        let ws = at.join("ws");
        fs::create_dir_all(ws.join("sub")).unwrap();
        for entry in fs::read_dir(&ws).unwrap().chain(fs::read_dir(ws.join("sub")).unwrap()).flatten() {
            let keep =
                ["sub", "existing.txt", "a", "link", "outdir"].iter().any(|name| entry.file_name() == *name);
            if !keep {
                let path = entry.path();
                let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            }
        }
        for file in FILES {
            let path = at.join(file);
            if fs::read_to_string(&path).ok().as_deref() != Some(ORIGINAL) {
                let _ = fs::remove_file(&path);
                fs::write(&path, ORIGINAL).unwrap();
            }
        }
        let _ = symlink("existing.txt", ws.join("link"));
        let _ = symlink("../home", ws.join("outdir"));
    }

    /// Runs a script; says what it should not have done without a person's word.
    fn run(&self, shell: &str, script: &str) -> Option<String> {
        let at = self.at();
        let log = at.join(format!("log{}", RUN.fetch_add(1, Ordering::Relaxed)));
        // A loop that lost its end gets a second of processor time, and its group is ended with the shell.
        let mut child = Command::new("/bin/sh")
            .arg("-c")
            .arg("ulimit -t 1; exec \"$0\" -c \"$1\"")
            .arg(at.join("bin").join(shell))
            .arg(script)
            .current_dir(at.join("ws"))
            .env_clear()
            .env("PATH", at.join("bin"))
            .env("HOME", at.join("home"))
            .env("ZDX_STUB_LOG", &log)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let group = rustix::process::Pid::from_child(&child);
        let (done, wait) = std::sync::mpsc::channel();
        let waiter = std::thread::spawn(move || {
            let _ = child.wait();
            let _ = done.send(());
        });
        let _ = wait.recv_timeout(Duration::from_secs(2));
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = waiter.join();
        let mut effects = Vec::new();
        if let Ok(text) = fs::read_to_string(&log) {
            effects.push(format!("ran {}", text.split_whitespace().take(5).collect::<Vec<_>>().join(" ")));
            let _ = fs::remove_file(&log);
        }
        for file in FILES {
            let now = fs::read_to_string(at.join(file)).unwrap_or_default();
            if !now.starts_with(ORIGINAL) {
                effects.push(format!("overwrote {file}"));
            }
        }
        (!effects.is_empty()).then(|| effects.join(", "))
    }

    fn verdict(&self, script: &str, approval: Approval) -> Level {
        let at = self.at();
        let mut cx = PolicyContext::new(at.join("ws"), approval);
        cx.home = Some(at.join("home"));
        let action =
            Action::Command { command: script.to_owned(), cwd: at.join("ws"), origin: Origin::Model };
        judge(&action, &cx).level()
    }
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Where rules ask nothing and outside paths pass: what is held back here is held back by the floors alone.
const LAXEST: Approval = Approval::Yolo;

fn how_many() -> usize {
    std::env::var("ZDX_FUZZ").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000)
}

#[test]
fn nothing_dangerous_runs_below_confirm() {
    let total = how_many();
    let seed: u64 = std::env::var("ZDX_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let next = AtomicUsize::new(0);
    let failures: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let stats: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let sandbox = Sandbox::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= total {
                        break;
                    }
                    if index > 0 && index.is_multiple_of(10_000) {
                        eprintln!("{index} scripts, {} failures", failures.lock().unwrap().len());
                    }
                    let script =
                        dangerous(&mut Rng::new(seed.wrapping_mul(1_000_003).wrapping_add(index as u64)));
                    let verdict = sandbox.verdict(&script, LAXEST);
                    let mut ran = false;
                    for shell in ["bash", "dash"] {
                        if let Some(effect) = sandbox.run(shell, &script) {
                            ran = true;
                            if verdict < Level::Confirm {
                                let failure = format!("[{shell}, {verdict}] {effect}: {script:?}");
                                eprintln!("{failure}");
                                failures.lock().unwrap().push(failure);
                            }
                        }
                        sandbox.reset();
                    }
                    *stats
                        .lock()
                        .unwrap()
                        .entry(format!("{verdict}{}", if ran { ", dangerous" } else { "" }))
                        .or_default() += 1;
                }
            });
        }
    });
    eprintln!("{total} scripts: {:?}", stats.lock().unwrap());
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "{} ran unconfirmed:\n{}",
        failures.len(),
        failures.iter().take(40).cloned().collect::<Vec<_>>().join("\n")
    );
}

/// Each of the odd scripts as it stands, so that none is left to chance.
#[test]
fn every_odd_script_is_held_back() {
    let sandbox = Sandbox::new();
    let mut missed = Vec::new();
    for script in crate::odd::ODD.iter().chain(DOUBTFUL).chain(LINKED) {
        let verdict = sandbox.verdict(script, LAXEST);
        for shell in ["bash", "dash"] {
            let effect = sandbox.run(shell, script);
            sandbox.reset();
            if let Some(effect) = effect.filter(|_| verdict < Level::Confirm) {
                missed.push(format!("[{shell}, {verdict}] {effect}: {script:?}"));
            }
        }
    }
    assert!(missed.is_empty(), "{} ran unconfirmed:\n{}", missed.len(), missed.join("\n"));
}

/// What `balanced` lets pass unasked shows nothing from outside, writes nothing and runs nothing else.
#[test]
fn what_passes_unasked_only_reads_the_workspace() {
    let sandbox = Sandbox::new();
    let at = sandbox.at();
    let ws = at.join("ws");
    fs::write(at.join("home/secret.txt"), format!("{SECRET}\n")).unwrap();
    symlink("../home/secret.txt", ws.join("out")).unwrap();
    let names = || {
        let mut names: Vec<_> = fs::read_dir(&ws).unwrap().flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let (mut passed, mut failures) = (0, Vec::new());
    let total = how_many();
    for index in 0..total {
        let script = reader(&mut Rng::new(9_000_000 + index as u64));
        if sandbox.verdict(&script, Approval::Balanced) > Level::Allow {
            continue;
        }
        passed += 1;
        for shell in ["bash", "dash"] {
            let output = Command::new("/bin/timeout")
                .args(["2", at.join("bin").join(shell).to_str().unwrap(), "-c", &script])
                .current_dir(&ws)
                .env_clear()
                .env("PATH", at.join("bin"))
                .env("HOME", at.join("home"))
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let shown = String::from_utf8_lossy(&output.stdout).to_lowercase().contains(SECRET);
            let changed =
                names() != before || fs::read_to_string(ws.join("existing.txt")).unwrap() != ORIGINAL;
            if shown || changed {
                failures.push(format!("[{shell}] shown {shown}, changed {changed}: {script:?}"));
                let _ = fs::remove_file(ws.join("new"));
                let _ = fs::remove_file(ws.join("sub/new"));
                fs::write(ws.join("existing.txt"), ORIGINAL).unwrap();
            }
        }
    }
    eprintln!("{passed} of {total} pass unasked");
    assert!(
        failures.is_empty(),
        "{}:\n{}",
        failures.len(),
        failures.iter().take(20).cloned().collect::<Vec<_>>().join("\n")
    );
    assert!(passed * 20 > total, "{passed} of {total}: the generator makes too little that passes");
}

#[test]
fn harmless_scripts_are_seldom_flagged() {
    let sandbox = Sandbox::new();
    let total = how_many().min(5_000);
    let mut flagged = Vec::new();
    for index in 0..total {
        let script = harmless(&mut Rng::new(7_000_000 + index as u64));
        if sandbox.verdict(&script, Approval::Balanced) >= Level::Confirm {
            flagged.push(script);
        }
    }
    eprintln!("{} of {total} harmless scripts flagged", flagged.len());
    assert!(
        flagged.len() * 10 <= total,
        "{} of {total} flagged:\n{}",
        flagged.len(),
        flagged.iter().take(40).map(|s| format!("{s:?}")).collect::<Vec<_>>().join("\n")
    );
}
