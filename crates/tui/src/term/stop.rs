//! Stopping the process for a while, as Ctrl-Z does, asking whether anybody could wake it up again, and not being stopped
//! by a shell that dies.

use std::fs::File;

use nix::sys::signal::{SigSet, SigmaskHow};
use rustix::process::{Signal, getpid, kill_current_process_group};
use rustix::termios::tcgetpgrp;

/// Tells everybody in the foreground to stop. We hear of it as a signal, like of one from outside, and so do a wrapper and
/// whatever else belongs to the command.
pub(super) fn ask() -> bool {
    can_be_woken(getpid().as_raw_pid(), kin_of) && kill_current_process_group(Signal::TSTP).is_ok()
}

/// Stops the process and returns when somebody says `fg`. The signal goes to the calling thread, so that this thread stands
/// still before `raise` returns: sent to the process it may be taken by another thread, and a busy machine may run that
/// one so late that this one takes the terminal back in between.
pub(super) fn now() {
    // TSTP is caught, so that the terminal can be given back first; this one is not.
    let _ = nix::sys::signal::raise(nix::sys::signal::SIGSTOP);
}

/// Whether a shell that lives has taken the terminal from us: what cannot be read now can be read again later.
pub(super) fn is_in_background(tty: &File) -> bool {
    let own = getpid().as_raw_pid();
    let group = kin_of(own).map(|kin| kin.group);
    tcgetpgrp(tty).is_ok_and(|front| group != Some(front.as_raw_pid())) && can_be_woken(own, kin_of)
}

/// While this lives, the thread that made it is not stopped for using a terminal that a shell has taken from us. A shell that
/// dies takes it first, and when it is gone nobody wakes whom that stopped.
pub(super) struct Unstoppable(Option<SigSet>);

impl Unstoppable {
    pub(super) fn new() -> Self {
        let signals: SigSet = [nix::sys::signal::SIGTTIN, nix::sys::signal::SIGTTOU].into_iter().collect();
        Self(signals.thread_swap_mask(SigmaskHow::SIG_BLOCK).ok())
    }
}

impl Drop for Unstoppable {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // It was the mask a moment ago: it is one.
            let _ = before.thread_set_mask();
        }
    }
}

/// Where a process belongs, as numbers: 0 is somebody outside of our namespace, as in a container that a shell outside of it
/// has entered. rustix has no word for that and must not be asked.
#[derive(Clone, Copy)]
struct Kin {
    parent: i32,
    group: i32,
    session: i32,
}

/// A process group without a parent in its session has no shell that would ever say `fg`: the kernel does not stop it either.
fn can_be_woken(own: i32, kin_of: impl Fn(i32) -> Option<Kin>) -> bool {
    let Some(own) = kin_of(own) else { return false };
    let mut parent = own.parent;
    // Up to whoever started the group.
    for _ in 0..16 {
        let Some(kin) = (parent > 0).then(|| kin_of(parent)).flatten() else { return false };
        if kin.group != own.group {
            return kin.session == own.session;
        }
        parent = kin.parent;
    }
    false
}

#[cfg(target_os = "linux")]
fn kin_of(pid: i32) -> Option<Kin> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut numbers = rest.split_whitespace().skip(1).map_while(|number| number.parse().ok());
    Some(Kin { parent: numbers.next()?, group: numbers.next()?, session: numbers.next()? })
}

/// Nobody but ourselves can be asked for a parent here: a wrapper in our own group counts as nobody to wake us.
#[cfg(not(target_os = "linux"))]
fn kin_of(pid: i32) -> Option<Kin> {
    use rustix::process::{Pid, getpgid, getppid, getsid};
    let of = Pid::from_raw(pid);
    let parent = (of == Some(getpid())).then(getppid).flatten().map_or(0, Pid::as_raw_pid);
    Some(Kin { parent, group: getpgid(of).ok()?.as_raw_pid(), session: getsid(of).ok()?.as_raw_pid() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Process 9 in these families: (pid, parent, group, session).
    fn woken(family: &[(i32, i32, i32, i32)]) -> bool {
        can_be_woken(9, |pid| {
            let (_, parent, group, session) = family.iter().copied().find(|of| of.0 == pid)?;
            Some(Kin { parent, group, session })
        })
    }

    #[test]
    fn a_shell_in_the_same_session_wakes_us() {
        assert!(woken(&[(9, 5, 9, 5), (5, 1, 5, 5)]));
        // Through a wrapper of our own group.
        assert!(woken(&[(9, 8, 8, 5), (8, 5, 8, 5), (5, 1, 5, 5)]));
        // A shell that entered a container from outside: its session has no number here.
        assert!(woken(&[(9, 5, 9, 0), (5, 1, 5, 0)]));
    }

    #[test]
    fn nobody_else_does() {
        // The terminal's first process, under one from another session, or from outside altogether.
        assert!(!woken(&[(9, 5, 9, 9), (5, 1, 5, 5)]));
        assert!(!woken(&[(9, 5, 9, 9), (5, 1, 0, 0)]));
        assert!(!woken(&[(9, 0, 9, 9)]) && !woken(&[(9, 0, 0, 0)]));
        // A parent that is gone, and no end of parents.
        assert!(!woken(&[(9, 5, 9, 5)]) && !woken(&[(9, 9, 9, 9)]));
        assert!(!woken(&[]));
    }

    #[test]
    fn our_own_kin_are_known() {
        let kin = kin_of(getpid().as_raw_pid()).unwrap();
        assert_eq!(kin.parent, rustix::process::getppid().map_or(0, rustix::process::Pid::as_raw_pid));
    }
}
