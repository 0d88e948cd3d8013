//! What imitates Go in this ring, besides [`pintle_schema::compat`], which is part of it: values as `fmt` prints them, and
//! the names of types in errors of decoders. Must never decide what is valid.

pub mod print;
pub(crate) mod types;

pub use pintle_schema::compat::*;
