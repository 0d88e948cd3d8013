//! A bootstrap object, with its resource and its reconciliation.
//!
//! Objects carry no uid, timestamp or resource version: the server that writes them fills those.

use crate::reconcile::Reconcile;
use pintle_schema::{ApiValue, FieldsV1, Time, Value, value};
use pintle_types::meta::v1::{ManagedFieldsEntry, ManagedFieldsOperationType, ObjectMeta, TypeMeta};

/// The health check of the post-start hook that writes the `kubernetes` service and its endpoints.
pub const SERVICE_HOOK: &str = "poststarthook/bootstrap-controller";

/// An object that a new server creates.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapObject {
    /// The API group; "" is the core group.
    pub group: &'static str,
    pub version: &'static str,
    /// The resource, such as `clusterroles`.
    pub plural: &'static str,
    /// "" for objects of the cluster.
    pub namespace: &'static str,
    /// The whole object with apiVersion and kind, neither defaulted nor canonical.
    pub value: Value,
    /// How an existing object is reconciled.
    pub reconcile: Reconcile,
    /// The object of the same kind whose content a missing one inherits: clusters from before the split have only that one,
    /// with an administrator's changes.
    pub split_from: Option<&'static str>,
}

impl BootstrapObject {
    /// The object's name.
    pub fn name(&self) -> &str {
        self.value.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Value::as_str).unwrap_or("")
    }

    /// The field manager: the server, or its configuration producer of priority and fairness.
    pub fn manager(&self) -> &'static str {
        match self.reconcile {
            Reconcile::MandatoryFlowControl | Reconcile::SuggestedFlowControl => {
                "api-priority-and-fairness-config-producer-v1"
            }
            _ => "kube-apiserver",
        }
    }

    /// The health check of kube-apiserver's post-start hook that writes such objects.
    pub fn hook(&self) -> &'static str {
        match (self.plural, self.reconcile) {
            ("namespaces", _) => "poststarthook/start-system-namespaces-controller",
            ("priorityclasses", _) => "poststarthook/scheduling/bootstrap-system-priority-classes",
            ("flowschemas" | "prioritylevelconfigurations", _) => "poststarthook/priority-and-fairness-config-producer",
            ("servicecidrs", _) => "poststarthook/start-kubernetes-service-cidr-controller",
            ("apiservices", _) => "poststarthook/kube-apiserver-autoregistration",
            (_, Reconcile::TrackingDate) => "poststarthook/start-legacy-token-tracking-controller",
            (_, Reconcile::TrustedCertificates { .. }) => "poststarthook/start-cluster-authentication-info-controller",
            (_, Reconcile::Role | Reconcile::Binding) => "poststarthook/rbac/bootstrap-roles",
            _ => SERVICE_HOOK,
        }
    }

    /// Whether the stored object cannot be changed to the wanted one, and must be deleted first.
    pub fn must_go(&self, existing: &Value) -> bool {
        self.reconcile.must_go(existing, &self.value)
    }

    /// The object to create if it is missing and the one that it was split from exists.
    pub fn split(&self, source: &Value) -> Value {
        let Some(split) = self.reconcile.split(source, &self.value) else { return self.value.clone() };
        self.reconciled(&split).unwrap_or(split)
    }

    /// The stored object with the required changes; `None` if there are none.
    pub fn reconciled(&self, existing: &Value) -> Option<Value> {
        self.reconcile.changed(existing, &self.value)
    }
}

/// The kind of bootstrap objects.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub group: &'static str,
    pub version: &'static str,
    pub plural: &'static str,
    pub kind: &'static str,
}

impl Kind {
    pub(crate) fn object(
        self,
        namespace: &'static str,
        reconcile: Reconcile,
        object: &impl ApiValue,
    ) -> BootstrapObject {
        BootstrapObject {
            group: self.group,
            version: self.version,
            plural: self.plural,
            namespace,
            value: object.to_value(),
            reconcile,
            split_from: None,
        }
    }
}

pub(crate) fn type_meta(kind: Kind) -> TypeMeta {
    let api_version = match kind.group {
        "" => kind.version.to_owned(),
        group => format!("{group}/{}", kind.version),
    };
    TypeMeta { kind: kind.kind.to_owned(), api_version }
}

pub(crate) fn metadata(
    name: &str,
    namespace: &str,
    labels: &[(&str, &str)],
    annotations: &[(&str, &str)],
) -> ObjectMeta {
    let owned = |entries: &[(&str, &str)]| {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    ObjectMeta {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        labels: owned(labels),
        annotations: owned(annotations),
        ..Default::default()
    }
}

/// The manager of a new object's condition, which a controller would have applied; `fields` are those below `f:status`.
pub(crate) fn status_manager(manager: &str, api_version: String, fields: Value, now: Time) -> ManagedFieldsEntry {
    ManagedFieldsEntry {
        manager: manager.to_owned(),
        operation: ManagedFieldsOperationType::APPLY,
        api_version,
        time: Some(now),
        fields_type: "FieldsV1".to_owned(),
        fields_v1: Some(FieldsV1(value!({"f:status": (fields)}))),
        subresource: "status".to_owned(),
    }
}
