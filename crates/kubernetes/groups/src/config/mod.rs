//! What the kinds of configuration files have besides their types.
//!
//! The server reads these files when it starts; no path serves them.

pub(crate) mod defaults;
