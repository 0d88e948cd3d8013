//! Objects as they come to be validated: canonical, with their defaults. Shared by the bound on allocations and the bench.
//! Guarantees that they are valid. Must never grow smaller, or the bounds mean less.

use pintle_codec::json;
use pintle_schema::gates::{DECLARATIVE_VALIDATION, DECLARATIVE_VALIDATION_BETA};
use pintle_schema::{ApiType, GateSet, Struct, Value, canonicalize, value};
use pintle_types::core::v1::{ConfigMap, Pod};
use pintle_validation::{Operation, Request};
use std::sync::LazyLock;

fn container(name: &str) -> Value {
    value!({
        "name": name,
        "image": "registry.example.com/team/app:1.2.3",
        "args": ["--verbose", "--port=8080"],
        "ports": [{ "name": "http", "containerPort": 8080, "protocol": "TCP" }],
        "env": [
            { "name": "MODE", "value": "production" },
            { "name": "NODE", "valueFrom": { "fieldRef": { "apiVersion": "v1", "fieldPath": "spec.nodeName" } } },
        ],
        "resources": { "limits": { "cpu": "500m", "memory": "256Mi" }, "requests": { "cpu": "250m", "memory": "128Mi" } },
        "volumeMounts": [{ "name": "config", "mountPath": "/etc/app" }],
        "readinessProbe": {
            "httpGet": { "path": "/ready", "port": 8080, "scheme": "HTTP" },
            "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
        },
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": { "runAsNonRoot": true, "capabilities": { "drop": ["ALL"] } },
    })
}

fn metadata() -> Value {
    value!({
        "name": "app-6d4cf56db6-x7x2k",
        "namespace": "default",
        "uid": "0c4e5a52-9c4b-4a4e-9d57-0b8a3a0f8a3c",
        "creationTimestamp": "2025-01-01T00:00:00Z",
        "labels": { "app": "app", "app.kubernetes.io/name": "app", "pod-template-hash": "6d4cf56db6" },
        "annotations": { "example.com/checksum": "0123456789abcdef" },
        "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "app-6d4cf56db6",
            "uid": "c2b0a4a6-7e0f-4f0c-8d6c-7a9b1c2d3e4f", "controller": true, "blockOwnerDeletion": true,
        }],
    })
}

/// As the server reads it from a request or from its store.
fn read(schema: &'static Struct, mut value: Value) -> Value {
    canonicalize(schema, &mut value);
    json::decode_trusted(schema, &json::to_vec(&value)).expect("what is canonical can be read")
}

fn canonical(schema: &'static Struct, value: Value) -> (&'static Struct, Value) {
    (schema, read(schema, value))
}

/// A pod with three containers, as a controller makes them.
pub fn pod() -> (&'static Struct, Value) {
    let spec = value!({
        "volumes": [{ "name": "config", "configMap": { "name": "app", "defaultMode": 420 } }],
        "containers": [(container("one")), (container("two")), (container("three"))],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "securityContext": { "fsGroup": 1000 },
        "schedulerName": "default-scheduler",
        "tolerations": [{
            "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
        }],
        "enableServiceLinks": true,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
    });
    canonical(
        Pod::schema(),
        value!({ "metadata": (metadata()), "spec": spec, "status": { "phase": "Pending", "qosClass": "Burstable" } }),
    )
}

/// A ConfigMap with two entries.
pub fn config_map() -> (&'static Struct, Value) {
    let data = value!({ "app.properties": "a=1\nb=2\n", "mode": "production" });
    canonical(ConfigMap::schema(), value!({ "metadata": (metadata()), "data": data }))
}

/// The object with one label changed.
pub fn relabelled(schema: &'static Struct, object: &Value) -> Value {
    let mut new = object.clone();
    new.set_at(&["metadata", "labels", "app"], "other");
    read(schema, new)
}

/// The gates that decide which rules of tags run.
pub fn gates() -> &'static GateSet {
    static GATES: LazyLock<GateSet> =
        LazyLock::new(|| GateSet::only([&DECLARATIVE_VALIDATION, &DECLARATIVE_VALIDATION_BETA]));
    &GATES
}

/// A request as the server's, with the gates of a release.
pub fn request(operation: Operation) -> Request<'static> {
    Request {
        name_check: &|name, _| pintle_schema::names::dns1123_subdomain(name),
        gates: gates(),
        ..Request::new(operation)
    }
}
