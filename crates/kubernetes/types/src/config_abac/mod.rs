//! The `abac.authorization.kubernetes.io` group: lines of an attribute-based authorization file.
//! One module per version; each holds the complete shape of that version.
//! A version never borrows a type from another one unless the API itself defines the two as one.

pub mod v0;
pub mod v1beta1;
