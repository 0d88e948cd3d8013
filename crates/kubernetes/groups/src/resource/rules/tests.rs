//! Tests of the rules of claims, claim templates and slices, with the labels of their namespaces.
use pintle_schema::gates::ALL_GATES;

use crate::rules::tests::validate_as;
use pintle_schema::{ApiType, Struct, Value, value};
use pintle_types::resource::v1::{ResourceClaim, ResourceClaimTemplate, ResourceSlice};
use pintle_types::resource::v1alpha3::ResourcePoolStatusRequest;
use pintle_validation::{Operation, Refusal, Request, Right, ValidationEnvironment};
use std::sync::Mutex;

/// A namespace with one label, whatever its name.
struct Labelled(&'static str);

impl ValidationEnvironment for Labelled {
    fn namespace_label(&self, key: &str) -> Option<String> {
        (key == "resource.kubernetes.io/admin-access").then(|| self.0.to_owned())
    }
}

fn validate(schema: &'static Struct, new: &Value, old: Option<&Value>, subresource: &str) -> Vec<String> {
    validate_in(&(), schema, new, old, subresource)
}

fn validate_in(
    environment: &dyn ValidationEnvironment,
    schema: &'static Struct,
    new: &Value,
    old: Option<&Value>,
    subresource: &str,
) -> Vec<String> {
    let namespaced = schema.name.as_str() != "ResourceSlice";
    validate_as(
        schema,
        new,
        old,
        Request { subresource, namespaced, environment, gates: &ALL_GATES, ..Request::new(Operation::Create) },
    )
}

const FORBIDDEN: &str = "Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace";

fn devices() -> Value {
    let exactly = |admin: bool| value!({"deviceClassName": "gpu", "allocationMode": "All", "adminAccess": admin});
    value!({"devices": {"requests": [{"name": "a", "exactly": (exactly(false))}, {"name": "b", "exactly": (exactly(true))}]}})
}

#[test]
fn admin_access_is_the_namespaces_to_give() {
    let metadata = || value!({"name": "a", "namespace": "b"});
    let claim = value!({"metadata": (metadata()), "spec": (devices())});
    let template = value!({"metadata": (metadata()), "spec": {"spec": (devices())}});
    let reported = format!("spec.devices.requests[1].adminAccess: {FORBIDDEN}");
    for (schema, object) in [(ResourceClaim::schema(), &claim), (ResourceClaimTemplate::schema(), &template)] {
        assert_eq!(validate(schema, object, None, ""), [reported.as_str()]);
        assert_eq!(validate_in(&Labelled("false"), schema, object, None, ""), [reported.as_str()]);
        assert_eq!(validate_in(&Labelled("true"), schema, object, None, ""), [""; 0]);
        assert_eq!(validate(schema, object, Some(object), ""), [""; 0], "what was there stays");
    }
    // It stands before all else that is wrong.
    let mut wrong = claim;
    wrong.set_at(&["metadata", "labels", "a b"], "");
    let lines = validate(ResourceClaim::schema(), &wrong, None, "");
    assert_eq!((lines.len(), lines.first()), (2, Some(&reported)));
}

#[test]
fn admin_access_is_given_where_it_may_be() {
    let claim = |status: Value| {
        value!({"metadata": {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": "1"},
            "spec": (devices()), "status": status})
    };
    let given = value!({"request": "b", "driver": "d.example.com", "pool": "p", "device": "d", "adminAccess": true});
    let (before, after) = (claim(value!({})), claim(value!({"allocation": {"devices": {"results": [(given)]}}})));
    let schema = ResourceClaim::schema();
    let reported = format!("status.allocation.devices.results[0].adminAccess: {FORBIDDEN}");
    assert_eq!(validate(schema, &after, Some(&before), "status"), [reported]);
    assert_eq!(validate_in(&Labelled("true"), schema, &after, Some(&before), "status"), [""; 0]);
    assert_eq!(validate(schema, &after, Some(&after), "status"), [""; 0]);
}

/// Nobody has any right; what was asked for is kept.
#[derive(Default)]
struct Forbidding(Mutex<Vec<String>>);

impl ValidationEnvironment for Forbidding {
    fn refusal(&self, right: &Right<'_>) -> Option<Refusal> {
        let Right { subresource, namespace, name, node } = right;
        self.0.lock().unwrap().push(format!("{subresource} {namespace}/{name} {node:?}"));
        Some(Refusal { verbs: vec!["v".to_owned(), "w".to_owned()], why: "no".to_owned() })
    }
}

#[test]
fn what_a_claim_is_given_and_what_is_told_of_it_takes_rights() {
    let claim = |status: Value| {
        value!({"metadata": {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": "1"},
            "spec": (devices()), "status": status})
    };
    let result = |driver: &str| value!({"request": "b", "driver": driver, "pool": "p", "device": "d"});
    let allocation = |nodes: Value| {
        let field = value!({"key": "metadata.name", "operator": "In", "values": nodes});
        value!({"devices": {"results": [(result("d.example.com")), (result("e.example.com"))]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]}})
    };
    let reported = |driver: &str, ready: &str| {
        let condition = value!({"type": "Ready", "status": ready, "reason": "R", "message": "",
            "lastTransitionTime": "2020-01-01T00:00:00Z"});
        value!({"driver": driver, "pool": "p", "device": "d", "conditions": [condition]})
    };
    let (d, e) = ("d.example.com", "e.example.com");
    let with = |nodes: Value, devices: Value| claim(value!({"allocation": (allocation(nodes)), "devices": devices}));
    let before = with(value!(["n"]), value!([(reported(d, "True")), (reported(e, "True"))]));
    let rows = [
        (claim(value!({})), with(value!(["n"]), value!([])), vec!["binding / None"]),
        (before.clone(), before.clone(), vec![]),
        (
            before.clone(),
            with(value!(["n"]), value!([(reported(d, "True")), (reported(e, "False"))])),
            vec![r#"driver b/e.example.com Some("n")"#],
        ),
        (
            before.clone(),
            with(value!(["n"]), value!([(reported(e, "True"))])),
            vec![r#"driver b/d.example.com Some("n")"#],
        ),
        (
            with(value!(["n", "m"]), value!([])),
            with(value!(["n", "m"]), value!([(reported(e, "True")), (reported(d, "True"))])),
            vec![r#"driver b/d.example.com Some("")"#, r#"driver b/e.example.com Some("")"#],
        ),
        (before.clone(), claim(value!({})), vec!["binding / None"]),
    ];
    for (old, new, asked) in rows {
        let environment = Forbidding::default();
        let lines = validate_in(&environment, ResourceClaim::schema(), &new, Some(&old), "status");
        assert_eq!(environment.0.into_inner().unwrap(), asked);
        let expected = asked.iter().map(|right| match right.starts_with("binding") {
            true => {
                "status.allocation: Forbidden: changing status.allocation or status.reservedFor requires \
                     resource=\"resourceclaims/binding\", verb=\"vw\" permission: no"
            }
            false => {
                "status.devices: Forbidden: changing status.devices requires resource=\"resourceclaims/driver\", \
                      verb=\"[v w]\" permission: no"
            }
        });
        assert_eq!(lines, expected.collect::<Vec<_>>());
    }
}

#[test]
fn a_device_without_a_position_is_not_validated() {
    let slice = |each: bool| {
        let mut slice = value!({"metadata": {"name": "a"}, "spec": {
            "driver": "d.example.com", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "d", "nodeSelector": {"nodeSelectorTerms": []}}]}});
        slice.set_at(&["spec", if each { "perDeviceNodeSelection" } else { "allNodes" }], true);
        validate(ResourceSlice::schema(), &slice, None, "")
    };
    let inside = "spec.devices[0].nodeSelector.nodeSelectorTerms: ";
    assert!(slice(true).iter().all(|line| line.starts_with(inside)) && !slice(true).is_empty());
    assert_eq!(slice(false).len(), 1);
    assert!(slice(false)[0].starts_with("spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and "));
}

#[test]
fn repeated_devices_are_reported_after_all_devices() {
    let slice = value!({"metadata": {"name": "a"}, "spec": {"driver": "d.example.com", "nodeName": "n",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "d"}, {"name": "d"}, {"name": "e", "attributes": {"x": {}}}]}});
    assert_eq!(
        validate(ResourceSlice::schema(), &slice, None, ""),
        [
            "spec.devices[2].attributes[x]: Invalid value: \"\": exactly one value must be specified",
            "spec.devices[1]: Duplicate value: \"d\"",
        ]
    );
}

#[test]
fn an_item_that_stands_twice_is_shown_whole() {
    let condition = || {
        value!({"type": "Complete", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z", "reason": "R",
            "message": "m"})
    };
    let request = |conditions: Value| {
        value!({"metadata": {"name": "a", "uid": "u", "resourceVersion": "1"}, "spec": {"driver": "d.example.com"},
            "status": {"poolCount": 0, "conditions": conditions}})
    };
    let old =
        value!({"metadata": {"name": "a", "uid": "u", "resourceVersion": "1"}, "spec": {"driver": "d.example.com"}});
    let new = request(value!([(condition()), (condition())]));
    let lines = validate_as(
        ResourcePoolStatusRequest::schema(),
        &new,
        Some(&old),
        Request { subresource: "status", namespaced: false, ..Request::new(Operation::Create) },
    );
    let whole = r#"status.conditions[1]: Duplicate value: {"type":"Complete","status":"True","lastTransitionTime":"2020-01-01T00:00:00Z","reason":"R","message":"m"}"#;
    assert!(lines.iter().any(|line| line == whole), "{lines:?}");
}
