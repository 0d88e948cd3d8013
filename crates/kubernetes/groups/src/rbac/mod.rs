//! The `rbac.authorization.k8s.io` group: roles and their bindings.
//!
//! Tables of its resources and their strategies.

pub(crate) mod columns;
pub(crate) mod defaults;
mod old_versions;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use pintle_resource::{GENERAL, Group, NameRule, Resource, Storage, Strategy};
use pintle_schema::{Str, Value, ViewMut};
use pintle_types::rbac::{v1, v1alpha1};

/// The group of users and groups.
const GROUP: &str = "rbac.authorization.k8s.io";

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(&[&rules::GROUP]).defaults(defaults::RULES);
    Group {
        name: Str::new_static("rbac.authorization.k8s.io"),
        priority: Some(17000),
        built_in: true,
        versions: vec![version("v1", 15)],
        resources: functions.complete(vec![cluster_role_bindings(), cluster_roles(), role_bindings(), roles()]),
        internal: Vec::new(),
    }
}

static CLUSTER_ROLE_BINDING: Strategy = Strategy { name: NameRule::PathSegment, create_on_update: true, ..GENERAL };

static CLUSTER_ROLE: Strategy = Strategy { name: NameRule::PathSegment, create_on_update: true, ..GENERAL };

static ROLE_BINDING: Strategy = Strategy { name: NameRule::PathSegment, create_on_update: true, ..GENERAL };

static ROLE: Strategy = Strategy { name: NameRule::PathSegment, create_on_update: true, ..GENERAL };

fn cluster_role_bindings() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::ClusterRoleBinding>(
            "rbac.authorization.k8s.io/v1",
            "ClusterRoleBinding",
            "/registry/clusterrolebindings/",
            "48tpQ8gZHFc=",
        )),
        strategy: &CLUSTER_ROLE_BINDING,
        printer: printer(&columns::CLUSTER_ROLE_BINDING),
        unserved: old_versions::CLUSTER_ROLE_BINDINGS.iter().collect(),
        ..Resource::cluster::<v1::ClusterRoleBinding>(
            "rbac.authorization.k8s.io",
            "v1",
            "clusterrolebindings",
            "clusterrolebinding",
            "ClusterRoleBinding",
        )
    }
}

fn cluster_roles() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::ClusterRole>(
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            "/registry/clusterroles/",
            "bYE5ZWDrJ44=",
        )),
        strategy: &CLUSTER_ROLE,
        unserved: old_versions::CLUSTER_ROLES.iter().collect(),
        ..Resource::cluster::<v1::ClusterRole>(
            "rbac.authorization.k8s.io",
            "v1",
            "clusterroles",
            "clusterrole",
            "ClusterRole",
        )
    }
}

fn role_bindings() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::RoleBinding>(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            "/registry/rolebindings/",
            "eGsCzGH6b1g=",
        )),
        strategy: &ROLE_BINDING,
        printer: printer(&columns::ROLE_BINDING),
        unserved: old_versions::ROLE_BINDINGS.iter().collect(),
        ..Resource::namespaced::<v1::RoleBinding>(
            "rbac.authorization.k8s.io",
            "v1",
            "rolebindings",
            "rolebinding",
            "RoleBinding",
        )
    }
}

fn roles() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::Role>(
            "rbac.authorization.k8s.io/v1",
            "Role",
            "/registry/roles/",
            "7FuwZcIIItM=",
        )),
        strategy: &ROLE,
        unserved: old_versions::ROLES.iter().collect(),
        ..Resource::namespaced::<v1::Role>("rbac.authorization.k8s.io", "v1", "roles", "role", "Role")
    }
}

/// From v1alpha1, whose subjects name a version where later ones name a group, and where the user `*` is everybody that
/// is known.
pub(crate) fn binding_from_v1alpha1(object: &mut Value) {
    for subject in ViewMut::<v1::RoleBinding>::new(object).field(v1::RoleBinding::SUBJECTS).iter_mut() {
        let raw = subject.raw();
        let mut old = ViewMut::<v1alpha1::Subject>::new(raw).field(v1alpha1::Subject::API_VERSION);
        let api_version = old.view().get();
        old.by_ref().clear();
        let mut subject = ViewMut::<v1::Subject>::new(raw);
        let kind = subject.view().field(v1::Subject::KIND).get();
        let group = match &*kind {
            "ServiceAccount" => "",
            "User" | "Group" => GROUP,
            _ => api_version.split_once('/').map_or("", |(group, _)| group),
        };
        subject.by_ref().field(v1::Subject::API_GROUP).set(group);
        if kind == "User" && subject.view().field(v1::Subject::NAME).get() == "*" {
            subject.by_ref().field(v1::Subject::KIND).set("Group");
            subject.field(v1::Subject::NAME).set("system:authenticated");
        }
    }
}
