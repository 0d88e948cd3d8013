//! The health checks: kube-apiserver's post-start hooks, and those of parts that not every server has. Guarantees the
//! order of the reference. Must never say that a hook has passed whose work is left.

use pintle_server::Builder;
use std::time::SystemTime;

/// The health checks of kube-apiserver's post-start hooks, in its order. Each has passed when serving starts, since its
/// work was done before (all stored objects are read) or this server has no such work, but for first writes that are
/// left.
pub const POST_START: [&str; 34] = [
    "poststarthook/start-apiserver-admission-initializer",
    ENCRYPTION_RELOAD,
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    LEADER_ELECTION,
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    BOOTSTRAP_ROLES,
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    PROXY_CERTIFICATE_RELOAD,
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    STORAGE_VERSIONS,
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
];

/// Reported unless priority and fairness is off.
pub const FLOW_CONTROL_HOOKS: [&str; 2] =
    ["poststarthook/priority-and-fairness-config-consumer", "poststarthook/priority-and-fairness-filter"];
/// Reported if the encryption configuration is reloaded.
pub const ENCRYPTION_RELOAD: &str = "poststarthook/start-encryption-provider-config-automatic-reload";
/// Reported if a client certificate for extension servers is configured.
pub const PROXY_CERTIFICATE_RELOAD: &str = "poststarthook/aggregator-reload-proxy-client-cert";
/// Reported if leaders of components are elected.
pub const LEADER_ELECTION: &str = "poststarthook/start-kube-apiserver-coordinated-leader-election-controller";
/// Reported if servers report the versions that they store.
pub const STORAGE_VERSIONS: &str = "poststarthook/built-in-resources-storage-version-updater";
/// Reported if the RBAC mode is enabled.
pub const BOOTSTRAP_ROLES: &str = "poststarthook/rbac/bootstrap-roles";

/// The health check of the self-signed serving certificate.
pub const OWN_CERTIFICATE: &str = "loopback-serving-certificate";

/// The hooks that not every server has.
const OPTIONAL: [&str; 7] = [
    ENCRYPTION_RELOAD,
    PROXY_CERTIFICATE_RELOAD,
    BOOTSTRAP_ROLES,
    LEADER_ELECTION,
    STORAGE_VERSIONS,
    FLOW_CONTROL_HOOKS[0],
    FLOW_CONTROL_HOOKS[1],
];

/// Adds the checks of the hooks: those that every server has, and of the others these. The server is unhealthy when its
/// own certificate has ended.
pub(crate) fn prepare(generic: &Builder, hooks: &[&'static str], own_certificate_ends: Option<SystemTime>) {
    let is_shown = |hook: &&&str| !OPTIONAL.contains(*hook) || hooks.contains(*hook);
    POST_START.iter().filter(is_shown).for_each(|hook| generic.health().set_started(hook, true));
    let is_good = move || match own_certificate_ends {
        Some(end) if SystemTime::now() > end => Err("loopback serving certificate is expired".to_owned()),
        _ => Ok(()),
    };
    generic.health().watch_liveness(OWN_CERTIFICATE, Box::new(is_good));
}
