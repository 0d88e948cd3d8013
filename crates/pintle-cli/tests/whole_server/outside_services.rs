//! Services outside of the server that it calls by gRPC: a signer of service account tokens, and a collector of traces.
//! Guarantees that changed keys count at once, and that a service that fails harms only what needs it. Must never decide by
//! time: what is awaited is asked for until it is there.

use crate::common::grpc::GrpcServer;
use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint};
use crate::common::process::{Installation, Process};
use crate::common::wait_for;
use data_encoding::BASE64URL_NOPAD;
use prost::Message;
use rcgen::PublicKeyData;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const REVIEW: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// The keys of a signer, by their ids; the last one signs.
#[derive(Default)]
struct Signer {
    keys: Vec<(String, rcgen::KeyPair)>,
    /// In place of the header that belongs to the key.
    header: Option<String>,
    fails: bool,
    fetches: usize,
}

impl Signer {
    fn add(&mut self, id: &str) {
        self.keys.push((id.to_owned(), rcgen::KeyPair::generate().expect("a key")));
    }

    fn answer(&mut self, method: &str, message: &[u8]) -> Result<Vec<u8>, String> {
        if self.fails {
            return Err("the module is locked".to_owned());
        }
        match method {
            "/v1.ExternalJWTSigner/Sign" => {
                let claims = Text::decode(message).map_err(|error| error.to_string())?.text;
                let (id, key) = self.keys.last().expect("a key");
                let header = format!(r#"{{"alg":"ES256","kid":"{id}","typ":"JWT"}}"#);
                let header = BASE64URL_NOPAD.encode(self.header.as_ref().unwrap_or(&header).as_bytes());
                let random = SystemRandom::new();
                let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key.serialize_der(), &random);
                let signed = format!("{header}.{claims}");
                let signature = pair.expect("a key").sign(&random, signed.as_bytes()).expect("signed");
                let signature = BASE64URL_NOPAD.encode(signature.as_ref());
                Ok(Signed { header, signature }.encode_to_vec())
            }
            "/v1.ExternalJWTSigner/FetchKeys" => {
                self.fetches += 1;
                let key =
                    |(id, key): &(String, rcgen::KeyPair)| Key { id: id.clone(), der: key.subject_public_key_info() };
                let keys = self.keys.iter().map(key).collect();
                Ok(Keys { keys, time: Some(Seconds { seconds: 1_700_000_000 }), refresh_seconds: 3600 }.encode_to_vec())
            }
            "/v1.ExternalJWTSigner/Metadata" => Ok(Seconds { seconds: 7200 }.encode_to_vec()),
            _ => Err("no such method".to_owned()),
        }
    }
}

#[derive(Clone, PartialEq, Message)]
struct Text {
    #[prost(string, tag = "1")]
    text: String,
}

#[derive(Clone, PartialEq, Message)]
struct Seconds {
    #[prost(int64, tag = "1")]
    seconds: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Signed {
    #[prost(string, tag = "1")]
    header: String,
    #[prost(string, tag = "2")]
    signature: String,
}

#[derive(Clone, PartialEq, Message)]
struct Keys {
    #[prost(message, repeated, tag = "1")]
    keys: Vec<Key>,
    #[prost(message, optional, tag = "2")]
    time: Option<Seconds>,
    #[prost(int64, tag = "3")]
    refresh_seconds: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Key {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(bytes = "vec", tag = "2")]
    der: Vec<u8>,
}

fn with_token(process: &Process, token: &str) -> Client {
    Endpoint { token: Some(token.to_owned()), ..process.endpoint() }.client()
}

fn who(process: &Process, token: &str) -> Option<String> {
    let answer = with_token(process, token).post(REVIEW, &json!({})).answer();
    let name = (answer.status == 201).then(|| answer.json()["status"]["userInfo"]["username"].clone())?;
    name.as_str().map(str::to_owned)
}

#[test]
fn a_signer_outside_signs_tokens_and_gives_the_keys_that_verify_them() {
    let installation = Installation::own();
    let signer = Arc::new(Mutex::new(Signer::default()));
    let with = |change: &dyn Fn(&mut Signer)| change(&mut signer.lock().expect("the signer"));
    with(&|signer| signer.add("first"));
    let (socket, answering) = (installation.path("signer.sock"), signer.clone());
    let _server = GrpcServer::at_socket(&socket, move |method, message| {
        answering.lock().expect("the signer").answer(method, message)
    });
    let endpoint = format!("--service-account-signing-endpoint={}", socket.display());
    let process = installation.start_with(&["--storage=memory", "--controllers=", &endpoint]);
    let mut admin = process.endpoint().client();
    admin.post(ACCOUNTS, &json!({"metadata": {"name": "robot"}})).expect_status(201);
    let path = format!("{ACCOUNTS}/robot/token");
    let mut request = |seconds: i64| admin.post(&path, &json!({"spec": {"expirationSeconds": seconds}})).answer();
    // The signer's limit shortens the lifetime.
    let answer = request(10_000).expect(201);
    assert_eq!(answer["spec"]["expirationSeconds"], 7200);
    let first = answer["status"]["token"].as_str().expect("a token").to_owned();
    assert_eq!(who(&process, &first).as_deref(), Some("system:serviceaccount:default:robot"));
    // A key that the server has not seen is asked for when a token names it.
    with(&|signer| signer.add("second"));
    let second = request(3600).expect(201)["status"]["token"].as_str().expect("a token").to_owned();
    assert_eq!(who(&process, &second).as_deref(), Some("system:serviceaccount:default:robot"));
    assert_eq!(who(&process, &first).as_deref(), Some("system:serviceaccount:default:robot"));
    let fetches = signer.lock().expect("the signer").fetches;
    // A key that is gone does not verify any more, although its token was verified before.
    with(&|signer| drop(signer.keys.remove(0)));
    with(&|signer| signer.add("third"));
    let third = request(3600).expect(201)["status"]["token"].as_str().expect("a token").to_owned();
    assert!(who(&process, &third).is_some());
    assert_eq!((who(&process, &first), who(&process, &second).is_some()), (None, true));
    assert!(signer.lock().expect("the signer").fetches > fetches);
    let mut client = process.endpoint().client();
    let keys = client.get("/openid/v1/jwks").answer();
    let ids: Vec<_> = keys.json()["keys"].as_array().expect("keys").iter().map(|key| key["kid"].clone()).collect();
    assert_eq!(ids, ["second", "third"]);
    // Who cannot sign, or signs with a header of its own, gives no token.
    with(&|signer| signer.header = Some(r#"{"alg":"none","kid":"third","typ":"JWT"}"#.to_owned()));
    let answer = request(3600).expect(500);
    let message = "failed to generate token: while validating header: bad signing algorithm \"none\"";
    assert!(answer["message"].as_str().is_some_and(|text| text.contains(message)), "{answer}");
    with(&|signer| signer.fails = true);
    let answer = request(3600).expect(500);
    let message = "while signing jwt: rpc error: code = Internal desc = the module is locked";
    assert!(answer["message"].as_str().is_some_and(|text| text.contains(message)), "{answer}");
    assert!(who(&process, &second).is_some(), "tokens are verified without the signer");
    let metrics = client.get("/metrics").answer().text();
    for line in [
        r#"apiserver_externaljwt_sign_request_total{code="OK"} 3"#,
        r#"apiserver_externaljwt_sign_request_total{code="Internal"} 1"#,
        r#"apiserver_externaljwt_sign_request_total{code="unknown-non-grpc"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line}");
    }
    let fetched =
        metrics.lines().find_map(|line| line.strip_prefix("apiserver_externaljwt_fetch_keys_data_timestamp "));
    assert_eq!(fetched.and_then(|value| value.parse::<f64>().ok()), Some(1.7e9));
}

#[cfg(target_os = "linux")]
#[test]
fn a_signer_may_listen_at_an_abstract_socket() {
    let installation = Installation::own();
    let signer = Arc::new(Mutex::new(Signer::default()));
    signer.lock().expect("the signer").add("first");
    let name = format!("pintle-signer-{}", std::process::id());
    let answering = signer.clone();
    let _server = GrpcServer::at_socket(Path::new(&format!("\0{name}")), move |method, message| {
        answering.lock().expect("the signer").answer(method, message)
    });
    let endpoint = format!("--service-account-signing-endpoint=@{name}");
    let process = installation.start_with(&["--storage=memory", "--controllers=", &endpoint]);
    let mut admin = process.endpoint().client();
    admin.post(ACCOUNTS, &json!({"metadata": {"name": "robot"}})).expect_status(201);
    let answer = admin.post(&format!("{ACCOUNTS}/robot/token"), &json!({})).expect_status(201);
    let token = answer["status"]["token"].as_str().expect("a token");
    assert_eq!(who(&process, token).as_deref(), Some("system:serviceaccount:default:robot"));
}

#[test]
fn keys_in_files_are_followed() {
    let installation = Installation::own();
    let made = [(); 2].map(|()| rcgen::KeyPair::generate().expect("a key").serialize_pem());
    let key = installation.scratch.write("account.key", &made[0]);
    let old = installation.scratch.write("old.key", &made[0]);
    let flags = ["signing-key-file", "key-file"];
    let [signing, verifying] =
        [0, 1].map(|at| format!("--service-account-{}={}", flags[at], [&key, &old][at].display()));
    let process = installation.start_with(&["--storage=memory", "--controllers=", &signing, &verifying]);
    let mut admin = process.endpoint().client();
    admin.post(ACCOUNTS, &json!({"metadata": {"name": "robot"}})).expect_status(201);
    let path = format!("{ACCOUNTS}/robot/token");
    let mut token = || admin.post(&path, &json!({})).expect_status(201)["status"]["token"].clone();
    let key_of = |token: &Value| {
        let header = token.as_str().and_then(|token| token.split('.').next()).expect("a token");
        BASE64URL_NOPAD.decode(header.as_bytes()).expect("a header")
    };
    let first = token();
    let before = key_of(&first);
    installation.scratch.write("account.key", "no key");
    wait_for("the fault is reported", || process.errors().contains("was not taken over").then_some(()));
    assert_eq!(key_of(&token()), before, "an invalid key changes nothing");
    installation.scratch.write("account.key", &made[1]);
    let second = wait_for("a token of the new key", || Some(token()).filter(|token| key_of(token) != before));
    let text = |token: &Value| token.as_str().expect("a token").to_owned();
    assert!(who(&process, &text(&first)).is_some(), "the old key verifies still");
    assert!(who(&process, &text(&second)).is_some());
    installation.scratch.write("old.key", &made[1]);
    wait_for("the end of the old key", || who(&process, &text(&first)).is_none().then_some(()));
    assert!(who(&process, &text(&second)).is_some());
}

/// What a collector was sent, as far as it is looked at.
#[derive(Clone, PartialEq, Message)]
struct Export {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Attributes>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct Attributes {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start: u64,
    #[prost(fixed64, tag = "8")]
    end: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<Attribute>,
    #[prost(message, repeated, tag = "13")]
    links: Vec<Link>,
}

#[derive(Clone, PartialEq, Message)]
struct Link {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AttributeValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AttributeValue {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(int64, tag = "3")]
    number: i64,
}

impl Span {
    fn value(&self, key: &str) -> AttributeValue {
        let found = self.attributes.iter().find(|attribute| attribute.key == key);
        found.and_then(|attribute| attribute.value.clone()).unwrap_or_default()
    }
}

#[test]
fn spans_of_sampled_requests_are_sent_to_a_collector() {
    let installation = Installation::own();
    let sent: Arc<Mutex<Vec<Span>>> = Arc::default();
    let receiving = sent.clone();
    let (_collector, port) = GrpcServer::at_port(move |method, message| {
        assert_eq!(method, "/opentelemetry.proto.collector.trace.v1.TraceService/Export");
        for of_resource in Export::decode(message).map_err(|error| error.to_string())?.resource_spans {
            let resource = of_resource.resource.unwrap_or_default();
            assert!(resource.attributes.iter().any(|attribute| attribute.key == "service.name"));
            let spans = of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
            receiving.lock().expect("the spans").extend(spans);
        }
        Ok(Vec::new())
    });
    let config = format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: 127.0.0.1:{port}\n\
         samplingRatePerMillion: 0\n"
    );
    let config = installation.scratch.write("tracing.yaml", &config);
    let config = format!("--tracing-config-file={}", config.display());
    let process = installation.start_with(&["--storage=memory", "--controllers=", &config]);
    let (trace, caller) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let parent = format!("00-{trace}-{caller}-01");
    let traced = || process.endpoint().client().with_header("traceparent", &parent).with_header("audit-id", "an-id");
    let object = json!({"metadata": {"name": "a"}});
    traced().post("/api/v1/namespaces/default/configmaps", &object).expect_status(201);
    traced().get("/api/v1/namespaces/default/configmaps/b?x=y").expect_status(404);
    traced().get("/version").expect_status(200);
    // Not sampled: nobody asks for it, or who may not.
    process.endpoint().client().get("/version").expect_status(200);
    let nobody = Endpoint { token: Some(crate::common::process::NOBODY_TOKEN.to_owned()), ..process.endpoint() };
    nobody.client().with_header("traceparent", &parent).get("/version").expect_status(200);
    let spans = wait_for("the spans", || {
        let spans = sent.lock().expect("the spans").clone();
        (spans.len() >= 5).then_some(spans)
    });
    let mut names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    names.sort_unstable();
    let (one, all) =
        ("/api/v1/namespaces/{:namespace}/configmaps/{:name}", "/api/v1/namespaces/{:namespace}/configmaps");
    assert_eq!(names, ["Create", "GET", &format!("GET {one}"), "Get", &format!("POST {all}")]);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert!(spans.iter().all(|span| hex(&span.trace_id) == trace && span.start <= span.end && span.links.is_empty()));
    let of = |name: &str| spans.iter().find(|span| span.name == name).expect(name);
    let (request, part) = (of(&format!("GET {one}")), of("Get"));
    assert_eq!((hex(&request.parent), request.kind, part.kind), (caller.to_owned(), 2, 1));
    assert_eq!(part.parent, request.span_id);
    assert_eq!(request.value("http.response.status_code").number, 404);
    assert_eq!(request.value("http.target").text, "/api/v1/namespaces/default/configmaps/b?x=y");
    assert_eq!((request.value("audit-id").text.as_str(), part.value("name").text.as_str()), ("an-id", "b"));
    // The server counts them when the collector has answered.
    wait_for("the count of five spans", || {
        let metrics = process.endpoint().client().get("/metrics").answer().text();
        metrics.contains("pintle_trace_spans_sent_total 5").then_some(())
    });
    // The duration of a sampled request names its trace to scrapers that know exemplars.
    let scraped = |accept| {
        let mut client = process.endpoint().client().with_header("accept", accept);
        client.get("/metrics").answer().text()
    };
    let exemplar = format!(" # {{trace_id=\"{trace}\"}} ");
    let open = scraped("application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2");
    let created = open.lines().find(|line| {
        let is_create = line.contains("resource=\"configmaps\"") && line.contains("verb=\"POST\"");
        line.starts_with("apiserver_request_duration_seconds_bucket") && is_create && line.contains(&exemplar)
    });
    assert!(created.is_some() && open.ends_with("\n# EOF\n"), "{open}");
    assert!(open.contains("# TYPE apiserver_request counter\napiserver_request_total{"), "{open}");
    let text = scraped("*/*");
    assert!(!text.contains("trace_id") && text.contains("# TYPE apiserver_request_total counter\n"), "{text}");
}
