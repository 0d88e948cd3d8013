//! Authenticators and authorizers of an embedder that have to wait. Guarantees that an allowed, a denied, an undecided and a
//! failed request get kube-apiserver's responses, wherever a request needs a decision. Must never depend on timing: a wait
//! yields once.

use crate::common::fixture::Fixture;
use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint};
use pintle::Builder;
use pintle_auth::authorization::{AuthorizationError, Reason, Refusal, UserRules};
use pintle_auth::{
    Attributes, AuthenticationError, AuthenticationRequest, Authenticator, Authorizer, Decision, Identity,
    NamedAuthorizer, UserInfo,
};
use pintle_resource::MaybeReady;
use serde_json::{Value, json};
use std::sync::Arc;

/// Knows the token of one user, rejects one token with a reason, and never returns for another.
struct Directory;

impl Authenticator for Directory {
    fn authenticate<'a>(
        &'a self,
        request: &'a AuthenticationRequest<'a>,
    ) -> MaybeReady<'a, Result<Option<Identity>, AuthenticationError>> {
        MaybeReady::wait(async move {
            tokio::task::yield_now().await;
            match request.bearer_token {
                Some(b"alice-token") => {
                    let user = UserInfo { name: "alice".into(), ..UserInfo::default() };
                    Ok(Some(Identity::of(Arc::new(user.authenticated()))))
                }
                Some(b"silent-token") => std::future::pending().await,
                Some(b"old-token") => Err(AuthenticationError::refused("the token is revoked")),
                _ => Ok(None),
            }
        })
    }
}

/// Never returns for events, denies secrets, fails on nodes and the root of groups, and allows everything else except creating
/// config maps and binding.
struct Policy;

impl Authorizer for Policy {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> MaybeReady<'a, Decision> {
        MaybeReady::wait(async move {
            tokio::task::yield_now().await;
            match (attributes.verb, attributes.resource, attributes.path) {
                (_, "events", _) | (_, _, "/silent") => std::future::pending().await,
                (_, "secrets", _) => Decision::Deny(Refusal { reason: "no secrets".to_owned(), error: None }),
                (_, "nodes", _) | (_, _, "/apis") => Decision::NoOpinion(Refusal {
                    reason: String::new(),
                    error: Some(AuthorizationError("the policy is away".to_owned())),
                }),
                ("create", "configmaps", _) | ("bind", ..) => Decision::no_opinion("only with a role"),
                _ => Decision::Allow(Reason::Text("by the policy".into())),
            }
        })
    }

    fn rules_for<'a>(&'a self, _: &'a UserInfo, _: &'a str) -> MaybeReady<'a, UserRules> {
        MaybeReady::wait(async { UserRules::incomplete("the policy has no list of rules") })
    }
}

fn server() -> Fixture {
    Fixture::empty(|builder: &mut Builder| {
        builder.generic().add_authenticator(Arc::new(Directory));
        builder.authorize_by(&[]);
        let policy: Arc<dyn Authorizer> = Arc::new(Policy);
        builder.generic().add_authorizer(NamedAuthorizer::new("Webhook", "policy", policy));
    })
}

fn client(fixture: &Fixture, token: &str) -> Client {
    Endpoint { token: Some(token.to_owned()), ..fixture.endpoint.clone() }.client()
}

#[test]
fn requests_wait_for_their_user_and_their_decision() {
    let fixture = server();
    let config_maps = "/api/v1/namespaces/default/configmaps";
    // (token, path, status, message or text)
    let forbidden_secrets = "secrets is forbidden: User \"alice\" cannot list resource \"secrets\" in API group \"\" in the \
                             namespace \"default\": no secrets";
    for (token, path, status, message) in [
        ("alice-token", config_maps, 200, ""),
        ("other-token", config_maps, 401, "Unauthorized"),
        ("old-token", config_maps, 401, "Unauthorized"),
        ("alice-token", "/version", 200, ""),
        ("alice-token", "/api/v1/namespaces/default/secrets", 403, forbidden_secrets),
        (
            "alice-token",
            "/api/v1/nodes?limit=1",
            500,
            "Internal Server Error: \"/api/v1/nodes?limit=1\": the policy is away\n",
        ),
        ("alice-token", "/apis", 500, "Internal Server Error: \"/apis\": the policy is away\n"),
    ] {
        let answer = client(&fixture, token).get(path).answer();
        assert_eq!(answer.status, status, "{token} {path}: {}", answer.text());
        let found = match serde_json::from_str::<Value>(&answer.text()) {
            Ok(object) => object["message"].as_str().unwrap_or_default().to_owned(),
            Err(_) => answer.text(),
        };
        assert_eq!(found, message, "{token} {path}");
    }
    let metrics = client(&fixture, "alice-token").get("/metrics").answer().text();
    for line in [
        "apiserver_authorization_decisions_total{decision=\"denied\",name=\"policy\",type=\"Webhook\"} 1",
        "authorization_attempts_total{result=\"denied\"} 1",
        "authorization_attempts_total{result=\"error\"} 2",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in {metrics}");
    }
}

#[test]
fn a_hanging_authorizer_holds_a_request_until_its_timeout() {
    let fixture = server();
    let config_maps = "/api/v1/namespaces/default/configmaps";
    let events = "/api/v1/namespaces/default/events";
    for (token, path) in [
        ("silent-token", config_maps),
        ("alice-token", events),
        ("alice-token", "/silent"),
        ("silent-token", "/version"),
    ] {
        let answer = client(&fixture, token).get(&format!("{path}?timeout=1s")).answer();
        assert_eq!(answer.expect(504)["reason"], "Timeout", "{token} {path}");
        assert_eq!(client(&fixture, "alice-token").get(config_maps).answer().status, 200, "others are served");
    }
}

#[test]
fn an_update_waits_for_the_right_to_create() {
    let fixture = server();
    let mut client = client(&fixture, "alice-token");
    let path = "/api/v1/namespaces/default/configmaps/a";
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}).to_string();
    let refused =
        client.send("PATCH", &format!("{path}?fieldManager=m"), "application/apply-patch+yaml", object.as_bytes());
    let message = "configmaps \"a\" is forbidden: User \"alice\" cannot create resource \"configmaps\" in API group \"\" in \
                   the namespace \"default\": only with a role";
    assert_eq!(refused.expect_status(403)["message"], message);
    // Whether the object is valid, and its namespace exists, is found out first.
    let invalid = object.replace("\"metadata\"", "\"data\":{\"a b\":\"\"},\"metadata\"");
    let elsewhere = path.replace("default", "nowhere");
    for (path, object, status) in [(path, invalid, 422), (elsewhere.as_str(), object, 404)] {
        let path = format!("{path}?fieldManager=m");
        let refused = client.send("PATCH", &path, "application/apply-patch+yaml", object.as_bytes());
        refused.expect_status(status);
    }
}

#[test]
fn admission_waits_for_the_rights_of_the_writer() {
    let fixture = server();
    let mut client = client(&fixture, "alice-token");
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let rules = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]);
    // Alice does not have the rule, but the policy allows her to escalate.
    let role = json!({"metadata": {"name": "r"}, "rules": rules});
    client.post(&format!("{path}/roles"), &role).expect_status(201);
    let role_ref = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"});
    let binding = json!({"metadata": {"name": "b"}, "roleRef": role_ref, "subjects": []});
    let refused = client.post(&format!("{path}/rolebindings"), &binding).expect_status(403);
    let message = refused["message"].as_str().expect("a message");
    assert!(message.contains("is attempting to grant RBAC permissions not currently held"), "{message}");
}

#[test]
fn reviews_wait_and_tell_what_the_authorizer_says() {
    let fixture = server();
    let mut client = client(&fixture, "alice-token");
    let mut review = |kind: &str, spec: Value| {
        let path = format!("/apis/authorization.k8s.io/v1/{}s", kind.to_lowercase());
        client.post(&path, &json!({"spec": spec})).expect_status(201)["status"].clone()
    };
    let mut access = |resource: &str| {
        review("SelfSubjectAccessReview", json!({"resourceAttributes": {"verb": "get", "resource": resource}}))
    };
    assert_eq!(access("pods"), json!({"allowed": true, "reason": "by the policy"}));
    assert_eq!(access("secrets"), json!({"allowed": false, "denied": true, "reason": "no secrets"}));
    assert_eq!(access("nodes"), json!({"allowed": false, "evaluationError": "the policy is away"}));
    let rules = review("SelfSubjectRulesReview", json!({"namespace": "default"}));
    assert_eq!(rules["incomplete"], true);
    assert_eq!(rules["evaluationError"], "the policy has no list of rules");
}

#[test]
fn token_reviews_wait_and_show_the_error() {
    let fixture = server();
    let mut client = client(&fixture, "alice-token");
    let mut review = |token: &str| {
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        client.post(path, &json!({"spec": {"token": token}})).expect_status(201)["status"].clone()
    };
    assert_eq!(review("alice-token")["user"]["username"], "alice");
    assert_eq!(review("old-token"), json!({"error": "[invalid bearer token, the token is revoked]", "user": {}}));
    assert_eq!(review("other-token"), json!({"error": "invalid bearer token", "user": {}}));
}
