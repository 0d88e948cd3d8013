//! The internal form of pods in kube-apiserver's messages: host namespaces are part of the security context, and the
//! fields of the spec have another order. Used in messages only.

use pintle_schema::{Map, Str, Value};

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

/// Fields of the spec that are part of the internal security context.
const HOST: [&str; 5] = ["HostNetwork", "HostPID", "HostIPC", "ShareProcessNamespace", "HostUsers"];

/// The fields of a pod's spec, made of those that it is served with.
pub fn spec(served: Map, security_context: &Value) -> Map {
    let take = |name: &&str| (Str::new(name), served.get(name).cloned().unwrap_or_default());
    let own = security_context.as_map().into_iter().flat_map(Map::iter);
    let own = own.map(|(name, value)| (name.clone(), value.clone()));
    let security = Value::Map(HOST.iter().map(take).chain(own).collect());
    let fields = POD.iter().map(|name| match *name {
        SECURITY_CONTEXT => (Str::new(name), security.clone()),
        _ => take(name),
    });
    fields.collect()
}
