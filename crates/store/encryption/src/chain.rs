//! A resource's providers in order: the first encrypts, and the first that can decrypts. Guarantees that the error for
//! a value that no provider decrypts has kube-apiserver's message, without a secret. Must never choose between
//! resources.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use pintle_storage::{DecryptedValue, KeyFingerprint, TransformError};
use ring::digest;

use crate::ciphers::{Cipher, Gcm};
use crate::kms::{Kms, KmsConfig};
use crate::stats::{self, Direction, ResourceCounter};
use crate::transformers::RuleError;

/// The prefix of every encrypted value.
const SEALED: &[u8] = b"k8s:enc:";
const CBC: &str = "k8s:enc:aescbc:v1:";
const GCM: &str = "k8s:enc:aesgcm:v1:";
const SECRETBOX: &str = "k8s:enc:secretbox:v1:";

/// A named key.
#[derive(Clone)]
pub struct Key {
    /// Part of the prefix of every value that the key encrypted.
    pub name: String,
    /// The key's bytes.
    pub secret: Vec<u8>,
}

/// A provider of encryption.
#[derive(Clone)]
pub enum Provider {
    /// Values are stored in plain.
    Identity,
    /// AES in CBC mode, with keys of 16, 24 or 32 bytes.
    AesCbc(Vec<Key>),
    /// AES in GCM mode, with keys of 16, 24 or 32 bytes.
    AesGcm(Vec<Key>),
    /// XSalsa20 and Poly1305, with keys of 32 bytes.
    Secretbox(Vec<Key>),
    /// Keys of a key service (KMS plugin).
    Kms(KmsConfig),
}

/// An initialized provider.
pub(crate) enum Link {
    Identity,
    Ring(Ring),
    Kms(Arc<Kms>),
}

/// Keys of one cipher.
pub(crate) struct Ring {
    prefix: &'static str,
    /// The error message for a value whose prefix names none of the keys.
    no_key: &'static str,
    keys: Vec<RingKey>,
}

struct RingKey {
    /// Includes the name of the key.
    prefix: String,
    cipher: Cipher,
    fingerprint: KeyFingerprint,
}

/// `None` if the secret's length is invalid for the cipher.
type MakeCipher = fn(&[u8]) -> Option<Cipher>;

impl Ring {
    pub fn new(provider: &Provider) -> Result<Option<Ring>, RuleError> {
        let aes = "no matching key was found for the provided AES transformer";
        let secretbox = "no matching key was found for the provided Secretbox transformer";
        let (prefix, no_key, keys, cipher): (_, _, _, MakeCipher) = match provider {
            Provider::AesCbc(keys) => (CBC, aes, keys, Cipher::cbc),
            Provider::AesGcm(keys) => (GCM, aes, keys, |secret| Gcm::new(secret).map(Cipher::Gcm)),
            Provider::Secretbox(keys) => (SECRETBOX, secretbox, keys, Cipher::secretbox),
            Provider::Identity | Provider::Kms(_) => return Ok(None),
        };
        let ready = |key: &Key| {
            let prefix = format!("{prefix}{}:", key.name);
            let cipher = cipher(&key.secret).ok_or_else(|| RuleError::KeyLength(key.name.clone(), key.secret.len()))?;
            Ok(RingKey { fingerprint: fingerprint_of(&[prefix.as_bytes(), &key.secret]), cipher, prefix })
        };
        let keys: Vec<RingKey> = keys.iter().map(ready).collect::<Result<_, _>>()?;
        if keys.is_empty() {
            return Err(RuleError::NoKeys(prefix));
        }
        Ok(Some(Ring { prefix, no_key, keys }))
    }

    /// The part of a key's prefix that follows the prefix of the ring.
    fn label<'a>(&self, key: &'a RingKey) -> &'a str {
        key.prefix.strip_prefix(self.prefix).unwrap_or(&key.prefix)
    }

    fn encrypt(&self, key: &str, plain: &[u8], counter: ResourceCounter<'_>) -> Result<Bytes, TransformError> {
        let first = self.keys.first().ok_or_else(|| TransformError::new(self.no_key))?;
        let since = Instant::now();
        let mut out = Vec::with_capacity(first.prefix.len() + plain.len() + 64);
        out.extend_from_slice(first.prefix.as_bytes());
        let ciphertext = first.cipher.encrypt(key, plain, &mut out);
        counter.transformed(Direction::ToStorage, self.label(first), since, code_of(&ciphertext));
        ciphertext.map(|()| Bytes::from(out))
    }

    fn decrypt(&self, key: &str, kept: &[u8], counter: ResourceCounter<'_>) -> Result<DecryptedValue, TransformError> {
        let since = Instant::now();
        let mut errors = Vec::new();
        for ring_key in &self.keys {
            let Some(ciphertext) = kept.strip_prefix(ring_key.prefix.as_bytes()) else { continue };
            let decrypted = ring_key.cipher.decrypt(key, ciphertext);
            counter.transformed(Direction::FromStorage, self.label(ring_key), since, code_of(&decrypted));
            match decrypted {
                Ok(plain) => return Ok(DecryptedValue { plain: plain.into(), fingerprint: ring_key.fingerprint }),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            counter.transformed(Direction::FromStorage, UNKNOWN, since, stats::NOT_GRPC);
        }
        Err(together(errors, self.no_key))
    }
}

/// The prefix in metrics for a value without a known one.
const UNKNOWN: &str = "unknown";

fn code_of<T>(outcome: &Result<T, TransformError>) -> &'static str {
    if outcome.is_ok() { stats::OK } else { stats::NOT_GRPC }
}

/// Why a provider could not decrypt a value, and the code in metrics.
pub(crate) struct LinkError {
    pub error: TransformError,
    pub code: &'static str,
}

impl From<TransformError> for LinkError {
    fn from(error: TransformError) -> Self {
        LinkError { error, code: stats::NOT_GRPC }
    }
}

/// The providers of a resource. Empty if none is configured: values are stored in plain.
#[derive(Clone, Default)]
pub(crate) struct Chain(pub Vec<Arc<Link>>);

impl Chain {
    pub fn encrypt(&self, key: &str, plain: &Bytes, counter: ResourceCounter<'_>) -> Result<Bytes, TransformError> {
        let Some(first) = self.0.first() else { return Ok(plain.clone()) };
        let since = Instant::now();
        let (prefix, ciphertext) = match first.as_ref() {
            Link::Identity => ("", Ok(plain.clone())),
            Link::Ring(ring) => (ring.prefix, ring.encrypt(key, plain, counter)),
            Link::Kms(kms) => (kms.prefix.as_str(), kms.encrypt(key, plain)),
        };
        counter.transformed(Direction::ToStorage, prefix, since, code_of(&ciphertext));
        ciphertext
    }

    pub fn decrypt(
        &self,
        key: &str,
        kept: &Bytes,
        counter: ResourceCounter<'_>,
    ) -> Result<DecryptedValue, TransformError> {
        let ciphertext = kept.starts_with(SEALED);
        let plain = || Ok(DecryptedValue { plain: kept.clone(), fingerprint: KeyFingerprint::PLAIN });
        if self.0.is_empty() {
            return if ciphertext { Err(TransformError::new(TRIED_TO_READ_SEALED)) } else { plain() };
        }
        let since = Instant::now();
        let mut errors = Vec::new();
        for link in &self.0 {
            let (prefix, decrypted) = match link.as_ref() {
                Link::Identity if ciphertext => continue,
                Link::Identity => ("identity", plain().map_err(LinkError::from)),
                Link::Ring(ring) if kept.starts_with(ring.prefix.as_bytes()) => {
                    (ring.prefix, ring.decrypt(key, kept, counter).map_err(LinkError::from))
                }
                Link::Kms(kms) if kept.starts_with(kms.prefix.as_bytes()) => (&*kms.prefix, kms.decrypt(key, kept)),
                Link::Ring(_) | Link::Kms(_) => continue,
            };
            let code = decrypted.as_ref().map_or_else(|error| error.code, |_| stats::OK);
            counter.transformed(Direction::FromStorage, prefix, since, code);
            match decrypted {
                Ok(decrypted) => return Ok(decrypted),
                Err(failed) => errors.push(failed.error),
            }
        }
        if errors.is_empty() {
            counter.transformed(Direction::FromStorage, UNKNOWN, since, stats::NOT_GRPC);
        }
        Err(together(errors, "no matching prefix found"))
    }

    pub fn current(&self) -> Option<KeyFingerprint> {
        match self.0.first().map(Arc::as_ref) {
            None | Some(Link::Identity) => Some(KeyFingerprint::PLAIN),
            Some(Link::Ring(ring)) => ring.keys.first().map(|key| key.fingerprint),
            Some(Link::Kms(kms)) => kms.current(),
        }
    }

    /// Whether the key with this fingerprint is configured, or a key service may have it.
    pub fn may_decrypt(&self, fingerprint: KeyFingerprint) -> bool {
        self.0.iter().any(|link| match link.as_ref() {
            Link::Identity => false,
            Link::Ring(ring) => ring.keys.iter().any(|key| key.fingerprint == fingerprint),
            Link::Kms(_) => true,
        })
    }
}

const TRIED_TO_READ_SEALED: &str = "identity transformer tried to read encrypted data";

/// Several errors as one, each text once; `none` if no provider was tried.
fn together(errors: Vec<TransformError>, none: &str) -> TransformError {
    let mut texts: Vec<String> = Vec::new();
    for text in errors.iter().map(TransformError::to_string) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [] => TransformError::new(none),
        [text] => TransformError::new(text.as_str()),
        texts => TransformError::new(format!("[{}]", texts.join(", "))),
    }
}

/// The fingerprint of a key, from its name and its secret, so that another secret under the same name is another key.
/// It is a digest, which does not disclose the secret.
pub(crate) fn fingerprint_of(parts: &[&[u8]]) -> KeyFingerprint {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in parts {
        context.update(&part.len().to_be_bytes());
        context.update(part);
    }
    let digest = context.finish();
    let first = digest.as_ref().first_chunk().map_or(0, |eight| u64::from_be_bytes(*eight));
    // Zero is the fingerprint of plain values.
    KeyFingerprint(first.max(1))
}
