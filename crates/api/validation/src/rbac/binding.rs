//! Rules of RoleBinding and ClusterRoleBinding.

use crate::shown::in_full;
use pintle_schema::{FieldName, names};
use pintle_types::rbac::v1::{RoleRef, Subject};
use pintle_validation::{At, Cx};

const GROUP: &str = "rbac.authorization.k8s.io";

/// A binding in a namespace grants a role of either kind, one for the cluster a cluster role only.
pub fn role_kind(kind: At<'_, String>, cx: &mut Cx<'_>) {
    let kinds: &[&str] = if cx.request.namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&kind.new.as_str()) {
        cx.errors.not_supported(kind.path, kind.new.as_str(), kinds);
    }
}

/// What a binding grants never changes: a wider role would be granted by who may not.
pub fn role_is_fixed<T>(binding: At<'_, T>, role: FieldName<T, RoleRef>, cx: &mut Cx<'_>) {
    binding.field(role, |role| {
        if role.old.is_some() && !role.unchanged() {
            cx.errors.invalid(role.path, in_full(role.new), "cannot change roleRef");
        }
    });
}

/// Each kind of subject is named in its way.
pub fn subject(subject: At<'_, Subject>, cx: &mut Cx<'_>) {
    let text = |field| subject.new.field(field).as_str();
    let (name, group) = (text(Subject::NAME), text(Subject::API_GROUP));
    match text(Subject::KIND) {
        "ServiceAccount" => {
            if !name.is_empty() {
                crate::shared::invalid_each(name, names::dns1123_subdomain(name), &subject.path.to(Subject::NAME), cx);
            }
            if !group.is_empty() {
                cx.errors.not_supported(subject.path.to(Subject::API_GROUP), group, &[""]);
            }
            if !cx.request.namespaced && text(Subject::NAMESPACE).is_empty() {
                cx.errors.required(subject.path.to(Subject::NAMESPACE), "");
            }
        }
        "User" | "Group" if group != GROUP => {
            cx.errors.not_supported(subject.path.to(Subject::API_GROUP), group, &[GROUP]);
        }
        "User" | "Group" => {}
        kind => cx.errors.not_supported(subject.path.to(Subject::KIND), kind, &["ServiceAccount", "User", "Group"]),
    }
}
