//! Renders values of an untrusted project file for the person who decides about it. Shows everything except secrets: a value
//! that is left out could be the one that runs code.

use serde_json::{Map, Value};
use zdx_guard::selects_helper;
use zdx_protocol::redact::{Redactor, names_secret_value};

use super::schema::ValueKind;
use super::secret::{called_secret, in_header};
use super::show::{HIDDEN, without_password};

/// Values shorter than this are not recognised as secrets by their content, only by their name.
const SHORT: usize = 8;

/// The value with its secrets masked. `name` is the last segment of the key.
pub(super) fn disclose(kind: ValueKind, name: &str, value: &Value) -> Value {
    let disclosure = Disclosure { redactor: Redactor::new::<&str>([]).ok() };
    match (kind, value) {
        (ValueKind::Header, Value::String(text)) => disclosure.header(name, text).into(),
        (ValueKind::Url, Value::String(url)) => disclosure.text(url).into(),
        (ValueKind::Open, value) => disclosure.value(value),
        (_, value) => value.clone(),
    }
}

struct Disclosure {
    /// None hides every text.
    redactor: Option<Redactor>,
}

impl Disclosure {
    fn value(&self, value: &Value) -> Value {
        match value {
            Value::Object(table) => Value::Object(self.table(table)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::String(text) => self.text(text).into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn table(&self, table: &Map<String, Value>) -> Map<String, Value> {
        let shown = |(name, value): (&String, &Value)| {
            let value = match (name.as_str(), value) {
                ("env" | "environment", Value::Object(inner)) => {
                    Value::Object(texts(inner, |name, text| self.variable(name, text)))
                }
                ("headers", Value::Object(inner)) => {
                    Value::Object(texts(inner, |name, text| self.header(name, text)))
                }
                (name, Value::String(text)) => self.variable(name, text).into(),
                (_, value) => self.value(value),
            };
            (name.clone(), value)
        };
        table.iter().map(shown).collect()
    }

    /// A variable that selects code is shown whatever its name resembles (`GIT_CONFIG_KEY_0`).
    fn variable(&self, name: &str, text: &str) -> String {
        let short = (1..SHORT).contains(&text.len()) && !text.starts_with(['$', '/', '.', '~']);
        let secret = names_secret_value(name, text) || (called_secret(name) && short);
        match secret && !selects_helper(name) && !is_reference(text) {
            true => HIDDEN.to_owned(),
            false => self.text(text),
        }
    }

    fn header(&self, name: &str, text: &str) -> String {
        match in_header(name, text) && !is_reference(text) {
            true => HIDDEN.to_owned(),
            false => self.text(text),
        }
    }

    fn text(&self, text: &str) -> String {
        let text = without_password(text);
        self.redactor
            .as_ref()
            .map_or_else(|| HIDDEN.to_owned(), |redactor| redactor.redact(&text).into_owned())
    }
}

/// Numbers and booleans stay as they are.
fn texts(table: &Map<String, Value>, shown: impl Fn(&str, &str) -> String) -> Map<String, Value> {
    let one = |(name, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.clone(), |text| shown(name, text).into());
        (name.clone(), value)
    };
    table.iter().map(one).collect()
}

/// `${NAME}` or `Bearer ${NAME}`: names a variable and holds no secret itself.
fn is_reference(text: &str) -> bool {
    let name = text.rsplit_once(' ').map_or(text, |(_, last)| last);
    let inner = name.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|inner| inner.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
        && text.len() - name.len() <= "Bearer ".len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(value: &Value) -> String {
        disclose(ValueKind::Open, "server", value).to_string()
    }

    #[test]
    fn variables_that_run_code_are_shown() {
        for (name, value) in [
            ("NODE_OPTIONS", "--require ./x.js"),
            ("PATH", "./bin:/usr/bin"),
            ("LD_PRELOAD", "./evil.so"),
            ("PYTHONPATH", "tools/lib"),
            ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
            ("GIT_CONFIG_VALUE_0", "./run-me --with-a-long-value"),
            ("BASH_FUNC_TOKEN%%", "() { ./run-me now; }"),
            ("MODE", "planted"),
            ("SSH_KEY", "./keys/id"),
            ("GITHUB_TOKEN", "${OTHER_TOKEN}"),
        ] {
            let text = shown(&json!({"command": ["x"], "env": {name: value}}));
            assert!(text.contains(&json!({name: value}).to_string()), "{text}");
        }
    }

    #[test]
    fn secrets_stay_hidden_and_the_rest_of_the_value_is_shown() {
        let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
        let options = format!("--require ./x.js --auth-token={secret}");
        let value = json!({
            "url": format!("https://user:hunter22@host.example/mcp?token={secret}"),
            "headers": {
                "Authorization": "Bearer abcdefgh12345678",
                "X-Trace": "on",
                "X-Api-Key": "${MY_KEY}",
                "Proxy-Authorization": "Bearer ${MINE}",
            },
            "env": {"DB_PASSWORD": "hunter2", "API_KEY": "Zx81-abcdefghij", "NODE_OPTIONS": options, "PORT": 80},
        });
        let text = shown(&value);
        for secret in [secret.as_str(), "hunter2", "Zx81", "abcdefgh12345678"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        for visible in [
            "@host.example/mcp",
            "--require ./x.js",
            "\"X-Trace\":\"on\"",
            "\"X-Api-Key\":\"${MY_KEY}\"",
            "Bearer ${MINE}",
            "\"PORT\":80",
        ] {
            assert!(text.contains(visible), "{visible} in {text}");
        }
    }
}
