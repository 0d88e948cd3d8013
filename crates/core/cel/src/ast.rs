//! The tree of an expression: nodes with ids, and where each id stands in the source.
//!
//! Ids are those kube-apiserver gives, since its cost accounting and its messages follow them. A tree's depth
//! is bounded by the parser, so walking it may recurse.

use pintle_schema::Str;
use std::collections::HashMap;
use std::sync::Arc;

/// The identity of a node.
pub type ExprId = i64;

/// A node.
#[derive(Clone, Debug)]
pub struct Expr {
    pub id: ExprId,
    pub kind: Kind,
}

/// What a node is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Stands where the source did not parse.
    Unspecified,
    Literal(Literal),
    Ident(Str),
    Select {
        operand: Box<Expr>,
        field: Str,
        /// Whether it asks for presence: `has(a.b)`.
        test_only: bool,
    },
    Call {
        function: Str,
        target: Option<Box<Expr>>,
        args: Vec<Expr>,
    },
    List {
        elements: Vec<Expr>,
        /// Indexes of elements marked `?`.
        optional: Vec<usize>,
    },
    Map(Vec<MapEntry>),
    Struct {
        name: Str,
        fields: Vec<StructField>,
    },
    Comprehension(Box<Comprehension>),
}

/// An entry of a map literal.
#[derive(Clone, Debug)]
pub struct MapEntry {
    pub id: ExprId,
    pub key: Expr,
    pub value: Expr,
    pub optional: bool,
}

/// A field of an object literal.
#[derive(Clone, Debug)]
pub struct StructField {
    pub id: ExprId,
    pub name: Str,
    pub value: Expr,
    pub optional: bool,
}

/// What the macros over lists and maps expand to.
#[derive(Clone, Debug)]
pub struct Comprehension {
    pub range: Expr,
    pub var: Str,
    /// The second variable, of macros that have two.
    pub var2: Option<Str>,
    pub accumulator: Str,
    pub init: Expr,
    pub condition: Expr,
    pub step: Expr,
    pub result: Expr,
}

/// A constant of the source.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Str),
    Bytes(Arc<[u8]>),
}

/// A parsed expression.
#[derive(Clone, Debug)]
pub struct Ast {
    pub root: Expr,
    /// Offsets in code points.
    pub offsets: HashMap<ExprId, u32>,
}
