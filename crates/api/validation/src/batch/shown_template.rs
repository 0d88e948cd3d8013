//! Pod templates as the reference shows them in messages: inside, what a pod has of its host is part of its security
//! context, and a template's metadata stands beside its spec.

use crate::shown::in_full;
use pintle_schema::{Map, Str, Value, View};
use pintle_types::core::v1::PodTemplateSpec;

const SECURITY_CONTEXT: &str = "SecurityContext";

/// The fields of a pod's spec, in the order inside.
const POD: [&str; 36] = [
    "Volumes",
    "InitContainers",
    "Containers",
    "EphemeralContainers",
    "RestartPolicy",
    "TerminationGracePeriodSeconds",
    "ActiveDeadlineSeconds",
    "DNSPolicy",
    "NodeSelector",
    "ServiceAccountName",
    "AutomountServiceAccountToken",
    "NodeName",
    SECURITY_CONTEXT,
    "ImagePullSecrets",
    "Hostname",
    "Subdomain",
    "SetHostnameAsFQDN",
    "Affinity",
    "SchedulerName",
    "Tolerations",
    "HostAliases",
    "PriorityClassName",
    "Priority",
    "PreemptionPolicy",
    "DNSConfig",
    "ReadinessGates",
    "RuntimeClassName",
    "Overhead",
    "EnableServiceLinks",
    "TopologySpreadConstraints",
    "OS",
    "SchedulingGates",
    "ResourceClaims",
    "Resources",
    "HostnameOverride",
    "SchedulingGroup",
];

/// What is part of the security context inside.
const HOST: [&str; 5] = ["HostNetwork", "HostPID", "HostIPC", "ShareProcessNamespace", "HostUsers"];

/// The template.
pub fn template(template: View<'_, PodTemplateSpec>) -> Value {
    let mut shown = template.field(PodTemplateSpec::METADATA).value().clone();
    shown.make_map().set("Spec", spec(template));
    shown
}

/// The spec of its pods.
pub fn spec(template: View<'_, PodTemplateSpec>) -> Value {
    let full = in_full(template.field(PodTemplateSpec::SPEC));
    let take = |name: &&str| (Str::new(name), full.get(name).cloned().unwrap_or_default());
    let security = || {
        let own = full.get(SECURITY_CONTEXT).and_then(Value::as_map).into_iter().flat_map(Map::iter);
        let own = own.map(|(name, value)| (name.clone(), value.clone()));
        Value::Map(HOST.iter().map(take).chain(own).collect())
    };
    let fields = POD.iter().map(|name| match *name {
        SECURITY_CONTEXT => (Str::new(name), security()),
        _ => take(name),
    });
    Value::Map(fields.collect())
}
