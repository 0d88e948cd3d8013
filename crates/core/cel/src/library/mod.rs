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
//! The engine matches arguments to the declared types before it calls, also when they are `dyn`, so that the `else` above
//! is never reached. `estimate` and `track` are asked for every overload of the name, the standard ones included, as
//! kube-apiserver does it. Errors are `EvalError::new(text)`.
//!
//! A library's own type implements `Opaque` and is passed as `Value::opaque(x)`; `value.as_opaque::<X>()` reads it. Its
//! `Type` is `Type::opaque("net.IP")` or `Type::object("kubernetes.Quantity")`, as kube-apiserver declares it.

pub mod address;
mod args;
pub mod authorization;
pub mod format;
pub mod json_patch;
pub mod lists;
pub mod matching;
pub mod named;
pub mod network;
pub mod quantity;
pub mod regex;
pub mod semver;
pub mod sets;
mod sort;
pub mod strings;
pub mod time;
pub mod url;
pub mod urls;
pub mod zone;

use crate::function::Function;

/// A library, and the versions of Kubernetes that have it.
pub struct Library {
    pub name: &'static str,
    /// The minor version 1.x that brought it.
    pub since: u32,
    pub functions: fn() -> Vec<Function>,
}

const fn library(name: &'static str, since: u32, functions: fn() -> Vec<Function>) -> Library {
    Library { name, since, functions }
}

/// The libraries of every environment. `cel.bind`, the macros and JSON patches are not among them: environments add
/// those that they have.
pub static LIBRARIES: [Library; 14] = [
    library("kubernetes.urls", 0, urls::functions),
    library("kubernetes.regex", 0, matching::functions),
    library("kubernetes.lists", 0, lists::functions),
    library("cel.lib.ext.strings", 0, strings::functions),
    library("kubernetes.authz", 27, authorization::functions),
    library("kubernetes.quantity", 28, quantity::functions),
    library("cel.lib.ext.strings, version 2", 29, strings::functions_of_version_2),
    library("cel.lib.ext.sets", 29, sets::functions),
    library("kubernetes.net.ip", 30, network::ip_functions),
    library("kubernetes.net.cidr", 30, network::cidr_functions),
    library("kubernetes.format", 31, named::functions),
    library("kubernetes.authzSelectors", 31, authorization::selector_functions),
    library("kubernetes.Semver", 33, semver::functions),
    library("cel.lib.ext.lists", 34, lists::extended_functions),
];
