//! On a real terminal: what is there when we leave it, however we leave.

use std::time::{Duration, Instant};

use zdx_testkit::{Pty, Zdx};

use super::demo::{ARGUMENTS, VARIABLE, marker};

const SOON: Duration = Duration::from_secs(60);

/// Everything that is switched on, and how it is switched off.
const MODES: [(&str, &str); 3] =
    [("\x1b[?2004h", "\x1b[?2004l"), ("\x1b[?1004h", "\x1b[?1004l"), ("\x1b[22;2t", "\x1b[23;2t")];

/// The demo in a shell that says how the terminal is set, before and behind.
fn shell(script: &str) -> (Zdx, Pty) {
    let demo = std::env::current_exe().unwrap();
    let place = Zdx::new("/bin/bash").env("DEMO", demo).env("ARGS", ARGUMENTS.join(" ")).env(VARIABLE, "0");
    let place = place.env("RUST_BACKTRACE", "0");
    let pty = place.command().args(["--norc", "--noprofile", "-c", script]).pty(24, 80);
    (place, pty)
}

fn demo() -> (Zdx, Pty) {
    shell("echo before $(stty -g); $DEMO $ARGS; code=$?; echo after $(stty -g); echo code $code")
}

#[track_caller]
fn is_clean(pty: &mut Pty) {
    pty.wait_for_text("code ", SOON);
    pty.wait_exit(SOON);
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    let set = |word: &str| {
        let at = raw.rfind(word).unwrap_or_else(|| panic!("{raw}")) + word.len();
        raw[at..].split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(set("before "), set("after "), "{raw:?}");
    for (on, off) in MODES {
        let on = raw.rfind(on).unwrap_or_else(|| panic!("{on:?} in {raw:?}"));
        assert!(raw.rfind(off).is_some_and(|off| off > on), "{off:?} behind {on} in {raw:?}");
    }
    assert!(
        !pty.screen().hide_cursor() && !pty.screen().bracketed_paste() && !pty.screen().alternate_screen()
    );
    assert!(!raw.contains("\x1b[2J") && !raw.contains("\x1b[3J"));
    // Nothing of what the terminal answered reached the shell, and the shell writes below what we left.
    let shown = pty.contents();
    assert!(!shown.contains("[?62") && !shown.contains("8;24"), "{shown}");
}

#[test]
fn the_terminal_is_clean_after_leaving() {
    let (_place, mut pty) = demo();
    pty.wait_for_text("live region 80x24", SOON);
    pty.send("abc");
    pty.wait_for_text("> abc", SOON);
    pty.send("q");
    is_clean(&mut pty);
    assert!(pty.contents().contains("> abc"), "{}", pty.contents());
}

#[test]
fn the_terminal_is_clean_after_a_panic() {
    let (_place, mut pty) = demo();
    pty.wait_for_text("live region", SOON);
    pty.send("\x0f");
    pty.wait_for_text("a page of its own", SOON);
    pty.send("!");
    is_clean(&mut pty);
    // On rows of its own, not in the middle of ours.
    let shown = pty.contents();
    assert!(shown.lines().any(|line| line.contains("panicked at")), "{shown}");
    assert!(shown.contains("live region 80x24") && shown.contains("code 101"), "{shown}");
}

#[test]
fn a_panic_elsewhere_is_told_and_survived() {
    let (_place, mut pty) = demo();
    pty.wait_for_text("live region", SOON);
    pty.send("?");
    pty.wait_for_text("elsewhere", SOON);
    pty.send("xyz");
    pty.wait_for_text("> xyz", SOON);
    pty.send("q");
    is_clean(&mut pty);
}

#[test]
fn the_terminal_is_clean_after_term_and_hup() {
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::HUP] {
        let (_place, mut pty) = demo();
        pty.wait_for_text("live region", SOON);
        rustix::process::kill_process(demo_below(&pty), signal).unwrap();
        is_clean(&mut pty);
        assert!(pty.contents().contains("code 0"), "{}", pty.contents());
    }
}

#[test]
fn typing_pasting_and_focus_arrive() {
    let (_place, mut pty) = demo();
    pty.wait_for_text("live region", SOON);
    pty.send("a\x1b[200~12345\x1b[201~\x1b[A");
    pty.wait_for_text("> a[5]<Up>", SOON);
    pty.send("\x1b");
    pty.wait_for_text("<Esc>", SOON);
    pty.send("\x1b[O");
    pty.wait_for_text("focus false", SOON);
    pty.send("q");
    is_clean(&mut pty);
}

#[test]
fn another_program_gets_every_key_while_it_has_the_terminal() {
    let (_place, mut pty) = demo();
    pty.wait_for_text("live region", SOON);
    pty.send("one");
    pty.wait_for_text("> one", SOON);
    pty.send("\x07");
    pty.wait_for_text("editor begins", SOON);
    pty.wait_for(|screen| !screen.contents().contains("live region"), SOON);
    pty.send("q all of this\r");
    pty.wait_for_text("editor got q all of this", SOON);
    pty.wait_for_text("> one", SOON);
    pty.send("two");
    pty.wait_for_text("> onetwo", SOON);
    pty.send("q");
    is_clean(&mut pty);
}

#[test]
fn a_page_comes_and_goes() {
    let (_place, mut pty) = demo();
    pty.wait_for_text("live region", SOON);
    pty.send("\x0fab");
    pty.wait_for(|screen| screen.alternate_screen() && screen.contents().contains("typed ab"), SOON);
    pty.send("\x0f");
    pty.wait_for(|screen| !screen.alternate_screen() && screen.contents().contains("> ab"), SOON);
    assert_eq!(pty.contents().matches("live region").count(), 1);
    pty.send("q");
    is_clean(&mut pty);
}

/// A question that fills the window has a screen of its own, below what was said last; stopped and back it has it again.
#[test]
fn a_tall_question_comes_and_goes() {
    let place = Zdx::new(std::env::current_exe().unwrap());
    let command = place.command().args(ARGUMENTS).env(VARIABLE, "30").env("VTE_VERSION", "7006");
    let mut pty = command.pty(24, 80);
    pty.wait_for_text(&marker(30), SOON);
    pty.send("\x14");
    // The cursor comes last.
    let asks = |screen: &vt100::Screen| {
        let (shown, whole) =
            (screen.contents(), screen.alternate_screen() && screen.cursor_position() == (22, 2));
        whole && shown.contains("++++") && shown.contains("live region 80x24")
    };
    pty.wait_for(asks, SOON);
    assert!(pty.contents().starts_with(&marker(30)), "{}", pty.contents());
    // A page above it, and an editor.
    pty.send("\x0f");
    pty.wait_for_text("a page of its own", SOON);
    pty.send("\x0f");
    pty.wait_for(asks, SOON);
    pty.send("\x07");
    pty.wait_for(|screen| !screen.alternate_screen() && screen.contents().contains("editor begins"), SOON);
    assert!(!pty.contents().contains("++++"), "{}", pty.contents());
    pty.send("x\r");
    pty.wait_for(asks, SOON);
    pty.send("\x14");
    pty.wait_for(|screen| !screen.alternate_screen() && screen.contents().contains("live region"), SOON);
    let shown = pty.contents();
    assert!(!shown.contains("++++") && shown.contains("editor got x"), "{shown}");
    assert_eq!(shown.matches(&marker(30)).count(), 1);
    pty.send("q");
    pty.wait_exit(SOON);
}

#[test]
fn nobody_stops_what_nobody_would_wake() {
    // The terminal's own first process: no shell is there to say `fg`.
    let place = Zdx::new(std::env::current_exe().unwrap());
    let mut pty = place.command().args(ARGUMENTS).env(VARIABLE, "0").pty(24, 80);
    pty.wait_for_text("live region", SOON);
    pty.send("\x1a");
    pty.wait_for_text("nobody would wake us", SOON);
    pty.send("q");
    pty.wait_exit(SOON);
}

/// This terminal cuts rows off, and its name says nothing about that.
#[test]
fn history_outlives_changes_of_size() {
    let place = Zdx::new(std::env::current_exe().unwrap());
    let mut pty = place.command().args(ARGUMENTS).env(VARIABLE, "60").pty(24, 80);
    pty.wait_for_text("marker 00060", SOON);
    for (rows, columns) in [(30, 50), (12, 100), (20, 40), (24, 80)] {
        pty.resize(rows, columns);
        let size = format!("live region {columns}x{rows}");
        pty.wait_for(|screen| screen.contents().contains(&size), SOON);
    }
    holds_all(&pty, 60);
    pty.send("q");
    pty.wait_exit(SOON);
}

/// So many streamed lines, each once, and one live region.
#[track_caller]
fn holds_all(pty: &Pty, lines: usize) {
    let found = pty.lines();
    let numbers: Vec<&str> = found.iter().filter_map(|row| row.strip_prefix("marker ")?.get(..5)).collect();
    assert_eq!(numbers, (1..=lines).map(|n| format!("{n:05}")).collect::<Vec<_>>(), "{}", found.join("\n"));
    assert_eq!(found.iter().filter(|row| row.contains("live region")).count(), 1);
}

/// GNU screen as it comes: what a page is drawn over must be somewhere else by then.
#[test]
fn a_page_on_the_only_screen_there_is_hides_nothing_for_good() {
    let place = Zdx::new(std::env::current_exe().unwrap());
    let command =
        place.command().args(ARGUMENTS).env(VARIABLE, "30").env("TERM", "screen").env("STY", "1.pts");
    let mut pty = command.pty(24, 80);
    pty.wait_for_text(&marker(30), SOON);
    for _ in 0..2 {
        pty.send("\x0f");
        pty.wait_for_text("a page of its own", SOON);
        assert!(!pty.contents().contains("live region"), "{}", pty.contents());
        pty.send("\x0f");
        pty.wait_for_text("live region", SOON);
        assert!(!pty.contents().contains("a page of its own"), "{}", pty.contents());
        holds_all(&pty, 30);
    }
    assert!(!String::from_utf8_lossy(&pty.raw()).contains("1049"));
    pty.send("q");
    pty.wait_exit(SOON);
}

/// An interactive shell, with jobs.
fn jobs() -> (Zdx, Pty) {
    let demo = std::env::current_exe().unwrap();
    let place = Zdx::new("/bin/bash").env("DEMO", demo).env("ARGS", ARGUMENTS.join(" ")).env(VARIABLE, "0");
    let pty = place.command().args(["--norc", "--noprofile", "-i"]).env("PS1", "shell$ ").pty(24, 80);
    pty.wait_for_text("shell$", SOON);
    pty.send("$DEMO $ARGS\r");
    pty.wait_for_text("live region", SOON);
    (place, pty)
}

/// The shell has told of the stop, and its prompt is there. Before the prompt bash switches modes on by itself, so that
/// what the demo left on can only be told from the bytes between.
#[track_caller]
fn wait_stopped(pty: &Pty) {
    let prompts = |screen: &vt100::Screen| {
        let shown = screen.contents();
        shown.split_once("Stopped").is_some_and(|(_, after)| after.trim_end().ends_with("shell$"))
    };
    pty.wait_for(prompts, SOON);
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    let (before, _) = raw.split_once("Stopped").unwrap();
    for (on, off) in MODES {
        let on = before.rfind(on).unwrap_or_else(|| panic!("{on:?} in {before:?}"));
        assert!(before.rfind(off).is_some_and(|off| off > on), "{off:?} behind {on} in {before:?}");
    }
}

fn goes_on(pty: &mut Pty) {
    pty.send("fg\r");
    pty.wait_for(|screen| screen.contents().matches("live region").count() == 1, SOON);
    pty.send("def");
    pty.wait_for_text("> abcdef", SOON);
    pty.send("q");
    pty.wait_for(|screen| screen.contents().trim_end().ends_with("shell$"), SOON);
}

#[test]
fn ctrl_z_gives_the_shell_a_clean_terminal_and_fg_takes_it_back() {
    let (_place, mut pty) = jobs();
    pty.send("abc");
    pty.wait_for_text("> abc", SOON);
    pty.send("\x1a");
    wait_stopped(&pty);
    assert!(!pty.contents().contains("live region"), "{}", pty.contents());
    pty.send("stty -a | grep -o ' icanon'\r");
    pty.wait_for_text(" icanon\n", SOON);
    goes_on(&mut pty);
}

#[test]
fn a_stop_from_outside_is_the_same() {
    let (_place, mut pty) = jobs();
    pty.send("abc");
    pty.wait_for_text("> abc", SOON);
    rustix::process::kill_process(demo_below(&pty), rustix::process::Signal::TSTP).unwrap();
    wait_stopped(&pty);
    assert!(!pty.contents().contains("live region"), "{}", pty.contents());
    goes_on(&mut pty);
}

fn demo_below(pty: &Pty) -> rustix::process::Pid {
    let (parent, demo) = (pty.pid(), std::env::current_exe().unwrap());
    let name = demo.file_name().unwrap().to_str().unwrap();
    let children = format!("/proc/{parent}/task/{parent}/children");
    let until = Instant::now() + SOON;
    while Instant::now() < until {
        for pid in std::fs::read_to_string(&children).unwrap_or_default().split_whitespace() {
            let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if line.contains(name) {
                return rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no child {name} of {parent}");
}

#[test]
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))),
    ignore = "needs to read the system calls of another process"
)]
fn an_idle_terminal_hears_nothing() {
    let (_place, mut pty) = demo();
    pty.wait_for_text("live region", SOON);
    pty.send("abc");
    pty.wait_for_text("> abc", SOON);
    let demo = demo_below(&pty);
    // What the letters made it write may still be on its way: it is idle once every thread waits without a limit.
    let until = Instant::now() + SOON;
    let idle = loop {
        let before = wakeups(demo);
        let waits = waits(demo);
        if waits.iter().all(|wait| wait.is_without_limit()) && wakeups(demo) == before {
            break (pty.raw().len(), before);
        }
        assert!(Instant::now() < until, "never idle: {waits:?}");
        std::thread::sleep(Duration::from_millis(5));
    };
    // The passing of time itself is what is tested.
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!((pty.raw().len(), wakeups(demo)), idle);
    pty.send("q");
    is_clean(&mut pty);
}

/// The system call that a thread waits in, as the kernel shows it: number and arguments, or `running`.
#[derive(Debug)]
struct Wait(String);

impl Wait {
    fn is_without_limit(&self) -> bool {
        let mut words = self.0.split_whitespace();
        let Some(number) = words.next().and_then(|number| number.parse::<u32>().ok()) else { return false };
        let argument = |at: usize| {
            let text = self.0.split_whitespace().nth(1 + at)?.strip_prefix("0x")?;
            u64::from_str_radix(text, 16).ok()
        };
        // A timeout in milliseconds, of which the low half counts, or a pointer to one.
        let forever = |at| argument(at).is_some_and(|limit| limit & 0xffff_ffff == 0xffff_ffff);
        let no_limit = |at| argument(at) == Some(0);
        match (std::env::consts::ARCH, number) {
            // read
            ("x86_64", 0) | ("aarch64", 63) => true,
            // poll
            ("x86_64", 7) => forever(2),
            // futex
            ("x86_64", 202) | ("aarch64", 98) => no_limit(3),
            // epoll_wait, epoll_pwait
            ("x86_64", 232 | 281) | ("aarch64", 22) => forever(3),
            // ppoll
            ("x86_64", 271) | ("aarch64", 73) => no_limit(2),
            _ => false,
        }
    }
}

fn waits(pid: rustix::process::Pid) -> Vec<Wait> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).unwrap();
    let wait = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("syscall")).unwrap();
    tasks.map(|task| Wait(wait(task.unwrap()).trim().to_owned())).collect()
}

/// How often any of its threads had slept and was woken up.
fn wakeups(pid: rustix::process::Pid) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).unwrap();
    let status = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("status")).unwrap();
    let switches = |status: String| -> usize {
        let line =
            status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:").map(str::to_owned));
        line.unwrap().trim().parse().unwrap()
    };
    tasks.map(|task| switches(status(task.unwrap()))).sum()
}
