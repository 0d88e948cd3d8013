//! Changes of roles and bindings: they take effect in their own scope only. And permissions that a write needs besides
//! its own verb.

use crate::common::http::Answered;
use crate::common::http::{Answer, Client, Endpoint, MERGE_PATCH};
use crate::common::process::{Installation, NOBODY_TOKEN};
use crate::common::wait_for;
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

struct Reviews(Client);

impl Reviews {
    fn may_read(&mut self, plural: &str, namespace: &str) -> bool {
        let attributes = json!({"namespace": namespace, "verb": "get", "resource": plural});
        let review = json!({"spec": {"user": "somebody", "resourceAttributes": attributes}});
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer = self.0.post(path, &review).expect_status(201);
        answer["status"]["allowed"].as_bool().expect("a verdict")
    }

    /// In the namespaces `default` and `other`, and outside of both.
    fn verdicts(&mut self, plural: &str) -> [bool; 3] {
        ["default", "other", ""].map(|namespace| self.may_read(plural, namespace))
    }

    fn until(&mut self, plural: &str, expected: [bool; 3]) {
        wait_for(&format!("{plural}: {expected:?}"), || (self.verdicts(plural) == expected).then_some(()));
    }

    fn create(&mut self, scope: &str, plural: &str, object: Value) {
        self.0.post(&format!("{RBAC}{scope}/{plural}"), &object).expect_status(201);
    }

    fn delete(&mut self, path: &str) {
        self.0.delete(&format!("{RBAC}{path}")).expect_status(200);
    }
}

fn role(name: &str, resources: &[&str]) -> Value {
    json!({"metadata": {"name": name}, "rules": [{"apiGroups": [""], "resources": resources, "verbs": ["get"]}]})
}

fn binding(name: &str, kind: &str) -> Value {
    let subject = json!({"kind": "User", "name": "somebody", "apiGroup": "rbac.authorization.k8s.io"});
    let role = json!({"kind": kind, "name": "reader", "apiGroup": "rbac.authorization.k8s.io"});
    json!({"metadata": {"name": name}, "subjects": [subject], "roleRef": role})
}

#[test]
fn changed_roles_take_effect_in_their_scope() {
    let installation = Installation::new();
    let process = installation.start();
    let mut reviews = Reviews(process.endpoint().client());
    let other = json!({"metadata": {"name": "other"}});
    reviews.0.post("/api/v1/namespaces", &other).expect_status(201);
    assert_eq!(reviews.verdicts("pods"), [false; 3]);
    for (namespace, resource) in [("default", "pods"), ("other", "services")] {
        let scope = format!("/namespaces/{namespace}");
        reviews.create(&scope, "roles", role("reader", &[resource]));
        reviews.create(&scope, "rolebindings", binding("reads", "Role"));
    }
    reviews.until("pods", [true, false, false]);
    reviews.until("services", [false, true, false]);
    // A role of the cluster, bound in one namespace and then everywhere.
    reviews.create("", "clusterroles", role("reader", &["nodes"]));
    reviews.create("/namespaces/other", "rolebindings", binding("reads-more", "ClusterRole"));
    reviews.until("nodes", [false, true, false]);
    reviews.create("", "clusterrolebindings", binding("reads", "ClusterRole"));
    reviews.until("nodes", [true; 3]);
    let wider = role("reader", &["pods", "secrets"]);
    reviews.0.put(&format!("{RBAC}/namespaces/default/roles/reader"), &wider).expect_status(200);
    reviews.until("secrets", [true, false, false]);
    reviews.delete("/clusterrolebindings/reads");
    reviews.until("nodes", [false, true, false]);
    reviews.delete("/namespaces/other/rolebindings/reads");
    reviews.until("services", [false; 3]);
    assert_eq!(reviews.verdicts("pods"), [true, false, false]);
    assert_eq!(reviews.verdicts("nodes"), [false, true, false]);
    reviews.delete("/namespaces/default/roles/reader");
    reviews.until("pods", [false; 3]);
}

#[test]
fn device_status_of_claims_needs_the_right_to_bind() {
    let installation = Installation::new();
    let process = installation.start();
    let mut admin = process.endpoint().client();
    let mut nobody = Endpoint { token: Some(NOBODY_TOKEN.to_owned()), ..process.endpoint() }.client();
    let claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
    let requests = json!([{"name": "r", "exactly": {"deviceClassName": "c"}}]);
    let claim = json!({"metadata": {"name": "a"}, "spec": {"devices": {"requests": requests}}});
    admin.post(claims, &claim).expect_status(201);
    let mut grant = |subresource: &str| {
        let rule = json!({"apiGroups": ["resource.k8s.io"], "resources": [format!("resourceclaims/{subresource}")], "verbs": ["patch"]});
        grant(&mut admin, subresource, rule);
    };
    let mut give = || -> Answer {
        let result = json!({"request": "r", "driver": "d.example.com", "pool": "p", "device": "d"});
        let body = json!({"status": {"allocation": {"devices": {"results": [result]}}}}).to_string();
        nobody.send("PATCH", &format!("{claims}/a/status"), MERGE_PATCH, body.as_bytes()).answer()
    };
    grant("status");
    let refused = wait_for("the right to write", || Some(give()).filter(|answer| answer.status != 403)).expect(422);
    let message = refused["message"].as_str().expect("a message");
    let expected = "status.allocation: Forbidden: changing status.allocation or status.reservedFor requires \
                    resource=\"resourceclaims/binding\", verb=\"patch\" permission: resourceclaims.resource.k8s.io is \
                    forbidden: User \"nobody\" cannot patch resource \"resourceclaims/binding\"";
    assert!(message.contains(expected), "{message}");
    grant("binding");
    wait_for("the right to bind", || Some(give()).filter(|answer| answer.status != 422)).expect(200);
}

/// Lets the user `nobody` do some things everywhere, under a name of their own.
fn grant(admin: &mut Client, name: &str, rule: Value) {
    let role = json!({"metadata": {"name": name}, "rules": [rule]});
    let subject = json!({"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"});
    let of = json!({"kind": "ClusterRole", "name": name, "apiGroup": "rbac.authorization.k8s.io"});
    let binding = json!({"metadata": {"name": name}, "subjects": [subject], "roleRef": of});
    for (plural, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        admin.post(&format!("{RBAC}/{plural}"), &object).expect_status(201);
    }
}

#[test]
fn parameters_of_policies_need_the_right_to_read_them() {
    const POLICIES: &str = "/apis/admissionregistration.k8s.io";
    const WHO: &str = "user &{nobody 2 [system:authenticated] map[]}";
    const APPLY: &str = "application/apply-patch+yaml";
    let versions = ["v1", "v1beta1", "v1alpha1"].map(|version| format!("admissionregistration.k8s.io/{version}=true"));
    let installation = Installation::new();
    let process = installation.start_with(&[format!("--runtime-config={}", versions.join(","))]);
    let mut admin = process.endpoint().client();
    let mut nobody = Endpoint { token: Some(NOBODY_TOKEN.to_owned()), ..process.endpoint() }.client();
    let kind = |plural: &str| match plural {
        "validatingadmissionpolicies" => "ValidatingAdmissionPolicy",
        _ => "MutatingAdmissionPolicy",
    };
    let policy = |plural: &str, version: &str, name: &str, param_kind: &str| {
        let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
        let mut spec = json!({"paramKind": {"apiVersion": "v1", "kind": param_kind},
            "matchConstraints": {"resourceRules": [rule]}});
        if plural == "validatingadmissionpolicies" {
            spec["validations"] = json!([{"expression": "true"}]);
        } else {
            let expression = "[JSONPatch{op: \"remove\", path: \"/spec\"}]";
            spec["reinvocationPolicy"] = json!("Never");
            spec["mutations"] = json!([{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}]);
        }
        let api_version = format!("admissionregistration.k8s.io/{version}");
        json!({"apiVersion": api_version, "kind": kind(plural), "metadata": {"name": name}, "spec": spec})
    };
    let refused = |answer: Answer, field: &str, why: &str| {
        let status = answer.expect(422);
        let message = status["message"].as_str().expect("a message");
        let expected = format!("{field}: Forbidden: {WHO} {why}");
        assert!(message.ends_with(&expected), "{message}");
        assert_eq!(status["details"]["causes"][0]["reason"], "FieldValueForbidden", "{status}");
    };
    let rule = json!({"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["create", "update", "patch"]});
    grant(&mut admin, "policies", rule);
    grant(&mut admin, "maps", json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}));
    let all = [
        ("validatingadmissionpolicies", "v1"),
        ("mutatingadmissionpolicies", "v1"),
        ("mutatingadmissionpolicies", "v1beta1"),
        ("mutatingadmissionpolicies", "v1alpha1"),
    ];
    let must = "must have \"get\" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)";
    for (plural, version) in all {
        let path = format!("{POLICIES}/{version}/{plural}");
        let name = format!("maps-{version}");
        let mut create = || {
            let allowed = nobody.post(&path, &policy(plural, version, &name, "ConfigMap")).answer();
            Some(allowed).filter(|answer| answer.status != 403 && answer.status != 422)
        };
        let mut created = wait_for("the rights", &mut create).expect(201);
        let secrets = policy(plural, version, "secrets", "Secret");
        refused(nobody.post(&path, &secrets).answer(), "spec.paramKind", must);
        created["spec"]["paramKind"]["kind"] = json!("Secret");
        refused(nobody.put(&format!("{path}/{name}"), &created).answer(), "spec.paramKind", must);
        let change = json!({"spec": {"paramKind": {"kind": "Secret"}}}).to_string();
        let patched = nobody.send("PATCH", &format!("{path}/{name}"), MERGE_PATCH, change.as_bytes());
        refused(patched.answer(), "spec.paramKind", must);
        let applied = format!("{path}/secrets?fieldManager=test");
        let applied = nobody.send("PATCH", &applied, APPLY, secrets.to_string().as_bytes());
        refused(applied.answer(), "spec.paramKind", must);
        // What stays as it was needs no right.
        admin.post(&path, &policy(plural, version, &format!("secrets-{version}"), "Secret")).expect_status(201);
        let labels = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
        let labelled = nobody.send("PATCH", &format!("{path}/secrets-{version}"), MERGE_PATCH, labels.as_bytes());
        labelled.expect_status(200);
    }
    let bindings = [
        ("validatingadmissionpolicybindings", "v1", "ValidatingAdmissionPolicyBinding"),
        ("mutatingadmissionpolicybindings", "v1", "MutatingAdmissionPolicyBinding"),
        ("mutatingadmissionpolicybindings", "v1alpha1", "MutatingAdmissionPolicyBinding"),
    ];
    for (plural, version, kind) in bindings {
        let binding = |name: &str, policy: &str, param_ref: Value| {
            let api_version = format!("admissionregistration.k8s.io/{version}");
            let mut spec = json!({"policyName": policy, "paramRef": param_ref});
            spec["paramRef"]["parameterNotFoundAction"] = json!("Deny");
            if plural.starts_with("validating") {
                spec["validationActions"] = json!(["Deny"]);
            }
            json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec})
        };
        let path = format!("{POLICIES}/{version}/{plural}");
        let named = json!({"name": "a", "namespace": "default"});
        let mut post = |binding: Value| nobody.post(&path, &binding).answer();
        let no = "does not have \"get\" permission on the object referenced by paramRef";
        refused(post(binding("secrets", "secrets-v1", named.clone())), "spec.paramRef", no);
        let no = "does not have \"list\" permission on the object referenced by paramRef";
        refused(post(binding("selected", "maps-v1", json!({"selector": {}}))), "spec.paramRef", no);
        let name = format!("maps-{version}");
        post(binding(&name, "maps-v1", named.clone())).expect(201);
        let other = json!({"spec": {"policyName": "secrets-v1"}}).to_string();
        let patched = nobody.send("PATCH", &format!("{path}/{name}"), MERGE_PATCH, other.as_bytes());
        let no = "does not have \"get\" permission on the object referenced by paramRef";
        refused(patched.answer(), "spec.paramRef", no);
        admin.post(&path, &binding(&format!("secrets-{version}"), "secrets-v1", named)).expect_status(201);
    }
}

/// A certificate request (PKCS #10) that is signed by its key.
const REQUEST: &str = "MIG5MGICAQAwADBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJAvUrSVnehRPfedYm1wkJuLe8eJXynUTaKPwj1V6l\
                       4/hn9PON/d9fydP9FPVJiru9tqqYpgBDCeOVqs72CeOxmgADAKBggqhkjOPQQDAgNHADBEAiBab1/jr47X8wbXJScK\
                       OMIAxhOhr5RnLkuO4QbZJbi7sAIgEY8t2CcUB36Z/0lKDWwqQd0kk6KpPLUTKEo9SfXEpJo=";

#[test]
fn answers_to_requests_of_pods_need_the_right_to_sign() {
    let installation = Installation::new();
    let process = installation.start_with(&[
        "--feature-gates=PodCertificateRequest=true",
        "--runtime-config=certificates.k8s.io/v1beta1=true",
    ]);
    let mut admin = process.endpoint().client();
    let mut nobody = Endpoint { token: Some(NOBODY_TOKEN.to_owned()), ..process.endpoint() }.client();
    let requests = "/apis/certificates.k8s.io/v1beta1/namespaces/default/podcertificaterequests";
    let spec = json!({"signerName": "example.com/signer", "podName": "p", "podUID": "1", "serviceAccountName": "s",
        "serviceAccountUID": "2", "nodeName": "n", "nodeUID": "3", "maxExpirationSeconds": 86400,
        "stubPKCS10Request": REQUEST});
    admin.post(requests, &json!({"metadata": {"name": "r"}, "spec": spec})).expect_status(201);
    let rule = json!({"apiGroups": ["certificates.k8s.io"], "resources": ["podcertificaterequests/status"], "verbs": ["patch"]});
    grant(&mut admin, "status", rule);
    let signers = |name: &str| json!({"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "resourceNames": [name], "verbs": ["sign"]});
    grant(&mut admin, "others", signers("example.org/*"));
    let mut answer = |kind: &str| -> Answer {
        let condition = json!({"type": kind, "status": "True", "reason": "R", "message": "m"});
        let body =
            json!({"status": {"certificateChain": (kind == "Issued").then_some("chain"), "conditions": [condition]}});
        let path = format!("{requests}/r/status");
        nobody.send("PATCH", &path, MERGE_PATCH, body.to_string().as_bytes()).answer()
    };
    let expected = "PodCertificateRequest.certificates.k8s.io \"r\" is invalid: spec.signerName: Forbidden: User \"nobody\" is \
                    not permitted to \"sign\" for signer \"example.com/signer\"";
    for kind in ["Issued", "Denied", "Failed"] {
        let refused = wait_for("the right to write", || Some(answer(kind)).filter(|answer| answer.status != 403));
        assert_eq!(refused.expect(422)["message"], expected, "{kind}");
    }
    grant(&mut admin, "own", signers("example.com/signer"));
    let issued =
        wait_for("the right to sign", || Some(answer("Issued")).filter(|answer| answer.status != 422)).expect(200);
    assert_eq!(issued["status"]["certificateChain"], "chain");
    assert!(issued["status"]["conditions"][0]["lastTransitionTime"].is_string(), "{issued}");
}

#[test]
fn a_role_with_thousands_of_millions_of_parts_is_refused() {
    let installation = Installation::own();
    let process = installation.start();
    let mut admin = process.endpoint().client();
    let mut nobody = Endpoint { token: Some(NOBODY_TOKEN.to_owned()), ..process.endpoint() }.client();
    let rule = json!({"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["create"]});
    grant(&mut admin, "roles", rule);
    let many = |prefix: &str| (0..210).map(|number| format!("{prefix}{number}")).collect::<Vec<_>>();
    let rule = json!({"verbs": many("v"), "apiGroups": many("g"), "resources": many("r"), "resourceNames": many("n")});
    let role = json!({"metadata": {"name": "large"}, "rules": [rule]});
    let roles = format!("{RBAC}/namespaces/default/roles");
    let is_known = |answer: &Answer| !answer.text().contains("cannot create resource");
    let refused = wait_for("the right to create roles", || Some(nobody.post(&roles, &role).answer()).filter(is_known));
    let message = refused.expect(403)["message"].as_str().expect("a message").to_owned();
    let head = "roles.rbac.authorization.k8s.io \"large\" is forbidden: user \"nobody\" (groups=[\"system:authenticated\"]) is \
                attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"g0\"], Resources:[\"r0\"], \
                ResourceNames:[\"n0\"], Verbs:[\"v0\" \"v1\"";
    assert!(
        message.starts_with(head) && message.ends_with("\n(and more)"),
        "{} bytes: {}",
        message.len(),
        &message[..300]
    );
    assert!(message.len() < 1 << 20, "{}", message.len());
    // A binding to such a role is compared in the same way.
    admin.post(&roles, &role).expect_status(201);
    let of = json!({"kind": "Role", "name": "large", "apiGroup": "rbac.authorization.k8s.io"});
    let binding = json!({"metadata": {"name": "large"}, "subjects": [], "roleRef": of});
    let bindings = format!("{RBAC}/namespaces/default/rolebindings");
    let refused = nobody.post(&bindings, &binding).expect_status(403);
    assert!(
        refused["message"].as_str().is_some_and(|message| message.ends_with("(and more)")),
        "{}",
        refused["reason"]
    );
}

#[test]
fn split_roles_keep_changes_of_an_administrator() {
    let installation = Installation::new();
    let process = installation.start();
    let mut admin = process.endpoint().client();
    let patch = |client: &mut Client, path: &str, patch: Value| {
        let answer = client.send("PATCH", &format!("{RBAC}{path}"), MERGE_PATCH, patch.to_string().as_bytes());
        answer.expect_status(200);
    };
    let user = json!({"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"});
    let autoupdate = "rbac.authorization.kubernetes.io/autoupdate";
    let marks = json!({"labels": {"left": "here"}, "annotations": {"left": "there", autoupdate: "false"}});
    patch(&mut admin, "/clusterrolebindings/system:discovery", json!({"subjects": [user], "metadata": marks}));
    let rule = json!({"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get"]});
    let marks = json!({"labels": {"left": "here"}});
    let role = json!({"aggregationRule": null, "rules": [rule], "metadata": marks});
    patch(&mut admin, "/clusterroles/view", role);
    // This one aggregates others still.
    patch(&mut admin, "/clusterroles/edit", json!({"metadata": {"labels": {"left": "here"}}}));
    let gone = [
        "/clusterrolebindings/system:public-info-viewer",
        "/clusterroles/system:aggregate-to-view",
        "/clusterroles/system:aggregate-to-edit",
    ];
    for path in gone {
        admin.delete(&format!("{RBAC}{path}")).expect_status(200);
    }
    drop(process);
    let process = installation.start();
    let mut admin = process.endpoint().client();
    let [binding, view, edit] = gone.map(|path| admin.get(&format!("{RBAC}{path}")).expect_status(200));
    assert_eq!(binding["subjects"], json!([user]), "administrators keep it to themselves");
    assert_eq!(binding["roleRef"]["name"], "system:public-info-viewer");
    assert_eq!(binding["metadata"]["labels"], json!({"kubernetes.io/bootstrapping": "rbac-defaults", "left": "here"}));
    assert_eq!(binding["metadata"]["annotations"], json!({"left": "there", autoupdate: "false"}));
    assert_eq!(view["rules"][0], rule);
    assert!(view["rules"].as_array().is_some_and(|rules| rules.len() > 1), "what it lacks is added: {view}");
    assert_eq!(view["metadata"]["labels"]["left"], "here");
    assert_eq!(view["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"], "true");
    assert_eq!(edit["metadata"]["labels"]["left"], Value::Null);
}
