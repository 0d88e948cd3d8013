//! Go's names of types that the schemas do not tell apart: named strings, lists and maps.
//!
//! Only error texts need them. A field that is not listed has the name its type suggests.

use pintle_schema::{Struct, Type};

/// The Go type of a field, when its schema does not give it away.
pub(crate) fn field_type(owner: &Struct, name: &str) -> Option<String> {
    let field = owner.field(name)?;
    match (&field.ty, name) {
        (Type::String, "uid") if owner.name.as_str() != "UserInfo" => Some("types.UID".to_owned()),
        _ => None,
    }
}
