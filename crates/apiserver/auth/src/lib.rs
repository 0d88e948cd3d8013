//! Authentication and authorization: traits, unions of their implementations, and the implementations that need no kind.
//! Guarantees that a request without a credential is anonymous at most, and that nothing is allowed unless an authorizer allows
//! it. Must never know a kind: roles, service accounts, secrets and nodes are for outer crates.

pub mod authentication;
pub mod authorization;
pub mod impersonation;
mod impersonation_cache;
pub mod kept;
mod user;

pub use authentication::{
    AuthenticationError, AuthenticationRequest, Authenticator, AuthenticatorUnion, CertCache, Identity,
    RequestAuthenticator,
};
pub use authorization::{Attributes, Authorizer, AuthorizerUnion, Decision, NamedAuthorizer};
pub use impersonation::Impersonator;
pub use smol_str::SmolStr as Str;
pub use user::{CREDENTIAL_ID_KEY, NODE_NAME_KEY, UserInfo, groups, heap_bytes, users};
