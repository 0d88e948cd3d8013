//! Warnings of pods and pod templates: fields without an effect, or with an unexpected one. Warnings never reject a
//! request.

mod ports;
pub mod volumes;

use crate::core::rules::node_labels::{node_term, old_label};
use crate::core::rules::volume::warnings as volume;
use crate::rules::warnings::{Written, address, each};
use pintle_schema::{View, names};
use pintle_types::core::v1::{
    Affinity, Container, EnvVar, HostAlias, HostIP, LocalObjectReference, NodeAffinity, NodeSelector, Pod, PodAffinity,
    PodAffinityTerm, PodAntiAffinity, PodDNSConfig, PodIP, PodSecurityContext, PodSpec, PodStatus, PodTemplateSpec,
    PreferredSchedulingTerm, ResourceList, ResourceRequirements, SecurityContext, TopologySpreadConstraint,
    WeightedPodAffinityTerm,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::FieldPath;
use std::collections::HashSet;

const NO_POD: &str = "a null labelSelector results in matching no pod";

const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";

/// Followed by the name of a container, as the next.
const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";

const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

const SECCOMP_TEXT: &str = "non-functional in v1.27+; use the \"seccompProfile\" field instead";

const APP_ARMOR_TEXT: &str = "deprecated since v1.30; use the \"appArmorProfile\" field instead";

/// Resources that are counted in bytes.
const BYTES: [&str; 2] = ["memory", "ephemeral-storage"];

const OLD_ANNOTATIONS: &[(&str, &str)] = &[
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    ("security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
];

/// Warnings of a new pod, and of the addresses in a status.
pub fn pod(written: &Written<'_>, warnings: &mut Vec<String>) {
    let pod = written.view::<Pod>();
    if written.is_new() {
        name_for_host(pod.field(Pod::METADATA), "this is used in the Pod's hostname", warnings);
        of_parts(pod.field(Pod::METADATA), pod.field(Pod::SPEC), &FieldPath::ROOT, false, warnings);
    } else if written.subresource == "status" {
        let path = FieldPath::new(Pod::STATUS.name());
        let status = pod.field(Pod::STATUS);
        let list = path.to(PodStatus::POD_IPS);
        for (index, ip) in status.field(PodStatus::POD_IPS).iter().enumerate() {
            address(ip.field(PodIP::IP).as_str(), &list.index(index).to(PodIP::IP), warnings);
        }
        let list = path.to(PodStatus::HOST_IPS);
        for (index, ip) in status.field(PodStatus::HOST_IPS).iter().enumerate() {
            address(ip.field(HostIP::IP).as_str(), &list.index(index).to(HostIP::IP), warnings);
        }
    }
}

/// Warnings of a pod template at a path.
pub fn of_template(
    template: View<'_, PodTemplateSpec>,
    path: &FieldPath<'_>,
    fields: &[&str],
    warnings: &mut Vec<String>,
) {
    match fields.split_first() {
        Some((field, rest)) => of_template(template, &path.child(field), rest, warnings),
        None => {
            let (metadata, spec) = (PodTemplateSpec::METADATA, PodTemplateSpec::SPEC);
            of_parts(template.field(metadata), template.field(spec), path, true, warnings);
        }
    }
}

/// Warns of a name that is no host's name.
pub fn name_for_host(metadata: View<'_, ObjectMeta>, used: &str, warnings: &mut Vec<String>) {
    let messages = names::dns1123_label(metadata.field(ObjectMeta::NAME).as_str());
    if !messages.is_empty() {
        warnings.push(format!(
            "metadata.name: {used}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            messages.join(" ")
        ));
    }
}

fn of_parts(
    metadata: View<'_, ObjectMeta>,
    spec: View<'_, PodSpec>,
    path: &FieldPath<'_>,
    is_template: bool,
    warnings: &mut Vec<String>,
) {
    let spec_path = path.to(Pod::SPEC);
    placement(spec, &spec_path, warnings);
    let annotations = path.to(Pod::METADATA);
    let annotations = annotations.to(ObjectMeta::ANNOTATIONS);
    for (key, text) in OLD_ANNOTATIONS {
        if metadata.field(ObjectMeta::ANNOTATIONS).value().get(key).is_some() {
            warnings.push(format!("{}: {text}", annotations.key(key)));
        }
    }
    volumes::warn(spec.field(PodSpec::VOLUMES), &spec_path.to(PodSpec::VOLUMES), warnings);
    repeated(spec, &spec_path, warnings);
    fractions(spec.field(PodSpec::OVERHEAD), &spec_path.to(PodSpec::OVERHEAD), warnings);
    let context = spec.field(PodSpec::SECURITY_CONTEXT).or_zero();
    let has = |key: &str| metadata.field(ObjectMeta::ANNOTATIONS).value().get(key).is_some();
    if !context.field(PodSecurityContext::SECCOMP_PROFILE).is_set() && has(SECCOMP) {
        warnings.push(format!("{}: {SECCOMP_TEXT}", annotations.key(SECCOMP)));
    }
    // A pod's own annotation is warned of when it is copied to the field.
    let tells_app_armor = is_template && !context.field(PodSecurityContext::APP_ARMOR_PROFILE).is_set();
    for field in [PodSpec::INIT_CONTAINERS, PodSpec::CONTAINERS] {
        let path = spec_path.to(field);
        for (index, container) in spec.field(field).iter().enumerate() {
            let name = container.field(Container::NAME).as_str();
            let context = container.field(Container::SECURITY_CONTEXT).or_zero();
            let (seccomp, app_armor) = (format!("{SECCOMP_OF_CONTAINER}{name}"), format!("{APP_ARMOR}{name}"));
            if !context.field(SecurityContext::SECCOMP_PROFILE).is_set() && has(&seccomp) {
                warnings.push(format!("{}: {SECCOMP_TEXT}", annotations.key(&seccomp)));
            }
            if tells_app_armor && !context.field(SecurityContext::APP_ARMOR_PROFILE).is_set() && has(&app_armor) {
                warnings.push(format!("{}: {APP_ARMOR_TEXT}", annotations.key(&app_armor)));
            }
            of_container(container, &path.index(index), warnings);
        }
    }
    ports::warn(spec, &spec_path, warnings);
    let grace = PodSpec::TERMINATION_GRACE_PERIOD_SECONDS;
    if spec.field(grace).get().is_some_and(|seconds| seconds < 0) {
        let detail = "must be >= 0; negative values are invalid and will be treated as 1";
        warnings.push(format!("{}: {detail}", spec_path.to(grace)));
    }
    affinity(spec, &spec_path, warnings);
    addresses(spec, &spec_path, warnings);
}

fn placement(spec: View<'_, PodSpec>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let selector = path.to(PodSpec::NODE_SELECTOR);
    for (key, _) in spec.field(PodSpec::NODE_SELECTOR).value().as_map().into_iter().flat_map(|map| map.iter()) {
        if let Some(text) = old_label(key) {
            warnings.push(format!("{}: {text}", selector.key(key)));
        }
    }
    let affinity = spec.field(PodSpec::AFFINITY).or_zero().field(Affinity::NODE_AFFINITY).or_zero();
    let place = path.to(PodSpec::AFFINITY);
    let place = place.to(Affinity::NODE_AFFINITY);
    let required = affinity.field(NodeAffinity::REQUIRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION);
    let terms = place.to(NodeAffinity::REQUIRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION);
    let terms = terms.to(NodeSelector::NODE_SELECTOR_TERMS);
    for (index, term) in required.or_zero().field(NodeSelector::NODE_SELECTOR_TERMS).iter().enumerate() {
        node_term(term, false, &terms.index(index), warnings);
    }
    let preferred = NodeAffinity::PREFERRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION;
    let terms = place.to(preferred);
    for (index, term) in affinity.field(preferred).iter().enumerate() {
        let term = term.field(PreferredSchedulingTerm::PREFERENCE);
        node_term(term, true, &terms.index(index).to(PreferredSchedulingTerm::PREFERENCE), warnings);
    }
    let constraints = path.to(PodSpec::TOPOLOGY_SPREAD_CONSTRAINTS);
    for (index, constraint) in spec.field(PodSpec::TOPOLOGY_SPREAD_CONSTRAINTS).iter().enumerate() {
        let path = constraints.index(index);
        let key = constraint.field(TopologySpreadConstraint::TOPOLOGY_KEY).as_str();
        if let Some(text) = old_label(key) {
            warnings.push(format!("{}: {key} is {text}", path.to(TopologySpreadConstraint::TOPOLOGY_KEY)));
        }
        if !constraint.field(TopologySpreadConstraint::LABEL_SELECTOR).is_set() {
            warnings.push(format!("{}: {NO_POD}", path.to(TopologySpreadConstraint::LABEL_SELECTOR)));
        }
    }
}

fn repeated(spec: View<'_, PodSpec>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let aliases = spec.field(PodSpec::HOST_ALIASES);
    let list = path.to(PodSpec::HOST_ALIASES);
    let mut seen = HashSet::new();
    for (index, alias) in aliases.iter().enumerate() {
        let ip = alias.field(HostAlias::IP).as_str();
        if !seen.insert(ip) {
            warnings.push(format!("{}: duplicate ip {ip:?}", list.index(index).to(HostAlias::IP)));
        }
    }
    let secrets = spec.field(PodSpec::IMAGE_PULL_SECRETS);
    let list = path.to(PodSpec::IMAGE_PULL_SECRETS);
    let place = |index: usize| list.index(index).to(LocalObjectReference::NAME).to_string();
    let names: Vec<&str> = secrets.iter().map(|secret| secret.field(LocalObjectReference::NAME).as_str()).collect();
    let mut seen = HashSet::new();
    for (index, name) in names.iter().enumerate() {
        if !seen.insert(name) {
            warnings.push(format!("{}: duplicate name {name:?}", place(index)));
        }
    }
    for (index, _) in names.iter().enumerate().filter(|(_, name)| name.is_empty()) {
        warnings.push(format!("{}: invalid empty name \"\"", place(index)));
    }
}

fn fractions(list: View<'_, ResourceList>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    for name in BYTES {
        volume::fraction(list, name, path, warnings);
    }
}

fn of_container(container: View<'_, Container>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let resources = container.field(Container::RESOURCES);
    let place = path.to(Container::RESOURCES);
    for name in BYTES {
        for list in [ResourceRequirements::LIMITS, ResourceRequirements::REQUESTS] {
            volume::fraction(resources.field(list), name, &place.to(list), warnings);
        }
    }
    let mut seen = HashSet::new();
    for (index, var) in container.field(Container::ENV).iter().enumerate() {
        let name = var.field(EnvVar::NAME).as_str();
        let hides = !seen.insert(name);
        // A value that only repeats the one before is as lost as one that does not name it.
        let (value, reference) = (var.field(EnvVar::VALUE).as_str(), format!("$({name})"));
        if hides && (value == reference || !value.contains(&reference)) {
            let place = path.to(Container::ENV);
            let detail = format!("hides previous definition of {name:?}, which may be dropped when using apply");
            warnings.push(format!("{}: {detail}", place.index(index)));
        }
    }
}

fn affinity(spec: View<'_, PodSpec>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let affinity = spec.field(PodSpec::AFFINITY).or_zero();
    let required = PodAffinity::REQUIRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION;
    let preferred = PodAffinity::PREFERRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION;
    let path = path.to(PodSpec::AFFINITY);
    let kinds = [
        (Affinity::POD_AFFINITY.name(), affinity.field(Affinity::POD_AFFINITY).or_zero()),
        // Both kinds of affinity have the same fields.
        (Affinity::POD_ANTI_AFFINITY.name(), View::new(affinity.field(Affinity::POD_ANTI_AFFINITY).value())),
    ];
    debug_assert_eq!(required.name(), PodAntiAffinity::REQUIRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION.name());
    for (field, terms) in kinds {
        let path = path.child(field);
        let list = path.to(required);
        for (index, term) in terms.field(required).iter().enumerate() {
            null_selector(term, &list.index(index), warnings);
        }
        let list = path.to(preferred);
        for (index, term) in terms.field(preferred).iter().enumerate() {
            let place = list.index(index);
            let term = term.field(WeightedPodAffinityTerm::POD_AFFINITY_TERM);
            null_selector(term, &place.to(WeightedPodAffinityTerm::POD_AFFINITY_TERM), warnings);
        }
    }
}

fn null_selector(term: View<'_, PodAffinityTerm>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    if !term.field(PodAffinityTerm::LABEL_SELECTOR).is_set() {
        warnings.push(format!("{}: {NO_POD}", path.to(PodAffinityTerm::LABEL_SELECTOR)));
    }
}

fn addresses(spec: View<'_, PodSpec>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let config = spec.field(PodSpec::DNS_CONFIG).or_zero();
    let list = path.to(PodSpec::DNS_CONFIG);
    let list = list.to(PodDNSConfig::NAMESERVERS);
    each(config.field(PodDNSConfig::NAMESERVERS), &list, warnings, address);
    let list = path.to(PodSpec::HOST_ALIASES);
    for (index, alias) in spec.field(PodSpec::HOST_ALIASES).iter().enumerate() {
        let place = list.index(index);
        address(alias.field(HostAlias::IP).as_str(), &place.to(HostAlias::IP), warnings);
    }
}
