//! Rules of the RBAC group that tags cannot say.
//!
//! One file for roles, one for bindings; this one is the table.

pub mod binding;
pub mod role;

use pintle_schema::ApiType;
use pintle_types::rbac::v1::{
    AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use pintle_validation::{Group, Hand, KindRules, Step, at_field, at_type, step};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, hand: RULES };

const ROLE_UPDATE: &[Step] = &[Step::Metadata, Step::Rules, Step::MetadataUpdate];

static KINDS: &[KindRules] = &[
    KindRules { update: ROLE_UPDATE, ..KindRules::of(Role::schema) },
    KindRules { update: ROLE_UPDATE, ..KindRules::of(ClusterRole::schema) },
    KindRules {
        update: &[
            Step::Metadata,
            Step::Rules,
            Step::MetadataUpdate,
            step!(RoleBinding, |at, cx| binding::role_is_fixed(at, RoleBinding::ROLE_REF, cx)),
        ],
        ..KindRules::of(RoleBinding::schema)
    },
    KindRules {
        update: &[
            Step::Metadata,
            Step::Rules,
            Step::MetadataUpdate,
            step!(ClusterRoleBinding, |at, cx| binding::role_is_fixed(at, ClusterRoleBinding::ROLE_REF, cx)),
        ],
        ..KindRules::of(ClusterRoleBinding::schema)
    },
];

static RULES: &[Hand] = &[
    at_type!(PolicyRule, role::resources_or_urls, AFTER),
    at_field!(AggregationRule::CLUSTER_ROLE_SELECTORS, role::selectors),
    at_field!(RoleRef::KIND, binding::role_kind),
    at_type!(Subject, binding::subject, AFTER),
];

#[cfg(test)]
mod tests;
