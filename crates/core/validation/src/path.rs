//! `FieldPath`: the path of an error in an object, printed as `spec.containers[0].env[PATH]`.
//! Guarantees that a path is a chain on the stack while rules descend, and is formatted only for an error.

use pintle_schema::{FieldName, Str, Value};
use std::fmt;

/// A location in an object.
#[derive(Clone, Copy, Debug)]
pub struct FieldPath<'a> {
    parent: Option<&'a FieldPath<'a>>,
    step: Step<'a>,
    /// The place of the field, item or entry among those of its owner, as they are validated. Rules need not know it.
    rank: u32,
}

/// The rank of a field that a rule named.
const UNRANKED: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

/// A node of a path that outlives the walk.
#[derive(Clone, Debug, PartialEq)]
pub enum PathNode {
    Field(Str),
    Index(usize),
    Key(Str),
}

impl<'a> FieldPath<'a> {
    pub const fn new(field: &'a str) -> Self {
        FieldPath { parent: None, step: Step::Field(field), rank: UNRANKED }
    }

    /// The object itself.
    pub const ROOT: FieldPath<'static> = FieldPath { parent: None, step: Step::Root, rank: UNRANKED };

    /// The field of a struct, by the constant that the derive emits.
    #[inline]
    pub const fn to<S, F>(&'a self, field: FieldName<S, F>) -> FieldPath<'a> {
        self.child(field.name())
    }

    #[inline]
    pub const fn child(&'a self, field: &'a str) -> FieldPath<'a> {
        FieldPath { parent: Some(self), step: Step::Field(field), rank: UNRANKED }
    }

    #[inline]
    pub const fn index(&'a self, index: usize) -> FieldPath<'a> {
        FieldPath { parent: Some(self), step: Step::Index(index), rank: index as u32 }
    }

    #[inline]
    pub const fn key(&'a self, key: &'a str) -> FieldPath<'a> {
        FieldPath { parent: Some(self), step: Step::Key(key), rank: UNRANKED }
    }

    /// An inlined struct, which is at the path of its owner.
    #[inline]
    pub(crate) const fn inlined(&'a self) -> FieldPath<'a> {
        self.child("")
    }

    /// The same with its place among the fields or entries of its owner.
    #[inline]
    pub(crate) const fn ranked(self, rank: u32) -> FieldPath<'a> {
        FieldPath { rank, ..self }
    }

    /// The path of the struct, list or map that contains the value: some rules of kube-apiserver report errors there.
    pub fn parent(&self) -> &'a FieldPath<'a> {
        let parent = self.parent.unwrap_or(&FieldPath::ROOT);
        if matches!(self.step, Step::Field("")) { parent.parent() } else { parent }
    }

    /// The name of the field that the path leads to; "" for an item or an entry.
    pub fn field_name(&self) -> &'a str {
        match (self.step, self.parent) {
            (Step::Field(""), Some(owner)) => owner.field_name(),
            (Step::Field(name), _) => name,
            _ => "",
        }
    }
}

impl FieldPath<'_> {
    /// The nodes from the object on, without those of inlined structs.
    pub(crate) fn nodes(&self) -> Vec<PathNode> {
        let mut nodes = self.parent.map_or_else(Vec::new, FieldPath::nodes);
        match self.step {
            Step::Root | Step::Field("") => {}
            Step::Field(name) => nodes.push(PathNode::Field(Str::from(name))),
            Step::Index(index) => nodes.push(PathNode::Index(index)),
            Step::Key(key) => nodes.push(PathNode::Key(Str::from(key))),
        }
        nodes
    }

    /// Visits the ranks of the nodes from the object on, those of inlined structs too.
    pub(crate) fn ranks(&self, visit: &mut dyn FnMut(u32)) {
        if let Some(parent) = self.parent {
            parent.ranks(visit);
        }
        if !matches!(self.step, Step::Root) {
            visit(self.rank);
        }
    }

    /// The value at the path in an object.
    pub(crate) fn find_in<'v>(&self, object: &'v Value) -> Option<&'v Value> {
        let value = self.parent.map_or(Some(object), |parent| parent.find_in(object))?;
        match self.step {
            Step::Root | Step::Field("") => Some(value),
            Step::Field(name) | Step::Key(name) => value.get(name),
            Step::Index(index) => value.as_list()?.get(index),
        }
    }

    /// Visits the values at the path in an object; an index or a key stands for all items.
    pub(crate) fn each_in<'v>(&self, object: &'v Value, visit: &mut dyn FnMut(&'v Value)) {
        let mut step = |value: &'v Value| match (self.step, value) {
            (Step::Root | Step::Field(""), value) => visit(value),
            (Step::Field(field), value) => value.get(field).into_iter().for_each(&mut *visit),
            (Step::Index(_), Value::List(items)) => items.iter().for_each(&mut *visit),
            (Step::Key(_), Value::Map(map)) => map.values().for_each(&mut *visit),
            _ => {}
        };
        match self.parent {
            Some(parent) => parent.each_in(object, &mut step),
            None => step(object),
        }
    }

    /// Writes the path; returns whether it is not empty.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> Result<bool, fmt::Error> {
        let begun = match self.parent {
            Some(parent) => parent.write(f)?,
            None => false,
        };
        match self.step {
            Step::Root | Step::Field("") => return Ok(begun),
            Step::Field(field) if begun => write!(f, ".{field}")?,
            Step::Field(field) => f.write_str(field)?,
            Step::Index(index) => write!(f, "[{index}]")?,
            Step::Key(key) => write!(f, "[{key}]")?,
        }
        Ok(true)
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // kube-apiserver prints the path without a name, which is the object itself, as an empty index.
        if self.write(f)? { Ok(()) } else { f.write_str("[]") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_print_as_the_reference_prints_them() {
        let spec = FieldPath::new("spec");
        let containers = spec.child("containers");
        let first = containers.index(0);
        assert_eq!(first.child("name").to_string(), "spec.containers[0].name");
        assert_eq!(spec.child("nodeSelector").key("a/b").to_string(), "spec.nodeSelector[a/b]");
        assert_eq!(FieldPath::ROOT.child("data").to_string(), "data");
        assert_eq!(FieldPath::ROOT.to_string(), "[]");
    }

    #[test]
    fn a_path_finds_its_value() {
        let object = pintle_schema::value!({"a": [{"b": {"x/y": 1}}]});
        let a = FieldPath::new("a");
        let (first, second) = (a.index(0), a.index(1));
        let b = first.child("b");
        assert_eq!(b.key("x/y").find_in(&object), Some(&Value::Int(1)));
        assert_eq!(second.child("b").find_in(&object), None);
        assert_eq!(FieldPath::ROOT.find_in(&object), Some(&object));
    }

    #[test]
    fn parents() {
        let spec = FieldPath::new("spec");
        let containers = spec.child("containers");
        let first = containers.index(0);
        assert_eq!(first.parent().to_string(), "spec.containers");
        assert_eq!(first.parent().parent().child("volumes").to_string(), "spec.volumes");
        // The object itself is its own parent.
        assert_eq!(spec.parent().parent().child("metadata").to_string(), "metadata");
    }
}
