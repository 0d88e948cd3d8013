//! `ApiValue` and `ApiType`: the connection between Rust types and their schemas, and typed views of a `Value`.
//! Guarantees that a misspelt field does not compile in code about one kind.
//! Must never guess in a conversion: a value of the wrong shape is an error.

use crate::duration::Duration;
use crate::quantity::Quantity;
use crate::scalars::{Bytes, FieldsV1, IntOrString, Json, RawExtension};
use crate::schema::{List, ListKind, MapType, Ref, Struct, Type};
use crate::time::{MicroTime, Time};
use crate::value::{Map, Str, Value};
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// A value whose shape does not match its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found}")]
pub struct ShapeError {
    pub expected: &'static str,
    pub found: &'static str,
}

impl ShapeError {
    pub fn new(expected: &'static str, found: &Value) -> Self {
        ShapeError { expected, found: found.json_kind() }
    }
}

/// A Rust type of an API field.
pub trait ApiValue: Sized {
    const TYPE: Type;
    /// Whether absence differs from the type's zero value.
    const POINTER: bool = false;

    /// Converts the value; `Null` is the type's zero value.
    ///
    /// # Errors
    /// The value has another shape.
    fn from_value(value: &Value) -> Result<Self, ShapeError>;

    fn to_value(&self) -> Value;
}

/// A struct of the API.
pub trait ApiType: ApiValue {
    fn schema() -> &'static Struct;
}

/// The name of a field of `S` whose type is `F`. The name of an inlined struct is empty: its fields belong to its
/// owner.
pub struct FieldName<S, F> {
    name: &'static str,
    types: PhantomData<fn(S) -> F>,
}

impl<S, F> FieldName<S, F> {
    pub const fn new(name: &'static str) -> Self {
        FieldName { name, types: PhantomData }
    }

    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<S, F> Clone for FieldName<S, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, F> Copy for FieldName<S, F> {}

static NULL: Value = Value::Null;

/// A read-only view of a value as a `T`.
pub struct View<'a, T> {
    value: &'a Value,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

impl<'a, T> View<'a, T> {
    #[inline]
    pub fn new(value: &'a Value) -> Self {
        View { value, of: PhantomData }
    }

    #[inline]
    pub fn value(self) -> &'a Value {
        self.value
    }

    #[inline]
    pub fn field<F>(self, field: FieldName<T, F>) -> View<'a, F> {
        if field.name.is_empty() {
            return View::new(self.value);
        }
        View::new(self.value.get(field.name).unwrap_or(&NULL))
    }

    pub fn is_set(self) -> bool {
        !self.value.is_null()
    }
}

impl<T: ApiValue + Default> View<'_, T> {
    /// The value; the zero value if it is absent or of the wrong shape (which decoding rejects).
    pub fn get(self) -> T {
        T::from_value(self.value).unwrap_or_default()
    }
}

impl<'a> View<'a, String> {
    #[inline]
    pub fn as_str(self) -> &'a str {
        self.value.as_str().unwrap_or("")
    }
}

impl<'a, T> View<'a, Option<T>> {
    /// The pointer's target; absent and `null` are `None`.
    pub fn some(self) -> Option<View<'a, T>> {
        self.is_set().then(|| View::new(self.value))
    }

    /// The pointer's target; zero if absent.
    pub fn or_zero(self) -> View<'a, T> {
        View::new(self.value)
    }
}

impl<'a, T> View<'a, Vec<T>> {
    pub fn iter(self) -> impl ExactSizeIterator<Item = View<'a, T>> {
        self.value.as_list().unwrap_or(&[]).iter().map(View::new)
    }
}

/// A mutable view of a value as a `T`.
pub struct ViewMut<'a, T> {
    value: &'a mut Value,
    of: PhantomData<fn() -> T>,
}

impl<'a, T> ViewMut<'a, T> {
    pub fn new(value: &'a mut Value) -> Self {
        ViewMut { value, of: PhantomData }
    }

    /// The field, inserted as `Null` if it is absent.
    pub fn field<F>(self, field: FieldName<T, F>) -> ViewMut<'a, F> {
        if field.name.is_empty() {
            return ViewMut::new(self.value);
        }
        ViewMut::new(self.value.make_map().entry(field.name))
    }

    /// A view of the same value with a shorter lifetime.
    pub fn by_ref(&mut self) -> ViewMut<'_, T> {
        ViewMut::new(self.value)
    }

    pub fn view(&self) -> View<'_, T> {
        View::new(self.value)
    }

    pub fn raw(self) -> &'a mut Value {
        self.value
    }

    /// Removes the field.
    pub fn clear(self) {
        *self.value = Value::Null;
    }

    pub fn is_set(&self) -> bool {
        !self.value.is_null()
    }
}

impl<T: ApiValue> ViewMut<'_, T> {
    pub fn set(self, value: impl Into<T>) {
        *self.value = value.into().to_value();
    }
}

impl<'a, T> ViewMut<'a, Option<T>> {
    pub fn or_zero(self) -> ViewMut<'a, T> {
        ViewMut::new(self.value)
    }

    pub fn some(self) -> Option<ViewMut<'a, T>> {
        if self.value.is_null() { None } else { Some(ViewMut::new(self.value)) }
    }
}

impl<'a, T> ViewMut<'a, Vec<T>> {
    pub fn iter_mut(self) -> impl Iterator<Item = ViewMut<'a, T>> {
        let items: &'a mut [Value] = match self.value {
            Value::List(items) => items,
            _ => &mut [],
        };
        items.iter_mut().map(ViewMut::new)
    }
}

macro_rules! scalar {
    ($rust:ty, $ty:expr, $expected:literal, $value:ident => $read:expr, $this:ident => $write:expr) => {
        impl ApiValue for $rust {
            const TYPE: Type = $ty;

            fn from_value($value: &Value) -> Result<Self, ShapeError> {
                if $value.is_null() {
                    return Ok(Default::default());
                }
                $read.ok_or_else(|| ShapeError::new($expected, $value))
            }

            fn to_value(&self) -> Value {
                let $this = self;
                $write
            }
        }
    };
}

scalar!(bool, Type::Bool, "a boolean", v => v.as_bool(), x => Value::Bool(*x));
scalar!(i32, Type::Int32, "a 32 bit integer", v => v.as_i64().and_then(|i| i32::try_from(i).ok()), x => Value::Int((*x).into()));
scalar!(i64, Type::Int64, "an integer", v => v.as_i64(), x => Value::Int(*x));
scalar!(f64, Type::Float64, "a number", v => match v { Value::Float(f) => Some(*f), Value::Int(i) => Some(*i as f64), _ => None }, x => Value::Float(*x));
scalar!(String, Type::String, "a string", v => v.as_str().map(str::to_owned), x => Value::from(x.as_str()));
scalar!(Json, Type::Json, "any JSON", v => Some(Json(v.clone())), x => x.0.clone());
scalar!(RawExtension, Type::RawExtension, "an object", v => Some(RawExtension(v.clone())), x => x.0.clone());
scalar!(FieldsV1, Type::FieldsV1, "a field set", v => Some(FieldsV1(v.clone())), x => x.0.clone());
scalar!(IntOrString, Type::IntOrString, "a number or a string", v => match v {
    Value::Int(i) => i32::try_from(*i).ok().map(IntOrString::Int),
    Value::String(s) => Some(IntOrString::String(s.clone())),
    _ => None,
}, x => match x { IntOrString::Int(i) => Value::from(*i), IntOrString::String(s) => Value::String(s.clone()) });
scalar!(Bytes, Type::Bytes, "base64 text", v => v.as_str().and_then(|s| crate::base64::decode(s).ok()).map(Bytes), x => Value::from(crate::base64::encode(&x.0)));

scalar!(Quantity, Type::Quantity, "a quantity", v => match v {
    Value::Int(i) => Some(Quantity::from_i64(*i)),
    Value::String(text) => Quantity::keep(text).ok(),
    _ => None,
}, x => Value::from(x.as_str()));
scalar!(Duration, Type::Duration, "a duration", v => v.as_str().and_then(|text| Duration::parse(text).ok()), x => Value::from(x.to_string()));
scalar!(Time, Type::Time, "a time", v => read_time(v, |text| Time::parse(text).ok()), x => time_value(x.is_zero(), x.to_rfc3339()));
scalar!(MicroTime, Type::MicroTime, "a time", v => read_time(v, |text| MicroTime::parse(text).ok()), x => time_value(x.is_zero(), x.to_rfc3339()));

fn read_time<T: Default>(value: &Value, parse: fn(&str) -> Option<T>) -> Option<T> {
    if *value == Value::NO_TIME { Some(T::default()) } else { value.as_str().and_then(parse) }
}

/// The zero time is encoded as `null`.
fn time_value(zero: bool, text: impl Into<Value>) -> Value {
    if zero { Value::Null } else { text.into() }
}

impl ApiValue for Value {
    const TYPE: Type = Type::Any;

    fn from_value(value: &Value) -> Result<Self, ShapeError> {
        Ok(value.clone())
    }

    fn to_value(&self) -> Value {
        self.clone()
    }
}

impl<T: ApiValue> ApiValue for Option<T> {
    const TYPE: Type = T::TYPE;
    const POINTER: bool = true;

    fn from_value(value: &Value) -> Result<Self, ShapeError> {
        if value.is_null() { Ok(None) } else { T::from_value(value).map(Some) }
    }

    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, ApiValue::to_value)
    }
}

impl<T: ApiValue> ApiValue for Box<T> {
    const TYPE: Type = T::TYPE;

    fn from_value(value: &Value) -> Result<Self, ShapeError> {
        T::from_value(value).map(Box::new)
    }

    fn to_value(&self) -> Value {
        T::to_value(self)
    }
}

fn list_of<T: ApiValue>() -> &'static List {
    const { &List { elem: T::TYPE, kind: ListKind::Atomic, declared: false } }
}

impl<T: ApiValue> ApiValue for Vec<T> {
    const TYPE: Type = Type::List(Ref::Static(list_of::<T>));

    fn from_value(value: &Value) -> Result<Self, ShapeError> {
        match value {
            Value::Null => Ok(Vec::new()),
            Value::List(items) => items.iter().map(T::from_value).collect(),
            _ => Err(ShapeError::new("a list", value)),
        }
    }

    fn to_value(&self) -> Value {
        Value::List(self.iter().map(T::to_value).collect())
    }
}

fn map_of<T: ApiValue>() -> &'static MapType {
    const { &MapType { elem: T::TYPE } }
}

impl<T: ApiValue> ApiValue for BTreeMap<String, T> {
    const TYPE: Type = Type::Map(Ref::Static(map_of::<T>));

    fn from_value(value: &Value) -> Result<Self, ShapeError> {
        match value {
            Value::Null => Ok(BTreeMap::new()),
            Value::Map(map) => map.iter().map(|(key, item)| Ok((key.to_string(), T::from_value(item)?))).collect(),
            _ => Err(ShapeError::new("a map", value)),
        }
    }

    fn to_value(&self) -> Value {
        Value::Map(Map::from_entries(self.iter().map(|(key, item)| (Str::new(key), item.to_value())).collect()))
    }
}

/// Called by the code that the derive emits, and by nothing else.
pub mod derived {
    pub use crate::api_value::ApiValue;
    pub use crate::compiled::Compiled;
    pub use crate::schema::{
        Field, FieldDefault, Form, Keys, List, ListKind, Literal, Presence, Ref, Slice, Struct, Text, Type,
    };
    pub use crate::value::{Map, Value};
    use crate::{ShapeError, Str};

    static EMPTY: std::sync::LazyLock<Map> = std::sync::LazyLock::new(Map::new);

    pub fn fields_of(value: &Value) -> Result<&Map, ShapeError> {
        match value {
            Value::Map(map) => Ok(map),
            Value::Null => Ok(&EMPTY),
            _ => Err(ShapeError::new("an object", value)),
        }
    }

    pub fn read_field<T: ApiValue>(map: &Map, name: &str) -> Result<T, ShapeError> {
        T::from_value(map.get(name).unwrap_or(&Value::Null))
    }

    /// Absent values are omitted: the canonical form adds those that JSON contains anyway.
    pub fn write_field<T: ApiValue>(map: &mut Map, name: &'static str, field: &T) {
        let value = field.to_value();
        if !value.is_null() {
            map.push(Str::new_static(name), value);
        }
    }

    pub fn write_inline<T: ApiValue>(map: &mut Map, field: &T) {
        if let Value::Map(fields) = field.to_value() {
            map.entries_mut().extend(fields);
        }
    }
}

/// Declares a string type with named values.
///
/// ```
/// pintle_schema::string_type! {
///     /// Where a pod is in its life.
///     pub PodPhase {
///         /// Accepted, not all containers run yet.
///         PENDING = "Pending",
///     }
/// }
/// assert_eq!(PodPhase::PENDING, "Pending");
/// ```
#[macro_export]
macro_rules! string_type {
    (@declare $(#[doc = $doc:literal])* #[closed] pub $name:ident { $($values:tt)* }) => {
        $crate::string_type! { @type true, [$($doc)*] $name { $($values)* } }
    };
    (@declare $(#[doc = $doc:literal])* pub $name:ident { $($values:tt)* }) => {
        $crate::string_type! { @type false, [$($doc)*] $name { $($values)* } }
    };
    (@type $closed:literal, [$($doc:literal)*] $name:ident {
        $($(#[doc = $value_doc:literal])* $constant:ident = $value:literal,)*
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name(pub $crate::Str);

        impl $name {
            $($(#[doc = $value_doc])* pub const $constant: $name = $name($crate::Str::new_static($value));)*

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                $name($crate::Str::new(text))
            }
        }

        impl $crate::ApiValue for $name {
            const TYPE: $crate::Type = $crate::Type::Enum($crate::Ref::Static({
                fn get() -> &'static $crate::Enum {
                    static ENUM: $crate::Enum = $crate::Enum {
                        name: $crate::Text::Static(stringify!($name)),
                        module: $crate::Text::Static(module_path!()),
                        doc: $crate::Text::Static(concat!($($doc),*)),
                        closed: $closed,
                        values: $crate::Slice::Static(&[$($crate::EnumValue {
                            value: $crate::Text::Static($value),
                            doc: $crate::Text::Static(concat!($($value_doc),*)),
                        }),*]),
                    };
                    &ENUM
                }
                get
            }));

            #[inline]
            fn from_value(value: &$crate::Value) -> Result<Self, $crate::ShapeError> {
                match value {
                    $crate::Value::Null => Ok(Self::default()),
                    $crate::Value::String(text) => Ok($name(text.clone())),
                    _ => Err($crate::ShapeError::new("a string", value)),
                }
            }

            #[inline]
            fn to_value(&self) -> $crate::Value {
                $crate::Value::String(self.0.clone())
            }
        }
    };
    ($($declaration:tt)*) => {
        $crate::string_type! { @declare $($declaration)* }
        $crate::string_type_declaration! { $($declaration)* }
    };
}
