//! Who a request comes from (authentication) and what it may do (authorization).
//! Guarantees that no credential means no identity beyond anonymous, and that nothing is allowed unless a rule says so.
//! Must never read the store or the network by itself: roles and bindings come as a snapshot, the time as an argument.

pub mod authentication;
pub mod authorization;
pub mod impersonation;
mod user;

pub use authentication::{Authenticator, CertCache, Credentials, Unauthenticated};
pub use authorization::{Attributes, Authorizer, Decision, Mode, node_of};
pub use impersonation::Impersonator;
pub use smol_str::SmolStr as Str;
pub use user::{NODE_NAME_KEY, UserInfo, groups, users};
