//! Rules of a pod as a whole: fields of its spec, claims, names, DNS.

use crate::rules::has_format;
use crate::rules::internal_form::in_full;
use pintle_gates as gates;
use pintle_schema::{Value, View, names};
use pintle_types::core::v1::{
    Container, ContainerPort, Pod, PodDNSConfig, PodResourceClaim, PodSpec, ProjectedVolumeSource, VolumeProjection,
    VolumeSource,
};
use pintle_validation::{At, FieldPath, Operation, ValidationContext};

const MAX_SEARCH_CHARACTERS: usize = 2048;

/// Fields that a template may have and a pod may not.
pub fn of_pod(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    for (field, list) in [
        (PodSpec::CONTAINERS.name(), spec.new.field(PodSpec::CONTAINERS)),
        (PodSpec::INIT_CONTAINERS.name(), spec.new.field(PodSpec::INIT_CONTAINERS)),
    ] {
        let path = spec.path.child(field);
        for (index, container) in list.iter().enumerate() {
            let image = container.field(Container::IMAGE).value();
            has_format("trimmed", image, &path.index(index).to(Container::IMAGE), cx);
        }
    }
    if spec.new.field(PodSpec::SERVICE_ACCOUNT_NAME).value().is_zero() {
        service_account_tokens(spec, cx);
    }
    if is_mirror(cx.root::<Pod>()) {
        for _ in spec.new.field(PodSpec::RESOURCE_CLAIMS).iter() {
            cx.errors.forbidden(FieldPath::ROOT, "static pods do not support resource claims");
        }
    }
    if cx.request.operation == Operation::Create {
        if !spec.new.field(PodSpec::EPHEMERAL_CONTAINERS).value().is_zero() {
            cx.errors.forbidden(spec.path.to(PodSpec::EPHEMERAL_CONTAINERS), "cannot be set on create");
        }
        let gates = spec.new.field(PodSpec::SCHEDULING_GATES).value();
        if !spec.new.field(PodSpec::NODE_NAME).value().is_zero() && !gates.is_zero() {
            let detail = "cannot be set until all schedulingGates have been cleared";
            cx.errors.forbidden(spec.path.to(PodSpec::NODE_NAME), detail);
        }
    }
}

/// Whether a spec is that of a static pod: it has no claims, and they are not looked into.
pub fn is_static(spec: At<'_, PodSpec>, cx: &ValidationContext<'_>) -> bool {
    is_of_pod(spec.path) && is_mirror(cx.root::<Pod>())
}

/// Whether a spec is a pod's own, and not one of a template.
fn is_of_pod(spec: &FieldPath<'_>) -> bool {
    spec.to_string() == Pod::SPEC.name()
}

/// A claim has one source.
pub fn one_source_of_claim(claim: At<'_, PodResourceClaim>, cx: &mut ValidationContext<'_>) {
    let detail = match [PodResourceClaim::RESOURCE_CLAIM_NAME, PodResourceClaim::RESOURCE_CLAIM_TEMPLATE_NAME]
        .map(|field| claim.new.field(field).is_set())
    {
        [false, false] => "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
        [true, true] => "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
        _ => return,
    };
    cx.errors.invalid(claim.path, in_full(claim.new), detail);
}

/// Without a service account there is no token to mount.
fn service_account_tokens(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    let path = spec.path.to(PodSpec::VOLUMES);
    for (index, volume) in spec.new.field(PodSpec::VOLUMES).iter().enumerate() {
        let projected = View::<VolumeSource>::new(volume.value()).field(VolumeSource::PROJECTED);
        let path = path.index(index);
        let path = path.to(VolumeSource::PROJECTED);
        let path = path.to(ProjectedVolumeSource::SOURCES);
        for (index, source) in projected.or_zero().field(ProjectedVolumeSource::SOURCES).iter().enumerate() {
            if source.field(VolumeProjection::SERVICE_ACCOUNT_TOKEN).is_set() {
                let detail = "must not be specified when serviceAccountName is not set";
                cx.errors.forbidden(path.index(index).to(VolumeProjection::SERVICE_ACCOUNT_TOKEN), detail);
            }
        }
    }
}

/// The resolver's bounds.
pub fn dns_config(config: At<'_, PodDNSConfig>, cx: &mut ValidationContext<'_>) {
    let searches = config.new.field(PodDNSConfig::SEARCHES);
    let path = config.path.to(PodDNSConfig::SEARCHES);
    let characters: usize = searches.iter().map(|search| search.as_str().len() + 1).sum();
    if characters.saturating_sub(1) > MAX_SEARCH_CHARACTERS {
        let detail = "must not have more than 2048 characters (including spaces) in the search list";
        cx.errors.invalid(path, searches.value().clone(), detail);
    }
    let relaxed = cx.enabled(&gates::RELAXED_DNS_SEARCH_VALIDATION);
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
}

/// On the node's network, ports of the pod are ports of the node.
pub fn host_network_ports(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    if !spec.new.field(PodSpec::HOST_NETWORK).get() {
        return;
    }
    // Templates may leave host ports to be filled in.
    let is_pod = is_of_pod(spec.path);
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

/// Whether a pod is one of a node's own, which the server only mirrors.
pub fn is_mirror(pod: View<'_, Pod>) -> bool {
    let annotations = pod.field(Pod::METADATA).field(pintle_types::meta::v1::ObjectMeta::ANNOTATIONS);
    annotations.value().get("kubernetes.io/config.mirror").is_some()
}
