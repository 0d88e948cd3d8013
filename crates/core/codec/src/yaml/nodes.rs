//! The first document of a YAML stream as nodes.
//! Guarantees that nothing is expanded: nodes are numbered, and an alias is the number of its node.

use super::cursor::Scan;
use super::parser::{Event, Parser, Properties};
use super::reader::Source;
use super::scanner::Scanner;
use super::tags::Tag;
use crate::error::DecodeError;
use crate::limits;
use pintle_schema::Str;
use std::borrow::Cow;
use std::collections::HashMap;

pub(super) type NodeId = usize;

pub(super) struct Node {
    pub(super) kind: Kind,
    /// Counted from zero.
    pub(super) line: usize,
}

pub(super) enum Kind {
    Scalar {
        text: Str,
        tag: Tag,
        /// Whether the text decides about the type: it has neither quotes nor a tag, or the tag `!`.
        is_implicit: bool,
    },
    Sequence(Vec<NodeId>),
    /// Keys and values alternate.
    Mapping(Vec<NodeId>),
    Alias {
        of: NodeId,
        name: Str,
    },
}

/// The first document.
pub(super) struct Document {
    pub(super) nodes: Vec<Node>,
    pub(super) root: NodeId,
}

/// Parses the first document; `None` if there is none.
pub(super) fn read(source: &Source<'_>) -> Scan<Option<Document>> {
    let mut parser = Parser::new(Scanner::new(source));
    let mut nodes = Nodes::default();
    loop {
        let (event, line) = parser.next()?;
        match event {
            Event::StreamEnd => return Ok(None),
            Event::DocumentStart => {}
            Event::DocumentEnd => return Ok(Some(Document { nodes: nodes.all, root: 0 })),
            Event::Alias(name) => nodes.alias(&name, line)?,
            Event::Scalar { text, properties, is_implicit } => {
                let kind = Kind::Scalar { text: Str::from(text), tag: properties.tag, is_implicit };
                nodes.add(kind, properties, line);
            }
            Event::SequenceStart(properties) => nodes.open(Kind::Sequence(Vec::new()), properties, line)?,
            Event::MappingStart(properties) => nodes.open(Kind::Mapping(Vec::new()), properties, line)?,
            Event::End => drop(nodes.open.pop()),
        }
    }
}

#[derive(Default)]
struct Nodes<'t> {
    all: Vec<Node>,
    anchors: HashMap<Cow<'t, str>, NodeId>,
    /// The collections that have not ended.
    open: Vec<NodeId>,
}

impl<'t> Nodes<'t> {
    fn add(&mut self, kind: Kind, properties: Properties<'t>, line: usize) -> NodeId {
        let id = self.all.len();
        self.all.push(Node { kind, line });
        if let Some(anchor) = properties.anchor {
            self.anchors.insert(anchor, id);
        }
        if let Some(parent) = self.open.last().and_then(|parent| self.all.get_mut(*parent))
            && let Kind::Sequence(children) | Kind::Mapping(children) = &mut parent.kind
        {
            children.push(id);
        }
        id
    }

    fn open(&mut self, kind: Kind, properties: Properties<'t>, line: usize) -> Scan<()> {
        if self.open.len() >= limits::TREE_DEPTH {
            return Err(error("exceeded max depth of 10000"));
        }
        let id = self.add(kind, properties, line);
        self.open.push(id);
        Ok(())
    }

    fn alias(&mut self, name: &str, line: usize) -> Scan<()> {
        let Some(of) = self.anchors.get(name) else {
            return Err(error(&format!("unknown anchor '{name}' referenced")));
        };
        self.add(Kind::Alias { of: *of, name: name.into() }, Properties::default(), line);
        Ok(())
    }
}

pub(super) fn error(text: &str) -> DecodeError {
    DecodeError::Syntax(format!("yaml: {text}"))
}

/// A message of kube-apiserver's scanner about a line, counted from zero. The first has no number.
pub(super) fn at_line(line: usize, problem: &str) -> DecodeError {
    if line == 0 { error(problem) } else { error(&format!("line {}: {problem}", line + 1)) }
}
