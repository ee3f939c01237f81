//! Who belongs to a command: everyone below its supervisor, and everyone in its session.
//! Only finds and signals; when to do so is the supervisor's business, or the shell's when the supervisor died.

#[cfg(target_os = "linux")]
use std::collections::{HashMap, HashSet};

#[cfg(target_os = "linux")]
use rustix::process::kill_process;
use rustix::process::{Pid, Signal};

/// One command's processes.
#[derive(Clone, Copy)]
pub struct ProcessFamily {
    pub supervisor: Pid,
    /// Leader of the command's group; unknown outside the supervisor. Read only where no process table can be.
    #[cfg_attr(target_os = "linux", expect(dead_code))]
    pub leader: Option<Pid>,
}

#[cfg(target_os = "linux")]
impl ProcessFamily {
    pub fn signal(self, signal: Signal) {
        for pid in self.members() {
            // Gone already, or not ours to signal (a setuid child): nothing more can be done.
            let _ = kill_process(pid, signal);
        }
    }

    /// Freezes first, so that nobody forks away while others are being killed. True when nobody was found.
    pub fn kill(self) -> bool {
        let mut frozen = HashSet::new();
        // A family that forks between two looks is caught by the next; one that wins every race, by the next call.
        for _ in 0..16 {
            let known = frozen.len();
            for pid in self.members() {
                if frozen.insert(pid) {
                    let _ = kill_process(pid, Signal::STOP);
                }
            }
            if frozen.len() == known {
                break;
            }
        }
        for &pid in &frozen {
            let _ = kill_process(pid, Signal::KILL);
        }
        frozen.is_empty()
    }

    /// Living members, the supervisor itself left out.
    fn members(self) -> Vec<Pid> {
        let own = self.supervisor.as_raw_nonzero().get();
        let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
        let mut found = Vec::new();
        let mut seen = HashSet::from([own]);
        for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let Ok(stat) = std::fs::read(process.path().join("stat")) else { continue };
            let Some(ProcStat { dead: false, parent, session }) = ProcStat::parse(&stat) else { continue };
            children.entry(parent).or_default().push(pid);
            if session == own && seen.insert(pid) {
                found.push(pid);
            }
        }
        let mut queue = found.clone();
        queue.push(own);
        while let Some(parent) = queue.pop() {
            for &child in children.get(&parent).into_iter().flatten() {
                if seen.insert(child) {
                    found.push(child);
                    queue.push(child);
                }
            }
        }
        found.into_iter().filter_map(Pid::from_raw).collect()
    }
}

/// No process table to read: the program's group stands for the family.
#[cfg(not(target_os = "linux"))]
impl ProcessFamily {
    pub fn signal(self, signal: Signal) {
        if let Some(leader) = self.leader {
            let _ = rustix::process::kill_process_group(leader, signal);
        }
    }

    pub fn kill(self) -> bool {
        self.leader.is_none_or(|leader| rustix::process::kill_process_group(leader, Signal::KILL).is_err())
    }
}

#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq, Eq)]
struct ProcStat {
    dead: bool,
    parent: i32,
    session: i32,
}

#[cfg(target_os = "linux")]
impl ProcStat {
    /// `pid (name) state ppid pgrp session …`; the name may hold anything, so the last `)` counts.
    fn parse(stat: &[u8]) -> Option<Self> {
        let end = stat.iter().rposition(|&byte| byte == b')')?;
        let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        Some(Self { dead: matches!(state, "Z" | "X" | "x"), parent, session })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_cannot_forge_its_parent() {
        let stat = b"77 (evil) Z 1 1 1) S 12 34 56 0 -1 4194560";
        assert_eq!(ProcStat::parse(stat), Some(ProcStat { dead: false, parent: 12, session: 56 }));
        assert_eq!(
            ProcStat::parse(b"77 (x) Z 12 34 56 0"),
            Some(ProcStat { dead: true, parent: 12, session: 56 })
        );
        assert_eq!(ProcStat::parse(b"nonsense"), None);
    }

    #[test]
    fn a_child_is_family_and_a_stranger_is_not() {
        let mut child = std::process::Command::new("/bin/sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let mine = ProcessFamily { supervisor: rustix::process::getpid(), leader: None }.members();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(mine.contains(&pid));
        assert!(!mine.contains(&Pid::INIT));
    }
}
