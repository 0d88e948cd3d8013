//! The keys of service account tokens: from PEM to signatures, key ids and JSON web keys.
//! Guarantees that a key signs and verifies with its own algorithm only, whatever a token says about itself.
//! Must never show a private key, in an error or otherwise.

use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use pintle_schema::{Value, value};
use ring::digest;
use ring::rand::SystemRandom;
use ring::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair, RsaKeyPair, UnparsedPublicKey, VerificationAlgorithm,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::{PemObject, SectionKind};
use webpki::EndEntityCert;

use crate::authentication::der::{SEQUENCE, encode, expect};

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;

/// How a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Rs256,
    Es256,
    Es384,
}

/// The object identifiers of an algorithm, with their tags: rsaEncryption and NULL, or ecPublicKey and a curve.
const RSA_IDENTIFIER: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
const P256_IDENTIFIER: &[u8] = b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
const P384_IDENTIFIER: &[u8] = b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22";

impl Algorithm {
    const ALL: [Algorithm; 3] = [Algorithm::Rs256, Algorithm::Es256, Algorithm::Es384];

    /// As headers of tokens name it.
    fn name(self) -> &'static str {
        match self {
            Algorithm::Rs256 => "RS256",
            Algorithm::Es256 => "ES256",
            Algorithm::Es384 => "ES384",
        }
    }

    fn identifier(self) -> &'static [u8] {
        match self {
            Algorithm::Rs256 => RSA_IDENTIFIER,
            Algorithm::Es256 => P256_IDENTIFIER,
            Algorithm::Es384 => P384_IDENTIFIER,
        }
    }

    fn verification(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
            Algorithm::Es256 => &signature::ECDSA_P256_SHA256_FIXED,
            Algorithm::Es384 => &signature::ECDSA_P384_SHA384_FIXED,
        }
    }

    /// The JSON web key's name of the curve.
    fn curve(self) -> Option<&'static str> {
        match self {
            Algorithm::Rs256 => None,
            Algorithm::Es256 => Some("P-256"),
            Algorithm::Es384 => Some("P-384"),
        }
    }

    fn ecdsa(self) -> Option<&'static EcdsaSigningAlgorithm> {
        match self {
            Algorithm::Rs256 => None,
            Algorithm::Es256 => Some(&signature::ECDSA_P256_SHA256_FIXED_SIGNING),
            Algorithm::Es384 => Some(&signature::ECDSA_P384_SHA384_FIXED_SIGNING),
        }
    }
}

/// Why a file gives no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// There is none in it.
    Missing,
    /// Neither RSA of at least 2048 bits nor ECDSA on P-256 or P-384, or malformed.
    Unusable,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyError::Missing => "no key in PEM found",
            KeyError::Unusable => "the key is malformed, or neither RSA (2048 bits or more) nor ECDSA (P-256, P-384)",
        })
    }
}

impl std::error::Error for KeyError {}

/// A public key that tokens are verified with.
#[derive(Clone, Debug)]
pub struct VerifyingKey {
    algorithm: Algorithm,
    /// What the subject public key info has in its bit string.
    key: Vec<u8>,
    id: String,
}

impl VerifyingKey {
    /// All keys of a PEM file: public keys, certificates, or private keys, whose public half it is.
    ///
    /// # Errors
    /// There is no key, or one that cannot be used.
    pub fn all_from_pem(pem: &[u8]) -> Result<Vec<VerifyingKey>, KeyError> {
        let mut keys = Vec::new();
        for (kind, der) in sections(pem)? {
            keys.push(match kind {
                SectionKind::PublicKey => VerifyingKey::from_spki(&der)?,
                SectionKind::Certificate => {
                    let cert = CertificateDer::from(der);
                    let cert = EndEntityCert::try_from(&cert).map_err(|_| KeyError::Unusable)?;
                    VerifyingKey::from_spki(&cert.subject_public_key_info())?
                }
                _ => match SigningKey::from_section(kind, &der)? {
                    Some(key) => key.public,
                    None => continue,
                },
            });
        }
        if keys.is_empty() { Err(KeyError::Missing) } else { Ok(keys) }
    }

    fn from_spki(der: &[u8]) -> Result<VerifyingKey, KeyError> {
        let parsed = || {
            let (info, _) = expect(der, SEQUENCE).ok()?;
            let (identifier, rest) = expect(info, SEQUENCE).ok()?;
            let (bits, _) = expect(rest, BIT_STRING).ok()?;
            let algorithm = Algorithm::ALL.into_iter().find(|algorithm| algorithm.identifier() == identifier)?;
            Some(VerifyingKey::new(algorithm, bits.strip_prefix(&[0])?))
        };
        let key = parsed().ok_or(KeyError::Unusable)?;
        // A key that cannot be published cannot be read.
        if key.numbers().is_none() { Err(KeyError::Unusable) } else { Ok(key) }
    }

    fn new(algorithm: Algorithm, key: &[u8]) -> VerifyingKey {
        let bits = [&[0], key].concat();
        let info = [encode(SEQUENCE, algorithm.identifier()), encode(BIT_STRING, &bits)].concat();
        let hash = digest::digest(&digest::SHA256, &encode(SEQUENCE, &info));
        VerifyingKey { algorithm, key: key.to_vec(), id: BASE64URL_NOPAD.encode(hash.as_ref()) }
    }

    /// The hash by which tokens name the key.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of the algorithm it verifies.
    pub fn algorithm(&self) -> &'static str {
        self.algorithm.name()
    }

    pub(super) fn verifies(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(self.algorithm.verification(), &self.key);
        algorithm == self.algorithm.name() && key.verify(message, signature).is_ok()
    }

    /// Modulus and exponent, or the coordinates of the point.
    fn numbers(&self) -> Option<(&[u8], &[u8])> {
        if self.algorithm == Algorithm::Rs256 {
            let (numbers, _) = expect(&self.key, SEQUENCE).ok()?;
            let (modulus, rest) = expect(numbers, INTEGER).ok()?;
            let (exponent, _) = expect(rest, INTEGER).ok()?;
            // Of a number whose first bit is set DER has a zero in front, which tells that it is positive.
            return Some((modulus.strip_prefix(&[0]).unwrap_or(modulus), exponent));
        }
        let coordinates = self.key.strip_prefix(&[4])?;
        coordinates.split_at_checked(coordinates.len() / 2)
    }

    /// The key as a JSON web key.
    pub fn to_jwk(&self) -> Value {
        let (first, second) = self.numbers().unwrap_or_default();
        let (first, second) = (BASE64URL_NOPAD.encode(first), BASE64URL_NOPAD.encode(second));
        let (id, algorithm) = (self.id(), self.algorithm());
        match self.algorithm.curve() {
            None => value!({"use": "sig", "kty": "RSA", "kid": id, "alg": algorithm, "n": first, "e": second}),
            Some(curve) => value!({
                "use": "sig", "kty": "EC", "kid": id, "crv": curve, "alg": algorithm, "x": first, "y": second
            }),
        }
    }
}

/// A private key that tokens are signed with.
pub struct SigningKey {
    pair: Pair,
    public: VerifyingKey,
}

enum Pair {
    Rsa(Box<RsaKeyPair>),
    Ecdsa(Box<EcdsaKeyPair>),
}

impl fmt::Debug for SigningKey {
    /// Without the private half.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("public", &self.public).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// The first private key of a PEM file.
    ///
    /// # Errors
    /// There is none, or it cannot be used.
    pub fn from_pem(pem: &[u8]) -> Result<SigningKey, KeyError> {
        for (kind, der) in sections(pem)? {
            if let Some(key) = SigningKey::from_section(kind, &der)? {
                return Ok(key);
            }
        }
        Err(KeyError::Missing)
    }

    /// `None` for what is no private key.
    fn from_section(kind: SectionKind, der: &[u8]) -> Result<Option<SigningKey>, KeyError> {
        let pair = match kind {
            SectionKind::RsaPrivateKey => SigningKey::rsa(RsaKeyPair::from_der(der).ok()),
            SectionKind::PrivateKey => SigningKey::rsa(RsaKeyPair::from_pkcs8(der).ok()).or_else(|| ecdsa(der)),
            SectionKind::EcPrivateKey => Algorithm::ALL.into_iter().find_map(|algorithm| {
                let key = [&[INTEGER, 1, 0][..], &encode(SEQUENCE, algorithm.identifier()), &encode(OCTET_STRING, der)];
                ecdsa(&encode(SEQUENCE, &key.concat()))
            }),
            _ => return Ok(None),
        };
        pair.map(Some).ok_or(KeyError::Unusable)
    }

    fn rsa(pair: Option<RsaKeyPair>) -> Option<SigningKey> {
        let pair = pair?;
        let public = VerifyingKey::new(Algorithm::Rs256, pair.public_key().as_ref());
        Some(SigningKey { pair: Pair::Rsa(Box::new(pair)), public })
    }

    /// The public half.
    pub fn public(&self) -> &VerifyingKey {
        &self.public
    }

    /// `None` when the system has no random numbers.
    pub(super) fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&signature::RSA_PKCS1_SHA256, &random, message, &mut signature).ok()?;
                Some(signature)
            }
            Pair::Ecdsa(pair) => Some(pair.sign(&random, message).ok()?.as_ref().to_vec()),
        }
    }
}

/// An elliptic curve's key from PKCS #8.
fn ecdsa(pkcs8: &[u8]) -> Option<SigningKey> {
    Algorithm::ALL.into_iter().find_map(|algorithm| {
        let pair = EcdsaKeyPair::from_pkcs8(algorithm.ecdsa()?, pkcs8, &SystemRandom::new()).ok()?;
        let public = VerifyingKey::new(algorithm, pair.public_key().as_ref());
        Some(SigningKey { pair: Pair::Ecdsa(Box::new(pair)), public })
    })
}

fn sections(pem: &[u8]) -> Result<Vec<(SectionKind, Vec<u8>)>, KeyError> {
    <(SectionKind, Vec<u8>)>::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|_| KeyError::Unusable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem(label: &str, der: &[u8]) -> String {
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", data_encoding::BASE64.encode(der))
    }

    #[test]
    fn a_key_is_read_from_every_form() {
        for algorithm in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ECDSA_P384_SHA384] {
            let made = rcgen::KeyPair::generate_for(algorithm).expect("a key");
            let cert = rcgen::CertificateParams::default().self_signed(&made).expect("a certificate");
            let pkcs8 = made.serialize_der();
            let (contents, _) = expect(&pkcs8, SEQUENCE).expect("PKCS #8");
            let after_version = contents.strip_prefix(&[INTEGER, 1, 0]).expect("version 0");
            let (_, rest) = expect(after_version, SEQUENCE).expect("an identifier");
            let (sec1, _) = expect(rest, OCTET_STRING).expect("a key");
            let forms = [made.serialize_pem(), made.public_key_pem(), cert.pem(), pem("EC PRIVATE KEY", sec1)].concat();
            let keys = VerifyingKey::all_from_pem(forms.as_bytes()).expect("keys");
            assert_eq!(keys.len(), 4);
            let signing = SigningKey::from_pem(made.serialize_pem().as_bytes()).expect("a key");
            let signature = signing.sign(b"text").expect("signed");
            for key in &keys {
                assert_eq!(key.id(), signing.public().id());
                assert!(key.verifies(key.algorithm(), b"text", &signature));
                assert!(!key.verifies(key.algorithm(), b"other", &signature));
                assert!(!key.verifies("none", b"text", &signature));
            }
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("a key");
        let rows = [
            (String::new(), KeyError::Missing),
            (pem("PUBLIC KEY", b"\x30\x00"), KeyError::Unusable),
            (pem("RSA PRIVATE KEY", b"\x30\x00"), KeyError::Unusable),
            (pair.serialize_pem(), KeyError::Unusable),
        ];
        for (text, error) in rows {
            assert_eq!(VerifyingKey::all_from_pem(text.as_bytes()).map(drop), Err(error), "{text}");
        }
        let public = rcgen::KeyPair::generate().expect("a key").public_key_pem();
        assert_eq!(SigningKey::from_pem(public.as_bytes()).map(drop), Err(KeyError::Missing));
    }

    #[test]
    fn an_rsa_key_has_the_id_and_the_numbers_that_the_reference_publishes() {
        let modulus = [0x80; 256];
        let number = [&[0][..], &modulus].concat();
        let key = encode(SEQUENCE, &[encode(INTEGER, &number), encode(INTEGER, &[1, 0, 1])].concat());
        let key = VerifyingKey::new(Algorithm::Rs256, &key);
        let jwk = key.to_jwk();
        assert_eq!((jwk.str_at(&["kty"]), jwk.str_at(&["e"]), jwk.str_at(&["kid"])), ("RSA", "AQAB", key.id()));
        assert_eq!(jwk.str_at(&["n"]), BASE64URL_NOPAD.encode(&modulus));
    }
}
