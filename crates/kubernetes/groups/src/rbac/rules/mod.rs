//! Handwritten rules of the RBAC group.
//!
//! One file for roles and one for bindings; this one is the table.

pub mod binding;
pub mod role;

use pintle_schema::ApiType;
use pintle_types::rbac::v1::{
    AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use pintle_validation::{CustomRule, Group, KindRules, Step, at_field, at_type, step};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES };

const METADATA_FIRST: &[Step] = &[Step::Metadata, Step::Rules, Step::MetadataUpdate];

static KINDS: &[KindRules] = &[
    KindRules { update: METADATA_FIRST, ..KindRules::of(Role::schema) },
    KindRules { update: METADATA_FIRST, ..KindRules::of(ClusterRole::schema) },
    KindRules {
        update: &[Step::Metadata, Step::Rules, Step::MetadataUpdate, step!(RoleBinding, binding::keeps_role)],
        ..KindRules::of(RoleBinding::schema)
    },
    KindRules {
        update: &[
            Step::Metadata,
            Step::Rules,
            Step::MetadataUpdate,
            step!(ClusterRoleBinding, binding::keeps_cluster_role),
        ],
        ..KindRules::of(ClusterRoleBinding::schema)
    },
];

static RULES: &[CustomRule] = &[
    at_field!(AggregationRule::CLUSTER_ROLE_SELECTORS, role::selectors, AFTER),
    at_type!(PolicyRule, role::non_resource_urls, AFTER),
    at_field!(RoleRef::KIND, binding::role_kind),
    at_type!(Subject, binding::subject_namespace, AFTER),
];

#[cfg(test)]
mod tests;
