//! Tests of the defaults of the core group.
//!
//! Rows have the input, and the fields of the output that matter.

use super::{at, row};
use pintle_schema::{Value, value as v};
use pintle_types::apps::v1::Deployment;
use pintle_types::core::v1::{
    Container, EphemeralContainer, LimitRange, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod,
    PodTemplate, Probe, ReplicationController, Secret, Service, Volume,
};
use pintle_types::storage::v1::VolumeAttachment;

#[test]
fn a_pod_gets_its_constants() {
    row::<Pod>(
        v!({"spec": {"containers": [{"name": "c", "image": "i"}]}}),
        v!({"metadata": {}, "spec": {
            "containers": [{
                "name": "c", "image": "i", "resources": {}, "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File", "imagePullPolicy": "Always"
            }],
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
            "securityContext": {}, "schedulerName": "default-scheduler", "enableServiceLinks": true
        }, "status": {}}),
    );
    // Structs that are held by value are there although nobody wrote them.
    let spec = at::<Deployment>(v!({}), &["spec", "template", "spec"]);
    assert_eq!(spec.get("dnsPolicy"), Some(&Value::from("ClusterFirst")));
    assert_eq!(spec.get("enableServiceLinks"), None, "only of pods themselves");
    assert_eq!(
        at::<PodTemplate>(v!({"template": {"spec": null}}), &["template", "spec", "restartPolicy"]),
        "Always".into()
    );
    // Explicit zeros: pointers keep them, values do not.
    let kept = v!({"spec": {"terminationGracePeriodSeconds": 0, "schedulerName": "", "enableServiceLinks": false}});
    let spec = at::<Pod>(kept, &["spec"]);
    assert_eq!(spec.get("terminationGracePeriodSeconds"), Some(&Value::Int(0)));
    assert_eq!(spec.get("schedulerName"), Some(&Value::from("default-scheduler")));
    assert_eq!(spec.get("enableServiceLinks"), Some(&Value::Bool(false)));
}

#[test]
fn containers_probes_and_volumes() {
    for (image, wanted) in [("a:1", "IfNotPresent"), ("a:latest", "Always"), ("a", "Always")] {
        let policy = Value::from(wanted);
        let input = || v!({"name": "c", "image": image});
        assert_eq!(at::<Container>(input(), &["imagePullPolicy"]), policy);
        assert_eq!(at::<EphemeralContainer>(input(), &["imagePullPolicy"]), policy);
        let volume = v!({"name": "v", "image": {"reference": image}});
        assert_eq!(at::<Volume>(volume, &["image", "pullPolicy"]), policy);
    }
    row::<EphemeralContainer>(
        v!({"name": "c", "imagePullPolicy": "Never"}),
        v!({
            "name": "c", "resources": {}, "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File", "imagePullPolicy": "Never"
        }),
    );
    row::<Probe>(
        v!({"httpGet": {"port": 80}, "periodSeconds": 0, "grpc": {"port": 1}}),
        v!({
            "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, "grpc": {"port": 1, "service": ""},
            "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3
        }),
    );
    row::<Volume>(v!({"name": "v"}), v!({"name": "v", "emptyDir": {}}));
    row::<Volume>(v!({"name": "v", "secret": null}), v!({"name": "v", "emptyDir": {}}));
    row::<Volume>(v!({"name": "v", "nfs": {}}), v!({"name": "v", "nfs": {"server": "", "path": ""}}));
    row::<Volume>(v!({"name": "v", "secret": {}}), v!({"name": "v", "secret": {"defaultMode": 420}}));
    row::<Volume>(
        v!({"name": "v", "hostPath": {"path": "/"}}),
        v!({"name": "v", "hostPath": {"path": "/", "type": ""}}),
    );
    row::<Volume>(
        v!({"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, null]}}),
        v!({"name": "v", "projected": {
            "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}, {}], "defaultMode": 420
        }}),
    );
    row::<Volume>(
        v!({"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}),
        v!({"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Filesystem"}}}}),
    );
}

#[test]
fn containers_request_what_they_are_limited_to_in_pods_only() {
    let spec = || {
        v!({"containers": [{
            "name": "c", "image": "i:1", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}
        }], "initContainers": [{"name": "i", "image": "i:1", "resources": {"limits": {"cpu": "2"}}}]})
    };
    let of = |spec: &Value, list: &str| {
        let container = spec.get(list).and_then(Value::as_list).and_then(<[Value]>::first).cloned().unwrap_or_default();
        container.at(&["resources", "requests"]).cloned().unwrap_or_default()
    };
    let pod = at::<Pod>(v!({"spec": (spec())}), &["spec"]);
    assert_eq!(of(&pod, "containers"), v!({"cpu": "500m", "memory": "1Gi"}));
    assert_eq!(of(&pod, "initContainers"), v!({"cpu": "2"}));
    let template = at::<Deployment>(v!({"spec": {"template": {"spec": (spec())}}}), &["spec", "template", "spec"]);
    assert_eq!(of(&template, "containers"), v!({"cpu": "500m"}));
    assert_eq!(of(&template, "initContainers"), Value::Null);
}

#[test]
fn pods_limited_as_a_whole_request_what_their_containers_do() {
    let requests = |resources: Value| {
        let pod = v!({"spec": {
            "resources": resources,
            "containers": [
                {"name": "a", "resources": {"requests": {"cpu": "100m", "example.com/x": "1"}}},
                {"name": "b", "resources": {"requests": {"cpu": "200m"}, "limits": {"hugepages-2Mi": "4Mi"}}}
            ],
            "initContainers": [
                {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "50m"}}},
                {"name": "i", "resources": {"requests": {"cpu": "400m", "memory": "64Mi"}}}
            ]
        }});
        at::<Pod>(pod, &["spec", "resources"])
    };
    assert_eq!(requests(v!({})), v!({}), "without limits nothing");
    assert_eq!(
        requests(v!({"limits": {"memory": "1Gi", "hugepages-1Gi": "1Gi", "example.com/y": "1"}})),
        v!({
            "limits": {"memory": "1Gi", "hugepages-1Gi": "1Gi", "example.com/y": "1", "hugepages-2Mi": "4Mi"},
            "requests": {"cpu": "450m", "memory": "64Mi", "hugepages-1Gi": "1Gi", "hugepages-2Mi": "4Mi"}
        })
    );
    assert_eq!(
        requests(v!({"limits": {"cpu": "2"}, "requests": {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "2Mi"}})),
        v!({"limits": {"cpu": "2"}, "requests": {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "2Mi"}})
    );
}

#[test]
fn ports_on_the_host_network() {
    let ports = |host_network: bool| {
        let container =
            v!({"name": "c", "ports": [{"containerPort": 80, "hostPort": 0}, {"containerPort": 81, "hostPort": 82}]});
        let spec =
            at::<Pod>(v!({"spec": {"hostNetwork": host_network, "containers": [container]}}), &["spec", "containers"]);
        let of = |port: &Value| port.get("hostPort").and_then(Value::as_i64).unwrap_or(0);
        let containers = spec.as_list().unwrap_or_default();
        containers
            .iter()
            .flat_map(|c| c.get("ports").and_then(Value::as_list).unwrap_or_default())
            .map(of)
            .collect::<Vec<_>>()
    };
    assert_eq!(ports(true), [80, 82]);
    assert_eq!(ports(false), [0, 82]);
}

#[test]
fn services_by_type() {
    row::<Service>(
        v!({"spec": {"ports": [{"port": 80}, {"port": 81, "targetPort": "web", "protocol": "UDP"}, {"port": 82, "targetPort": 0}, {"port": 0, "targetPort": ""}]}}),
        v!({"metadata": {}, "spec": {
            "ports": [
                {"protocol": "TCP", "port": 80, "targetPort": 80}, {"protocol": "UDP", "port": 81, "targetPort": "web"},
                {"protocol": "TCP", "port": 82, "targetPort": 82}, {"protocol": "TCP", "port": 0, "targetPort": 0}
            ],
            "type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"
        }, "status": {"loadBalancer": {}}}),
    );
    row::<Service>(
        v!({"spec": {"externalIPs": ["1.2.3.4"], "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 1}}}}),
        v!({"spec": {
            "type": "ClusterIP", "externalIPs": ["1.2.3.4"], "sessionAffinity": "None", "externalTrafficPolicy": "Cluster",
            "internalTrafficPolicy": "Cluster"
        }}),
    );
    row::<Service>(
        v!({"spec": {"type": "LoadBalancer", "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {}}},
            "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "h"}, {"ip": "1.2.3.5", "ipMode": "Proxy"}]}}}),
        v!({"spec": {
            "type": "LoadBalancer", "sessionAffinity": "ClientIP", "externalTrafficPolicy": "Cluster",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}, "allocateLoadBalancerNodePorts": true,
            "internalTrafficPolicy": "Cluster"
        }, "status": {"loadBalancer": {"ingress": [
            {"ip": "1.2.3.4", "ipMode": "VIP"}, {"hostname": "h"}, {"ip": "1.2.3.5", "ipMode": "Proxy"}
        ]}}}),
    );
    row::<Service>(
        v!({"spec": {"type": "ExternalName", "externalName": "a.b"}}),
        v!({"spec": {"type": "ExternalName", "externalName": "a.b", "sessionAffinity": "None"}}),
    );
}

#[test]
fn quantities_are_rounded_up_in_the_core_group() {
    let rows = [
        ("100u", "1m"),
        ("1500u", "2m"),
        ("1n", "1m"),
        ("1", "1"),
        ("1E", "1E"),
        ("1Ei", "1Ei"),
        ("1e3", "1e3"),
        ("999999u", "1"),
    ];
    for (given, wanted) in rows {
        let node = v!({"status": {"capacity": {"cpu": given}}});
        assert_eq!(at::<Node>(node, &["status", "capacity", "cpu"]), Value::from(wanted), "{given}");
    }
}

#[test]
fn the_core_group() {
    row::<ReplicationController>(
        v!({"metadata": {"name": "a"}, "spec": {"selector": {}, "template": {"metadata": {"labels": {"a": "b"}}}}}),
        v!({"metadata": {"name": "a", "labels": {"a": "b"}}, "spec": {
            "replicas": 1, "selector": {"a": "b"}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
                "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
                "securityContext": {}, "schedulerName": "default-scheduler"
            }}
        }}),
    );
    row::<Namespace>(
        v!({"metadata": {"name": "a", "labels": {"kubernetes.io/metadata.name": "b"}}}),
        v!({"metadata": {"name": "a", "labels": {"kubernetes.io/metadata.name": "a"}}, "status": {"phase": "Active"}}),
    );
    row::<Namespace>(
        v!({"metadata": {"generateName": "a"}}),
        v!({"metadata": {"generateName": "a"}, "status": {"phase": "Active"}}),
    );
    assert_eq!(at::<Node>(v!({"status": {"capacity": {"cpu": "1"}}}), &["status", "allocatable"]), v!({"cpu": "1"}));
    row::<LimitRange>(
        v!({"spec": {"limits": [
            {"type": "Container", "max": {"cpu": "2", "memory": "2"}, "default": {"cpu": "1"}, "min": {"x": "1"}},
            {"type": "Pod", "max": {"cpu": "2"}}
        ]}}),
        v!({"spec": {"limits": [
            {"type": "Container", "max": {"cpu": "2", "memory": "2"}, "min": {"x": "1"},
             "default": {"cpu": "1", "memory": "2"}, "defaultRequest": {"cpu": "1", "memory": "2", "x": "1"}},
            {"type": "Pod", "max": {"cpu": "2"}}
        ]}}),
    );
    row::<Secret>(v!({"metadata": {}}), v!({"metadata": {}, "type": "Opaque"}));
    let volume = v!({"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"});
    row::<PersistentVolume>(v!({}), v!({"spec": volume, "status": {"phase": "Pending"}}));
    row::<VolumeAttachment>(
        v!({"spec": {"source": {"inlineVolumeSpec": {"rbd": {"monitors": ["m"], "image": "i"}, "capacity": {"storage": "1u"}}}}}),
        v!({"spec": {"source": {"inlineVolumeSpec": {
            "capacity": {"storage": "1m"},
            "rbd": {"monitors": ["m"], "image": "i", "pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}
        }}}}),
    );
    row::<PersistentVolumeClaim>(v!({}), v!({"spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}}));
}
