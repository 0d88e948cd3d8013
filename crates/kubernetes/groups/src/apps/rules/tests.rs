//! Tests of the rules of workloads.

use crate::rules::tests::validate;
use pintle_schema::{ApiType, Value, value};
use pintle_types::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};

fn template() -> Value {
    value!({"metadata": {"labels": {"a": "b"}}, "spec": {
        "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
        "containers": [{
            "name": "c", "image": "i", "imagePullPolicy": "Always",
            "terminationMessagePath": "/dev/log", "terminationMessagePolicy": "File"
        }]
    }})
}

fn with(spec: Value) -> Value {
    let mut object = value!({"metadata": {"name": "a", "namespace": "b"}, "spec": (spec)});
    object.set_at(&["spec", "template"], template());
    object
}

#[test]
fn deployments() {
    let good = with(value!({
        "replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "progressDeadlineSeconds": 600,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 1}}
    }));
    let validate = |object: &Value, old: Option<&Value>| validate(Deployment::schema(), object, old, "");
    assert_eq!(validate(&good, None), Vec::<String>::new());
    let changed = |path: &[&str], to: Value| {
        let mut object = good.clone();
        object.set_at(path, to);
        object
    };
    let label =
        "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`";
    let other = changed(&["spec", "selector"], value!({"matchLabels": {"a": "c"}}));
    assert_eq!(
        validate(&other, Some(&good)),
        [label, "spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"c\"}}: field is immutable"]
    );
    assert_eq!(validate(&changed(&["spec", "selector"], Value::Null), None), ["spec.selector: Required value", label]);
    assert_eq!(
        validate(&changed(&["spec", "minReadySeconds"], value!(600)), Some(&good)),
        ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"]
    );
    assert_eq!(
        validate(
            &changed(&["spec", "strategy", "rollingUpdate"], value!({"maxUnavailable": "0%", "maxSurge": 0})),
            None
        ),
        ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0"]
    );
    assert_eq!(
        validate(&changed(&["spec", "strategy"], value!({"type": "Other"})), None),
        [
            "spec.strategy: Unsupported value: {\"Type\":\"Other\",\"RollingUpdate\":null}: supported values: \"Recreate\", \
          \"RollingUpdate\""
        ]
    );
}

#[test]
fn daemon_sets_and_stateful_sets() {
    let rolling = |update: Value| {
        with(value!({
            "selector": {"matchLabels": {"a": "b"}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": (update)}
        }))
    };
    let daemons = |object: Value| validate(DaemonSet::schema(), &object, None, "");
    assert_eq!(daemons(rolling(value!({"maxUnavailable": 1, "maxSurge": 0}))), Vec::<String>::new());
    assert_eq!(
        daemons(rolling(value!({"maxUnavailable": "150%", "maxSurge": 1}))),
        [
            "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: \"150%\": must not be greater than 100%",
            "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"
        ]
    );
    let mut set = rolling(value!({"partition": 0}));
    set.set_at(&["spec", "podManagementPolicy"], "Parallel");
    assert_eq!(validate(StatefulSet::schema(), &set, None, ""), Vec::<String>::new());
    let mut renamed = set.clone();
    renamed.set_at(&["spec", "serviceName"], "other");
    let errors = validate(StatefulSet::schema(), &renamed, Some(&set), "");
    assert!(errors.len() == 1 && errors[0].starts_with("spec: Forbidden: updates to statefulset spec"), "{errors:?}");
    renamed = set.clone();
    renamed.set_at(&["spec", "replicas"], 3);
    assert_eq!(validate(StatefulSet::schema(), &renamed, Some(&set), ""), Vec::<String>::new());
    let profile = "container.apparmor.security.beta.kubernetes.io/x";
    let mut annotated = set.clone();
    annotated.set_at(&["spec", "template", "metadata", "annotations", profile], "unconfined");
    let twice = format!("spec.template.annotations[{profile}]: Invalid value: \"x\": container not found");
    assert_eq!(validate(StatefulSet::schema(), &annotated, None, ""), [twice.clone(), twice]);
}

#[test]
fn a_container_takes_the_profile_of_its_pod() {
    let mut good = with(value!({
        "replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "progressDeadlineSeconds": 600,
        "strategy": {"type": "Recreate"}
    }));
    let spec = ["spec", "template", "spec", "securityContext", "appArmorProfile"];
    good.set_at(&spec, value!({"type": "RuntimeDefault"}));
    let annotated = |profile: &str| {
        let mut object = good.clone();
        let key = "container.apparmor.security.beta.kubernetes.io/c";
        object.set_at(&["spec", "template", "metadata", "annotations", key], profile);
        validate(Deployment::schema(), &object, None, "")
    };
    assert_eq!(annotated("runtime/default"), Vec::<String>::new());
    let field = "spec.template.spec.containers[0].securityContext.appArmorProfile.type";
    assert_eq!(
        annotated("unconfined"),
        [format!("{field}: Forbidden: apparmor type in annotation and field must match")]
    );
}

#[test]
fn a_status_that_is_emptied() {
    let mut old = with(value!({"replicas": 1, "selector": {"matchLabels": {"a": "b"}}}));
    old.set_at(&["status"], value!({"replicas": 3, "collisionCount": 1}));
    let mut new = old.clone();
    new.set_at(&["status"], value!({}));
    assert_eq!(
        validate(Deployment::schema(), &new, Some(&old), "status"),
        ["status.collisionCount: Invalid value: 0: cannot be decremented"]
    );
}

#[test]
fn claims_are_volumes_of_a_stateful_set() {
    let mut set = with(value!({
        "selector": {"matchLabels": {"a": "b"}}, "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "OnDelete"},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"
        }}]
    }));
    let pod = ["spec", "template", "spec"];
    let mut container = set.at(&["spec", "template", "spec", "containers"]).unwrap().as_list().unwrap()[0].clone();
    container.set_at(&["volumeMounts"], value!([{"name": "data", "mountPath": "/data"}]));
    set.set_at(&[pod[0], pod[1], pod[2], "containers"], vec![container]);
    set.set_at(&[pod[0], pod[1], pod[2], "hostname"], "Not validated");
    assert_eq!(validate(StatefulSet::schema(), &set, None, ""), Vec::<String>::new());
    set.set_at(&[pod[0], pod[1], pod[2], "volumes"], value!([{"name": "data"}, {"name": "Other", "emptyDir": {}}]));
    let errors = validate(StatefulSet::schema(), &set, None, "");
    assert!(errors.len() == 1 && errors[0].starts_with("spec.template.spec.volumes[1].name: "), "{errors:?}");
    set.set_at(&[pod[0], pod[1], pod[2], "volumes"], value!([{"name": "data", "emptyDir": {}}]));
    let claims = set.at_mut(&["spec", "volumeClaimTemplates"]).and_then(Value::as_list_mut);
    claims.and_then(|list| list.first_mut()).expect("a claim").remove_at(&["metadata", "name"]);
    let volume = "spec.template.spec.volumes[0]";
    let missing = ["persistentVolumeClaim.claimName", "name"].map(|field| format!("{volume}.{field}: Required value"));
    assert_eq!(validate(StatefulSet::schema(), &set, None, ""), missing);
}

#[test]
fn templates_of_invalid_selectors_are_not_validated() {
    let rows = [
        (Deployment::schema(), 0, ": invalid label selector"),
        (ReplicaSet::schema(), 0, ": invalid label selector"),
        (StatefulSet::schema(), 1, ""),
        (DaemonSet::schema(), 2, ""),
    ];
    for (schema, of_template, detail) in rows {
        let mut object = with(value!({"selector": {"matchLabels": {"a b": "c"}}}));
        object.set_at(&["spec", "template", "spec", "containers"], Value::Null);
        object.set_at(&["spec", "template", "spec", "activeDeadlineSeconds"], 5);
        let errors = validate(schema, &object, None, "");
        let inside = errors.iter().filter(|error| error.starts_with("spec.template.")).count();
        assert_eq!(inside, of_template, "{errors:?}");
        let selector = format!("spec.selector: Invalid value: {{\"matchLabels\":{{\"a b\":\"c\"}}}}{detail}");
        assert_eq!(errors.contains(&selector), of_template != 2, "{errors:?}");
    }
}

#[test]
fn rolling_updates_that_do_not_take_place_are_not_validated() {
    let rows = [
        (Deployment::schema(), "strategy", "Recreate", 1),
        (Deployment::schema(), "strategy", "x", 1),
        (DaemonSet::schema(), "updateStrategy", "OnDelete", 0),
        (DaemonSet::schema(), "updateStrategy", "x", 1),
        (StatefulSet::schema(), "updateStrategy", "OnDelete", 1),
        (StatefulSet::schema(), "updateStrategy", "x", 1),
    ];
    for (schema, field, kind, expected) in rows {
        let mut object = with(value!({"selector": {"matchLabels": {"a": "b"}}}));
        let strategy =
            value!({"type": kind, "rollingUpdate": {"maxUnavailable": "x", "maxSurge": "y", "partition": (-1)}});
        object.set_at(&["spec", field], strategy);
        let errors = validate(schema, &object, None, "");
        let place = format!("spec.{field}");
        assert_eq!(errors.iter().filter(|error| error.starts_with(&place)).count(), expected, "{kind}: {errors:?}");
    }
}
