//! A client that sees the bytes: no HTTP library joins, buffers or retries anything.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use zdx_testkit::ModelServer;

pub const SOON: Duration = Duration::from_secs(60);

pub fn connect(server: &ModelServer) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

pub fn request(method: &str, path: &str, body: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Sends one request and reads until the connection ends.
pub fn exchange(server: &ModelServer, method: &str, path: &str, body: &str) -> (Vec<u8>, io::Result<()>) {
    let mut stream = connect(server);
    let request = request(method, path, body).replacen("\r\n", "\r\nconnection: close\r\n", 1);
    stream.write_all(request.as_bytes()).unwrap();
    read_all(&mut stream)
}

pub fn post(server: &ModelServer, body: Value) -> String {
    let (bytes, end) = exchange(server, "POST", "/v1/chat/completions", &body.to_string());
    end.unwrap();
    String::from_utf8(bytes).unwrap()
}

/// What came, and how it ended.
pub fn read_all(stream: &mut TcpStream) -> (Vec<u8>, io::Result<()>) {
    let mut bytes = Vec::new();
    let end = stream.read_to_end(&mut bytes).map(drop);
    (bytes, end)
}

/// Reads until this text has come.
pub fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(text.as_bytes()) {
        stream.read_exact(&mut byte).unwrap_or_else(|error| {
            panic!("{text:?} did not come: {error}: {}", String::from_utf8_lossy(&bytes))
        });
        bytes.push(byte[0]);
    }
    String::from_utf8(bytes).unwrap()
}

/// The chunks of a chunked body, as they were framed.
pub fn chunks(answer: &str) -> Vec<String> {
    let mut rest = answer.split_once("\r\n\r\n").unwrap().1;
    let mut chunks = Vec::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            assert_eq!(after, "\r\n");
            return chunks;
        }
        chunks.push(after[..size].to_owned());
        rest = after[size..].strip_prefix("\r\n").unwrap();
    }
    panic!("the body has no end: {answer}");
}
