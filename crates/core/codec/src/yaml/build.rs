//! Converts YAML nodes to the value that their JSON would have.
//! Guarantees kube-apiserver's limits on aliases, which are expanded here, in its decoding order.

use super::nodes::{Document, Kind, Node, NodeId, error};
use super::resolve::{Resolved, resolve};
use super::tags::Tag;
use crate::error::DecodeError;
use crate::json::any;
use crate::json::encode::write_float;
use crate::limits;
use pintle_schema::names::quoted;
use pintle_schema::{Map, Str, Value, base64};
use std::collections::HashMap;

type Build<T> = Result<T, DecodeError>;

/// The value of a document, and its duplicate keys.
pub(super) fn value(document: &Document) -> Build<(Value, Vec<String>)> {
    let mut builder = Builder {
        document,
        decoded: 0,
        aliased: 0,
        aliased_bytes: 0,
        inside: Vec::new(),
        depth: 0,
        duplicates: Vec::new(),
        duplicate_bytes: 0,
    };
    let tree = builder.tree(document.root)?;
    Ok((json(tree)?, builder.duplicates))
}

/// What YAML has and JSON does not: keys of any scalar type.
#[derive(Clone, Debug)]
enum Tree {
    Scalar(Scalar),
    List(Vec<Tree>),
    Map(Vec<(Scalar, Tree)>),
}

#[derive(Clone, Debug)]
enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    /// Shared with the node from which it comes, and with all its aliases.
    String(Str),
}

/// A key as Go compares keys: by type and value.
#[derive(PartialEq, Eq, Hash)]
enum KeyId {
    Null,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(u64),
    String(Str),
}

impl Scalar {
    fn id(&self) -> KeyId {
        match self {
            Scalar::Null => KeyId::Null,
            Scalar::Bool(value) => KeyId::Bool(*value),
            Scalar::Int(int) => KeyId::Int(*int),
            Scalar::Unsigned(int) => KeyId::Unsigned(*int),
            Scalar::Float(float) => KeyId::Float(float.to_bits()),
            Scalar::String(text) => KeyId::String(text.clone()),
        }
    }

    /// Go's `%#v`.
    fn go(&self) -> String {
        match self {
            Scalar::Null => "interface {}(nil)".to_owned(),
            Scalar::Bool(value) => value.to_string(),
            Scalar::Int(int) => int.to_string(),
            Scalar::Unsigned(int) => format!("{int:#x}"),
            Scalar::Float(float) => super::emit::float_text(*float),
            Scalar::String(text) => quoted(text.as_str()),
        }
    }
}

impl Tree {
    fn go(&self) -> String {
        match self {
            Tree::Scalar(scalar) => scalar.go(),
            Tree::List(items) => {
                format!("[]interface {{}}{{{}}}", items.iter().map(Tree::go).collect::<Vec<_>>().join(", "))
            }
            Tree::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| format!("{}:{}", key.go(), value.go()));
                format!("map[interface {{}}]interface {{}}{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// The entries of a mapping that is being built.
#[derive(Default)]
struct Entries {
    list: Vec<(Scalar, Tree)>,
    places: HashMap<KeyId, usize>,
}

struct Builder<'d> {
    document: &'d Document,
    /// The number of nodes decoded so far, in total and inside aliases: their ratio is limited.
    decoded: u64,
    aliased: u64,
    /// The size of texts inside aliases. Nodes share them, but the resulting values do not, so it is limited as well.
    aliased_bytes: usize,
    /// The aliases that are being expanded.
    inside: Vec<NodeId>,
    depth: usize,
    duplicates: Vec<String>,
    duplicate_bytes: usize,
}

impl<'d> Builder<'d> {
    fn node(&self, id: NodeId) -> Build<&'d Node> {
        self.document.nodes.get(id).ok_or_else(|| error("unknown problem parsing YAML content"))
    }

    /// Counts a node and enforces the limits on aliases.
    fn count(&mut self) -> Build<()> {
        self.decoded += 1;
        if !self.inside.is_empty() {
            self.aliased += 1;
        }
        let excessive = self.aliased > 100
            && self.decoded > 1000
            && self.aliased as f64 / self.decoded as f64 > limits::yaml_alias_ratio(self.decoded);
        if excessive { Err(excessive_aliasing()) } else { Ok(()) }
    }

    /// Counts the text of a scalar.
    fn count_text(&mut self, text: &str) -> Build<()> {
        if !self.inside.is_empty() {
            self.aliased_bytes += text.len();
        }
        if self.aliased_bytes > limits::YAML_ALIASED_BYTES { Err(excessive_aliasing()) } else { Ok(()) }
    }

    /// Records a duplicate key, if there is room.
    fn duplicate(&mut self, line: usize, key: &Scalar) {
        if self.duplicate_bytes < limits::STRICT_PROBLEM_BYTES {
            let text = format!("line {line}: key {} already set in map", key.go());
            self.duplicate_bytes += text.len();
            self.duplicates.push(text);
        }
    }

    fn tree(&mut self, id: NodeId) -> Build<Tree> {
        self.count()?;
        if self.depth >= limits::TREE_DEPTH {
            return Err(error("exceeded max depth of 10000"));
        }
        self.depth += 1;
        let tree = match &self.node(id)?.kind {
            Kind::Scalar { text, tag, is_implicit } => {
                self.count_text(text)?;
                scalar(text, *tag, *is_implicit).map(Tree::Scalar)
            }
            Kind::Sequence(items) => {
                items.iter().map(|item| self.tree(*item)).collect::<Build<Vec<_>>>().map(Tree::List)
            }
            Kind::Mapping(children) => {
                let mut entries = Entries::default();
                self.mapping(children, &mut entries).map(|()| Tree::Map(entries.list))
            }
            Kind::Alias { of, name } => {
                self.enter_alias(id, name)?;
                let tree = self.tree(*of);
                self.inside.pop();
                tree
            }
        };
        self.depth -= 1;
        tree
    }

    fn enter_alias(&mut self, id: NodeId, name: &str) -> Build<()> {
        if self.inside.contains(&id) {
            return Err(error(&format!("anchor '{name}' value contains itself")));
        }
        self.inside.push(id);
        Ok(())
    }

    fn mapping(&mut self, children: &[NodeId], entries: &mut Entries) -> Build<()> {
        for pair in children.chunks_exact(2) {
            let (key, value) = (pair[0], pair[1]);
            if self.is_merge(key)? {
                self.merge(value, entries)?;
                continue;
            }
            let key = match self.tree(key)? {
                Tree::Scalar(scalar) => scalar,
                tree => return Err(error(&format!("invalid map key: {}", tree.go()))),
            };
            let line = self.node(value)?.line + 1;
            let value = self.tree(value)?;
            let id = key.id();
            match entries.places.get(&id).and_then(|at| entries.list.get_mut(*at)) {
                Some((_, slot)) => {
                    self.duplicate(line, &key);
                    *slot = value;
                }
                None => {
                    entries.places.insert(id, entries.list.len());
                    entries.list.push((key, value));
                }
            }
        }
        Ok(())
    }

    fn is_merge(&self, key: NodeId) -> Build<bool> {
        Ok(match &self.node(key)?.kind {
            Kind::Scalar { text, tag, is_implicit } => text == "<<" && (*is_implicit || *tag == Tag::Merge),
            _ => false,
        })
    }

    /// `<<`: the entries of other maps; the first one of a list takes precedence.
    fn merge(&mut self, id: NodeId, entries: &mut Entries) -> Build<()> {
        match &self.node(id)?.kind {
            Kind::Sequence(items) => items.iter().rev().try_for_each(|item| self.merge_map(*item, entries)),
            _ => self.merge_map(id, entries),
        }
    }

    fn merge_map(&mut self, id: NodeId, entries: &mut Entries) -> Build<()> {
        self.count()?;
        let want_map = || error("map merge requires map or sequence of maps as the value");
        match &self.node(id)?.kind {
            Kind::Mapping(children) => self.nested(|builder| builder.mapping(children, entries)),
            Kind::Alias { of, name } => match &self.node(*of)?.kind {
                Kind::Mapping(children) => {
                    self.enter_alias(id, name)?;
                    self.count()?;
                    let merged = self.nested(|builder| builder.mapping(children, entries));
                    self.inside.pop();
                    merged
                }
                _ => Err(want_map()),
            },
            _ => Err(want_map()),
        }
    }

    fn nested<T>(&mut self, build: impl FnOnce(&mut Self) -> Build<T>) -> Build<T> {
        if self.depth >= limits::TREE_DEPTH {
            return Err(error("exceeded max depth of 10000"));
        }
        self.depth += 1;
        let built = build(self);
        self.depth -= 1;
        built
    }
}

fn excessive_aliasing() -> DecodeError {
    error("document contains excessive aliasing")
}

fn scalar(text: &Str, tag: Tag, is_implicit: bool) -> Build<Scalar> {
    let wanted = match tag {
        Tag::Absent if is_implicit => return Ok(resolved(resolve(text), text)),
        Tag::Absent | Tag::Exclaimed | Tag::Merge | Tag::Other => return Ok(Scalar::String(text.clone())),
        Tag::Binary => {
            let bytes = base64::decode(text).map_err(|_| error("!!binary value contains invalid base64 data"))?;
            return Ok(Scalar::String(Str::new(crate::json::scan::as_text(&bytes))));
        }
        Tag::Bool => "bool",
        Tag::Float => "float",
        Tag::Int => "int",
        Tag::Null => "null",
        Tag::Timestamp => "timestamp",
    };
    let found = resolve(text);
    let name = match &found {
        Resolved::Null => "null",
        Resolved::Bool(_) => "bool",
        Resolved::Int(_) | Resolved::Unsigned(_) => "int",
        Resolved::Float(_) => "float",
        Resolved::Timestamp if tag == Tag::Timestamp => "timestamp",
        Resolved::Timestamp | Resolved::String => "str",
    };
    match found {
        Resolved::Int(int) if tag == Tag::Float => Ok(Scalar::Float(int as f64)),
        found if name == wanted => Ok(resolved(found, text)),
        _ => Err(error(&format!("cannot decode !!{name} `{text}` as a !!{wanted}"))),
    }
}

fn resolved(found: Resolved, text: &Str) -> Scalar {
    match found {
        Resolved::Null => Scalar::Null,
        Resolved::Bool(value) => Scalar::Bool(value),
        Resolved::Int(int) => Scalar::Int(int),
        Resolved::Unsigned(int) => Scalar::Unsigned(int),
        Resolved::Float(float) => Scalar::Float(float),
        Resolved::Timestamp | Resolved::String => Scalar::String(text.clone()),
    }
}

/// The JSON of the tree.
fn json(tree: Tree) -> Build<Value> {
    match tree {
        Tree::Scalar(scalar) => scalar_json(scalar),
        Tree::List(items) => Ok(Value::List(items.into_iter().map(json).collect::<Build<_>>()?)),
        Tree::Map(entries) => {
            let mut map: Vec<(Str, Value)> = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                let key = key_text(key, &value)?;
                map.push((key, json(value)?));
            }
            map.sort_by(|(a, _), (b, _)| a.cmp(b));
            // Keys of other types may have the same text: the last one wins.
            map.reverse();
            map.dedup_by(|(a, _), (b, _)| a == b);
            map.reverse();
            Ok(Value::Map(Map::from_entries(map)))
        }
    }
}

fn scalar_json(scalar: Scalar) -> Build<Value> {
    Ok(match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Int(int) => Value::Int(int),
        Scalar::Unsigned(int) => Value::Float(int as f64),
        Scalar::Float(float) if !float.is_finite() => {
            let text = if float.is_nan() {
                "NaN"
            } else if float > 0.0 {
                "+Inf"
            } else {
                "-Inf"
            };
            return Err(DecodeError::Syntax(format!("json: unsupported value: {text}")));
        }
        // An integral number loses its point, and is an integer from then on.
        Scalar::Float(float) => {
            let mut text = Vec::new();
            write_float(float, &mut text);
            any::number(std::str::from_utf8(&text).unwrap_or("0"))
        }
        Scalar::String(text) => Value::String(text),
    })
}

fn key_text(key: Scalar, value: &Tree) -> Build<Str> {
    Ok(match key {
        Scalar::String(text) => text,
        Scalar::Int(int) => Str::from(int.to_string()),
        Scalar::Bool(value) => Str::new_static(if value { "true" } else { "false" }),
        Scalar::Float(float) => Str::from(super::emit::float_text(float as f32)),
        Scalar::Unsigned(int) => {
            let text = format!("unsupported map key of type: uint64, key: {int:#x}, value: {}", value.go());
            return Err(DecodeError::Syntax(text));
        }
        Scalar::Null => {
            let text = format!("unsupported map key of type: %!s(<nil>), key: <nil>, value: {}", value.go());
            return Err(DecodeError::Syntax(text));
        }
    })
}
