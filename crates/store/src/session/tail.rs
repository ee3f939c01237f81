//! Finds where reading a long session may begin: at its last compaction, which stands for everything before it.
//! Reads backwards in blocks; what it finds is checked by reading it as a record.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use zdx_protocol::record::Record;

use super::load::LINE_CAP;

const BLOCK: usize = 1 << 20;
const COMPACTION: &[u8] = b"\n{\"type\":\"compaction\",";
/// A revert may reach back past a compaction: then only the whole file tells what is left.
pub(super) const REVERT: &[u8] = b"\n{\"type\":\"revert\",";

pub(super) const MODEL: &[u8] = b"\n{\"type\":\"model\",";
pub(super) const META: &[u8] = b"\n{\"type\":\"meta\",";
/// Nothing that is looked for by its type alone is longer.
const SHORT_LINE: usize = 64 << 10;

/// The last readable record that begins so, of those in the last `most` bytes of a file. For short records only.
pub(super) fn last_of(file: &File, start: &[u8], most: u64) -> io::Result<Option<Record>> {
    let length = file.metadata()?.len();
    let stop = length.saturating_sub(most);
    let mut end = length;
    while end > stop {
        let from = end.saturating_sub(BLOCK as u64).max(stop);
        // A line that begins in this block may reach into the one after it.
        let upto = (end + SHORT_LINE as u64).min(length);
        let mut block = vec![0; usize::try_from(upto - from).unwrap_or(BLOCK)];
        file.read_exact_at(&mut block, from)?;
        let begins = usize::try_from(end - from).unwrap_or(block.len());
        let found = last_in(&block, (begins + start.len()).min(block.len()), start);
        if found.is_some() {
            return Ok(found);
        }
        end = from;
    }
    Ok(None)
}

/// The same in bytes that are there, of records that begin in the first `upto` of them.
pub(super) fn last_in(bytes: &[u8], mut upto: usize, start: &[u8]) -> Option<Record> {
    while let Some(at) = memchr::memmem::rfind(&bytes[..upto], start) {
        let line = bytes[at + 1..].split(|byte| *byte == b'\n').next().unwrap_or_default();
        if let Ok(record) = Record::parse(line) {
            return Some(record);
        }
        upto = at;
    }
    None
}

/// The offset of the last readable compaction of the file, when starting there is enough.
pub(super) fn last_compaction(file: &File) -> io::Result<Option<u64>> {
    let mut end = file.metadata()?.len();
    // The bytes after `end` that a line may have begun before it: enough to see a type across the border.
    let mut overlap = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(BLOCK as u64);
        let mut block = vec![0; usize::try_from(end - start).unwrap_or(BLOCK)];
        file.read_exact_at(&mut block, start)?;
        let fresh = block.len();
        block.extend_from_slice(&overlap);
        let mut upto = block.len();
        while let Some(at) = rfind_line(&block[..upto]) {
            if block[at..].starts_with(REVERT) {
                return Ok(None);
            }
            let offset = start + at as u64 + 1;
            if is_compaction(file, offset)? {
                return Ok(Some(offset));
            }
            upto = at;
        }
        block.truncate(fresh.min(COMPACTION.len() - 1));
        overlap = block;
        end = start;
    }
    Ok(None)
}

/// The last place where a line begins that is of one of the two types.
fn rfind_line(block: &[u8]) -> Option<usize> {
    let finders = [COMPACTION, REVERT].map(memchr::memmem::FinderRev::new);
    finders.iter().filter_map(|finder| finder.rfind(block)).max()
}

/// A damaged line is passed over, as everywhere.
fn is_compaction(file: &File, offset: u64) -> io::Result<bool> {
    let mut line = Vec::new();
    let mut block = vec![0; 64 << 10];
    loop {
        let read = file.read_at(&mut block, offset + line.len() as u64)?;
        let newline = block[..read].iter().position(|byte| *byte == b'\n');
        line.extend_from_slice(&block[..newline.unwrap_or(read)]);
        if newline.is_some() || read == 0 || line.len() > LINE_CAP {
            return Ok(matches!(Record::parse(&line), Ok(Record::Compaction(_))));
        }
    }
}
