//! `List`: elements read from an object, given by an expression, or two lists joined.
//!
//! Joining lists takes constant time, so that its cost of 1 holds; a chain of joins has a bounded depth.

use super::{Value, equal, read};
use crate::error::EvalError;
use crate::schema::{Decl, Items};
use pintle_schema::Value as Data;
use std::sync::Arc;

/// Joins that are kept as such before the elements are copied into one.
const MAX_JOINS: usize = 32;

/// A list.
#[derive(Clone, Debug)]
pub enum List<'a> {
    /// Elements of an object.
    Data(&'a [Data], Option<&'a Items>),
    /// Elements that evaluation made.
    Made(Arc<Vec<Value<'a>>>),
    /// Elements of an object's list, changed: it still compares as its schema says.
    Typed(Arc<Vec<Value<'a>>>, &'a Items),
    Joined(Arc<Joined<'a>>),
}

/// Two lists, one after the other.
#[derive(Debug)]
pub struct Joined<'a> {
    first: List<'a>,
    second: List<'a>,
    len: usize,
    joins: usize,
}

impl<'a> From<Vec<Value<'a>>> for List<'a> {
    fn from(elements: Vec<Value<'a>>) -> Self {
        List::Made(Arc::new(elements))
    }
}

impl<'a> List<'a> {
    pub fn len(&self) -> usize {
        match self {
            List::Data(elements, _) => elements.len(),
            List::Made(elements) | List::Typed(elements, _) => elements.len(),
            List::Joined(joined) => joined.len,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An element; `None` beyond the end. An element that its schema does not describe is an error.
    pub fn get(&self, at: usize) -> Option<Result<Value<'a>, EvalError>> {
        match self {
            List::Data(elements, items) => elements.get(at).map(|element| read::read(element, items.map(Items::decl))),
            List::Made(elements) | List::Typed(elements, _) => elements.get(at).cloned().map(Ok),
            List::Joined(joined) => match at.checked_sub(joined.first.len()) {
                None => joined.first.get(at),
                Some(at) => joined.second.get(at),
            },
        }
    }

    /// All elements, up to the first that its schema does not describe.
    pub fn iter(&self) -> impl Iterator<Item = Result<Value<'a>, EvalError>> + '_ {
        (0..self.len()).map_while(|at| self.get(at))
    }

    /// All elements.
    pub fn to_vec(&self) -> Result<Vec<Value<'a>>, EvalError> {
        self.iter().collect()
    }

    /// How a list of an object identifies its elements, if this is one.
    pub(super) fn items(&self) -> Option<&'a Items> {
        match self {
            List::Data(_, items) => *items,
            List::Typed(_, items) => Some(items),
            _ => None,
        }
    }

    /// The declaration of the elements.
    pub fn element_decl(&self) -> Option<&'a Decl> {
        self.items().map(Items::decl)
    }

    /// `self + other`: a list of an object is merged as its list type says.
    pub fn add(&self, other: &List<'a>) -> Result<List<'a>, EvalError> {
        if let Some(items) = self.items() {
            return Ok(List::Typed(Arc::new(equal::merge(self, other, items)?), items));
        }
        if self.is_empty() {
            return Ok(other.clone());
        }
        if other.is_empty() {
            return Ok(self.clone());
        }
        let joins = |list: &List<'a>| if let List::Joined(joined) = list { joined.joins } else { 0 };
        let joined = Joined {
            len: self.len().saturating_add(other.len()),
            joins: joins(self).max(joins(other)) + 1,
            first: self.clone(),
            second: other.clone(),
        };
        if joined.joins > MAX_JOINS {
            let list = List::Joined(Arc::new(joined));
            return Ok(List::from(list.to_vec()?));
        }
        Ok(List::Joined(Arc::new(joined)))
    }
}
