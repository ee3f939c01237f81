//! Waiting for what other processes do, told by the kernel: nothing here looks twice without having been woken.
//! A clock only ends a wait that is in vain.

use std::future::Future;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(60);

/// Until something about the files directly in `dir` is true.
pub async fn until_files(dir: &Path, what: &str, mut is_true: impl FnMut() -> bool) {
    let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
    let events = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::MODIFY;
    inotify::add_watch(&inotify, dir, events).unwrap();
    let inotify = Arc::new(inotify);
    // Looks first: what happened before the watch began is told by nobody.
    let change = async {
        while !is_true() {
            readable(Arc::clone(&inotify)).await;
            drain(&inotify);
        }
    };
    in_time(what, change).await;
}

/// Until a command has made all of these files.
pub async fn until_made(dir: &Path, names: &[&str]) {
    until_files(dir, &names.join(" and "), || names.iter().all(|name| dir.join(name).exists())).await;
}

fn drain(inotify: &OwnedFd) {
    let mut space = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(inotify, &mut space);
    loop {
        match events.next() {
            Ok(_) => {}
            Err(Errno::AGAIN) => return,
            Err(error) => panic!("inotify: {error}"),
        }
    }
}

/// Until no process works in `dir` any more.
pub async fn until_deserted(dir: &Path) {
    let desertion = async {
        while let Some(pid) = pids_in(dir).first() {
            // One that went in the meantime has no descriptor, and is not there at the next look.
            match pidfd_open(*pid, PidfdFlags::empty()) {
                Ok(process) => readable(Arc::new(process)).await,
                Err(error) => assert_eq!(error, Errno::SRCH),
            }
        }
    };
    in_time("the family is gone", desertion).await;
}

/// On a thread that blocks, as the command under test is driven by this one.
async fn readable(fd: Arc<OwnedFd>) {
    let wait = move || poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&LONG.try_into().unwrap())).unwrap();
    tokio::task::spawn_blocking(wait).await.unwrap();
}

pub async fn in_time(what: &str, wait: impl Future<Output = ()>) {
    assert!(timeout(LONG, wait).await.is_ok(), "never: {what}");
}

/// Living processes that work in this folder: what a command leaves behind is there, whatever it calls itself. One without a
/// command line has lost its memory: it has ended, and the kernel tidies up.
pub fn living_in(dir: &Path) -> Vec<String> {
    let line = |pid: &Pid| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let living = pids_in(dir).into_iter().map(|pid| (pid, line(&pid))).filter(|(_, line)| !line.is_empty());
    living
        .map(|(pid, line)| format!("{pid}: {}", String::from_utf8_lossy(&line).replace('\0', " ")))
        .collect()
}

fn pids_in(dir: &Path) -> Vec<Pid> {
    let dir = dir.canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let here = processes.filter(|process| {
        std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&dir))
    });
    here.map(|process| process.file_name().to_str().unwrap().parse().unwrap())
        .map(|number| Pid::from_raw(number).unwrap())
        .collect()
}
