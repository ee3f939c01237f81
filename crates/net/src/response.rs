//! An answer as it comes, and unpacked where a server packed it although nobody asked for that.

use std::io::{self, Write};
use std::time::Duration;

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use tokio::time::timeout;

use crate::error::{NetError, root_cause};

/// Packed bytes that are unpacked at once. It bounds the size of a piece: gzip packs a thousandfold at most.
const PACKED_PIECE: usize = 16 * 1024;
/// The first byte of a gzip file. No text begins with it.
const GZIP: u8 = 0x1f;

/// A server's answer, its body still on the way. Dropping it ends the request.
#[derive(Debug)]
pub struct Response {
    answer: reqwest::Response,
    packing: Packing,
    /// Packed bytes that have come and were not unpacked yet.
    packed: Bytes,
}

#[derive(Debug)]
enum Packing {
    /// Nothing has come.
    Unknown,
    Plain,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

impl Response {
    pub(crate) fn new(answer: reqwest::Response) -> Self {
        Self { answer, packing: Packing::Unknown, packed: Bytes::new() }
    }

    pub fn status(&self) -> u16 {
        self.answer.status().as_u16()
    }

    pub fn is_success(&self) -> bool {
        self.answer.status().is_success()
    }

    /// A header's value, when it is there and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.answer.headers().get(name)?.to_str().ok()
    }

    /// The next piece of the body, however long it takes; `None` at its end. Safe to cancel: nothing is lost.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        loop {
            if self.packed.is_empty() {
                let chunk = self.answer.chunk().await;
                match chunk.map_err(|error| NetError::Broken(root_cause(&error)))? {
                    Some(chunk) => self.packed = chunk,
                    None => return self.rest(),
                }
            }
            let piece = self.unpack().map_err(|error| unpacking_failed(&error))?;
            if !piece.is_empty() {
                return Ok(Some(piece));
            }
        }
    }

    /// The header is not asked: some proxies unpack a body and leave the header as it was.
    fn unpack(&mut self) -> io::Result<Bytes> {
        if let (Packing::Unknown, Some(first)) = (&self.packing, self.packed.first()) {
            self.packing = match *first {
                GZIP => Packing::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
                _ => Packing::Plain,
            };
        }
        match &mut self.packing {
            Packing::Unknown | Packing::Plain => Ok(std::mem::take(&mut self.packed)),
            Packing::Gzip(decoder) => {
                let piece = self.packed.split_to(self.packed.len().min(PACKED_PIECE));
                decoder.write_all(&piece)?;
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()).into())
            }
        }
    }

    /// The end of the body. A packed one has to be whole.
    fn rest(&mut self) -> Result<Option<Bytes>, NetError> {
        let Packing::Gzip(decoder) = &mut self.packing else { return Ok(None) };
        decoder.try_finish().map_err(|error| unpacking_failed(&error))?;
        let rest = std::mem::take(decoder.get_mut());
        self.packing = Packing::Plain;
        Ok(Some(rest.into()).filter(|rest: &Bytes| !rest.is_empty()))
    }

    /// Reads until the end or `limit`, whichever comes first, waiting `idle` for each piece. What came before a failure
    /// is in `body` all the same.
    pub async fn read_into(
        &mut self,
        body: &mut Vec<u8>,
        limit: usize,
        idle: Duration,
    ) -> Result<(), NetError> {
        while body.len() < limit {
            match timeout(idle, self.chunk()).await {
                Ok(chunk) => match chunk? {
                    Some(chunk) => body.extend_from_slice(&chunk),
                    None => break,
                },
                Err(_) => return Err(NetError::Silent { after: idle }),
            }
        }
        Ok(())
    }
}

fn unpacking_failed(error: &io::Error) -> NetError {
    NetError::Broken(format!("its compressed body cannot be read: {error}"))
}
