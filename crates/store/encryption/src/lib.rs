//! Encryption at rest: values are stored in the format of Kubernetes, encrypted by the configured providers. Guarantees
//! that any server with the same keys, kube-apiserver included, can decrypt a value, and that an authenticating cipher
//! decrypts a value only for the storage key that it was encrypted for. Must never read a file or depend on a kind:
//! rules are passed in parsed, and storage keys identify resources.
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
//! write of the object, even one that changes nothing, encrypts it again.

mod chain;
mod ciphers;
mod dynamic;
pub mod kms;
mod limits;
mod names;
mod seed;
pub mod stats;
mod transformers;

pub use chain::{Key, Provider};
pub use dynamic::Encryption;
pub use kms::{KmsConfig, Pace};
pub use names::{GroupResource, Names};
pub use transformers::{Rule, RuleError, Transformers};
