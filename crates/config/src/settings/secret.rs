//! Is what a file says a secret? Then it has no place there: headers, addresses, whatever is called a key.
//! Only files are asked about: a variable is the right place for one.

use serde_json::Value;
use zdx_protocol::redact::{Redactor, names_secret_value};

use super::schema::ValueKind;

/// Headers that carry a credential, whatever their value looks like.
const HEADERS: [&str; 7] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "cookie",
    "set-cookie",
];

/// `name` is the last word of the key's path.
pub(super) fn is_one(kind: ValueKind, name: &str, value: &Value) -> bool {
    match (kind, value) {
        (ValueKind::Header, Value::String(text)) => in_header(name, text),
        (ValueKind::Url, Value::String(text)) => in_url(text),
        (ValueKind::Open, value) => somewhere_in(name, value),
        _ => false,
    }
}

/// A name that people give to keys and passwords.
pub(super) fn called_secret(name: &str) -> bool {
    let name = name.to_lowercase().replace(['_', '-'], "");
    ["apikey", "token", "secret", "password"].iter().any(|end| name.ends_with(end))
}

/// Whether a header of this name and value carries a credential.
pub(super) fn in_header(name: &str, value: &str) -> bool {
    let known = HEADERS.contains(&name.to_ascii_lowercase().as_str());
    let scheme = value.split_once(' ').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    !value.is_empty()
        && (known
            || called_secret(name)
            || names_secret_value(name, value)
            || matches!(scheme.as_str(), "bearer" | "basic")
            || has_shape(value))
}

fn in_url(url: &str) -> bool {
    password(url).is_some_and(|password| !password.is_empty()) || has_shape(url)
}

/// Tables that other parts read: what they send along, and where to.
fn somewhere_in(name: &str, value: &Value) -> bool {
    match value {
        Value::Object(table) if name == "headers" => {
            table.iter().any(|(name, value)| value.as_str().is_some_and(|value| in_header(name, value)))
        }
        Value::Object(table) => table.iter().any(|(name, value)| somewhere_in(name, value)),
        Value::Array(items) => items.iter().any(|item| somewhere_in("", item)),
        Value::String(text) => {
            (text.starts_with("http://") || text.starts_with("https://"))
                && password(text).is_some_and(|password| !password.is_empty())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What zdx would mask wherever it wrote it.
fn has_shape(text: &str) -> bool {
    Redactor::new::<&str>([]).is_ok_and(|redactor| redactor.redact(text) != text)
}

/// The password in `scheme://user:password@host`.
pub fn password(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let (user, _) = authority.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password)
}
