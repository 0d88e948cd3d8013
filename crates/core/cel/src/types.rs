//! `Type`: what the checker knows of a value, and what `type()` gives.
//!
//! Two types are printed the same way only if messages cannot tell them apart. A type must not hold a schema: fields
//! of objects are found in the environment by the object's name.

use pintle_schema::Str;
use std::fmt;
use std::sync::Arc;

/// The type of an expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Not known before evaluation; every operation type-checks.
    Dyn,
    /// `google.protobuf.Any`, treated as `Dyn` but printed differently.
    Any,
    /// The type of what did not check.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    List(Arc<Type>),
    /// Types of keys and values.
    Map(Arc<(Type, Type)>),
    /// The type of a type; its parameter may be unknown.
    Type(Option<Arc<Type>>),
    /// A scalar that may also be null (`google.protobuf.Int64Value` and its like).
    Wrapper(Arc<Type>),
    /// An object with declared fields, or a library's type, by name.
    Struct(Str),
    /// A library's type with parameters, optionals among them.
    Opaque(Str, Arc<[Type]>),
    /// A type parameter of an overload, or a variable of the checker.
    Param(Str),
}

/// The name of the type of optional values.
pub const OPTIONAL: &str = "optional_type";

impl Type {
    /// A list of elements of one type.
    pub fn list(element: Type) -> Type {
        Type::List(Arc::new(element))
    }

    /// A map from keys to values.
    pub fn map(key: Type, value: Type) -> Type {
        Type::Map(Arc::new((key, value)))
    }

    /// A value that may be absent.
    pub fn optional(value: Type) -> Type {
        Type::Opaque(Str::new_static(OPTIONAL), Arc::from([value]))
    }

    /// The type of a type.
    pub fn type_of(ty: Type) -> Type {
        Type::Type(Some(Arc::new(ty)))
    }

    /// A library's type without parameters.
    pub fn opaque(name: &'static str) -> Type {
        Type::Opaque(Str::new_static(name), Arc::from([]))
    }

    /// A type known by its name, declared by a schema or a library.
    pub fn object(name: &'static str) -> Type {
        Type::Struct(Str::new_static(name))
    }

    /// A type parameter: the same name is the same type within an overload.
    pub fn param(name: &'static str) -> Type {
        Type::Param(Str::new_static(name))
    }

    /// Whether nothing is known of it.
    pub fn is_dyn(&self) -> bool {
        matches!(self, Type::Dyn | Type::Any)
    }

    /// What an optional's type wraps.
    pub fn as_optional(&self) -> Option<&Type> {
        match self {
            Type::Opaque(name, params) if name == OPTIONAL => params.first(),
            _ => None,
        }
    }

    /// The name that values of the type give at run time.
    pub fn runtime_name(&self) -> &str {
        match self {
            Type::Dyn => "dyn",
            Type::Any => "google.protobuf.Any",
            Type::Error => "!error!",
            Type::Null => "null_type",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Uint => "uint",
            Type::Double => "double",
            Type::String => "string",
            Type::Bytes => "bytes",
            Type::Duration => "google.protobuf.Duration",
            Type::Timestamp => "google.protobuf.Timestamp",
            Type::List(_) => "list",
            Type::Map(_) => "map",
            Type::Type(_) => "type",
            Type::Wrapper(inner) => inner.runtime_name(),
            Type::Struct(name) | Type::Opaque(name, _) | Type::Param(name) => name,
        }
    }

    /// Its text where kube-apiserver prints the type itself, rather than as the checker does: durations and moments
    /// have their full names.
    pub fn declared(&self) -> String {
        match self {
            Type::Wrapper(inner) => format!("wrapper({})", inner.declared()),
            other => match other.parameters().as_slice() {
                [] => other.runtime_name().to_string(),
                params => {
                    let params: Vec<String> = params.iter().map(|param| param.declared()).collect();
                    format!("{}({})", other.runtime_name(), params.join(", "))
                }
            },
        }
    }

    /// The types it is made of.
    pub fn parameters(&self) -> Vec<&Type> {
        match self {
            Type::List(element) => vec![element],
            Type::Map(entry) => vec![&entry.0, &entry.1],
            Type::Type(Some(inner)) => vec![inner],
            Type::Opaque(_, params) => params.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Whether a name occurs in it as a type parameter; collects the names.
    pub(crate) fn collect_params(&self, into: &mut Vec<Str>) {
        if let Type::Param(name) = self
            && !into.contains(name)
        {
            into.push(name.clone());
        }
        self.parameters().into_iter().for_each(|inner| inner.collect_params(into));
    }
}

/// As messages of the checker print it.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Any => f.write_str("any"),
            Type::Null => f.write_str("null"),
            Type::Duration => f.write_str("duration"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::Wrapper(inner) => write!(f, "wrapper({inner})"),
            other => {
                f.write_str(other.runtime_name())?;
                let params = other.parameters();
                if params.is_empty() {
                    return Ok(());
                }
                f.write_str("(")?;
                for (at, param) in params.iter().enumerate() {
                    if at > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{param}")?;
                }
                f.write_str(")")
            }
        }
    }
}
