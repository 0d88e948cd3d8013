//! The page of `pintle top` about a running server.

use crate::common::http::Answered;
use crate::common::process::{Installation, pintle};
use serde_json::json;

#[test]
fn one_page_has_what_the_server_did() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory"]);
    let mut client = process.endpoint().client();
    let path = "/api/v1/namespaces/default/configmaps";
    for name in ["a", "b", "c"] {
        client.post(path, &json!({"metadata": {"name": name}})).expect_status(201);
    }
    let top = |arguments: &[&str]| {
        let kubeconfig = installation.kubeconfig();
        let mut command = pintle(&installation.path(""));
        let output = command.arg("top").args(arguments).arg("--kubeconfig").arg(kubeconfig).output().expect("an end");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, page, errors) = top(&["--once"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(page.contains("v1.36") && page.contains("memory "), "{page}");
    let row = page.lines().find(|line| line.starts_with("POST") && line.contains("configmaps")).expect("a row");
    let words: Vec<&str> = row.split_whitespace().collect();
    assert!(words.len() == 5 && words[2] == "3" && words[3].ends_with("ms"), "{row}");
    let (code, _, errors) = top(&["--twice"]);
    assert!(code == Some(2) && errors.contains("unknown flag: --twice"), "{errors}");
    drop(process);
    let (code, _, errors) = top(&["--once"]);
    assert!(code == Some(2) && errors.contains("connection refused"), "{errors}");
}

#[test]
fn the_dashboard_asks_for_metrics_that_there_are() {
    let dashboard = include_str!("../../../../docs/monitoring/grafana.json");
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory"]);
    let metrics = process.endpoint().client().get("/metrics").answer().text();
    let is_metric = |word: &&str| ["apiserver_", "process_", "workqueue_"].iter().any(|start| word.starts_with(start));
    let words = dashboard.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut asked = 0;
    for name in words.filter(is_metric) {
        let family = name.strip_suffix("_bucket").unwrap_or(name);
        assert!(metrics.contains(&format!("# TYPE {family} ")), "{family}");
        asked += 1;
    }
    assert!(asked > 10, "{asked}");
}

#[test]
fn each_store_has_a_size() {
    let installation = Installation::own();
    for storage in ["--storage=memory", "--storage=embedded"] {
        let process = installation.start_with(&[storage]);
        let metrics = process.endpoint().client().get("/metrics").answer().text();
        let of = |line: &str| {
            line.strip_prefix("apiserver_storage_size_bytes{storage_cluster_id=\"etcd-0\"} ")?.parse().ok()
        };
        let sizes: Vec<u64> = metrics.lines().filter_map(of).collect();
        assert!(matches!(sizes[..], [size] if size > 0), "{storage}: {sizes:?}");
    }
}
