//! `pintle-groups` under the name that its users know.
//!
//! Re-exports alone.

pub use pintle_groups::*;
