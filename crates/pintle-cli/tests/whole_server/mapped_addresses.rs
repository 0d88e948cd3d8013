//! IPv4-mapped IPv6 addresses, `::ffff:1.2.3.4`, in every field with addresses. Guarantees kube-apiserver's causes where they
//! were recorded: such an address is rejected, and counts as its IPv4 address in further causes. Must never depend on allocated
//! addresses: nothing is stored.

use crate::common::fixture::populate;
use crate::common::http::Answered;
use crate::common::http::MERGE_PATCH;
use crate::common::process::Installation;
use serde_json::{Value, json};

const ADDRESS: &str = "Invalid value: \"::ffff:1.2.3.4\": must not be an IPv4-mapped IPv6 address";
const BLOCK: &str = "Invalid value: \"::ffff:1.2.3.0/120\": must not have an IPv4-mapped IPv6 address";
const ONE_EACH: &str = "may specify no more than one IP for each IP family";

/// A rejected request, and its causes: field and message.
struct Row {
    method: &'static str,
    path: &'static str,
    object: Value,
    causes: Vec<(&'static str, String)>,
}

fn create(path: &'static str, mut object: Value, causes: &[(&'static str, &str)]) -> Row {
    object["metadata"]["name"] = json!("mapped");
    Row {
        causes: causes.iter().map(|(field, text)| (*field, (*text).to_owned())).collect(),
        ..row("POST", path, object)
    }
}

fn patch(path: &'static str, object: Value, causes: &[(&'static str, &str)]) -> Row {
    Row {
        causes: causes.iter().map(|(field, text)| (*field, (*text).to_owned())).collect(),
        ..row("PATCH", path, object)
    }
}

fn row(method: &'static str, path: &'static str, object: Value) -> Row {
    Row { method, path, object, causes: Vec::new() }
}

const SERVICES: &str = "/api/v1/namespaces/default/services";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const POLICIES: &str = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";

fn services_and_nodes() -> Vec<Row> {
    let service = |spec: Value| {
        let mut service = json!({"spec": {"ports": [{"port": 80}]}});
        let fields = spec.as_object().expect("fields").clone();
        service["spec"].as_object_mut().expect("a spec").extend(fields);
        service
    };
    let nodes = "/api/v1/nodes";
    let both = |blocks: Value| json!({ "spec": { "podCIDRs": blocks } });
    vec![
        create(SERVICES, service(json!({"clusterIP": "::ffff:1.2.3.4"})), &[("spec.clusterIPs[0]", ADDRESS)]),
        create(
            SERVICES,
            service(json!({"clusterIP": "10.0.0.200", "clusterIPs": ["10.0.0.200", "::ffff:1.2.3.4"]})),
            &[("spec.clusterIPs[1]", ADDRESS)],
        ),
        create(SERVICES, service(json!({"externalIPs": ["::ffff:1.2.3.4"]})), &[("spec.externalIPs[0]", ADDRESS)]),
        create(
            SERVICES,
            service(json!({"type": "LoadBalancer", "loadBalancerSourceRanges": ["::ffff:1.2.3.0/120"]})),
            &[("spec.LoadBalancerSourceRanges[0]", BLOCK)],
        ),
        patch(
            "/api/v1/namespaces/default/services/s/status",
            json!({"status": {"loadBalancer": {"ingress": [{"ip": "::ffff:1.2.3.4"}]}}}),
            &[("status.loadBalancer.ingress[0].ip", ADDRESS)],
        ),
        create(nodes, both(json!(["::ffff:1.2.3.0/120"])), &[("spec.podCIDRs[0]", BLOCK)]),
        create(nodes, both(json!(["::ffff:1.2.3.0/120", "fd00::/64"])), &[("spec.podCIDRs[0]", BLOCK)]),
        create(
            nodes,
            both(json!(["10.1.0.0/24", "::ffff:1.2.3.0/120"])),
            &[
                ("spec.podCIDRs[1]", BLOCK),
                (
                    "spec.podCIDRs",
                    "Invalid value: [\"10.1.0.0/24\",\"::ffff:1.2.3.0/120\"]: may specify no more than one CIDR for each IP family",
                ),
            ],
        ),
    ]
}

fn pods() -> Vec<Row> {
    let status = "/api/v1/namespaces/default/pods/p/status";
    let pod = |spec: Value| {
        let mut pod = json!({"spec": {"containers": [{"name": "c", "image": "i"}]}});
        pod["spec"].as_object_mut().expect("a spec").extend(spec.as_object().expect("fields").clone());
        pod
    };
    let pods = "/api/v1/namespaces/default/pods";
    let twice = |addresses: &str| format!("Invalid value: {addresses}: {ONE_EACH}");
    vec![
        create(
            pods,
            pod(json!({"hostAliases": [{"ip": "::ffff:1.2.3.4", "hostnames": ["a"]}]})),
            &[("spec.hostAliases[0].ip", ADDRESS)],
        ),
        create(
            pods,
            pod(json!({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["::ffff:1.2.3.4"]}})),
            &[("spec.dnsConfig.nameservers[0]", ADDRESS)],
        ),
        patch(
            status,
            json!({"status": {"podIP": "::ffff:1.2.3.4", "podIPs": [{"ip": "::ffff:1.2.3.4"}]}}),
            &[("status.podIPs[0]", ADDRESS)],
        ),
        patch(
            status,
            json!({"status": {"podIP": "::ffff:1.2.3.4", "podIPs": [{"ip": "::ffff:1.2.3.4"}, {"ip": "fd00::1"}]}}),
            &[("status.podIPs[0]", ADDRESS)],
        ),
        patch(
            status,
            json!({"status": {"podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}, {"ip": "::ffff:1.2.3.4"}]}}),
            &[
                ("status.podIPs[1]", ADDRESS),
                ("status.podIPs", &twice("[{\"IP\":\"10.1.2.3\"},{\"IP\":\"::ffff:1.2.3.4\"}]")),
            ],
        ),
        patch(
            status,
            json!({"status": {"hostIP": "10.1.2.3", "hostIPs": [{"ip": "10.1.2.3"}, {"ip": "::ffff:1.2.3.4"}]}}),
            &[
                ("status.hostIPs[1]", ADDRESS),
                ("status.hostIPs", &twice("[{\"IP\":\"10.1.2.3\"},{\"IP\":\"::ffff:1.2.3.4\"}]")),
            ],
        ),
    ]
}

fn networks() -> Vec<Row> {
    let slice =
        |kind: &str| json!({"addressType": kind, "endpoints": [{"addresses": ["::ffff:1.2.3.4"]}], "ports": []});
    let policy = |block: Value| json!({"spec": {"podSelector": {}, "ingress": [{"from": [{ "ipBlock": block }]}]}});
    let ranges = "/apis/networking.k8s.io/v1/servicecidrs";
    vec![
        create(SLICES, slice("IPv4"), &[("endpoints[0].addresses[0]", ADDRESS)]),
        create(SLICES, slice("IPv6"), &[("endpoints[0].addresses[0]", ADDRESS)]),
        create(
            "/api/v1/namespaces/default/endpoints",
            json!({"subsets": [{"addresses": [{"ip": "::ffff:1.2.3.4"}], "ports": [{"port": 80}]}]}),
            &[("subsets[0].addresses[0].ip", ADDRESS)],
        ),
        create(
            POLICIES,
            policy(json!({"cidr": "::ffff:1.2.3.0/120"})),
            &[("spec.ingress[0].from[0].ipBlock.cidr", BLOCK)],
        ),
        // It lies within the IPv4 block.
        create(
            POLICIES,
            policy(json!({"cidr": "1.2.0.0/16", "except": ["::ffff:1.2.3.0/120"]})),
            &[("spec.ingress[0].from[0].ipBlock.except[0]", BLOCK)],
        ),
        create(ranges, json!({"spec": {"cidrs": ["::ffff:1.2.3.0/120"]}}), &[("spec.cidrs[0]", BLOCK)]),
        create(
            ranges,
            json!({"spec": {"cidrs": ["10.98.0.0/24", "::ffff:1.2.3.0/120"]}}),
            &[
                ("spec.cidrs[1]", BLOCK),
                (
                    "spec.cidrs",
                    "Invalid value: [\"10.98.0.0/24\",\"::ffff:1.2.3.0/120\"]: may specify no more than one IP for each IP family, \
                     i.e 192.168.0.0/24 and 2001:db8::/64",
                ),
            ],
        ),
    ]
}

#[test]
fn a_mapped_address_is_refused_wherever_addresses_are() {
    let installation = Installation::own();
    let process = installation.start();
    let endpoint = process.endpoint();
    populate(&endpoint, 1);
    let balanced = json!({"metadata": {"name": "s"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}});
    endpoint.client().post(SERVICES, &balanced).expect_status(201);
    let mut wrong = Vec::new();
    for Row { method, path, object, causes } in services_and_nodes().into_iter().chain(pods()).chain(networks()) {
        let content_type = if method == "PATCH" { MERGE_PATCH } else { "application/json" };
        let target = format!("{path}?dryRun=All");
        let answer = endpoint.client().send(method, &target, content_type, object.to_string().as_bytes());
        let answer = answer.answer().json();
        let found: Vec<(String, String)> = answer["details"]["causes"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|cause| {
                let text = |field: &str| cause[field].as_str().unwrap_or_default().to_owned();
                (text("field"), text("message"))
            })
            .collect();
        let expected: Vec<(String, String)> =
            causes.into_iter().map(|(field, text)| (field.to_owned(), text)).collect();
        if found != expected {
            wrong.push(format!("{path} {object}\n expected {expected:?}\n found    {found:?} {}", answer["message"]));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
