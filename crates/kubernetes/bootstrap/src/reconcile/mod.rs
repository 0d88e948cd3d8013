//! Reconciles existing bootstrap objects at a later start.
//!
//! Additions of an administrator are kept, and objects with an opt-out label or annotation are not changed. Pure functions:
//! `None` means that nothing has to be written.

mod cluster;
mod flow_control;
mod rbac;

use pintle_schema::{Time, Value};

/// Annotation of roles and bindings; "false" keeps later starts away.
pub const RBAC_AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// Annotation of flow schemas and priority levels; "false" keeps later starts away from the spec.
pub const FLOW_CONTROL_AUTOUPDATE: &str = "apf.kubernetes.io/autoupdate-spec";

/// Label of APIServices that follow the server.
pub const API_SERVICE_AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

/// Key of the day since which uses of legacy tokens are recorded.
pub(crate) const SINCE: &str = "since";

/// How an existing object is reconciled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconcile {
    /// It is not changed.
    Keep,
    /// A role gets rules, aggregated roles, labels and annotations that it lacks.
    Role,
    /// A binding gets subjects, labels and annotations that it lacks; one of another role is replaced.
    Binding,
    /// The spec is restored.
    MandatoryFlowControl,
    /// The spec is restored unless an administrator took it over.
    SuggestedFlowControl,
    /// The service's ports and type are restored.
    Service,
    /// A range with the wanted spec and without conditions becomes ready.
    ServiceRange,
    /// The subsets are replaced.
    Endpoints,
    /// The addresses and ports are replaced; of another family they need another slice.
    EndpointSlice,
    /// Certificates and names that are missing are added, and certificates that have expired by now are removed.
    TrustedCertificates { now: Time },
    /// A day that cannot be read is replaced.
    TrackingDate,
    /// The spec is restored while the label says that the server manages it.
    ApiService,
}

impl Reconcile {
    /// The subresource that an existing object is changed through; "" for the object itself.
    pub fn subresource(self) -> &'static str {
        if self == Reconcile::ServiceRange { "status" } else { "" }
    }

    /// Whether the existing object cannot be changed to the wanted one, and must be deleted first.
    pub(crate) fn must_go(self, existing: &Value, wanted: &Value) -> bool {
        self == Reconcile::EndpointSlice && cluster::is_of_another_type(existing, wanted)
    }

    /// The required object with the permissions of the object that it was split from; `None` if that has none of its own.
    pub(crate) fn split(self, source: &Value, wanted: &Value) -> Option<Value> {
        match self {
            Reconcile::Role => rbac::split_role(source, wanted),
            Reconcile::Binding => rbac::split_binding(source, wanted),
            _ => None,
        }
    }

    /// Whether an object that has become too large to be written is removed first.
    pub fn starts_anew(self) -> bool {
        matches!(self, Reconcile::TrustedCertificates { .. })
    }

    /// The existing object with the required changes; `None` if there are none, or if the object is malformed.
    pub fn changed(self, existing: &Value, wanted: &Value) -> Option<Value> {
        existing.as_map()?;
        match self {
            Reconcile::Keep => None,
            Reconcile::Role => rbac::role(existing, wanted),
            Reconcile::Binding => rbac::binding(existing, wanted),
            Reconcile::MandatoryFlowControl => flow_control::mandatory(existing, wanted),
            Reconcile::SuggestedFlowControl => flow_control::suggested(existing, wanted),
            Reconcile::Service => cluster::service(existing, wanted),
            Reconcile::ServiceRange => cluster::service_range(existing, wanted),
            Reconcile::Endpoints => cluster::endpoints(existing, wanted),
            Reconcile::EndpointSlice => cluster::endpoint_slice(existing, wanted),
            Reconcile::TrustedCertificates { now } => cluster::trusted_certificates(existing, wanted, now),
            Reconcile::TrackingDate => cluster::tracking_date(existing, wanted),
            Reconcile::ApiService => cluster::api_service(existing, wanted),
        }
    }
}
