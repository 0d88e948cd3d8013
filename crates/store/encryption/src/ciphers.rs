//! The ciphers: a value and its storage key in, the bytes behind the prefix out, and back. Guarantees a fresh random
//! nonce for each value. Must never depend on where bytes are stored or which key is current.

use aes::cipher::block_padding::Pkcs7;
use aes::cipher::{BlockDecryptMut, BlockEncryptMut, KeyIvInit};
use aes_gcm::aead::consts::U12;
use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes128Gcm, Aes256Gcm, AesGcm};
use crypto_secretbox::XSalsa20Poly1305;
use pintle_storage::TransformError;
use ring::rand::{SecureRandom, SystemRandom};

const CUT_SHORT: &str = "the stored data was shorter than the required size";
const NOT_AUTHENTIC: &str = "cipher: message authentication failed";

/// A cipher with its key.
pub(crate) enum Cipher {
    Cbc(Cbc),
    Gcm(Gcm),
    Secretbox(Box<XSalsa20Poly1305>),
}

/// AES in CBC mode. The state of the mode is made for each value.
pub(crate) enum Cbc {
    Aes128([u8; 16]),
    Aes192([u8; 24]),
    Aes256([u8; 32]),
}

/// AES in GCM mode, by the length of the key.
pub(crate) enum Gcm {
    Aes128(Box<Aes128Gcm>),
    Aes192(Box<AesGcm<aes::Aes192, U12>>),
    Aes256(Box<Aes256Gcm>),
}

const CBC_BLOCK: usize = 16;
const GCM_NONCE: usize = 12;
const SECRETBOX_NONCE: usize = 24;

impl Cipher {
    /// Appends the encrypted value to `out`.
    pub fn encrypt(&self, key: &str, plain: &[u8], out: &mut Vec<u8>) -> Result<(), TransformError> {
        match self {
            Cipher::Cbc(cbc) => {
                let vector = random::<CBC_BLOCK>()?;
                out.extend_from_slice(&vector);
                out.extend_from_slice(&cbc.encrypt(&vector, plain));
                Ok(())
            }
            Cipher::Gcm(gcm) => gcm.encrypt(key, plain, out),
            Cipher::Secretbox(secretbox) => {
                let nonce = random::<SECRETBOX_NONCE>()?;
                out.extend_from_slice(&nonce);
                out.extend_from_slice(&secretbox.encrypt(&nonce.into(), plain).map_err(|_| cannot_encrypt())?);
                Ok(())
            }
        }
    }

    /// Decrypts a value that was encrypted for this storage key.
    pub fn decrypt(&self, key: &str, ciphertext: &[u8]) -> Result<Vec<u8>, TransformError> {
        match self {
            Cipher::Cbc(cbc) => {
                let (vector, text) = ciphertext.split_first_chunk::<CBC_BLOCK>().ok_or_else(cut_short)?;
                if text.len() % CBC_BLOCK != 0 {
                    return Err(TransformError::new("the stored data is not a multiple of the block size"));
                }
                if text.is_empty() {
                    return Err(TransformError::new("invalid PKCS7 data (empty or not padded)"));
                }
                cbc.decrypt(vector, text).ok_or_else(|| TransformError::new("invalid padding on input"))
            }
            Cipher::Gcm(gcm) => gcm.decrypt(key, ciphertext),
            Cipher::Secretbox(secretbox) => {
                let (nonce, text) = ciphertext.split_first_chunk::<SECRETBOX_NONCE>().ok_or_else(cut_short)?;
                let decrypted = secretbox.decrypt(&(*nonce).into(), text);
                decrypted.map_err(|_| TransformError::new("output array was not large enough for encryption"))
            }
        }
    }

    /// CBC with a key of 16, 24 or 32 bytes; `None` for any other.
    pub fn cbc(secret: &[u8]) -> Option<Cipher> {
        Some(Cipher::Cbc(match secret.len() {
            16 => Cbc::Aes128(secret.try_into().ok()?),
            24 => Cbc::Aes192(secret.try_into().ok()?),
            _ => Cbc::Aes256(secret.try_into().ok()?),
        }))
    }

    /// Secretbox with a key of 32 bytes; `None` for any other.
    pub fn secretbox(secret: &[u8]) -> Option<Cipher> {
        Some(Cipher::Secretbox(Box::new(XSalsa20Poly1305::new_from_slice(secret).ok()?)))
    }
}

impl Cbc {
    fn encrypt(&self, vector: &[u8; CBC_BLOCK], plain: &[u8]) -> Vec<u8> {
        fn run<C: KeyIvInit<KeySize = K, IvSize = I> + BlockEncryptMut, K, I>(cipher: C, plain: &[u8]) -> Vec<u8>
        where
            K: aes::cipher::generic_array::ArrayLength<u8>,
            I: aes::cipher::generic_array::ArrayLength<u8>,
        {
            cipher.encrypt_padded_vec_mut::<Pkcs7>(plain)
        }
        match self {
            Cbc::Aes128(key) => run(cbc::Encryptor::<aes::Aes128>::new(key.into(), vector.into()), plain),
            Cbc::Aes192(key) => run(cbc::Encryptor::<aes::Aes192>::new(key.into(), vector.into()), plain),
            Cbc::Aes256(key) => run(cbc::Encryptor::<aes::Aes256>::new(key.into(), vector.into()), plain),
        }
    }

    fn decrypt(&self, vector: &[u8; CBC_BLOCK], text: &[u8]) -> Option<Vec<u8>> {
        fn run(cipher: impl BlockDecryptMut, text: &[u8]) -> Option<Vec<u8>> {
            cipher.decrypt_padded_vec_mut::<Pkcs7>(text).ok()
        }
        match self {
            Cbc::Aes128(key) => run(cbc::Decryptor::<aes::Aes128>::new(key.into(), vector.into()), text),
            Cbc::Aes192(key) => run(cbc::Decryptor::<aes::Aes192>::new(key.into(), vector.into()), text),
            Cbc::Aes256(key) => run(cbc::Decryptor::<aes::Aes256>::new(key.into(), vector.into()), text),
        }
    }
}

impl Gcm {
    /// GCM with a key of 16, 24 or 32 bytes; `None` for any other.
    pub fn new(secret: &[u8]) -> Option<Gcm> {
        Some(match secret.len() {
            16 => Gcm::Aes128(Box::new(KeyInit::new_from_slice(secret).ok()?)),
            24 => Gcm::Aes192(Box::new(KeyInit::new_from_slice(secret).ok()?)),
            _ => Gcm::Aes256(Box::new(KeyInit::new_from_slice(secret).ok()?)),
        })
    }

    pub fn encrypt(&self, key: &str, plain: &[u8], out: &mut Vec<u8>) -> Result<(), TransformError> {
        let nonce = random::<GCM_NONCE>()?;
        out.extend_from_slice(&nonce);
        let payload = Payload { msg: plain, aad: key.as_bytes() };
        let ciphertext = match self {
            Gcm::Aes128(gcm) => gcm.encrypt(&nonce.into(), payload),
            Gcm::Aes192(gcm) => gcm.encrypt(&nonce.into(), payload),
            Gcm::Aes256(gcm) => gcm.encrypt(&nonce.into(), payload),
        };
        out.extend_from_slice(&ciphertext.map_err(|_| cannot_encrypt())?);
        Ok(())
    }

    pub fn decrypt(&self, key: &str, ciphertext: &[u8]) -> Result<Vec<u8>, TransformError> {
        let (nonce, text) = ciphertext.split_first_chunk::<GCM_NONCE>().ok_or_else(cut_short)?;
        let (nonce, payload) = ((*nonce).into(), Payload { msg: text, aad: key.as_bytes() });
        let decrypted = match self {
            Gcm::Aes128(gcm) => gcm.decrypt(&nonce, payload),
            Gcm::Aes192(gcm) => gcm.decrypt(&nonce, payload),
            Gcm::Aes256(gcm) => gcm.decrypt(&nonce, payload),
        };
        decrypted.map_err(|_| TransformError::new(NOT_AUTHENTIC))
    }
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], TransformError> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| TransformError::new("the system gives no random numbers"))?;
    Ok(bytes)
}

pub(crate) fn cut_short() -> TransformError {
    TransformError::new(CUT_SHORT)
}

fn cannot_encrypt() -> TransformError {
    TransformError::new("the value is too large to be encrypted")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ciphers(byte: u8) -> Vec<(&'static str, bool, Cipher)> {
        let secret = [byte; 32];
        let gcm = |length: usize| Cipher::Gcm(Gcm::new(&secret[..length]).expect("a key"));
        let mut all = vec![("secretbox", false, Cipher::secretbox(&secret).expect("a key"))];
        for length in [16, 24, 32] {
            all.push(("aescbc", false, Cipher::cbc(&secret[..length]).expect("a key")));
            all.push(("aesgcm", true, gcm(length)));
        }
        all
    }

    #[test]
    fn values_come_back_and_never_look_the_same_twice() {
        for (name, authenticates_key, cipher) in ciphers(7) {
            for length in [0, 1, 15, 16, 17, 5000] {
                let plain = vec![b'p'; length];
                let encrypt = || {
                    let mut ciphertext = Vec::new();
                    cipher.encrypt("/registry/secrets/a/b", &plain, &mut ciphertext).expect("ciphertext");
                    ciphertext
                };
                let ciphertext = encrypt();
                assert_ne!(ciphertext, encrypt(), "{name}");
                assert!(length < 8 || !ciphertext.windows(8).any(|window| window == b"pppppppp"), "{name}");
                assert_eq!(cipher.decrypt("/registry/secrets/a/b", &ciphertext).as_deref(), Ok(&plain[..]), "{name}");
                assert_eq!(cipher.decrypt("/registry/secrets/a/c", &ciphertext).is_err(), authenticates_key, "{name}");
            }
        }
    }

    #[test]
    fn damaged_and_truncated_values_are_errors() {
        for (name, _, cipher) in ciphers(7) {
            let mut ciphertext = Vec::new();
            cipher.encrypt("k", b"some value", &mut ciphertext).expect("ciphertext");
            for length in 0..ciphertext.len() {
                assert!(cipher.decrypt("k", &ciphertext[..length]).is_err(), "{name} cut to {length}");
            }
        }
        // Without authentication another key may find valid padding by chance.
        for ((name, _, cipher), (.., other)) in
            ciphers(7).into_iter().zip(ciphers(8)).filter(|(it, _)| it.0 != "aescbc")
        {
            let mut ciphertext = Vec::new();
            cipher.encrypt("k", b"some value", &mut ciphertext).expect("ciphertext");
            assert!(other.decrypt("k", &ciphertext).is_err(), "{name}");
        }
    }

    /// Values that other implementations encrypted: OpenSSL, and the example of NaCl.
    #[test]
    fn values_of_other_implementations_are_decrypted() {
        let unhex = |text: &str| -> Vec<u8> {
            let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("two digits");
            (0..text.len()).step_by(2).map(digit).collect()
        };
        let cbc = Cipher::cbc(b"0123456789abcdef").expect("a key");
        let ciphertext = [b"fedcba9876543210".to_vec(), unhex("1230aa04e547a446d75c38ce7b6d10d6")].concat();
        assert_eq!(cbc.decrypt("k", &ciphertext).as_deref(), Ok(&b"hello world"[..]));
        let gcm = Gcm::new(b"0123456789abcdef01234567").expect("a key");
        let ciphertext = unhex("6e6f6e63652d6e6f6e63652da45ec5be1d677fabe63b35d889e46c5825fff8f38dbf666851aad4");
        assert_eq!(gcm.decrypt("/registry/secrets/a/b", &ciphertext).as_deref(), Ok(&b"hello world"[..]));
        let key = unhex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389");
        let ciphertext = unhex(
            "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37\
             f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186a\
             c0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae\
             90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74\
             e355a5",
        );
        let decrypted = Cipher::secretbox(&key).expect("a key").decrypt("k", &ciphertext).expect("opens");
        assert_eq!(decrypted[..8], unhex("be075fc53c81f2d5"));
        assert_eq!(decrypted.len(), 131);
    }
}
