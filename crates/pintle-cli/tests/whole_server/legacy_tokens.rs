//! Legacy service account tokens, which are stored in secrets: use, tracking, invalidation, and removal with their secrets.
//! Guarantees that the label of the last use is set when the response arrives. Must never depend on the day of the test: it
//! writes only days long past.

use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint, MERGE_PATCH};
use crate::common::process::{Installation, Process};
use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};

const CORE: &str = "/api/v1/namespaces/default";
const SECRET: &str = "/api/v1/namespaces/default/secrets/robot-token";
const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";
const WARNING: &str = "Use tokens from the TokenRequest API or manually created secret-based tokens instead of \
                       auto-generated secret-based tokens.";

/// A server that believes a key of the test's, and a token of an account `robot` that this key signed.
struct Fixture {
    _installation: Installation,
    process: Process,
    admin: Client,
    token: String,
}

impl Fixture {
    fn start() -> Fixture {
        let installation = Installation::new();
        let key = rcgen::KeyPair::generate().expect("a key");
        let file = installation.scratch.write("tokens.pem", &key.public_key_pem());
        let process = installation.start_with(&["--service-account-key-file".as_ref(), file.as_os_str()]);
        let mut admin = process.endpoint().client();
        let account = json!({"metadata": {"name": "robot"}});
        let account = admin.post(&format!("{CORE}/serviceaccounts"), &account).expect_status(201);
        let payload = json!({
            "iss": "kubernetes/serviceaccount",
            "sub": "system:serviceaccount:default:robot",
            "kubernetes.io/serviceaccount/namespace": "default",
            "kubernetes.io/serviceaccount/secret.name": "robot-token",
            "kubernetes.io/serviceaccount/service-account.name": "robot",
            "kubernetes.io/serviceaccount/service-account.uid": account["metadata"]["uid"],
        });
        let encode = |part: &Value| BASE64URL_NOPAD.encode(part.to_string().as_bytes());
        let signed = format!("{}.{}", encode(&json!({"alg": "ES256"})), encode(&payload));
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key.serialize_der(), &random);
        let signature = key.expect("a key").sign(&random, signed.as_bytes()).expect("signed");
        let token = format!("{signed}.{}", BASE64URL_NOPAD.encode(signature.as_ref()));
        Fixture { _installation: installation, process, admin, token }
    }

    fn create_secret(&mut self) {
        let name = json!({"name": "robot-token", "annotations": {"kubernetes.io/service-account.name": "robot"}});
        let data = json!({"token": BASE64.encode(self.token.as_bytes())});
        let secret = json!({"metadata": name, "type": "kubernetes.io/service-account-token", "data": data});
        self.admin.post(&format!("{CORE}/secrets"), &secret).expect_status(201);
    }

    fn label(&mut self, label: &str, value: Value) {
        let patch = json!({"metadata": {"labels": {label: value}}});
        self.admin.send("PATCH", SECRET, MERGE_PATCH, patch.to_string().as_bytes()).expect_status(200);
    }

    /// The label of the last use, which must be a recent day.
    fn expect_used(&mut self) {
        let secret = self.admin.get(SECRET).expect_status(200);
        let day = secret["metadata"]["labels"][LAST_USED].as_str().unwrap_or_default().to_owned();
        assert!(day.len() == 10 && day.as_str() > "2020-01-01", "{secret}");
    }

    /// Status and warning of a request with the token.
    fn request(&self) -> (u16, String) {
        let endpoint = Endpoint { token: Some(self.token.clone()), ..self.process.endpoint() };
        let answer = endpoint.client().get(&format!("{CORE}/configmaps")).answer();
        (answer.status, answer.header("warning").to_owned())
    }

    fn review(&mut self, audiences: Value) -> Value {
        let review = json!({"spec": {"token": self.token, "audiences": audiences}});
        let answer = self.admin.post("/apis/authentication.k8s.io/v1/tokenreviews", &review).answer();
        assert_eq!(answer.header("warning"), "");
        answer.expect(201)["status"].clone()
    }

    fn count(&mut self, metric: &str) -> u32 {
        let text = self.admin.get("/metrics").answer().text();
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("serviceaccount_{metric}_total ")));
        line.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("no {metric}"))
    }
}

#[test]
fn a_legacy_token_counts_as_long_as_its_secret_holds_it() {
    let mut fixture = Fixture::start();
    assert_eq!(fixture.request().0, 401);
    fixture.create_secret();
    assert_eq!(fixture.request(), (403, String::new()));
    fixture.expect_used();
    let status = fixture.review(json!([]));
    assert_eq!(status["user"]["username"], "system:serviceaccount:default:robot");
    assert_eq!(
        status["user"]["groups"],
        json!(["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"])
    );
    assert_eq!(status["user"]["extra"], Value::Null);
    let error = fixture.review(json!(["elsewhere"]))["error"].as_str().unwrap_or_default().to_owned();
    assert!(error.contains("is invalid for the target audiences [\"elsewhere\"]"), "{error}");
    let other = json!({"data": {"token": BASE64.encode(b"other")}});
    fixture.admin.send("PATCH", SECRET, MERGE_PATCH, other.to_string().as_bytes()).expect_status(200);
    assert_eq!(fixture.request().0, 401);
    assert_eq!(fixture.review(json!([]))["error"], "[invalid bearer token, Token does not match server's copy]");
    fixture.admin.delete(SECRET).expect_status(200);
    assert_eq!(fixture.review(json!([]))["error"], "[invalid bearer token, Token has been invalidated]");
}

#[test]
fn a_legacy_token_is_tracked_and_can_be_invalidated() {
    let mut fixture = Fixture::start();
    fixture.create_secret();
    assert_eq!(fixture.request(), (403, String::new()));
    let listed = json!({"secrets": [{"name": "robot-token"}]}).to_string();
    let account = format!("{CORE}/serviceaccounts/robot");
    fixture.admin.send("PATCH", &account, MERGE_PATCH, listed.as_bytes()).expect_status(200);
    assert_eq!(fixture.request(), (403, format!("299 - \"{WARNING}\"")));
    fixture.label(LAST_USED, json!("2001-01-01"));
    fixture.label(INVALID_SINCE, json!("2001-01-01"));
    assert_eq!(fixture.request(), (401, String::new()));
    fixture.expect_used();
    let why = "the token in secret default/robot-token for service account default/robot has been marked invalid. Use tokens \
               from the TokenRequest API or manually created secret-based tokens, or remove the \
               'kubernetes.io/legacy-token-invalid-since' label from the secret to temporarily allow use of this token";
    fixture.label(LAST_USED, json!("2001-01-01"));
    assert_eq!(fixture.review(json!([]))["error"], format!("[invalid bearer token, {why}]"));
    fixture.expect_used();
    fixture.label(INVALID_SINCE, Value::Null);
    assert_eq!(fixture.request().0, 403);
    let counted =
        ["legacy_tokens", "legacy_manual_token_uses", "legacy_auto_token_uses", "invalid_legacy_auto_token_uses"];
    assert_eq!(counted.map(|metric| fixture.count(metric)), [5, 1, 2, 2]);
}
