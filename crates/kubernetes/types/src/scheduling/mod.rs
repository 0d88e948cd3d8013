//! The `scheduling.k8s.io` group: priority classes and groups of pods that are scheduled together.
//! One module per version; each holds the complete shape of that version.
//! A version never borrows a type from another one unless the API itself defines the two as one.

pub mod v1;
pub mod v1alpha2;
pub mod v1beta1;
