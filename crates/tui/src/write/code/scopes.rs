//! From the names that grammars give to the parts of code to our few styles. The only table of them.

use std::sync::OnceLock;

use ratatui_core::style::Style;
use syntect::parsing::{Scope, ScopeStack};

use crate::Theme;

#[derive(Clone, Copy)]
enum Part {
    Text,
    Keyword,
    String,
    Comment,
    Number,
    Function,
    Kind,
    Attribute,
    Heading,
    Added,
    Removed,
}

/// The first that fits, so the narrower stands before the wider.
const PARTS: &[(&str, Part)] = &[
    ("comment", Part::Comment),
    ("punctuation.definition.comment", Part::Comment),
    ("punctuation.definition.string", Part::String),
    ("punctuation.section.interpolation", Part::Text),
    ("string.regexp", Part::String),
    ("string.unquoted", Part::Text),
    ("string", Part::String),
    ("constant.character.escape", Part::Number),
    ("constant.other.placeholder", Part::Number),
    ("constant", Part::Number),
    ("keyword.operator.word", Part::Keyword),
    ("keyword.operator.logical", Part::Keyword),
    ("keyword.operator", Part::Text),
    ("keyword", Part::Keyword),
    ("storage.type.annotation", Part::Attribute),
    ("storage.modifier.lifetime", Part::Attribute),
    ("storage", Part::Keyword),
    ("entity.name.function", Part::Function),
    ("entity.name.section", Part::Heading),
    ("entity.name.tag", Part::Kind),
    ("entity.name", Part::Kind),
    ("entity.other.attribute-name", Part::Attribute),
    ("entity.other.inherited-class", Part::Kind),
    ("support.function", Part::Function),
    ("support.macro", Part::Attribute),
    ("support.type.property-name", Part::Kind),
    ("support.type", Part::Kind),
    ("support.class", Part::Kind),
    ("support.constant", Part::Number),
    ("variable.function", Part::Function),
    ("variable.annotation", Part::Attribute),
    ("variable.language", Part::Keyword),
    ("variable.other.readwrite.assignment", Part::Text),
    ("meta.annotation", Part::Attribute),
    ("meta.preprocessor", Part::Attribute),
    ("markup.heading", Part::Heading),
    ("markup.inserted", Part::Added),
    ("markup.deleted", Part::Removed),
    ("meta.diff.range", Part::Comment),
    ("meta.diff.header", Part::Heading),
    ("meta.mapping.key", Part::Kind),
    ("markup.raw", Part::String),
];

static SCOPES: OnceLock<Vec<(Scope, Part)>> = OnceLock::new();

pub(super) fn warm() {
    let _ = scopes();
}

fn scopes() -> &'static [(Scope, Part)] {
    SCOPES.get_or_init(|| {
        PARTS.iter().filter_map(|(name, part)| Some((Scope::new(name).ok()?, *part))).collect()
    })
}

/// The innermost name that says something.
pub(super) fn style(stack: &ScopeStack, theme: &Theme) -> Style {
    let table = scopes();
    let known = |scope: &Scope| table.iter().find(|(known, _)| known.is_prefix_of(*scope));
    match stack.as_slice().iter().rev().find_map(known) {
        Some((_, part)) => of(*part, theme),
        None => theme.text,
    }
}

fn of(part: Part, theme: &Theme) -> Style {
    match part {
        Part::Text => theme.text,
        Part::Keyword => theme.syntax.keyword,
        Part::String => theme.syntax.string,
        Part::Comment => theme.syntax.comment,
        Part::Number => theme.syntax.number,
        Part::Function => theme.syntax.function,
        Part::Kind => theme.syntax.kind,
        Part::Attribute => theme.syntax.attribute,
        Part::Heading => theme.heading,
        Part::Added => theme.added,
        Part::Removed => theme.removed,
    }
}
