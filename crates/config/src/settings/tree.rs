//! TOML and JSONC text as one kind of tree in which every value knows its line. Knows no keys.

use jsonc_parser::ast;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

pub(super) type NodeTable = Vec<(String, ConfigNode)>;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ConfigNode {
    /// Of the key, or of the element in a list; counted from 1.
    pub line: usize,
    pub shape: NodeShape,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodeShape {
    /// Null, a flag, a number or a text.
    Scalar(Value),
    List(Vec<ConfigNode>),
    /// In written order, each name once.
    Table(NodeTable),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub line: usize,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConfigFormat {
    Toml,
    Jsonc,
}

pub(super) fn parse(text: &str, format: ConfigFormat) -> Result<NodeTable, SyntaxError> {
    let lines = LineStarts::of(text);
    match format {
        ConfigFormat::Toml => parse_toml(text, &lines),
        ConfigFormat::Jsonc => parse_jsonc(text, &lines),
    }
}

impl ConfigNode {
    pub(super) fn scalar(line: usize, value: impl Into<Value>) -> Self {
        Self { line, shape: NodeShape::Scalar(value.into()) }
    }

    /// What a user would call it.
    pub(super) fn type_name(&self) -> &'static str {
        match &self.shape {
            NodeShape::Scalar(Value::Null) => "null",
            NodeShape::Scalar(Value::Bool(_)) => "true or false",
            NodeShape::Scalar(Value::Number(number)) if number.is_f64() => "a fraction",
            NodeShape::Scalar(Value::Number(_)) => "a number",
            NodeShape::Scalar(_) => "text",
            NodeShape::List(_) => "a list",
            NodeShape::Table(_) => "a table",
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.shape {
            NodeShape::Scalar(Value::String(text)) => Some(text),
            NodeShape::Scalar(_) | NodeShape::List(_) | NodeShape::Table(_) => None,
        }
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.shape {
            NodeShape::Scalar(value) => value.clone(),
            NodeShape::List(items) => items.iter().map(Self::to_json).collect(),
            NodeShape::Table(entries) => {
                entries.iter().map(|(name, node)| (name.clone(), node.to_json())).collect()
            }
        }
    }
}

/// Where each line starts: finding a value's line must not cost a pass over the file each time.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn of(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|newline| *newline < offset) + 1
    }
}

fn parse_toml(text: &str, lines: &LineStarts) -> Result<NodeTable, SyntaxError> {
    // The error's own rendering quotes the source line, which may hold a secret.
    let document = DeTable::parse(text).map_err(|error| SyntaxError {
        line: lines.at(error.span().map_or(0, |span| span.start)),
        message: error.message().lines().collect::<Vec<_>>().join(", "),
    })?;
    toml_table(document.get_ref(), lines)
}

fn toml_table(table: &DeTable<'_>, lines: &LineStarts) -> Result<NodeTable, SyntaxError> {
    table
        .iter()
        .map(|(key, value)| {
            let line = lines.at(key.span().start);
            Ok((key.get_ref().to_string(), toml_node(value.get_ref(), line, lines)?))
        })
        .collect()
}

fn toml_node(value: &DeValue<'_>, line: usize, lines: &LineStarts) -> Result<ConfigNode, SyntaxError> {
    let wrong = |message: &str| SyntaxError { line, message: message.to_owned() };
    let shape = match value {
        DeValue::String(text) => NodeShape::Scalar(text.as_ref().into()),
        DeValue::Boolean(flag) => NodeShape::Scalar((*flag).into()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(|number| NodeShape::Scalar(number.into()))
            .map_err(|_| wrong("this number is too large"))?,
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map(|number| NodeShape::Scalar(Value::Number(number)))
            .ok_or_else(|| wrong("this number has no finite value"))?,
        DeValue::Datetime(_) => return Err(wrong("no setting is a date: put it in quotes if it is text")),
        DeValue::Array(items) => NodeShape::List(
            items
                .iter()
                .map(|item| toml_node(item.get_ref(), lines.at(item.span().start), lines))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(table) => NodeShape::Table(toml_table(table, lines)?),
    };
    Ok(ConfigNode { line, shape })
}

fn parse_jsonc(text: &str, lines: &LineStarts) -> Result<NodeTable, SyntaxError> {
    let options = jsonc_parser::ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = jsonc_parser::parse_to_ast(text, &Default::default(), &options).map_err(|error| {
        SyntaxError { line: error.line_display(), message: error.kind().to_string().to_lowercase() }
    })?;
    match parsed.value {
        None => Ok(Vec::new()),
        Some(ast::Value::Object(object)) => json_table(&object, lines),
        Some(_) => {
            Err(SyntaxError { line: 1, message: "the file must hold one object, in braces".to_owned() })
        }
    }
}

fn json_table(object: &ast::Object<'_>, lines: &LineStarts) -> Result<NodeTable, SyntaxError> {
    let mut seen = std::collections::HashSet::new();
    object
        .properties
        .iter()
        .map(|property| {
            let name = property.name.as_str().to_owned();
            let line = lines.at(property.range.start);
            if !seen.insert(name.clone()) {
                return Err(SyntaxError { line, message: format!("{name:?} is written twice") });
            }
            Ok((name, json_node(&property.value, line, lines)?))
        })
        .collect()
}

fn json_node(value: &ast::Value<'_>, line: usize, lines: &LineStarts) -> Result<ConfigNode, SyntaxError> {
    let shape = match value {
        ast::Value::StringLit(text) => NodeShape::Scalar(text.value.as_ref().into()),
        ast::Value::BooleanLit(flag) => NodeShape::Scalar(flag.value.into()),
        ast::Value::NullKeyword(_) => NodeShape::Scalar(Value::Null),
        ast::Value::NumberLit(number) => serde_json::from_str(number.value)
            .map(NodeShape::Scalar)
            .map_err(|_| SyntaxError { line, message: "this number cannot be read".to_owned() })?,
        ast::Value::Array(array) => NodeShape::List(
            array
                .elements
                .iter()
                .map(|item| json_node(item, lines.at(json_start(item)), lines))
                .collect::<Result<_, _>>()?,
        ),
        ast::Value::Object(object) => NodeShape::Table(json_table(object, lines)?),
    };
    Ok(ConfigNode { line, shape })
}

fn json_start(value: &ast::Value<'_>) -> usize {
    use jsonc_parser::common::Ranged;
    value.range().start
}
