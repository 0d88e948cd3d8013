//! Kubernetes' own example objects of each kind, if they are beside the checkout: JSON, YAML and protobuf must agree.
//! The files are not part of the project; without them these tests check nothing.

use pintle_codec::{Strictness, cbor, json, protobuf, yaml};
use pintle_schema::{ApiType, Struct, Value, canonicalize};
use std::path::PathBuf;

type Schema = fn() -> &'static Struct;

macro_rules! kinds {
    ($($prefix:literal => $group:ident::$version:ident: $($kind:ident),*;)*) => {
        const KINDS: &[(&str, Schema)] = &[$($((
            concat!($prefix, ".", stringify!($kind)),
            <pintle_types::$group::$version::$kind as ApiType>::schema,
        )),*),*];
    };
}

kinds! {
    "admission.k8s.io.v1" => admission::v1: AdmissionReview;
    "admission.k8s.io.v1beta1" => admission::v1beta1: AdmissionReview;
    "admissionregistration.k8s.io.v1" => admissionregistration::v1: MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration;
    "admissionregistration.k8s.io.v1alpha1" => admissionregistration::v1alpha1: MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding;
    "admissionregistration.k8s.io.v1beta1" => admissionregistration::v1beta1: MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration;
    "apidiscovery.k8s.io.v2" => apidiscovery::v2: APIGroupDiscovery;
    "apidiscovery.k8s.io.v2beta1" => apidiscovery::v2beta1: APIGroupDiscovery;
    "apps.v1" => apps::v1: ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet;
    "apps.v1beta1" => apps::v1beta1: ControllerRevision, Deployment, DeploymentRollback, Scale, StatefulSet;
    "apps.v1beta2" => apps::v1beta2: ControllerRevision, DaemonSet, Deployment, ReplicaSet, Scale, StatefulSet;
    "authentication.k8s.io.v1" => authentication::v1: SelfSubjectReview, TokenRequest, TokenReview;
    "authentication.k8s.io.v1beta1" => authentication::v1beta1: SelfSubjectReview, TokenReview;
    "authorization.k8s.io.v1" => authorization::v1: LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview;
    "authorization.k8s.io.v1beta1" => authorization::v1beta1: LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview;
    "autoscaling.v1" => autoscaling::v1: HorizontalPodAutoscaler, Scale;
    "autoscaling.v2" => autoscaling::v2: HorizontalPodAutoscaler;
    "batch.v1" => batch::v1: CronJob, Job;
    "batch.v1beta1" => batch::v1beta1: CronJob;
    "certificates.k8s.io.v1" => certificates::v1: CertificateSigningRequest;
    "certificates.k8s.io.v1alpha1" => certificates::v1alpha1: ClusterTrustBundle;
    "certificates.k8s.io.v1beta1" => certificates::v1beta1: CertificateSigningRequest, ClusterTrustBundle, PodCertificateRequest;
    "coordination.k8s.io.v1" => coordination::v1: Lease;
    "coordination.k8s.io.v1alpha2" => coordination::v1alpha2: LeaseCandidate;
    "coordination.k8s.io.v1beta1" => coordination::v1beta1: Lease, LeaseCandidate;
    "core.v1" => meta::v1: APIGroup, APIVersions, CreateOptions, DeleteOptions, GetOptions, ListOptions, PatchOptions, Status, UpdateOptions, WatchEvent;
    "core.v1" => core::v1: Binding, ComponentStatus, ConfigMap, Endpoints, Event, LimitRange, Namespace, Node, NodeProxyOptions, PersistentVolume, PersistentVolumeClaim, Pod, PodAttachOptions, PodExecOptions, PodLogOptions, PodPortForwardOptions, PodProxyOptions, PodStatusResult, PodTemplate, RangeAllocation, ReplicationController, ResourceQuota, Secret, SerializedReference, Service, ServiceAccount, ServiceProxyOptions;
    "discovery.k8s.io.v1" => discovery::v1: EndpointSlice;
    "discovery.k8s.io.v1beta1" => discovery::v1beta1: EndpointSlice;
    "events.k8s.io.v1" => events::v1: Event;
    "events.k8s.io.v1beta1" => events::v1beta1: Event;
    "extensions.v1beta1" => extensions::v1beta1: DaemonSet, Deployment, DeploymentRollback, Ingress, NetworkPolicy, ReplicaSet, Scale;
    "flowcontrol.apiserver.k8s.io.v1" => flowcontrol::v1: FlowSchema, PriorityLevelConfiguration;
    "flowcontrol.apiserver.k8s.io.v1beta1" => flowcontrol::v1beta1: FlowSchema, PriorityLevelConfiguration;
    "flowcontrol.apiserver.k8s.io.v1beta2" => flowcontrol::v1beta2: FlowSchema, PriorityLevelConfiguration;
    "flowcontrol.apiserver.k8s.io.v1beta3" => flowcontrol::v1beta3: FlowSchema, PriorityLevelConfiguration;
    "imagepolicy.k8s.io.v1alpha1" => imagepolicy::v1alpha1: ImageReview;
    "internal.apiserver.k8s.io.v1alpha1" => apiserverinternal::v1alpha1: StorageVersion;
    "networking.k8s.io.v1" => networking::v1: IPAddress, Ingress, IngressClass, NetworkPolicy, ServiceCIDR;
    "networking.k8s.io.v1beta1" => networking::v1beta1: IPAddress, Ingress, IngressClass, ServiceCIDR;
    "node.k8s.io.v1" => node::v1: RuntimeClass;
    "node.k8s.io.v1alpha1" => node::v1alpha1: RuntimeClass;
    "node.k8s.io.v1beta1" => node::v1beta1: RuntimeClass;
    "policy.v1" => policy::v1: Eviction, PodDisruptionBudget;
    "policy.v1beta1" => policy::v1beta1: Eviction, PodDisruptionBudget;
    "rbac.authorization.k8s.io.v1" => rbac::v1: ClusterRole, ClusterRoleBinding, Role, RoleBinding;
    "rbac.authorization.k8s.io.v1alpha1" => rbac::v1alpha1: ClusterRole, ClusterRoleBinding, Role, RoleBinding;
    "rbac.authorization.k8s.io.v1beta1" => rbac::v1beta1: ClusterRole, ClusterRoleBinding, Role, RoleBinding;
    "resource.k8s.io.v1" => resource::v1: DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice;
    "resource.k8s.io.v1alpha3" => resource::v1alpha3: DeviceTaintRule, ResourcePoolStatusRequest;
    "resource.k8s.io.v1beta1" => resource::v1beta1: DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice;
    "resource.k8s.io.v1beta2" => resource::v1beta2: DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice;
    "scheduling.k8s.io.v1" => scheduling::v1: PriorityClass;
    "scheduling.k8s.io.v1alpha2" => scheduling::v1alpha2: PodGroup, Workload;
    "scheduling.k8s.io.v1beta1" => scheduling::v1beta1: PriorityClass;
    "storage.k8s.io.v1" => storage::v1: CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment, VolumeAttributesClass;
    "storage.k8s.io.v1alpha1" => storage::v1alpha1: CSIStorageCapacity, VolumeAttachment, VolumeAttributesClass;
    "storage.k8s.io.v1beta1" => storage::v1beta1: CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment, VolumeAttributesClass;
    "storagemigration.k8s.io.v1beta1" => storagemigration::v1beta1: StorageVersionMigration;
}

fn exemplar(name: &str, form: &str) -> Option<Vec<u8>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/exemplars");
    std::fs::read(root.join(format!("{name}.{form}"))).ok()
}

/// The example without whitespace.
fn compact(text: &[u8]) -> String {
    json::to_string(&json::parse(text, Strictness::Ignore).expect("exemplars are JSON").value)
}

fn check(what: &str, found: &str, wanted: &str, failures: &mut Vec<String>) {
    if found != wanted {
        let at = found.bytes().zip(wanted.bytes()).take_while(|(a, b)| a == b).count();
        let from = at.saturating_sub(60);
        let cut = |text: &str| text.get(from..(at + 60).min(text.len())).unwrap_or("?").to_owned();
        failures.push(format!("{what}:\n  found  {}\n  wanted {}", cut(found), cut(wanted)));
    }
}

#[test]
fn json_stays_as_it_is() {
    let mut failures = Vec::new();
    for (name, schema) in KINDS {
        let Some(text) = exemplar(name, "json") else { continue };
        let wanted = compact(&text);
        for trusted in [false, true] {
            let mut value = if trusted {
                json::decode_trusted(schema(), &text).expect("valid")
            } else {
                match json::decode(schema(), &text, Strictness::Collect) {
                    Ok(decoded) => {
                        if !decoded.problems.is_empty() {
                            failures.push(format!("{name}: {:?}", decoded.problems));
                        }
                        decoded.value
                    }
                    Err(error) => {
                        failures.push(format!("{name}: {error}"));
                        continue;
                    }
                }
            };
            check(name, &json::to_string(&value), &wanted, &mut failures);
            canonicalize(schema(), &mut value);
            check(&format!("{name} canonical"), &json::to_string(&value), &wanted, &mut failures);
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn protobuf_tells_what_json_tells() {
    let mut failures = Vec::new();
    for (name, schema) in KINDS {
        let (Some(text), Some(bytes)) = (exemplar(name, "json"), exemplar(name, "pb")) else { continue };
        let wanted = compact(&text);
        let envelope = protobuf::decode_envelope(&bytes).expect("an envelope");
        match protobuf::decode(schema(), envelope.raw) {
            Ok(mut value) => {
                value.set_at(&["kind"], envelope.kind);
                value.set_at(&["apiVersion"], envelope.api_version);
                canonicalize(schema(), &mut value);
                check(&format!("{name} from protobuf"), &json::to_string(&value), &wanted, &mut failures);
            }
            Err(error) => failures.push(format!("{name}: {error}")),
        }
        // One of the two has whitespace in raw JSON, which is kept.
        let mut value = json::decode(schema(), wanted.as_bytes(), Strictness::Ignore).expect("valid").value;
        canonicalize(schema(), &mut value);
        let mut out = Vec::new();
        protobuf::encode_object(envelope.api_version, envelope.kind, schema(), &value, &mut out);
        if out != bytes {
            let at = out.iter().zip(&bytes).take_while(|(a, b)| a == b).count();
            let cut = |bytes: &[u8]| {
                String::from_utf8_lossy(&bytes[at.saturating_sub(30)..(at + 30).min(bytes.len())]).into_owned()
            };
            failures.push(format!(
                "{name} to protobuf: at {at} of {}/{}\n  found  {:?}\n  wanted {:?}",
                out.len(),
                bytes.len(),
                cut(&out),
                cut(&bytes)
            ));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn cbor_tells_what_json_tells() {
    let mut failures = Vec::new();
    for (name, schema) in KINDS {
        let Some(text) = exemplar(name, "json") else { continue };
        let wanted = compact(&text);
        let value = json::decode(schema(), &text, Strictness::Ignore).expect("valid").value;
        let mut bytes = Vec::new();
        cbor::encode(schema(), &value, &mut bytes);
        match cbor::decode(schema(), &bytes, Strictness::Collect) {
            Ok(mut decoded) => {
                if !decoded.problems.is_empty() {
                    failures.push(format!("{name}: {:?}", decoded.problems));
                }
                canonicalize(schema(), &mut decoded.value);
                check(&format!("{name} from CBOR"), &json::to_string(&decoded.value), &wanted, &mut failures);
            }
            Err(error) => failures.push(format!("{name}: {error}")),
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn yaml_tells_what_json_tells() {
    let mut failures = Vec::new();
    for (name, schema) in KINDS {
        let (Some(text), Some(document)) = (exemplar(name, "json"), exemplar(name, "yaml")) else { continue };
        let wanted = compact(&text);
        match yaml::decode(schema(), &document, Strictness::Collect) {
            Ok(mut decoded) => {
                if !decoded.problems.is_empty() {
                    failures.push(format!("{name}: {:?}", decoded.problems));
                }
                canonicalize(schema(), &mut decoded.value);
                check(&format!("{name} from YAML"), &json::to_string(&decoded.value), &wanted, &mut failures);
            }
            Err(error) => failures.push(format!("{name}: {error}")),
        }
        let value: Value = json::decode(schema(), &text, Strictness::Ignore).expect("valid").value;
        let document = String::from_utf8_lossy(&document);
        check(&format!("{name} to YAML"), &yaml::encode(&value), &document, &mut failures);
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
