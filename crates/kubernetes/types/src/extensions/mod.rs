//! The `extensions` group: early forms of workloads and network objects, kept for conversion.
//! One module per version; each holds the complete shape of that version.
//! A version never borrows a type from another one unless the API itself defines the two as one.

pub mod v1beta1;
