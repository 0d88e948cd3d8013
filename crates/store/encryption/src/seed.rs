//! A seed and the keys that are derived from it: one for each value, so that no key encrypts too many values.
//! Guarantees the derivation that Kubernetes uses (HKDF-SHA-256, expansion only). Must never be written in plain.

use pintle_storage::TransformError;
use ring::hkdf::{HKDF_SHA256, KeyType, Prk};

use crate::ciphers::{Gcm, cut_short, random};

/// Bytes of a seed.
pub(crate) const SEED_BYTES: usize = 32;
/// Bytes of the HKDF info, which is stored before the encrypted value.
const INFO_BYTES: usize = 32;
const KEY_BYTES: usize = 32;

pub(crate) struct Seed(Prk);

struct KeyBytes;

impl KeyType for KeyBytes {
    fn len(&self) -> usize {
        KEY_BYTES
    }
}

impl Seed {
    pub fn new(seed: &[u8]) -> Result<Seed, TransformError> {
        if seed.len() < SEED_BYTES {
            let text = format!("invalid seed length {} used for key generation", seed.len());
            return Err(TransformError::new(text));
        }
        Ok(Seed(Prk::new_less_safe(HKDF_SHA256, seed)))
    }

    fn derive(&self, info: &[u8; INFO_BYTES]) -> Result<Gcm, TransformError> {
        let mut key = [0; KEY_BYTES];
        let derived = self.0.expand(&[info], KeyBytes).and_then(|expanded| expanded.fill(&mut key));
        derived.ok().and_then(|()| Gcm::new(&key)).ok_or_else(|| TransformError::new("no key could be derived"))
    }

    pub fn encrypt(&self, key: &str, plain: &[u8]) -> Result<Vec<u8>, TransformError> {
        let info = random::<INFO_BYTES>()?;
        let mut out = Vec::with_capacity(INFO_BYTES + plain.len() + 64);
        out.extend_from_slice(&info);
        self.derive(&info)?.encrypt(key, plain, &mut out)?;
        Ok(out)
    }

    pub fn decrypt(&self, key: &str, ciphertext: &[u8]) -> Result<Vec<u8>, TransformError> {
        let (info, ciphertext) = ciphertext.split_first_chunk().ok_or_else(cut_short)?;
        self.derive(info)?.decrypt(key, ciphertext)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_derived_as_others_derive_them() {
        let seed = Seed::new(&[3; 32]).expect("a seed");
        // Encrypted by another implementation of HKDF and AES-GCM.
        let mut ciphertext = vec![4; 32];
        ciphertext.extend(b"nonce-nonce-");
        ciphertext.extend([
            0x32, 0xbf, 0xef, 0x09, 0x76, 0x99, 0x83, 0x63, 0xdd, 0x97, 0x1f, 0x98, 0x0a, 0x15, 0xfa, 0x7e, 0xb7, 0xe6,
            0xac, 0x0d, 0x71, 0x0a, 0x95, 0xf7, 0xea, 0x47, 0x3b,
        ]);
        assert_eq!(seed.decrypt("/registry/secrets/a/b", &ciphertext).as_deref(), Ok(&b"hello world"[..]));
        assert!(seed.decrypt("/registry/secrets/a/c", &ciphertext).is_err());
        let own = seed.encrypt("k", b"hello").expect("ciphertext");
        assert_eq!(seed.decrypt("k", &own).as_deref(), Ok(&b"hello"[..]));
        assert!(Seed::new(&[3; 31]).is_err());
    }
}
