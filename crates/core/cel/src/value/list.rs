//! `List`: elements read from an object, given by an expression, or two lists joined.
//!
//! Joining lists takes constant time, so that its cost of 1 holds. Joined lists may nest deeply: nothing here recurses
//! through them.

use super::{Value, equal, read};
use crate::error::EvalError;
use crate::schema::{Decl, Items};
use pintle_schema::Value as Data;
use std::sync::Arc;

/// The most elements of a list that is joined: more than a request holds several times over.
const MAX_JOINED: usize = 16 << 20;

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
}

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        let mut rest = vec![std::mem::take(&mut self.first), std::mem::take(&mut self.second)];
        while let Some(list) = rest.pop() {
            if let List::Joined(joined) = list
                && let Some(mut joined) = Arc::into_inner(joined)
            {
                rest.push(std::mem::take(&mut joined.first));
                rest.push(std::mem::take(&mut joined.second));
            }
        }
    }
}

impl Default for List<'_> {
    fn default() -> Self {
        List::Data(&[], None)
    }
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
    pub fn get(&self, mut at: usize) -> Option<Result<Value<'a>, EvalError>> {
        let mut list = self;
        loop {
            match list {
                List::Data(elements, items) => {
                    return elements.get(at).map(|element| read::read(element, items.map(Items::decl)));
                }
                List::Made(elements) | List::Typed(elements, _) => return elements.get(at).cloned().map(Ok),
                List::Joined(joined) => match at.checked_sub(joined.first.len()) {
                    None => list = &joined.first,
                    Some(beyond) => (list, at) = (&joined.second, beyond),
                },
            }
        }
    }

    /// The parts that joins were made of, in order.
    fn parts(&self) -> Vec<&List<'a>> {
        let mut parts = Vec::new();
        let mut rest = vec![self];
        while let Some(list) = rest.pop() {
            match list {
                List::Joined(joined) => rest.extend([&joined.second, &joined.first]),
                part => parts.push(part),
            }
        }
        parts
    }

    /// All elements. A caller that stops at an error sees no element after it.
    pub fn iter(&self) -> impl Iterator<Item = Result<Value<'a>, EvalError>> + '_ {
        self.parts().into_iter().flat_map(|part| (0..part.len()).map_while(|at| part.get(at)))
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
        let len = self.len().saturating_add(other.len());
        if len > MAX_JOINED {
            return Err(EvalError::CostExceeded);
        }
        let joined = Joined { len, first: self.clone(), second: other.clone() };
        Ok(List::Joined(Arc::new(joined)))
    }
}
