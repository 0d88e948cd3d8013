//! The `rbac.authorization.k8s.io` group: roles and their bindings.
//!
//! Tables of its resources and their strategies.

pub(crate) mod columns;
pub(crate) mod defaults;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use pintle_resource::{GENERAL, Group, NameRule, Resource, Storage, Strategy, Unserved};
use pintle_schema::{Str, Value, ViewMut};
use pintle_types::rbac::{v1, v1alpha1, v1beta1};

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
        storage: Some(Storage::of::<v1::ClusterRoleBinding>()),
        strategy: &CLUSTER_ROLE_BINDING,
        printer: printer(&columns::CLUSTER_ROLE_BINDING),
        unserved: vec![
            Unserved::converted::<v1alpha1::ClusterRoleBinding>(binding_from_v1alpha1),
            Unserved::same::<v1beta1::ClusterRoleBinding>(),
        ],
        ..Resource::of::<v1::ClusterRoleBinding>()
    }
}

fn cluster_roles() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::ClusterRole>()),
        strategy: &CLUSTER_ROLE,
        unserved: vec![Unserved::same::<v1alpha1::ClusterRole>(), Unserved::same::<v1beta1::ClusterRole>()],
        ..Resource::of::<v1::ClusterRole>()
    }
}

fn role_bindings() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::RoleBinding>()),
        strategy: &ROLE_BINDING,
        printer: printer(&columns::ROLE_BINDING),
        unserved: vec![
            Unserved::converted::<v1alpha1::RoleBinding>(binding_from_v1alpha1),
            Unserved::same::<v1beta1::RoleBinding>(),
        ],
        ..Resource::of::<v1::RoleBinding>()
    }
}

fn roles() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::Role>()),
        strategy: &ROLE,
        unserved: vec![Unserved::same::<v1alpha1::Role>(), Unserved::same::<v1beta1::Role>()],
        ..Resource::of::<v1::Role>()
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
