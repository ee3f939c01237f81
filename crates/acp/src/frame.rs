//! One line of the wire: a request, a notification or a response.

use serde_json::{Value, json};

use crate::error::RpcError;

/// As the one who asks wrote it: a number or a string. The two sides count for themselves, so one side's 0 is not the other's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Id(String);

impl Id {
    pub fn number(n: u64) -> Self {
        Self(n.to_string())
    }

    pub fn read(id: &Value) -> Option<Self> {
        matches!(id, Value::Number(_) | Value::String(_)).then(|| Self(id.to_string()))
    }

    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or(Value::Null)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    Request {
        id: Id,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// Without an id: to something that could not be read.
    Response {
        id: Option<Id>,
        result: Result<Value, RpcError>,
    },
}

/// Why a line is no frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    NotJson,
    /// JSON, but neither a request nor a notification nor a response.
    NotRpc,
    TooLong,
}

impl Frame {
    pub fn read(line: &[u8]) -> Result<Self, Unreadable> {
        let value: Value = serde_json::from_slice(line).map_err(|_| Unreadable::NotJson)?;
        let Value::Object(mut fields) = value else { return Err(Unreadable::NotRpc) };
        let id = fields.get("id").and_then(Id::read);
        if let Some(Value::String(method)) = fields.remove("method") {
            let params = fields.remove("params").unwrap_or(Value::Null);
            return match (id, fields.contains_key("id")) {
                (Some(id), _) => Ok(Self::Request { id, method, params }),
                (None, false) => Ok(Self::Notification { method, params }),
                (None, true) => Err(Unreadable::NotRpc),
            };
        }
        // Some write both, one of them null.
        let error = fields.remove("error").filter(|error| !error.is_null());
        match (error, fields.remove("result")) {
            (Some(error), _) => Ok(Self::Response { id, result: Err(RpcError::read(error)) }),
            (None, Some(result)) if id.is_some() => Ok(Self::Response { id, result: Ok(result) }),
            (None, _) => Err(Unreadable::NotRpc),
        }
    }

    /// As one line, without its end.
    pub fn write(&self) -> String {
        let frame = match self {
            Self::Request { id, method, params } => {
                json!({"jsonrpc": "2.0", "id": id.to_value(), "method": method, "params": params})
            }
            Self::Notification { method, params } => {
                json!({"jsonrpc": "2.0", "method": method, "params": params})
            }
            Self::Response { id, result } => {
                let id = id.as_ref().map_or(Value::Null, Id::to_value);
                match result {
                    Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                    Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error.to_value()}),
                }
            }
        };
        frame.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::code;

    fn read(line: &str) -> Result<Frame, Unreadable> {
        Frame::read(line.as_bytes())
    }

    #[test]
    fn the_three_kinds_are_told_apart() {
        let id = Id::number(0);
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":0,"method":"a/b","params":{"x":1}}"#),
            Ok(Frame::Request { id: id.clone(), method: "a/b".into(), params: json!({"x": 1}) })
        );
        assert_eq!(
            read(r#"{"method":"n"}"#),
            Ok(Frame::Notification { method: "n".into(), params: Value::Null })
        );
        assert_eq!(
            read(r#"{"id":0,"result":null}"#),
            Ok(Frame::Response { id: Some(id), result: Ok(Value::Null) })
        );
    }

    #[test]
    fn ids_go_back_as_they_came() {
        for id in [json!(7), json!("7"), json!("a-b"), json!(u64::MAX), json!(-1)] {
            assert_eq!(Id::read(&id).unwrap().to_value(), id);
        }
        assert_ne!(Id::read(&json!(7)), Id::read(&json!("7")));
        assert_eq!(Id::read(&Value::Null), None);
    }

    #[test]
    fn errors_are_errors_however_they_look() {
        for (line, code, message) in [
            (r#"{"id":1,"error":{"code":-32000,"message":"log in"}}"#, -32000, "log in"),
            (r#"{"id":1,"result":null,"error":{"code":5,"message":"x"}}"#, 5, "x"),
            (r#"{"id":1,"error":"boom"}"#, code::INTERNAL, r#""boom""#),
            (r#"{"id":null,"error":{"code":-32700,"message":"?"}}"#, code::PARSE, "?"),
        ] {
            let Ok(Frame::Response { result: Err(error), .. }) = read(line) else { panic!("{line}") };
            assert_eq!((error.code, error.message.as_str()), (code, message));
        }
        let both = read(r#"{"id":1,"result":{"a":1},"error":null}"#);
        assert!(matches!(both, Ok(Frame::Response { result: Ok(_), .. })));
    }

    #[test]
    fn what_is_no_frame_says_so() {
        for line in ["null", "[]", "{}", r#"{"id":1}"#, r#"{"id":null,"method":"x"}"#, r#"{"result":1}"#] {
            assert_eq!(read(line), Err(Unreadable::NotRpc), "{line}");
        }
        assert_eq!(read("hello"), Err(Unreadable::NotJson));
        assert_eq!(Frame::read(b"\xff{}"), Err(Unreadable::NotJson));
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_reads_the_same(method in "\\PC*", text in "(?s).*", n: u64) {
            let params = json!({"text": text});
            for frame in [
                Frame::Request { id: Id::number(n), method: method.clone(), params: params.clone() },
                Frame::Notification { method, params: params.clone() },
                Frame::Response { id: Some(Id::number(n)), result: Ok(params) },
                Frame::Response { id: Some(Id::number(n)), result: Err(RpcError::new(-1, text)) },
            ] {
                let line = frame.write();
                assert!(!line.contains('\n'));
                assert_eq!(Frame::read(line.as_bytes()), Ok(frame));
            }
        }
    }
}
