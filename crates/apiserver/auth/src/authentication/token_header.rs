//! The header of a JSON web token: how it is signed, and by which key. Guarantees that every field with a meaning has the right
//! type, and that a key in a header is a public one. Must never give such a key to anyone: only keys of issuers verify.

use pintle_schema::compat;
use std::borrow::Cow;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use pintle_codec::{StrictProblem, Strictness, json};
use pintle_schema::Value;
use pintle_schema::names::quoted;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

/// Why a token with an unknown critical field is rejected, as one with a wrong signature is.
const UNVERIFIED: &str = "go-jose/go-jose: error in cryptographic primitive";

/// The header of a token.
#[derive(Debug, PartialEq, Eq)]
pub struct TokenHeader {
    pub algorithm: String,
    pub key_id: String,
    /// Whether all fields that must be understood are.
    critical: Result<(), String>,
    /// Whether the payload is signed as it is encoded.
    signs_encoded: bool,
}

impl TokenHeader {
    /// Reads the decoded text of a header. Without a text there is no algorithm.
    ///
    /// # Errors
    /// It is no JSON object, or a field of it is malformed.
    pub fn parse(text: &[u8]) -> Result<TokenHeader, String> {
        let header = match text {
            [] => Value::Null,
            _ => {
                let decoded = json::parse(text, Strictness::Collect).map_err(|error| error.text().to_owned())?;
                if let Some(StrictProblem::DuplicateField(key)) = decoded.problems.first() {
                    return Err(format!("json: duplicate key '{key}' in object"));
                }
                decoded.value
            }
        };
        if !matches!(header, Value::Map(_) | Value::Null) {
            return Err(wrong_type(&header, "jose.rawHeader"));
        }
        let field = |name: &str| header.get(name).filter(|value| !value.is_null());
        let malformed = |what: &str, value: &Value, why: String| {
            let given = json::to_string(value);
            format!("failed to unmarshal {what}: {why}: {}", quoted(&given))
        };
        let text = |name: &str, what: &str| match field(name) {
            None => Ok(String::new()),
            Some(value) => as_text(value).map(str::to_owned).map_err(|why| malformed(what, value, why)),
        };
        let parsed = TokenHeader {
            algorithm: text("alg", "algorithm")?,
            key_id: text("kid", "key ID")?,
            critical: field("crit").map_or(Ok(()), check_critical),
            signs_encoded: field("b64").and_then(Value::as_bool).unwrap_or(true),
        };
        text("nonce", "nonce")?;
        if let Some(chain) = field("x5c") {
            check_chain(chain).map_err(|why| malformed("x5c header", chain, why))?;
        }
        if let Some(key) = field("jwk")
            && !is_public_key(key).map_err(|why| malformed("JWK", key, why))?
        {
            return Err("go-jose/go-jose: invalid embedded jwk, must be public key".to_owned());
        }
        Ok(parsed)
    }

    /// The bytes that a token's signature is of. `encoded` is the token without its signature, `payload` its decoded second part.
    ///
    /// # Errors
    /// A field that must be understood is not.
    pub fn signed<'a>(&self, encoded: &'a [u8], payload: &[u8]) -> Result<Cow<'a, [u8]>, String> {
        self.critical.clone()?;
        if self.signs_encoded {
            return Ok(Cow::Borrowed(encoded));
        }
        let header = encoded.split(|byte| *byte == b'.').next().unwrap_or_default();
        Ok(Cow::Owned([header, b".", payload].concat()))
    }
}

fn check_critical(critical: &Value) -> Result<(), String> {
    let names = critical.as_list().ok_or_else(|| wrong_type(critical, "[]string"))?;
    for name in names {
        if as_text(name)? != "b64" {
            return Err(UNVERIFIED.to_owned());
        }
    }
    Ok(())
}

fn check_chain(chain: &Value) -> Result<(), String> {
    for certificate in chain.as_list().ok_or_else(|| wrong_type(chain, "[]string"))? {
        let der = BASE64.decode(as_text(certificate)?.as_bytes()).map_err(illegal_base64)?;
        X509Certificate::from_der(&der).map_err(|_| "x509: malformed certificate".to_owned())?;
    }
    Ok(())
}

/// Whether a JSON web key is public, rather than a private or a symmetric one.
///
/// # Errors
/// It is no key of a known kind.
pub fn is_public_key(key: &Value) -> Result<bool, String> {
    if key.as_map().is_none() {
        return Err(wrong_type(key, "jose.rawJSONWebKey"));
    }
    let field = |name: &str| key.get(name).map_or(Ok(""), as_text);
    for name in ["use", "kid", "alg", "x5t", "x5t#S256"] {
        field(name)?;
    }
    let number = |name: &str| match key.get(name).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => BASE64URL_NOPAD.decode(as_text(value)?.as_bytes()).map(Some).map_err(illegal_base64),
    };
    let [n, e, x, y] = [number("n")?, number("e")?, number("x")?, number("y")?];
    let mut secrets = Vec::new();
    for name in ["k", "d", "p", "q", "dp", "dq", "qi"] {
        secrets.extend(number(name)?.map(|_| name));
    }
    let is_private = secrets.contains(&"d");
    match field("kty")? {
        "RSA" if is_private => match ["p", "q"].into_iter().find(|name| !secrets.contains(name)) {
            Some(missing) => {
                let missing = missing.to_uppercase();
                Err(format!("go-jose/go-jose: invalid RSA private key, missing {missing} value(s)"))
            }
            None => Ok(false),
        },
        "RSA" => match (n, e) {
            (Some(_), Some(exponent)) => Ok(exponent.iter().any(|byte| *byte != 0)),
            _ => Err("go-jose/go-jose: invalid RSA key, missing n/e values".to_owned()),
        },
        "EC" => {
            let bytes = match field("crv")? {
                "P-256" => 32,
                "P-384" => 48,
                "P-521" => 66,
                other => return Err(format!("go-jose/go-jose: unsupported elliptic curve '{other}'")),
            };
            let (Some(x), Some(y)) = (x, y) else {
                return Err("go-jose/go-jose: invalid EC key, missing x/y values".to_owned());
            };
            let wrong = |name: &str| Err(format!("go-jose/go-jose: invalid EC public key, wrong length for {name}"));
            match (x.len() == bytes, y.len() == bytes) {
                (false, _) => wrong("x"),
                (_, false) => wrong("y"),
                _ => Ok(!is_private),
            }
        }
        "oct" if secrets.contains(&"k") => Ok(false),
        "oct" => Err("go-jose/go-jose: invalid OCT (symmetric) key, missing k value".to_owned()),
        "OKP" => match (field("crv")?, x) {
            ("Ed25519", Some(_)) => Ok(!is_private),
            (other, _) => Err(format!("go-jose/go-jose: unknown curve {other}'")),
        },
        other => Err(format!("go-jose/go-jose: unknown json web key type '{other}'")),
    }
}

fn illegal_base64(error: data_encoding::DecodeError) -> String {
    format!("illegal base64 data at input byte {}", error.position)
}

/// A text; null is empty, as Go decodes it.
fn as_text(value: &Value) -> Result<&str, String> {
    match value {
        Value::Null => Ok(""),
        Value::String(text) => Ok(text),
        other => Err(wrong_type(other, "string")),
    }
}

/// The error for a value of another type than a token's field has.
pub fn wrong_type(found: &Value, expected: &str) -> String {
    compat::cannot_unmarshal(found, "Go value", expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<TokenHeader, String> {
        TokenHeader::parse(text.as_bytes())
    }

    #[test]
    fn fields_have_their_types() {
        let header = parse(r#"{"alg":"ES256","kid":"k","typ":1,"cty":[],"nonce":null,"jwk":null,"x5c":[]}"#);
        let header = header.expect("a header");
        assert_eq!((&*header.algorithm, &*header.key_id), ("ES256", "k"));
        for none in ["", "null", "{}"] {
            assert_eq!(parse(none).expect(none).algorithm, "", "{none}");
        }
        let rows = [
            ("[]", "json: cannot unmarshal array into Go value of type jose.rawHeader"),
            (r#"{"alg":"a","alg":"b"}"#, "json: duplicate key 'alg' in object"),
            (
                r#"{"alg":1}"#,
                "failed to unmarshal algorithm: json: cannot unmarshal number into Go value of type string: \"1\"",
            ),
            (r#"{"x5c":["!"]}"#, r#"failed to unmarshal x5c header: illegal base64 data at input byte 0: "[\"!\"]""#),
            (r#"{"jwk":{}}"#, "failed to unmarshal JWK: go-jose/go-jose: unknown json web key type '': \"{}\""),
        ];
        for (text, error) in rows {
            assert_eq!(parse(text), Err(error.to_owned()), "{text}");
        }
    }

    #[test]
    fn keys_in_headers_are_public() {
        let zeros = BASE64URL_NOPAD.encode(&[0; 32]);
        let rows = [
            (r#""kty":"RSA","n":"AQAB","e":"AQAB""#.to_owned(), ""),
            (r#""kty":"RSA","n":"AQAB","e":"""#.to_owned(), "must be public key"),
            (r#""kty":"RSA","n":"AQAB""#.to_owned(), "missing n/e values"),
            (r#""kty":"RSA","n":"AQAB","e":"AQAB","d":"AQAB""#.to_owned(), "missing P value(s)"),
            (format!(r#""kty":"EC","crv":"P-256","x":"{zeros}","y":"{zeros}""#), ""),
            (format!(r#""kty":"EC","crv":"P-256","x":"{zeros}","y":"AA""#), "wrong length for y"),
            (format!(r#""kty":"EC","crv":"P-256","x":"{zeros}","y":"{zeros}","d":"AA""#), "must be public key"),
            (r#""kty":"oct","k":"AAAA""#.to_owned(), "must be public key"),
            (r#""kty":"OKP","crv":"Ed25519","x":"AAAA""#.to_owned(), ""),
        ];
        for (key, error) in rows {
            let outcome = parse(&format!(r#"{{"alg":"ES256","jwk":{{{key}}}}}"#));
            match error {
                "" => assert!(outcome.is_ok(), "{key}: {outcome:?}"),
                _ => assert!(outcome.as_ref().is_err_and(|why| why.contains(error)), "{key}: {outcome:?}"),
            }
        }
    }

    #[test]
    fn what_is_signed_depends_on_the_header() {
        let rows = [
            (r#"{}"#, Ok("h.cA")),
            (r#"{"crit":[]}"#, Ok("h.cA")),
            (r#"{"crit":["b64"],"b64":true}"#, Ok("h.cA")),
            (r#"{"crit":["b64"],"b64":false}"#, Ok("h.p")),
            (r#"{"b64":false}"#, Ok("h.p")),
            (r#"{"b64":"x"}"#, Ok("h.cA")),
            (r#"{"crit":["exp"]}"#, Err(UNVERIFIED)),
            (r#"{"crit":"b64"}"#, Err("json: cannot unmarshal string into Go value of type []string")),
        ];
        for (text, expected) in rows {
            let signed = parse(text).expect(text).signed(b"h.cA", b"p");
            let signed = signed.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            assert_eq!(signed, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }
}
