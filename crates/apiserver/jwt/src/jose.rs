//! Compact JSON web signatures and JSON web keys.
//! Guarantees that a key verifies only with an algorithm of its own kind, whatever a header says, and that a header with
//! unknown extensions that must be understood (`crit`) verifies with no key. Must never accept a symmetric key or `none`.

use data_encoding::BASE64URL_NOPAD;
use p521::ecdsa::signature::Verifier;
use pintle_auth::authentication::{TokenHeader, is_public_key};
use pintle_codec::{Strictness, json};
use pintle_schema::Value;
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};

/// A longer token is rejected before anything is decoded.
pub(crate) const MAX_TOKEN_BYTES: usize = 64 * 1024;

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Es256,
    Es384,
    Es512,
    Ps256,
    Ps384,
    Ps512,
    Rs256,
    Rs384,
    Rs512,
}

impl Algorithm {
    /// All that tokens may be signed with, sorted by name.
    pub const ALL: [Algorithm; 9] = [
        Algorithm::Es256,
        Algorithm::Es384,
        Algorithm::Es512,
        Algorithm::Ps256,
        Algorithm::Ps384,
        Algorithm::Ps512,
        Algorithm::Rs256,
        Algorithm::Rs384,
        Algorithm::Rs512,
    ];

    /// As headers of tokens name it.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Es256 => "ES256",
            Algorithm::Es384 => "ES384",
            Algorithm::Es512 => "ES512",
            Algorithm::Ps256 => "PS256",
            Algorithm::Ps384 => "PS384",
            Algorithm::Ps512 => "PS512",
            Algorithm::Rs256 => "RS256",
            Algorithm::Rs384 => "RS384",
            Algorithm::Rs512 => "RS512",
        }
    }

    /// The algorithm of a name.
    pub fn of_name(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    fn rsa(self) -> Option<&'static RsaParameters> {
        Some(match self {
            Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
            Algorithm::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
            Algorithm::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
            Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
            Algorithm::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
            Algorithm::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
            Algorithm::Es256 | Algorithm::Es384 | Algorithm::Es512 => return None,
        })
    }
}

/// A token in its three parts.
pub(crate) struct CompactToken<'a> {
    /// The signed text: header and payload as written.
    signed: &'a str,
    pub header: TokenHeader,
    /// The claims, not yet decoded.
    payload: Vec<u8>,
    signature: Vec<u8>,
}

/// Why a token cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("oidc: malformed jwt: {0}")]
    Jwt(String),
}

impl<'a> CompactToken<'a> {
    /// The claims of a token, unverified; `None` for anything but a compact token.
    pub fn untrusted_claims(token: &str) -> Option<Value> {
        if token.len() > MAX_TOKEN_BYTES || token.trim_start().starts_with('{') {
            return None;
        }
        let mut parts = token.split('.');
        let (Some(_), Some(payload), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
            return None;
        };
        let payload = BASE64URL_NOPAD.decode(payload.as_bytes()).ok()?;
        json::parse(&payload, Strictness::Ignore).ok().map(|decoded| decoded.value)
    }

    /// Reads a token.
    ///
    /// # Errors
    /// A part of it is malformed.
    pub fn parse(token: &'a str) -> Result<CompactToken<'a>, Malformed> {
        let malformed = |why: &str| Malformed::Jwt(why.to_owned());
        if token.len() > MAX_TOKEN_BYTES {
            return Err(malformed("the token is too long"));
        }
        let three = || malformed("go-jose/go-jose: compact JWS format must have three parts");
        let (signed, signature) = token.rsplit_once('.').ok_or_else(three)?;
        let (header, payload) =
            signed.split_once('.').filter(|(_, payload)| !payload.contains('.')).ok_or_else(three)?;
        let [header, payload, signature] = [header, payload, signature].map(|part| {
            let decoded = BASE64URL_NOPAD.decode(part.as_bytes());
            decoded.map_err(|error| malformed(&format!("illegal base64 data at input byte {}", error.position)))
        });
        let (header, payload, signature) = (header?, payload?, signature?);
        let header = TokenHeader::parse(&header).map_err(|why| malformed(&why))?;
        Ok(CompactToken { signed, header, payload, signature })
    }

    /// The claims, whose signature the caller has verified.
    ///
    /// # Errors
    /// The payload is no JSON.
    pub fn claims(&self) -> Result<Value, String> {
        json::parse(&self.payload, Strictness::Ignore)
            .map(|parsed| parsed.value)
            .map_err(|error| error.text().to_owned())
    }

    /// Whether a key signed it.
    pub fn is_signed_by(&self, key: &Jwk) -> bool {
        let Some(algorithm) = Algorithm::of_name(&self.header.algorithm) else { return false };
        let signed = self.header.signed(self.signed.as_bytes(), &self.payload);
        signed.is_ok_and(|signed| key.verifies(algorithm, &signed, &self.signature))
    }
}

/// A public key of an issuer.
#[derive(Clone, Debug)]
pub(crate) struct Jwk {
    pub id: String,
    key: PublicKey,
}

#[derive(Clone, Debug)]
enum PublicKey {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// The point, uncompressed.
    Curve(Algorithm, Vec<u8>),
}

/// The first byte of an uncompressed point.
const UNCOMPRESSED_POINT: u8 = 4;

impl Jwk {
    /// The keys of a set. Those that verify no token are skipped: a set may have keys for other purposes.
    ///
    /// # Errors
    /// It is no set of keys, or one of them is malformed or of an unknown kind.
    pub fn of_set(document: &[u8]) -> Result<Vec<Jwk>, String> {
        let set = json::parse(document, Strictness::Ignore).map_err(|error| error.text().to_owned())?.value;
        let keys = match set.get("keys") {
            None | Some(Value::Null) if set.as_map().is_some() => &[],
            Some(Value::List(keys)) => &keys[..],
            _ => return Err("json: cannot unmarshal the set of keys".to_owned()),
        };
        for key in keys {
            is_public_key(key)?;
        }
        Ok(keys.iter().filter_map(Jwk::of_value).collect())
    }

    fn of_value(value: &Value) -> Option<Jwk> {
        let number = |name: &str| {
            let bytes = BASE64URL_NOPAD.decode(value.str_at(&[name]).trim_end_matches('=').as_bytes()).ok()?;
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            bytes.get(zeros..).map(<[u8]>::to_vec).filter(|number| !number.is_empty())
        };
        let key = match value.str_at(&["kty"]) {
            "RSA" => PublicKey::Rsa { modulus: number("n")?, exponent: number("e")? },
            "EC" => {
                let (algorithm, bytes): (_, usize) = match value.str_at(&["crv"]) {
                    "P-256" => (Algorithm::Es256, 32),
                    "P-384" => (Algorithm::Es384, 48),
                    "P-521" => (Algorithm::Es512, 66),
                    _ => return None,
                };
                let mut point = vec![UNCOMPRESSED_POINT];
                for coordinate in [number("x")?, number("y")?] {
                    point.resize(point.len() + bytes.checked_sub(coordinate.len())?, 0);
                    point.extend(coordinate);
                }
                PublicKey::Curve(algorithm, point)
            }
            _ => return None,
        };
        Some(Jwk { id: value.str_at(&["kid"]).to_owned(), key })
    }

    pub fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        match &self.key {
            PublicKey::Rsa { modulus, exponent } => algorithm.rsa().is_some_and(|parameters| {
                RsaPublicKeyComponents { n: modulus, e: exponent }.verify(parameters, message, signature).is_ok()
            }),
            PublicKey::Curve(own, point) if *own == algorithm => {
                verifies_on_curve(algorithm, point, message, signature)
            }
            PublicKey::Curve(..) => false,
        }
    }
}

fn verifies_on_curve(algorithm: Algorithm, point: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let of_ring: &'static dyn VerificationAlgorithm = match algorithm {
        Algorithm::Es256 => &signature::ECDSA_P256_SHA256_FIXED,
        Algorithm::Es384 => &signature::ECDSA_P384_SHA384_FIXED,
        // Not among the algorithms of ring.
        _ => {
            let key = p521::ecdsa::VerifyingKey::from_sec1_bytes(point);
            let signature = p521::ecdsa::Signature::from_slice(signature);
            return matches!((key, signature), (Ok(key), Ok(signature)) if key.verify(message, &signature).is_ok());
        }
    };
    UnparsedPublicKey::new(of_ring, point).verify(message, signature).is_ok()
}
