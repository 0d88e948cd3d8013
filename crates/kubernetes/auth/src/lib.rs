//! Authenticators and authorizers that depend on Kubernetes' own objects: service account tokens, bootstrap tokens, RBAC and
//! the Node authorizer.
//! Guarantees that credentials and rights end when the objects behind them do: every request reads their current state.
//! Must never read the store or the network by itself: objects come through the traits `BoundObjects`, `TokenSecrets`,
//! `RbacSource` and `NodeObjects`.

pub mod bootstrap_token;
mod modes;
pub mod node;
pub mod rbac;
pub mod service_account;

pub use modes::{Mode, UnknownMode};
pub use node::node_of;
