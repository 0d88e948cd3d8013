//! The rules and validation passes of services, endpoints, nodes, namespaces and events.

use super::{event, namespace, node, service};
use pintle_schema::ApiType;
use pintle_types::core::v1::{
    Endpoints, Event, LoadBalancerIngress, LoadBalancerStatus, Namespace, NamespaceSpec, Node, NodeSpec, NodeStatus,
    Service, ServicePort, ServiceSpec,
};
use pintle_validation::{
    CustomRule, FieldOrder, Group, KindRules, Pass, Skip, at_field, at_type, field_order, pass, skip,
};

/// The kinds whose passes are not the usual ones, and the rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, orders: ORDERS, skips: SKIPS, ..Group::NONE };

static KINDS: &[KindRules] = &[
    KindRules {
        update: &[Pass::MetadataUpdate, pass!(Service, service::keeps), Pass::Rules],
        ..KindRules::of(Service::schema)
    },
    KindRules { update: &[Pass::MetadataUpdate, Pass::Metadata, Pass::Rules], ..KindRules::of(Endpoints::schema) },
    KindRules {
        create: &[Pass::Metadata, Pass::Rules, pass!(Node, node::node)],
        update: &[
            Pass::Metadata,
            Pass::Rules,
            pass!(Node, node::node),
            Pass::MetadataUpdate,
            pass!(Node, node::update),
        ],
        parts: &[("status", &[Pass::MetadataUpdate, pass!(Node, node::update), Pass::Rules])],
        ..KindRules::of(Node::schema)
    },
    KindRules {
        update: &[Pass::Metadata, Pass::Rules, Pass::MetadataUpdate],
        parts: &[("status", &[Pass::MetadataUpdate, pass!(Namespace, namespace::phase)])],
        ..KindRules::of(Namespace::schema)
    },
    KindRules {
        create: &[pass!(Event, event::create)],
        update: &[pass!(Event, event::update)],
        ..KindRules::of(Event::schema)
    },
];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] = &[
    field_order!(LoadBalancerIngress: [IP, IP_MODE]),
    field_order!(ServiceSpec: [
        PORTS, SELECTOR, SESSION_AFFINITY, SESSION_AFFINITY_CONFIG, CLUSTER_IP, IP_FAMILIES, IP_FAMILY_POLICY,
        CLUSTER_IPS, EXTERNAL_IPS, TYPE, LOAD_BALANCER_SOURCE_RANGES, ALLOCATE_LOAD_BALANCER_NODE_PORTS,
        LOAD_BALANCER_CLASS, EXTERNAL_TRAFFIC_POLICY, HEALTH_CHECK_NODE_PORT, INTERNAL_TRAFFIC_POLICY,
        TRAFFIC_DISTRIBUTION
    ]),
    field_order!(ServicePort: [NAME, PORT, PROTOCOL, TARGET_PORT, APP_PROTOCOL]),
];

static SKIPS: &[Skip] = &[skip!(LoadBalancerStatus::INGRESS, service::is_no_balancer)];

static RULES: &[CustomRule] = &[
    at_type!(Service, service::topology_mode),
    at_field!(ServiceSpec::PORTS, service::distinct_ports, phase = Inside(2)),
    at_field!(ServiceSpec::IP_FAMILIES, service::distinct_families, phase = Inside(1)),
    at_field!(ServiceSpec::CLUSTER_IP, service::first_cluster_ip, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(ServiceSpec::CLUSTER_IPS, service::cluster_ips, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(ServiceSpec::EXTERNAL_IPS, service::external_ips),
    at_field!(ServiceSpec::LOAD_BALANCER_SOURCE_RANGES, service::ports_and_ranges, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(ServiceSpec::ALLOCATE_LOAD_BALANCER_NODE_PORTS, service::allocates, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(LoadBalancerIngress::IP, service::reported_ip, ON_PART),
    at_type!(LoadBalancerStatus, service::only_balancers_report, phase = After, ON_PART),
    at_field!(NamespaceSpec::FINALIZERS, namespace::finalizers),
    at_field!(NodeSpec::TAINTS, node::taint_values),
    at_field!(NodeSpec::CONFIG_SOURCE, node::config_source, ON_UPDATE | ON_PART),
    at_field!(NodeStatus::ADDRESSES, node::addresses, ON_UPDATE | ON_PART),
    at_field!(NodeStatus::CONFIG, node::config_status, ON_UPDATE | ON_PART),
];
