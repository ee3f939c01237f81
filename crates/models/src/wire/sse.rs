//! Server-sent events: bytes in any split become frames. Knows lines and fields, never what they mean.
//! Every byte is looked at once, so that ten megabytes in one-byte pieces cost no more than in one.

use super::Frame;
use crate::ModelError;

#[cfg(test)]
mod tests;

/// One event may not be larger: a server that never ends a line must not fill our memory.
pub const MAX_EVENT: usize = 64 * 1024 * 1024;

#[derive(Default)]
pub struct Framer {
    /// The line that has begun and not ended yet.
    line: Vec<u8>,
    frame: Frame,
    has_data: bool,
    /// The last line ended with CR: an LF that follows belongs to it.
    after_cr: bool,
    past_first_line: bool,
    limit: Option<usize>,
}

/// Called with each frame as it is completed; the frame is reused, so nothing is allocated for it.
pub type Sink<'a> = &'a mut dyn FnMut(&Frame) -> Result<(), ModelError>;

impl Framer {
    pub fn push(&mut self, mut bytes: &[u8], sink: Sink) -> Result<(), ModelError> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|&b| b == b'\n' || b == b'\r') else {
                self.line.extend_from_slice(bytes);
                return self.check_size();
            };
            self.after_cr = bytes[end] == b'\r';
            if self.line.is_empty() {
                self.end_line(&bytes[..end], sink)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                self.end_line(&line, sink)?;
                line.clear();
                self.line = line;
            }
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// The stream is over: the last event may lack its blank line, the last line its end.
    pub fn finish(&mut self, sink: Sink) -> Result<(), ModelError> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line, sink)?;
        }
        self.dispatch(sink)
    }

    fn end_line(&mut self, line: &[u8], sink: Sink) -> Result<(), ModelError> {
        let first = !std::mem::replace(&mut self.past_first_line, true);
        let line = if first { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        if line.is_empty() {
            return self.dispatch(sink);
        }
        let (field, value) = match line.iter().position(|&b| b == b':') {
            // A comment: a sign of life and nothing else.
            Some(0) => return Ok(()),
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.frame.data.push('\n');
                }
                self.has_data = true;
                self.frame.data.push_str(&String::from_utf8_lossy(value));
                self.check_size()
            }
            b"event" => {
                self.frame.event = Some(String::from_utf8_lossy(value).into_owned());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn dispatch(&mut self, sink: Sink) -> Result<(), ModelError> {
        let result = if self.has_data { sink(&self.frame) } else { Ok(()) };
        self.has_data = false;
        self.frame.event = None;
        self.frame.data.clear();
        result
    }

    fn check_size(&self) -> Result<(), ModelError> {
        let limit = self.limit.unwrap_or(MAX_EVENT);
        if self.line.len() + self.frame.data.len() <= limit {
            return Ok(());
        }
        Err(ModelError::Protocol(format!("one event is larger than {} MiB", limit >> 20)))
    }
}
