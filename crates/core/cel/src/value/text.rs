//! `Text`: a string of an object, borrowed, or one that evaluation made, shared.

use pintle_schema::Str;
use std::ops::Deref;

/// A string value.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    Borrowed(&'a str),
    Shared(Str),
}

impl Text<'_> {
    pub fn as_str(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
        }
    }

    /// The text as a shared one.
    pub fn to_shared(&self) -> Str {
        match self {
            Text::Borrowed(text) => Str::new(text),
            Text::Shared(text) => text.clone(),
        }
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}
