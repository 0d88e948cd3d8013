//! Later starts: a table of an administrator's changes and the results of reconciliation.

use super::{at, canonical, find, settings};
use crate::trust::tests::certificate;
use crate::{ServiceRange, Settings, objects};
use pintle_codec::{Strictness, json};
use pintle_schema::Value;

/// An object with some fields replaced: `(path, JSON)`, where no JSON removes the field.
fn edited(value: &Value, edits: &[(&[&str], &str)]) -> Value {
    let mut value = value.clone();
    for (path, text) in edits {
        let (last, parents) = path.split_last().unwrap();
        let parent = parents.iter().fold(&mut value, |value, key| value.make_map().entry(key));
        if text.is_empty() {
            parent.make_map().remove(last);
        } else {
            *parent.make_map().entry(last) = parsed(text);
        }
    }
    value
}

fn parsed(text: &str) -> Value {
    json::parse(text.as_bytes(), Strictness::Ignore).unwrap().value
}

#[test]
fn a_second_start_writes_nothing() {
    for object in &objects(&settings()) {
        assert_eq!(object.reconciled(&canonical(object)), None, "{} {}", object.plural, object.name());
    }
}

#[test]
fn objects_of_another_shape_stay() {
    for object in &objects(&settings()) {
        for broken in [Value::Null, Value::from(1), Value::List(Vec::new())] {
            assert_eq!(object.reconciled(&broken), None, "{} {}", object.plural, object.name());
        }
    }
}

#[test]
fn defaulted_fields_are_kept() {
    let objects = objects(&settings());
    let discovery = find(&objects, "clusterroles", "system:discovery");
    let existing = edited(&canonical(discovery), &[(&["metadata", "uid"], r#""u""#), (&["rules"], "[]")]);
    let changed = discovery.reconciled(&existing).unwrap();
    assert_eq!(at(&changed, &["metadata", "uid"]).as_str(), Some("u"));
}

const AUTOUPDATE: &[&str] = &["metadata", "annotations", "rbac.authorization.kubernetes.io/autoupdate"];
const BOOTSTRAPPING: &[&str] = &["metadata", "labels", "kubernetes.io/bootstrapping"];
const FLOW_AUTOUPDATE: &[&str] = &["metadata", "annotations", "apf.kubernetes.io/autoupdate-spec"];
const SPEC: &[&str] = &["spec"];

const READY: &str = r#"[{"type":"Ready","status":"True","observedGeneration":0,"lastTransitionTime":"2026-11-20T10:00:00Z",
    "reason":"","message":"Kubernetes default Service CIDR is ready"}]"#;

/// `(resource, name, edits, path, what stands there afterwards)`; without a path nothing is written.
type Row = (
    &'static str,
    &'static str,
    &'static [(&'static [&'static str], &'static str)],
    &'static [&'static str],
    &'static str,
);

const TRACKING: &str = "kube-apiserver-legacy-service-account-token-tracking";

const ROWS: &[Row] = &[
    // Roles: missing permissions are appended one by one.
    (
        "clusterroles",
        "system:kube-dns",
        &[(&["rules"], r#"[{"verbs":["list"],"apiGroups":[""],"resources":["*"]}]"#)],
        &["rules"],
        r#"[{"verbs":["list"],"apiGroups":[""],"resources":["*"]},
            {"verbs":["watch"],"apiGroups":[""],"resources":["endpoints"]},
            {"verbs":["watch"],"apiGroups":[""],"resources":["services"]}]"#,
    ),
    (
        "clusterroles",
        "system:kube-dns",
        &[(&["rules"], r#"[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]"#)],
        &[],
        "",
    ),
    ("clusterroles", "system:kube-dns", &[(&["rules"], "[]"), (AUTOUPDATE, r#""false""#)], &[], ""),
    ("clusterroles", "system:kube-dns", &[(AUTOUPDATE, "")], AUTOUPDATE, r#""true""#),
    ("clusterroles", "system:kube-dns", &[(BOOTSTRAPPING, r#""mine""#)], &[], ""),
    ("clusterroles", "edit", &[(BOOTSTRAPPING, "")], BOOTSTRAPPING, r#""rbac-defaults""#),
    ("clusterroles", "view", &[(&["rules"], r#"[{"verbs":["get"]}]"#)], &[], ""),
    (
        "clusterroles",
        "view",
        &[(&["aggregationRule", "clusterRoleSelectors"], r#"[{"matchLabels":{"a":"b"}}]"#)],
        &["aggregationRule", "clusterRoleSelectors"],
        r#"[{"matchLabels":{"a":"b"},"matchExpressions":[]},
            {"matchLabels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"},"matchExpressions":[]}]"#,
    ),
    (
        "clusterroles",
        "system:kube-dns",
        &[(&["aggregationRule"], r#"{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}"#)],
        &["aggregationRule"],
        "null",
    ),
    ("roles", "system:controller:cloud-provider", &[(BOOTSTRAPPING, "")], BOOTSTRAPPING, r#""rbac-defaults""#),
    // Bindings.
    (
        "clusterrolebindings",
        "cluster-admin",
        &[(&["subjects"], r#"[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"me"}]"#)],
        &["subjects"],
        r#"[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"me","namespace":""},
            {"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:masters","namespace":""}]"#,
    ),
    ("clusterrolebindings", "cluster-admin", &[(&["subjects"], "[]"), (AUTOUPDATE, r#""false""#)], &[], ""),
    (
        "clusterrolebindings",
        "system:discovery",
        &[
            (&["roleRef", "name"], r#""cluster-admin""#),
            (&["subjects"], r#"[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"admins"}]"#),
        ],
        &["subjects"],
        r#"[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:authenticated","namespace":""}]"#,
    ),
    // A range without a status becomes ready, if it is still the server's.
    ("servicecidrs", "kubernetes", &[(&["status"], "{}")], &["status", "conditions"], READY),
    ("servicecidrs", "kubernetes", &[(&["status"], "{}"), (&["spec", "cidrs"], r#"["10.9.0.0/16"]"#)], &[], ""),
    (
        "servicecidrs",
        "kubernetes",
        &[(
            &["status", "conditions"],
            r#"[{"type":"Ready","status":"False","lastTransitionTime":null,"reason":"","message":""}]"#,
        )],
        &[],
        "",
    ),
    // Flow control: suggested objects can be taken over, mandatory ones cannot.
    ("flowschemas", "probes", &[(&["spec", "matchingPrecedence"], "7")], &["spec", "matchingPrecedence"], "2"),
    ("flowschemas", "probes", &[(&["spec", "matchingPrecedence"], "7"), (FLOW_AUTOUPDATE, r#""false""#)], &[], ""),
    (
        "flowschemas",
        "probes",
        &[(&["spec", "matchingPrecedence"], "7"), (FLOW_AUTOUPDATE, ""), (&["metadata", "generation"], "1")],
        &["spec", "matchingPrecedence"],
        "2",
    ),
    (
        "flowschemas",
        "probes",
        &[(&["spec", "matchingPrecedence"], "7"), (FLOW_AUTOUPDATE, ""), (&["metadata", "generation"], "2")],
        FLOW_AUTOUPDATE,
        r#""false""#,
    ),
    (
        "flowschemas",
        "exempt",
        &[(&["spec", "matchingPrecedence"], "7"), (FLOW_AUTOUPDATE, r#""false""#)],
        &["spec", "matchingPrecedence"],
        "1",
    ),
    ("flowschemas", "catch-all", &[(FLOW_AUTOUPDATE, r#""false""#)], FLOW_AUTOUPDATE, r#""true""#),
    (
        "prioritylevelconfigurations",
        "system",
        &[(&["spec", "limited", "lendablePercent"], "1")],
        &["spec", "limited", "lendablePercent"],
        "33",
    ),
    ("prioritylevelconfigurations", "exempt", &[(&["spec", "exempt", "lendablePercent"], "50")], &[], ""),
    (
        "prioritylevelconfigurations",
        "exempt",
        &[(SPEC, r#"{"type":"Limited"}"#)],
        SPEC,
        r#"{"type":"Exempt","exempt":{"nominalConcurrencyShares":0,"lendablePercent":0}}"#,
    ),
    // The kubernetes service and its endpoints.
    ("services", "kubernetes", &[(&["spec", "clusterIP"], r#""10.9.9.9""#)], &[], ""),
    ("services", "kubernetes", &[(&["spec", "type"], r#""NodePort""#)], &["spec", "type"], r#""ClusterIP""#),
    (
        "endpoints",
        "kubernetes",
        &[(&["metadata", "labels"], r#"{"a":"b"}"#)],
        &["metadata", "labels"],
        r#"{"a":"b","endpointslice.kubernetes.io/skip-mirror":"true"}"#,
    ),
    // Fields of the administrator.
    ("namespaces", "default", &[(&["metadata", "labels"], "{}")], &[], ""),
    ("priorityclasses", "system-node-critical", &[(&["value"], "1")], &[], ""),
    ("servicecidrs", "kubernetes", &[(&["spec", "cidrs"], r#"["10.1.0.0/16"]"#)], &[], ""),
    // APIServices follow the server while they carry the label.
    ("apiservices", "v1.apps", &[(&["spec", "versionPriority"], "1")], &["spec", "versionPriority"], "15"),
    ("apiservices", "v1.apps", &[(&["spec", "versionPriority"], "1"), (&["metadata", "labels"], "")], &[], ""),
    // The day since when tokens are tracked stays, if it is one.
    ("configmaps", TRACKING, &[(&["data", "since"], r#""2024-02-29""#), (&["data", "more"], r#""x""#)], &[], ""),
    ("configmaps", TRACKING, &[(&["data", "since"], r#""2023-02-29""#)], &["data"], r#"{"since":"2026-11-20"}"#),
    (
        "configmaps",
        TRACKING,
        &[(&["data"], r#"{"since":"2024-1-1","more":"x"}"#)],
        &["data"],
        r#"{"since":"2026-11-20","more":"x"}"#,
    ),
    ("configmaps", TRACKING, &[(&["data"], "")], &["data"], r#"{"since":"2026-11-20"}"#),
];

#[test]
fn rows() {
    let objects = objects(&settings());
    for (plural, name, edits, path, expected) in ROWS {
        let object = find(&objects, plural, name);
        let existing = edited(&canonical(object), edits);
        let changed = object.reconciled(&existing);
        if path.is_empty() {
            assert_eq!(changed, None, "{plural} {name} {edits:?}");
            continue;
        }
        let changed = changed.unwrap_or_else(|| panic!("{plural} {name} {edits:?} stays"));
        assert_eq!(sorted(at(&changed, path)), sorted(&parsed(expected)), "{plural} {name} {edits:?}");
        assert_eq!(object.reconciled(&changed), None, "once is enough: {plural} {name} {edits:?}");
    }
}

/// The value without empty entries, in the order of its keys.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            let mut entries: Vec<_> = map
                .iter()
                .map(|(key, value)| (key.clone(), sorted(value)))
                .filter(|(_, value)| !is_empty(value))
                .collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Map(entries.into_iter().collect())
        }
        Value::List(items) => Value::List(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::List(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

#[test]
fn certificates_of_other_servers_stay() {
    const NAME: &str = "extension-apiserver-authentication";
    let (ours, other) = (certificate("ours", 2040), certificate("other", 2040));
    let wanted = Settings { authorities: [("client-ca-file".to_owned(), ours.clone())].into(), ..settings() };
    let wanted = objects(&wanted);
    let object = find(&wanted, "configmaps", NAME);
    let mut existing = canonical(object);
    existing.set_at(&["data", "client-ca-file"], other.as_str());
    existing.set_at(&["data", "more"], "x");
    let changed = object.reconciled(&existing).unwrap();
    assert_eq!(at(&changed, &["data", "client-ca-file"]).as_str(), Some(format!("{other}{ours}").as_str()));
    assert!(changed.at(&["data", "more"]).is_none());
    assert_eq!(object.reconciled(&changed), None);
    existing.set_at(&["data", "client-ca-file"], "text");
    assert_eq!(object.reconciled(&existing), None, "what cannot be read stays");
}

#[test]
fn a_server_that_moved() {
    let before = objects(&settings());
    let after = objects(&Settings {
        service_ranges: vec![ServiceRange::parse("10.5.0.0/16").unwrap()],
        advertise_address: Some("10.9.8.8".parse().unwrap()),
        secure_port: 7443,
        ..settings()
    });
    let moved = |plural| {
        find(&after, plural, "kubernetes").reconciled(&canonical(find(&before, plural, "kubernetes"))).unwrap()
    };
    let first = |value: &Value, key: &str| super::items(at(value, &[key]))[0].clone();

    let service = moved("services");
    assert_eq!(at(&service, &["spec", "clusterIP"]).as_str(), Some("10.0.0.1"));
    assert_eq!(first(at(&service, &["spec"]), "ports").get("targetPort"), Some(&Value::from(7443)));
    let subset = first(&moved("endpoints"), "subsets");
    assert_eq!(first(&subset, "addresses").get("ip").and_then(Value::as_str), Some("10.9.8.8"));
    assert_eq!(first(&subset, "ports").get("port"), Some(&Value::from(7443)));
    let slice = moved("endpointslices");
    assert_eq!(super::texts(&first(&slice, "endpoints").get("addresses").cloned().unwrap()), ["10.9.8.8"]);
    assert_eq!(first(&slice, "ports").get("port"), Some(&Value::from(7443)));
    let of_another_family = edited(&slice, &[(&["addressType"], r#""IPv6""#)]);
    let goes = |existing| find(&after, "endpointslices", "kubernetes").must_go(existing);
    assert!(goes(&of_another_family) && !goes(&slice));
}
