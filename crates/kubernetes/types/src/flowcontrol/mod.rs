//! The `flowcontrol.apiserver.k8s.io` group: priority and fairness of requests.
//! One module per version; each has the complete shape of that version: its own types, and those that it takes from another.
//! What a version releases never changes with another one: a type that begins to differ is declared again.

pub mod v1;
pub mod v1beta1;
pub mod v1beta2;
pub mod v1beta3;
