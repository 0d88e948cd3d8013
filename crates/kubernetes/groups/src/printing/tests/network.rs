//! Tests of the cells of services, endpoints, ingresses and nodes.
//!
//! Rows of objects and cells. Nothing depends on the time of the run.

use super::{HOUR_AGO, check, check_row, v};
use pintle_schema::{Value, value};

#[test]
fn services() {
    let balancer = value!({"loadBalancer": {"ingress": [{"ip": "5.6.7.8"}, {"hostname": "b.example.com"}, {"ip": "1.2.3.4"}, {"ip": "5.6.7.8"}]}});
    let rows = [
        (value!({"type": "ClusterIP"}), "<none>"),
        (value!({"type": "NodePort", "externalIPs": ["1.1.1.1", "2.2.2.2"]}), "1.1.1.1,2.2.2.2"),
        (value!({"type": "ExternalName", "externalName": "e.example.com"}), "e.example.com"),
        (value!({"type": "Other"}), "<unknown>"),
    ];
    for (spec, expected) in rows {
        check("", "Service", value!({"spec": (spec)}), &[("External-IP", v(expected))]);
    }
    let rows = [
        (value!({"type": "LoadBalancer"}), value!({}), "<pending>"),
        (value!({"type": "LoadBalancer"}), balancer.clone(), "1.2.3.4,5.6.7.8,b.example.com"),
        (
            value!({"type": "LoadBalancer", "externalIPs": ["0.0.0.1"]}),
            balancer,
            "1.2.3.4,5.6.7.8,b.example.com,0.0.0.1",
        ),
    ];
    for (spec, status, expected) in rows {
        check("", "Service", value!({"spec": (spec), "status": (status)}), &[("External-IP", v(expected))]);
    }
    check_row(
        "",
        "Service",
        value!({
            "metadata": {"name": "s", "creationTimestamp": HOUR_AGO},
            "spec": {
                "type": "NodePort", "clusterIPs": ["10.0.0.1", "fd00::1"], "selector": {"b": "2", "a": "1"},
                "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}]
            }
        }),
        value!(["s", "NodePort", "10.0.0.1", "<none>", "80:30080/TCP,53/UDP", "60m", "a=1,b=2"]),
    );
}

#[test]
fn endpoints() {
    let addresses = value!([{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]);
    let rows = [
        (value!([]), "<none>"),
        (value!([{"addresses": (addresses.clone())}]), "10.0.0.1,fd00::1"),
        (value!([{"addresses": (addresses.clone()), "ports": [{"port": 80}]}]), "10.0.0.1:80,[fd00::1]:80"),
        (
            value!([{"addresses": (addresses.clone()), "ports": [{"port": 80}, {"port": 81}]}, {"addresses": (addresses)}]),
            "10.0.0.1:80,[fd00::1]:80,10.0.0.1:81 + 3 more...",
        ),
        (value!([{"notReadyAddresses": [{"ip": "10.0.0.1"}]}]), ""),
    ];
    for (subsets, expected) in rows {
        check("", "Endpoints", value!({"subsets": (subsets)}), &[("Endpoints", v(expected))]);
    }
    let rows = [
        (value!({}), "<unset>", "<unset>"),
        (
            value!({"ports": [{"port": 80}, {"name": "x"}, {}], "endpoints": [{"addresses": ["a", "b"]}]}),
            "80,x,*",
            "a,b",
        ),
        (
            value!({"ports": [{"port": 1}, {"port": 2}, {"port": 3}, {"port": 4}], "endpoints": [{"addresses": ["a", "b"]}, {"addresses": ["c", "d", "e"]}]}),
            "1,2,3 + 1 more...",
            "a,b,c + 2 more...",
        ),
    ];
    for (slice, ports, addresses) in rows {
        check("discovery.k8s.io", "EndpointSlice", slice, &[("Ports", v(ports)), ("Endpoints", v(addresses))]);
    }
}

#[test]
fn ingresses() {
    let host = |host: &str| value!({"host": host});
    let rows = [
        (vec![], "*"),
        (vec![host("")], "*"),
        (vec![host("a"), host(""), host("b")], "a,b"),
        (vec![host("a"), host("b"), host("c")], "a,b,c"),
        (vec![host("a"), host("b"), host("c"), host("")], "a,b,c + 1 more..."),
        (vec![host("a"), host(""), host("b"), host("c"), host("d")], "a,b,c + 2 more..."),
    ];
    for (rules, expected) in rows {
        let object = value!({"spec": {"rules": (Value::List(rules))}});
        check(
            "networking.k8s.io",
            "Ingress",
            object,
            &[("Hosts", v(expected)), ("Ports", v("80")), ("Class", v("<none>"))],
        );
    }
    let object = value!({
        "spec": {"tls": [{}], "ingressClassName": "c"},
        "status": {"loadBalancer": {"ingress": [{"hostname": "h"}, {"ip": "1.2.3.4"}]}}
    });
    check(
        "networking.k8s.io",
        "Ingress",
        object,
        &[("Ports", v("80, 443")), ("Class", v("c")), ("Address", v("1.2.3.4,h"))],
    );
    check_row(
        "networking.k8s.io",
        "IngressClass",
        value!({
            "metadata": {"name": "c", "creationTimestamp": HOUR_AGO, "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
            "spec": {"controller": "x", "parameters": {"apiGroup": "g.io", "kind": "P", "name": "n"}}
        }),
        value!(["c (default)", "x", "P.g.io/n", "60m"]),
    );
    // A cell without a column.
    check_row(
        "networking.k8s.io",
        "IPAddress",
        value!({
            "metadata": {"name": "10.0.0.1", "creationTimestamp": HOUR_AGO},
            "spec": {"parentRef": {"resource": "services", "namespace": "n", "name": "s"}}
        }),
        value!(["10.0.0.1", "services/n/s", "60m"]),
    );
}

#[test]
fn nodes() {
    check_row(
        "",
        "Node",
        value!({"metadata": {"name": "n"}}),
        value!(["n", "Unknown", "<none>", "<unknown>", "", "<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"]),
    );
    check_row(
        "",
        "Node",
        value!({
            "metadata": {
                "name": "n", "creationTimestamp": HOUR_AGO,
                "labels": {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/": "", "kubernetes.io/role": "master", "x": "y"}
            },
            "spec": {"unschedulable": true},
            "status": {
                "conditions": [{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
                "addresses": [{"type": "Hostname", "address": "h"}, {"type": "InternalIP", "address": "10.0.0.1"}, {"type": "InternalIP", "address": "fd00::1"}],
                "nodeInfo": {"kubeletVersion": "v1", "osImage": "o", "kernelVersion": "k", "architecture": "amd64", "containerRuntimeVersion": "r"}
            }
        }),
        value!([
            "n",
            "Ready,SchedulingDisabled",
            "master,worker",
            "60m",
            "v1",
            "10.0.0.1",
            "<none>",
            "o",
            "k (amd64)",
            "r"
        ]),
    );
    let not_ready = value!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}});
    check("", "Node", not_ready, &[("Status", v("NotReady"))]);
}
