//! The `extensions` group: early forms of workloads and network objects, kept for conversion.
//! One module per version; each has the complete shape of that version: its own types, and those that it takes from another.
//! What a version releases never changes with another one: a type that begins to differ is declared again.

pub mod v1beta1;
