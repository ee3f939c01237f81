//! What zdx and a supervisor tell each other over their socket, both ends of it.
//!
//! Down: one byte that carries the program's standard input, then its arguments (a length, then each ended by a NUL). Up:
//! `Started` or `NotStarted`, and one `Status` more when the program ends.

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;

use rustix::io::FdFlags;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use rustix::process::WaitStatus;

/// The socket is the supervisor's own standard input, so the program's has to come over it. To be sent first, when there
/// is room for certain.
pub fn send_stdin(control: &UnixStream, stdin: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut carried = SendAncillaryBuffer::new(&mut space);
    let stdin = [stdin];
    if !carried.push(SendAncillaryMessage::ScmRights(&stdin)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    rustix::net::sendmsg(control, &[IoSlice::new(b"i")], &mut carried, SendFlags::empty())?;
    Ok(())
}

pub fn receive_stdin(control: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut carried = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(control, &mut [IoSliceMut::new(&mut byte)], &mut carried, RecvFlags::empty())
    })?;
    let mut received = carried.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let stdin = received.next().ok_or(io::ErrorKind::UnexpectedEof)?;
    // Not asked for on arrival, as not every system can; nothing is started in between.
    rustix::io::fcntl_setfd(stdin.as_fd(), FdFlags::CLOEXEC)?;
    Ok(stdin)
}

/// The program first. No argument may hold a NUL.
pub fn arguments(arguments: &[impl AsRef<OsStr>]) -> io::Result<Vec<u8>> {
    let length: usize = arguments.iter().map(|argument| argument.as_ref().len() + 1).sum();
    let mut message = u32::try_from(length).map_err(io::Error::other)?.to_le_bytes().to_vec();
    for argument in arguments {
        message.extend_from_slice(argument.as_ref().as_bytes());
        message.push(0);
    }
    Ok(message)
}

pub fn read_arguments(mut from: impl Read) -> io::Result<Vec<OsString>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    let mut bytes = Vec::new();
    from.take(length.into()).read_to_end(&mut bytes)?;
    if bytes.len() != length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let ended = bytes.split_inclusive(|&byte| byte == 0);
    Ok(ended.map(|argument| OsString::from_vec(argument[..argument.len() - 1].to_vec())).collect())
}

/// How a program fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupervisorStatus {
    Started,
    /// With the system's error number.
    NotStarted(i32),
    Exited {
        code: i32,
        more: bool,
    },
    Signalled {
        signal: i32,
        more: bool,
    },
}

impl SupervisorStatus {
    pub const SIZE: usize = 6;

    pub fn of(status: WaitStatus, more: bool) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Exited { code, more },
            (None, Some(signal)) => Self::Signalled { signal, more },
            (None, None) => Self::Exited { code: status.as_raw(), more },
        }
    }

    pub fn encode(self) -> [u8; Self::SIZE] {
        let (kind, number, more) = match self {
            Self::Started => (b'r', 0, false),
            Self::NotStarted(errno) => (b'e', errno, false),
            Self::Exited { code, more } => (b'x', code, more),
            Self::Signalled { signal, more } => (b's', signal, more),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [kind, u8::from(more), a, b, c, d]
    }

    pub fn decode([kind, more, number @ ..]: [u8; Self::SIZE]) -> Option<Self> {
        let (number, more) = (i32::from_le_bytes(number), more != 0);
        match kind {
            b'r' => Some(Self::Started),
            b'e' => Some(Self::NotStarted(number)),
            b'x' => Some(Self::Exited { code: number, more }),
            b's' => Some(Self::Signalled { signal: number, more }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_survives_the_socket() {
        for status in [
            SupervisorStatus::Started,
            SupervisorStatus::NotStarted(2),
            SupervisorStatus::Exited { code: 0, more: false },
            SupervisorStatus::Exited { code: 255, more: true },
            SupervisorStatus::Signalled { signal: 9, more: true },
        ] {
            assert_eq!(SupervisorStatus::decode(status.encode()), Some(status));
        }
        assert_eq!(SupervisorStatus::decode([b'?'; SupervisorStatus::SIZE]), None);
    }

    #[test]
    fn arguments_survive_the_socket_the_empty_and_the_odd_too() {
        let odd = OsStr::from_bytes(b"\xff\n");
        let given = [OsStr::new("program"), OsStr::new(""), odd, OsStr::new("")];
        let message = arguments(&given).unwrap();
        assert_eq!(read_arguments(&message[..]).unwrap(), given);
        assert_eq!(read_arguments(&arguments(&[] as &[&OsStr]).unwrap()[..]).unwrap(), [""; 0]);
        let cut = read_arguments(&message[..message.len() - 1]).unwrap_err();
        assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
    }
}
