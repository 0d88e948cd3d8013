//! Validation: field errors with kube-apiserver's messages, the rules of all kinds compiled into plans, and the walk
//! that runs them.
//! Must never change values: rules see the object, on update the stored one, and the request.

extern crate self as pintle_validation;

pub mod check;
mod comparison;
pub mod compile;
pub mod custom_rule;
pub mod docs;
pub mod error;
mod field_slots;
mod finder;
pub mod formats;
mod item_union;
pub mod kind;
mod location;
pub mod metadata;
mod order;
mod outcomes;
pub mod path;
pub mod plan;
mod relation;
pub mod request;
mod run;
mod same;
pub mod validator;
pub mod webhook_client;

pub use comparison::Comparison;
pub use custom_rule::{CustomRule, Replacement, ShownName, Skip, Untyped, When};
pub use error::{ErrorKind, ErrorList, ErrorPath, ErrorWords, FieldError, named};
pub use kind::{CREATE, FieldOrder, Group, KindRules, Pass, UPDATE};
pub use order::Phase;
pub use outcomes::{OUTCOMES, Subject};
pub use path::FieldPath;
pub use request::{At, Operation, Refusal, Request, Right, ValidationContext, ValidationEnvironment};
pub use run::Show;
pub use same::{same, same_at};
pub use validator::{ObjectRule, ValidationResult, Validator};
