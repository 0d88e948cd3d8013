//! Private keys of TLS, and whether they belong to a certificate. Guarantees the errors of Go's `tls.X509KeyPair`, but for those
//! of certificates whose names, dates or extensions are malformed. Must never report a part of a key.

use super::der::{OCTET_STRING, Reader};
use super::public_key::{Curve, EC, ED25519_KEY, P521_BYTES, PublicKey, RSA, X25519, padded};
use num_bigint::BigUint;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair,
};

const UNREADABLE: &str = "tls: failed to parse private key";
const OTHER_TYPE: &str = "tls: private key type does not match public key type";
const OTHER_KEY: &str = "tls: private key does not match public key";

/// Why a private key is not that of a certificate, both in DER.
pub fn fault(certificate: &[u8], key: &[u8]) -> Option<&'static str> {
    let checked = public_key(certificate).and_then(|public| PrivateKey::parse(key)?.check(&public));
    checked.err()
}

/// The public key of a certificate.
fn public_key(certificate: &[u8]) -> Result<PublicKey<'_>, &'static str> {
    const MALFORMED: &str = "x509: malformed certificate";
    const BODY: &str = "x509: malformed tbs certificate";
    let mut all = Reader(certificate);
    let mut certificate = all.sequence().ok_or(MALFORMED)?;
    if !all.is_empty() {
        return Err("x509: trailing data");
    }
    let mut body = certificate.sequence().ok_or(BODY)?;
    if let Some(version) = body.take(0xa0) {
        Reader(version).integer().ok_or("x509: malformed version")?;
    }
    body.integer().ok_or("x509: malformed serial number")?;
    let inner = body.whole_sequence().ok_or("x509: malformed signature algorithm identifier")?;
    let outer = certificate.whole_sequence().ok_or("x509: malformed algorithm identifier")?;
    if inner != outer {
        return Err("x509: inner and outer signature algorithm identifiers don't match");
    }
    body.sequence().ok_or("x509: malformed issuer")?;
    body.sequence().ok_or("x509: malformed validity")?;
    body.sequence().ok_or("x509: malformed issuer")?;
    let key = PublicKey::parse(body.whole_sequence().ok_or("x509: malformed spki")?)?;
    certificate.bit_string().ok_or("x509: malformed signature")?;
    Ok(key)
}

enum PrivateKey<'a> {
    Rsa {
        modulus: &'a [u8],
    },
    /// A number of the curve's field.
    Ec(Curve, Vec<u8>),
    /// The seed.
    Ed25519(&'a [u8]),
}

impl<'a> PrivateKey<'a> {
    /// A key in one of three forms, which are tried in turn.
    fn parse(der: &'a [u8]) -> Result<PrivateKey<'a>, &'static str> {
        if let Some(key) = PrivateKey::pkcs1(der) {
            return Ok(key);
        }
        match PrivateKey::pkcs8(der) {
            Ok(Some(key)) => Ok(key),
            Ok(None) => PrivateKey::sec1(der, None).ok_or(UNREADABLE),
            Err(why) => Err(why),
        }
    }

    /// An RSA key whose modulus is the product of its primes, where it has two.
    fn pkcs1(der: &'a [u8]) -> Option<PrivateKey<'a>> {
        let mut numbers = Reader::of_sequence(der)?;
        let version = numbers.magnitude()?;
        let [modulus, _, _, p, q, ..] = [(); 8].map(|()| numbers.magnitude());
        let (modulus, p, q) = (modulus?, p?, q?);
        let product = BigUint::from_bytes_be(p) * BigUint::from_bytes_be(q);
        let is_valid = match version {
            [] => product == BigUint::from_bytes_be(modulus),
            [1] => true,
            _ => false,
        };
        is_valid.then_some(PrivateKey::Rsa { modulus })
    }

    /// A key with its algorithm; `None` if it is none that is read.
    ///
    /// # Errors
    /// It is of a kind that signs nothing.
    fn pkcs8(der: &'a [u8]) -> Result<Option<PrivateKey<'a>>, &'static str> {
        let read = || {
            let mut info = Reader::of_sequence(der)?;
            info.magnitude()?;
            let (algorithm, parameters) = info.algorithm()?;
            Some((algorithm, parameters, info.take(OCTET_STRING)?))
        };
        let Some((algorithm, mut parameters, key)) = read() else { return Ok(None) };
        Ok(match algorithm {
            RSA => PrivateKey::pkcs1(key),
            EC => PrivateKey::sec1(key, parameters.object_identifier().and_then(Curve::of)),
            ED25519_KEY => Reader(key).take(OCTET_STRING).filter(|seed| seed.len() == 32).map(PrivateKey::Ed25519),
            X25519 => return Err("tls: found unknown private key type in PKCS#8 wrapping"),
            _ => None,
        })
    }

    /// A key of ECDSA; the curve is in the key unless it is given.
    fn sec1(der: &'a [u8], curve: Option<Curve>) -> Option<PrivateKey<'a>> {
        let mut key = Reader::of_sequence(der)?;
        if key.magnitude()? != [1] {
            return None;
        }
        let number = key.take(OCTET_STRING)?;
        let own = key.take(0xa0).and_then(|curve| Reader(curve).object_identifier()).and_then(Curve::of);
        let curve = curve.or(own)?;
        let zeros = number.iter().take_while(|byte| **byte == 0).count();
        Some(PrivateKey::Ec(curve, padded(number.get(zeros..)?, curve.bytes())?))
    }

    /// # Errors
    /// The public key is another one's.
    fn check(&self, public: &PublicKey<'_>) -> Result<(), &'static str> {
        let belongs = match (public, self) {
            (PublicKey::OtherKind | PublicKey::Unknown, _) => return Err("tls: unknown public key algorithm"),
            (PublicKey::Rsa { modulus, .. }, PrivateKey::Rsa { modulus: own }) => modulus == own,
            (PublicKey::Ed25519(key), PrivateKey::Ed25519(seed)) => {
                Ed25519KeyPair::from_seed_and_public_key(seed, key).is_ok()
            }
            (PublicKey::Ec(curve, point), PrivateKey::Ec(own, number)) => {
                own == curve && is_point(*curve, number, point)
            }
            _ => return Err(OTHER_TYPE),
        };
        if belongs { Ok(()) } else { Err(OTHER_KEY) }
    }
}

/// Whether a point is the public key of a number.
fn is_point(curve: Curve, number: &[u8], point: &[u8]) -> bool {
    let belongs = |algorithm: &'static EcdsaSigningAlgorithm| {
        EcdsaKeyPair::from_private_key_and_public_key(algorithm, number, point, &SystemRandom::new()).is_ok()
    };
    match curve {
        Curve::P256 => belongs(&ECDSA_P256_SHA256_ASN1_SIGNING),
        Curve::P384 => belongs(&ECDSA_P384_SHA384_ASN1_SIGNING),
        Curve::P521 => padded(number, P521_BYTES).is_some_and(|number| {
            let key = p521::ecdsa::SigningKey::from_slice(&number);
            key.is_ok_and(|key| p521::ecdsa::VerifyingKey::from(&key).to_encoded_point(false).as_bytes() == point)
        }),
        // Nothing here computes on it: it is not warned of.
        Curve::P224 => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::public_key::tests::key;
    use super::*;

    #[test]
    fn keys_belong_to_their_certificates_alone() {
        let names = ["rsa2048", "rsa3072", "p256", "p384", "p521", "ed25519"];
        for name in names {
            for other in names {
                let expected = match (name, other) {
                    _ if name == other => None,
                    ("rsa2048", "rsa3072") | ("rsa3072", "rsa2048") => Some(OTHER_KEY),
                    _ if name.starts_with('p') && other.starts_with('p') => Some(OTHER_KEY),
                    _ => Some(OTHER_TYPE),
                };
                assert_eq!(fault(&key(name, "certificate"), &key(other, "pkcs8")), expected, "{name} {other}");
            }
        }
        for (name, form) in
            [("rsa3072", "pkcs1"), ("p256", "sec1"), ("p384", "sec1"), ("p521", "sec1"), ("p224", "sec1")]
        {
            assert_eq!(fault(&key(name, "certificate"), &key(name, form)), None, "{name} {form}");
        }
        // Another number of the same curve.
        let mut changed = key("p256", "sec1");
        changed[20] ^= 1;
        assert_eq!(fault(&key("p256", "certificate"), &changed), Some(OTHER_KEY));
        let mut changed = key("rsa3072", "pkcs1");
        changed[40] ^= 1;
        assert_eq!(fault(&key("rsa3072", "certificate"), &changed), Some(UNREADABLE), "no product of its primes");
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        let (certificate, private) = (key("p256", "certificate"), key("p256", "pkcs8"));
        let rows: [(&[u8], &[u8], &str); 7] = [
            (&[0x31, 0x00], &private, "x509: malformed certificate"),
            (b"nonsense", &private, "x509: malformed certificate"),
            (&[0x30, 0x00], &private, "x509: malformed tbs certificate"),
            (&[&certificate[..], &[0]].concat(), &private, "x509: trailing data"),
            (&certificate, b"nonsense", UNREADABLE),
            (&certificate, &[0x30, 0x00], UNREADABLE),
            (&certificate, &key("x25519", "pkcs8"), "tls: found unknown private key type in PKCS#8 wrapping"),
        ];
        for (certificate, private, why) in rows {
            assert_eq!(fault(certificate, private), Some(why));
        }
        for cut in 0..certificate.len() {
            assert!(fault(&certificate[..cut], &private).is_some(), "{cut}");
        }
        for cut in 0..private.len() {
            assert_eq!(fault(&certificate, &private[..cut]), Some(UNREADABLE), "{cut}");
        }
    }
}
