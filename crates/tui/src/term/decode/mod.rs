//! Bytes from a terminal into keys, pastes and reports. Pure: any split of the bytes gives the same, and time comes in only
//! as [`Decoder::flush`], when what waits will not be completed any more.

mod keys;
mod sequences;

use std::time::Duration;

use super::TermInput;
use crate::key::{Key, KeyCode};
use sequences::{Taken, take};

const ESC: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";

/// More than this of one paste is thrown away.
const PASTE_LIMIT: usize = 10 << 20;

/// A finger on Esc sends one byte; the rest of a sequence follows at once.
const LONE_ESC: Duration = Duration::from_millis(25);
const HALF_SEQUENCE: Duration = Duration::from_millis(200);
/// A terminal that never ends a paste must not keep the keyboard.
const HALF_PASTE: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(crate) struct Decoder {
    waiting: Vec<u8>,
    paste: Option<Vec<u8>>,
}

impl Decoder {
    pub(crate) fn feed(&mut self, bytes: &[u8], events: &mut Vec<TermInput>) {
        self.waiting.extend_from_slice(bytes);
        let mut done = 0;
        loop {
            let rest = &self.waiting[done..];
            if let Some(body) = &mut self.paste {
                let (used, ended) = take_pasted(rest, body);
                done += used;
                if !ended {
                    break;
                }
                events.extend(self.paste.take().map(pasted));
                continue;
            }
            match take(rest) {
                Taken::More => break,
                Taken::Nothing(used) => done += used,
                Taken::Event(used, event) => {
                    done += used;
                    events.push(event);
                }
                Taken::PasteBegins(used) => {
                    done += used;
                    self.paste = Some(Vec::new());
                }
            }
        }
        self.waiting.drain(..done);
    }

    /// For how long to wait for more before [`Self::flush`]; None: for ever.
    pub(crate) fn patience(&self) -> Option<Duration> {
        match (&self.paste, self.waiting.as_slice()) {
            (Some(_), _) => Some(HALF_PASTE),
            (None, []) => None,
            (None, [ESC] | [ESC, ESC]) => Some(LONE_ESC),
            (None, _) => Some(HALF_SEQUENCE),
        }
    }

    /// Nothing more came in time: takes what waits for what it is.
    pub(crate) fn flush(&mut self, events: &mut Vec<TermInput>) {
        if let Some(mut body) = self.paste.take() {
            body.append(&mut self.waiting);
            events.push(pasted(body));
            return;
        }
        let escape = Key::plain(KeyCode::Esc);
        match self.waiting.as_slice() {
            [ESC] => events.push(TermInput::Key(escape)),
            [ESC, ESC] => events.extend([TermInput::Key(escape), TermInput::Key(escape)]),
            // Alt with what begins a sequence.
            [ESC, begun @ (b'[' | b'O' | b']' | b'P')] => {
                events.push(TermInput::Key(Key::alt(char::from(*begun))));
            }
            _ => {}
        }
        self.waiting.clear();
    }
}

/// How many bytes belong to the paste, and whether it ended with them.
fn take_pasted(bytes: &[u8], body: &mut Vec<u8>) -> (usize, bool) {
    let end = bytes.windows(PASTE_END.len()).position(|window| window == PASTE_END);
    // The end may have begun already.
    let sure = end.unwrap_or(bytes.len().saturating_sub(PASTE_END.len() - 1));
    let room = PASTE_LIMIT.saturating_sub(body.len());
    body.extend_from_slice(&bytes[..sure.min(room)]);
    match end {
        Some(end) => (end + PASTE_END.len(), true),
        None => (sure, false),
    }
}

fn pasted(body: Vec<u8>) -> TermInput {
    // Terminals send the end of a line as if Enter were pressed.
    TermInput::Paste(String::from_utf8_lossy(&body).replace("\r\n", "\n").replace('\r', "\n"))
}

#[cfg(test)]
mod tests;
