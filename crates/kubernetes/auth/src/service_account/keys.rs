//! The keys of service account tokens: from PEM to signatures, key ids and JSON web keys.
//! Guarantees that a key signs with its own algorithm and verifies with those of its kind only, whatever the header of a token
//! says.
//! Must never show a private key, in an error or otherwise.

use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use p521::ecdsa::signature::{Signer, Verifier};
use pintle_schema::{Value, value};
use pkcs8::PrivateKeyInfoRef;
use pkcs8::der::asn1::{AnyRef, BitStringRef, ObjectIdentifier, OctetStringRef, UintRef};
use pkcs8::der::{Decode, Encode};
use pkcs8::spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use ring::digest;
use ring::rand::SystemRandom;
use ring::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair, RsaKeyPair, UnparsedPublicKey, VerificationAlgorithm,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::{PemObject, SectionKind};
use webpki::EndEntityCert;

/// How a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Rs256,
    Es256,
    Es384,
    Es512,
}

/// The object identifiers of keys: rsaEncryption, ecPublicKey, and the curves.
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const P521: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.35");

impl Algorithm {
    const ALL: [Algorithm; 4] = [Algorithm::Rs256, Algorithm::Es256, Algorithm::Es384, Algorithm::Es512];

    /// As headers of tokens name it.
    fn name(self) -> &'static str {
        match self {
            Algorithm::Rs256 => "RS256",
            Algorithm::Es256 => "ES256",
            Algorithm::Es384 => "ES384",
            Algorithm::Es512 => "ES512",
        }
    }

    fn identifier(self) -> AlgorithmIdentifierRef<'static> {
        let (oid, parameters) = match self {
            Algorithm::Rs256 => (RSA, AnyRef::NULL),
            Algorithm::Es256 => (EC, AnyRef::from(&P256)),
            Algorithm::Es384 => (EC, AnyRef::from(&P384)),
            Algorithm::Es512 => (EC, AnyRef::from(&P521)),
        };
        AlgorithmIdentifierRef { oid, parameters: Some(parameters) }
    }

    /// Whether a signature is by a key of this kind, in the way that a header names.
    fn verifies(self, named: &str, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let of_ring: &'static dyn VerificationAlgorithm = match self {
            Algorithm::Rs256 => match named {
                "RS256" => &signature::RSA_PKCS1_2048_8192_SHA256,
                "RS384" => &signature::RSA_PKCS1_2048_8192_SHA384,
                "RS512" => &signature::RSA_PKCS1_2048_8192_SHA512,
                "PS256" => &signature::RSA_PSS_2048_8192_SHA256,
                "PS384" => &signature::RSA_PSS_2048_8192_SHA384,
                "PS512" => &signature::RSA_PSS_2048_8192_SHA512,
                _ => return false,
            },
            _ if named != self.name() => return false,
            Algorithm::Es256 => &signature::ECDSA_P256_SHA256_FIXED,
            Algorithm::Es384 => &signature::ECDSA_P384_SHA384_FIXED,
            // Not among the algorithms of ring.
            Algorithm::Es512 => {
                let key = p521::ecdsa::VerifyingKey::from_sec1_bytes(key);
                let signature = p521::ecdsa::Signature::from_slice(signature);
                return matches!((key, signature), (Ok(key), Ok(signature)) if key.verify(message, &signature).is_ok());
            }
        };
        UnparsedPublicKey::new(of_ring, key).verify(message, signature).is_ok()
    }

    /// The JSON web key's name of the curve.
    fn curve(self) -> Option<&'static str> {
        match self {
            Algorithm::Rs256 => None,
            Algorithm::Es256 => Some("P-256"),
            Algorithm::Es384 => Some("P-384"),
            Algorithm::Es512 => Some("P-521"),
        }
    }

    fn ecdsa(self) -> Option<&'static EcdsaSigningAlgorithm> {
        match self {
            Algorithm::Rs256 | Algorithm::Es512 => None,
            Algorithm::Es256 => Some(&signature::ECDSA_P256_SHA256_FIXED_SIGNING),
            Algorithm::Es384 => Some(&signature::ECDSA_P384_SHA384_FIXED_SIGNING),
        }
    }
}

/// Why a file of keys is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The file has no key.
    #[error("no key in PEM found")]
    Missing,
    /// The key is malformed, or of an unsupported kind.
    #[error("the key is malformed, or neither RSA (2048 bits or more) nor ECDSA (P-256, P-384, P-521)")]
    Unusable,
}

impl From<pkcs8::der::Error> for KeyError {
    fn from(_: pkcs8::der::Error) -> KeyError {
        KeyError::Unusable
    }
}

/// The first byte of a point whose coordinates both follow.
const UNCOMPRESSED_POINT: u8 = 4;

/// A public key that tokens are verified with.
#[derive(Clone, Debug)]
pub struct VerifyingKey {
    algorithm: Algorithm,
    /// The bit string of the subject public key info.
    key: Vec<u8>,
    /// Modulus and exponent, or the coordinates of the point.
    numbers: [Vec<u8>; 2],
    id: String,
    is_published: bool,
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

    /// A key of a signer outside the server, under the id that it has there. One that is not published verifies tokens
    /// that were issued formerly.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn of_external(id: &str, der: &[u8], is_published: bool) -> Result<VerifyingKey, KeyError> {
        Ok(VerifyingKey { id: id.to_owned(), is_published, ..VerifyingKey::from_spki(der)? })
    }

    fn from_spki(der: &[u8]) -> Result<VerifyingKey, KeyError> {
        let info = SubjectPublicKeyInfoRef::from_der(der)?;
        let algorithm = Algorithm::ALL.into_iter().find(|algorithm| algorithm.identifier() == info.algorithm);
        let key = info.subject_public_key.as_bytes();
        VerifyingKey::new(algorithm.ok_or(KeyError::Unusable)?, key.ok_or(KeyError::Unusable)?)
    }

    fn new(algorithm: Algorithm, key: &[u8]) -> Result<VerifyingKey, KeyError> {
        let subject_public_key = BitStringRef::from_bytes(key)?;
        let info = SubjectPublicKeyInfoRef { algorithm: algorithm.identifier(), subject_public_key }.to_der()?;
        let hash = digest::digest(&digest::SHA256, &info);
        let numbers = match algorithm {
            Algorithm::Rs256 => AnyRef::from_der(key)?.sequence(|reader| {
                let (modulus, exponent) = (UintRef::decode(reader)?, UintRef::decode(reader)?);
                Ok::<_, KeyError>([modulus, exponent].map(|number| number.as_bytes().to_vec()))
            })?,
            Algorithm::Es256 | Algorithm::Es384 | Algorithm::Es512 => {
                let coordinates = key.strip_prefix(&[UNCOMPRESSED_POINT]).ok_or(KeyError::Unusable)?;
                let (x, y) = coordinates.split_at(coordinates.len() / 2);
                [x.to_vec(), y.to_vec()]
            }
        };
        let id = BASE64URL_NOPAD.encode(hash.as_ref());
        Ok(VerifyingKey { algorithm, key: key.to_vec(), numbers, id, is_published: true })
    }

    /// Whether clients are shown the key.
    pub fn is_published(&self) -> bool {
        self.is_published
    }

    /// The id by which tokens name the key: a hash of it, unless it is another party's.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of the algorithm it verifies.
    pub fn algorithm(&self) -> &'static str {
        self.algorithm.name()
    }

    pub(super) fn verifies(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
        self.algorithm.verifies(algorithm, &self.key, message, signature)
    }

    /// The key as a JSON web key.
    pub fn to_jwk(&self) -> Value {
        let [first, second] = self.numbers.each_ref().map(|number| BASE64URL_NOPAD.encode(number));
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
    P521(Box<p521::ecdsa::SigningKey>),
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

    /// `None` for a section that is no private key.
    fn from_section(kind: SectionKind, der: &[u8]) -> Result<Option<SigningKey>, KeyError> {
        let key = match kind {
            SectionKind::RsaPrivateKey => SigningKey::rsa(RsaKeyPair::from_der(der).ok()),
            SectionKind::PrivateKey => {
                let rsa = SigningKey::rsa(RsaKeyPair::from_pkcs8(der).ok());
                rsa.or_else(|| ecdsa(der)).or_else(|| {
                    let info = PrivateKeyInfoRef::try_from(der).ok()?;
                    let is_p521 = info.algorithm == Algorithm::Es512.identifier();
                    SigningKey::p521(info.private_key.as_bytes()).filter(|_| is_p521)
                })
            }
            SectionKind::EcPrivateKey => {
                // ring reads such keys from PKCS #8 only.
                let key = OctetStringRef::new(der)?;
                Algorithm::ALL
                    .into_iter()
                    .find_map(|algorithm| ecdsa(&PrivateKeyInfoRef::new(algorithm.identifier(), key).to_der().ok()?))
                    .or_else(|| SigningKey::p521(der))
            }
            _ => return Ok(None),
        };
        key.map(Some).ok_or(KeyError::Unusable)
    }

    fn rsa(pair: Option<RsaKeyPair>) -> Option<SigningKey> {
        let pair = pair?;
        let public = VerifyingKey::new(Algorithm::Rs256, pair.public_key().as_ref()).ok()?;
        Some(SigningKey { pair: Pair::Rsa(Box::new(pair)), public })
    }

    /// A key of the curve P-521 from the form of SEC 1.
    fn p521(sec1: &[u8]) -> Option<SigningKey> {
        let secret = p521::SecretKey::from_sec1_der(sec1).ok()?;
        let key = p521::ecdsa::SigningKey::from_bytes(&secret.to_bytes()).ok()?;
        let point = p521::ecdsa::VerifyingKey::from(&key).to_encoded_point(false);
        let public = VerifyingKey::new(Algorithm::Es512, point.as_bytes()).ok()?;
        Some(SigningKey { pair: Pair::P521(Box::new(key)), public })
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
            Pair::P521(key) => {
                let signature: p521::ecdsa::Signature = key.try_sign(message).ok()?;
                Some(signature.to_bytes().to_vec())
            }
        }
    }
}

/// An elliptic curve's key from PKCS #8.
fn ecdsa(pkcs8: &[u8]) -> Option<SigningKey> {
    Algorithm::ALL.into_iter().find_map(|algorithm| {
        let pair = EcdsaKeyPair::from_pkcs8(algorithm.ecdsa()?, pkcs8, &SystemRandom::new()).ok()?;
        let public = VerifyingKey::new(algorithm, pair.public_key().as_ref()).ok()?;
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

    /// A key of the curve P-521, which rcgen does not make: PKCS #8, SEC 1 and the public key.
    const P521_PKCS8: &str = "MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIBh7kVRxFXkPl+zehSCMn8zOlepaVdJkr1xH2TuMIDZgn08OGo\
        TLf+UT+A1KWuK+07d2YuWNigyt+RXO6cypkSS/qhgYkDgYYABABDiH8z9CEpE1e14Fw+DLy5w+Gu0OyFmon7zUgpP6PROUF6\
        9L4DHhBN14A+zey4tcNtnBMEFUQPdjmXxVJBbJ+lCQG/Dh8K/eNrWpnZHQVOMmstnrwoLysO4pFiT4igdRrZo/H60MJsm647\
        nwsPml7Rfa7iD87Kfi99VchDxv9IEsRQ3A==";
    const P521_SEC1: &str = "MIHcAgEBBEIBh7kVRxFXkPl+zehSCMn8zOlepaVdJkr1xH2TuMIDZgn08OGoTLf+UT+A1KWuK+07d2YuWNigyt+RXO6cypkS\
        S/qgBwYFK4EEACOhgYkDgYYABABDiH8z9CEpE1e14Fw+DLy5w+Gu0OyFmon7zUgpP6PROUF69L4DHhBN14A+zey4tcNtnBME\
        FUQPdjmXxVJBbJ+lCQG/Dh8K/eNrWpnZHQVOMmstnrwoLysO4pFiT4igdRrZo/H60MJsm647nwsPml7Rfa7iD87Kfi99VchD\
        xv9IEsRQ3A==";
    const P521_PUBLIC: &str = "MIGbMBAGByqGSM49AgEGBSuBBAAjA4GGAAQAQ4h/M/QhKRNXteBcPgy8ucPhrtDshZqJ+81IKT+j0TlBevS+Ax4QTdeAPs3s\
        uLXDbZwTBBVED3Y5l8VSQWyfpQkBvw4fCv3ja1qZ2R0FTjJrLZ68KC8rDuKRYk+IoHUa2aPx+tDCbJuuO58LD5pe0X2u4g/O\
        yn4vfVXIQ8b/SBLEUNw=";

    /// Checks that the forms are of one key, which verify what it signs.
    fn assert_one_key(private: &str, forms: &[String], algorithm: &str) {
        let keys = VerifyingKey::all_from_pem(forms.concat().as_bytes()).expect("keys");
        assert_eq!(keys.len(), forms.len());
        let signing = SigningKey::from_pem(private.as_bytes()).expect("a key");
        let signature = signing.sign(b"text").expect("signed");
        for key in &keys {
            assert_eq!((key.id(), key.algorithm()), (signing.public().id(), algorithm));
            assert!(key.verifies(algorithm, b"text", &signature));
            assert!(!key.verifies(algorithm, b"other", &signature));
            assert!(!key.verifies("none", b"text", &signature));
        }
    }

    #[test]
    fn a_key_is_read_from_every_form() {
        for (algorithm, name) in [(&rcgen::PKCS_ECDSA_P256_SHA256, "ES256"), (&rcgen::PKCS_ECDSA_P384_SHA384, "ES384")]
        {
            let made = rcgen::KeyPair::generate_for(algorithm).expect("a key");
            let cert = rcgen::CertificateParams::default().self_signed(&made).expect("a certificate");
            let pkcs8 = made.serialize_der();
            let sec1 = PrivateKeyInfoRef::try_from(&pkcs8[..]).expect("PKCS #8").private_key.as_bytes();
            let forms = [made.serialize_pem(), made.public_key_pem(), cert.pem(), pem("EC PRIVATE KEY", sec1)];
            assert_one_key(&made.serialize_pem(), &forms, name);
        }
        let forms = [("PRIVATE KEY", P521_PKCS8), ("EC PRIVATE KEY", P521_SEC1), ("PUBLIC KEY", P521_PUBLIC)]
            .map(|(label, text)| format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n"));
        assert_one_key(&forms[0], &forms, "ES512");
        let jwk = SigningKey::from_pem(forms[1].as_bytes()).expect("a key").public().to_jwk();
        assert_eq!((jwk.str_at(&["crv"]), jwk.str_at(&["alg"])), ("P-521", "ES512"));
    }

    #[test]
    fn unusable_keys_are_refused() {
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
        let numbers = [UintRef::new(&modulus).expect("a number"), UintRef::new(&[1, 0, 1]).expect("a number")];
        let numbers = numbers.map(|number| number.to_der().expect("DER")).concat();
        // A sequence of as many bytes as two bytes count.
        let [high, low] = u16::try_from(numbers.len()).expect("short").to_be_bytes();
        let key =
            VerifyingKey::new(Algorithm::Rs256, &[&[0x30, 0x82, high, low], &numbers[..]].concat()).expect("a key");
        let jwk = key.to_jwk();
        assert_eq!((jwk.str_at(&["kty"]), jwk.str_at(&["e"]), jwk.str_at(&["kid"])), ("RSA", "AQAB", key.id()));
        assert_eq!(jwk.str_at(&["n"]), BASE64URL_NOPAD.encode(&modulus));
    }
}
