//! An extension server that delegates authentication and authorization to the aggregating server. Guarantees that a user has
//! the same permissions through the aggregator and directly, and that only the front proxy names other users. Must never depend
//! on timing: every state is polled.

mod metrics;

use crate::common::credentials::{Credentials, client_config};
use crate::common::http::Answered;
use crate::common::http::{Endpoint, MERGE_PATCH};
use crate::common::process::{ADMIN_TOKEN, Installation, Process};
use crate::common::{Scratch, wait_for};
use pintle_server::{Options, Serving};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::runtime::Runtime;

const FROBBERS: &str = "/apis/fun.example.com/v6/namespaces/default/frobbers";
const USERS: &str =
    "admin-token,admin,1,\"system:masters\"\nfrobber-token,frobber,2\njane-token,jane,3\njoe-token,joe,4\n";

/// The server in front, and an extension server that delegates to it.
struct Pair {
    front: Process,
    installation: Installation,
    credentials: Credentials,
    files: Scratch,
    runtime: Runtime,
    extension: Option<Serving>,
}

fn front(installation: &Installation, credentials: &Credentials) -> Process {
    installation.scratch.write("tokens.csv", USERS);
    let flags = [
        ("--requestheader-client-ca-file", "ca.crt"),
        ("--proxy-client-cert-file", "client.crt"),
        ("--proxy-client-key-file", "client.key"),
    ];
    installation.start_changed(|command| {
        flags.iter().for_each(|(flag, file)| _ = command.arg(flag).arg(credentials.file(file)));
        command.args(["--requestheader-allowed-names=client", "--requestheader-username-headers=X-Remote-User"]);
        command.args(["--requestheader-group-headers=X-Remote-Group"]);
    })
}

/// Allows delegation: reviews of tokens and requests, and reads of the published CAs.
fn delegator(endpoint: &Endpoint) {
    let mut admin = endpoint.client();
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let subjects = json!([{"kind": "User", "name": "frobber"}]);
    let reference =
        |kind: &str, name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
    let delegates = json!({"metadata": {"name": "frobber:delegates"}, "subjects": subjects,
        "roleRef": reference("ClusterRole", "system:auth-delegator")});
    admin.post(&format!("{rbac}/clusterrolebindings"), &delegates).expect_status(201);
    let reads = json!({"metadata": {"name": "frobber:reads"}, "subjects": subjects,
        "roleRef": reference("Role", "extension-apiserver-authentication-reader")});
    let path = format!("{rbac}/namespaces/kube-system/rolebindings");
    admin.post(&path, &reads).expect_status(201);
}

impl Pair {
    fn start() -> Pair {
        let (installation, credentials, files) = (Installation::own(), Credentials::new(), Scratch::new());
        let front = front(&installation, &credentials);
        delegator(&front.endpoint());
        let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "front",
            "contexts": [{"name": "front", "context": {"cluster": "front", "user": "frobber"}}],
            "clusters": [{"name": "front", "cluster": {
                "server": format!("https://127.0.0.1:{}", front.port),
                "certificate-authority": installation.path("certs/ca.crt"),
            }}],
            "users": [{"name": "frobber", "user": {"token": "frobber-token"}}]});
        files.write("kubeconfig", &kubeconfig.to_string());
        let names = ["frobber.default.svc".to_owned(), "127.0.0.1".to_owned()];
        let own = rcgen::generate_simple_self_signed(names).expect("a certificate");
        files.write("own.crt", &own.cert.pem());
        files.write("own.key", &own.signing_key.serialize_pem());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let mut pair =
            Pair { front, installation, credentials, files, runtime: runtime.expect("a runtime"), extension: None };
        pair.extension = Some(pair.start_extension());
        pair.register();
        pair
    }

    fn start_extension(&self) -> Serving {
        let file = |name: &str| self.files.path().join(name).display().to_string();
        let arguments = [
            "--bind-address=127.0.0.1".to_owned(),
            "--secure-port=0".to_owned(),
            format!("--data-dir={}", file("frobbers")),
            format!("--tls-cert-file={}", file("own.crt")),
            format!("--tls-private-key-file={}", file("own.key")),
            format!("--authentication-kubeconfig={}", file("kubeconfig")),
            format!("--authorization-kubeconfig={}", file("kubeconfig")),
        ];
        let options = Options::parse(arguments, frobber::gates::ALL, &[]).expect("good flags");
        self.runtime.block_on(async {
            // The reader's role reaches the authorizer a moment after it was written.
            let mut attempts = 0;
            loop {
                match options.builder(vec![frobber::resource::group(), metrics::group()]).await {
                    Ok(builder) => return builder.start().await.expect("a server"),
                    Err(error) => assert!(error.to_string().contains("forbidden") && attempts < 1000, "{error}"),
                }
                attempts += 1;
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        })
    }

    fn register(&self) {
        let port = self.extension.as_ref().expect("it runs").addresses()[0].port();
        let authority = std::fs::read(self.files.path().join("own.crt")).expect("a certificate");
        let mut admin = self.front.endpoint().client();
        let service =
            json!({"metadata": {"name": "frobber"}, "spec": {"type": "ExternalName", "externalName": "127.0.0.1"}});
        admin.post("/api/v1/namespaces/default/services", &service).expect_status(201);
        for (group, version) in
            [("fun.example.com", "v6"), ("fun.example.com", "v7beta1"), (metrics::GROUP, metrics::VERSION)]
        {
            let api = json!({"metadata": {"name": format!("{version}.{group}")}, "spec": {
                "group": group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 15,
                "service": {"namespace": "default", "name": "frobber", "port": port},
                "caBundle": data_encoding::BASE64.encode(&authority)}});
            let path = "/apis/apiregistration.k8s.io/v1/apiservices";
            admin.post(path, &api).expect_status(201);
            wait_for("the extension server", || {
                let api = admin.get(&format!("{path}/{version}.{group}")).expect_status(200);
                (api["status"]["conditions"][0]["status"] == "True").then_some(())
            });
        }
    }

    /// The server in front, for the holder of a token.
    fn through(&self, token: &str) -> Endpoint {
        Endpoint { token: Some(token.to_owned()), ..self.front.endpoint() }
    }

    /// The extension server itself. The connection uses the front proxy's certificate.
    fn direct(&self, token: Option<&str>) -> Endpoint {
        let own = self.files.path().join("own.crt");
        let tls = client_config(&self.credentials.file("client.crt"), &self.credentials.file("client.key"), &own);
        let address = self.extension.as_ref().expect("it runs").addresses()[0];
        Endpoint { address, tls: Some(tls), token: token.map(str::to_owned) }
    }

    /// A client without a certificate.
    fn without_certificate(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        let own = CertificateDer::from_pem_file(self.files.path().join("own.crt")).expect("a certificate");
        roots.add(own).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        Arc::new(config.expect("versions").with_root_certificates(roots).with_no_client_auth())
    }

    /// Lets a user read and write frobbers.
    fn allow(&self, user: &str) {
        let mut admin = self.through(ADMIN_TOKEN).client();
        let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
        let role = json!({"metadata": {"name": "frobs"}, "rules": [
            {"apiGroups": ["fun.example.com"], "resources": ["frobbers"], "verbs": ["create", "get", "list", "watch"]}]});
        admin.post(&format!("{rbac}/roles"), &role).expect_status(201);
        let binding = json!({"metadata": {"name": "frobs"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "frobs"},
            "subjects": [{"kind": "User", "name": user}]});
        admin.post(&format!("{rbac}/rolebindings"), &binding).expect_status(201);
        let review = json!({"spec": {"user": user, "resourceAttributes": {
            "group": "fun.example.com", "resource": "frobbers", "verb": "list", "namespace": "default"}}});
        wait_for("the role", || {
            let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
            let review = admin.post(path, &review).expect_status(201);
            (review["status"]["allowed"] == true).then_some(())
        });
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if let (Some(extension), false) = (self.extension.take(), std::thread::panicking()) {
            let _ = self.runtime.block_on(extension.stop());
        }
    }
}

/// A namespace that is being deleted, with a frobber in it, and the path of its frobbers.
fn ending(pair: &Pair, namespace: &str) -> String {
    let mut admin = pair.through(ADMIN_TOKEN).client();
    let created = admin.post("/api/v1/namespaces", &json!({"metadata": {"name": namespace}}));
    created.expect_status(201);
    let frobbers = format!("/apis/fun.example.com/v6/namespaces/{namespace}/frobbers");
    let frobber = json!({"metadata": {"name": "a"}, "spec": {"param": "x"}});
    admin.post(&frobbers, &frobber).expect_status(201);
    admin.delete(&format!("/api/v1/namespaces/{namespace}")).expect_status(200);
    frobbers
}

fn wait_until_gone(pair: &Pair, namespace: &str) {
    let mut admin = pair.through(ADMIN_TOKEN).client();
    let path = format!("/api/v1/namespaces/{namespace}");
    wait_for("the end of the namespace", || (admin.get(&path).answer().status == 404).then_some(()));
}

fn message(status: &Value) -> &str {
    status["message"].as_str().unwrap_or_default()
}

#[test]
fn users_and_their_rights_are_those_of_the_server_in_front() {
    let pair = Pair::start();
    pair.allow("jane");
    let frobber = json!({"metadata": {"name": "a"}, "spec": {"param": "x"}});
    let mut jane = pair.through("jane-token").client();
    let made = jane.post(FROBBERS, &frobber).expect_status(201);
    assert_eq!(made["spec"]["params"], json!(["x"]));
    // The same users are known where the aggregator does not stand between: their tokens are reviewed.
    let mut direct = pair.direct(Some("jane-token")).client();
    assert_eq!(direct.get(FROBBERS).expect_status(200)["items"][0]["metadata"]["name"], "a");
    let forbidden = pair.direct(Some("joe-token")).client().get(FROBBERS).expect_status(403);
    let expected = "frobbers.fun.example.com is forbidden: User \"joe\" cannot list resource \"frobbers\" in API group \
                    \"fun.example.com\" in the namespace \"default\"";
    assert_eq!(message(&forbidden), expected);
    pair.direct(Some("no-token")).client().get(FROBBERS).expect_status(401);
    // The front proxy names users; administrators need no review.
    let mut proxied = pair.direct(None).client().with_header("X-Remote-User", "jane");
    proxied.get(FROBBERS).expect_status(200);
    let mut master = pair.through(ADMIN_TOKEN).client();
    master.delete(&format!("{FROBBERS}/a")).expect_status(200);
    let mut anonymous = Endpoint { tls: Some(pair.without_certificate()), ..pair.direct(None) }.client();
    assert_eq!(anonymous.get("/healthz").answer().status, 200);
    let forbidden = anonymous.get("/metrics").expect_status(403);
    assert!(message(&forbidden).contains("User \"system:anonymous\" cannot get path \"/metrics\""), "{forbidden}");
}

#[test]
fn only_the_front_proxy_names_users() {
    let pair = Pair::start();
    let stranger = Credentials::new();
    let own = pair.files.path().join("own.crt");
    let tls = client_config(&stranger.file("client.crt"), &stranger.file("client.key"), &own);
    let stranger = Endpoint { tls: Some(tls), ..pair.direct(None) };
    let mut client =
        stranger.client().with_header("X-Remote-User", "x").with_header("X-Remote-Group", "system:masters");
    client.get(FROBBERS).expect_status(401);
    let trusted = pair.direct(None);
    let mut client = trusted.client().with_header("X-Remote-User", "x").with_header("X-Remote-Group", "system:masters");
    client.get(FROBBERS).expect_status(200);
    // Without the server in front no token is authenticated, and nothing is allowed.
    let mut pair = pair;
    pair.front.kill();
    let mut joe = trusted.client().with_header("X-Remote-User", "joe");
    let failed = joe.get(FROBBERS).answer();
    assert!([403, 500].contains(&failed.status), "{}", failed.text());
    pair.direct(Some("joe-token")).client().get(FROBBERS).expect_status(401);
}

#[test]
fn kubectl_top_shows_what_an_extension_server_measures() {
    if !crate::common::kubectl::is_there() {
        return;
    }
    let pair = Pair::start();
    let registry = pair.extension.as_ref().expect("it runs").api().registry.clone();
    pair.runtime.block_on(metrics::measure(&registry));
    let node = json!({"metadata": {"name": "n"},
        "status": {"capacity": {"cpu": "4", "memory": "8Gi"}, "allocatable": {"cpu": "4", "memory": "8Gi"}}});
    pair.through(ADMIN_TOKEN).client().post("/api/v1/nodes", &node).expect_status(201);
    for (line, words) in [
        (&["top", "nodes"][..], &["n", "250m", "6%", "1024Mi", "12%"][..]),
        (&["top", "pods"], &["p", "100m", "64Mi"]),
        (&["top", "pods", "--containers"], &["p", "c", "100m", "64Mi"]),
    ] {
        let mut command = std::process::Command::new("kubectl");
        command.args(line).env("KUBECONFIG", pair.installation.kubeconfig()).env("HOME", pair.files.path());
        let said = crate::common::kubectl::said(&command.output().expect("kubectl runs"));
        let rows: Vec<Vec<_>> = said.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(rows.iter().any(|row| row == words), "{line:?}: {said}");
    }
    // What is measured is read only.
    let mut admin = pair.through(ADMIN_TOKEN).client();
    admin.delete("/apis/metrics.k8s.io/v1beta1/nodes/n").expect_status(405);
}

#[test]
fn a_namespace_goes_with_what_an_extension_server_stores_in_it() {
    let mut pair = Pair::start();
    let mut admin = pair.through(ADMIN_TOKEN).client();
    admin.post(FROBBERS, &json!({"metadata": {"name": "b"}, "spec": {"param": "x"}})).expect_status(201);
    let frobbers = ending(&pair, "shop");
    wait_until_gone(&pair, "shop");
    let names = |list: Value| list["items"].as_array().map_or(0, Vec::len);
    assert_eq!(names(admin.get(&frobbers).expect_status(200)), 0);
    assert_eq!(names(admin.get(FROBBERS).expect_status(200)), 1, "another namespace's stay");
    // While a server is gone, nobody knows what it stores.
    let extension = pair.extension.take().expect("it runs");
    let _ = pair.runtime.block_on(extension.stop());
    let services = "/apis/apiregistration.k8s.io/v1/apiservices";
    let all = ["v6.fun.example.com", "v7beta1.fun.example.com", "v1beta1.metrics.k8s.io"];
    for name in all {
        // Checks are repeated every half minute, and at once after a change.
        let path = format!("{services}/{name}");
        let touched = json!({"metadata": {"annotations": {"touched": "yes"}}}).to_string();
        let patched = admin.send("PATCH", &path, MERGE_PATCH, touched.as_bytes());
        patched.expect_status(200);
        wait_for("the end of the extension server", || {
            let api = admin.get(&path).expect_status(200);
            (api["status"]["conditions"][0]["status"] == "False").then_some(())
        });
    }
    admin.post("/api/v1/namespaces", &json!({"metadata": {"name": "late"}})).expect_status(201);
    admin.delete("/api/v1/namespaces/late").expect_status(200);
    let expected = "Discovery failed for some groups, 3 failing: unable to retrieve the complete list of server APIs: \
                    fun.example.com/v6: stale GroupVersion discovery: fun.example.com/v6, \
                    fun.example.com/v7beta1: stale GroupVersion discovery: fun.example.com/v7beta1, \
                    metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1";
    wait_for("the failure in the status of the namespace", || {
        let namespace = admin.get("/api/v1/namespaces/late").expect_status(200);
        let condition = &namespace["status"]["conditions"][0];
        let known = [&condition["type"], &condition["status"], &condition["reason"], &condition["message"]];
        (known == ["NamespaceDeletionDiscoveryFailure", "True", "DiscoveryFailed", expected]).then_some(())
    });
    for name in all {
        admin.delete(&format!("{services}/{name}")).expect_status(200);
    }
    wait_until_gone(&pair, "late");
}
