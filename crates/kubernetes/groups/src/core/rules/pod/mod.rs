//! Handwritten rules of pods and of the parts of their spec, except volumes, for all kinds with a pod spec.
//!
//! Rules of single fields are tags. Here are rules that read several fields, and those with special paths or messages.

pub(crate) mod annotations;
mod containers;
pub(crate) mod env;
mod handlers;
mod mounts;
mod order;
mod platform;
mod resize;
pub(crate) mod resources;
pub mod scheduling;
mod security;
mod spec;
mod status;
mod system;
mod update;
pub mod warnings;

#[cfg(test)]
mod tests;

use pintle_schema::{ApiType, View};
use pintle_types::core::v1::{
    Container, EnvFromSource, EnvVar, EphemeralContainerCommon, HTTPHeader, NodeSelector, Pod, PodAffinityTerm,
    PodDNSConfig, PodSchedulingGate, PodSpec, PodTemplateSpec, SeccompProfile, SecurityContext, Toleration,
    TopologySpreadConstraint, WindowsSecurityContextOptions,
};
use pintle_validation::{CustomRule, Group, KindRules, Step, at_field, at_type, step};

/// The steps of Pod, and the rules of a pod's parts.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES };

static KINDS: &[KindRules] = &[KindRules {
    create: &[Step::Metadata, step!(Pod, annotations::of_pod), Step::Rules, step!(Pod, annotations::fit_fields)],
    update: &[
        Step::MetadataUpdate,
        Step::Metadata,
        step!(Pod, annotations::of_pod),
        Step::Rules,
        step!(Pod, annotations::keep),
        step!(Pod, update::mutable_fields),
    ],
    parts: &[
        // The pod was validated when it was created, and the name of the node is not validated.
        ("binding", &[]),
        ("status", &[Step::MetadataUpdate, step!(Pod, annotations::keep), Step::Rules, step!(Pod, status::changes)]),
        (
            "ephemeralcontainers",
            &[
                Step::MetadataUpdate,
                Step::Metadata,
                step!(Pod, annotations::of_pod),
                Step::Rules,
                step!(Pod, annotations::keep),
                step!(Pod, update::ephemeral_containers),
            ],
        ),
        (
            "resize",
            &[
                Step::MetadataUpdate,
                Step::Metadata,
                step!(Pod, annotations::of_pod),
                Step::Rules,
                step!(Pod, resize::mutable_resources),
            ],
        ),
    ],
    ..KindRules::of(Pod::schema)
}];

static RULES: &[CustomRule] = &[
    at_type!(PodSpec, order::begin),
    at_field!(Pod::SPEC, spec::of_pod, AFTER),
    at_field!(PodSpec::VOLUMES, mounts::distinct_volumes, AFTER),
    at_field!(PodSpec::CONTAINERS, containers::regular, AFTER),
    at_field!(PodSpec::INIT_CONTAINERS, containers::init, AFTER),
    at_field!(PodSpec::TOPOLOGY_SPREAD_CONSTRAINTS, scheduling::distinct_constraints, AFTER),
    at_field!(PodSpec::RESOURCES, resources::of_pod),
    at_field!(PodSpec::OVERHEAD, resources::overhead),
    at_type!(PodDNSConfig, spec::dns_config, AFTER),
    // Errors are then sorted by field and container, as kube-apiserver validates them.
    at_type!(PodSpec, mounts::fit_volumes, AFTER),
    at_type!(PodSpec, containers::fit_pod, AFTER),
    at_type!(PodSpec, system::resize_policies, AFTER),
    at_type!(PodSpec, system::unmasked, AFTER),
    at_type!(PodSpec, system::stop_signals, AFTER),
    at_type!(PodSpec, resources::fit_pod, AFTER),
    at_type!(PodSpec, system::process_namespace, AFTER),
    at_type!(PodSpec, security::fits_pod, AFTER),
    at_type!(PodSpec, order::by_place, AFTER),
    // The errors of each of these stand before those of a later field.
    at_type!(PodSpec, order::host_network_ports, AFTER),
    at_type!(PodSpec, order::dns_policy, AFTER),
    at_type!(PodSpec, order::host_process, AFTER),
    at_type!(PodSpec, order::user_namespace, AFTER),
    at_type!(PodSpec, order::hostname_override, AFTER),
    at_type!(PodSpec, order::operating_system, AFTER),
    at_type!(PodSpec, env::file_key_volumes, AFTER),
    at_field!(Container::PORTS, containers::distinct_ports),
    at_field!(EphemeralContainerCommon::PORTS, containers::distinct_ports),
    at_field!(Container::RESOURCES, resources::of_container),
    at_field!(EphemeralContainerCommon::RESOURCES, resources::of_container),
    at_field!(EnvVar::VALUE_FROM, env::value_from),
    at_type!(EnvVar, env::one_value, AFTER),
    at_type!(EnvFromSource, env::one_source, AFTER),
    at_type!(HTTPHeader, handlers::header_name),
    at_type!(SecurityContext, security::privileges, AFTER),
    at_type!(SeccompProfile, security::seccomp, AFTER),
    at_type!(WindowsSecurityContextOptions, security::windows, AFTER),
    at_field!(NodeSelector::NODE_SELECTOR_TERMS, scheduling::label_values, AFTER),
    at_type!(PodSchedulingGate, scheduling::gate_name),
    at_type!(Toleration, scheduling::toleration, AFTER),
    at_field!(PodAffinityTerm::NAMESPACES, scheduling::namespaces),
    at_type!(PodAffinityTerm, scheduling::pod_affinity_term, AFTER),
    at_type!(TopologySpreadConstraint, scheduling::spread, AFTER),
    at_type!(PodTemplateSpec, annotations::of_template),
    at_type!(PodTemplateSpec, annotations::template_fits_fields, AFTER),
];

/// The text of a value of any string type; "" if it has none.
fn text<'a, T>(view: View<'a, T>) -> &'a str {
    view.value().as_str().unwrap_or_default()
}

/// Whether a pointer to a flag is set and true.
fn is_true(flag: View<'_, Option<bool>>) -> bool {
    flag.get() == Some(true)
}
