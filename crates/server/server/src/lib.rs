//! An API server for groups of one's own, without a built-in kind: `Builder` assembles it from open lists of parts,
//! `Options` reads the usual flags.
//! Guarantees that everything a server cannot go on without is watched, and that its end is told (`Server::ended`).
//! Must never know a kind, nor what a group does.

pub mod backends;
pub mod browsers;
pub mod certs;
pub mod follow;
pub mod kubeconfig;
pub mod private_files;
pub mod service;
pub mod sources;
mod system;
pub mod vital;

pub use system::System;
