//! An API server for custom groups, without a built-in kind: `Builder` assembles it from open lists of parts, `Options`
//! parses the usual flags. Guarantees that every essential part is supervised, and that its end is reported
//! (`Server::ended`). Must never know a kind, nor what a group does.

mod authenticated_users;
pub mod backends;
mod builder;
pub mod certs;
pub mod cors;
pub mod critical_tasks;
pub mod delegation;
pub mod extension_servers;
pub mod follow;
pub mod kubeconfig;
mod opened;
mod options;
pub mod private_files;
pub mod service;
mod serving;
pub mod sources;
mod system;

pub use authenticated_users::AuthenticatedUsers;
pub use builder::{Builder, Listener, ShutdownOptions, StartError, StoreOptions};
pub use delegation::{Delegation, DelegationError};
pub use opened::Opened;
pub use options::{Options, OptionsError};
pub use serving::Serving;
pub use system::System;
