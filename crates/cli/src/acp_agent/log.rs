//! What a person may want to look up, on stderr behind a thread: stdout carries frames alone. What nobody reads is dropped.

use std::io;
use std::thread;

use tokio::sync::mpsc;
use zdx_protocol::display::plain;

use crate::output::write_all;

/// On their way.
const LINES: usize = 256;

/// Lines on stderr.
#[derive(Clone)]
pub struct Log(mpsc::Sender<String>);

impl Log {
    pub fn start() -> io::Result<Self> {
        let (send, mut lines) = mpsc::channel::<String>(LINES);
        let write = move || {
            while let Some(line) = lines.blocking_recv() {
                // Nobody can be told that stderr does not work.
                let _ = write_all(rustix::stdio::stderr(), format!("{line}\n").as_bytes());
            }
        };
        thread::Builder::new().name("stderr".into()).spawn(write)?;
        Ok(Self(send))
    }

    pub fn say(&self, text: &str) {
        let _ = self.0.try_send(format!("zdx: {}", plain(text)));
    }
}
