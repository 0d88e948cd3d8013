//! Handwritten rules of pods and of the parts of their spec, except volumes, for all kinds with a pod spec.
//!
//! Rules of single fields are tags. Here are rules that read several fields, and those with special paths or messages.

pub(crate) mod annotations;
mod containers;
pub(crate) mod env;
mod handlers;
mod mounts;
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
    Container, ContainerPort, ContainerStatus, EnvFromSource, EnvVar, EphemeralContainerCommon, FileKeySelector,
    HTTPHeader, NodeSelector, Pod, PodAffinityTerm, PodDNSConfig, PodResourceClaim, PodSchedulingGate,
    PodSecurityContext, PodSpec, PodStatus, PodTemplateSpec, SeccompProfile, SecurityContext, Toleration,
    TopologySpreadConstraint, WindowsSecurityContextOptions,
};
use pintle_validation::{
    CustomRule, FieldOrder, Group, KindRules, Pass, Skip, at_field, at_type, field_order, pass, skip, skip_inside,
};

/// Whether an init container keeps running beside the regular ones.
fn is_sidecar(container: View<'_, Container>) -> bool {
    text(container.field(Container::RESTART_POLICY)) == "Always"
}

/// The passes of Pod, and the rules of a pod's parts.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, orders: ORDERS, skips: SKIPS, ..Group::NONE };

static KINDS: &[KindRules] = &[KindRules {
    create: &[Pass::Metadata, pass!(Pod, annotations::of_pod), Pass::Rules, pass!(Pod, annotations::fit_fields)],
    update: &[
        Pass::MetadataUpdate,
        Pass::Metadata,
        pass!(Pod, annotations::of_pod),
        Pass::Rules,
        pass!(Pod, annotations::keep),
        pass!(Pod, update::mutable_fields),
    ],
    parts: &[
        // The pod was validated when it was created, and the name of the node is not validated.
        ("binding", &[]),
        ("status", &[Pass::MetadataUpdate, pass!(Pod, annotations::keep), Pass::Rules]),
        (
            "ephemeralcontainers",
            &[
                Pass::MetadataUpdate,
                Pass::Metadata,
                pass!(Pod, annotations::of_pod),
                Pass::Rules,
                pass!(Pod, annotations::keep),
                pass!(Pod, update::ephemeral_containers),
            ],
        ),
        (
            "resize",
            &[
                pass!(Pod, first: resize::can_be_resized),
                Pass::MetadataUpdate,
                Pass::Metadata,
                pass!(Pod, annotations::of_pod),
                Pass::Rules,
                pass!(Pod, resize::mutable_resources),
            ],
        ),
    ],
    ..KindRules::of(Pod::schema)
}];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] = &[
    field_order!(PodSecurityContext: [
        FS_GROUP, RUN_AS_USER, RUN_AS_GROUP, SUPPLEMENTAL_GROUPS, SYSCTLS, FS_GROUP_CHANGE_POLICY, SECCOMP_PROFILE,
        WINDOWS_OPTIONS, APP_ARMOR_PROFILE
    ]),
    field_order!(SecurityContext: [
        RUN_AS_USER, RUN_AS_GROUP, PROC_MOUNT, SECCOMP_PROFILE, WINDOWS_OPTIONS, APP_ARMOR_PROFILE
    ]),
    field_order!(ContainerPort: [NAME, CONTAINER_PORT, HOST_PORT]),
    field_order!(Container: [
        NAME, IMAGE, TERMINATION_MESSAGE_POLICY, PORTS, ENV, ENV_FROM, VOLUME_MOUNTS, VOLUME_DEVICES, IMAGE_PULL_POLICY,
        RESOURCES, RESIZE_POLICY, SECURITY_CONTEXT, LIFECYCLE, LIVENESS_PROBE, READINESS_PROBE, STARTUP_PROBE,
        RESTART_POLICY, RESTART_POLICY_RULES
    ]),
    field_order!(Container in PodSpec::INIT_CONTAINERS: [
        NAME, IMAGE, TERMINATION_MESSAGE_POLICY, PORTS, ENV, ENV_FROM, VOLUME_MOUNTS, VOLUME_DEVICES, IMAGE_PULL_POLICY,
        RESOURCES, RESIZE_POLICY, SECURITY_CONTEXT, RESTART_POLICY, RESTART_POLICY_RULES, LIFECYCLE, LIVENESS_PROBE,
        READINESS_PROBE, STARTUP_PROBE
    ]),
    field_order!(EphemeralContainerCommon: [
        NAME, IMAGE, TERMINATION_MESSAGE_POLICY, PORTS, ENV, ENV_FROM, VOLUME_MOUNTS, VOLUME_DEVICES, IMAGE_PULL_POLICY,
        RESOURCES, RESIZE_POLICY, SECURITY_CONTEXT, LIFECYCLE
    ]),
    field_order!(PodStatus: [
        CONDITIONS, NOMINATED_NODE_NAME, OBSERVED_GENERATION, QOS_CLASS, RESOURCE_CLAIM_STATUSES,
        EXTENDED_RESOURCE_CLAIM_STATUS, POD_IPS, HOST_IPS, CONTAINER_STATUSES, INIT_CONTAINER_STATUSES,
        EPHEMERAL_CONTAINER_STATUSES
    ]),
    field_order!(FileKeySelector: [KEY]),
    field_order!(PodSpec: [
        VOLUMES, RESOURCE_CLAIMS, CONTAINERS, INIT_CONTAINERS, EPHEMERAL_CONTAINERS, RESOURCES, RESTART_POLICY,
        DNS_POLICY, NODE_SELECTOR, SECURITY_CONTEXT, IMAGE_PULL_SECRETS, AFFINITY, DNS_CONFIG, READINESS_GATES,
        SCHEDULING_GATES, TOPOLOGY_SPREAD_CONSTRAINTS, HOSTNAME_OVERRIDE, SERVICE_ACCOUNT_NAME, NODE_NAME,
        ACTIVE_DEADLINE_SECONDS, HOSTNAME, SUBDOMAIN, TOLERATIONS, HOST_ALIASES, PRIORITY_CLASS_NAME,
        RUNTIME_CLASS_NAME, PREEMPTION_POLICY, OVERHEAD, OS, SCHEDULING_GROUP
    ]),
    field_order!(PodAffinityTerm: [
        LABEL_SELECTOR, NAMESPACE_SELECTOR, NAMESPACES, MATCH_LABEL_KEYS, MISMATCH_LABEL_KEYS, TOPOLOGY_KEY
    ]),
    field_order!(TopologySpreadConstraint: [
        MAX_SKEW, TOPOLOGY_KEY, WHEN_UNSATISFIABLE, MIN_DOMAINS, NODE_AFFINITY_POLICY, NODE_TAINTS_POLICY,
        MATCH_LABEL_KEYS, LABEL_SELECTOR
    ]),
];

static SKIPS: &[Skip] = &[
    skip!(PodSpec::RESOURCE_CLAIMS, spec::is_static),
    skip!(PodSpec::RESOURCES, resources::is_on_windows),
    skip_inside!(PodSpec::DNS_CONFIG, system::has_no_nameservers),
    skip!(Container::LIFECYCLE, containers::ends),
    skip!(Container::LIVENESS_PROBE, containers::ends),
    skip!(Container::READINESS_PROBE, containers::ends),
    skip!(Container::STARTUP_PROBE, containers::ends),
    skip!(Container::RESTART_POLICY_RULES, containers::has_no_policy),
    skip!(ContainerStatus::ALLOCATED_RESOURCES_STATUS, status::is_ephemeral),
];

static RULES: &[CustomRule] = &[
    at_field!(Pod::SPEC, spec::of_pod, phase = After),
    at_field!(PodSpec::VOLUMES, mounts::distinct_volumes, phase = Inside(1)),
    at_type!(
        PodResourceClaim,
        spec::one_source_of_claim,
        phase = BeforeField(&[PodResourceClaim::RESOURCE_CLAIM_NAME.name()])
    ),
    at_field!(PodSpec::CONTAINERS, containers::distinct_names, phase = BeforeField(&[Container::LIFECYCLE.name()])),
    at_field!(PodSpec::CONTAINERS, handlers::of_hooks, phase = Inside(3)),
    at_field!(PodSpec::CONTAINERS, handlers::of_probes, phase = BeforePart(2)),
    // Ports are compared across all containers.
    at_field!(PodSpec::CONTAINERS, containers::distinct_host_ports, phase = After),
    at_field!(PodSpec::INIT_CONTAINERS, containers::only_of_sidecars, phase = Inside(2)),
    at_field!(PodSpec::INIT_CONTAINERS, handlers::of_hooks_of_sidecars, phase = Inside(3)),
    at_field!(PodSpec::INIT_CONTAINERS, handlers::of_probes_of_sidecars, phase = BeforePart(2)),
    at_field!(PodSpec::INIT_CONTAINERS, containers::restarts_of_sidecars, phase = Inside(1)),
    at_field!(
        PodSpec::TOPOLOGY_SPREAD_CONSTRAINTS,
        scheduling::distinct_constraints,
        phase = BeforeField(&[TopologySpreadConstraint::MIN_DOMAINS.name()])
    ),
    at_field!(PodSpec::RESOURCES, resources::of_pod),
    at_field!(PodSpec::OVERHEAD, resources::overhead),
    at_type!(PodDNSConfig, spec::dns_config, phase = After),
    // What these find in a container stands with the field of the container.
    at_type!(PodSpec, mounts::fit_volumes, phase = Inside(3)),
    at_type!(
        PodSpec,
        containers::distinct_names_of_init,
        phase = BeforeField(&[PodSpec::INIT_CONTAINERS.name(), Container::LIFECYCLE.name()])
    ),
    at_type!(
        PodSpec,
        containers::distinct_host_ports_of_init,
        phase = BeforeField(&[PodSpec::INIT_CONTAINERS.name(), Container::LIFECYCLE.name()])
    ),
    at_type!(PodSpec, containers::hooks_of_all, phase = Inside(4)),
    at_type!(
        PodSpec,
        containers::names_of_ephemeral,
        phase = BeforeField(&[PodSpec::EPHEMERAL_CONTAINERS.name(), Container::LIFECYCLE.name()])
    ),
    at_type!(PodSpec, system::resize_policies, phase = Inside(3)),
    at_type!(PodSpec, system::unmasked, phase = Inside(4)),
    at_type!(PodSpec, system::stop_signals, phase = Inside(4)),
    at_type!(PodSpec, resources::claims_of_containers, phase = Inside(5)),
    at_type!(PodSpec, resources::fit_pod, phase = Inside(1)),
    at_type!(
        PodSpec,
        system::process_namespace,
        phase = BeforeField(&[PodSpec::SECURITY_CONTEXT.name(), PodSecurityContext::SYSCTLS.name()])
    ),
    at_type!(PodSpec, security::fits_pod, phase = Inside(3)),
    at_type!(PodSpec, spec::host_network_ports, phase = BeforeField(&[PodSpec::RESTART_POLICY.name()])),
    at_type!(PodSpec, system::dns_policy, phase = BeforeField(&[PodSpec::READINESS_GATES.name()])),
    at_type!(PodSpec, platform::host_process, phase = BeforeField(&[PodSpec::HOSTNAME_OVERRIDE.name()])),
    at_type!(PodSpec, system::user_namespace, phase = BeforeField(&[PodSpec::HOSTNAME_OVERRIDE.name()])),
    at_type!(PodSpec, system::hostname_override, phase = BeforeField(&[PodSpec::SERVICE_ACCOUNT_NAME.name()])),
    at_type!(PodSpec, system::operating_system, phase = BeforeField(&[PodSpec::SCHEDULING_GROUP.name()])),
    at_type!(PodSpec, env::file_key_volumes, phase = After),
    at_field!(Container::PORTS, containers::distinct_ports, phase = BeforePart(1)),
    at_field!(EphemeralContainerCommon::PORTS, containers::distinct_ports, phase = BeforePart(1)),
    at_field!(Container::RESOURCES, resources::of_container),
    at_field!(EphemeralContainerCommon::RESOURCES, resources::of_container),
    at_field!(EnvVar::VALUE_FROM, env::value_from),
    at_type!(EnvVar, env::one_value, phase = After),
    at_type!(EnvFromSource, env::one_source, phase = After),
    at_type!(HTTPHeader, handlers::header_name),
    at_type!(SecurityContext, security::privileges, phase = BeforeField(&[SecurityContext::WINDOWS_OPTIONS.name()])),
    at_type!(SeccompProfile, security::seccomp, phase = After),
    at_type!(WindowsSecurityContextOptions, security::windows, phase = After),
    at_field!(NodeSelector::NODE_SELECTOR_TERMS, scheduling::label_values, phase = After),
    at_type!(PodSchedulingGate, scheduling::gate_name),
    at_type!(Toleration, scheduling::toleration, phase = After),
    at_field!(PodAffinityTerm::NAMESPACES, scheduling::namespaces),
    at_type!(PodAffinityTerm, scheduling::pod_affinity_term, phase = After),
    at_type!(TopologySpreadConstraint, scheduling::min_domains, phase = Inside(1)),
    at_type!(
        TopologySpreadConstraint,
        scheduling::spread_label_keys,
        phase = BeforeField(&[TopologySpreadConstraint::LABEL_SELECTOR.name()])
    ),
    // A status: three times it is looked at all containers.
    at_field!(PodStatus::CONDITIONS, status::conditions, phase = After, ALWAYS | ON_PART),
    at_type!(PodStatus, status::nominated_node, phase = Inside(1), ALWAYS | ON_PART),
    at_type!(
        PodStatus,
        status::transitions_of_all,
        phase = BeforeField(&[PodStatus::RESOURCE_CLAIM_STATUSES.name()]),
        ALWAYS | ON_PART
    ),
    at_field!(PodStatus::RESOURCE_CLAIM_STATUSES, status::claims, phase = Inside(2), ALWAYS | ON_PART),
    at_field!(PodStatus::RESOURCE_CLAIM_STATUSES, status::distinct_claims, phase = Inside(2)),
    at_type!(PodStatus, status::extended_claim, phase = Inside(1), ALWAYS | ON_PART),
    at_type!(PodStatus, status::addresses, phase = Inside(1), ALWAYS | ON_PART),
    at_type!(
        PodStatus,
        status::users_of_all,
        phase = BeforeField(&[PodStatus::CONTAINER_STATUSES.name()]),
        ALWAYS | ON_PART
    ),
    at_type!(PodStatus, status::allocated_to_all, phase = Inside(1), ALWAYS | ON_PART),
    at_type!(PodTemplateSpec, annotations::of_template),
    at_type!(PodTemplateSpec, annotations::template_fits_fields, phase = After),
];

/// The text of a value of any string type; "" if it has none.
fn text<'a, T>(view: View<'a, T>) -> &'a str {
    view.value().as_str().unwrap_or_default()
}

/// Whether a pointer to a flag is set and true.
fn is_true(flag: View<'_, Option<bool>>) -> bool {
    flag.get() == Some(true)
}
