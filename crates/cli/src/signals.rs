//! The signals that end or interrupt a run, as values. Decides nothing about what they lead to.

use std::io;
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// `timeout` and service managers tell the process and then its whole group: that is one request, not an impatient second.
const SAME_REQUEST: Duration = Duration::from_secs(1);

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
    /// The last one that no finger sends.
    sent: Option<(Caught, Instant)>,
}

impl Signals {
    pub fn listen() -> io::Result<Self> {
        let hang_up = if hang_up_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up,
            sent: None,
        })
    }

    /// The next signal; cancelling loses none. One that is sent twice at once is one signal.
    pub async fn next(&mut self) -> Caught {
        loop {
            let caught = self.any().await;
            if !self.is_repeated(caught) {
                return caught;
            }
        }
    }

    fn is_repeated(&mut self, caught: Caught) -> bool {
        match caught {
            // A second Ctrl-C is meant, however quick.
            Caught::Interrupt => false,
            Caught::Terminate | Caught::HangUp => {
                let now = Instant::now();
                let before = self.sent.filter(|(sent, at)| *sent == caught && now - *at < SAME_REQUEST);
                if before.is_none() {
                    self.sent = Some((caught, now));
                }
                before.is_some()
            }
        }
    }

    async fn any(&mut self) -> Caught {
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
