//! The libraries: for each, the functions it declares.
//!
//! A library is a function `pub fn functions() -> Vec<Function>` in a module of its own; it becomes a row of `LIBRARIES` in
//! `environment/libraries.rs`, with the versions that have it. Nothing here knows of a checker or an evaluator.
//!
//! ```ignore
//! pub fn functions() -> Vec<Function> {
//!     vec![
//!         // 'a,b'.split(',')
//!         Function::new("split", vec![Overload::member("string_split_string", vec![STRING, STRING], list(STRING), split)])
//!             .costing(estimate_split, track_split),
//!     ]
//! }
//!
//! fn split<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
//!     let [Value::String(text), Value::String(separator)] = args else { return Err(EvalError::no_overload()) };
//!     Ok(Value::list(text.split(separator.as_str()).map(Value::string).collect()))
//! }
//! ```
//!
//! The engine matches arguments to the declared types before it calls, also when they are `dyn`, so that the `else`
//! above is never reached. `estimate` and `track` are asked for every overload of the name, the standard ones
//! included, as the reference does it. Errors are `EvalError::new(text)`.
//!
//! A library's own type implements `Opaque` and is passed as `Value::opaque(x)`; `value.as_opaque::<X>()` reads it. Its
//! `Type` is `Type::opaque("net.IP")` or `Type::object("kubernetes.Quantity")`, as the reference declares it.

pub mod address;
pub mod number;
pub mod quantity;
pub mod regex;
pub mod semver;
pub mod time;
pub mod url;
pub mod zone;
