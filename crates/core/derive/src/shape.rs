//! The type of a field as it is written: a list, a map, a number or something else.
//! Guarantees nothing about what a name stands for: a derive sees names only. Must never look at tags.

use syn::{GenericArgument, PathArguments, Type};

/// The written type of a field, as far as tags depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    List,
    Map,
    Bool,
    Int,
    String,
    Other,
}

/// The argument of a generic type with this name.
pub fn generic<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().rev().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

pub fn shape(ty: &Type) -> Shape {
    let Type::Path(path) = ty else { return Shape::Other };
    let Some(last) = path.path.segments.last() else { return Shape::Other };
    match last.ident.to_string().as_str() {
        "Vec" => Shape::List,
        "BTreeMap" => Shape::Map,
        "bool" => Shape::Bool,
        "i32" | "i64" => Shape::Int,
        "String" => Shape::String,
        _ => Shape::Other,
    }
}
