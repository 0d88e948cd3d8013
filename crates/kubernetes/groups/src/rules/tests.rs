//! Tests of tags and handwritten rules together, on whole objects.

use crate::tests::resource_for;
use pintle_schema::{ApiType, Struct, Value, canonicalize, value};
use pintle_types::core::v1::{ConfigMap, ReplicationController};
use pintle_validation::{Operation, Request};

pub(crate) fn validate(schema: &'static Struct, new: &Value, old: Option<&Value>, subresource: &str) -> Vec<String> {
    validate_as(schema, new, old, Request { subresource, ..Request::new(Operation::Create) })
}

/// What is wrong with an object, or with one that replaces another.
pub(crate) fn validate_as(
    schema: &'static Struct,
    new: &Value,
    old: Option<&Value>,
    request: Request<'_>,
) -> Vec<String> {
    let canonical = |value: &Value| {
        let mut value = value.clone();
        canonicalize(schema, &mut value);
        value
    };
    let operation = if old.is_some() { Operation::Update } else { Operation::Create };
    let request = Request { operation, ..request };
    let verdict = resource_for(schema).rules.validate(schema, &canonical(new), old.map(canonical).as_ref(), &request);
    assert!(!verdict.panicked);
    verdict.errors.0.iter().map(|error| error.line()).collect()
}

fn config(data: Value) -> Value {
    let mut config = value!({"metadata": {"name": "a", "namespace": "b"}});
    config.as_map_mut().unwrap().entries_mut().extend(data.as_map().unwrap().entries().iter().cloned());
    config
}

#[test]
fn config_maps() {
    let schema = ConfigMap::schema();
    let good = config(value!({"data": {"a": "1"}, "immutable": true}));
    assert!(validate(schema, &good, None, "").is_empty());
    let bad = config(value!({"data": {"a": "1"}, "binaryData": {"a": "MQ=="}}));
    assert_eq!(
        validate(schema, &bad, None, ""),
        ["data[a]: Invalid value: \"a\": duplicate of key present in binaryData"]
    );
    let changed = config(value!({"data": {"a": "2"}}));
    let text = "Forbidden: field is immutable when `immutable` is set";
    assert_eq!(validate(schema, &changed, Some(&good), ""), [format!("immutable: {text}"), format!("data: {text}")]);
}

fn controller() -> Value {
    value!({
        "metadata": {"name": "a", "namespace": "b"},
        "spec": {
            "replicas": 1, "selector": {"a": "b"},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
                "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
                "containers": [{
                    "name": "c", "image": "i", "imagePullPolicy": "Always",
                    "terminationMessagePath": "/dev/log", "terminationMessagePolicy": "File"
                }]
            }}
        }
    })
}

#[test]
fn replication_controllers() {
    let schema = ReplicationController::schema();
    assert_eq!(validate(schema, &controller(), None, ""), Vec::<String>::new());
    let mut bad = controller();
    bad.set_at(&["spec", "replicas"], -1);
    bad.set_at(&["spec", "minReadySeconds"], -2);
    bad.set_at(&["spec", "selector", "a"], "c");
    let lines = validate(schema, &bad, None, "");
    assert_eq!(lines[0], "spec.minReadySeconds: Invalid value: -2: must be greater than or equal to 0");
    assert_eq!(lines[1], "spec.replicas: Invalid value: -1: must be greater than or equal to 0");
    assert!(lines[2].ends_with("`selector` does not match template `labels`"), "{lines:?}");
}

#[test]
fn unchanged_values_are_not_validated_again() {
    let schema = ReplicationController::schema();
    let mut old = controller();
    old.set_at(&["spec", "replicas"], -1);
    let mut new = old.clone();
    new.set_at(&["metadata", "labels", "x"], "y");
    assert_eq!(validate(schema, &new, Some(&old), ""), Vec::<String>::new());
    new.set_at(&["spec", "selector"], value!({"a": "c"}));
    assert_eq!(validate(schema, &new, Some(&old), "").len(), 1);
}

#[test]
fn a_status() {
    let schema = ReplicationController::schema();
    let mut new = controller();
    new.set_at(&["status"], value!({"replicas": 1, "readyReplicas": 2, "availableReplicas": (-1)}));
    assert_eq!(
        validate(schema, &new, Some(&controller()), "status"),
        [
            "status.availableReplicas: Invalid value: -1: must be greater than or equal to 0",
            "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        ]
    );
}
