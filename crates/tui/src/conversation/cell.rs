//! The parts of a conversation, in the order they are told. What each looks like is `draw`'s business.

use std::time::{Duration, Instant};

use zdx_protocol::Todo;

use super::call::Call;
use crate::write::markdown::Stream;

pub(super) enum Cell {
    Prompt(String),
    Text(Text),
    Thought(Thought),
    Call(Box<Call>),
    /// Reads, searches and commands that came one after the other, and what was thought between them.
    Fold(Vec<Item>),
    /// A list that is done.
    Todos(Vec<Todo>),
    Note(NoteKind, String),
    /// It was here once; see [`super::Conversation`]'s bound.
    Forgotten,
}

#[derive(Debug)]
pub(super) enum Item {
    Call(Box<Call>),
    Thought(Thought),
}

/// How loud a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoteKind {
    /// To be read: the answer to a command.
    Said,
    /// The same, written by a model as markdown.
    Drafted,
    Quiet,
    Warning,
    Failed,
}

#[derive(Default)]
pub(super) struct Text {
    pub(super) source: String,
    /// Until all of it was given.
    pub(super) stream: Option<Box<Stream>>,
    /// No more of it will come.
    pub(super) over: bool,
    /// What it was; known when something follows.
    pub(super) known: Known,
    /// What the turn took, when it ended with this.
    pub(super) cost: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Known {
    #[default]
    NotYet,
    /// Calls came after it.
    Plan,
    /// It was the last.
    Answer,
    /// Broken off, or a part of something.
    Neither,
}

#[derive(Debug)]
pub(super) struct Thought {
    pub(super) text: String,
    pub(super) since: Option<Instant>,
    pub(super) took: Option<Duration>,
}

/// What stands apart from what: a blank line comes between what is said and everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Said,
    Done,
}

impl Cell {
    pub(super) fn group(&self) -> Group {
        match self {
            Self::Prompt(_) | Self::Text(_) | Self::Note(NoteKind::Said | NoteKind::Drafted, _) => {
                Group::Said
            }
            Self::Thought(_)
            | Self::Call(_)
            | Self::Fold(_)
            | Self::Todos(_)
            | Self::Note(NoteKind::Quiet | NoteKind::Warning | NoteKind::Failed, _)
            | Self::Forgotten => Group::Done,
        }
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        let (one, many): (Option<&Call>, &[Item]) = match self {
            Self::Call(call) => (Some(call), &[]),
            Self::Fold(items) => (None, items),
            _ => (None, &[]),
        };
        one.into_iter().chain(many.iter().filter_map(Item::call))
    }

    pub(super) fn calls_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Call> {
        let (one, many): (Option<&mut Call>, &mut [Item]) = match self {
            Self::Call(call) => (Some(call), &mut []),
            Self::Fold(items) => (None, items),
            _ => (None, &mut []),
        };
        one.into_iter().chain(many.iter_mut().filter_map(Item::call_mut))
    }

    pub(super) fn call_mut(&mut self, id: &str) -> Option<&mut Call> {
        match self {
            Self::Call(call) => Some(call.as_mut()).filter(|call| call.id == id),
            Self::Fold(items) => items.iter_mut().filter_map(Item::call_mut).find(|call| call.id == id),
            _ => None,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Prompt(text) | Self::Note(_, text) => text.len(),
            Self::Text(text) => text.source.len(),
            Self::Thought(thought) => thought.text.len(),
            Self::Call(call) => call.bytes(),
            Self::Fold(items) => items.iter().map(Item::bytes).sum(),
            Self::Todos(_) | Self::Forgotten => 0,
        }
    }

    /// Gives back what makes it large. The line of a call stays; of the rest nothing does.
    pub(super) fn forget(&mut self) {
        match self {
            Self::Call(call) => call.forget(),
            Self::Fold(items) => items.iter_mut().for_each(|item| match item {
                Item::Call(call) => call.forget(),
                Item::Thought(thought) => thought.text = String::new(),
            }),
            Self::Prompt(_)
            | Self::Text(_)
            | Self::Thought(_)
            | Self::Todos(_)
            | Self::Note(..)
            | Self::Forgotten => *self = Self::Forgotten,
        }
    }
}

impl Item {
    pub(super) fn call(&self) -> Option<&Call> {
        match self {
            Self::Call(call) => Some(call),
            Self::Thought(_) => None,
        }
    }

    pub(super) fn thought(&self) -> Option<&Thought> {
        match self {
            Self::Call(_) => None,
            Self::Thought(thought) => Some(thought),
        }
    }

    pub(super) fn call_mut(&mut self) -> Option<&mut Call> {
        match self {
            Self::Call(call) => Some(call),
            Self::Thought(_) => None,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Call(call) => call.bytes(),
            Self::Thought(thought) => thought.text.len(),
        }
    }
}
