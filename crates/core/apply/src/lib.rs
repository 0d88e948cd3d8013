//! Changes of an existing object by a request: patches, server-side apply, and field ownership.
//! Guarantees a value or an error for every input. Results are not canonical: the caller decodes them again.
//! Must never do I/O or read a clock.
//!
//! Each kind of patch is a module with one `apply`. [`typed`] and [`FieldSet`] are structured merge and its sets, which
//! clients and tools can use on their own:
//!
//! ```
//! use pintle_apply::typed::{compare, fields_of, merge};
//! use pintle_schema::{ApiType, Value, value};
//!
//! #[derive(ApiType, Clone, Debug, Default, PartialEq)]
//! struct Spec {
//!     #[k8s(proto = 1)]
//!     replicas: Option<i32>,
//!     #[k8s(proto = 2, list_type = set)]
//!     finalizers: Vec<String>,
//! }
//!
//! let live = value!({"replicas": 1, "finalizers": ["keep"]});
//! let config = value!({"finalizers": ["mine"]});
//! let merged = merge(Spec::schema(), &live, &config)?;
//! assert_eq!(merged, value!({"replicas": 1, "finalizers": ["keep", "mine"]}));
//!
//! let owned = fields_of(Spec::schema(), &config)?;
//! assert_eq!(owned.to_string(), ".finalizers[=\"mine\"]");
//! assert_eq!(compare(Spec::schema(), &live, &merged)?.added, owned);
//! assert_eq!(owned.to_v1(), Value::Raw(r#"{"f:finalizers":{"v:\"mine\"":{}}}"#.into()));
//! # Ok::<(), pintle_apply::typed::TypedErrors>(())
//! ```

pub mod error;
pub mod field_set;
pub mod fields_v1;
pub mod json_patch;
pub mod managed_fields;
pub mod merge_patch;
pub mod path_element;
pub mod strategic;
#[cfg(test)]
mod test_random;
pub mod typed;

pub use error::PatchError;
pub use field_set::FieldSet;
pub use fields_v1::FieldsV1Error;
pub use path_element::{KeyFields, Path, PathElement};
