//! Rules of a pod as a whole: its spec's own fields, claims, names, DNS.

use super::containers::one_of;
use super::{is_true, text};
use pintle_schema::{Map, Value, View, names};
use pintle_types::core::v1::{
    Container, ContainerPort, DNSPolicy, Pod, PodDNSConfig, PodDNSConfigOption, PodResourceClaim, PodSchedulingGate,
    PodSchedulingGroup, PodSpec, PreemptionPolicy, ProjectedVolumeSource, RestartPolicy, Volume, VolumeProjection,
    VolumeSource,
};
use pintle_validation::{At, Cx};

const MAX_NAME_SERVERS: usize = 3;
const MAX_SEARCHES: usize = 32;
const MAX_SEARCH_CHARACTERS: usize = 2048;
const MAX_HOST_NAME: usize = 64;

/// What holds for pods, but not for templates of pods.
pub fn only_for_pods(pod: At<'_, Pod>, cx: &mut Cx<'_>) {
    pod.field(Pod::SPEC, |spec| {
        if text(spec.new.field(PodSpec::SERVICE_ACCOUNT_NAME)).is_empty() {
            no_tokens(spec, cx);
        }
        for field in [PodSpec::CONTAINERS, PodSpec::INIT_CONTAINERS] {
            let path = spec.path.to(field);
            for (index, container) in spec.new.field(field).iter().enumerate() {
                let image = container.field(Container::IMAGE).as_str();
                if image.trim() != image {
                    let detail = "must not have leading or trailing whitespace";
                    cx.errors.invalid(path.index(index).to(Container::IMAGE), image, detail);
                }
            }
        }
    });
}

/// Tokens are an account's.
fn no_tokens(spec: At<'_, PodSpec>, cx: &mut Cx<'_>) {
    let path = spec.path.to(PodSpec::VOLUMES);
    for (index, volume) in spec.new.field(PodSpec::VOLUMES).iter().enumerate() {
        let path = path.index(index);
        let path = path.to(VolumeSource::PROJECTED);
        let path = path.to(ProjectedVolumeSource::SOURCES);
        let projected = volume.field(Volume::VOLUME_SOURCE).field(VolumeSource::PROJECTED).or_zero();
        for (index, source) in projected.field(ProjectedVolumeSource::SOURCES).iter().enumerate() {
            if source.field(VolumeProjection::SERVICE_ACCOUNT_TOKEN).is_set() {
                let path = path.index(index);
                let detail = "must not be specified when serviceAccountName is not set";
                cx.errors.forbidden(path.to(VolumeProjection::SERVICE_ACCOUNT_TOKEN), detail);
            }
        }
    }
}

/// What a new pod cannot have yet.
pub fn created(pod: At<'_, Pod>, cx: &mut Cx<'_>) {
    pod.field(Pod::SPEC, |spec| {
        if spec.new.field(PodSpec::EPHEMERAL_CONTAINERS).iter().len() > 0 {
            cx.errors.forbidden(spec.path.to(PodSpec::EPHEMERAL_CONTAINERS), "cannot be set on create");
        }
        let gates = spec.new.field(PodSpec::SCHEDULING_GATES).iter().len();
        if !spec.new.field(PodSpec::NODE_NAME).as_str().is_empty() && gates > 0 {
            let detail = "cannot be set until all schedulingGates have been cleared";
            cx.errors.forbidden(spec.path.to(PodSpec::NODE_NAME), detail);
        }
    });
}

/// When containers are started again.
pub fn restart_policy(policy: At<'_, RestartPolicy>, cx: &mut Cx<'_>) {
    one_of(text(policy.new), &["Always", "OnFailure", "Never"], policy.path, cx);
}

/// Which name servers a pod uses.
pub fn dns_policy(policy: At<'_, DNSPolicy>, cx: &mut Cx<'_>) {
    let supported = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    one_of(text(policy.new), supported, policy.path, cx);
}

/// Whether a pod displaces others.
pub fn preemption_policy(policy: At<'_, Option<PreemptionPolicy>>, cx: &mut Cx<'_>) {
    if let Some(policy) = policy.some() {
        one_of(text(policy.new), &["PreemptLowerPriority", "Never"], policy.path, cx);
    }
}

/// The group must be named.
pub fn scheduling_group(group: At<'_, PodSchedulingGroup>, cx: &mut Cx<'_>) {
    if !cx.enabled("GenericWorkload") {
        return;
    }
    let path = group.path.to(PodSchedulingGroup::POD_GROUP_NAME);
    match group.new.field(PodSchedulingGroup::POD_GROUP_NAME).some() {
        None => cx.errors.invalid(path, Value::Null, "must specify one of: `podGroupName`"),
        Some(name) => cx.errors.invalid_each(path, name.value(), names::dns1123_subdomain(name.as_str())),
    }
}

/// Gates have names, each once; errors are told at the gates.
pub fn scheduling_gates(gates: At<'_, Vec<PodSchedulingGate>>, cx: &mut Cx<'_>) {
    for (index, gate) in gates.new.iter().enumerate() {
        let name = gate.field(PodSchedulingGate::NAME).as_str();
        let path = gates.path.index(index);
        cx.errors.invalid_each(path, &Value::from(name), names::label_key(name));
        let mut others = gates.new.iter().take(index).map(|other| other.field(PodSchedulingGate::NAME).as_str());
        if others.any(|other| other == name) {
            cx.errors.duplicate(path, name);
        }
    }
}

/// Claims have names, each once.
pub fn resource_claims(claims: At<'_, Vec<PodResourceClaim>>, cx: &mut Cx<'_>) {
    for (index, claim) in claims.new.iter().enumerate() {
        let name = claim.field(PodResourceClaim::NAME).as_str();
        let mut others = claims.new.iter().take(index).map(|other| other.field(PodResourceClaim::NAME).as_str());
        let path = claims.path.index(index);
        let path = path.to(PodResourceClaim::NAME);
        if name.is_empty() {
            cx.errors.required(path, "");
        } else if others.any(|other| other == name) {
            cx.errors.duplicate(path, name);
        } else {
            cx.errors.invalid_each(path, &Value::from(name), names::dns1123_label(name));
        }
    }
}

/// A claim, or a template to make one from.
pub fn resource_claim(claim: At<'_, PodResourceClaim>, cx: &mut Cx<'_>) {
    let fields = [PodResourceClaim::RESOURCE_CLAIM_NAME, PodResourceClaim::RESOURCE_CLAIM_TEMPLATE_NAME];
    let detail = match fields.map(|field| claim.new.field(field).is_set()) {
        [true, true] => "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
        [false, false] => "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
        _ => "",
    };
    if !detail.is_empty() {
        let value = |field: &str| claim.new.value().get(field).cloned().unwrap_or_default();
        let shown = Map::from_entries(vec![
            ("Name".into(), claim.new.field(PodResourceClaim::NAME).as_str().into()),
            ("ResourceClaimName".into(), value(PodResourceClaim::RESOURCE_CLAIM_NAME.name())),
            ("ResourceClaimTemplateName".into(), value(PodResourceClaim::RESOURCE_CLAIM_TEMPLATE_NAME.name())),
        ]);
        cx.errors.invalid(claim.path, shown, detail);
    }
    for field in fields {
        if let Some(name) = claim.new.field(field).some() {
            let messages = names::dns1123_subdomain(name.as_str());
            cx.errors.invalid_each(claim.path.to(field), name.value(), messages);
        }
    }
}

/// The resolver's bounds.
pub fn dns_config(config: At<'_, PodDNSConfig>, cx: &mut Cx<'_>) {
    if config.new.field(PodDNSConfig::NAMESERVERS).iter().len() > MAX_NAME_SERVERS {
        let servers = config.new.field(PodDNSConfig::NAMESERVERS).value().clone();
        let detail = "must not have more than 3 nameservers";
        cx.errors.invalid(config.path.to(PodDNSConfig::NAMESERVERS), servers, detail);
    }
    let searches = config.new.field(PodDNSConfig::SEARCHES);
    let path = config.path.to(PodDNSConfig::SEARCHES);
    let count = searches.iter().len();
    if count > MAX_SEARCHES {
        cx.errors.invalid(path, searches.value().clone(), "must not have more than 32 search paths");
    }
    let characters: usize = searches.iter().map(|search| search.as_str().len() + 1).sum();
    if characters.saturating_sub(1) > MAX_SEARCH_CHARACTERS {
        let detail = "must not have more than 2048 characters (including spaces) in the search list";
        cx.errors.invalid(path, searches.value().clone(), detail);
    }
    let relaxed = cx.enabled("RelaxedDNSSearchValidation");
    for (index, search) in searches.iter().enumerate() {
        let search = search.as_str();
        let domain = search.strip_suffix('.').unwrap_or(search);
        let messages = match relaxed {
            true if search == "." => continue,
            true => names::dns1123_subdomain_with_underscore(domain),
            false => names::dns1123_subdomain(domain),
        };
        cx.errors.invalid_each(path.index(index), &Value::from(domain), messages);
    }
    let path = config.path.to(PodDNSConfig::OPTIONS);
    for (index, option) in config.new.field(PodDNSConfig::OPTIONS).iter().enumerate() {
        if option.field(PodDNSConfigOption::NAME).as_str().is_empty() {
            cx.errors.required(path.index(index), "must not be empty");
        }
    }
}

/// A pod without name servers of any policy brings its own.
pub fn dns_config_for_policy(spec: At<'_, PodSpec>, cx: &mut Cx<'_>) {
    if text(spec.new.field(PodSpec::DNS_POLICY)) != "None" {
        return;
    }
    let path = spec.path.to(PodSpec::DNS_CONFIG);
    match spec.new.field(PodSpec::DNS_CONFIG).some() {
        None => cx.errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None"),
        Some(config) if config.field(PodDNSConfig::NAMESERVERS).iter().len() == 0 => {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            cx.errors.required(path.to(PodDNSConfig::NAMESERVERS), detail);
        }
        Some(_) => {}
    }
}

/// On the node's network, ports of the pod are ports of the node.
pub fn host_network_ports(spec: At<'_, PodSpec>, cx: &mut Cx<'_>) {
    if !spec.new.field(PodSpec::HOST_NETWORK).get() {
        return;
    }
    // Only a pod has its spec here; templates may leave host ports to be filled in.
    let is_pod = spec.path.to_string() == Pod::SPEC.name();
    let path = spec.path.to(PodSpec::CONTAINERS);
    for (index, container) in spec.new.field(PodSpec::CONTAINERS).iter().enumerate() {
        let path = path.index(index);
        let path = path.to(Container::PORTS);
        for (index, port) in container.field(Container::PORTS).iter().enumerate() {
            let host = port.field(ContainerPort::HOST_PORT).get();
            if (is_pod || host != 0) && host != port.field(ContainerPort::CONTAINER_PORT).get() {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                cx.errors.invalid(path.index(index).to(ContainerPort::HOST_PORT), host, detail);
            }
        }
    }
}

/// A host name that replaces all others.
pub fn host_name(spec: At<'_, PodSpec>, cx: &mut Cx<'_>) {
    let Some(name) = spec.new.field(PodSpec::HOSTNAME_OVERRIDE).some() else { return };
    let path = spec.path.to(PodSpec::HOSTNAME_OVERRIDE);
    if is_true(spec.new.field(PodSpec::SET_HOSTNAME_AS_FQDN)) {
        cx.errors.forbidden(path, "may not be specified when setHostnameAsFQDN is true");
    }
    if spec.new.field(PodSpec::HOST_NETWORK).get() {
        cx.errors.forbidden(path, "may not be specified when hostNetwork is true");
    }
    if name.as_str().len() > MAX_HOST_NAME {
        cx.errors.too_long(path, MAX_HOST_NAME);
    }
    cx.errors.invalid_each(path, name.value(), names::dns1123_subdomain(name.as_str()));
}

/// Whether a pod is one of a node's own, which the server only mirrors.
pub fn is_mirror(pod: View<'_, Pod>) -> bool {
    let annotations = pod.field(Pod::METADATA).field(pintle_types::meta::v1::ObjectMeta::ANNOTATIONS);
    annotations.value().get("kubernetes.io/config.mirror").is_some()
}
