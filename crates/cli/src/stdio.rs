//! Our own stdin, stdout and stderr as streams, each behind a thread: who stops reading or writing stalls that thread and
//! nobody else.

use std::io;
use std::os::fd::BorrowedFd;
use std::thread;

use rustix::io::Errno;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::{mpsc, oneshot};

use crate::output::write_all;

const CHUNK: usize = 64 << 10;
/// Chunks on their way to or from a thread.
const WAITING: usize = 4;

pub fn stdin() -> io::Result<DuplexStream> {
    let (reader, mut incoming) = tokio::io::duplex(CHUNK);
    let (send, mut chunks) = mpsc::channel::<Vec<u8>>(WAITING);
    let read = move || {
        let mut buffer = vec![0; CHUNK];
        loop {
            match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
                Ok(0) => return,
                Ok(n) if send.blocking_send(buffer[..n].to_vec()).is_err() => return,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    };
    thread::Builder::new().name("stdin".into()).spawn(read)?;
    tokio::spawn(async move {
        while let Some(chunk) = chunks.recv().await {
            if incoming.write_all(&chunk).await.is_err() {
                return;
            }
        }
    });
    Ok(reader)
}

/// What is written, and what is over once all of it was, or cannot be.
pub type Written = oneshot::Receiver<()>;

pub fn stdout() -> io::Result<(DuplexStream, Written)> {
    to(rustix::stdio::stdout)
}

pub fn stderr() -> io::Result<(DuplexStream, Written)> {
    to(rustix::stdio::stderr)
}

fn to(file: fn() -> BorrowedFd<'static>) -> io::Result<(DuplexStream, Written)> {
    let (writer, mut outgoing) = tokio::io::duplex(CHUNK);
    let (send, mut chunks) = mpsc::channel::<Vec<u8>>(WAITING);
    let (done, written) = oneshot::channel();
    let write = move || {
        while let Some(chunk) = chunks.blocking_recv() {
            if write_all(file(), &chunk).is_err() {
                break;
            }
        }
        // Nobody may wait for it any more.
        let _ = done.send(());
    };
    thread::Builder::new().name("output".into()).spawn(write)?;
    tokio::spawn(async move {
        let mut buffer = vec![0; CHUNK];
        while let Ok(n @ 1..) = outgoing.read(&mut buffer).await {
            if send.send(buffer[..n].to_vec()).await.is_err() {
                return;
            }
        }
    });
    Ok((writer, written))
}
