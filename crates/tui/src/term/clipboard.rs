//! Text for the clipboard of whoever sits at the terminal, also over SSH: OSC 52, in tmux its own buffer.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Longer sequences are dropped by terminals without a word.
const LONGEST: usize = 100_000;
/// tmux answers at once or not at all.
const TMUX: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// Sent; terminals do not say whether they took it.
    Clipboard,
    /// In a buffer of tmux, and in the clipboard if tmux may set that.
    TmuxBuffer,
    /// Terminals take no more than about 75,000 bytes.
    TooLong,
}

/// tmux ignores OSC 52 of programs unless configured otherwise, but takes text from its own command and passes it on.
pub(super) fn to_tmux(text: &str) -> bool {
    let (text, (done, wait)) = (text.to_owned(), mpsc::channel());
    let load = move || {
        let _ = done.send(load_buffer(text.as_bytes()).is_some());
    };
    let started = std::thread::Builder::new().name("clipboard".into()).spawn(load).is_ok();
    started && wait.recv_timeout(TMUX).unwrap_or(false)
}

fn load_buffer(text: &[u8]) -> Option<()> {
    let mut tmux = Command::new("tmux")
        .args(["load-buffer", "-w", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let written = tmux.stdin.take()?.write_all(text);
    let status = tmux.wait().ok()?;
    (written.is_ok() && status.success()).then_some(())
}

/// None: too long. `tmux`: wrapped, so that it reaches the terminal around.
pub(super) fn osc52(text: &str, tmux: bool) -> Option<String> {
    let code = base64(text.as_bytes());
    if code.len() > LONGEST {
        return None;
    }
    Some(if tmux {
        format!("\x1bPtmux;\x1b\x1b]52;c;{code}\x07\x1b\\")
    } else {
        format!("\x1b]52;c;{code}\x07")
    })
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let index = bits >> (18 - 6 * digit) & 63;
            text.push(if digit > three.len() { '=' } else { char::from(DIGITS[index as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_coded_as_terminals_expect_it() {
        for (text, code) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("中", "5Lit")]
        {
            assert_eq!(base64(text.as_bytes()), code);
        }
        assert_eq!(osc52("foo", false).unwrap(), "\x1b]52;c;Zm9v\x07");
        assert_eq!(osc52("foo", true).unwrap(), "\x1bPtmux;\x1b\x1b]52;c;Zm9v\x07\x1b\\");
        assert_eq!(osc52(&"x".repeat(80_000), false), None);
    }
}
