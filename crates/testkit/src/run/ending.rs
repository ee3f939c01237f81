//! The end of a child, waited for with a deadline and told by the kernel. Its status is left for whoever reaps it.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

pub fn pid(id: u32) -> Pid {
    Pid::from_raw(id.cast_signed()).expect("a process id is not 0")
}

/// Returns when a child that was not reaped yet has ended, or at the deadline; then a thread waits on until it is killed.
pub fn wait_for_end(child: Pid, timeout: Duration) {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = tell.send(retry_on_intr(|| waitid(WaitId::Pid(child), options)).map(drop));
    });
    if let Ok(waited) = told.recv_timeout(timeout) {
        waited.expect("waiting for our own child");
    }
}
