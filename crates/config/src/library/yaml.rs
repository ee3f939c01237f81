//! Front matter's YAML as JSON values in written order, each key with its line.
//! Reads no file. Bounded in depth, since the parser behind it is not; anchors are refused, so nothing can multiply.

use std::borrow::Cow;

use saphyr::{Scalar, ScalarStyle, Tag};
use saphyr_parser::{Event, Parser, ScanError, Span, StrInput};
use serde_json::{Map, Number, Value};

/// No front matter in use nests deeper than four.
const DEEPEST: usize = 16;

/// One key of the outermost table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct YamlEntry {
    pub key: String,
    pub value: Value,
    /// Counted from 1; none for what was never in a file of its own.
    pub line: Option<usize>,
}

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct YamlFault {
    pub line: usize,
    pub message: String,
}

/// A table, strictly by the rules of YAML. Nothing at all is an empty table.
pub(super) fn table(text: &str) -> Result<Vec<YamlEntry>, YamlFault> {
    let mut reader = YamlReader { events: Parser::new_from_str(text) };
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
            (Event::StreamEnd | Event::DocumentEnd, _) => return Ok(Vec::new()),
            (Event::MappingStart(..), _) => return reader.entries(0),
            (Event::Scalar(text, ScalarStyle::Plain, ..), _) if matches!(&*text, "" | "~" | "null") => {
                return Ok(Vec::new());
            }
            (_, span) => return Err(fault(span, "this is no table of `key: value` lines")),
        }
    }
}

struct YamlReader<'a> {
    events: Parser<'a, StrInput<'a>>,
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), YamlFault> {
        match self.events.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(unreadable(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn entries(&mut self, depth: usize) -> Result<Vec<YamlEntry>, YamlFault> {
        let mut entries: Vec<YamlEntry> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            let key = match event {
                Event::MappingEnd => return Ok(entries),
                Event::Scalar(key, ..) => key.into_owned(),
                Event::Alias(_) => return Err(aliased(span)),
                _ => return Err(fault(span, "a key must be plain text")),
            };
            if entries.iter().any(|entry| entry.key == key) {
                return Err(fault(span, &format!("the key `{key}` is there twice")));
            }
            let first = self.next()?;
            let value = self.value(first, depth + 1)?;
            entries.push(YamlEntry { key, value, line: Some(span.start.line()) });
        }
    }

    fn value(&mut self, (event, span): (Event<'a>, Span), depth: usize) -> Result<Value, YamlFault> {
        if depth > DEEPEST {
            return Err(fault(span, "it is nested too deeply"));
        }
        match event {
            Event::Scalar(text, style, _, tag) => Ok(scalar(text, style, tag.as_ref())),
            Event::MappingStart(..) => {
                let entries = self.entries(depth)?;
                Ok(Value::Object(
                    entries.into_iter().map(|entry| (entry.key, entry.value)).collect::<Map<_, _>>(),
                ))
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => return Ok(Value::Array(items)),
                        item => items.push(self.value(item, depth + 1)?),
                    }
                }
            }
            Event::Alias(_) => Err(aliased(span)),
            _ => Err(fault(span, "it ends in the middle of a value")),
        }
    }
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Cow<'_, Tag>>) -> Value {
    let written = || Value::String(text.clone().into_owned());
    match Scalar::parse_from_cow_and_metadata(text.clone(), style, tag) {
        Some(Scalar::Null) => Value::Null,
        Some(Scalar::Boolean(flag)) => Value::Bool(flag),
        Some(Scalar::Integer(number)) => Value::from(number),
        Some(Scalar::FloatingPoint(number)) => Number::from_f64(*number).map_or_else(written, Value::Number),
        Some(Scalar::String(text)) => Value::String(text.into_owned()),
        None => written(),
    }
}

fn aliased(span: Span) -> YamlFault {
    fault(span, "`*` at the start of a value means a YAML alias, which is not read here; put it in quotes")
}

fn fault(span: Span, message: &str) -> YamlFault {
    YamlFault { line: span.start.line().max(1), message: message.to_owned() }
}

fn unreadable(error: &ScanError) -> YamlFault {
    YamlFault { line: error.marker().line().max(1), message: format!("not valid YAML: {}", error.info()) }
}
