//! `FieldSet`: a set of paths to fields, and its algebra.
//! Guarantees that equal sets are equal trees (it is a trie with sorted levels), and that every operation is one
//! merge of sorted lists. Must never contain an entry that is neither a member nor leads to one.

use crate::path_element::{Path, PathElement};
use std::cmp::Ordering;
use std::fmt;

/// A set of paths to fields. The empty path, the whole object, is never a member.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    entries: Vec<Entry>,
}

/// A path element with the entries below it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub element: PathElement,
    /// Whether the path that ends here is a member.
    pub is_member: bool,
    pub children: FieldSet,
}

impl Entry {
    /// Whether the entry is a member or has members below it.
    fn is_needed(&self) -> bool {
        self.is_member || !self.children.is_empty()
    }
}

impl FieldSet {
    pub const fn new() -> Self {
        FieldSet { entries: Vec::new() }
    }

    /// A set from entries in any order, with distinct elements.
    pub(crate) fn from_entries(mut entries: Vec<Entry>) -> Self {
        entries.retain(Entry::is_needed);
        if !entries.is_sorted_by(|a, b| a.element <= b.element) {
            entries.sort_by(|a, b| a.element.cmp(&b.element));
        }
        FieldSet { entries }
    }

    /// A set from the items of a list, in any order; duplicate items have no entries below them.
    pub(crate) fn from_items(mut entries: Vec<Entry>) -> Self {
        if !entries.is_sorted_by(|a, b| a.element < b.element) {
            entries.sort_by(|a, b| a.element.cmp(&b.element));
            entries.dedup_by(|next, kept| {
                let is_same = next.element == kept.element;
                if is_same {
                    kept.children = FieldSet::new();
                }
                is_same
            });
        }
        FieldSet { entries }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.entries.iter().map(|entry| usize::from(entry.is_member) + entry.children.len()).sum()
    }

    fn position(&self, element: &PathElement) -> Result<usize, usize> {
        // Sets are usually filled in order.
        match self.entries.last() {
            Some(last) if last.element < *element => Err(self.entries.len()),
            _ => self.entries.binary_search_by(|entry| entry.element.cmp(element)),
        }
    }

    pub(crate) fn entry(&self, element: &PathElement) -> Option<&Entry> {
        self.position(element).ok().and_then(|at| self.entries.get(at))
    }

    /// The entry of a field name.
    pub(crate) fn field(&self, name: &str) -> Option<&Entry> {
        let order =
            |entry: &Entry| entry.element.as_field().map_or(Ordering::Greater, |field| field.as_str().cmp(name));
        self.entries.binary_search_by(order).ok().and_then(|at| self.entries.get(at))
    }

    fn entry_mut(&mut self, element: &PathElement) -> &mut Entry {
        let at = match self.position(element) {
            Ok(at) => at,
            Err(at) => {
                let children = FieldSet::new();
                self.entries.insert(at, Entry { element: element.clone(), is_member: false, children });
                at
            }
        };
        &mut self.entries[at]
    }

    /// Adds a path.
    pub fn insert(&mut self, path: &[PathElement]) {
        self.insert_tree(path, FieldSet::new());
    }

    /// Adds a path, and the paths of `below` with this prefix.
    pub(crate) fn insert_tree(&mut self, path: &[PathElement], below: FieldSet) {
        let Some((first, rest)) = path.split_first() else {
            if self.is_empty() {
                *self = below;
            } else if !below.is_empty() {
                *self = self.union(&below);
            }
            return;
        };
        let entry = self.entry_mut(first);
        entry.is_member |= rest.is_empty();
        entry.children.insert_tree(rest, below);
    }

    /// Whether this path is a member.
    pub fn contains(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.has(last),
            [first, rest @ ..] => self.with_prefix(first).is_some_and(|below| below.contains(rest)),
        }
    }

    /// Whether the path of this one element is a member.
    pub fn has(&self, element: &PathElement) -> bool {
        self.entry(element).is_some_and(|entry| entry.is_member)
    }

    /// The entries below an element, `None` if there are none.
    pub fn with_prefix(&self, element: &PathElement) -> Option<&FieldSet> {
        self.entry(element).map(|entry| &entry.children).filter(|below| !below.is_empty())
    }

    /// The paths of this set, prefixed with an element.
    pub fn prefixed(self, element: PathElement) -> FieldSet {
        FieldSet::from_entries(vec![Entry { element, is_member: false, children: self }])
    }

    /// The union.
    pub fn union(&self, other: &FieldSet) -> FieldSet {
        self.combine(other, |mine, theirs| match (mine, theirs) {
            (Some(a), Some(b)) => Some(Entry {
                element: a.element.clone(),
                is_member: a.is_member || b.is_member,
                children: a.children.union(&b.children),
            }),
            (one, other) => one.or(other).cloned(),
        })
    }

    /// Adds the members of another set.
    pub fn absorb(&mut self, other: FieldSet) {
        if self.is_empty() {
            *self = other;
            return;
        }
        for theirs in other.entries {
            match self.position(&theirs.element) {
                Ok(at) => {
                    let mine = &mut self.entries[at];
                    mine.is_member |= theirs.is_member;
                    mine.children.absorb(theirs.children);
                }
                Err(at) => self.entries.insert(at, theirs),
            }
        }
    }

    /// The intersection.
    pub fn intersection(&self, other: &FieldSet) -> FieldSet {
        self.combine(other, |mine, theirs| {
            let (mine, theirs) = (mine?, theirs?);
            Some(Entry {
                element: mine.element.clone(),
                is_member: mine.is_member && theirs.is_member,
                children: mine.children.intersection(&theirs.children),
            })
        })
    }

    /// The difference.
    pub fn difference(&self, other: &FieldSet) -> FieldSet {
        self.combine(other, |mine, theirs| match (mine?, theirs) {
            (mine, None) => Some(mine.clone()),
            (mine, Some(theirs)) => Some(Entry {
                element: mine.element.clone(),
                is_member: mine.is_member && !theirs.is_member,
                children: mine.children.difference(&theirs.children),
            }),
        })
    }

    /// Removes the members of another set.
    pub fn subtract(&mut self, other: &FieldSet) {
        let mut is_emptied = false;
        for theirs in &other.entries {
            let Ok(at) = self.position(&theirs.element) else { continue };
            let mine = &mut self.entries[at];
            mine.is_member &= !theirs.is_member;
            mine.children.subtract(&theirs.children);
            is_emptied |= !mine.is_needed();
        }
        if is_emptied {
            self.entries.retain(Entry::is_needed);
        }
    }

    /// The difference, without members below those of the other set.
    pub fn recursive_difference(&self, other: &FieldSet) -> FieldSet {
        self.combine(other, |mine, theirs| match (mine?, theirs) {
            (mine, None) => Some(mine.clone()),
            (_, Some(theirs)) if theirs.is_member => None,
            (mine, Some(theirs)) => Some(Entry {
                element: mine.element.clone(),
                is_member: mine.is_member,
                children: mine.children.recursive_difference(&theirs.children),
            }),
        })
    }

    /// Members with no member below them.
    pub fn leaves(&self) -> FieldSet {
        let leaf = |entry: &Entry| Entry {
            element: entry.element.clone(),
            is_member: entry.is_member && entry.children.is_empty(),
            children: entry.children.leaves(),
        };
        FieldSet { entries: self.entries.iter().map(leaf).collect() }
    }

    /// Merges two levels; drops useless results of `join`.
    fn combine(&self, other: &FieldSet, mut join: impl FnMut(Option<&Entry>, Option<&Entry>) -> Option<Entry>) -> Self {
        let (mut mine, mut theirs) = (self.entries.iter().peekable(), other.entries.iter().peekable());
        let mut entries = Vec::new();
        loop {
            let order = match (mine.peek(), theirs.peek()) {
                (None, None) => return FieldSet { entries },
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.element.cmp(&b.element),
            };
            let joined = match order {
                Ordering::Less => join(mine.next(), None),
                Ordering::Greater => join(None, theirs.next()),
                Ordering::Equal => join(mine.next(), theirs.next()),
            };
            entries.extend(joined.filter(Entry::is_needed));
        }
    }

    /// Visits every member, those of a level before those below them.
    pub fn for_each(&self, mut visit: impl FnMut(&[PathElement])) {
        self.visit(&mut Vec::new(), &mut visit);
    }

    fn visit(&self, path: &mut Vec<PathElement>, visit: &mut dyn FnMut(&[PathElement])) {
        for entry in self.entries.iter().filter(|entry| entry.is_member) {
            path.push(entry.element.clone());
            visit(path);
            path.pop();
        }
        for entry in self.entries.iter().filter(|entry| !entry.children.is_empty()) {
            path.push(entry.element.clone());
            entry.children.visit(path, visit);
            path.pop();
        }
    }

    /// The members as paths, in the order of [`FieldSet::for_each`].
    pub fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut paths = Vec::new();
        self.for_each(|path| paths.push(path.to_vec()));
        paths
    }
}

impl<P: AsRef<[PathElement]>> FromIterator<P> for FieldSet {
    fn from_iter<I: IntoIterator<Item = P>>(paths: I) -> Self {
        let mut set = FieldSet::new();
        paths.into_iter().for_each(|path| set.insert(path.as_ref()));
        set
    }
}

/// One member per line.
impl fmt::Display for FieldSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, path) in self.paths().iter().enumerate() {
            let separator = if at > 0 { "\n" } else { "" };
            write!(f, "{separator}{}", Path(path))?;
        }
        Ok(())
    }
}

impl fmt::Debug for FieldSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.paths().iter().map(|path| Path(path).to_string())).finish()
    }
}
