//! Objects of the kinds whose versions have several shapes, each stated once, in one of them, with what is wrong with it.
//! Where kube-apiserver validates a version otherwise, the row says how. Places are named as kube-apiserver names them, which
//! asks nobody's version but for events.

use pintle_schema::{Value, value};

/// A row.
pub struct Stated {
    /// `apiVersion kind`.
    pub stated_in: &'static str,
    pub new: Value,
    pub old: Option<Value>,
    /// Lines of errors.
    pub found: Vec<String>,
    /// The same for a version that kube-apiserver validates otherwise.
    pub otherwise: Option<(&'static str, Vec<String>)>,
}

fn row(stated_in: &'static str, new: Value, old: Option<Value>, found: &[&str]) -> Stated {
    let found = found.iter().map(|line| (*line).to_owned()).collect();
    Stated { stated_in, new, old, found, otherwise: None }
}

impl Stated {
    fn but(self, version: &'static str, found: &[&str]) -> Self {
        Stated { otherwise: Some((version, found.iter().map(|line| (*line).to_owned()).collect())), ..self }
    }
}

pub fn rows() -> Vec<Stated> {
    [events(), autoscalers(), claims_and_templates(), slices()].into_iter().flatten().collect()
}

fn with(object: &Value, path: &[&str], value: impl Into<Value>) -> Value {
    let mut object = object.clone();
    object.set_at(path, value);
    object
}

fn metadata() -> Value {
    value!({ "name": "a", "namespace": "b", "uid": "u", "resourceVersion": "1" })
}

/// In the newer version an event reports more, and an update changes its series alone.
fn events() -> Vec<Stated> {
    const OLDER: &str = "v1 Event";
    const NEWER: &str = "events.k8s.io/v1 Event";
    let older = value!({
        "metadata": (metadata()), "involvedObject": { "namespace": "b" }, "source": { "component": "c" }, "count": 2,
        "firstTimestamp": "2025-01-01T00:00:00Z", "lastTimestamp": "2025-01-01T00:00:00Z", "type": "Odd",
    });
    let newer = value!({
        "metadata": (metadata()), "eventTime": "2025-01-01T00:00:00.000000Z", "reportingController": "example.com/c",
        "reportingInstance": "i", "action": "Start", "reason": "Started", "type": "Normal", "note": "n",
        "regarding": { "kind": "Pod", "namespace": "b", "name": "p" },
    });
    let series = |count: i64| value!({ "count": count, "lastObservedTime": "2025-01-01T00:00:00.000000Z" });
    let elsewhere = r#"involvedObject.namespace: Invalid value: "c": does not match event.namespace"#;
    let reporter = r#"Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#;
    vec![
        row(NEWER, newer.clone(), None, &[]),
        row(OLDER, older.clone(), None, &[]).but(
            NEWER,
            &[
                "eventTime: Required value",
                r#"type: Invalid value: "": has invalid value: Odd"#,
                r#"firstTimestamp: Invalid value: "": needs to be unset"#,
                r#"lastTimestamp: Invalid value: "": needs to be unset"#,
                r#"count: Invalid value: "": needs to be unset"#,
                r#"source: Invalid value: "": needs to be unset"#,
            ],
        ),
        row(NEWER, with(&newer, &["reportingController"], "a b"), None, &[&format!("reportingController: {reporter}")])
            .but(OLDER, &[&format!("reportingComponent: {reporter}")]),
        row(NEWER, with(&newer, &["series"], series(2)), Some(newer.clone()), &[]),
        row(
            NEWER,
            with(&newer, &["series"], series(1)),
            Some(newer.clone()),
            &[r#"series.count: Invalid value: "": should be at least 2"#],
        )
        .but(OLDER, &[]),
        row(
            NEWER,
            with(&newer, &["note"], "other"),
            Some(newer.clone()),
            &[r#"message: Invalid value: "other": field is immutable"#],
        )
        .but(OLDER, &[]),
        row(OLDER, with(&older, &["involvedObject", "namespace"], "c"), Some(older), &[elsewhere]).but(
            NEWER,
            &[elsewhere, r#"involvedObject: Invalid value: {"Kind":"","Namespace":"c","Name":"","UID":"","APIVersion":"","ResourceVersion":"","FieldPath":""}: field is immutable"#],
        ),
    ]
}

/// What the older version keeps in annotations and in a field of its own, the newer one has in its lists.
fn autoscalers() -> Vec<Stated> {
    const OLDER: &str = "autoscaling/v1 HorizontalPodAutoscaler";
    const NEWER: &str = "autoscaling/v2 HorizontalPodAutoscaler";
    let older = value!({
        "metadata": (metadata()),
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" },
            "minReplicas": 2, "maxReplicas": 5, "targetCPUUtilizationPercentage": 80,
        },
    });
    let newer = with(&older, &["spec", "behavior"], value!({ "scaleUp": { "stabilizationWindowSeconds": 30 } }));
    let newer = with(
        &with(&newer, &["spec", "targetCPUUtilizationPercentage"], Value::Null),
        &["spec", "metrics"],
        value!([{ "type": "Pods", "pods": { "metric": { "name": "rps" }, "target": { "type": "AverageValue", "averageValue": "10" } } }]),
    );
    let few = "spec.maxReplicas: Invalid value: 1: must be greater than or equal to `minReplicas`";
    let idle = "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0";
    let unnamed = r#"spec.metrics[0].pods.metric.name: Required value: must specify a metric name"#;
    let long =
        "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600";
    let window = ["spec", "behavior", "scaleUp", "stabilizationWindowSeconds"];
    let unlike = value!([{ "type": "Pods", "pods": { "metric": { "name": "" }, "target": { "type": "AverageValue", "averageValue": "10" } } }]);
    vec![
        row(OLDER, older.clone(), None, &[]),
        row(NEWER, newer.clone(), None, &[]),
        row(OLDER, with(&older, &["spec", "maxReplicas"], 1), None, &[few]),
        row(OLDER, with(&older, &["spec", "targetCPUUtilizationPercentage"], 0), None, &[idle]),
        row(NEWER, with(&newer, &["spec", "metrics"], unlike), None, &[unnamed]),
        row(OLDER, with(&older, &["spec", "maxReplicas"], 9), Some(older.clone()), &[]),
        row(OLDER, with(&older, &["spec", "maxReplicas"], 1), Some(older), &[few]),
        row(NEWER, with(&newer, &window, 3601), Some(newer), &[long]),
    ]
}

/// What the older version says on a request stands inside it in the newer ones. A template has a claim's spec inside its own.
fn claims_and_templates() -> Vec<Stated> {
    const OLDER: &str = "v1beta1";
    const NEWER: &str = "v1";
    let flat = |request: Value| value!({ "devices": { "requests": [request] } });
    let exact = value!({ "name": "r", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2 });
    let nested = |exactly: Value| value!({ "name": "r", "exactly": exactly });
    let first = value!({ "name": "r", "firstAvailable": [{ "name": "s", "deviceClassName": "A" }] });
    let name = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    let validated = [
        (OLDER, flat(exact.clone()), vec![]),
        (NEWER, flat(nested(value!({ "deviceClassName": "gpu" }))), vec![]),
        (
            OLDER,
            flat(with(&exact, &["deviceClassName"], "A")),
            vec![format!("spec.devices.requests[0].exactly.deviceClassName: Invalid value: \"A\": {name}")],
        ),
        (
            NEWER,
            flat(nested(value!({ "deviceClassName": "gpu", "count": (-1) }))),
            vec!["spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero".to_owned()],
        ),
        (
            NEWER,
            flat(first),
            vec![format!("spec.devices.requests[0].firstAvailable[0].deviceClassName: Invalid value: \"A\": {name}")],
        ),
    ];
    let claim = |spec: &Value| value!({ "metadata": (metadata()), "spec": (spec.clone()) });
    let template = |spec: &Value| value!({ "metadata": (metadata()), "spec": { "spec": (spec.clone()) } });
    let mut rows = Vec::new();
    for (version, spec, found) in validated {
        let found_inside = found.iter().map(|line| format!("spec.{line}")).collect();
        let (of_claim, of_template) = match version {
            OLDER => ("resource.k8s.io/v1beta1 ResourceClaim", "resource.k8s.io/v1beta1 ResourceClaimTemplate"),
            _ => ("resource.k8s.io/v1 ResourceClaim", "resource.k8s.io/v1 ResourceClaimTemplate"),
        };
        rows.push(Stated { found, ..row(of_claim, claim(&spec), None, &[]) });
        rows.push(Stated { found: found_inside, ..row(of_template, template(&spec), None, &[]) });
    }
    let (claim, template) = (claim(&flat(exact.clone())), template(&flat(exact.clone())));
    let labelled = |object: &Value| with(object, &["metadata", "labels", "a"], "b");
    let other = flat(with(&exact, &["count"], 3));
    let shown = r#"{"Devices":{"Requests":[{"Name":"r","Exactly":{"DeviceClassName":"gpu","Selectors":null,"AllocationMode":"ExactCount","Count":3,"AdminAccess":null,"Tolerations":null,"Capacity":null},"FirstAvailable":null}],"Constraints":null,"Config":null}}"#;
    let (of_claim, of_template) =
        ("resource.k8s.io/v1beta1 ResourceClaim", "resource.k8s.io/v1beta1 ResourceClaimTemplate");
    rows.extend([
        row(of_claim, labelled(&claim), Some(claim.clone()), &[]),
        row(of_template, labelled(&template), Some(template.clone()), &[]),
        row(
            of_claim,
            with(&claim, &["spec"], other.clone()),
            Some(claim),
            &[&format!("spec: Invalid value: {shown}: field is immutable")],
        ),
        row(
            of_template,
            with(&template, &["spec", "spec"], other),
            Some(template),
            &[&format!(r#"spec: Invalid value: {{"Spec":{shown}}}: field is immutable"#)],
        ),
    ]);
    rows
}

/// What the older version nests in each device stands on it in the newer ones.
fn slices() -> Vec<Stated> {
    const OLDER: &str = "resource.k8s.io/v1beta1 ResourceSlice";
    const NEWER: &str = "resource.k8s.io/v1 ResourceSlice";
    let slice = |device: Value| {
        value!({
            "metadata": { "name": "a", "uid": "u", "resourceVersion": "1" },
            "spec": {
                "driver": "d.example.com", "nodeName": "n", "devices": [device],
                "pool": { "name": "p", "generation": 1, "resourceSliceCount": 1 },
            },
        })
    };
    let model = |model: &'static str| value!({ "attributes": { "model": { "string": model } } });
    let nested = |inside: Value| slice(value!({ "name": "d", "basic": inside }));
    let (older, newer) = (nested(model("m")), slice(with(&model("m"), &["name"], "d")));
    let marked = value!({ "taints": [{ "key": "k", "effect": "Odd" }] });
    let none = r#"spec.devices[0].attributes[model]: Invalid value: "": exactly one value must be specified"#;
    let odd = r#"spec.devices[0].taints[0].effect: Unsupported value: "Odd": supported values: "NoExecute", "NoSchedule", "None""#;
    vec![
        row(OLDER, older.clone(), None, &[]),
        row(NEWER, newer.clone(), None, &[]),
        row(OLDER, nested(value!({ "attributes": { "model": {} } })), None, &[none]),
        row(OLDER, nested(marked.clone()), None, &[odd]),
        row(NEWER, slice(with(&marked, &["name"], "d")), None, &[odd]),
        row(OLDER, nested(model("other")), Some(older.clone()), &[]),
        row(
            OLDER,
            with(&older, &["spec", "driver"], "other.example.com"),
            Some(older),
            &[r#"spec.driver: Invalid value: "other.example.com": field is immutable"#],
        ),
        row(
            NEWER,
            with(&newer, &["spec", "nodeName"], "other"),
            Some(newer),
            &[r#"spec.nodeName: Invalid value: "other": field is immutable"#],
        ),
    ]
}
