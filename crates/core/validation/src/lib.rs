//! Validation: field errors in the reference's words, the rules of all kinds compiled into plans, and the walk that judges.
//!
//! Rules judge values and never change them. They see the object, on update the stored one, and the request.

extern crate self as pintle_validation;

pub mod check;
mod comparison;
pub mod compile;
pub mod docs;
pub mod error;
pub mod formats;
pub mod hand;
mod item_union;
pub mod kind;
pub mod metadata;
mod outcomes;
pub mod path;
pub mod plan;
mod relation;
pub mod request;
pub mod rulebook;
mod run;
mod same;
mod spot;
mod turn;

pub use comparison::Comparison;
pub use error::{ErrorKind, ErrorList, ErrorWords, FieldError};
pub use hand::{Hand, Untyped, When};
pub use kind::{CREATE, Group, KindRules, Step, UPDATE};
pub use outcomes::{OUTCOMES, Subject};
pub use path::FieldPath;
pub use request::{At, Cx, Operation, Refusal, Request, Right, Surroundings};
pub use rulebook::{Rulebook, Verdict};
pub use run::Show;
pub use same::{same, same_at};
