//! ImagePolicyWebhook of a whole server, with a closure of the process as its webhook.
//! Guarantees what the webhook is asked, what clients read, and how often it is asked.
//! Must never depend on a timeout: the closure decides when a call ends.

use crate::common::fixture::Fixture;
use crate::common::http::Answered;
use bytes::Bytes;
use http::Response;
use pintle_plugins::configuration::ImagePolicy;
use pintle_reviews::{ReviewClient, ReviewVersion};
use pintle_webhook::{Address, Backoff, Credentials, InProcess, Settings, TlsSettings};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PODS: &str = "/api/v1/namespaces/default/pods";

/// The reviews that the webhook was sent.
type Sent = Arc<Mutex<Vec<Value>>>;

/// A server whose webhook rejects images by their names: `bad` with a reason, `worse` without one, and `broken` is an error.
fn server(default_allow: bool) -> (Fixture, Sent) {
    let sent = Sent::default();
    let log = sent.clone();
    let fixture = Fixture::empty(move |builder| {
        let webhook = InProcess::new(move |request: http::Request<Bytes>| {
            let review: Value = serde_json::from_slice(request.body()).unwrap_or_default();
            let image = review["spec"]["containers"][0]["image"].as_str().unwrap_or_default().to_owned();
            log.lock().expect("unlocked").push(review);
            let status = match image.as_str() {
                "bad" => json!({"allowed": false, "reason": "not signed", "auditAnnotations": {"k": "v"}}),
                "worse" => json!({"allowed": false}),
                _ => json!({"allowed": true}),
            };
            let review = json!({"apiVersion": "imagepolicy.k8s.io/v1alpha1", "kind": "ImageReview", "status": status});
            let (code, body) = match image.as_str() {
                "broken" => (500, "broken".to_owned()),
                _ => (200, review.to_string()),
            };
            let answer = Response::builder().status(code).header("content-type", "application/json");
            let answer = answer.body(Bytes::from(body));
            async move { answer.expect("an answer") }
        });
        let clients = builder.webhooks();
        let address = Address::Url(clients.register("images", webhook));
        let (tls, credentials) = (TlsSettings::default(), Credentials::default());
        let client = clients.client(Settings { address, tls, credentials, user_agent: "test".to_owned() });
        let mut posted = ReviewClient::new(client.expect("a client"), ReviewVersion::V1alpha1, Duration::from_secs(30));
        posted.backoff = Backoff::starting_with(Duration::from_millis(1));
        let hour = Duration::from_secs(3600);
        builder.admission().configuration.image_policy = Some(ImagePolicy::new(posted, hour, hour, default_allow));
        builder.admission().enabled = vec!["ImagePolicyWebhook".to_owned()];
        builder.admission().disabled = vec!["ServiceAccount".to_owned()];
    });
    (fixture, sent)
}

fn pod(name: &str, images: &[&str]) -> Value {
    let containers = |images: &[&str]| -> Vec<Value> {
        images.iter().enumerate().map(|(at, image)| json!({"name": format!("c{at}-{image}"), "image": image})).collect()
    };
    let annotations = json!({"x.image-policy.k8s.io/ticket": "5", "other": "y"});
    json!({"metadata": {"name": name, "annotations": annotations}, "spec": {
        "containers": containers(&images[..1]), "initContainers": containers(&images[1..])}})
}

#[test]
fn the_webhook_decides_about_images() {
    let (fixture, sent) = server(false);
    let mut client = fixture.client();
    let taken = || std::mem::take(&mut *sent.lock().expect("unlocked"));
    client.post(PODS, &pod("a", &["one", "init"])).expect_status(201);
    let review = json!({
        "kind": "ImageReview", "apiVersion": "imagepolicy.k8s.io/v1alpha1", "metadata": {},
        "spec": {
            "containers": [{"image": "one"}, {"image": "init"}],
            "annotations": {"x.image-policy.k8s.io/ticket": "5"},
            "namespace": "default",
        },
        "status": {"allowed": false},
    });
    assert_eq!(taken(), [review]);
    let rows = [
        ("bad", 1, "image policy webhook backend denied one or more images: not signed"),
        ("worse", 1, "one or more images rejected by webhook backend"),
        ("broken", 5, "an error on the server (\"unknown\") has prevented the request from succeeding"),
    ];
    for (image, calls, why) in rows {
        let refused = client.post(PODS, &pod("b", &[image])).expect_status(403);
        assert_eq!(refused["message"], format!("pods \"b\" is forbidden: {why}"));
        assert_eq!(taken().len(), calls, "{image}");
    }
    // Reviews are kept, failures are not.
    client.post(PODS, &pod("c", &["one", "init"])).expect_status(201);
    client.post(PODS, &pod("d", &["bad"])).expect_status(403);
    assert_eq!(taken(), [] as [Value; 0]);
    client.post(PODS, &pod("d", &["broken"])).expect_status(403);
    assert_eq!(taken().len(), 5);
    // Other resources are none of its business.
    client
        .post(
            "/api/v1/namespaces/default/podtemplates",
            &json!({"metadata": {"name": "t"}, "template": pod("", &["bad"])}),
        )
        .expect_status(201);
    assert_eq!(taken(), [] as [Value; 0]);
}

#[test]
fn a_failure_may_admit_pods() {
    let (fixture, sent) = server(true);
    let mut client = fixture.client();
    const FAILED_OPEN: &str = "alpha.image-policy.k8s.io/failed-open";
    let admitted = client.post(PODS, &pod("a", &["broken"])).expect_status(201);
    assert_eq!(admitted["metadata"]["annotations"][FAILED_OPEN], "true");
    assert_eq!(admitted["metadata"]["annotations"]["other"], "y");
    assert_eq!(sent.lock().expect("unlocked").len(), 5);
    let reviewed = client.post(PODS, &pod("b", &["one"])).expect_status(201);
    assert_eq!(reviewed["metadata"]["annotations"].get(FAILED_OPEN), None);
    // An update is reviewed like a creation.
    let mut changed = reviewed;
    changed["spec"]["containers"][0]["image"] = json!("broken");
    let path = format!("{PODS}/b");
    let updated = client.put(&path, &changed).expect_status(200);
    assert_eq!(updated["metadata"]["annotations"][FAILED_OPEN], "true");
    assert_eq!(client.get(&path).expect_status(200)["metadata"]["annotations"][FAILED_OPEN], "true");
    client.post(PODS, &pod("c", &["bad"])).expect_status(403);
}
