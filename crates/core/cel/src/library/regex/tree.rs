//! What a pattern is read to.

use super::class::Class;
use std::sync::Arc;

/// A part of a pattern.
#[derive(Debug)]
pub(super) enum Node {
    /// Matches nothing at all, everywhere.
    Empty,
    /// Never matches.
    Never,
    Char(char),
    Class(Arc<Class>),
    Any,
    AnyButNewline,
    Assertion(Assertion),
    Concat(Vec<Node>),
    /// The first that leads to a match counts.
    Alternate(Vec<Node>),
    Repeat {
        node: Box<Node>,
        least: u32,
        most: Option<u32>,
        /// Whether fewer are better.
        lazy: bool,
    },
}

/// What must hold between two characters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Assertion {
    Start,
    End,
    LineStart,
    LineEnd,
    WordBoundary,
    NoWordBoundary,
}

impl Assertion {
    /// Whether it holds between two characters; there is none before the text and behind it.
    pub(super) fn holds(self, before: Option<char>, after: Option<char>) -> bool {
        let is_word = |character: Option<char>| {
            character.is_some_and(|character| character.is_ascii_alphanumeric() || character == '_')
        };
        match self {
            Assertion::Start => before.is_none(),
            Assertion::End => after.is_none(),
            Assertion::LineStart => before.is_none_or(|before| before == '\n'),
            Assertion::LineEnd => after.is_none_or(|after| after == '\n'),
            Assertion::WordBoundary => is_word(before) != is_word(after),
            Assertion::NoWordBoundary => is_word(before) == is_word(after),
        }
    }
}
