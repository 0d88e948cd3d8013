//! Service account tokens from end to end: created with kubectl and by request, used, bound, reviewed, revoked. Guarantees that
//! a token ends with the object that it is bound to, at the next request and not after some time. Must never wait for an
//! expiration: that is tested next to the code.

use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint};
use crate::common::process::{Installation, Process};
use serde_json::{Value, json};
use std::process::Command;

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The real binary, and its administrator.
struct Fixture {
    installation: Installation,
    process: Process,
    endpoint: Endpoint,
    admin: Client,
}

impl Fixture {
    fn start(flags: &[&str]) -> Fixture {
        let installation = Installation::new();
        let process = installation.start_with(flags);
        let endpoint = process.endpoint();
        let mut admin = endpoint.client();
        admin.post(ACCOUNTS, &json!({"metadata": {"name": "robot"}})).expect_status(201);
        Fixture { installation, process, endpoint, admin }
    }

    /// A client with a token.
    fn client(&self, token: &str) -> Client {
        Endpoint { token: Some(token.to_owned()), ..self.endpoint.clone() }.client()
    }

    /// The response to a token request.
    fn request(&mut self, spec: Value) -> Value {
        let path = format!("{ACCOUNTS}/robot/token");
        self.admin.post(&path, &json!({"spec": spec})).answer().json()
    }

    fn token(&mut self, spec: Value) -> String {
        let answer = self.request(spec);
        answer["status"]["token"].as_str().unwrap_or_else(|| panic!("no token in {answer}")).to_owned()
    }

    /// Creates an object in the namespace default, or outside of namespaces.
    fn create(&mut self, plural: &str, object: Value) -> Value {
        let path = match plural {
            "nodes" => "/api/v1/nodes".to_owned(),
            "roles" | "rolebindings" => format!("/apis/rbac.authorization.k8s.io/v1/namespaces/default/{plural}"),
            plural => format!("/api/v1/namespaces/default/{plural}"),
        };
        self.admin.post(&path, &object).expect_status(201)
    }

    /// Lets the account list config maps in its namespace.
    fn allow_listing(&mut self) {
        let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]});
        self.create("roles", json!({"metadata": {"name": "lister"}, "rules": [rule]}));
        let binding = json!({
            "metadata": {"name": "robot"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lister"},
            "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}]
        });
        self.create("rolebindings", binding);
    }

    fn status_of(&self, token: &str) -> u16 {
        self.client(token).get(CONFIG_MAPS).answer().status
    }
}

#[test]
fn kubectl_makes_a_token_that_works_until_its_account_is_gone() {
    let mut fixture = Fixture::start(&[]);
    let token = match Command::new("kubectl")
        .args(["create", "token", "robot", "--duration", "10m"])
        .env("KUBECONFIG", fixture.installation.kubeconfig())
        .env("HOME", fixture.installation.scratch.path())
        .output()
    {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("text").trim().to_owned()
        }
        Err(_) => {
            assert!(std::env::var_os("CI").is_none(), "no kubectl on PATH");
            println!("SKIPPED: no kubectl on PATH");
            fixture.token(json!({}))
        }
    };
    assert_eq!(fixture.status_of(&token), 403);
    fixture.allow_listing();
    crate::common::wait_for("the binding", || (fixture.status_of(&token) == 200).then_some(()));
    fixture.admin.delete(&format!("{ACCOUNTS}/robot")).expect_status(200);
    assert_eq!(fixture.status_of(&token), 401);
    // Another account of the same name is another account.
    fixture.admin.post(ACCOUNTS, &json!({"metadata": {"name": "robot"}})).expect_status(201);
    assert_eq!(fixture.status_of(&token), 401);
}

#[test]
fn a_bound_token_names_its_object_and_ends_with_it() {
    let mut fixture = Fixture::start(&[]);
    fixture.create("nodes", json!({"metadata": {"name": "n"}}));
    let spec = json!({"serviceAccountName": "robot", "nodeName": "n", "containers": [{"name": "c", "image": "i"}]});
    let pod = fixture.create("pods", json!({"metadata": {"name": "p"}, "spec": spec}));
    let secret = fixture.create("secrets", json!({"metadata": {"name": "s"}}));
    let bound = |kind: &str, name: &str| json!({"boundObjectRef": {"kind": kind, "apiVersion": "v1", "name": name}});
    let of_pod = fixture.token(bound("Pod", "p"));
    let of_secret = fixture.token(bound("Secret", "s"));
    let of_node = fixture.token(bound("Node", "n"));
    let review = fixture.client(&of_pod).post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &json!({}));
    let review = review.expect_status(201);
    let extra = &review["status"]["userInfo"]["extra"];
    let reported = |key: &str| extra[format!("authentication.kubernetes.io/{key}")][0].as_str();
    assert_eq!((reported("pod-name"), reported("node-name")), (Some("p"), Some("n")));
    assert_eq!(reported("pod-uid"), pod["metadata"]["uid"].as_str());
    assert!(reported("credential-id").is_some_and(|id| id.starts_with("JTI=")), "{extra}");
    let rows = [
        (&of_secret, format!("/api/v1/namespaces/default/secrets/{}", crate::common::name(&secret))),
        (&of_pod, "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0".to_owned()),
        (&of_node, "/api/v1/nodes/n".to_owned()),
    ];
    for (token, path) in rows {
        assert_eq!(fixture.status_of(token), 403, "{path}");
        fixture.admin.delete(&path).expect_status(200);
        assert_eq!(fixture.status_of(token), 401, "{path}");
    }
}

#[test]
fn objects_that_tokens_can_be_bound_to() {
    let mut fixture = Fixture::start(&[]);
    let spec = json!({"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]});
    fixture.admin.post(ACCOUNTS, &json!({"metadata": {"name": "other"}})).expect_status(201);
    fixture.create("pods", json!({"metadata": {"name": "p"}, "spec": spec}));
    let other = json!({"serviceAccountName": "other", "containers": [{"name": "c", "image": "i"}]});
    fixture.create("pods", json!({"metadata": {"name": "o"}, "spec": other}));
    let rows = [
        (json!({"kind": "Pod", "name": "x"}), "pods \"x\" not found"),
        (json!({"kind": "Pod"}), "Name parameter required."),
        (
            json!({"kind": "Pod", "name": "o"}),
            "cannot bind token for serviceaccount \"robot\" to pod running with different serviceaccount name.",
        ),
        (
            json!({"kind": "Pod", "name": "p", "uid": "u"}),
            "Operation cannot be fulfilled on Pod \"p\": the UID in the bound object reference (u) does not match the UID \
             in record. The object might have been deleted and then recreated",
        ),
        (
            json!({"kind": "Deployment", "apiVersion": "apps/v1", "name": "d"}),
            "cannot bind token to object of type apps/v1, Kind=Deployment",
        ),
    ];
    for (reference, message) in rows {
        assert_eq!(fixture.request(json!({"boundObjectRef": reference}))["message"], message, "{reference}");
    }
}

#[test]
fn flags_name_keys_issuers_audiences_and_bounds() {
    let flags = [
        "--service-account-issuer=https://first.example",
        "--service-account-issuer=https://second.example",
        "--api-audiences=here,there",
        "--service-account-max-token-expiration=1h",
    ];
    let mut fixture = Fixture::start(&flags);
    let answer = fixture.request(json!({"expirationSeconds": 7200}));
    assert_eq!(answer["spec"]["audiences"], json!(["here", "there"]));
    assert_eq!(answer["spec"]["expirationSeconds"], 3600);
    let elsewhere = fixture.token(json!({"audiences": ["elsewhere"]}));
    assert_eq!(fixture.status_of(&elsewhere), 401);
    let review = |fixture: &mut Fixture, audiences: Value| {
        let spec = json!({"token": elsewhere, "audiences": audiences});
        let answer = fixture.admin.post("/apis/authentication.k8s.io/v1/tokenreviews", &json!({"spec": spec}));
        answer.expect_status(201)["status"].clone()
    };
    let known = review(&mut fixture, json!(["elsewhere", "here"]));
    assert_eq!((&known["authenticated"], &known["audiences"]), (&json!(true), &json!(["elsewhere"])));
    let unknown = review(&mut fixture, json!([]));
    assert_eq!(
        unknown["error"],
        "[invalid bearer token, token audiences [\"elsewhere\"] is invalid for the target audiences [\"here\" \"there\"]]"
    );
    let document = fixture.admin.get("/.well-known/openid-configuration").expect_status(200);
    assert_eq!(document["issuer"], "https://first.example");
    let jwks = fixture.admin.get("/openid/v1/jwks").expect_status(200);
    assert_eq!(jwks["keys"][0]["alg"], document["id_token_signing_alg_values_supported"][0]);
    // A server that is started again has the same key.
    let token = fixture.token(json!({}));
    fixture.process.kill();
    let process = fixture.installation.start();
    let first = Endpoint { token: Some(token), ..process.endpoint() };
    // It has the other issuer now, so it knows its own key and not the token.
    assert_eq!(first.client().get(CONFIG_MAPS).answer().status, 401);
    let again = process.endpoint().client().get("/openid/v1/jwks").expect_status(200);
    assert_eq!(again["keys"][0]["kid"], jwks["keys"][0]["kid"]);
}

#[test]
fn repeated_owners_of_a_request_for_a_token_count_once() {
    let mut fixture = Fixture::start(&[]);
    let owner = |name: &str, uid: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid});
    let rows = [
        (json!([owner("a", "1"), owner("a", "1")]), json!([owner("a", "1")])),
        (json!([owner("a", "1"), owner("b", "2"), owner("a", "1")]), json!([owner("a", "1"), owner("b", "2")])),
        (json!([owner("a", "1"), owner("b", "1")]), json!([owner("a", "1"), owner("b", "1")])),
    ];
    for (sent, kept) in rows {
        let body = json!({"metadata": {"ownerReferences": sent}, "spec": {}});
        let answer = fixture.admin.post(&format!("{ACCOUNTS}/robot/token"), &body).expect_status(201);
        assert_eq!(answer["metadata"]["ownerReferences"], kept, "{sent}");
    }
}
