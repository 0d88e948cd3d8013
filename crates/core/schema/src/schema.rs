//! `Schema`: a type of the API as data.
//! Guarantees that built-in types (statics that the derive emits) and types of custom resources (created at run time)
//! are handled by the same code, and that a schema does not change.
//! Must never contain code about one kind.

use crate::compiled::Compiled;
use crate::gates::Gate;
use crate::rules::Rule;
use crate::value::{Str, Value};
use std::ops::Deref;
use std::sync::Arc;

/// A reference to a part of a schema: static, or shared at run time.
///
/// The static form is a function because types of the API may be recursive.
pub enum Ref<T: 'static> {
    Static(fn() -> &'static T),
    Shared(Arc<T>),
}

impl<T> Clone for Ref<T> {
    fn clone(&self) -> Self {
        match self {
            Ref::Static(get) => Ref::Static(*get),
            Ref::Shared(shared) => Ref::Shared(shared.clone()),
        }
    }
}

impl<T> Deref for Ref<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self {
            Ref::Static(get) => get(),
            Ref::Shared(shared) => shared,
        }
    }
}

/// A text of a schema.
#[derive(Clone, Debug, Eq)]
pub enum Text {
    Static(&'static str),
    Shared(Arc<str>),
}

impl Text {
    #[inline]
    pub fn as_str(&self) -> &str {
        match self {
            Text::Static(text) => text,
            Text::Shared(text) => text,
        }
    }

    /// Whether a key equals this text. Keys usually share their text with the schema, so that no byte is compared.
    #[inline]
    pub fn is(&self, key: &str) -> bool {
        let text = self.as_str();
        text.len() == key.len() && (text.as_ptr() == key.as_ptr() || text == key)
    }

    /// The text as a key of a value, without copying it.
    #[inline]
    pub fn to_key(&self) -> crate::Str {
        match self {
            Text::Static(text) => crate::Str::new_static(text),
            Text::Shared(text) => crate::Str::from(text.clone()),
        }
    }
}

impl Deref for Text {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// A list of parts of a schema.
pub enum Slice<T: 'static> {
    Static(&'static [T]),
    Shared(Arc<[T]>),
}

impl<T> Clone for Slice<T> {
    fn clone(&self) -> Self {
        match self {
            Slice::Static(items) => Slice::Static(items),
            Slice::Shared(items) => Slice::Shared(items.clone()),
        }
    }
}

impl<T> Deref for Slice<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Slice::Static(items) => items,
            Slice::Shared(items) => items,
        }
    }
}

/// The type of a value.
#[derive(Clone)]
pub enum Type {
    /// Any value, kept as it is (Go's `interface{}`).
    Any,
    Bool,
    Int32,
    Int64,
    Float64,
    String,
    /// A string with named values.
    Enum(Ref<Enum>),
    /// Base64 in JSON.
    Bytes,
    /// An integer or a string, for ports and percentages.
    IntOrString,
    /// A decimal number with a unit suffix.
    Quantity,
    /// RFC 3339 in whole seconds.
    Time,
    /// RFC 3339 in microseconds.
    MicroTime,
    /// Go's duration text, such as `1m30s`.
    Duration,
    /// An embedded object of another kind, kept as it is.
    RawExtension,
    /// Any JSON, kept as it is.
    Json,
    /// The field set of a manager.
    FieldsV1,
    Struct(Ref<Struct>),
    List(Ref<List>),
    Map(Ref<MapType>),
}

impl Type {
    #[inline]
    pub fn as_struct(&self) -> Option<&Struct> {
        match self {
            Type::Struct(schema) => Some(schema),
            _ => None,
        }
    }
}

/// A string type with named values.
pub struct Enum {
    pub name: Text,
    pub module: Text,
    pub doc: Text,
    /// Whether validation rejects other values and OpenAPI lists these.
    pub closed: bool,
    pub values: Slice<EnumValue>,
}

/// A named value of a string type.
pub struct EnumValue {
    pub value: Text,
    pub doc: Text,
}

/// How a struct's JSON differs from an object with its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An object with the struct's fields.
    Plain,
    /// JSON has only the value of the field, protobuf a message around it.
    Wrapper,
    /// A schema or a boolean: JSON has one of the fields.
    PropsOrBool,
    /// A schema or a list of schemas.
    PropsOrArray,
    /// A schema or a list of strings.
    PropsOrStringArray,
}

/// A struct of the API.
pub struct Struct {
    /// The Go name, such as `DeploymentSpec`.
    pub name: Text,
    /// The Rust module of the declaration; segments 2 and 3 are group and version.
    pub module: Text,
    pub doc: Text,
    /// In declaration order, which is the order in JSON.
    pub fields: Slice<Field>,
    /// Indexes of `fields` sorted by JSON name (without inlined ones), for lookups.
    pub by_name: Slice<u16>,
    /// Whether apply treats it as one value (atomic).
    pub atomic: bool,
    pub form: Form,
    /// Validation rules of the whole struct.
    pub rules: Slice<Rule>,
    /// OpenAPI publishes the struct as a union of its fields: the JSON name of the field that says which one is set, or "" if
    /// there is no such field.
    pub union: Option<&'static str>,
    /// Unknown fields are kept instead of reported, and all fields are in the order of their names (custom resources only).
    pub preserve_unknown: bool,
    /// Its ID, and data that was compiled from it.
    pub compiled: Compiled,
}

/// When JSON includes a field, as Go's tags and types define it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// A pointer: included if set, even to a zero value.
    Pointer,
    /// A pointer that is `null` if it is not set.
    PointerAlways,
    /// Omitted if zero or empty.
    OmitEmpty,
    /// Included even if zero or empty.
    Always,
    /// A struct that is omitted if all of it is zero.
    OmitZero,
}

/// The constant default of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    Bool(bool),
    Int(i64),
    String(&'static str),
    /// An empty object.
    Empty,
}

impl From<Literal> for Value {
    fn from(literal: Literal) -> Self {
        match literal {
            Literal::Bool(value) => Value::Bool(value),
            Literal::Int(value) => Value::Int(value),
            Literal::String(text) => Value::String(Str::new_static(text)),
            Literal::Empty => Value::map(),
        }
    }
}

/// The default of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldDefault {
    Literal(Literal),
    /// A literal that OpenAPI publishes.
    Published(Literal),
    /// Any value, in a schema that was created at run time.
    Value(Arc<Value>),
}

impl FieldDefault {
    pub fn to_value(&self) -> Value {
        match self {
            FieldDefault::Literal(literal) | FieldDefault::Published(literal) => Value::from(*literal),
            FieldDefault::Value(value) => Value::clone(value),
        }
    }
}

/// A field of a struct.
#[derive(Clone)]
pub struct Field {
    /// The JSON name; empty for an inlined struct.
    pub name: Text,
    /// The protobuf number; 0 if the field is not encoded.
    pub proto: u32,
    pub ty: Type,
    pub presence: Presence,
    /// Its fields are inlined into the owner's JSON; a nested message in protobuf if it has a number.
    pub inline: bool,
    /// Tagged as optional.
    pub optional: bool,
    /// Tagged as required.
    pub required: bool,
    pub nullable: bool,
    pub default: Option<FieldDefault>,
    pub doc: Text,
    /// Strategic merge patch: `merge`, `replace`, `retainKeys`, separated by commas; empty if not specified.
    pub patch_strategy: &'static str,
    /// Strategic merge patch: the key of a list's items.
    pub patch_merge_key: &'static str,
    /// Whether apply treats the struct or map in this field as one value; by default as its type specifies. Bytes always are
    /// one, and say so if OpenAPI publishes it.
    pub atomic: Option<bool>,
    /// Feature gates that guard the field: it is disabled while one of them is off.
    pub gates: &'static [&'static Gate],
    /// Validation rules of the value.
    pub rules: Slice<Rule>,
}

impl Field {
    /// Whether OpenAPI lists the field as required: it is tagged so, or JSON always includes it and it is not tagged as
    /// optional.
    pub fn is_required(&self) -> bool {
        (self.required && !self.inline) || self.is_always_included()
    }

    /// Whether JSON always includes the field, and it is not tagged as optional.
    pub fn is_always_included(&self) -> bool {
        matches!(self.presence, Presence::Always | Presence::PointerAlways) && !self.optional && !self.inline
    }

    /// Whether JSON's null differs from absence here: the field is a pointer to a time, which may be zero.
    pub fn points_to_time(&self) -> bool {
        self.presence == Presence::Pointer && matches!(self.ty, Type::Time | Type::MicroTime)
    }
}

/// How apply and patches identify the items of a list.
#[derive(Clone, Debug, PartialEq)]
pub enum ListKind {
    /// Replaced as a whole (atomic).
    Atomic,
    /// Scalars, each at most once.
    Set,
    /// Objects identified by the named fields.
    Map(Keys),
}

/// The key fields of an associative list.
#[derive(Clone, Debug, PartialEq)]
pub enum Keys {
    Static(&'static [&'static str]),
    Shared(Arc<[Arc<str>]>),
}

impl Keys {
    pub fn iter(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Keys::Static(keys) => Box::new(keys.iter().copied()),
            Keys::Shared(keys) => Box::new(keys.iter().map(|key| &**key)),
        }
    }
}

/// A list, and how its items are identified.
pub struct List {
    pub elem: Type,
    pub kind: ListKind,
    /// Whether the list type is declared (an undeclared list is atomic to apply).
    pub declared: bool,
}

pub struct MapType {
    pub elem: Type,
}

impl Struct {
    /// The field with a JSON name, including those of inlined structs.
    pub fn field(&self, name: &str) -> Option<&Field> {
        if let Ok(at) = self.by_name.binary_search_by(|&i| self.fields[usize::from(i)].name.as_str().cmp(name)) {
            return Some(&self.fields[usize::from(self.by_name[at])]);
        }
        if self.by_name.len() == self.fields.len() {
            return None;
        }
        self.fields.iter().filter(|field| field.inline).find_map(|field| field.ty.as_struct()?.field(name))
    }

    /// Visits the fields in JSON order, including those of inlined structs.
    pub fn each_field<'a>(&'a self, visit: &mut dyn FnMut(&'a Field)) {
        for field in self.fields.iter() {
            match (field.inline, &field.ty) {
                (true, Type::Struct(inlined)) => inlined.each_field(visit),
                _ => visit(field),
            }
        }
    }

    /// The type of the field at a path of JSON names; lists and maps stand for their elements.
    pub fn type_at<S: AsRef<str>>(&self, path: &[S]) -> Option<&Type> {
        let (first, rest) = path.split_first()?;
        let mut ty = &self.field(first.as_ref())?.ty;
        if rest.is_empty() {
            return Some(ty);
        }
        loop {
            match ty {
                Type::Struct(schema) => return schema.type_at(rest),
                Type::List(list) => ty = &list.elem,
                Type::Map(map) => {
                    ty = &map.elem;
                    return if rest.len() == 1 { Some(ty) } else { ty.as_struct()?.type_at(&rest[1..]) };
                }
                _ => return None,
            }
        }
    }

    /// The directories of API group and version of a built-in type, from its module.
    pub fn group_version(&self) -> (&str, &str) {
        let mut segments = self.module.split("::").skip(1);
        (segments.next().unwrap_or(""), segments.next().unwrap_or(""))
    }
}
