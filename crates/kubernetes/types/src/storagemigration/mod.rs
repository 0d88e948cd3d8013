//! The `storagemigration.k8s.io` group: requests to store existing objects in a new version.
//! One module per version; each holds the complete shape of that version.
//! A version never borrows a type from another one unless the API itself defines the two as one.

pub mod v1beta1;
