//! The `apidiscovery.k8s.io` group: the aggregated list of everything a server serves.
//! One module per version; each holds the complete shape of that version.
//! A version never borrows a type from another one unless the API itself defines the two as one.

pub mod v2;
pub mod v2beta1;
