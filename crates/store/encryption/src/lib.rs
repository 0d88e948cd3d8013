//! Encryption at rest: values are kept as Kubernetes keeps them, sealed by the providers of its configuration.
//! Guarantees that every byte which one server sealed any other server with the same keys opens, whoever wrote it, and
//! that a value opens only under the storage key it was sealed for, where the cipher can tell.
//! Must never read a file or know a kind: rules come in parsed, resources are told from storage keys.
//!
//! # How a value is kept
//!
//! ```text
//! identity    the value
//! aescbc      k8s:enc:aescbc:v1:KEY:     initialization vector (16), ciphertext padded to blocks of 16
//! aesgcm      k8s:enc:aesgcm:v1:KEY:     nonce (12), ciphertext, tag (16)
//! secretbox   k8s:enc:secretbox:v1:KEY:  nonce (24), tag (16), ciphertext
//! kms         k8s:enc:kms:v2:NAME:       an EncryptedObject: info (32), nonce (12), ciphertext, tag (16), and what the
//!                                        key service needs to give back the seed of the key
//! ```
//!
//! The first provider of a resource writes, all of them read. What another than the first reads is stale: the next
//! write of the object, even one that changes nothing, seals it anew.

mod chain;
mod ciphers;
mod dynamic;
pub mod figures;
pub mod kms;
mod limits;
mod names;
mod seed;
mod transformers;

pub use chain::{Key, Provider};
pub use dynamic::Encryption;
pub use kms::{KmsConfig, Pace};
pub use names::{GroupResource, Names};
pub use transformers::{Rule, RuleError, Transformers};
