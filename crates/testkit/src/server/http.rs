//! Reads HTTP/1.1 requests off a socket, as strictly as needed to know exactly what a client sent.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::Value;

const MAX_HEAD: usize = 64 << 10;
const MAX_BODY: usize = 256 << 20;

/// One request as it came over the wire.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// With the query, as sent.
    pub path: String,
    /// In the order sent, names in lower case.
    pub headers: Vec<(String, String)>,
    /// `Null` when the body is no JSON.
    pub body: Value,
    /// The bytes of the body.
    pub raw: Vec<u8>,
    /// When the last byte had been read.
    pub at: Instant,
    /// Counts the connections of a server from 0: two requests with one number shared a connection.
    pub connection: usize,
}

impl Request {
    /// The first header of this name (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The `messages` of the body.
    #[track_caller]
    pub fn messages(&self) -> &[Value] {
        match self.body["messages"].as_array() {
            Some(messages) => messages,
            None => panic!("no messages in {} {}: {}", self.method, self.path, self.body),
        }
    }

    /// The names of the tools offered, on either wire.
    pub fn tool_names(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str().or(tool["function"]["name"].as_str())).collect()
    }

    pub(crate) fn lists_models(&self) -> bool {
        self.method == "GET" && self.path.split('?').next().is_some_and(|path| path.ends_with("/models"))
    }
}

pub(crate) enum Incoming {
    Request(Box<Request>),
    /// The client closed the connection, perhaps in the middle of a request.
    Gone,
    Malformed(String),
}

/// A connection's read side: bytes that came early wait here for the next request.
pub(crate) struct RequestReader {
    stream: TcpStream,
    buffer: Vec<u8>,
    connection: usize,
}

impl RequestReader {
    pub fn new(stream: TcpStream, connection: usize) -> Self {
        Self { stream, buffer: Vec::new(), connection }
    }

    pub fn next(&mut self) -> Incoming {
        match self.read_request() {
            Ok(request) => Incoming::Request(Box::new(request)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Incoming::Malformed(error.to_string())
            }
            Err(_) => Incoming::Gone,
        }
    }

    fn read_request(&mut self) -> io::Result<Request> {
        let head = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                let mut head = self.take(end + 4)?;
                head.truncate(end);
                break head;
            }
            if self.buffer.len() > MAX_HEAD {
                return Err(malformed("the head is longer than 64 KiB"));
            }
            self.fill()?;
        };
        let head = String::from_utf8(head).map_err(|_| malformed("the head is not UTF-8"))?;
        let (method, path, headers) = parse_head(&head)?;
        let raw = self.read_body(&headers)?;
        let at = Instant::now();
        let body = serde_json::from_slice(&raw).unwrap_or(Value::Null);
        Ok(Request { method, path, headers, body, raw, at, connection: self.connection })
    }

    fn read_body(&mut self, headers: &[(String, String)]) -> io::Result<Vec<u8>> {
        let header = |name| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        if header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        if header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            return self.read_chunks();
        }
        let length: usize = match header("content-length") {
            Some(text) => text.parse().map_err(|_| malformed("content-length is no number"))?,
            None => 0,
        };
        self.take_body(length)
    }

    fn read_chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.take_line()?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| malformed("bad chunk size"))?;
            if size == 0 {
                while !self.take_line()?.is_empty() {}
                return Ok(body);
            }
            if body.len() + size > MAX_BODY {
                return Err(malformed("the body is too long"));
            }
            body.extend(self.take(size)?);
            if !self.take_line()?.is_empty() {
                return Err(malformed("a chunk does not end where it should"));
            }
        }
    }

    fn take_body(&mut self, length: usize) -> io::Result<Vec<u8>> {
        if length > MAX_BODY {
            return Err(malformed("the body is too long"));
        }
        self.take(length)
    }

    fn take_line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n") {
                let mut line = self.take(end + 2)?;
                line.truncate(end);
                return String::from_utf8(line).map_err(|_| malformed("a chunk line is not UTF-8"));
            }
            self.fill()?;
        }
    }

    fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < count {
            self.fill()?;
        }
        let rest = self.buffer.split_off(count);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut piece = [0; 64 << 10];
        match self.stream.read(&mut piece)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.buffer.extend_from_slice(&piece[..count]);
                Ok(())
            }
        }
    }
}

type Head = (String, String, Vec<(String, String)>);

fn parse_head(head: &str) -> io::Result<Head> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(path), Some("HTTP/1.1" | "HTTP/1.0"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(malformed("the first line is no HTTP/1.1 request line"));
    };
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(':').ok_or_else(|| malformed("a header without a colon"))?;
        Ok((name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    Ok((method.to_owned(), path.to_owned(), headers.collect::<io::Result<_>>()?))
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
