//! Handwritten rules of the RBAC group.
//!
//! One file for roles and one for bindings; this one is the table.

pub mod binding;
pub mod role;

use pintle_schema::ApiType;
use pintle_types::rbac::v1::{
    AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use pintle_validation::{CustomRule, FieldOrder, Group, KindRules, Pass, at_field, at_type, field_order, pass};

/// The group's kinds whose passes are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, orders: ORDERS, ..Group::NONE };

const METADATA_FIRST: &[Pass] = &[Pass::Metadata, Pass::Rules, Pass::MetadataUpdate];

static KINDS: &[KindRules] = &[
    KindRules { update: METADATA_FIRST, ..KindRules::of(Role::schema) },
    KindRules { update: METADATA_FIRST, ..KindRules::of(ClusterRole::schema) },
    KindRules {
        update: &[Pass::Metadata, Pass::Rules, Pass::MetadataUpdate, pass!(RoleBinding, binding::keeps_role)],
        ..KindRules::of(RoleBinding::schema)
    },
    KindRules {
        update: &[
            Pass::Metadata,
            Pass::Rules,
            Pass::MetadataUpdate,
            pass!(ClusterRoleBinding, binding::keeps_cluster_role),
        ],
        ..KindRules::of(ClusterRoleBinding::schema)
    },
];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] = &[
    field_order!(Subject: [NAME, API_GROUP, NAMESPACE, KIND]),
    field_order!(RoleBinding: [ROLE_REF]),
    field_order!(ClusterRoleBinding: [ROLE_REF]),
];

static RULES: &[CustomRule] = &[
    at_field!(AggregationRule::CLUSTER_ROLE_SELECTORS, role::selectors, phase = Inside(1)),
    at_type!(PolicyRule, role::non_resource_urls, phase = After),
    at_field!(RoleRef::KIND, binding::role_kind),
    at_type!(Subject, binding::subject_namespace, phase = After),
];

#[cfg(test)]
mod tests;
