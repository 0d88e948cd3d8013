//! A resource's providers in their order: the first seals, the first that can opens. Guarantees that a value which no
//! provider opens says why in kube-apiserver's words, and never names a secret. Must never choose between resources.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use pintle_storage::{Opened, Seal, TransformError};
use ring::digest;

use crate::ciphers::{Cipher, Gcm};
use crate::figures::{self, Direction, Teller};
use crate::kms::{Kms, KmsConfig};
use crate::transformers::RuleError;

/// What every sealed value begins with.
const SEALED: &[u8] = b"k8s:enc:";
const CBC: &str = "k8s:enc:aescbc:v1:";
const GCM: &str = "k8s:enc:aesgcm:v1:";
const SECRETBOX: &str = "k8s:enc:secretbox:v1:";

/// A named key.
#[derive(Clone)]
pub struct Key {
    /// Stands before every value that the key sealed.
    pub name: String,
    /// The key's bytes.
    pub secret: Vec<u8>,
}

/// A way to keep values.
#[derive(Clone)]
pub enum Provider {
    /// As they are.
    Identity,
    /// AES in CBC mode, with keys of 16, 24 or 32 bytes.
    AesCbc(Vec<Key>),
    /// AES in GCM mode, with keys of 16, 24 or 32 bytes.
    AesGcm(Vec<Key>),
    /// XSalsa20 and Poly1305, with keys of 32 bytes.
    Secretbox(Vec<Key>),
    /// Keys that a key service guards.
    Kms(KmsConfig),
}

/// A provider, ready.
pub(crate) enum Link {
    Identity,
    Ring(Ring),
    Kms(Arc<Kms>),
}

/// Keys of one cipher.
pub(crate) struct Ring {
    prefix: &'static str,
    /// What is said when none of the keys is named in a value.
    no_key: &'static str,
    keys: Vec<RingKey>,
}

struct RingKey {
    /// With the name of the key.
    prefix: String,
    cipher: Cipher,
    seal: Seal,
}

/// `None`: the secret has a length that the cipher does not take.
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
            Ok(RingKey { seal: seal_of(&[prefix.as_bytes(), &key.secret]), cipher, prefix })
        };
        let keys: Vec<RingKey> = keys.iter().map(ready).collect::<Result<_, _>>()?;
        if keys.is_empty() {
            return Err(RuleError::NoKeys(prefix));
        }
        Ok(Some(Ring { prefix, no_key, keys }))
    }

    /// What stands before a key's values behind the ring's prefix.
    fn told<'a>(&self, key: &'a RingKey) -> &'a str {
        key.prefix.strip_prefix(self.prefix).unwrap_or(&key.prefix)
    }

    fn seal(&self, key: &str, plain: &[u8], teller: Teller<'_>) -> Result<Bytes, TransformError> {
        let first = self.keys.first().ok_or_else(|| TransformError::new(self.no_key))?;
        let since = Instant::now();
        let mut out = Vec::with_capacity(first.prefix.len() + plain.len() + 64);
        out.extend_from_slice(first.prefix.as_bytes());
        let sealed = first.cipher.seal(key, plain, &mut out);
        teller.transformed(Direction::ToStorage, self.told(first), since, code_of(&sealed));
        sealed.map(|()| Bytes::from(out))
    }

    fn open(&self, key: &str, kept: &[u8], teller: Teller<'_>) -> Result<Opened, TransformError> {
        let since = Instant::now();
        let mut errors = Vec::new();
        for ring_key in &self.keys {
            let Some(sealed) = kept.strip_prefix(ring_key.prefix.as_bytes()) else { continue };
            let opened = ring_key.cipher.open(key, sealed);
            teller.transformed(Direction::FromStorage, self.told(ring_key), since, code_of(&opened));
            match opened {
                Ok(plain) => return Ok(Opened { plain: plain.into(), seal: ring_key.seal }),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            teller.transformed(Direction::FromStorage, UNKNOWN, since, figures::NOT_GRPC);
        }
        Err(together(errors, self.no_key))
    }
}

/// What is told where nothing stands before a value that is known.
const UNKNOWN: &str = "unknown";

fn code_of<T>(outcome: &Result<T, TransformError>) -> &'static str {
    if outcome.is_ok() { figures::OK } else { figures::NOT_GRPC }
}

/// Why a provider did not open a value, and the code under which that is counted.
pub(crate) struct LinkError {
    pub error: TransformError,
    pub code: &'static str,
}

impl From<TransformError> for LinkError {
    fn from(error: TransformError) -> Self {
        LinkError { error, code: figures::NOT_GRPC }
    }
}

/// The providers of a resource. Empty where none is configured: values are kept as they are.
#[derive(Clone, Default)]
pub(crate) struct Chain(pub Vec<Arc<Link>>);

impl Chain {
    pub fn seal(&self, key: &str, plain: &Bytes, teller: Teller<'_>) -> Result<Bytes, TransformError> {
        let Some(first) = self.0.first() else { return Ok(plain.clone()) };
        let since = Instant::now();
        let (prefix, sealed) = match first.as_ref() {
            Link::Identity => ("", Ok(plain.clone())),
            Link::Ring(ring) => (ring.prefix, ring.seal(key, plain, teller)),
            Link::Kms(kms) => (kms.prefix.as_str(), kms.seal(key, plain)),
        };
        teller.transformed(Direction::ToStorage, prefix, since, code_of(&sealed));
        sealed
    }

    pub fn open(&self, key: &str, kept: &Bytes, teller: Teller<'_>) -> Result<Opened, TransformError> {
        let sealed = kept.starts_with(SEALED);
        let plain = || Ok(Opened { plain: kept.clone(), seal: Seal::PLAIN });
        if self.0.is_empty() {
            return if sealed { Err(TransformError::new(TRIED_TO_READ_SEALED)) } else { plain() };
        }
        let since = Instant::now();
        let mut errors = Vec::new();
        for link in &self.0 {
            let (prefix, opened) = match link.as_ref() {
                Link::Identity if sealed => continue,
                Link::Identity => ("identity", plain().map_err(LinkError::from)),
                Link::Ring(ring) if kept.starts_with(ring.prefix.as_bytes()) => {
                    (ring.prefix, ring.open(key, kept, teller).map_err(LinkError::from))
                }
                Link::Kms(kms) if kept.starts_with(kms.prefix.as_bytes()) => (&*kms.prefix, kms.open(key, kept)),
                Link::Ring(_) | Link::Kms(_) => continue,
            };
            let code = opened.as_ref().map_or_else(|error| error.code, |_| figures::OK);
            teller.transformed(Direction::FromStorage, prefix, since, code);
            match opened {
                Ok(opened) => return Ok(opened),
                Err(failed) => errors.push(failed.error),
            }
        }
        if errors.is_empty() {
            teller.transformed(Direction::FromStorage, UNKNOWN, since, figures::NOT_GRPC);
        }
        Err(together(errors, "no matching prefix found"))
    }

    pub fn current(&self) -> Option<Seal> {
        match self.0.first().map(Arc::as_ref) {
            None | Some(Link::Identity) => Some(Seal::PLAIN),
            Some(Link::Ring(ring)) => ring.keys.first().map(|key| key.seal),
            Some(Link::Kms(kms)) => kms.current(),
        }
    }

    /// Whether a key that made this seal is there, or a key service that may have it.
    pub fn may_open(&self, seal: Seal) -> bool {
        self.0.iter().any(|link| match link.as_ref() {
            Link::Identity => false,
            Link::Ring(ring) => ring.keys.iter().any(|key| key.seal == seal),
            Link::Kms(_) => true,
        })
    }
}

const TRIED_TO_READ_SEALED: &str = "identity transformer tried to read encrypted data";

/// Several errors as one, each text once; `none` when nothing was tried.
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

/// The seal of what a key is told by. Its secret takes part, so that another secret under the same name is another key;
/// a digest, so that the seal does not tell it.
pub(crate) fn seal_of(parts: &[&[u8]]) -> Seal {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in parts {
        context.update(&part.len().to_be_bytes());
        context.update(part);
    }
    let digest = context.finish();
    let first = digest.as_ref().first_chunk().map_or(0, |eight| u64::from_be_bytes(*eight));
    // Zero is the seal of what is plain.
    Seal(first.max(1))
}
