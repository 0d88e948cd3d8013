//! Flags of kube-apiserver, each with its effect. Guarantees that a command line of kube-apiserver with one of them works here.
//! Must never pass where a flag is accepted without effect, unless the server says so.

use crate::common::etcd::{Etcd, program};
use crate::common::http::Answered;
use crate::common::process::{Installation, Process};
use crate::common::{name, wait_for};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints";

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

#[test]
fn the_lifecycle_of_namespaces_can_be_left_alone() {
    // (flags, create in a namespace that is missing, in one that is going, delete the default namespace)
    let rows: [(&[&str], [u16; 3]); 4] = [
        (&[], [404, 403, 403]),
        (&["--disable-admission-plugins=NamespaceLifecycle"], [201, 201, 200]),
        (
            &["--disable-admission-plugins=NamespaceLifecycle", "--enable-admission-plugins=NamespaceExists"],
            [404, 201, 200],
        ),
        (&["--enable-admission-plugins=NamespaceExists"], [404, 403, 403]),
    ];
    for (flags, expected) in rows {
        let installation = Installation::own();
        let process = installation.start_with(&[&["--storage=memory", "--controllers="], flags].concat());
        let mut client = process.endpoint().client();
        let namespaces = "/api/v1/namespaces";
        client.post(namespaces, &json!({"metadata": {"name": "going"}})).expect_status(201);
        client.delete(&format!("{namespaces}/going")).expect_status(200);
        let mut create = |namespace: &str| {
            let path = format!("{namespaces}/{namespace}/configmaps");
            client.post(&path, &config_map("a")).answer().status
        };
        let created = [create("missing"), create("going")];
        let deleted = client.delete(&format!("{namespaces}/default")).answer().status;
        assert_eq!([created[0], created[1], deleted], expected, "{flags:?}");
    }
}

#[test]
fn disabling_the_watch_cache_is_warned_of() {
    let installation = Installation::own();
    let flags = ["--storage=memory", "--watch-cache=false", "--lease-reuse-duration-seconds=0", "--apiserver-count=3"];
    let process = installation.start_with(&flags);
    process.endpoint().client().get("/api/v1/pods").expect_status(200);
    let said = process.errors();
    assert!(said.contains("--watch-cache=false: lists at resourceVersion=0 are limited"), "{said}");
}

/// The addresses of the `kubernetes` service's endpoints.
fn addresses(process: &Process) -> Option<BTreeSet<String>> {
    let list = process.endpoint().client().get(ENDPOINTS).expect_status(200);
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let object = items.into_iter().find(|item| name(item) == "kubernetes")?;
    let addresses = object["subsets"][0]["addresses"].as_array().cloned().unwrap_or_default();
    Some(addresses.iter().map(|it| it["ip"].as_str().expect("an address").to_owned()).collect())
}

fn set(addresses: &[&str]) -> Option<BTreeSet<String>> {
    Some(addresses.iter().map(|address| (*address).to_owned()).collect())
}

#[test]
fn endpoints_are_reconciled_as_configured() {
    for (kind, expected) in [("lease", set(&["10.1.0.1"])), ("master-count", set(&["10.1.0.1"])), ("none", None)] {
        let installation = Installation::own();
        let reconciler = format!("--endpoint-reconciler-type={kind}");
        let process = installation.start_with(&["--storage=memory", &reconciler, "--advertise-address=10.1.0.1"]);
        assert_eq!(addresses(&process), expected, "{kind}");
        // The service is kept whatever is said of its endpoints.
        let service = "/api/v1/namespaces/default/services/kubernetes";
        process.endpoint().client().get(service).expect_status(200);
        let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
        let list = process.endpoint().client().get(slices).expect_status(200);
        assert_eq!(list["items"].as_array().map(Vec::len), Some(usize::from(expected.is_some())), "{kind}");
    }
}

#[test]
fn servers_count_each_other() {
    for version in ["3.5", "3.4"] {
        let Some(program) = program(version) else { continue };
        let etcd = Etcd::start(program, 1);
        let installations = [(); 3].map(|()| Installation::own());
        let start = |index: usize, address: &str| {
            let (urls, advertised) = (etcd.urls(), format!("--advertise-address={address}"));
            let reconciler = ["--endpoint-reconciler-type=master-count", "--apiserver-count=2", &advertised];
            installations[index].start_with(&[&["--etcd-servers", &urls], &reconciler[..]].concat())
        };
        let first = start(0, "10.1.0.1");
        assert_eq!(addresses(&first), set(&["10.1.0.1"]));
        let mut third = start(1, "10.1.0.3");
        assert_eq!(addresses(&first), set(&["10.1.0.1", "10.1.0.3"]));
        // Who comes takes the place of the one after it.
        let mut second = start(2, "10.1.0.2");
        assert_eq!(addresses(&first), set(&["10.1.0.1", "10.1.0.2"]));
        third.kill();
        second.signal("TERM");
        wait_for("its end", || second.exit_status());
        assert_eq!(addresses(&first), set(&["10.1.0.1"]), "who is stopped goes");
    }
}

#[test]
fn policies_of_a_file_allow() {
    let installation = Installation::own();
    let policies = [
        "# who reads, in both forms",
        r#"{"user": "reader", "readonly": true}"#,
        r#"{"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec":
            {"group": "writers", "namespace": "default", "resource": "configmaps", "apiGroup": ""}}"#,
    ];
    let file = installation.scratch.write("policies", &policies.map(|line| line.replace('\n', " ")).join("\n"));
    let policy_file = format!("--authorization-policy-file={}", file.display());
    let process = installation.start_with(&["--storage=memory", "--authorization-mode=ABAC", &policy_file]);
    let ask = |user: &str, group: &str, method: &str, path: &str| {
        let client = process.endpoint().client().with_header("Impersonate-User", user);
        let mut client = client.with_header("Impersonate-Group", group);
        let body = config_map("a").to_string();
        let body = if method == "POST" { body.as_bytes() } else { b"" };
        client.send(method, path, "application/json", body).answer()
    };
    let config_maps = "/api/v1/namespaces/default/configmaps";
    for (user, group, method, path, expected) in [
        ("reader", "people", "GET", config_maps, 200),
        ("reader", "people", "GET", "/metrics", 200),
        ("reader", "people", "POST", config_maps, 403),
        ("bob", "writers", "POST", config_maps, 201),
        ("bob", "writers", "POST", "/api/v1/namespaces/kube-system/configmaps", 403),
        ("bob", "writers", "GET", "/api/v1/namespaces/default/secrets", 403),
        ("bob", "people", "GET", config_maps, 403),
    ] {
        assert_eq!(ask(user, group, method, path).status, expected, "{user} {group} {method} {path}");
    }
    let refused = ask("bob", "people", "GET", config_maps).expect(403);
    let message = "configmaps is forbidden: User \"bob\" cannot list resource \"configmaps\" in API group \"\" in the namespace \
                   \"default\": No policy matched.";
    assert_eq!(refused["message"], message);
    let review = json!({"spec": {"namespace": "default"}});
    let client = process.endpoint().client().with_header("Impersonate-User", "reader");
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    // Who reviews rules writes, which a reader may only by a role that everybody has.
    let rules = client.with_header("Impersonate-Group", "system:authenticated").post(reviews, &review);
    let rules = rules.expect_status(201);
    let rules = rules["status"]["resourceRules"].as_array().expect("rules");
    let expected = json!({"verbs": ["get", "list", "watch"], "apiGroups": ["*"], "resources": ["*"]});
    assert_eq!(rules.last(), Some(&expected), "what is asked last comes last");
}

#[test]
fn labels_of_metrics_show_what_is_allowed() {
    let installation = Installation::own();
    let manifest =
        "\"apiserver_request_total,verb\": \"GET,LIST\"\n\"apiserver_request_duration_seconds,verb\": \"\"\n";
    installation.scratch.write("labels.yaml", manifest);
    let by_flag = "\"apiserver_request_total,verb=GET,LIST\",\"apiserver_request_duration_seconds,verb=\"";
    for flag in [format!("--allow-metric-labels={by_flag}"), "--allow-metric-labels-manifest=labels.yaml".to_owned()] {
        let process = installation.start_with(&["--storage=memory", "--controllers=", &flag]);
        let mut client = process.endpoint().client();
        let config_maps = "/api/v1/namespaces/default/configmaps";
        client.post(config_maps, &config_map("a")).expect_status(201);
        client.get(&format!("{config_maps}/a")).expect_status(200);
        client.delete(&format!("{config_maps}/a")).expect_status(200);
        let metrics = client.get("/metrics").answer().text();
        let of = |metric: &str, verb: &str| {
            let verb = format!("verb=\"{verb}\"");
            let is_it = |line: &&str| {
                line.starts_with(metric) && line.contains("resource=\"configmaps\"") && line.contains(&verb)
            };
            metrics.lines().filter(is_it).map(str::to_owned).collect::<Vec<_>>()
        };
        // Codes tell the two that are not shown apart.
        let counts: Vec<_> = of("apiserver_request_total", "unexpected");
        assert_eq!(counts.len(), 2, "{flag}: {counts:?}");
        assert!(counts.iter().all(|line| line.ends_with(" 1")), "{counts:?}");
        assert_eq!(of("apiserver_request_total", "GET").len(), 1, "{flag}");
        for verb in ["POST", "DELETE"] {
            assert!(of("apiserver_request_total", verb).is_empty(), "{flag}: {verb}");
        }
        let durations = of("apiserver_request_duration_seconds_count", "unexpected");
        let total: u64 = durations.iter().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum();
        assert_eq!(total, 3, "{flag}: {durations:?}");
        assert!(of("apiserver_request_duration_seconds_count", "GET").is_empty());
        let mut series: Vec<_> =
            metrics.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' ')).collect();
        let all = series.len();
        series.sort_unstable();
        series.dedup_by_key(|(series, _)| *series);
        assert_eq!(series.len(), all, "{flag}: a series is counted once");
        let unexpected = "cardinality_enforcement_unexpected_categorizations_total ";
        let counted = metrics.lines().find_map(|line| line.strip_prefix(unexpected)?.parse::<u64>().ok());
        assert!(counted.is_some_and(|count| count >= 4), "{flag}: {counted:?}");
    }
}
