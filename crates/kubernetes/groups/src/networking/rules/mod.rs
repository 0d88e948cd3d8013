//! Handwritten rules of the networking group.
//!
//! One file for each kind or family of types; this one is the table.

pub mod addresses;
pub mod ingress;
pub mod ingress_class;
pub mod network_policy;
#[cfg(test)]
mod tests;

use crate::rules::domain_prefixed_path;
use pintle_schema::ApiType;
use pintle_types::networking::v1::{
    IPAddress, IPBlock, Ingress, IngressBackend, IngressClass, IngressClassSpec, IngressLoadBalancerIngress,
    IngressSpec, NetworkPolicyPort, ServiceCIDR, ServiceCIDRSpec,
};
use pintle_validation::{CustomRule, Group, KindRules, Step, at_field, at_type, step};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES };

static KINDS: &[KindRules] = &[
    KindRules { update: &[Step::MetadataUpdate, Step::Metadata, Step::Rules], ..KindRules::of(Ingress::schema) },
    KindRules {
        update: &[
            Step::MetadataUpdate,
            step!(IngressClass, ingress_class::keeps_controller),
            Step::Metadata,
            Step::Rules,
        ],
        ..KindRules::of(IngressClass::schema)
    },
    KindRules {
        update: &[Step::Metadata, Step::Rules, Step::MetadataUpdate, step!(IPAddress, addresses::keeps_parent)],
        ..KindRules::of(IPAddress::schema)
    },
    KindRules {
        update: &[Step::MetadataUpdate, step!(ServiceCIDR, addresses::grows_only)],
        parts: &[("status", &[Step::MetadataUpdate])],
        ..KindRules::of(ServiceCIDR::schema)
    },
];

static RULES: &[CustomRule] = &[
    at_type!(NetworkPolicyPort, network_policy::named_port, AFTER),
    at_type!(NetworkPolicyPort, network_policy::port_range, AFTER),
    at_type!(IPBlock, network_policy::block, AFTER),
    at_type!(Ingress, ingress::one_class, AFTER | ON_CREATE),
    at_type!(IngressSpec, ingress::has_backend),
    at_type!(IngressBackend, ingress::backend_port, AFTER),
    at_type!(IngressLoadBalancerIngress, ingress::ingress_point),
    at_field!(IngressClassSpec::CONTROLLER, domain_prefixed_path, AFTER),
    at_field!(ServiceCIDRSpec::CIDRS, addresses::cidrs, ON_CREATE),
];
