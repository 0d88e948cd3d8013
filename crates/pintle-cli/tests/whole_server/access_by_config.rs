//! Two servers: one issues and reviews tokens and authorizes requests, the other is configured to use it. Guarantees that
//! tokens of an issuer, token webhooks and authorization webhooks work as configured, and that changed files take effect while
//! the server runs. Must never depend on timing: tests poll until the expected state.

use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint};
use crate::common::process::{Installation, Process, free_port, pintle, start};
use crate::common::wait_for;
use serde_json::{Value, json};

const REVIEW: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// The reviewing server: its service account tokens name it as their issuer, and everybody may fetch its keys.
struct Asked {
    installation: Installation,
    process: Process,
    issuer: String,
}

impl Asked {
    fn start() -> Asked {
        let installation = Installation::own();
        let issuer = format!("https://127.0.0.1:{}", free_port());
        let issued_by = format!("--service-account-issuer={issuer}");
        let process = installation.start_with(&["--storage=memory", "--external-hostname=127.0.0.1", &issued_by]);
        let asked = Asked { installation, process, issuer };
        let group = "/apis/rbac.authorization.k8s.io/v1";
        let binding = json!({
            "metadata": {"name": "keys"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:service-account-issuer-discovery"
            },
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:unauthenticated"}]
        });
        let mut client = asked.process.endpoint().client();
        let account = json!({"metadata": {"name": "default"}});
        let account = client.post("/api/v1/namespaces/default/serviceaccounts", &account).answer().status;
        // It may have been made already, by the server itself.
        assert!([201, 409].contains(&account), "{account}");
        client.post(&format!("{group}/clusterrolebindings"), &binding).expect_status(201);
        asked
    }

    fn url(&self) -> String {
        format!("https://{}", self.process.endpoint().address)
    }

    /// A token of a service account for an audience.
    fn token(&self, audience: &str) -> String {
        let request = json!({"spec": {"audiences": [audience], "expirationSeconds": 600}});
        let path = "/api/v1/namespaces/default/serviceaccounts/default/token";
        let answer = self.process.endpoint().client().post(path, &request).expect_status(201);
        answer["status"]["token"].as_str().expect("a token").to_owned()
    }

    /// Its kubeconfig, for a path.
    fn kubeconfig(&self, path: &str) -> String {
        let text = std::fs::read_to_string(self.installation.kubeconfig()).expect("a kubeconfig");
        text.replace(&format!("server: {}", self.url()), &format!("server: {}{path}", self.url()))
    }

    /// The authority of its certificate.
    fn authority(&self) -> String {
        let data = self.kubeconfig("");
        let line = data.lines().find_map(|line| line.trim().strip_prefix("certificate-authority-data: "));
        let bytes = pintle_schema::base64::decode(line.expect("an authority")).expect("base64");
        String::from_utf8(bytes).expect("PEM")
    }
}

fn with_token(process: &Process, token: &str) -> Client {
    Endpoint { token: Some(token.to_owned()), ..process.endpoint() }.client()
}

/// The user of a token according to the server; `None` if it is invalid.
fn who(process: &Process, token: &str) -> Option<Value> {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let answer = with_token(process, token).post(REVIEW, &review).answer();
    if answer.status == 401 {
        return None;
    }
    Some(answer.expect(201)["status"]["userInfo"].clone())
}

#[test]
fn tokens_of_an_issuer_and_of_a_changed_file() {
    let asked = Asked::start();
    let installation = Installation::own();
    let file = installation.path("authentication.yaml");
    let configuration_at = |path: &str, jwt: Value| {
        json!({
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration", "jwt": jwt,
            "anonymous": {"enabled": true, "conditions": [{"path": path}]}
        })
        .to_string()
    };
    let configuration = |jwt: Value| configuration_at("/livez", jwt);
    std::fs::write(&file, configuration(json!([]))).expect("written");
    let flag = format!("--authentication-config={}", file.display());
    let process = installation.start_with(&["--storage=memory", &flag]);
    let token = asked.token("audience");
    assert_eq!(who(&process, &token), None);
    let anonymous = |path: &str| {
        let endpoint = Endpoint { token: Some(String::new()), ..process.endpoint() };
        endpoint.client().get(path).answer().status
    };
    assert_eq!((anonymous("/livez"), anonymous("/readyz")), (200, 401));
    let jwt = json!([{
        "issuer": {
            "url": asked.issuer,
            "discoveryURL": format!("{}/.well-known/openid-configuration", asked.url()),
            "certificateAuthority": asked.authority(),
            "audiences": ["audience"]
        },
        "claimMappings": {
            "username": {"expression": "'issuer:' + claims.sub"},
            "groups": {"expression": "[claims.kubernetes__dot__io.namespace]"}
        },
        "claimValidationRules": [{"expression": "claims.exp - claims.iat <= 600"}]
    }]);
    // A file with a fault changes nothing.
    std::fs::write(&file, configuration(json!([{}]))).expect("written");
    wait_for("the fault is reported", || (process.errors().contains("issuer.url: Required value")).then_some(()));
    std::fs::write(&file, configuration(jwt)).expect("written");
    wait_for("the token is taken", || (who(&process, &token).is_some()).then_some(()));
    let user = who(&process, &token).expect("a user");
    assert_eq!(user["username"], "issuer:system:serviceaccount:default:default");
    assert_eq!(user["groups"], json!(["default", "system:authenticated"]));
    assert_eq!(who(&process, &asked.token("other")), None);
    assert_eq!(who(&process, "no.such.token"), None);
    std::fs::write(&file, configuration_at("/readyz", json!([]))).expect("written");
    wait_for("the paths of anonymous requests", || (anonymous("/readyz") == 200).then_some(()));
    wait_for("the issuer is gone", || who(&process, &token).is_none().then_some(()));
    assert_eq!(anonymous("/livez"), 401);
}

#[test]
fn another_server_reviews_tokens_and_requests() {
    let asked = Asked::start();
    let installation = Installation::own();
    let path = |name: &str| installation.path(name);
    std::fs::write(path("tokens.yaml"), asked.kubeconfig("/apis/authentication.k8s.io/v1/tokenreviews"))
        .expect("written");
    let reviews = asked.kubeconfig("/apis/authorization.k8s.io/v1/subjectaccessreviews");
    std::fs::write(path("reviews.yaml"), reviews).expect("written");
    let authorizers = |condition: &str| {
        json!({
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration", "authorizers": [{
                "type": "Webhook", "name": "asked", "webhook": {
                    "timeout": "3s", "subjectAccessReviewVersion": "v1", "failurePolicy": "Deny",
                    "matchConditionSubjectAccessReviewVersion": "v1",
                    "authorizedTTL": "1s", "unauthorizedTTL": "1s",
                    "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": path("reviews.yaml")},
                    "matchConditions": [{"expression": condition}]
                }
            }]
        })
        .to_string()
    };
    let is_account = "request.user.startsWith('system:serviceaccount:')";
    std::fs::write(path("authorization.yaml"), authorizers(is_account)).expect("written");
    // Without the modes that a usual start has.
    let command = |port: u16| {
        let mut command = pintle(installation.scratch.path());
        let port = format!("--secure-port={port}");
        command.args(["serve", "--bind-address=127.0.0.1", &port, "--storage=memory", "--data-dir=data"]);
        command.args(["--cert-dir=certs", "--api-audiences=audience", "--authentication-token-webhook-version=v1"]);
        command.arg(format!("--authentication-token-webhook-config-file={}", path("tokens.yaml").display()));
        command.arg(format!("--authorization-config={}", path("authorization.yaml").display()));
        command
    };
    let process = start(command, &path("certs"));
    // A user of the asked server, known here by the review alone.
    let token = asked.token("audience");
    assert_eq!(with_token(&process, &token).get("/api/v1/pods").answer().status, 403);
    let mut admin = asked.process.endpoint().client();
    let group = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({
        "metadata": {"name": "pods"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    });
    admin.post(&format!("{group}/clusterroles"), &role).expect_status(201);
    let binding = json!({
        "metadata": {"name": "pods"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "pods"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}]
    });
    admin.post(&format!("{group}/clusterrolebindings"), &binding).expect_status(201);
    let list = || with_token(&process, &token).get("/api/v1/pods").answer().status;
    wait_for("the role is known", || (list() == 200).then_some(()));
    // The condition decides who is asked about.
    std::fs::write(path("authorization.yaml"), authorizers("request.user == 'nobody'")).expect("written");
    wait_for("the file is taken over", || (list() == 403).then_some(()));
    assert_eq!(who(&process, "unknown"), None);
}

#[test]
fn static_tokens_are_followed() {
    let installation = Installation::own();
    let file = installation.path("followed.csv");
    std::fs::write(&file, "first,jane,1\n").expect("written");
    let flag = format!("--token-auth-file={}", file.display());
    let process = installation.start_with(&["--storage=memory", &flag]);
    assert!(who(&process, "first").is_some() && who(&process, "second").is_none());
    std::fs::write(&file, "second,joe,2\n").expect("written");
    wait_for("the second token is known", || (who(&process, "second").is_some()).then_some(()));
    assert_eq!(who(&process, "first"), None);
}

#[test]
fn policies_are_followed() {
    let installation = Installation::own();
    let file = installation.path("policies.jsonl");
    let policy = |user: &str| {
        json!({
            "apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy",
            "spec": {"user": user, "namespace": "*", "resource": "configmaps", "apiGroup": "*", "readonly": true}
        })
        .to_string()
    };
    std::fs::write(&file, policy("somebody")).expect("written");
    let flag = format!("--authorization-policy-file={}", file.display());
    let process = installation.start_with(&["--storage=memory", "--authorization-mode=ABAC", &flag]);
    let list = || {
        let mut client = with_token(&process, crate::common::process::NOBODY_TOKEN);
        client.get("/api/v1/namespaces/default/configmaps").answer().status
    };
    assert_eq!(list(), 403);
    // A file with a fault changes nothing.
    std::fs::write(&file, "[]").expect("written");
    wait_for("the fault is reported", || (process.errors().contains("file of policies")).then_some(()));
    std::fs::write(&file, policy("nobody")).expect("written");
    wait_for("the policy counts", || (list() == 200).then_some(()));
    std::fs::write(&file, policy("somebody")).expect("written");
    wait_for("the policy is gone", || (list() == 403).then_some(()));
}
