use super::*;
use crate::verifier::WELL_KNOWN;
use crate::{ClaimOrExpression, Fetched, PrefixedClaim};
use data_encoding::BASE64URL_NOPAD;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

/// Documents by URL.
#[derive(Default)]
struct Documents {
    bodies: Mutex<HashMap<String, String>>,
    asked: AtomicUsize,
}

impl Documents {
    fn set(&self, url: &str, body: impl Into<String>) {
        self.bodies.lock().expect("unlocked").insert(url.to_owned(), body.into());
    }
}

impl Fetch for Documents {
    fn get<'a>(&'a self, url: &'a str, access_token: Option<&'a str>) -> BoxFuture<'a, Result<Fetched, String>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let key = access_token.map_or(url.to_owned(), |token| format!("{token}@{url}"));
        let body = self.bodies.lock().expect("unlocked").get(&key).cloned();
        let code = if body.is_some() { 200 } else { 404 };
        async move { Ok(Fetched { code, body: body.unwrap_or_default().into(), headers: HeaderMap::new() }) }.boxed()
    }
}

struct Key(&'static str, EcdsaKeyPair);

impl Key {
    fn new(id: &'static str) -> Key {
        let pkcs8 =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &SystemRandom::new());
        Key(id, pair.expect("a key"))
    }

    fn jwk(&self) -> String {
        let (x, y) = self.1.public_key().as_ref()[1..].split_at(32);
        let [x, y] = [x, y].map(|number| BASE64URL_NOPAD.encode(number));
        format!(r#"{{"kty": "EC", "crv": "P-256", "kid": "{}", "x": "{x}", "y": "{y}"}}"#, self.0)
    }

    fn sign_as(&self, header: &str, claims: &str) -> String {
        let [header, claims] = [header, claims].map(|part| BASE64URL_NOPAD.encode(part.as_bytes()));
        let signed = format!("{header}.{claims}");
        let signature = self.1.sign(&SystemRandom::new(), signed.as_bytes()).expect("signed");
        format!("{signed}.{}", BASE64URL_NOPAD.encode(signature.as_ref()))
    }

    fn sign(&self, claims: &str) -> String {
        self.sign_as(&format!(r#"{{"alg": "ES256", "kid": "{}"}}"#, self.0), claims)
    }
}

fn set_of(keys: &[&Key]) -> String {
    format!(
        r#"{{"keys": [{{"kty": "oct", "k": "AA"}}, {}]}}"#,
        keys.iter().map(|key| key.jwk()).collect::<Vec<_>>().join(",")
    )
}

fn issuer(url: &str, audiences: &[&str]) -> Issuer {
    let of = |claim: &str| PrefixedClaim { claim: claim.into(), prefix: Str::default() };
    Issuer {
        url: url.into(),
        discovery_url: None,
        audiences: audiences.iter().map(Str::new).collect(),
        algorithms: vec![Algorithm::Es256],
        mapping: Mapping {
            username: ClaimOrExpression::Claim(of("sub")),
            groups: Some(ClaimOrExpression::Claim(of("groups"))),
            uid: None,
            extra: Vec::new(),
            required_claims: Vec::new(),
            claim_rules: Vec::new(),
            user_rules: Vec::new(),
        },
    }
}

const A: &str = "https://a.example.com";

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_000_000)
}

/// The server of an issuer with these keys.
fn serve(documents: &Documents, issuer: &str, keys: &[&Key]) {
    documents
        .set(&format!("{issuer}{WELL_KNOWN}"), format!(r#"{{"issuer": "{issuer}", "jwks_uri": "{issuer}/keys"}}"#));
    documents.set(&format!("{issuer}/keys"), set_of(keys));
}

async fn started(issuer: Issuer, documents: &Arc<Documents>) -> JwtAuthenticators {
    let authenticator = JwtAuthenticator::start(issuer, documents.clone());
    for _ in 0..100 {
        if authenticator.health().is_ok() {
            break;
        }
        tokio::task::yield_now().await;
    }
    JwtAuthenticators(vec![authenticator])
}

async fn outcome(authenticators: &JwtAuthenticators, token: &str) -> Result<Option<String>, String> {
    let headers = HeaderMap::new();
    let request =
        AuthenticationRequest { bearer_token: Some(token.as_bytes()), ..AuthenticationRequest::new(&headers, now()) };
    let identity = authenticators.authenticate(&request).get().await;
    let shown = |identity: Identity| format!("{} {}", identity.user.name, identity.user.groups.join(","));
    identity.map(|identity| identity.map(shown)).map_err(|error| error.to_string())
}

fn claims(more: &str) -> String {
    format!(r#"{{"iss": "{A}", "aud": "me", "sub": "jane", "exp": 1000060{more}}}"#)
}

#[tokio::test]
async fn tokens_are_verified() {
    let (known, other) = (Key::new("k"), Key::new("k"));
    let documents = Arc::new(Documents::default());
    serve(&documents, A, &[&known]);
    let authenticators = started(issuer(A, &["me"]), &documents).await;
    let user = Ok(Some("jane system:authenticated".to_owned()));
    let error = |text: &str| Err(format!("oidc: verify token: {text}"));
    let unsigned = error("failed to verify signature: failed to verify id token signature");
    let rows = [
        (known.sign(&claims("")), user.clone()),
        (known.sign_as(r#"{"alg": "ES256"}"#, &claims("")), user.clone()),
        (other.sign(&claims("")), unsigned.clone()),
        (known.sign_as(r#"{"alg": "ES256", "crit": ["x"], "x": 1}"#, &claims("")), unsigned.clone()),
        (known.sign_as(r#"{"alg": "ES256", "crit": ["b64"], "b64": true}"#, &claims("")), user.clone()),
        (known.sign_as(r#"{"alg": "ES256", "b64": false}"#, &claims("")), unsigned.clone()),
        (
            known.sign_as(r#"{"alg": "ES256", "jwk": {}}"#, &claims("")),
            error(
                "oidc: malformed jwt: failed to unmarshal JWK: go-jose/go-jose: unknown json web key type '': \"{}\"",
            ),
        ),
        (
            known.sign_as(r#"{"alg": "none"}"#, &claims("")),
            error("oidc: id token signed with unsupported algorithm, expected [\"ES256\"] got \"none\""),
        ),
        (
            known.sign(&claims(r#", "exp": 999999"#)),
            error("oidc: token is expired (Token Expiry: 1970-01-12 13:46:39 +0000 UTC)"),
        ),
        (
            known.sign(&claims(r#", "exp": 1e300"#)),
            error("oidc: token is expired (Token Expiry: 292277026596-12-04 15:30:08 +0000 UTC)"),
        ),
        (
            known.sign(&format!(r#"{{"iss": "{A}", "aud": "me"}}"#)),
            error("oidc: token is expired (Token Expiry: 0001-01-01 00:00:00 +0000 UTC)"),
        ),
        // The signature is verified first.
        (other.sign(&claims(r#", "exp": 999999, "aud": 5"#)), unsigned.clone()),
        (known.sign(&claims(r#", "_claim_names": {"groups": "s"}"#)), error("oidc: source does not exist")),
        (
            known.sign_as(r#"{"alg": "ES256", "kid": 5}"#, &claims("")),
            error(
                "oidc: malformed jwt: failed to unmarshal key ID: json: cannot unmarshal number into Go value of type \
                 string: \"5\"",
            ),
        ),
        (known.sign(&claims(r#", "nbf": 1000060"#)), user.clone()),
        (
            known.sign(&claims(r#", "nbf": 1000061"#)),
            error(
                "oidc: current time 1970-01-12 13:46:40 +0000 UTC before the nbf (not before) time: 1970-01-12 13:47:41 \
                 +0000 UTC",
            ),
        ),
        (known.sign(&claims(r#", "iat": 2000000"#)), user),
        (known.sign(&claims(r#", "aud": ["x", "y"]"#)), error(r#"oidc: expected audience "me" got ["x" "y"]"#)),
        (known.sign(&claims(r#", "iss": "https://a.example.com/""#)), Ok(None)),
        (known.sign(&claims(r#", "iss": 5"#)), Ok(None)),
        ("a.b".to_owned(), Ok(None)),
        ("a.!.c".to_owned(), Ok(None)),
    ];
    for (token, expected) in rows {
        assert_eq!(outcome(&authenticators, &token).await, expected, "{token}");
    }
}

#[tokio::test]
async fn one_of_several_audiences_is_enough() {
    let key = Key::new("k");
    let documents = Arc::new(Documents::default());
    serve(&documents, A, &[&key]);
    let authenticators = started(issuer(A, &["you", "me"]), &documents).await;
    assert!(outcome(&authenticators, &key.sign(&claims(""))).await.is_ok_and(|user| user.is_some()));
    let expected = r#"oidc: verify token: oidc: expected audience in ["me" "you"] got ["x"]"#;
    assert_eq!(outcome(&authenticators, &key.sign(&claims(r#", "aud": "x""#))).await, Err(expected.to_owned()));
}

#[tokio::test]
async fn keys_are_fetched_again_when_none_verifies() {
    let (first, second) = (Key::new("1"), Key::new("2"));
    let documents = Arc::new(Documents::default());
    serve(&documents, A, &[&first]);
    let authenticators = started(issuer(A, &["me"]), &documents).await;
    let asked = || documents.asked.load(Ordering::Relaxed);
    for _ in 0..3 {
        assert!(outcome(&authenticators, &first.sign(&claims(""))).await.is_ok());
    }
    // Discovery and keys.
    assert_eq!(asked(), 2);
    assert!(outcome(&authenticators, &second.sign(&claims(""))).await.is_err());
    serve(&documents, A, &[&second]);
    assert!(outcome(&authenticators, &second.sign(&claims(""))).await.is_ok());
    assert!(outcome(&authenticators, &first.sign(&claims(""))).await.is_err());
    documents.set(&format!("{A}/keys"), "no keys");
    assert!(outcome(&authenticators, &second.sign(&claims(""))).await.is_ok());
    let error = outcome(&authenticators, &first.sign(&claims(""))).await.expect_err("refused");
    assert!(error.contains("fetching keys oidc: failed to decode keys: expected Content-Type"), "{error}");
    assert_eq!(authenticators.0[0].key_fetches(), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn an_issuer_is_looked_for_until_it_is_found() {
    let key = Key::new("k");
    let documents = Arc::new(Documents::default());
    documents.set(&format!("{A}{WELL_KNOWN}"), r#"{"issuer": "https://b.example.com"}"#);
    let authenticators = started(issuer(A, &["me"]), &documents).await;
    let problem = authenticators.0[0].health().expect_err("not found");
    assert!(problem.contains("issuer did not match the issuer returned by provider"), "{problem}");
    let token = key.sign(&claims(""));
    assert_eq!(outcome(&authenticators, &token).await, Err("oidc: authenticator not initialized".to_owned()));
    serve(&documents, A, &[&key]);
    tokio::time::sleep(RETRY_AFTER + Duration::from_millis(1)).await;
    assert!(outcome(&authenticators, &token).await.is_ok_and(|user| user.is_some()));
}

#[tokio::test]
async fn groups_may_come_from_distributed_claims() {
    const B: &str = "https://b.example.com";
    let (key, of_b) = (Key::new("k"), Key::new("b"));
    let documents = Arc::new(Documents::default());
    serve(&documents, A, &[&key]);
    serve(&documents, B, &[&of_b]);
    let claim = format!(r#"{{"iss": "{B}", "aud": "me", "exp": 1000060, "groups": ["x"]}}"#);
    documents.set("secret@https://b.example.com/groups", of_b.sign(&claim));
    documents.set("https://b.example.com/forged", key.sign(&claim));
    let authenticators = started(issuer(A, &["me"]), &documents).await;
    let token = |source: &str| {
        let names = r#", "_claim_names": {"groups": "s"}, "_claim_sources": {"s": "#;
        key.sign(&claims(&format!("{names}{source}}}")))
    };
    let good = token(r#"{"endpoint": "https://b.example.com/groups", "access_token": "secret"}"#);
    assert_eq!(outcome(&authenticators, &good).await, Ok(Some("jane x,system:authenticated".to_owned())));
    for (source, expected) in [
        (
            r#"{"endpoint": "https://b.example.com/forged"}"#,
            "verify distributed claim token: failed to verify signature",
        ),
        (r#"{"endpoint": "https://b.example.com/none"}"#, "error while getting distributed claim JWT: 404 Not Found"),
    ] {
        let error = outcome(&authenticators, &token(source)).await.expect_err("refused");
        assert!(
            error.starts_with("oidc: could not expand distributed claims: ") && error.contains(expected),
            "{error}"
        );
    }
}

#[test]
fn a_set_with_an_unreadable_key_has_none() {
    let good = Key::new("k").jwk();
    for (other, expected) in [
        (r#"{"kty": "oct", "k": "AA"}"#, None),
        (r#"{"kty": "OKP", "crv": "Ed25519", "x": "AAAA"}"#, None),
        (r#"{"kty": "x"}"#, Some("go-jose/go-jose: unknown json web key type 'x'")),
        (r#"{"kty": "EC", "crv": "secp256k1"}"#, Some("go-jose/go-jose: unsupported elliptic curve 'secp256k1'")),
        (r#"{"kty": "RSA", "n": "AQAB"}"#, Some("go-jose/go-jose: invalid RSA key, missing n/e values")),
    ] {
        let keys = crate::jose::Jwk::of_set(format!(r#"{{"keys": [{good}, {other}]}}"#).as_bytes());
        assert_eq!(keys.as_ref().err().map(String::as_str), expected, "{other}");
        assert!(keys.is_err() || keys.is_ok_and(|keys| keys.len() == 1), "{other}");
    }
}

#[test]
fn p521_signatures_are_verified() {
    // Made with OpenSSL.
    let set = br#"{"keys": [{"kty": "EC", "crv": "P-521",
        "x": "AbhIg9LhpLABc9FYdhlPo0VWu5DHrjBHgrJpi5wUdmM40Fo5GfSldPLmVryj9SIri5bJpdz-cPofRfE9adcdhjnZ",
        "y": "AHKMm7uxO2mFIKN-er3bQ36HpI-QLcsyF3Bf0VkisKyhpZYPgb0e5UX0r7qSI1ErFvEOf1E8-M4SKXbXJmjQJUcJ"}]}"#;
    let signature = "AJa8ae4w3cLuWSOfkmjnKe8tVxuaByKP1te9RgZ7ps3Ymc681zfDEouyisZVdhSXYh9AONwq-IkFPEnNNVksut5UAMPvErbwnfU7\
                     Iidmt-uIw2elWlX4oMRNIQvSWMcDvPZiB-845gRke9eCWzVTV0Lz7prJyfmIo4LOH5F1b4mKG2fb";
    let signature = BASE64URL_NOPAD.decode(signature.as_bytes()).expect("base64");
    let keys = crate::jose::Jwk::of_set(set).expect("a set");
    let verifies = |algorithm, message: &[u8]| keys[0].verifies(algorithm, message, &signature);
    assert!(verifies(Algorithm::Es512, b"signed.text"));
    assert!(!verifies(Algorithm::Es512, b"signed.texts"));
    assert!(!verifies(Algorithm::Es384, b"signed.text"));
}
