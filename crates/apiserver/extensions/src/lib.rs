//! Custom resources: the validation of definitions, and the engine for their objects.
//!
//! Plain functions from the JSON of a definition to errors, schemas and values, with kube-apiserver's messages in its order.
//! Must never do I/O; the controllers that store definitions and serve their resources call these functions.

pub mod columns;
mod conversion;
pub mod definition;
pub mod embedded;
pub mod engine;
mod field_path;
mod finalizers;
mod json_path;
pub mod json_schema;
pub mod merge_schema;
mod metadata_schema;
pub mod naming;
pub mod object;
pub mod openapi;
pub mod pattern;
pub mod prune;
pub mod resource;
mod rules;
mod shown;
pub mod structural;
pub mod values;

pub use conversion::{CONVERSIONS, ConversionMetrics};
pub use definition::{validate_definition, validate_status};
pub use json_schema::JsonSchema;
pub use rules::{RULE_TIMES, RuleTimes};
