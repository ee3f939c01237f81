//! The signals that end or interrupt a run, as values. Decides nothing about what they lead to.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    Interrupt,
    Terminate,
    HangUp,
}

pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// None under `nohup`: whoever ignored it wants the run to survive the terminal.
    hang_up: Option<Signal>,
}

impl Signals {
    pub fn listen() -> io::Result<Self> {
        let hang_up = if hang_up_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up,
        })
    }

    /// The next signal; cancelling loses none.
    pub async fn next(&mut self) -> Caught {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Caught::Interrupt,
            _ = self.terminate.recv() => Caught::Terminate,
            _ = hang_up => Caught::HangUp,
        }
    }
}

#[cfg(target_os = "linux")]
fn hang_up_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 != 0)
}

#[cfg(not(target_os = "linux"))]
fn hang_up_ignored() -> bool {
    false
}
