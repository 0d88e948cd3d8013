//! `Schema`: what is known about a type of the API, as data.
//!
//! Built-in types are statics that the derive emits, custom resources are schemas built at run time; everything that
//! walks an object works on both alike. A schema never changes once it is made, and holds no code about one kind.

use crate::compiled::Compiled;
use crate::rules::Rule;
use crate::value::{Str, Value};
use std::ops::Deref;
use std::sync::Arc;

/// A reference to a part of a schema: known when the program was compiled, or shared at run time.
///
/// The static form is a function because types of the API may contain themselves.
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

    /// Whether a key of a value is this text. Keys mostly are this very text, so that no byte is compared.
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
    /// Anything, kept as it came (Go's `interface{}`).
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
    /// A number or a string, as ports and percentages are.
    IntOrString,
    /// A decimal number with a unit suffix.
    Quantity,
    /// RFC 3339 in whole seconds.
    Time,
    /// RFC 3339 in microseconds.
    MicroTime,
    /// Go's duration text, such as `1m30s`.
    Duration,
    /// An object of another kind, kept as it came.
    RawExtension,
    /// Any JSON, kept as it came.
    Json,
    /// The set of fields a manager owns.
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
    pub name: &'static str,
    pub module: &'static str,
    pub doc: &'static str,
    /// Whether other values are refused by validation and the values are published.
    pub closed: bool,
    pub values: &'static [EnumValue],
}

/// A value that a type of named values may have.
pub struct EnumValue {
    pub value: &'static str,
    pub doc: &'static str,
}

/// How a struct's JSON differs from the object of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An object with the struct's fields.
    Plain,
    /// JSON shows the only field's value, protobuf a message around it.
    Wrapper,
    /// A schema or a boolean: JSON shows one of the fields.
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
    /// The Rust module it is declared in; segments 2 and 3 are group and version.
    pub module: Text,
    pub doc: Text,
    /// In declaration order, which is the order in JSON.
    pub fields: Slice<Field>,
    /// Indexes of `fields` sorted by JSON name (inlined ones left out), for look-ups.
    pub by_name: Slice<u16>,
    /// Whether apply treats it as one value.
    pub atomic: bool,
    pub form: Form,
    /// What validation demands of the whole struct.
    pub rules: &'static [Rule],
    /// JSON names of the fields that are judged first, where the order of errors is not that of declaration.
    pub judged_first: &'static [&'static str],
    /// Fields no schema names are kept instead of reported (custom resources only).
    pub preserve_unknown: bool,
    /// Its identity, and what others have worked out from it.
    pub compiled: Compiled,
}

/// When JSON shows a field, as Go's tags and types decide it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// A pointer: shown when set, even to a zero value.
    Pointer,
    /// A pointer shown as `null` when it is not set.
    PointerAlways,
    /// Left out when zero or empty.
    OmitEmpty,
    /// Shown even when zero or empty.
    Always,
    /// A struct left out when all of it is zero.
    OmitZero,
}

/// The constant a field takes when it is absent.
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

/// What a field takes when it is absent.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldDefault {
    Literal(Literal),
    /// Any value, of a schema that arrived at run time.
    Value(Arc<Value>),
}

impl FieldDefault {
    pub fn to_value(&self) -> Value {
        match self {
            FieldDefault::Literal(literal) => Value::from(*literal),
            FieldDefault::Value(value) => Value::clone(value),
        }
    }
}

/// A field of a struct.
pub struct Field {
    /// The JSON name; empty for an inlined struct.
    pub name: Text,
    /// The protobuf number; 0 when the field is not encoded.
    pub proto: u32,
    pub ty: Type,
    pub presence: Presence,
    /// Its fields stand among the owner's in JSON; a nested message in protobuf when it has a number.
    pub inline: bool,
    /// Marked optional.
    pub optional: bool,
    /// Marked required.
    pub required: bool,
    pub nullable: bool,
    pub default: Option<FieldDefault>,
    pub doc: Text,
    /// Strategic merge patch: `merge`, `replace`, `retainKeys`, joined by commas; empty when not given.
    pub patch_strategy: &'static str,
    /// Strategic merge patch: the key that identifies a list's items.
    pub patch_merge_key: &'static str,
    /// Whether apply treats the struct or map in this field as one value; what its type says when not given.
    pub atomic: Option<bool>,
    /// Feature gates that guard the field.
    pub gates: &'static [&'static str],
    /// What validation demands of the value.
    pub rules: &'static [Rule],
}

impl Field {
    /// Whether OpenAPI lists the field as required: JSON always shows it and it is not marked optional.
    pub fn is_required(&self) -> bool {
        matches!(self.presence, Presence::Always | Presence::PointerAlways) && !self.optional && !self.inline
    }

    /// Whether JSON's null is not absence here: the field points to a time, which may be zero.
    pub fn points_to_time(&self) -> bool {
        self.presence == Presence::Pointer && matches!(self.ty, Type::Time | Type::MicroTime)
    }
}

/// How apply and patches identify a list's items.
#[derive(Clone, Debug, PartialEq)]
pub enum ListKind {
    /// Replaced as a whole.
    Atomic,
    /// Scalars, each at most once.
    Set,
    /// Objects identified by the fields named.
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

/// A list, and how its items are told apart.
pub struct List {
    pub elem: Type,
    pub kind: ListKind,
    /// Whether the facts declare the kind (an undeclared list is atomic to apply).
    pub declared: bool,
}

pub struct MapType {
    pub elem: Type,
}

impl Struct {
    /// The field of a JSON name, looked for in inlined structs too.
    pub fn field(&self, name: &str) -> Option<&Field> {
        if let Ok(at) = self.by_name.binary_search_by(|&i| self.fields[usize::from(i)].name.as_str().cmp(name)) {
            return Some(&self.fields[usize::from(self.by_name[at])]);
        }
        if self.by_name.len() == self.fields.len() {
            return None;
        }
        self.fields.iter().filter(|field| field.inline).find_map(|field| field.ty.as_struct()?.field(name))
    }

    /// Visits the fields in JSON order, those of inlined structs in their place.
    pub fn each_field<'a>(&'a self, visit: &mut dyn FnMut(&'a Field)) {
        for field in self.fields.iter() {
            match (field.inline, &field.ty) {
                (true, Type::Struct(inlined)) => inlined.each_field(visit),
                _ => visit(field),
            }
        }
    }

    /// The type of the field at a path of JSON names; lists and maps are passed through to their elements.
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

    /// The API group directory and version of a built-in type, from its module.
    pub fn group_version(&self) -> (&str, &str) {
        let mut segments = self.module.split("::").skip(1);
        (segments.next().unwrap_or(""), segments.next().unwrap_or(""))
    }
}
