//! A node that joins and works: with a bootstrap token first, then as itself, with access to the objects of its pods only.

use crate::common::http::Answered;
use crate::common::http::{Answer, Client, Endpoint, MERGE_PATCH, STRATEGIC_PATCH};
use crate::common::process::{ADMIN_TOKEN, Installation, Process};
use serde_json::{Value, json};

const NODE_TOKEN: &str = "node-token";
const BOOTSTRAP_TOKEN: &str = "abcdef.0123456789abcdef";

fn installation() -> Installation {
    let installation = Installation::new();
    let tokens = format!("{ADMIN_TOKEN},admin,1,\"system:masters\"\n{NODE_TOKEN},system:node:n1,2,\"system:nodes\"\n");
    installation.scratch.write("tokens.csv", &tokens);
    installation
}

fn serve(installation: &Installation, flags: &[&str]) -> Process {
    installation.start_with(&[flags, &["--controllers="]].concat())
}

fn client(process: &Process, token: &str) -> Client {
    Endpoint { token: Some(token.to_owned()), ..process.endpoint() }.client()
}

fn message(answer: Answer, status: u16) -> String {
    answer.expect(status)["message"].as_str().unwrap_or_default().to_owned()
}

const CORE: &str = "/api/v1/namespaces/default";
const CERTIFICATES: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

fn post(client: &mut Client, path: &str, object: &Value) -> Value {
    client.post(path, object).expect_status(201)
}

#[test]
fn a_bootstrap_token_asks_for_a_certificate() {
    let installation = installation();
    let process = serve(&installation, &["--enable-bootstrap-token-auth"]);
    let (mut admin, mut new) = (process.endpoint().client(), client(&process, BOOTSTRAP_TOKEN));
    assert_eq!(new.get("/api").answer().status, 401);
    let data = json!({
        "token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
        "auth-extra-groups": "system:bootstrappers:joining"
    });
    let name = json!({"name": "bootstrap-token-abcdef"});
    let secret = json!({"metadata": name, "type": "bootstrap.kubernetes.io/token", "stringData": data});
    post(&mut admin, "/api/v1/namespaces/kube-system/secrets", &secret);
    let review = post(&mut new, "/apis/authentication.k8s.io/v1/selfsubjectreviews", &json!({}));
    let groups = ["system:bootstrappers", "system:bootstrappers:joining", "system:authenticated"];
    assert_eq!(review["status"]["userInfo"], json!({"username": "system:bootstrap:abcdef", "groups": groups}));
    assert_eq!(new.get(CERTIFICATES).answer().status, 403);
    admin.delete("/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef").expect_status(200);
    assert_eq!(new.get("/api").answer().status, 401);
}

#[test]
fn a_node_has_what_its_pods_need() {
    let installation = installation();
    let process = serve(&installation, &["--enable-admission-plugins=NodeRestriction"]);
    let (mut admin, mut node) = (process.endpoint().client(), client(&process, NODE_TOKEN));
    post(&mut admin, &format!("{CORE}/serviceaccounts"), &json!({"metadata": {"name": "default"}}));
    for (plural, name) in [("secrets", "mounted"), ("secrets", "other"), ("configmaps", "mounted")] {
        post(&mut admin, &format!("{CORE}/{plural}"), &json!({"metadata": {"name": name}}));
    }
    let disk = json!({"metadata": {"name": "disk"}});
    post(&mut admin, "/api/v1/namespaces/kube-system/secrets", &disk);
    let volume = json!({"metadata": {"name": "volume"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
        "claimRef": {"namespace": "default", "name": "pod-made"},
        "csi": {"driver": "d", "volumeHandle": "h", "nodeStageSecretRef": {"name": "disk", "namespace": "kube-system"}}}});
    post(&mut admin, "/api/v1/persistentvolumes", &volume);
    // Itself, and no other node.
    post(&mut node, "/api/v1/nodes", &json!({"metadata": {"name": "n1"}}));
    let other = node.post("/api/v1/nodes", &json!({"metadata": {"name": "n2"}})).answer();
    assert_eq!(message(other, 403), "nodes \"n2\" is forbidden: node \"n1\" is not allowed to modify node \"n2\"");
    let taints = json!({"spec": {"taints": []}}).to_string();
    let patched = node.send("PATCH", "/api/v1/nodes/n1", MERGE_PATCH, taints.as_bytes()).answer();
    assert_eq!(message(patched, 403), "nodes \"n1\" is forbidden: node \"n1\" is not allowed to modify taints");
    let all = message(node.get("/api/v1/pods").answer(), 403);
    assert!(all.ends_with("can only list/watch pods with spec.nodeName field selector"), "{all}");
    node.get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1").expect_status(200);
    // What pods need, as soon as they are on the node.
    let needed = [
        (format!("{CORE}/secrets/mounted"), true),
        (format!("{CORE}/configmaps/mounted"), true),
        (format!("{CORE}/serviceaccounts/default"), true),
        (format!("{CORE}/pods/pod"), true),
        ("/api/v1/persistentvolumes/volume".to_owned(), true),
        ("/api/v1/namespaces/kube-system/secrets/disk".to_owned(), true),
        (format!("{CORE}/secrets/other"), false),
        (format!("{CORE}/pods/elsewhere"), false),
    ];
    let claim = json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    let pod = |name: &str, node: &str| {
        let environment = json!([{"configMapRef": {"name": "mounted"}}]);
        let volumes = json!([
            {"name": "secret", "secret": {"secretName": "mounted"}},
            {"name": "made", "ephemeral": {"volumeClaimTemplate": claim}}
        ]);
        let containers = json!([{"name": "c", "image": "i", "envFrom": environment}]);
        json!({"metadata": {"name": name}, "spec": {"nodeName": node, "containers": containers, "volumes": volumes}})
    };
    post(&mut admin, &format!("{CORE}/pods"), &pod("elsewhere", "n2"));
    for (path, _) in &needed {
        assert_eq!(node.get(path).answer().status, 403, "{path}");
    }
    let uid = post(&mut admin, &format!("{CORE}/pods"), &pod("pod", "n1"))["metadata"]["uid"].clone();
    for (path, is_needed) in &needed {
        assert_eq!(node.get(path).answer().status, if *is_needed { 200 } else { 403 }, "{path}");
    }
    // Tokens for its pods, and the end of its pods.
    let tokens = format!("{CORE}/serviceaccounts/default/token");
    let bound = json!({"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": uid});
    post(&mut node, &tokens, &json!({"spec": {"boundObjectRef": bound}}));
    let unbound = node.post(&tokens, &json!({"spec": {}})).answer();
    let why = "serviceaccounts \"default\" is forbidden: node requested token not bound to a pod";
    assert_eq!(message(unbound, 403), why);
    let eviction = node.post(&format!("{CORE}/pods/elsewhere/eviction"), &json!({"metadata": {"name": "elsewhere"}}));
    let why = "pods \"elsewhere\" is forbidden: node n1 can only evict pods with spec.nodeName set to itself";
    assert_eq!(message(eviction.answer(), 403), why);
    let deleted = node.delete(&format!("{CORE}/pods/elsewhere")).answer();
    let why = "pods \"elsewhere\" is forbidden: node \"n1\" can only delete pods with spec.nodeName set to itself";
    assert_eq!(message(deleted, 403), why);
    node.delete(&format!("{CORE}/pods/pod?gracePeriodSeconds=0")).expect_status(200);
    assert_eq!(node.get(&format!("{CORE}/secrets/mounted")).answer().status, 403);
}

#[test]
fn namespaces_are_made_when_the_server_is_told_to() {
    let installation = installation();
    let process = serve(&installation, &["--enable-admission-plugins=NamespaceAutoProvision"]);
    let mut admin = process.endpoint().client();
    let map = json!({"metadata": {"name": "m"}});
    let dry = admin.post("/api/v1/namespaces/made/configmaps?dryRun=All", &map).answer();
    assert_eq!(dry.status, 404);
    post(&mut admin, "/api/v1/namespaces/made/configmaps", &map);
    let namespace = admin.get("/api/v1/namespaces/made").expect_status(200);
    assert_eq!(namespace["status"]["phase"], "Active");
    assert_eq!(namespace["metadata"]["labels"]["kubernetes.io/metadata.name"], "made");
    let wrong = admin.post("/api/v1/namespaces/_/configmaps", &map).expect_status(403);
    let why = "configmaps \"m\" is forbidden: Namespace \"_\" is invalid: [metadata.name: Invalid value: \"_\"";
    assert!(wrong["message"].as_str().is_some_and(|message| message.starts_with(why)), "{wrong}");
    let review = json!({"metadata": {"namespace": "asked"}, "spec": {"user": "a", "resourceAttributes": {
        "namespace": "asked", "verb": "get", "resource": "pods"
    }}});
    post(&mut admin, "/apis/authorization.k8s.io/v1/namespaces/asked/localsubjectaccessreviews", &review);
    admin.get("/api/v1/namespaces/asked").expect_status(200);
}

#[test]
fn a_node_has_tokens_for_drivers_that_took_over_a_volume() {
    let installation = installation();
    let process = serve(&installation, &["--enable-admission-plugins=NodeRestriction"]);
    let (mut admin, mut node) = (process.endpoint().client(), client(&process, NODE_TOKEN));
    post(&mut admin, &format!("{CORE}/serviceaccounts"), &json!({"metadata": {"name": "default"}}));
    let driver =
        json!({"metadata": {"name": "file.csi.azure.com"}, "spec": {"tokenRequests": [{"audience": "files"}]}});
    post(&mut admin, "/apis/storage.k8s.io/v1/csidrivers", &driver);
    let volumes = json!([{"name": "v", "azureFile": {"secretName": "s", "shareName": "s"}}]);
    let spec = json!({"nodeName": "n1", "containers": [{"name": "c", "image": "i"}], "volumes": volumes});
    let pod = post(&mut admin, &format!("{CORE}/pods"), &json!({"metadata": {"name": "pod"}, "spec": spec}));
    let bound = json!({"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": pod["metadata"]["uid"]});
    let mut ask = |audience: &str| {
        let spec = json!({"boundObjectRef": bound, "audiences": [audience]});
        node.post(&format!("{CORE}/serviceaccounts/default/token"), &json!({"spec": spec})).answer()
    };
    ask("files").expect(201);
    let why = "serviceaccounts \"default\" is forbidden: audience \"others\" not found in pod spec volume, system:node:n1 is not \
               authorized to request tokens for this audience";
    assert_eq!(message(ask("others"), 403), why);
}

#[test]
fn a_pod_is_resized_on_a_node_that_declares_to_support_it() {
    let installation = installation();
    let process = serve(&installation, &[]);
    let mut admin = process.endpoint().client();
    post(&mut admin, &format!("{CORE}/serviceaccounts"), &json!({"metadata": {"name": "default"}}));
    let allocatable = json!({"cpu": "8", "memory": "8Gi"});
    let node = json!({"metadata": {"name": "n1"}, "status": {"allocatable": allocatable}});
    post(&mut admin, "/api/v1/nodes", &node);
    let resources = |cpu: &str| {
        let amounts = json!({"cpu": cpu, "memory": "1Gi"});
        json!({"requests": amounts, "limits": amounts})
    };
    let container = json!({"name": "c", "image": "i", "resources": resources("1")});
    let pod = json!({"metadata": {"name": "pod"}, "spec": {"nodeName": "n1", "containers": [container]}});
    post(&mut admin, &format!("{CORE}/pods"), &pod);
    let patch = |client: &mut Client, path: &str, kind: &str, patch: Value| {
        client.send("PATCH", path, kind, patch.to_string().as_bytes()).answer()
    };
    let resize = json!({"spec": {"containers": [{"name": "c", "resources": resources("2")}]}});
    let path = format!("{CORE}/pods/pod/resize");
    let why = "pods \"pod\" is forbidden: pod update requires features GuaranteedQoSPodCPUResize which are not available on node \
               \"n1\"";
    assert_eq!(message(patch(&mut admin, &path, STRATEGIC_PATCH, resize.clone()), 403), why);
    let features = json!({"status": {"declaredFeatures": ["GuaranteedQoSPodCPUResize"]}});
    patch(&mut admin, "/api/v1/nodes/n1/status", MERGE_PATCH, features).expect(200);
    patch(&mut admin, &path, STRATEGIC_PATCH, resize).expect(200);
}
