//! The `config.k8s.io` group: what a component says of itself for debugging.
//! One module per version; each holds the complete shape of that version.
//! A version never borrows a type from another one unless the API itself defines the two as one.

pub mod v1beta1;
