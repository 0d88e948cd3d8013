//! Tests of the rules of roles and bindings.

use crate::rules::tests::validate;
use pintle_schema::{ApiType, value};
use pintle_types::rbac::v1::{ClusterRole, Role, RoleBinding};

#[test]
fn roles() {
    let role = value!({"metadata": {"name": "a", "namespace": "b"}, "rules": [
        {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
        {"verbs": ["get"], "nonResourceURLs": ["/healthz"]},
        {}
    ]});
    assert_eq!(
        validate(Role::schema(), &role, None, ""),
        [
            "rules[1].nonResourceURLs: Invalid value: [\"/healthz\"]: namespaced rules cannot apply to non-resource URLs",
            "rules[2].verbs: Required value: verbs must contain at least one value",
            "rules[2].apiGroups: Required value: resource rules must supply at least one api group",
            "rules[2].resources: Required value: resource rules must supply at least one resource"
        ]
    );
}

#[test]
fn selectors_are_refused_one_by_one() {
    let role = value!({"metadata": {"name": "a", "namespace": "b"}, "aggregationRule": {"clusterRoleSelectors": [
        {"matchExpressions": [{"key": "a", "operator": "X"}]},
        {"matchExpressions": [{"key": "a", "operator": "In"}]}
    ]}});
    let list = "aggregationRule.clusterRoleSelectors";
    let expected = [
        "[0].matchExpressions[0].operator: Invalid value: \"X\": not a valid selector operator",
        "[0]: Invalid value: null: invalid label selector.",
        "[1].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        "[1]: Invalid value: null: invalid label selector.",
    ];
    assert_eq!(validate(ClusterRole::schema(), &role, None, ""), expected.map(|error| format!("{list}{error}")));
}

#[test]
fn bindings() {
    let good = value!({
        "metadata": {"name": "a", "namespace": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [
            {"kind": "ServiceAccount", "name": "s"},
            {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "a:b"}
        ]
    });
    assert!(validate(RoleBinding::schema(), &good, None, "").is_empty());
    let mut other = good.clone();
    other.set_at(&["roleRef", "name"], "q");
    other.set_at(&["subjects"], value!([{"kind": "Robot", "name": ""}]));
    assert_eq!(
        validate(RoleBinding::schema(), &other, Some(&good), ""),
        [
            "subjects[0].name: Required value",
            "subjects[0].kind: Unsupported value: \"Robot\": supported values: \"ServiceAccount\", \"User\", \"Group\"",
            "roleRef: Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\",\"Name\":\"q\"}: \
             cannot change roleRef"
        ]
    );
    other.set_at(&["roleRef", "name"], "");
    other.set_at(&["subjects"], value!([{"kind": "User", "apiGroup": "rbac.authorization.k8s.io"}]));
    assert_eq!(
        validate(RoleBinding::schema(), &other, None, ""),
        ["roleRef.name: Required value", "subjects[0].name: Required value"]
    );
}
