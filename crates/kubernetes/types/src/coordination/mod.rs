//! The `coordination.k8s.io` group: leases and the candidates for them.
//! One module per version; each holds the complete shape of that version.
//! A version never borrows a type from another one unless the API itself defines the two as one.

pub mod v1;
pub mod v1alpha2;
pub mod v1beta1;
