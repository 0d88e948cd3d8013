use super::*;
use crate::TokenReviews;
use bytes::Bytes;
use http::{Request, Response};
use pintle_auth::authentication::{AuthenticationRequest, Authenticator};
use pintle_codec::Strictness;
use pintle_webhook::{Address, Clients, Credentials, InProcess, Settings, TlsSettings};
use std::sync::{Arc, Mutex};

/// A webhook in this process: the reviews that it got, and its responses.
#[derive(Clone, Default)]
struct Backend {
    sent: Arc<Mutex<Vec<String>>>,
    answer: Arc<Mutex<(u16, String)>>,
}

impl Backend {
    fn answers(&self, code: u16, body: &str) {
        *self.answer.lock().expect("unlocked") = (code, body.to_owned());
    }

    fn sent(&self) -> Vec<String> {
        std::mem::take(&mut *self.sent.lock().expect("unlocked"))
    }

    fn posted(&self, version: ReviewVersion) -> ReviewClient {
        let clients = Clients::default();
        let own = self.clone();
        let url = clients.register(
            "test",
            InProcess::new(move |request: Request<Bytes>| {
                let body = String::from_utf8_lossy(request.body()).into_owned();
                own.sent.lock().expect("unlocked").push(body);
                let (code, body) = own.answer.lock().expect("unlocked").clone();
                let response =
                    Response::builder().status(code).header("content-type", "application/json").body(body.into());
                async move { response.expect("a response") }
            }),
        );
        let (tls, credentials) = (TlsSettings::default(), Credentials::default());
        let settings = Settings { address: Address::Url(url), tls, credentials, user_agent: "test".to_owned() };
        ReviewClient::new(clients.client(settings).expect("a client"), version, Duration::from_secs(2))
    }

    fn reviews(&self, on_failure: OnFailure, conditions: &[&str]) -> AccessReviews {
        let conditions = conditions.iter().map(|text| Condition::compile(text).expect("a condition")).collect();
        let times = CacheTimes { allowed: Duration::from_secs(60), others: Duration::ZERO };
        AccessReviews::new(AccessReviewConfig { posted: self.posted(ReviewVersion::V1), times, on_failure, conditions })
    }
}

fn jane() -> UserInfo {
    UserInfo {
        name: "jane".into(),
        uid: "1".into(),
        groups: vec!["g".into()],
        extra: vec![("k".into(), vec!["v".into()])],
    }
}

/// A decision in one line.
fn shown(decision: &Decision) -> String {
    let word = match decision {
        Decision::Allow(_) => "allow",
        Decision::Deny(_) => "deny",
        Decision::NoOpinion(_) => "no opinion",
    };
    let error = decision.error().map(ToString::to_string).unwrap_or_default();
    format!("{word}: {}: {error}", decision.reason(&jane()))
}

async fn decide(reviews: &AccessReviews, attributes: &Attributes<'_>) -> String {
    shown(&reviews.authorize(attributes).get().await)
}

#[tokio::test(start_paused = true)]
async fn decisions_of_answers() {
    let backend = Backend::default();
    let user = jane();
    let review = |status: &str| {
        format!(r#"{{"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": {status}}}"#)
    };
    let rows = [
        (200, review(r#"{"allowed": true, "reason": "a"}"#), "allow: a: ", 1),
        (200, review(r#"{"allowed": false, "reason": "b"}"#), "no opinion: b: ", 1),
        (200, review(r#"{"denied": true}"#), "deny: : ", 1),
        (
            200,
            review(r#"{"allowed": true, "denied": true, "reason": "c"}"#),
            "deny: c: webhook subject access review returned both allow and deny response",
            1,
        ),
        (200, r#"{"status": {"allowed": true}}"#.to_owned(), "allow: : ", 1),
        (
            200,
            "{nope".to_owned(),
            "no opinion: : couldn't get version/kind; json parse error: invalid character 'n' looking for beginning of \
             object key string",
            1,
        ),
        (
            200,
            review("{}").replace("/v1", "/v1beta1"),
            "no opinion: : converting (v1beta1.SubjectAccessReview) to (v1.SubjectAccessReview): unknown conversion",
            1,
        ),
        (
            200,
            review("{}").replace("SubjectAccessReview", "Foo"),
            "no opinion: : no kind \"Foo\" is registered for version \"authorization.k8s.io/v1\" in scheme \
             \"k8s.io/client-go/kubernetes/scheme/register.go:82\"",
            1,
        ),
        (
            200,
            "<html>".to_owned(),
            "no opinion: : couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type \
             struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
             \"json:\\\"kind,omitempty\\\"\" }",
            1,
        ),
        (404, String::new(), "no opinion: : the server could not find the requested resource", 1),
        (
            500,
            String::new(),
            "no opinion: : an error on the server (\"unknown\") has prevented the request from succeeding",
            5,
        ),
    ];
    for (code, body, expected, calls) in rows {
        backend.answers(code, &body);
        let attributes = Attributes { namespace: "ns", ..Attributes::resource(&user, "get", "", "pods") };
        let reviews = backend.reviews(OnFailure::NoOpinion, &[]);
        assert_eq!(decide(&reviews, &attributes).await, expected, "{body}");
        assert_eq!(backend.sent().len(), calls, "{body}");
        let failing = backend.reviews(OnFailure::Deny, &[]);
        assert_eq!(
            decide(&failing, &attributes).await,
            expected.replacen("no opinion: :", "deny: :", usize::from(expected.len() > 15))
        );
        backend.sent();
    }
}

#[tokio::test]
async fn reviews_contain_the_attributes_of_the_request() {
    let backend = Backend::default();
    backend.answers(200, "{}");
    let (user, nobody) = (jane(), UserInfo::default());
    let fields = FieldSelector::parse("metadata.name=a,b!=c").expect("a selector");
    let who = r#""user":"jane","groups":["g"],"extra":{"k":["v"]},"uid":"1""#;
    let resource = Attributes::resource(&user, "list", "apps", "deployments");
    let rows = [
        (
            Attributes { api_version: "v1", namespace: "ns", field_selector: Some(&fields), ..resource },
            format!(
                r#""resourceAttributes":{{"namespace":"ns","verb":"list","group":"apps","version":"v1","resource":"deployments","fieldSelector":{{"requirements":[{{"key":"b","operator":"NotIn","values":["c"]}},{{"key":"metadata.name","operator":"In","values":["a"]}}]}}}},{who}"#
            ),
        ),
        (
            Attributes { label_selector: Some(Labels::Text("a=b,!c,d>5")), ..resource },
            format!(
                r#""resourceAttributes":{{"verb":"list","group":"apps","resource":"deployments","labelSelector":{{"requirements":[{{"key":"a","operator":"In","values":["b"]}},{{"key":"c","operator":"DoesNotExist"}}]}}}},{who}"#
            ),
        ),
        (
            Attributes { label_selector: Some(Labels::Text("a>5")), ..resource },
            format!(r#""resourceAttributes":{{"verb":"list","group":"apps","resource":"deployments"}},{who}"#),
        ),
        (
            Attributes { label_selector: Some(Labels::Text("=,")), ..resource },
            format!(r#""resourceAttributes":{{"verb":"list","group":"apps","resource":"deployments"}},{who}"#),
        ),
        (
            Attributes::non_resource(&nobody, "get", "/version"),
            r#""nonResourceAttributes":{"path":"/version","verb":"get"}"#.to_owned(),
        ),
    ];
    let reviews = backend.reviews(OnFailure::NoOpinion, &[]);
    for (attributes, spec) in rows {
        decide(&reviews, &attributes).await;
        let head = r#"{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{"#;
        assert_eq!(backend.sent(), [format!(r#"{head}{spec}}},"status":{{"allowed":false}}}}"#)]);
    }
}

#[tokio::test]
async fn answers_are_kept_unless_the_request_is_long() {
    let backend = Backend::default();
    backend.answers(200, r#"{"status": {"allowed": true}}"#);
    let reviews = backend.reviews(OnFailure::NoOpinion, &[]);
    let (user, long) = (jane(), "x".repeat(MAX_KEPT_TEXT));
    for (name, calls) in [("a", 1), ("a", 0), ("b", 1), (&long, 1), (&long, 1)] {
        let attributes = Attributes { name, ..Attributes::resource(&user, "get", "", "pods") };
        assert_eq!(decide(&reviews, &attributes).await, "allow: : ");
        assert_eq!(backend.sent().len(), calls);
    }
    // Others are not cached, as configured.
    backend.answers(200, "{}");
    for _ in 0..2 {
        let attributes = Attributes { name: "c", ..Attributes::resource(&user, "get", "", "pods") };
        assert_eq!(decide(&reviews, &attributes).await, "no opinion: : ");
        assert_eq!(backend.sent().len(), 1);
    }
}

#[tokio::test]
async fn conditions_say_which_requests_are_reviewed() {
    let backend = Backend::default();
    backend.answers(200, r#"{"status": {"allowed": true}}"#);
    let user = jane();
    let fails = "request.groups[9] == 'x'";
    let error = "cel evaluation error: expression 'request.groups[9] == 'x'' resulted in error: index out of bounds: 9";
    let is_namespaced = "has(request.resourceAttributes) && request.resourceAttributes.namespace != ''";
    let selects = "request.resourceAttributes.labelSelector.requirements.exists(r, r.key == 'a' && r.values == ['b'])";
    let rows: [(&[&str], String); 6] = [
        (&["request.user == 'jane'", "request.extra['k'] == ['v'] && request.uid == '1'"], "allow: : ".to_owned()),
        (&[is_namespaced], "no opinion: : ".to_owned()),
        (&["has(request.resourceAttributes.fieldSelector)"], "no opinion: : ".to_owned()),
        (&[selects], "allow: : ".to_owned()),
        (&[fails, "false"], "no opinion: : ".to_owned()),
        (&[fails, "true"], format!("deny: : {error}")),
    ];
    for (conditions, expected) in rows {
        let reviews = backend.reviews(OnFailure::Deny, conditions);
        let selector = Some(Labels::Text("a=b"));
        let attributes = Attributes { label_selector: selector, ..Attributes::resource(&user, "list", "", "pods") };
        assert_eq!(decide(&reviews, &attributes).await, expected, "{conditions:?}");
        assert_eq!(backend.sent().len(), usize::from(expected.starts_with("allow")), "{conditions:?}");
    }
    let refused = |text: &str| Condition::compile(text).expect_err("refused").to_string();
    assert_eq!(refused("request.user"), "must evaluate to bool but got string");
    assert!(refused("request.nothing == 1").contains("undefined field 'nothing'"));
}

#[tokio::test(start_paused = true)]
async fn tokens_are_reviewed() {
    let backend = Backend::default();
    let own = [Str::from("api")];
    let user = r#""user": {"username": "jane", "uid": "1", "groups": ["g"], "extra": {"k": ["v"]}}"#;
    let review = |status: &str| {
        format!(r#"{{"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "status": {{{status}}}}}"#)
    };
    let found = Ok(Some("jane 1 g,system:authenticated [(\"k\", [\"v\"])] api".to_owned()));
    let rows = [
        (200, review(&format!(r#""authenticated": true, {user}"#)), found.clone()),
        (200, review(&format!(r#""authenticated": true, {user}, "audiences": ["other", "api"]"#)), found),
        (200, review(&format!(r#""authenticated": true, {user}, "audiences": ["other"]"#)), Ok(None)),
        (200, review(r#""authenticated": false"#), Ok(None)),
        (200, review(r#""error": "why""#), Err("why".to_owned())),
        (
            200,
            review(r#""user": {"username": 5}"#),
            Err("json: cannot unmarshal number into Go struct field UserInfo.status.user.username of type string"
                .into()),
        ),
        (200, review(r#""authenticated": true"#), Ok(Some("  system:authenticated [] api".to_owned()))),
        (401, review(""), Err("the server has asked for the client to provide credentials".to_owned())),
    ];
    for (code, body, expected) in rows {
        backend.answers(code, &body);
        let reviews = TokenReviews::new(backend.posted(ReviewVersion::V1), own.to_vec());
        let headers = http::HeaderMap::new();
        let request = AuthenticationRequest {
            bearer_token: Some(b"secret"),
            audiences: &own,
            ..AuthenticationRequest::new(&headers, std::time::SystemTime::UNIX_EPOCH)
        };
        let identity = reviews.authenticate(&request).get().await;
        let shown = identity.map(|identity| {
            identity.map(|identity| {
                let user = &identity.user;
                format!(
                    "{} {} {} {:?} {}",
                    user.name,
                    user.uid,
                    user.groups.join(","),
                    user.extra,
                    identity.audiences.join(",")
                )
            })
        });
        assert_eq!(shown.map_err(|error| error.to_string()), expected, "{body}");
        let sent = backend.sent();
        let sent = json::parse(sent[0].as_bytes(), Strictness::Ignore).expect("JSON").value;
        assert_eq!(sent.get("spec"), Some(&value!({"token": "secret", "audiences": ["api"]})));
        assert_eq!(sent.at(&["status", "user"]), Some(&Value::map()));
    }
}
