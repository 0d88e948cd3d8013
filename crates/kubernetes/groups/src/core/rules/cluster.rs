//! The rules and validation steps of services, endpoints, nodes, namespaces and events.

use super::{event, namespace, node, service};
use pintle_schema::ApiType;
use pintle_types::core::v1::{
    Endpoints, Event, LoadBalancerIngress, LoadBalancerStatus, Namespace, NamespaceSpec, Node, NodeSpec, NodeStatus,
    Service, ServiceSpec,
};
use pintle_validation::{CustomRule, Group, KindRules, Step, at_field, at_type, step};

/// The kinds whose steps are not the usual ones, and the rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES };

static KINDS: &[KindRules] = &[
    KindRules {
        update: &[Step::MetadataUpdate, step!(Service, service::keeps), Step::Rules],
        ..KindRules::of(Service::schema)
    },
    KindRules { update: &[Step::MetadataUpdate, Step::Metadata, Step::Rules], ..KindRules::of(Endpoints::schema) },
    KindRules {
        create: &[Step::Metadata, Step::Rules, step!(Node, node::node)],
        update: &[
            Step::Metadata,
            Step::Rules,
            step!(Node, node::node),
            Step::MetadataUpdate,
            step!(Node, node::update),
        ],
        parts: &[("status", &[Step::MetadataUpdate, step!(Node, node::update), Step::Rules])],
        ..KindRules::of(Node::schema)
    },
    KindRules {
        update: &[Step::Metadata, Step::Rules, Step::MetadataUpdate],
        parts: &[("status", &[Step::MetadataUpdate, step!(Namespace, namespace::phase)])],
        ..KindRules::of(Namespace::schema)
    },
    KindRules {
        create: &[step!(Event, event::create)],
        update: &[step!(Event, event::update)],
        ..KindRules::of(Event::schema)
    },
];

static RULES: &[CustomRule] = &[
    at_type!(Service, service::topology_mode),
    at_field!(ServiceSpec::PORTS, service::distinct_ports, AFTER),
    at_field!(ServiceSpec::IP_FAMILIES, service::distinct_families, AFTER),
    at_field!(ServiceSpec::CLUSTER_IP, service::first_cluster_ip, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(ServiceSpec::CLUSTER_IPS, service::cluster_ips, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(ServiceSpec::EXTERNAL_IPS, service::external_ips),
    at_field!(ServiceSpec::LOAD_BALANCER_SOURCE_RANGES, service::ports_and_ranges, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(ServiceSpec::ALLOCATE_LOAD_BALANCER_NODE_PORTS, service::allocates, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(LoadBalancerIngress::IP, service::reported_ip, ON_PART),
    at_type!(LoadBalancerStatus, service::only_balancers_report, AFTER | ON_PART),
    at_field!(NamespaceSpec::FINALIZERS, namespace::finalizers),
    at_field!(NodeSpec::TAINTS, node::taint_values),
    at_field!(NodeSpec::CONFIG_SOURCE, node::config_source, ON_UPDATE | ON_PART),
    at_field!(NodeStatus::ADDRESSES, node::addresses, ON_UPDATE | ON_PART),
    at_field!(NodeStatus::CONFIG, node::config_status, ON_UPDATE | ON_PART),
];
