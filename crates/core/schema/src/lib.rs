//! The objects of the API: schemas, values, scalar formats, names and selectors.
//! Guarantees that results depend on the input only.
//! Must never do I/O, read a clock or use randomness.

// The code that the derive emits uses the public name of this crate.
extern crate self as pintle_schema;

pub mod api_value;
pub mod base64;
pub mod canonical;
pub mod compat;
pub mod compiled;
pub mod disabled_fields;
pub mod duration;
pub mod field_selector;
pub mod gates;
pub mod int_or_string;
pub mod label_selector;
pub mod map;
pub mod map_editor;
pub mod names;
pub mod quantity;
pub mod random;
pub mod resource_names;
pub mod rules;
pub mod scalars;
pub mod schema;
pub mod time;
pub mod value;
pub mod version;

pub use api_value::{ApiType, ApiValue, FieldName, ShapeError, View, ViewMut, derived};
pub use canonical::{Unchanged, canonicalize, canonicalize_changed, empties, with_empties, with_shown_empties, zero};
pub use compiled::Compiled;
pub use disabled_fields::DisabledFields;
pub use duration::Duration;
pub use gates::{Gate, GateSet};
pub use map_editor::MapEditor;
#[doc(hidden)]
pub use pintle_derive::string_type_declaration;
pub use pintle_derive::{ApiType, same_as};
pub use quantity::Quantity;
pub use resource_names::{ApiResource, ResourceNames};
pub use scalars::{Bytes, FieldsV1, IntOrString, Json, RawExtension};
pub use schema::{
    Enum, EnumValue, Field, FieldDefault, Form, Keys, List, ListKind, Literal, MapType, Presence, Ref, Slice, Struct,
    Text, Type,
};
pub use time::{MicroTime, Time};
pub use value::{Map, Str, Value};
