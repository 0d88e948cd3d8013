//! What clients are warned of when they write pods, and templates of pods: fields that do nothing, or not what was
//! meant. Warnings never refuse; texts are the reference's.

use crate::core::volume::warnings as volume;
use crate::warnings::{Written, address};
use pintle_schema::{Value, View, names};
use pintle_types::apps::v1::{
    DaemonSet, DaemonSetSpec, Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec, StatefulSet, StatefulSetSpec,
};
use pintle_types::batch::v1::{CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec};
use pintle_types::core::v1::{
    Affinity, Container, ContainerPort, EnvVar, HostAlias, LocalObjectReference, NodeAffinity, NodeSelector,
    NodeSelectorRequirement, NodeSelectorTerm, PersistentVolumeClaim, Pod, PodAffinity, PodAffinityTerm,
    PodAntiAffinity, PodDNSConfig, PodSpec, PodTemplate, PodTemplateSpec, PreferredSchedulingTerm,
    ReplicationController, ReplicationControllerSpec, ResourceList, ResourceRequirements, TopologySpreadConstraint,
    Volume, WeightedPodAffinityTerm,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::FieldPath;

const NO_POD: &str = "a null labelSelector results in matching no pod";

/// Labels of nodes that have other names by now.
const OLD_LABELS: &[(&str, &str)] = &[
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    ("failure-domain.beta.kubernetes.io/zone", "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"),
    ("beta.kubernetes.io/instance-type", "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"),
];

const OLD_ANNOTATIONS: &[(&str, &str)] = &[
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    ("security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
];

/// Sources of volumes that are gone: field, its name in texts, and since when.
pub const OLD_SOURCES: &[(&str, &str, &str)] = &[
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Warnings of a new pod.
pub fn pod(written: &Written<'_>, warnings: &mut Vec<String>) {
    if written.is_new() {
        let pod = written.view::<Pod>();
        name_for_host(pod.field(Pod::METADATA), "this is used in the Pod's hostname", warnings);
        of_parts(pod.field(Pod::METADATA), pod.field(Pod::SPEC), &FieldPath::ROOT, warnings);
    }
}

/// Warnings of an object that holds a template of pods, when it is new or counts another generation.
macro_rules! of_owner {
    ($name:ident, $($of:ident :: $field:ident).+, $names_pods:literal) => {
        pub fn $name(written: &Written<'_>, warnings: &mut Vec<String>) {
            of_owner(written, &[$($of::$field.name()),+], $names_pods, warnings);
        }
    };
}

of_owner!(pod_template, PodTemplate::TEMPLATE, false);
of_owner!(deployment, Deployment::SPEC.DeploymentSpec::TEMPLATE, true);
of_owner!(replica_set, ReplicaSet::SPEC.ReplicaSetSpec::TEMPLATE, true);
of_owner!(daemon_set, DaemonSet::SPEC.DaemonSetSpec::TEMPLATE, false);
of_owner!(template_of_stateful_set, StatefulSet::SPEC.StatefulSetSpec::TEMPLATE, false);
of_owner!(job, Job::SPEC.JobSpec::TEMPLATE, true);
of_owner!(cron_job, CronJob::SPEC.CronJobSpec::JOB_TEMPLATE.JobTemplateSpec::SPEC.JobSpec::TEMPLATE, true);

fn of_owner(written: &Written<'_>, fields: &[&str], names_pods: bool, warnings: &mut Vec<String>) {
    if names_pods && written.is_new() {
        // Metadata stands at the same place in every object.
        let metadata = written.view::<Pod>().field(Pod::METADATA);
        name_for_host(metadata, "this is used in Pod names and hostnames", warnings);
    }
    if !written.subresource.is_empty() || !written.has_new_generation() {
        return;
    }
    if let Some(template) = written.object.at(fields) {
        of_template(View::new(template), &FieldPath::ROOT, fields, warnings);
    }
}

/// Warnings of a new controller; of a changed one the reference tells none.
pub fn replication_controller(written: &Written<'_>, warnings: &mut Vec<String>) {
    if written.is_new() {
        let template = [ReplicationController::SPEC.name(), ReplicationControllerSpec::TEMPLATE.name()];
        of_owner(written, &template, true, warnings);
    }
}

/// Warnings of the pods of a stateful set, and of the claims that it makes for them.
pub fn stateful_set(written: &Written<'_>, warnings: &mut Vec<String>) {
    template_of_stateful_set(written, warnings);
    if !written.has_new_generation() {
        return;
    }
    let spec = FieldPath::new(StatefulSet::SPEC.name());
    let path = spec.to(StatefulSetSpec::VOLUME_CLAIM_TEMPLATES);
    let claims = written.view::<StatefulSet>().field(StatefulSet::SPEC).field(StatefulSetSpec::VOLUME_CLAIM_TEMPLATES);
    for (index, claim) in claims.iter().enumerate() {
        volume::of_claim_spec(claim.field(PersistentVolumeClaim::SPEC), &path.index(index), warnings);
    }
}

/// Warnings of a template of pods that stands at the end of some fields.
fn of_template(template: View<'_, PodTemplateSpec>, path: &FieldPath<'_>, fields: &[&str], warnings: &mut Vec<String>) {
    match fields.split_first() {
        Some((field, rest)) => of_template(template, &path.child(field), rest, warnings),
        None => {
            let (metadata, spec) = (PodTemplateSpec::METADATA, PodTemplateSpec::SPEC);
            of_parts(template.field(metadata), template.field(spec), path, warnings);
        }
    }
}

/// Warns of a name that is no host's name.
fn name_for_host(metadata: View<'_, ObjectMeta>, used: &str, warnings: &mut Vec<String>) {
    let messages = names::dns1123_label(metadata.field(ObjectMeta::NAME).as_str());
    if !messages.is_empty() {
        warnings.push(format!(
            "metadata.name: {used}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            messages.join(" ")
        ));
    }
}

fn of_parts(metadata: View<'_, ObjectMeta>, spec: View<'_, PodSpec>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let spec_path = path.to(Pod::SPEC);
    placement(spec, &spec_path, warnings);
    let annotations = path.to(Pod::METADATA);
    let annotations = annotations.to(ObjectMeta::ANNOTATIONS);
    for (key, text) in OLD_ANNOTATIONS {
        if metadata.field(ObjectMeta::ANNOTATIONS).value().get(key).is_some() {
            warnings.push(format!("{}: {text}", annotations.key(key)));
        }
    }
    let volumes = spec_path.to(PodSpec::VOLUMES);
    for (index, volume) in spec.field(PodSpec::VOLUMES).iter().enumerate() {
        for (field, name, text) in OLD_SOURCES {
            if volume.value().get(field).is_some_and(|source| !source.is_null()) {
                warnings.push(format!("{}: {text}", volumes.index(index).child(name)));
            }
        }
    }
    for (index, volume) in spec.field(PodSpec::VOLUMES).iter().enumerate() {
        overlaps(volume, warnings);
        volume::of_made_claim(volume, &volumes.index(index), warnings);
    }
    repeated(spec, &spec_path, warnings);
    fractions(spec.field(PodSpec::OVERHEAD), &spec_path.to(PodSpec::OVERHEAD), warnings);
    for field in [PodSpec::INIT_CONTAINERS, PodSpec::CONTAINERS] {
        let path = spec_path.to(field);
        for (index, container) in spec.field(field).iter().enumerate() {
            of_container(container, &path.index(index), warnings);
        }
    }
    ports(spec, &spec_path, warnings);
    let grace = PodSpec::TERMINATION_GRACE_PERIOD_SECONDS;
    if spec.field(grace).get().is_some_and(|seconds| seconds < 0) {
        let detail = "must be >= 0; negative values are invalid and will be treated as 1";
        warnings.push(format!("{}: {detail}", spec_path.to(grace)));
    }
    affinity(spec, &spec_path, warnings);
    addresses(spec, &spec_path, warnings);
}

fn old_label(label: &str) -> Option<&'static str> {
    OLD_LABELS.iter().find(|(old, _)| *old == label).map(|(_, text)| *text)
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
        node_term(term, &terms.index(index), warnings);
    }
    let preferred = NodeAffinity::PREFERRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION;
    let terms = place.to(preferred);
    for (index, term) in affinity.field(preferred).iter().enumerate() {
        let term = term.field(PreferredSchedulingTerm::PREFERENCE);
        node_term(term, &terms.index(index).to(PreferredSchedulingTerm::PREFERENCE), warnings);
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

pub fn node_term(term: View<'_, NodeSelectorTerm>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let path = path.to(NodeSelectorTerm::MATCH_EXPRESSIONS);
    for (index, expression) in term.field(NodeSelectorTerm::MATCH_EXPRESSIONS).iter().enumerate() {
        let key = expression.field(NodeSelectorRequirement::KEY).as_str();
        if let Some(text) = old_label(key) {
            warnings.push(format!("{}: {key} is {text}", path.index(index).to(NodeSelectorRequirement::KEY)));
        }
    }
}

/// Files of one volume that stand at one place, or below each other.
fn overlaps(volume: View<'_, Volume>, warnings: &mut Vec<String>) {
    let name = volume.field(Volume::NAME).as_str();
    let source = volume.value();
    for (field, kind, named) in [("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")] {
        let Some(source) = source.get(field).filter(|source| !source.is_null()) else { continue };
        let items = source.get("items").and_then(Value::as_list).unwrap_or(&[]);
        let mut paths: Vec<&str> = items.iter().map(|item| item.str_at(&["path"]).trim_end_matches('/')).collect();
        paths.sort_unstable();
        let below = |pair: &[&str]| match pair {
            [a, b] => b.strip_prefix(a).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            _ => false,
        };
        let mut found: Vec<String> = (paths.windows(2).filter(|pair| below(pair)))
            .map(|pair| format!("{:?} with {:?}", pair.get(1).unwrap_or(&""), pair.first().unwrap_or(&"")))
            .collect();
        found.dedup();
        if !found.is_empty() {
            let of = source.str_at(&[named]);
            let found = found.join(", ");
            warnings.push(format!("volume {name:?} ({kind} {of:?}): overlapping paths: {found}"));
        }
    }
    let Some(projected) = source.get("projected").filter(|source| !source.is_null()) else { return };
    for item in projected.get("sources").and_then(Value::as_list).unwrap_or(&[]) {
        if item.as_map().is_none_or(|map| map.values().all(Value::is_null)) {
            warnings.push(format!("volume {name:?} (Projected) has no sources provided"));
        }
    }
}

fn repeated(spec: View<'_, PodSpec>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let aliases = spec.field(PodSpec::HOST_ALIASES);
    let list = path.to(PodSpec::HOST_ALIASES);
    for (index, alias) in aliases.iter().enumerate() {
        let ip = alias.field(HostAlias::IP).as_str();
        if aliases.iter().take(index).any(|other| other.field(HostAlias::IP).as_str() == ip) {
            warnings.push(format!("{}: duplicate ip {ip:?}", list.index(index).to(HostAlias::IP)));
        }
    }
    let secrets = spec.field(PodSpec::IMAGE_PULL_SECRETS);
    let list = path.to(PodSpec::IMAGE_PULL_SECRETS);
    for (index, secret) in secrets.iter().enumerate() {
        let name = secret.field(LocalObjectReference::NAME).as_str();
        let mut others = secrets.iter().take(index);
        let fault = if name.is_empty() {
            "invalid empty"
        } else if others.any(|other| other.field(LocalObjectReference::NAME).as_str() == name) {
            "duplicate"
        } else {
            continue;
        };
        let place = list.index(index);
        warnings.push(format!("{}: {fault} name {name:?}", place.to(LocalObjectReference::NAME)));
    }
}

fn fractions(list: View<'_, ResourceList>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    for name in ["memory", "ephemeral-storage"] {
        volume::fraction(list, name, path, warnings);
    }
}

fn of_container(container: View<'_, Container>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let resources = container.field(Container::RESOURCES);
    let place = path.to(Container::RESOURCES);
    for list in [ResourceRequirements::LIMITS, ResourceRequirements::REQUESTS] {
        fractions(resources.field(list), &place.to(list), warnings);
    }
    let vars = container.field(Container::ENV);
    for (index, var) in vars.iter().enumerate() {
        let name = var.field(EnvVar::NAME).as_str();
        let hides = vars.iter().take(index).any(|other| other.field(EnvVar::NAME).as_str() == name);
        if hides && !var.field(EnvVar::VALUE).as_str().contains(&format!("$({name})")) {
            let place = path.to(Container::ENV);
            let detail = format!("hides previous definition of {name:?}, which may be dropped when using apply");
            warnings.push(format!("{}: {detail}", place.index(index)));
        }
    }
}

/// Ports of a host's address without a port, and those that two containers, or one twice, listen on.
fn ports(spec: View<'_, PodSpec>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let mut earlier: Vec<(ContainerPort, String)> = Vec::new();
    for field in [PodSpec::INIT_CONTAINERS, PodSpec::CONTAINERS] {
        let containers = path.to(field);
        for (index, container) in spec.field(field).iter().enumerate() {
            let container_path = containers.index(index);
            let list = container_path.to(Container::PORTS);
            for (index, port) in container.field(Container::PORTS).iter().enumerate() {
                let place = list.index(index).to_string();
                let port = port.get();
                if !port.host_ip.is_empty() && port.host_port == 0 {
                    let ContainerPort { name, container_port, protocol, host_ip, .. } = &port;
                    let protocol = protocol.as_str();
                    warnings.push(format!(
                        "{place}: hostIP set without hostPort: \
                         {{Name:{name} HostPort:0 ContainerPort:{container_port} Protocol:{protocol} HostIP:{host_ip}}}"
                    ));
                }
                for (other, other_place) in &earlier {
                    if let Some(fault) = clash(&port, other) {
                        warnings.push(format!("{place}: {fault} port definition with {other_place}"));
                    }
                }
                earlier.push((port, place));
            }
        }
    }
}

/// What is wrong with two ports that may be one.
fn clash(port: &ContainerPort, other: &ContainerPort) -> Option<&'static str> {
    if (port.container_port, &port.protocol) != (other.container_port, &other.protocol) {
        None
    } else if (port.host_port, &port.host_ip) == (other.host_port, &other.host_ip) {
        Some("duplicate")
    } else if port.host_port == 0 || other.host_port == 0 {
        Some("overlapping")
    } else {
        let is_ambiguous = port.host_port == other.host_port && (port.host_ip.is_empty() != other.host_ip.is_empty());
        is_ambiguous.then_some("dangerously ambiguous")
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
    for (index, server) in config.field(PodDNSConfig::NAMESERVERS).iter().enumerate() {
        address(server.as_str(), &list.index(index), warnings);
    }
    let list = path.to(PodSpec::HOST_ALIASES);
    for (index, alias) in spec.field(PodSpec::HOST_ALIASES).iter().enumerate() {
        let place = list.index(index);
        address(alias.field(HostAlias::IP).as_str(), &place.to(HostAlias::IP), warnings);
    }
}
