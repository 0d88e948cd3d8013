//! The `events.k8s.io` group: reports about what happens in a cluster.
//! One module per version; each has the complete shape of that version: its own types, and those that it takes from another.
//! What a version releases never changes with another one: a type that begins to differ is declared again.

pub mod v1;
pub mod v1beta1;
