//! Digests that identify a text where the text itself must not be shown. Guarantees the form that kube-apiserver's
//! metrics have. Must never be used to protect a secret.

use data_encoding::HEXLOWER;
use ring::digest::{SHA256, digest};

/// The digest that identifies a text in messages and metrics that must not contain it.
#[must_use]
pub fn text_digest(text: &[u8]) -> String {
    format!("sha256:{}", HEXLOWER.encode(digest(&SHA256, text).as_ref()))
}
