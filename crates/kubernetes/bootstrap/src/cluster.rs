//! Namespaces, priority classes and config maps that every cluster has.
//!
//! Once they exist they are the administrator's, but for the certificates that servers publish to extensions.

use crate::Settings;
use crate::object::{BootstrapObject, Kind, metadata, type_meta};
use crate::reconcile::{Reconcile, SINCE};
use crate::trust;
use pintle_types::core::v1::{ConfigMap, Namespace, NamespacePhase, NamespaceSpec, NamespaceStatus, PreemptionPolicy};
use pintle_types::scheduling::v1::PriorityClass;
use std::collections::BTreeMap;

const NAMESPACE: Kind = Kind { group: "", version: "v1", plural: "namespaces", kind: "Namespace" };
const CONFIG_MAP: Kind = Kind { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap" };
const PRIORITY_CLASS: Kind =
    Kind { group: "scheduling.k8s.io", version: "v1", plural: "priorityclasses", kind: "PriorityClass" };

const NAMESPACES: &[&str] = &["default", "kube-system", "kube-public", "kube-node-lease"];

/// The classes above all that users may define.
const PRIORITY_CLASSES: &[(&str, i32, &str)] = &[
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
];

pub(crate) fn namespaces(out: &mut Vec<BootstrapObject>) {
    for name in NAMESPACES {
        let object = Namespace {
            type_meta: type_meta(NAMESPACE),
            metadata: metadata(name, "", &[("kubernetes.io/metadata.name", name)], &[]),
            // Creation adds the finalizer, which no manager owns.
            spec: NamespaceSpec::default(),
            status: NamespaceStatus { phase: NamespacePhase::ACTIVE, conditions: Vec::new() },
        };
        out.push(NAMESPACE.object("", Reconcile::Keep, &object));
    }
}

pub(crate) fn priority_classes(out: &mut Vec<BootstrapObject>) {
    for (name, value, description) in PRIORITY_CLASSES {
        let object = PriorityClass {
            type_meta: type_meta(PRIORITY_CLASS),
            metadata: metadata(name, "", &[], &[]),
            value: *value,
            global_default: false,
            description: (*description).to_owned(),
            preemption_policy: Some(PreemptionPolicy::PREEMPT_LOWER_PRIORITY),
        };
        out.push(PRIORITY_CLASS.object("", Reconcile::Keep, &object));
    }
}

/// The certificate authorities that extension servers read.
pub(crate) fn authorities(settings: &Settings, out: &mut Vec<BootstrapObject>) {
    let data = trust::merged(&BTreeMap::new(), &settings.authorities, settings.now);
    let Some(data) = data.filter(|data| !data.is_empty()) else { return };
    let object = config_map("extension-apiserver-authentication", data);
    out.push(CONFIG_MAP.object("kube-system", Reconcile::TrustedCertificates { now: settings.now }, &object));
}

/// The day since which uses of legacy service account tokens are recorded.
pub(crate) fn token_tracking(settings: &Settings) -> BootstrapObject {
    let since = settings.now.to_rfc3339().chars().take_while(|c| *c != 'T').collect();
    let object = config_map("kube-apiserver-legacy-service-account-token-tracking", [(SINCE.to_owned(), since)].into());
    CONFIG_MAP.object("kube-system", Reconcile::TrackingDate, &object)
}

fn config_map(name: &str, data: BTreeMap<String, String>) -> ConfigMap {
    ConfigMap {
        type_meta: type_meta(CONFIG_MAP),
        metadata: metadata(name, "kube-system", &[], &[]),
        data,
        ..Default::default()
    }
}
