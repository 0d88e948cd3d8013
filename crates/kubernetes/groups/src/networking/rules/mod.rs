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
    HTTPIngressPath, IPAddress, IPBlock, Ingress, IngressBackend, IngressClass, IngressClassSpec,
    IngressLoadBalancerIngress, IngressSpec, NetworkPolicyPort, ParentReference, ServiceCIDR, ServiceCIDRSpec,
};
use pintle_validation::{CustomRule, FieldOrder, Group, KindRules, Pass, at_field, at_type, field_order, pass};

/// The group's kinds whose passes are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, orders: ORDERS, ..Group::NONE };

static KINDS: &[KindRules] = &[
    KindRules { update: &[Pass::MetadataUpdate, Pass::Metadata, Pass::Rules], ..KindRules::of(Ingress::schema) },
    KindRules {
        update: &[
            Pass::MetadataUpdate,
            pass!(IngressClass, ingress_class::keeps_controller),
            Pass::Metadata,
            Pass::Rules,
        ],
        ..KindRules::of(IngressClass::schema)
    },
    KindRules {
        update: &[Pass::Metadata, Pass::Rules, Pass::MetadataUpdate, pass!(IPAddress, addresses::keeps_parent)],
        ..KindRules::of(IPAddress::schema)
    },
    KindRules {
        update: &[Pass::MetadataUpdate, pass!(ServiceCIDR, addresses::grows_only)],
        parts: &[("status", &[Pass::MetadataUpdate])],
        ..KindRules::of(ServiceCIDR::schema)
    },
];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] = &[
    field_order!(IngressSpec: [DEFAULT_BACKEND, RULES, TLS, INGRESS_CLASS_NAME]),
    field_order!(HTTPIngressPath: [PATH_TYPE]),
    field_order!(ParentReference: [GROUP, RESOURCE, NAME, NAMESPACE]),
];

static RULES: &[CustomRule] = &[
    at_type!(NetworkPolicyPort, network_policy::named_port, phase = BeforeField(&[NetworkPolicyPort::PORT.name()])),
    at_type!(NetworkPolicyPort, network_policy::port_range, phase = After),
    at_type!(IPBlock, network_policy::block, phase = After),
    at_type!(Ingress, ingress::one_class, phase = After, ON_CREATE),
    at_type!(IngressSpec, ingress::has_backend),
    at_type!(IngressBackend, ingress::backend_port, phase = After),
    at_type!(IngressLoadBalancerIngress, ingress::ingress_point),
    at_field!(IngressClassSpec::CONTROLLER, domain_prefixed_path, phase = After),
    at_field!(ServiceCIDRSpec::CIDRS, addresses::cidrs, ON_CREATE),
];
