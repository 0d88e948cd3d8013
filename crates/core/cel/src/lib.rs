//! The Common Expression Language with the libraries, limits and texts of Kubernetes.
//!
//! An expression is compiled once against an `Environment` and evaluated often. No I/O, no clock, no randomness; no
//! input makes it panic, recurse without bound or run longer than the cost limit allows.

pub mod ast;
mod checker;
pub mod cost;
pub mod environment;
pub mod error;
pub mod function;
pub mod issue;
pub mod library;
pub mod parser;
pub mod program;
pub mod schema;
mod standard;
pub mod types;
pub mod value;

pub use cost::{CallEstimate, CostEstimate, Node, SizeEstimate};
pub use environment::{CompileError, Environment};
pub use error::EvalError;
pub use function::{Function, Overload, Style};
pub use program::{Checked, Evaluated, Program, Variables};
pub use schema::{Decl, OpenApi};
pub use types::Type;
pub use value::Value;
