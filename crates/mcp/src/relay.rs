//! The lines of a server's stdout on their way to the protocol: bounded, and only those that may be messages. A line that is
//! too long is an error of the call that it answers, and of nothing else.

use std::sync::{Mutex, PoisonError};

use memchr::memchr;
use memchr::memmem::find;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

/// Just below what the protocol's own reader takes.
pub const LONGEST_LINE: usize = (16 << 20) - 1024;
/// Of a line that is too long, where its id is looked for.
const KEPT: usize = 4 << 10;
const SHOWN: usize = 160;

/// Where a tool of the listing says that it needs a task: the protocol's own types have no place for it any more.
pub const TASK_MARK: &str = "zdx/needs-task";

/// What was heard that is no message.
#[derive(Default)]
pub struct StrayOutput(Mutex<Option<String>>);

impl StrayOutput {
    /// The first of it, as it may be shown.
    pub fn first(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]).trim().to_owned();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
    }
}

/// Until the server closes its stdout, or nobody reads on.
pub async fn relay(stdout: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, strays: &StrayOutput) {
    let mut from = BufReader::with_capacity(64 << 10, stdout);
    let mut line = RelayedLine::default();
    loop {
        let piece = match from.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(piece) => piece,
        };
        let end = memchr(b'\n', piece);
        let taken = end.map_or(piece.len(), |at| at + 1);
        line.add(&piece[..taken]);
        from.consume(taken);
        if end.is_some()
            && let Some(message) = std::mem::take(&mut line).finish(strays)
            && to.write_all(&message).await.is_err()
        {
            return;
        }
    }
    // What has no end is no message.
    let _ = to.shutdown().await;
}

#[derive(Default)]
struct RelayedLine {
    bytes: Vec<u8>,
    /// It is too long: only its beginning is in `bytes`, and here its end.
    tail: Option<Vec<u8>>,
}

impl RelayedLine {
    fn add(&mut self, piece: &[u8]) {
        if self.tail.is_none() && self.bytes.len() + piece.len() > LONGEST_LINE {
            self.tail = Some(self.bytes.split_off(self.bytes.len().min(KEPT)));
            self.bytes.shrink_to_fit();
        }
        match &mut self.tail {
            None => self.bytes.extend_from_slice(piece),
            Some(tail) => {
                tail.extend_from_slice(piece);
                let gone = tail.len().saturating_sub(KEPT);
                tail.drain(..gone);
            }
        }
    }

    /// What is passed on of it.
    fn finish(self, strays: &StrayOutput) -> Option<Vec<u8>> {
        if let Some(tail) = &self.tail {
            let Some(id) = id_of(&self.bytes, tail) else {
                strays.note(b"a line that is too long to be read");
                return None;
            };
            let error = json!({"code": -32000, "message": "the answer is longer than 16 MiB, which zdx does not read"});
            let message = json!({"jsonrpc": "2.0", "id": id, "error": error});
            return Some(format!("{message}\n").into_bytes());
        }
        match self.bytes.trim_ascii_start().first() {
            None => None,
            Some(b'{' | b'[') => Some(marked(self.bytes)),
            Some(_) => {
                strays.note(&self.bytes);
                None
            }
        }
    }
}

/// The id of an answer, from its beginning or its end: wherever it stands, it is outside of the result.
fn id_of(head: &[u8], tail: &[u8]) -> Option<u64> {
    let head = String::from_utf8_lossy(head);
    let before = head.find("\"result\"").map_or(&*head, |at| &head[..at]);
    if let Some((id, _)) = before.find("\"id\"").and_then(|at| number(&before[at + 4..])) {
        return Some(id);
    }
    let tail = String::from_utf8_lossy(tail);
    let (id, rest) = tail.rfind("\"id\"").and_then(|at| number(&tail[at + 4..]))?;
    let rest: String = rest.chars().filter(|c| !c.is_whitespace()).collect();
    matches!(rest.as_str(), "}" | ",\"jsonrpc\":\"2.0\"}").then_some(id)
}

/// `: 12`, and what is behind it.
fn number(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start().strip_prefix(':')?.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Has tools that need a task say so where it is not lost.
fn marked(line: Vec<u8>) -> Vec<u8> {
    if find(&line, b"\"taskSupport\"").is_none() {
        return line;
    }
    let Ok(mut message) = serde_json::from_slice::<Value>(&line) else { return line };
    let Some(tools) = message.pointer_mut("/result/tools").and_then(Value::as_array_mut) else { return line };
    for tool in tools {
        if tool.pointer("/execution/taskSupport") == Some(&json!("required")) {
            if !tool["_meta"].is_object() {
                tool["_meta"] = json!({});
            }
            tool["_meta"][TASK_MARK] = json!(true);
        }
    }
    format!("{message}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn passed(input: &[u8]) -> (String, Option<String>) {
        let (strays, mut out) = (StrayOutput::default(), Vec::new());
        relay(input, &mut out, &strays).await;
        (String::from_utf8(out).unwrap(), strays.first())
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    #[test]
    fn only_messages_pass() {
        let (out, stray) = run(passed(b"hello\n\n{\"a\":1}\n  [1]\nbye\n{\"half\":"));
        assert_eq!(out, "{\"a\":1}\n  [1]\n");
        assert_eq!(stray.as_deref(), Some("hello"));
    }

    #[test]
    fn a_line_that_is_too_long_is_an_error_of_its_call() {
        let long = "x".repeat(LONGEST_LINE);
        for line in [
            format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{\"text\":\"{long}\"}}}}\n"),
            format!("{{\"result\":{{\"id\":1,\"text\":\"{long}\"}},\"jsonrpc\":\"2.0\",\"id\": 7}}\n"),
            format!("{{\"result\":{{\"text\":\"{long}\"}},\"id\":7,\"jsonrpc\":\"2.0\"}}\n"),
        ] {
            let (out, stray) = run(passed(format!("{line}{{\"next\":1}}\n").as_bytes()));
            let (error, next) = out.split_once('\n').unwrap();
            let error: Value = serde_json::from_str(error).unwrap();
            assert_eq!((&error["id"], &error["error"]["code"]), (&json!(7), &json!(-32000)));
            assert_eq!((next, stray), ("{\"next\":1}\n", None));
        }
        let (out, stray) = run(passed(format!("{{\"id\":\"{long}\"}}\n").as_bytes()));
        assert_eq!(out, "");
        assert!(stray.unwrap().contains("too long"));
    }

    #[test]
    fn a_tool_that_needs_a_task_keeps_saying_so() {
        let list = br#"{"id":1,"result":{"tools":[{"name":"a","execution":{"taskSupport":"required"}},{"name":"b","execution":{"taskSupport":"optional"}},{"name":"c","_meta":"x","execution":{"taskSupport":"required"}}]}}"#;
        let (out, _) = run(passed(&[list.as_slice(), b"\n"].concat()));
        let out: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(out["result"]["tools"][0]["_meta"][TASK_MARK], true);
        assert_eq!(out["result"]["tools"][1]["_meta"], Value::Null);
        assert_eq!(out["result"]["tools"][2]["_meta"][TASK_MARK], true, "whatever the server put there");
    }
}
