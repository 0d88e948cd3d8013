//! `Decl`: what a schema declares of a value: its type, its fields, its size.
//!
//! Made once from an OpenAPI schema and shared by all rules under it. Names of objects say where they stand, since two
//! objects of equal schemas are different types. Recursion follows the schema, which its reader has bounded in depth.

mod escape;
pub mod formats;
mod openapi;

pub use escape::{escape, is_reserved, unescape};
pub use openapi::OpenApi;

use crate::types::Type;
use pintle_schema::Str;
use std::collections::HashMap;
use std::sync::Arc;

/// The largest request, which bounds what has no bound of its own.
const MAX_REQUEST_BYTES: u64 = 3 * 1024 * 1024;

/// The declaration of a value.
#[derive(Clone, Debug)]
pub struct Decl {
    pub shape: Shape,
    pub nullable: bool,
    /// Its type to the checker; `None` for data that expressions cannot reach.
    pub ty: Option<Type>,
    /// The most characters, bytes, elements or entries; `None` for what has no size.
    pub max_elements: Option<u64>,
    /// The fewest bytes it takes in JSON.
    pub min_bytes: u64,
}

/// How data under a declaration is read.
#[derive(Clone, Debug)]
pub enum Shape {
    Bool,
    Int,
    Double,
    String,
    Bytes,
    Duration,
    Date,
    DateTime,
    IntOrString,
    /// Anything, without a declaration of what is inside.
    Dyn,
    /// Kept for equality alone.
    Preserved,
    List(Items),
    Map {
        values: Arc<Decl>,
    },
    Object {
        fields: Fields,
    },
}

/// The elements of a list.
#[derive(Clone, Debug)]
pub struct Items {
    decl: Arc<Decl>,
    pub kind: ListKind,
}

impl Items {
    /// Elements of one declaration.
    pub fn new(decl: Arc<Decl>, kind: ListKind) -> Items {
        Items { decl, kind }
    }

    /// The declaration of the elements, shared.
    pub fn shared(&self) -> &Arc<Decl> {
        &self.decl
    }

    /// The declaration of the elements.
    pub fn decl(&self) -> &Decl {
        &self.decl
    }
}

/// How a list tells its elements apart: `x-kubernetes-list-type`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind {
    Atomic,
    Set,
    /// By the values of these keys.
    Map(Vec<Str>),
}

/// A field of an object.
#[derive(Clone, Debug)]
pub struct Field {
    /// As JSON has it.
    pub name: Str,
    /// As expressions write it, if they can.
    pub escaped: Option<Str>,
    pub decl: Arc<Decl>,
}

/// The fields of an object.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    list: Vec<Field>,
    by_name: HashMap<Str, usize>,
    by_escaped: HashMap<Str, usize>,
}

impl Fields {
    /// Fields with distinct names.
    pub fn new(list: Vec<Field>) -> Fields {
        let by_name = list.iter().enumerate().map(|(at, field)| (field.name.clone(), at)).collect();
        let by_escaped = list.iter().enumerate().filter_map(|(at, field)| Some((field.escaped.clone()?, at))).collect();
        Fields { list, by_name, by_escaped }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Field> {
        self.list.iter()
    }

    /// The field of a JSON name.
    pub fn by_name(&self, name: &str) -> Option<&Field> {
        self.by_name.get(name).and_then(|at| self.list.get(*at))
    }

    /// The field an expression means: by its escaped name, or by a reserved word as it is.
    pub fn by_escaped(&self, name: &str) -> Option<&Field> {
        match self.escaped(name) {
            None if is_reserved(name) => self.by_name(name),
            found => found,
        }
    }

    /// The field of an escaped name.
    fn escaped(&self, name: &str) -> Option<&Field> {
        self.by_escaped.get(name).and_then(|at| self.list.get(*at))
    }
}

impl Decl {
    /// A value of which nothing is declared.
    pub fn dynamic() -> Decl {
        Decl { shape: Shape::Dyn, nullable: true, ty: Some(Type::Dyn), max_elements: None, min_bytes: 1 }
    }

    /// A value of a type, read as it is.
    pub fn scalar(ty: Type) -> Decl {
        Decl { ty: Some(ty), ..Decl::dynamic() }
    }

    /// A value of a type with at most so many characters or bytes.
    pub fn sized(ty: Type, max_elements: u64) -> Decl {
        Decl { max_elements: Some(max_elements), ..Decl::scalar(ty) }
    }

    /// A map of strings to values, at most so many.
    pub fn map(values: Decl, max_elements: u64) -> Decl {
        let ty = values.ty.clone().map(|ty| Type::map(Type::String, ty));
        let shape = Shape::Map { values: Arc::new(values) };
        Decl { shape, nullable: false, ty, max_elements: Some(max_elements), min_bytes: 2 }
    }

    /// An object with fields.
    pub fn object(name: &'static str, fields: Vec<(&'static str, Decl)>) -> Decl {
        let field = |(name, decl)| Field {
            name: Str::new_static(name),
            escaped: escape(name).map(Str::from),
            decl: Arc::new(decl),
        };
        let fields = Fields::new(fields.into_iter().map(field).collect());
        let ty = Some(Type::object(name));
        Decl { shape: Shape::Object { fields }, nullable: false, ty, max_elements: None, min_bytes: 2 }
    }

    /// The declaration of an OpenAPI v3 schema. `is_root`: of a whole resource, whose name and kind are always readable.
    /// Expressions see its objects under `name`.
    pub fn of_openapi<S: OpenApi>(schema: &S, is_root: bool, name: &str) -> Decl {
        openapi::declare(schema, is_root, name)
    }

    /// The fields of an object.
    pub fn fields(&self) -> Option<&Fields> {
        match &self.shape {
            Shape::Object { fields } => Some(fields),
            _ => None,
        }
    }

    /// The object that a type's name means, where the types below this declaration are named after `prefix`.
    pub(crate) fn object_named(&self, prefix: &str, name: &str) -> Option<&Decl> {
        let steps = match name.strip_prefix(prefix)? {
            "" => None,
            rest => Some(rest.strip_prefix('.')?),
        };
        let mut decl = self;
        for step in steps.into_iter().flat_map(|steps| steps.split('.')) {
            decl = match (step, &decl.shape) {
                (openapi::ITEMS, Shape::List(items)) => items.decl(),
                (openapi::VALUES, Shape::Map { values }) => values,
                (name, Shape::Object { fields }) => &fields.escaped(name)?.decl,
                _ => return None,
            };
        }
        matches!(decl.shape, Shape::Object { .. }).then_some(decl)
    }

    /// The most elements of what stands at a path below: names of fields, `@items`, `@values`, `@keys`. `None` when
    /// the path leads nowhere; what has no size has none. `by_name`: whether entries of unknown type are found by name.
    pub(crate) fn max_elements_at(&self, path: &[Str], by_name: bool) -> Option<u64> {
        let mut decl = self;
        for (at, step) in path.iter().enumerate() {
            decl = match (step.as_str(), &decl.shape) {
                ("@items", Shape::List(items)) => items.decl(),
                ("@values", Shape::Map { values }) => values,
                ("@keys", Shape::Map { .. }) => return (at + 1 == path.len()).then_some(0),
                (name, Shape::Object { fields }) => {
                    fields.escaped(name).map(|field| &*field.decl).filter(|decl| decl.ty.is_some())?
                }
                (_, Shape::Map { values }) if by_name && matches!(values.shape, Shape::Dyn) => values,
                _ => return None,
            };
        }
        Some(decl.max_elements.unwrap_or(0))
    }
}
