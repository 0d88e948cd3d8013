//! Tokens that are issued, changed, expired and accepted.

use super::*;
use rcgen::PublicKeyData;
use std::time::Duration;

const NOW: i64 = 1_000_000;

/// An account `s`, a pod `p`, a secret `t` and a node `m`, each with its name as uid; `d` of every kind is being deleted.
struct Objects;

impl BoundObjects for Objects {
    fn find(&self, kind: BoundKind, namespace: &str, name: &str) -> Option<BoundObject> {
        let there = matches!(
            (kind, namespace, name),
            (BoundKind::ServiceAccount, "n", "s" | "d")
                | (BoundKind::Pod, "n", "p" | "d")
                | (BoundKind::Secret, "n", "t" | "d")
                | (BoundKind::Node, "", "m" | "d")
        );
        let deleted = (name == "d").then_some(NOW - LEEWAY_SECONDS - 1);
        there.then(|| BoundObject { uid: name.into(), deleted })
    }

    fn token_secret(&self, _: &str, _: &str) -> Option<TokenSecret> {
        None
    }

    fn account_secrets(&self, _: &str, _: &str) -> Vec<Str> {
        Vec::new()
    }

    fn record_use(&self, _: UsedSecret) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

fn key() -> SigningKey {
    let made = rcgen::KeyPair::generate().expect("a key");
    SigningKey::from_pem(made.serialize_pem().as_bytes()).expect("usable")
}

fn tokens() -> ServiceAccountTokens {
    ServiceAccountTokens::new(TokenConfig::new("https://issuer", key()), Box::new(Objects))
}

fn issued(tokens: &ServiceAccountTokens, claims: Claims) -> String {
    tokens.issue(claims).now().expect("signed at once").expect("signed")
}

fn object(name: &str) -> ObjectRef {
    ObjectRef { name: name.into(), uid: name.into() }
}

fn claims() -> Claims {
    Claims {
        audiences: vec!["https://issuer".into()],
        expires: Some(NOW + 3600),
        issued: Some(NOW),
        not_before: Some(NOW),
        id: "j".into(),
        subject: "system:serviceaccount:n:s".into(),
        namespace: "n".into(),
        service_account: object("s"),
        ..Claims::default()
    }
}

fn at(seconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds.unsigned_abs())
}

fn authenticate(tokens: &ServiceAccountTokens, token: &str) -> Result<Option<Identity>, String> {
    tokens.identity(token.as_bytes(), &tokens.config().audiences, at(NOW), &mut None)
}

#[test]
fn a_token_authenticates_its_account() {
    let tokens = tokens();
    let bound = Claims { pod: Some(object("p")), node: Some(object("gone")), ..claims() };
    let token = issued(&tokens, bound);
    let Identity { user, audiences, .. } = authenticate(&tokens, &token).expect("valid").expect("its own");
    assert_eq!((&*user.name, &*user.uid), ("system:serviceaccount:n:s", "s"));
    assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"]);
    let extra: Vec<_> = user.extra.iter().map(|(key, values)| format!("{key}={}", values[0])).collect();
    assert_eq!(
        extra,
        [
            "authentication.kubernetes.io/credential-id=JTI=j",
            "authentication.kubernetes.io/node-name=gone",
            "authentication.kubernetes.io/node-uid=gone",
            "authentication.kubernetes.io/pod-name=p",
            "authentication.kubernetes.io/pod-uid=p",
        ]
    );
    assert_eq!(audiences, ["https://issuer"]);
}

#[test]
fn what_an_earlier_release_does_not_know_does_not_count() {
    let mut config = TokenConfig::new("https://issuer", key());
    config.content = TokenContent { id: false, node_of_pod: false, valid_with_node: false, ..TokenContent::default() };
    let tokens = ServiceAccountTokens::new(config, Box::new(Objects));
    let extra = |claims: Claims| {
        let identity = authenticate(&tokens, &issued(&tokens, claims)).expect("valid").expect("its own");
        identity.user.extra.iter().map(|(key, values)| format!("{key}={}", values[0])).collect::<Vec<_>>()
    };
    let of_pod = Claims { pod: Some(object("p")), node: Some(object("gone")), ..claims() };
    let shown = ["authentication.kubernetes.io/pod-name=p", "authentication.kubernetes.io/pod-uid=p"];
    assert_eq!(extra(of_pod), shown);
    let of_node = issued(&tokens, Claims { node: Some(object("m")), ..claims() });
    let refused = authenticate(&tokens, &of_node).map(|_| ()).map_err(|error| error.to_string());
    let why =
        "token is bound to a Node object but the \"ServiceAccountTokenNodeBindingValidation\" feature gate is disabled";
    assert_eq!(refused, Err(why.to_owned()));
}

#[test]
fn claims_that_do_not_hold_are_refused() {
    let other = |uid: &str, name: &str| Some(ObjectRef { name: name.into(), uid: uid.into() });
    let invalidated = "service account token has been invalidated";
    let rows = [
        (Claims { expires: Some(NOW - 60), ..claims() }, ""),
        (Claims { expires: Some(NOW - 61), ..claims() }, "service account token has expired"),
        (Claims { not_before: Some(NOW + 61), ..claims() }, "service account token is not valid yet"),
        (Claims { issued: Some(NOW + 61), ..claims() }, "service account token is issued in the future"),
        (Claims { service_account: object("x"), ..claims() }, "serviceaccounts \"x\" not found"),
        (Claims { service_account: object(""), ..claims() }, "resource name may not be empty"),
        (Claims { service_account: object("a/b"), ..claims() }, "invalid resource name \"a/b\": [may not contain '/']"),
        (Claims { namespace: "".into(), ..claims() }, "the server could not find the requested resource"),
        (
            Claims { service_account: other("u", "s").unwrap_or_default(), ..claims() },
            "service account UID (s) does not match claim (u)",
        ),
        (Claims { service_account: object("d"), ..claims() }, "service account has been deleted"),
        (Claims { secret: Some(object("t")), ..claims() }, ""),
        (Claims { secret: Some(object("d")), ..claims() }, invalidated),
        (Claims { pod: Some(object("x")), ..claims() }, invalidated),
        (Claims { pod: other("u", "p"), ..claims() }, "pod UID (p) does not match service account pod ref claim (u)"),
        (Claims { node: Some(object("m")), ..claims() }, ""),
        (Claims { node: Some(object("x")), ..claims() }, invalidated),
        (
            Claims { audiences: vec!["a".into(), "b".into()], ..claims() },
            "token audiences [\"a\" \"b\"] is invalid for the target audiences [\"https://issuer\"]",
        ),
        (Claims { audiences: Vec::new(), ..claims() }, ""),
    ];
    let tokens = tokens();
    for (claims, error) in rows {
        let outcome = authenticate(&tokens, &issued(&tokens, claims.clone()));
        assert_eq!(
            outcome.map(|known| known.is_some()).map_err(|error| error.to_string()),
            match error {
                "" => Ok(true),
                error => Err(error.to_owned()),
            }
        );
    }
}

#[test]
fn a_token_of_another_issuer_is_decoded_once() {
    let tokens = tokens();
    let other = ServiceAccountTokens::new(TokenConfig::new("https://other", key()), Box::new(Objects));
    let token = issued(&other, claims());
    for is_known in [false, true] {
        assert_eq!(tokens.foreign.get(&key_of(token.as_bytes())).is_some(), is_known);
        assert_eq!(authenticate(&tokens, &token), Ok(None));
    }
}

#[test]
fn only_whole_tokens_of_known_keys_and_issuers_count() {
    let tokens = tokens();
    let token = issued(&tokens, claims());
    for (at, byte) in token.bytes().enumerate().step_by(7) {
        let mut changed = token.clone().into_bytes();
        changed[at] = if byte == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).expect("ASCII");
        assert!(!matches!(authenticate(&tokens, &changed), Ok(Some(_))), "{at}");
    }
    for end in 0..token.len() {
        assert!(!matches!(authenticate(&tokens, &token[..end]), Ok(Some(_))), "{end}");
    }
    let unsigned = |header: &str| {
        let payload = json::to_vec(&Claims { issuer: "https://issuer".into(), ..claims() }.to_value());
        format!("{}.{}.", BASE64URL_NOPAD.encode(header.as_bytes()), BASE64URL_NOPAD.encode(&payload))
    };
    assert!(authenticate(&tokens, &unsigned(r#"{"alg":"none"}"#)).is_err());
    assert!(authenticate(&tokens, &unsigned(r#"{"alg":"HS256"}"#)).is_err());
    // Another server with the same issuer, and one with another.
    let stranger = ServiceAccountTokens::new(TokenConfig::new("https://issuer", key()), Box::new(Objects));
    let unknown = Err("invalid signature, no keys found".to_owned());
    assert_eq!(authenticate(&tokens, &issued(&stranger, claims())), unknown);
    let elsewhere = ServiceAccountTokens::new(TokenConfig::new("https://other", key()), Box::new(Objects));
    assert_eq!(authenticate(&tokens, &issued(&elsewhere, claims())), Ok(None));
    // Its key and issuer may be made known.
    let mut config = TokenConfig::new("https://issuer", key());
    let foreign = elsewhere.config().keys.current().verifying().to_vec();
    config.keys = TokenKeys::new(KeySet::signing_with(key(), foreign));
    config.issuers.push("https://other".into());
    let both = ServiceAccountTokens::new(config, Box::new(Objects));
    assert!(matches!(authenticate(&both, &issued(&elsewhere, claims())), Ok(Some(_))));
}

#[test]
fn headers_and_payloads_are_checked() {
    let made = rcgen::KeyPair::generate().expect("a key").serialize_pem();
    let own = || SigningKey::from_pem(made.as_bytes()).expect("usable");
    let tokens = ServiceAccountTokens::new(TokenConfig::new("https://issuer", own()), Box::new(Objects));
    let payload = json::to_string(&Claims { issuer: "https://issuer".into(), ..claims() }.to_value());
    let twice = payload.replacen('{', r#"{"exp":1,"#, 1);
    let sign = |header: &str, payload: &str| {
        let [header, payload] = [header, payload].map(|part| BASE64URL_NOPAD.encode(part.as_bytes()));
        let signed = format!("{header}.{payload}");
        let signature = own().sign(signed.as_bytes()).expect("signed");
        format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))
    };
    let unverified = "go-jose/go-jose: error in cryptographic primitive";
    let rows = [
        (r#"{"alg":"ES256","crit":[]}"#, &payload, Ok(true)),
        (r#"{"alg":"ES256","crit":["exp"]}"#, &payload, Err(unverified)),
        (r#"{"alg":"RS256"}"#, &payload, Err(unverified)),
        (r#"{"alg":"ES256","jwk":{}}"#, &payload, Ok(false)),
        (r#"{"alg":"ES256"}"#, &twice, Err("json: duplicate key 'exp' in object")),
    ];
    for (header, payload, expected) in rows {
        let outcome = authenticate(&tokens, &sign(header, payload)).map(|known| known.is_some());
        assert_eq!(outcome, expected.map_err(str::to_owned), "{header}");
    }
}

#[test]
fn a_cached_token_still_expires() {
    let tokens = tokens();
    let token = issued(&tokens, Claims { pod: Some(object("p")), ..claims() });
    for (audience, seconds, is_valid) in
        [("https://issuer", NOW, true), ("https://issuer", NOW + 3661, false), ("other", NOW, false)]
    {
        let outcome = tokens.identity(token.as_bytes(), &[audience.into()], at(seconds), &mut None);
        assert_eq!(outcome.is_ok(), is_valid, "{audience} {seconds}");
    }
}

#[test]
fn verified_tokens_are_bounded_in_bytes() {
    let tokens = tokens();
    let of = |audiences: usize, id: &str| {
        let audiences = std::iter::repeat_n("a", audiences).chain(["https://issuer"]).map(Str::from).collect();
        issued(&tokens, Claims { audiences, id: id.into(), ..claims() })
    };
    // As many audiences as fit in a token: it is accepted, but verified each time.
    let large = of(11_500, "large");
    assert!(large.len() < MAX_TOKEN, "{}", large.len());
    for verified in [1, 2] {
        assert!(matches!(authenticate(&tokens, &large), Ok(Some(_))));
        assert_eq!((tokens.stats.verified.get(), tokens.stats.hits.get()), (verified, 0));
    }
    assert_eq!(tokens.verified.bytes(), 0);
    // Tokens of clients are verified once.
    let small = of(1, "small");
    for hits in [0, 1] {
        assert!(matches!(authenticate(&tokens, &small), Ok(Some(_))));
        assert_eq!((tokens.stats.verified.get(), tokens.stats.hits.get()), (3, hits));
    }
    let one = tokens.verified.bytes();
    assert!((500..2000).contains(&one), "{one}");
    let known = tokens.verify(small.as_bytes()).expect("good").expect("ours");
    for number in 0..20_000_u32 {
        tokens.verified.set(key_of(&number.to_le_bytes()), known.clone(), known.heap_bytes());
    }
    assert!((VERIFIED_BYTES / 3..=VERIFIED_BYTES).contains(&tokens.verified.bytes()));
}

#[test]
fn a_token_is_refused_when_its_key_is_gone_although_it_was_verified_before() {
    let tokens = tokens();
    let token = issued(&tokens, claims());
    assert!(matches!(authenticate(&tokens, &token), Ok(Some(_))));
    let old = tokens.config().keys.current().verifying().to_vec();
    tokens.config().keys.replace(KeySet::signing_with(key(), old));
    assert!(matches!(authenticate(&tokens, &token), Ok(Some(_))), "the old key verifies still");
    let new = issued(&tokens, claims());
    tokens.config().keys.replace(KeySet::signing_with(key(), Vec::new()));
    assert!(authenticate(&tokens, &token).is_err());
    assert!(authenticate(&tokens, &new).is_err());
    assert!(matches!(authenticate(&tokens, &issued(&tokens, claims())), Ok(Some(_))));
}

#[test]
fn keys_of_former_tokens_verify_but_are_not_published() {
    let made = rcgen::KeyPair::generate().expect("a key");
    let der = made.subject_public_key_info();
    let signing = SigningKey::from_pem(made.serialize_pem().as_bytes()).expect("usable");
    let id = signing.public().id().to_string();
    let keys = vec![
        VerifyingKey::of_external("a", &der, true).expect("a key"),
        VerifyingKey::of_external(&id, &der, false).expect("a key"),
    ];
    let token =
        issued(&ServiceAccountTokens::new(TokenConfig::new("https://issuer", signing), Box::new(Objects)), claims());
    let keys = TokenKeys::new(KeySet::of_external(keys));
    keys.set_fresh_until(at(NOW + 30));
    let tokens = ServiceAccountTokens::new(TokenConfig::with_keys("https://issuer", keys), Box::new(Objects));
    assert!(matches!(authenticate(&tokens, &token), Ok(Some(_))));
    let published = tokens.key_set().expect("keys");
    let published = published.at(&["keys"]).and_then(Value::as_list).expect("a list");
    assert_eq!(published.iter().map(|key| key.str_at(&["kid"])).collect::<Vec<_>>(), ["a"]);
    assert_eq!((tokens.keys_fresh_seconds(at(NOW)), tokens.keys_fresh_seconds(at(NOW + 31))), (30, 0));
    assert!(VerifyingKey::of_external("c", b"no key", true).is_err());
}

#[test]
fn keys_are_published_for_issuers_with_an_address() {
    let tokens = tokens();
    let document = tokens.discovery("1.2.3.4:6443").expect("an https issuer");
    assert_eq!(document.str_at(&["jwks_uri"]), "https://1.2.3.4:6443/openid/v1/jwks");
    let keys = tokens.key_set().expect("keys");
    assert_eq!(keys.at(&["keys"]).and_then(Value::as_list).map(<[_]>::len), Some(1));
    let named = ServiceAccountTokens::new(TokenConfig::new("name", key()), Box::new(Objects));
    assert_eq!((named.discovery("a"), named.key_set()), (None, None));
}
