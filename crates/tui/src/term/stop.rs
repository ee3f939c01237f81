//! Stopping the process for a while, as Ctrl-Z does, and asking whether anybody could wake it up again.

use std::time::Duration;

use rustix::process::{
    Pid, Signal, getpgid, getpgrp, getpid, getppid, getsid, kill_current_process_group, kill_process,
};

/// Tells everybody in the foreground to stop. We hear of it as a signal, like of one from outside, and so do a wrapper and
/// whatever else belongs to the command.
pub(super) fn ask() -> bool {
    can_be_woken() && kill_current_process_group(Signal::TSTP).is_ok()
}

/// Stops here; comes back when somebody says `fg`.
pub(super) fn now() {
    // TSTP is caught, so that the terminal can be given back first; this one is not.
    let _ = kill_process(getpid(), Signal::STOP);
    // Another thread may be the one that hears it, and this one would take the terminal back before it stands still. It does
    // so in here; a stop that lasts longer makes nobody wait.
    std::thread::sleep(Duration::from_millis(200));
}

/// A process group without a parent in its session has no shell that would ever say `fg`: the kernel does not stop it either.
fn can_be_woken() -> bool {
    let (group, session) = (getpgrp(), getsid(None).ok());
    let mut parent = getppid();
    // Up to whoever started the group.
    for _ in 0..16 {
        let Some(pid) = parent else { return false };
        match getpgid(Some(pid)) {
            Ok(of) if of == group => parent = parent_of(pid),
            Ok(_) => return session.is_some() && getsid(Some(pid)).ok() == session,
            Err(_) => return false,
        }
    }
    false
}

fn parent_of(pid: Pid) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name in parentheses may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    Pid::from_raw(rest.split_whitespace().nth(1)?.parse().ok()?)
}
