//! Rules of the networking group that tags cannot say.
//!
//! One file for each kind or family of types; this one is the table.

pub mod addresses;
pub mod ingress;
pub mod ingress_class;
pub mod network_policy;
#[cfg(test)]
mod tests;

use pintle_schema::ApiType;
use pintle_types::networking::v1::{
    HTTPIngressPath, IPAddress, IPBlock, Ingress, IngressClass, IngressClassParametersReference, IngressClassSpec,
    IngressLoadBalancerIngress, IngressRule, IngressSpec, IngressTLS, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec, ServiceCIDR, ServiceCIDRSpec,
};
use pintle_validation::{Group, Hand, KindRules, Step, at_field, at_type, step};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, hand: RULES };

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

static RULES: &[Hand] = &[
    at_field!(NetworkPolicySpec::POD_SELECTOR, crate::shared::label_selector),
    at_type!(NetworkPolicySpec, network_policy::policy_types, AFTER),
    at_type!(NetworkPolicyPort, network_policy::port),
    at_field!(NetworkPolicyPeer::POD_SELECTOR, crate::shared::optional_label_selector),
    at_field!(NetworkPolicyPeer::NAMESPACE_SELECTOR, crate::shared::optional_label_selector),
    at_type!(NetworkPolicyPeer, network_policy::one_peer, AFTER | ALWAYS),
    at_type!(IPBlock, network_policy::block, AFTER),
    at_type!(Ingress, ingress::one_class, AFTER | ON_CREATE),
    at_type!(IngressSpec, ingress::has_backend),
    at_field!(IngressSpec::DEFAULT_BACKEND, ingress::default_backend),
    at_field!(IngressRule::HOST, ingress::host_of_rule),
    at_type!(HTTPIngressPath, ingress::path, AFTER),
    at_field!(IngressTLS::HOSTS, ingress::hosts),
    at_type!(IngressLoadBalancerIngress, ingress::ingress_point),
    at_field!(IngressClassSpec::CONTROLLER, ingress_class::controller, AFTER),
    at_type!(IngressClassParametersReference, ingress_class::namespace, AFTER),
    at_field!(ServiceCIDRSpec::CIDRS, addresses::cidrs, ON_CREATE),
];
