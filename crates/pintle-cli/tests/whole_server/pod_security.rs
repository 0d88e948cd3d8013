//! The pod security standards on a server: differences of older versions, and the metrics. Guarantees that the counts of a new
//! server are those of the test's requests. Must never repeat the rows of the standards: these are tested next to the code.

use crate::common::http::Answered;
use crate::common::http::{Answer, Client};
use crate::common::in_process::InProcess;
use serde_json::{Value, json};

fn namespace(client: &mut Client, name: &str, labels: &[(&str, &str)]) {
    let labels = labels.iter().map(|(key, value)| (format!("pod-security.kubernetes.io/{key}"), json!(value)));
    let labels: serde_json::Map<String, Value> = labels.collect();
    let namespace = json!({"metadata": {"name": name, "labels": labels}});
    client.post("/api/v1/namespaces", &namespace).expect_status(201);
    let account = json!({"metadata": {"name": "default"}});
    client.post(&format!("/api/v1/namespaces/{name}/serviceaccounts"), &account).expect_status(201);
}

fn post(client: &mut Client, namespace: &str, spec: &Value) -> Answer {
    let annotations = json!({"seccomp.security.alpha.kubernetes.io/pod": "unconfined"});
    let pod = json!({"metadata": {"generateName": "p-", "annotations": annotations}, "spec": spec});
    client.post(&format!("/api/v1/namespaces/{namespace}/pods"), &pod).answer()
}

/// The samples of a metric that are not zero, with their labels.
fn samples(client: &mut Client, metric: &str) -> Vec<String> {
    let text = client.get("/metrics").answer().text();
    let lines = text.lines().filter_map(|line| line.strip_prefix(metric)?.strip_prefix('{'));
    lines.filter(|line| !line.ends_with("} 0")).map(|line| line.replace('"', "")).collect()
}

#[test]
fn evaluations_are_counted_and_old_annotations_checked() {
    let server = InProcess::start();
    let mut client = server.client();
    namespace(&mut client, "open", &[]);
    namespace(&mut client, "old", &[("enforce", "baseline"), ("enforce-version", "v1.18")]);
    namespace(&mut client, "new", &[("enforce", "baseline"), ("enforce-version", "v1.99")]);
    namespace(&mut client, "reported", &[("warn", "baseline"), ("audit", "restricted"), ("audit-version", "v1.25")]);
    let plain = json!({"containers": [{"name": "c", "image": "i"}]});
    let open = json!({"hostNetwork": true, "containers": [{"name": "c", "image": "i"}]});
    let status = post(&mut client, "old", &plain).expect(403);
    let message = status["message"].as_str().unwrap_or_default().to_owned();
    let why = "violates PodSecurity \"baseline:v1.18\": seccompProfile (forbidden annotation \
               seccomp.security.alpha.kubernetes.io/pod=\"unconfined\")";
    assert!(message.ends_with(why), "{message}");
    for (namespace, spec, code) in
        [("open", &open, 201), ("new", &plain, 201), ("new", &open, 403), ("reported", &open, 201)]
    {
        post(&mut client, namespace, spec).expect(code);
    }
    let template = json!({"metadata": {"name": "t"}, "template": {"spec": open}});
    client.post("/api/v1/namespaces/reported/podtemplates", &template).expect_status(201);
    let of = |resource: &str| format!("request_operation=create,resource={resource},subresource=}} 1");
    let expected = [
        format!("decision=allow,mode=enforce,policy_level=baseline,policy_version=future,{}", of("pod")),
        format!(
            "decision=allow,mode=enforce,policy_level=privileged,policy_version=latest,{}",
            of("pod").replace("} 1", "} 2")
        ),
        format!("decision=deny,mode=enforce,policy_level=baseline,policy_version=future,{}", of("pod")),
        format!("decision=deny,mode=enforce,policy_level=baseline,policy_version=v1.18,{}", of("pod")),
        format!("decision=deny,mode=warn,policy_level=baseline,policy_version=latest,{}", of("controller")),
        format!("decision=deny,mode=warn,policy_level=baseline,policy_version=latest,{}", of("pod")),
        format!("decision=deny,mode=audit,policy_level=restricted,policy_version=v1.25,{}", of("controller")),
        format!("decision=deny,mode=audit,policy_level=restricted,policy_version=v1.25,{}", of("pod")),
    ];
    let mut counted = samples(&mut client, "pod_security_evaluations_total");
    let mut expected = expected.to_vec();
    counted.sort();
    expected.sort();
    assert_eq!(counted, expected);
    assert_eq!(samples(&mut client, "pod_security_errors_total"), Vec::<String>::new());
}
