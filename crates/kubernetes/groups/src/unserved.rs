//! Versions that are registered and not served: objects may have been stored in them by an older kube-apiserver.
//! Guarantees that each leads to the storage version of the resource under the same prefix, unread fields excepted.
//! Must never hold a version that a resource serves, or one that the reference does not know any more.

use crate::{apps, discovery, events, flowcontrol, networking, node, policy, rbac};
use pintle_resource::Unserved;
use pintle_schema::{ApiType, Value};
use pintle_types as types;

const fn same<T: ApiType>(prefix: &'static str, api_version: &'static str) -> Unserved {
    Unserved { prefix, api_version, schema: T::schema, to_storage: None }
}

const fn other<T: ApiType>(prefix: &'static str, api_version: &'static str, to_storage: fn(&mut Value)) -> Unserved {
    Unserved { prefix, api_version, schema: T::schema, to_storage: Some(to_storage) }
}

/// All of them.
pub static UNSERVED: &[Unserved] = &[
    same::<types::admissionregistration::v1alpha1::ValidatingAdmissionPolicy>(
        "/registry/validatingadmissionpolicies/",
        "admissionregistration.k8s.io/v1alpha1",
    ),
    same::<types::admissionregistration::v1alpha1::ValidatingAdmissionPolicyBinding>(
        "/registry/validatingadmissionpolicybindings/",
        "admissionregistration.k8s.io/v1alpha1",
    ),
    same::<types::admissionregistration::v1beta1::MutatingWebhookConfiguration>(
        "/registry/mutatingwebhookconfigurations/",
        "admissionregistration.k8s.io/v1beta1",
    ),
    same::<types::admissionregistration::v1beta1::ValidatingWebhookConfiguration>(
        "/registry/validatingwebhookconfigurations/",
        "admissionregistration.k8s.io/v1beta1",
    ),
    same::<types::admissionregistration::v1beta1::ValidatingAdmissionPolicy>(
        "/registry/validatingadmissionpolicies/",
        "admissionregistration.k8s.io/v1beta1",
    ),
    same::<types::admissionregistration::v1beta1::ValidatingAdmissionPolicyBinding>(
        "/registry/validatingadmissionpolicybindings/",
        "admissionregistration.k8s.io/v1beta1",
    ),
    same::<types::apiregistration::v1beta1::APIService>(
        "/registry/apiregistration.k8s.io/apiservices/",
        "apiregistration.k8s.io/v1beta1",
    ),
    same::<types::apps::v1beta1::ControllerRevision>("/registry/controllerrevisions/", "apps/v1beta1"),
    other::<types::apps::v1beta1::Deployment>("/registry/deployments/", "apps/v1beta1", apps::deployment_from_v1beta1),
    same::<types::apps::v1beta1::StatefulSet>("/registry/statefulsets/", "apps/v1beta1"),
    same::<types::apps::v1beta2::ControllerRevision>("/registry/controllerrevisions/", "apps/v1beta2"),
    same::<types::apps::v1beta2::DaemonSet>("/registry/daemonsets/", "apps/v1beta2"),
    same::<types::apps::v1beta2::Deployment>("/registry/deployments/", "apps/v1beta2"),
    same::<types::apps::v1beta2::ReplicaSet>("/registry/replicasets/", "apps/v1beta2"),
    same::<types::apps::v1beta2::StatefulSet>("/registry/statefulsets/", "apps/v1beta2"),
    same::<types::batch::v1beta1::CronJob>("/registry/cronjobs/", "batch/v1beta1"),
    same::<types::certificates::v1beta1::CertificateSigningRequest>(
        "/registry/certificatesigningrequests/",
        "certificates.k8s.io/v1beta1",
    ),
    same::<types::coordination::v1beta1::Lease>("/registry/leases/", "coordination.k8s.io/v1beta1"),
    other::<types::discovery::v1beta1::EndpointSlice>(
        "/registry/endpointslices/",
        "discovery.k8s.io/v1beta1",
        discovery::endpoint_slice_from_v1beta1,
    ),
    other::<types::events::v1beta1::Event>("/registry/events/", "events.k8s.io/v1beta1", events::to_core),
    other::<types::extensions::v1beta1::DaemonSet>(
        "/registry/daemonsets/",
        "extensions/v1beta1",
        apps::daemon_set_from_v1beta1,
    ),
    other::<types::extensions::v1beta1::Deployment>(
        "/registry/deployments/",
        "extensions/v1beta1",
        apps::deployment_from_v1beta1,
    ),
    other::<types::extensions::v1beta1::Ingress>(
        "/registry/ingress/",
        "extensions/v1beta1",
        networking::ingress_from_v1beta1,
    ),
    same::<types::extensions::v1beta1::NetworkPolicy>("/registry/networkpolicies/", "extensions/v1beta1"),
    same::<types::extensions::v1beta1::ReplicaSet>("/registry/replicasets/", "extensions/v1beta1"),
    same::<types::flowcontrol::v1beta1::FlowSchema>("/registry/flowschemas/", "flowcontrol.apiserver.k8s.io/v1beta1"),
    other::<types::flowcontrol::v1beta1::PriorityLevelConfiguration>(
        "/registry/prioritylevelconfigurations/",
        "flowcontrol.apiserver.k8s.io/v1beta1",
        flowcontrol::priority_level_from_v1beta1,
    ),
    same::<types::flowcontrol::v1beta2::FlowSchema>("/registry/flowschemas/", "flowcontrol.apiserver.k8s.io/v1beta2"),
    other::<types::flowcontrol::v1beta2::PriorityLevelConfiguration>(
        "/registry/prioritylevelconfigurations/",
        "flowcontrol.apiserver.k8s.io/v1beta2",
        flowcontrol::priority_level_from_v1beta1,
    ),
    same::<types::flowcontrol::v1beta3::FlowSchema>("/registry/flowschemas/", "flowcontrol.apiserver.k8s.io/v1beta3"),
    other::<types::flowcontrol::v1beta3::PriorityLevelConfiguration>(
        "/registry/prioritylevelconfigurations/",
        "flowcontrol.apiserver.k8s.io/v1beta3",
        flowcontrol::priority_level_from_v1beta3,
    ),
    other::<types::networking::v1beta1::Ingress>(
        "/registry/ingress/",
        "networking.k8s.io/v1beta1",
        networking::ingress_from_v1beta1,
    ),
    same::<types::networking::v1beta1::IngressClass>("/registry/ingressclasses/", "networking.k8s.io/v1beta1"),
    other::<types::node::v1alpha1::RuntimeClass>(
        "/registry/runtimeclasses/",
        "node.k8s.io/v1alpha1",
        node::runtime_class_from_v1alpha1,
    ),
    same::<types::node::v1beta1::RuntimeClass>("/registry/runtimeclasses/", "node.k8s.io/v1beta1"),
    other::<types::policy::v1beta1::PodDisruptionBudget>(
        "/registry/poddisruptionbudgets/",
        "policy/v1beta1",
        policy::disruption_budget_from_v1beta1,
    ),
    same::<types::rbac::v1alpha1::ClusterRole>("/registry/clusterroles/", "rbac.authorization.k8s.io/v1alpha1"),
    other::<types::rbac::v1alpha1::ClusterRoleBinding>(
        "/registry/clusterrolebindings/",
        "rbac.authorization.k8s.io/v1alpha1",
        rbac::binding_from_v1alpha1,
    ),
    same::<types::rbac::v1alpha1::Role>("/registry/roles/", "rbac.authorization.k8s.io/v1alpha1"),
    other::<types::rbac::v1alpha1::RoleBinding>(
        "/registry/rolebindings/",
        "rbac.authorization.k8s.io/v1alpha1",
        rbac::binding_from_v1alpha1,
    ),
    same::<types::rbac::v1beta1::ClusterRole>("/registry/clusterroles/", "rbac.authorization.k8s.io/v1beta1"),
    same::<types::rbac::v1beta1::ClusterRoleBinding>(
        "/registry/clusterrolebindings/",
        "rbac.authorization.k8s.io/v1beta1",
    ),
    same::<types::rbac::v1beta1::Role>("/registry/roles/", "rbac.authorization.k8s.io/v1beta1"),
    same::<types::rbac::v1beta1::RoleBinding>("/registry/rolebindings/", "rbac.authorization.k8s.io/v1beta1"),
    same::<types::scheduling::v1beta1::PriorityClass>("/registry/priorityclasses/", "scheduling.k8s.io/v1beta1"),
    same::<types::storage::v1alpha1::CSIStorageCapacity>("/registry/csistoragecapacities/", "storage.k8s.io/v1alpha1"),
    same::<types::storage::v1alpha1::VolumeAttachment>("/registry/volumeattachments/", "storage.k8s.io/v1alpha1"),
    same::<types::storage::v1alpha1::VolumeAttributesClass>(
        "/registry/volumeattributesclasses/",
        "storage.k8s.io/v1alpha1",
    ),
    same::<types::storage::v1beta1::CSIDriver>("/registry/csidrivers/", "storage.k8s.io/v1beta1"),
    same::<types::storage::v1beta1::CSINode>("/registry/csinodes/", "storage.k8s.io/v1beta1"),
    same::<types::storage::v1beta1::CSIStorageCapacity>("/registry/csistoragecapacities/", "storage.k8s.io/v1beta1"),
    same::<types::storage::v1beta1::StorageClass>("/registry/storageclasses/", "storage.k8s.io/v1beta1"),
    same::<types::storage::v1beta1::VolumeAttachment>("/registry/volumeattachments/", "storage.k8s.io/v1beta1"),
];

/// Those of the resource under a prefix.
pub(crate) fn of(prefix: &str) -> Vec<&'static Unserved> {
    UNSERVED.iter().filter(|version| version.prefix == prefix).collect()
}

#[cfg(test)]
mod tests;
