//! Authentication by JSON web tokens of other issuers (OpenID Connect): an issuer's keys are found by discovery and fetched
//! again when they change, and claims are mapped to a user by names or by expressions. Guarantees that no claim is used before
//! the signature is verified, except the issuer, which selects the authenticator. Must never open a connection itself: documents
//! come through [`Fetch`].

mod authenticator;
mod claims;
mod distributed;
mod expression;
mod fetch;
mod jose;
mod keys;
mod mapping;
mod verifier;

pub use authenticator::{Issuer, JwtAuthenticator, JwtAuthenticators, JwtStats};
pub use expression::{Expression, ExpressionError, Returns, Rule};
pub use fetch::{Fetch, Fetched};
pub use jose::Algorithm;
pub use mapping::{ClaimOrExpression, Mapping, PrefixedClaim, UsernameFrom};
