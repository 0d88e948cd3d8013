//! Public keys: what kind they are of, and the signatures that they verify. Guarantees kube-apiserver's verdicts: curves, sizes,
//! and PSS with a salt of any length. Must never take a signature that it cannot verify for a valid one.

use super::der::{NULL, Reader};
use num_bigint::BigUint;
use p521::ecdsa::signature::hazmat::PrehashVerifier;
use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ED25519,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
    VerificationAlgorithm,
};

/// Identifiers of algorithms of keys.
pub const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
pub const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
pub const ED25519_KEY: &[u8] = &[0x2b, 0x65, 0x70];
pub const X25519: &[u8] = &[0x2b, 0x65, 0x6e];
const DSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x38, 0x04, 0x01];

/// Identifiers of algorithms of signatures; the last byte of those with RSA and ECDSA names the hash.
const WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
const WITH_ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
/// The last byte of the identifier of PSS, which names its hash in the parameters.
const PSS: u8 = 0x0a;
/// Identifiers of hashes, without the last byte: 1, 2, 3 for 256, 384, 512 bits.
const SHA2: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];

/// The longest exponent of an RSA key: Go takes no larger ones.
const EXPONENT_BYTES: usize = 4;
/// The bytes of a number of P-521.
pub const P521_BYTES: usize = 66;

/// The curves that Go knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    P224,
    P256,
    P384,
    P521,
}

impl Curve {
    /// The curve of an identifier.
    pub fn of(identifier: &[u8]) -> Option<Curve> {
        match identifier {
            [0x2b, 0x81, 0x04, 0x00, 0x21] => Some(Curve::P224),
            [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07] => Some(Curve::P256),
            [0x2b, 0x81, 0x04, 0x00, 0x22] => Some(Curve::P384),
            [0x2b, 0x81, 0x04, 0x00, 0x23] => Some(Curve::P521),
            _ => None,
        }
    }

    /// The bytes of a number of its field.
    pub fn bytes(self) -> usize {
        match self {
            Curve::P224 => 28,
            Curve::P256 => 32,
            Curve::P384 => 48,
            Curve::P521 => P521_BYTES,
        }
    }
}

/// A public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicKey<'a> {
    Ed25519(&'a [u8]),
    /// A point in uncompressed form.
    Ec(Curve, &'a [u8]),
    Rsa {
        modulus: &'a [u8],
        exponent: &'a [u8],
    },
    /// Of a kind that Go knows and that signs nothing here.
    OtherKind,
    /// Of an algorithm that Go does not know.
    Unknown,
}

impl<'a> PublicKey<'a> {
    /// The key of a SubjectPublicKeyInfo.
    ///
    /// # Errors
    /// It is malformed; the text is Go's.
    pub fn parse(info: &'a [u8]) -> Result<PublicKey<'a>, &'static str> {
        let mut info = Reader::of_sequence(info).ok_or("x509: malformed spki")?;
        let (algorithm, mut parameters) = info.algorithm().ok_or("x509: malformed public key algorithm identifier")?;
        let key = info.bit_string().ok_or("x509: malformed subjectPublicKey")?;
        match algorithm {
            ED25519_KEY if !parameters.is_empty() => Err("x509: Ed25519 key encoded with illegal parameters"),
            ED25519_KEY if key.len() != 32 => Err("x509: wrong Ed25519 public key size"),
            ED25519_KEY => Ok(PublicKey::Ed25519(key)),
            RSA if parameters.take(NULL).is_none() => Err("x509: RSA key missing NULL parameters"),
            RSA => rsa(key).ok_or("x509: invalid RSA public key"),
            EC => {
                let curve = parameters.object_identifier().ok_or("x509: invalid ECDSA parameters")?;
                let curve = Curve::of(curve).ok_or("x509: unsupported elliptic curve")?;
                let is_point = key.len() == 1 + 2 * curve.bytes() && key.first() == Some(&4);
                is_point.then_some(PublicKey::Ec(curve, key)).ok_or("x509: failed to unmarshal elliptic curve point")
            }
            X25519 | DSA => Ok(PublicKey::OtherKind),
            _ => Ok(PublicKey::Unknown),
        }
    }

    /// The bits of an RSA key, as Go counts them: in whole bytes.
    pub fn rsa_bits(&self) -> Option<usize> {
        match self {
            PublicKey::Rsa { modulus, .. } => Some(modulus.len() * 8),
            _ => None,
        }
    }

    /// Whether a signature of the SHA-256 of a message (of Ed25519, of the message itself) is the key's: with RSA one of PSS.
    pub fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            PublicKey::Ed25519(key) => verifies(&ED25519, key, message, signature),
            PublicKey::Ec(curve, point) => ecdsa(*curve, &SHA256, point, message, signature),
            PublicKey::Rsa { modulus, exponent } => pss(modulus, exponent, message, signature),
            PublicKey::OtherKind | PublicKey::Unknown => false,
        }
    }

    /// Whether a signature of a certificate request is the key's. Signatures with SHA-1 count as none, as in Go; those of P-256 and
    /// P-384 with SHA-512, which Go takes, are not taken here.
    fn has_signed_request(&self, algorithm: &[u8], parameters: &[u8], message: &[u8], signature: &[u8]) -> bool {
        match self {
            PublicKey::Ed25519(key) => algorithm == ED25519_KEY && verifies(&ED25519, key, message, signature),
            PublicKey::Ec(curve, point) => {
                let hash = match algorithm.strip_prefix(WITH_ECDSA) {
                    Some([2]) => &SHA256,
                    Some([3]) => &SHA384,
                    Some([4]) => &SHA512,
                    _ => return false,
                };
                ecdsa(*curve, hash, point, message, signature)
            }
            PublicKey::Rsa { modulus, exponent } => {
                let pss_hash = parameters.windows(SHA2.len() + 1).find_map(|part| part.strip_prefix(SHA2));
                let scheme: &RsaParameters = match (algorithm.strip_prefix(WITH_RSA), pss_hash) {
                    (Some([0x0b]), _) => &RSA_PKCS1_2048_8192_SHA256,
                    (Some([0x0c]), _) => &RSA_PKCS1_2048_8192_SHA384,
                    (Some([0x0d]), _) => &RSA_PKCS1_2048_8192_SHA512,
                    (Some([PSS]), Some([1])) => &RSA_PSS_2048_8192_SHA256,
                    (Some([PSS]), Some([2])) => &RSA_PSS_2048_8192_SHA384,
                    (Some([PSS]), Some([3])) => &RSA_PSS_2048_8192_SHA512,
                    _ => return false,
                };
                RsaPublicKeyComponents { n: modulus, e: exponent }.verify(scheme, message, signature).is_ok()
            }
            PublicKey::OtherKind | PublicKey::Unknown => false,
        }
    }
}

/// A certificate request (PKCS#10).
pub struct CertificateRequest<'a> {
    pub key: PublicKey<'a>,
    signed: &'a [u8],
    algorithm: &'a [u8],
    parameters: &'a [u8],
    signature: &'a [u8],
}

impl<'a> CertificateRequest<'a> {
    /// `None` if it is malformed.
    pub fn parse(bytes: &'a [u8]) -> Option<CertificateRequest<'a>> {
        let mut request = Reader::of_sequence(bytes)?;
        let signed = request.whole_sequence()?;
        let mut info = Reader::of_sequence(signed)?;
        info.integer()?;
        info.sequence()?;
        let key = PublicKey::parse(info.whole_sequence()?).ok()?;
        let (algorithm, Reader(parameters)) = request.algorithm()?;
        let signature = request.bit_string().filter(|_| request.is_empty())?;
        Some(CertificateRequest { key, signed, algorithm, parameters, signature })
    }

    /// Whether the requested key has signed it.
    pub fn is_signed(&self) -> bool {
        self.key.has_signed_request(self.algorithm, self.parameters, self.signed, self.signature)
    }
}

/// The key of RSA in PKCS#1 form.
fn rsa(key: &[u8]) -> Option<PublicKey<'_>> {
    let mut numbers = Reader::of_sequence(key)?;
    let (modulus, exponent) = (numbers.magnitude()?, numbers.magnitude()?);
    let is_valid = !modulus.is_empty() && (1..=EXPONENT_BYTES).contains(&exponent.len()) && numbers.is_empty();
    is_valid.then_some(PublicKey::Rsa { modulus, exponent })
}

fn verifies(algorithm: &'static dyn VerificationAlgorithm, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    UnparsedPublicKey::new(algorithm, key).verify(message, signature).is_ok()
}

fn ecdsa(curve: Curve, hash: &'static Algorithm, point: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let is_256 = *hash == SHA256;
    match curve {
        _ if curve != Curve::P521 && *hash == SHA512 => false,
        Curve::P224 => false,
        Curve::P256 if is_256 => verifies(&ECDSA_P256_SHA256_ASN1, point, message, signature),
        Curve::P256 => verifies(&ECDSA_P256_SHA384_ASN1, point, message, signature),
        Curve::P384 if is_256 => verifies(&ECDSA_P384_SHA256_ASN1, point, message, signature),
        Curve::P384 => verifies(&ECDSA_P384_SHA384_ASN1, point, message, signature),
        Curve::P521 => p521_verifies(point, digest(hash, message).as_ref(), signature).is_some(),
    }
}

/// Succeeds if a signature with P-521 is valid.
fn p521_verifies(point: &[u8], hash: &[u8], signature: &[u8]) -> Option<()> {
    let mut numbers = Reader::of_sequence(signature)?;
    let mut both = Vec::with_capacity(2 * P521_BYTES);
    for _ in 0..2 {
        both.extend(padded(numbers.magnitude()?, P521_BYTES)?);
    }
    let key = p521::ecdsa::VerifyingKey::from_sec1_bytes(point).ok()?;
    let signature = p521::ecdsa::Signature::from_slice(&both).ok().filter(|_| numbers.is_empty())?;
    // The hash as a number, which a shorter one is, too.
    key.verify_prehash(&padded(hash, P521_BYTES)?, &signature).ok()
}

/// A number with zeros before it; `None` if it is longer.
pub fn padded(number: &[u8], bytes: usize) -> Option<Vec<u8>> {
    let zeros = bytes.checked_sub(number.len())?;
    Some([&vec![0; zeros][..], number].concat())
}

/// Whether a signature by RSA-PSS with SHA-256 is valid (RFC 8017, 8.1.2 and 9.1.2), whatever the length of its salt.
fn pss(modulus: &[u8], exponent: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let number = BigUint::from_bytes_be(signature);
    let n = BigUint::from_bytes_be(modulus);
    if signature.len() != modulus.len() || number >= n {
        return false;
    }
    let encoded = number.modpow(&BigUint::from_bytes_be(exponent), &n).to_bytes_be();
    let Some(bits) = usize::try_from(n.bits()).ok().and_then(|bits| bits.checked_sub(1)) else { return false };
    padded(&encoded, bits.div_ceil(8)).is_some_and(|encoded| is_pss_encoding(encoded, bits, message).is_some())
}

/// Succeeds if bytes encode the hash of a message.
fn is_pss_encoding(mut encoded: Vec<u8>, bits: usize, message: &[u8]) -> Option<()> {
    let hash_bytes = SHA256.output_len();
    let trailer = encoded.pop()?;
    let masked = encoded.len().checked_sub(hash_bytes)?;
    let hash = encoded.split_off(masked);
    // The bits beyond the length are zero.
    let unused = 0xff_u8.checked_shl(u32::try_from(8 - (8 * (masked + hash_bytes + 1) - bits)).ok()?).unwrap_or(0);
    if trailer != 0xbc || encoded.first()? & unused != 0 {
        return None;
    }
    let mask = (0_u32..).flat_map(|counter| {
        let block = digest(&SHA256, &[&hash[..], &counter.to_be_bytes()].concat());
        block.as_ref().to_vec()
    });
    encoded.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    *encoded.first_mut()? &= !unused;
    let zeros = encoded.iter().take_while(|byte| **byte == 0).count();
    let [1, salt @ ..] = encoded.get(zeros..)? else { return None };
    let signed = [&[0; 8][..], digest(&SHA256, message).as_ref(), salt].concat();
    (digest(&SHA256, &signed).as_ref() == hash).then_some(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use pintle_schema::base64;

    /// What belongs to a key of the tests.
    pub(crate) fn key(name: &str, part: &str) -> Vec<u8> {
        let all = include_str!("keys_of_tests.txt");
        let line = all.lines().find_map(|line| line.strip_prefix(&format!("{name} {part} ")));
        base64::decode(line.unwrap_or_else(|| panic!("no {name} {part}"))).expect("base64")
    }

    pub(crate) const UID: &str = "pod-uid-1";

    #[test]
    fn signatures_are_verified() {
        for (name, proof) in [
            ("ed25519", "proof"),
            ("p256", "proof"),
            ("p384", "proof"),
            ("p521", "proof"),
            ("rsa3072", "proof"),
            ("rsa3072", "proof-short"),
        ] {
            let (info, signature) = (key(name, "public"), key(name, proof));
            let public = PublicKey::parse(&info).expect("a key");
            assert!(public.has_signed(UID.as_bytes(), &signature), "{name} {proof}");
            assert!(!public.has_signed(b"pod-uid-2", &signature), "{name}");
            for at in [0, signature.len() / 2, signature.len() - 1] {
                let mut changed = signature.clone();
                changed[at] ^= 1;
                assert!(!public.has_signed(UID.as_bytes(), &changed), "{name} {at}");
            }
            assert!(!public.has_signed(UID.as_bytes(), &[]), "{name}");
        }
    }

    #[test]
    fn requests_are_signed_by_their_keys() {
        for name in ["ed25519", "p256", "p384", "p521", "rsa2048", "rsa3072"] {
            let (bytes, info) = (key(name, "request"), key(name, "public"));
            let request = CertificateRequest::parse(&bytes).expect("a request");
            assert_eq!(Ok(request.key), PublicKey::parse(&info), "{name}");
            assert!(request.is_signed(), "{name}");
            let mut changed = bytes.clone();
            *changed.last_mut().expect("a signature") ^= 1;
            assert!(!CertificateRequest::parse(&changed).is_some_and(|request| request.is_signed()), "{name}");
            for cut in 0..bytes.len() {
                assert!(CertificateRequest::parse(&bytes[..cut]).is_none(), "{name} {cut}");
            }
        }
    }

    #[test]
    fn kinds_of_keys() {
        assert_eq!(PublicKey::parse(&key("x25519", "public")), Ok(PublicKey::OtherKind));
        assert!(matches!(PublicKey::parse(&key("p224", "public")), Ok(PublicKey::Ec(Curve::P224, _))));
        assert_eq!(PublicKey::parse(&key("rsa2048", "public")).map(|key| key.rsa_bits()), Ok(Some(2048)));
        assert_eq!(PublicKey::parse(&[1, 2, 3]), Err("x509: malformed spki"));
        // Of P-256, with a point of another length.
        let mut short = key("p256", "public");
        short.truncate(short.len() - 1);
        short[1] -= 1;
        short[24] -= 1;
        assert_eq!(PublicKey::parse(&short), Err("x509: failed to unmarshal elliptic curve point"));
    }
}
