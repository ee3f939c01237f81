//! A saved session written out as it is read, so that a session of any length needs no memory.
//! What an entry reads like is `display::history`'s business.

use std::io;
use std::os::fd::BorrowedFd;

use jiff::tz::TimeZone;
use zdx_protocol::Record;
use zdx_protocol::display::{history, json_safe};
use zdx_protocol::transcript::Entries;

use crate::args::Format;
use crate::output::write_all;

const CHUNK: usize = 64 << 10;

pub struct Replay<'a> {
    out: BorrowedFd<'a>,
    format: Format,
    buffer: Vec<u8>,
    entries: Entries,
    zone: TimeZone,
    failed: Option<io::Error>,
}

impl<'a> Replay<'a> {
    pub fn new(format: Format, out: BorrowedFd<'a>) -> Self {
        let (entries, zone) = (Entries::default(), TimeZone::system());
        Self { out, format, buffer: Vec::new(), entries, zone, failed: None }
    }

    pub fn record(&mut self, record: Record) {
        if self.failed.is_some() {
            return;
        }
        match self.format {
            Format::Json => {
                // What was read from a line can be written as one again.
                let line = record.to_line().unwrap_or_default();
                self.buffer.extend(json_safe(&String::from_utf8_lossy(&line)).as_bytes());
            }
            Format::Text => {
                self.entries.read(record);
                self.tell();
            }
        }
        if self.buffer.len() >= CHUNK {
            self.write();
        }
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.entries.end();
        self.tell();
        self.write();
        self.failed.map_or(Ok(()), Err)
    }

    fn tell(&mut self) {
        while let Some(entry) = self.entries.next() {
            self.buffer.extend(history::text(&entry, &self.zone).as_bytes());
        }
    }

    fn write(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.failed = self.failed.take().or(write_all(self.out, &buffer).err());
    }
}
