//! What an agent can do, in lines: capabilities, modes, commands, sessions.

use serde_json::Value;
use zdx_acp::shapes::{AuthKind, AuthMethod, Choices, CommandInfo, Welcome};
use zdx_protocol::display::visible_line;

/// A longer name stands out of its column.
const COLUMN: usize = 40;

/// What is said below a heading.
fn below(heading: String, rows: Vec<(String, String)>) -> Vec<String> {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default().min(COLUMN);
    let row = |(name, text): &(String, String)| format!("  {name:width$}  {text}").trim_end().to_owned();
    std::iter::once(heading).chain(rows.iter().map(row)).collect()
}

pub fn capabilities(welcome: &Welcome, agent: &str) -> Vec<String> {
    let name = visible_line(welcome.name.as_deref().unwrap_or(agent));
    let version = welcome.agent_version.as_ref().map(|version| format!(" {}", visible_line(version)));
    let protocol = welcome.version.unwrap_or_default();
    let mut rows = Vec::new();
    flatten("", &welcome.capabilities, &mut rows);
    rows.extend(
        welcome
            .auth_methods
            .iter()
            .map(|method| (format!("auth {}", visible_line(&method.id)), about(method))),
    );
    below(format!("capabilities of {name}{} (protocol {protocol})", version.unwrap_or_default()), rows)
}

/// `promptCapabilities.image  true`; an empty object says yes.
fn flatten(path: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let below = if path.is_empty() {
                    visible_line(name)
                } else {
                    format!("{path}.{}", visible_line(name))
                };
                flatten(&below, value, rows);
            }
        }
        Value::Object(_) if !path.is_empty() => rows.push((path.to_owned(), "true".to_owned())),
        Value::Null | Value::Object(_) => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            rows.push((path.to_owned(), visible_line(&value.to_string())));
        }
    }
}

fn about(method: &AuthMethod) -> String {
    let name = method.name.clone().unwrap_or_default();
    let text = match (&method.description, &method.kind) {
        (Some(description), _) => format!("{name}: {description}"),
        (None, AuthKind::Variables(names)) => format!("{name}: set {}", names.join(", ")),
        (None, AuthKind::Agent | AuthKind::Terminal { .. }) => name,
    };
    visible_line(&text)
}

/// Those that there are, the current one marked.
pub fn modes(choices: &Choices) -> Vec<String> {
    let Some(setting) = choices.mode() else { return vec!["modes: the agent has none".to_owned()] };
    let current = setting.current();
    let rows = setting.choices().iter().map(|choice| {
        let mark = if current.as_deref() == Some(choice.value.as_str()) { "*" } else { "" };
        let about = [choice.name.as_deref(), choice.description.as_deref()];
        let about = about.into_iter().flatten().collect::<Vec<_>>().join(": ");
        (format!("{}{mark}", visible_line(&choice.value)), visible_line(&about))
    });
    below("modes".to_owned(), rows.collect())
}

pub fn commands(commands: Option<&[CommandInfo]>) -> Vec<String> {
    let Some(commands) = commands.filter(|commands| !commands.is_empty()) else {
        return vec!["commands: the agent told none".to_owned()];
    };
    let rows = commands.iter().map(|command| {
        let hint = command.hint.as_ref().map(|hint| format!(" <{}>", visible_line(hint))).unwrap_or_default();
        let about = visible_line(command.description.as_deref().unwrap_or_default());
        (format!("/{}{hint}", visible_line(&command.name)), about)
    });
    below("commands".to_owned(), rows.collect())
}

pub fn sessions(sessions: &[Value]) -> Vec<String> {
    if sessions.is_empty() {
        return vec!["sessions: the agent keeps none for this folder".to_owned()];
    }
    let text = |session: &Value, key: &str| visible_line(session[key].as_str().unwrap_or_default());
    let rows = sessions.iter().map(|session| {
        let about = [text(session, "updatedAt"), text(session, "title")];
        (text(session, "sessionId"), about.join("  ").trim().to_owned())
    });
    below("sessions".to_owned(), rows.collect())
}
