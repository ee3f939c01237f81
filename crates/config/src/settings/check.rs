//! Does a written value fit its key? Turns tree nodes into the JSON that `Config` is read from.

use std::path::{Path, PathBuf};

use serde_json::Value;
use zdx_models::wire::Wire;
use zdx_protocol::Approval;

use super::schema::ValueKind;
use super::tree::{ConfigNode, NodeShape};

/// Why a value does not fit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ValueProblem {
    pub line: usize,
    pub what: ProblemKind,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProblemKind {
    Wrong(String),
    /// The value is, or would be, a secret; it is never repeated.
    Secret,
}

/// Where relative paths start and what `~` means.
pub(super) struct PathBases<'a> {
    pub folder: &'a Path,
    /// Where `instructions` start: in a project's configuration they are files of the project.
    pub instructions: &'a Path,
    pub home: Option<&'a Path>,
}

/// The value in the form `Config` reads; none when it is an empty text, which counts as not written.
pub(super) fn check(
    kind: ValueKind,
    node: &ConfigNode,
    places: &PathBases,
) -> Result<Option<Value>, ValueProblem> {
    let value = match kind {
        ValueKind::Text => text(node)?.into(),
        ValueKind::Url => url(node)?.into(),
        ValueKind::Path => path(node, places.folder, places.home)?,
        ValueKind::Flag => flag(node)?,
        ValueKind::Whole { min, max } => whole(node, min, max)?,
        ValueKind::Number { min, max } => number(node, min, max)?,
        ValueKind::OneOf(choices) => one_of(node, choices)?.into(),
        ValueKind::Preset => preset(node)?.into(),
        ValueKind::Wire => wire(node)?,
        ValueKind::Header => header(node)?,
        ValueKind::Texts | ValueKind::MoreTexts => list(node, |item| Ok(text(item)?.into()))?,
        ValueKind::MorePaths => list(node, |item| path(item, places.instructions, places.home))?,
        ValueKind::Variables => variables(node)?,
        ValueKind::Rules => rules(node)?,
        ValueKind::Open => open(node)?,
    };
    Ok(if value.as_str() == Some("") { None } else { Some(value) })
}

fn wrong(node: &ConfigNode, message: String) -> ValueProblem {
    ValueProblem { line: node.line, what: ProblemKind::Wrong(message) }
}

fn expected(what: &str, node: &ConfigNode) -> ValueProblem {
    wrong(node, format!("expected {what}, found {}", node.type_name()))
}

fn text(node: &ConfigNode) -> Result<&str, ValueProblem> {
    node.text().ok_or_else(|| expected("text", node))
}

fn url(node: &ConfigNode) -> Result<&str, ValueProblem> {
    let url = text(node)?;
    let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    match host {
        _ if url.is_empty() => Ok(url),
        Some(host) if !host.is_empty() && !url.contains(char::is_whitespace) => Ok(url),
        Some(_) | None => {
            Err(wrong(node, "expected an address that begins with http:// or https://".to_owned()))
        }
    }
}

fn path(node: &ConfigNode, folder: &Path, home: Option<&Path>) -> Result<Value, ValueProblem> {
    let written = text(node)?;
    if written.is_empty() {
        return Ok("".into());
    }
    let path = match (written.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_), None) => return Err(wrong(node, "~ has no meaning here, HOME is not set".to_owned())),
        (None, _) => folder.join(written),
    };
    match path.into_os_string().into_string() {
        Ok(path) => Ok(path.into()),
        Err(path) => Err(wrong(
            node,
            format!("{} is not valid UTF-8: write the path in full", PathBuf::from(path).display()),
        )),
    }
}

fn flag(node: &ConfigNode) -> Result<Value, ValueProblem> {
    match &node.shape {
        NodeShape::Scalar(value @ Value::Bool(_)) => Ok(value.clone()),
        NodeShape::Scalar(_) | NodeShape::List(_) | NodeShape::Table(_) => {
            Err(expected("true or false", node))
        }
    }
}

fn whole(node: &ConfigNode, min: u64, max: u64) -> Result<Value, ValueProblem> {
    let NodeShape::Scalar(Value::Number(number)) = &node.shape else {
        return Err(expected("a whole number", node));
    };
    if number.is_f64() {
        return Err(expected("a whole number", node));
    }
    match number.as_u64().filter(|number| (min..=max).contains(number)) {
        Some(number) => Ok(number.into()),
        None => Err(wrong(node, format!("expected a whole number from {min} to {max}, found {number}"))),
    }
}

fn number(node: &ConfigNode, min: f64, max: f64) -> Result<Value, ValueProblem> {
    let NodeShape::Scalar(value @ Value::Number(number)) = &node.shape else {
        return Err(expected("a number", node));
    };
    match number.as_f64().filter(|number| (min..=max).contains(number)) {
        Some(_) => Ok(value.clone()),
        None => Err(wrong(node, format!("expected a number from {min} to {max}, found {number}"))),
    }
}

fn one_of<'n>(node: &'n ConfigNode, choices: &[&str]) -> Result<&'n str, ValueProblem> {
    let chosen = text(node)?;
    if choices.contains(&chosen) {
        return Ok(chosen);
    }
    Err(wrong(node, format!("expected one of {}, found {:?}", choices.join(", "), shorten(chosen))))
}

fn preset(node: &ConfigNode) -> Result<&str, ValueProblem> {
    match node.text().filter(|name| Approval::named(name).is_some()) {
        Some(name) => Ok(name),
        None => one_of(node, &["yolo", "balanced", "paranoid"]),
    }
}

fn wire(node: &ConfigNode) -> Result<Value, ValueProblem> {
    let name = text(node)?;
    match serde_json::from_value::<Wire>(name.into()) {
        Ok(_) => Ok(name.into()),
        Err(error) => Err(wrong(node, shorten(&error.to_string()))),
    }
}

fn header(node: &ConfigNode) -> Result<Value, ValueProblem> {
    let value = text(node)?;
    if value.chars().any(char::is_control) {
        return Err(wrong(node, "a header's value must be one line of plain text".to_owned()));
    }
    Ok(value.into())
}

fn variables(node: &ConfigNode) -> Result<Value, ValueProblem> {
    let name = |item: &ConfigNode| -> Result<Value, ValueProblem> {
        let name = text(item)?;
        let is_name = !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        // Whoever writes no name here most likely pasted the key itself.
        if is_name {
            Ok(name.into())
        } else {
            Err(ValueProblem { line: item.line, what: ProblemKind::Secret })
        }
    };
    match &node.shape {
        NodeShape::Scalar(Value::String(text)) if text.is_empty() => Ok("".into()),
        NodeShape::Scalar(Value::String(_)) => Ok(Value::Array(vec![name(node)?])),
        NodeShape::List(items) => items.iter().map(name).collect(),
        NodeShape::Scalar(_) | NodeShape::Table(_) => {
            Err(expected("a variable's name, or a list of names", node))
        }
    }
}

const VERDICTS: [&str; 3] = ["allow", "ask", "deny"];

/// One word for everything, a word a tool, or a word a pattern of a tool.
fn rules(node: &ConfigNode) -> Result<Value, ValueProblem> {
    let word = |node: &ConfigNode| one_of(node, &VERDICTS).map(Value::from);
    let NodeShape::Table(tools) = &node.shape else {
        return match node.text() {
            Some(_) => Ok(serde_json::json!({ "*": word(node)? })),
            None => Err(expected("a table of rules, or one of allow, ask, deny", node)),
        };
    };
    let mut out = serde_json::Map::new();
    for (tool, rule) in tools {
        let value = match &rule.shape {
            NodeShape::Table(patterns) => patterns
                .iter()
                .map(|(pattern, rule)| Ok((pattern.clone(), word(rule)?)))
                .collect::<Result<_, _>>()?,
            NodeShape::Scalar(_) | NodeShape::List(_) => word(rule)?,
        };
        out.insert(tool.clone(), value);
    }
    Ok(Value::Object(out))
}

fn open(node: &ConfigNode) -> Result<Value, ValueProblem> {
    match &node.shape {
        NodeShape::Scalar(Value::Null) => Err(expected("a value", node)),
        NodeShape::Scalar(_) | NodeShape::List(_) | NodeShape::Table(_) => Ok(node.to_json()),
    }
}

fn list(
    node: &ConfigNode,
    item: impl Fn(&ConfigNode) -> Result<Value, ValueProblem>,
) -> Result<Value, ValueProblem> {
    let NodeShape::List(items) = &node.shape else { return Err(expected("a list of texts", node)) };
    let values = items.iter().map(item).collect::<Result<Vec<_>, _>>()?;
    Ok(values.into_iter().filter(|value| value.as_str() != Some("")).collect())
}

/// Enough to recognise a value by, and not enough to flood a screen.
fn shorten(text: &str) -> String {
    const MOST: usize = 120;
    if text.chars().count() <= MOST {
        text.to_owned()
    } else {
        text.chars().take(MOST).chain(['…']).collect()
    }
}
