//! Which objects a node needs, for the Node authorizer: looked up in the cache, from the pods on the node or from the
//! object itself. Guarantees that the result reflects the newest state, and that a mirror pod gives its node no access.
//! Must never keep a graph of its own, which could be stale.

use pintle_kubernetes_auth::node::{NodeObject, NodeObjectKind, NodeObjects};
use pintle_plugins::pod_references::{claims, config_maps, is_mirror, resource_claims, secrets};
use pintle_registry::{ListOptions, Registry, Selection};
use pintle_resource::Resource;
use pintle_schema::field_selector::FieldSelector;
use pintle_schema::{Gate, Value, View};
use pintle_types::certificates::v1beta1::{PodCertificateRequest, PodCertificateRequestSpec};
use pintle_types::core::v1::{
    AzureFilePersistentVolumeSource, CSIPersistentVolumeSource, ISCSIPersistentVolumeSource, ObjectReference,
    PersistentVolume, PersistentVolumeSource, PersistentVolumeSpec, Pod, PodSpec, SecretReference,
};
use pintle_types::resource::v1::{ResourceSlice, ResourceSliceSpec};
use pintle_types::storage::v1::{VolumeAttachment, VolumeAttachmentSpec};
use std::sync::{Arc, OnceLock, Weak};

/// Looks objects up in a registry, once it is set.
#[derive(Default)]
pub struct Objects {
    // Weak, because the registry owns its admission, which owns the authorizer, which owns this.
    registry: OnceLock<Weak<Registry>>,
}

impl Objects {
    /// Sets the registry.
    pub fn follow(&self, registry: &Arc<Registry>) {
        // There is only one call.
        let _ = self.registry.set(Arc::downgrade(registry));
    }

    fn registry(&self) -> Option<Arc<Registry>> {
        self.registry.get()?.upgrade()
    }
}

impl NodeObjects for Objects {
    fn needs(&self, node: &str, object: NodeObject<'_>) -> bool {
        let Some(registry) = self.registry() else { return false };
        let cluster = Cluster { registry: &registry, node };
        cluster.needs(object).unwrap_or(false)
    }

    fn feature_enabled(&self, gate: &Gate) -> bool {
        self.registry().is_some_and(|registry| registry.environment.gates().is_on(gate))
    }
}

/// The objects from the point of view of one node.
struct Cluster<'a> {
    registry: &'a Registry,
    node: &'a str,
}

impl Cluster<'_> {
    /// Whether the node needs an object; `None` if the object does not exist.
    fn needs(&self, object: NodeObject<'_>) -> Option<bool> {
        use NodeObjectKind as Kind;
        let NodeObject { kind, namespace, name } = object;
        let named = |group: &str, plural: &str| self.find(group, plural, namespace, name);
        let found = match kind {
            Kind::ConfigMap => self.pod_needs(namespace, name, |pod| config_maps(spec(pod)).any(|map| map == name)),
            Kind::Secret => {
                self.pod_needs(namespace, name, |pod| secrets(spec(pod)).any(|secret| secret == name))
                    || self.volume_needs_secret(namespace, name)
            }
            Kind::PersistentVolumeClaim => self.has_claim(namespace, name),
            Kind::PersistentVolume => self.has_volume(&named("", "persistentvolumes")?),
            Kind::ResourceClaim => {
                self.pod_needs(namespace, name, |pod| resource_claims(pod).iter().any(|claim| claim == name))
            }
            Kind::ServiceAccount => {
                self.pod_needs(namespace, name, |pod| spec(pod).field(PodSpec::SERVICE_ACCOUNT_NAME).as_str() == name)
            }
            Kind::Pod => spec(View::new(&named("", "pods")?)).field(PodSpec::NODE_NAME).as_str() == self.node,
            Kind::PodCertificateRequest => {
                let request = named("certificates.k8s.io", "podcertificaterequests")?;
                let spec = View::<PodCertificateRequest>::new(&request).field(PodCertificateRequest::SPEC);
                spec.field(PodCertificateRequestSpec::NODE_NAME).as_str() == self.node
            }
            Kind::ResourceSlice => {
                let slice = named("resource.k8s.io", "resourceslices")?;
                let spec = View::<ResourceSlice>::new(&slice).field(ResourceSlice::SPEC);
                spec.field(ResourceSliceSpec::NODE_NAME).get().as_deref() == Some(self.node)
            }
            Kind::VolumeAttachment => {
                let attachment = named("storage.k8s.io", "volumeattachments")?;
                let spec = View::<VolumeAttachment>::new(&attachment).field(VolumeAttachment::SPEC);
                spec.field(VolumeAttachmentSpec::NODE_NAME).as_str() == self.node
            }
        };
        Some(found)
    }

    fn find(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        let target = self.registry.target(storage_version(group, plural)?, namespace, name)?;
        self.registry.decode(&target, target.cache.get(&target.key())?.as_ref()).ok()
    }

    /// Whether a pod of a namespace that runs on the node needs an object of this name. Pods whose text does not
    /// contain the name are not decoded.
    fn pod_needs(&self, namespace: &str, name: &str, needs: impl Fn(View<'_, Pod>) -> bool) -> bool {
        let on_node = FieldSelector::equal("spec.nodeName", self.node).to_string();
        self.any(
            "pods",
            namespace,
            &on_node,
            |json| contains(json, name),
            |pod| {
                let pod = View::<Pod>::new(pod);
                !is_mirror(pod) && needs(pod)
            },
        )
    }

    fn has_claim(&self, namespace: &str, name: &str) -> bool {
        // No field has the name of a claim that was generated for an ephemeral volume: it consists of the pod's and the
        // volume's names.
        let on_node = FieldSelector::equal("spec.nodeName", self.node).to_string();
        let may = |json: &str| contains(json, name) || json.contains("\"ephemeral\"");
        self.any("pods", namespace, &on_node, may, |pod| {
            let pod = View::<Pod>::new(pod);
            !is_mirror(pod) && claims(pod).any(|claim| claim == name)
        })
    }

    fn has_volume(&self, volume: &Value) -> bool {
        let spec = View::<PersistentVolume>::new(volume).field(PersistentVolume::SPEC);
        let claim = spec.field(PersistentVolumeSpec::CLAIM_REF).or_zero();
        let (namespace, name) = (claim.field(ObjectReference::NAMESPACE), claim.field(ObjectReference::NAME));
        !name.as_str().is_empty() && self.has_claim(namespace.as_str(), name.as_str())
    }

    fn volume_needs_secret(&self, namespace: &str, name: &str) -> bool {
        self.any(
            "persistentvolumes",
            "",
            "",
            |json| contains(json, name),
            |volume| {
                let needed = kubelets_secrets(View::new(volume));
                needed.iter().any(|secret| secret == &(namespace, name)) && self.has_volume(volume)
            },
        )
    }

    /// Whether a predicate holds for an object of a core resource; objects whose text rules it out are not decoded.
    fn any(
        &self,
        plural: &str,
        namespace: &str,
        fields: &str,
        may_be: impl Fn(&str) -> bool,
        is: impl Fn(&Value) -> bool,
    ) -> bool {
        let Some(resource) = storage_version("", plural) else { return false };
        let Some(target) = self.registry.target(resource, namespace, "") else { return false };
        let Ok(selection) = Selection::parse(resource, &resource.selectable, "", fields) else { return false };
        let Ok(page) = self.registry.list_at_once(&target, &selection, &ListOptions::default()) else { return false };
        page.items.iter().any(|object| {
            str::from_utf8(object.encoded.as_written()).is_ok_and(&may_be)
                && self.registry.decode(&target, object).is_ok_and(|value| is(&value))
        })
    }
}

fn storage_version(group: &str, plural: &str) -> Option<&'static Arc<Resource>> {
    ["v1", "v1beta1"].iter().find_map(|version| pintle_groups::find(group, version, plural))
}

/// Whether an object's text contains a name as a whole string.
fn contains(json: &str, name: &str) -> bool {
    json.match_indices(name).any(|(at, _)| {
        json[..at].ends_with('"') && json.get(at + name.len()..).is_some_and(|rest| rest.starts_with('"'))
    })
}

fn spec(pod: View<'_, Pod>) -> View<'_, PodSpec> {
    pod.field(Pod::SPEC)
}

/// The secrets that kubelets read to mount a volume: (namespace, name).
fn kubelets_secrets<'a>(volume: View<'a, PersistentVolume>) -> Vec<(&'a str, &'a str)> {
    let spec = volume.field(PersistentVolume::SPEC);
    let of_claim = spec.field(PersistentVolumeSpec::CLAIM_REF).or_zero().field(ObjectReference::NAMESPACE).as_str();
    let source = spec.field(PersistentVolumeSpec::PERSISTENT_VOLUME_SOURCE);
    let or_claims = |namespace: &'a str| if namespace.is_empty() { of_claim } else { namespace };
    let azure = source.field(PersistentVolumeSource::AZURE_FILE).or_zero();
    let of_azure = azure.field(AzureFilePersistentVolumeSource::SECRET_NAMESPACE).or_zero().as_str();
    let named = (or_claims(of_azure), azure.field(AzureFilePersistentVolumeSource::SECRET_NAME).as_str());
    let reference = |reference: &'a Value| {
        let reference = View::<SecretReference>::new(reference);
        (
            or_claims(reference.field(SecretReference::NAMESPACE).as_str()),
            reference.field(SecretReference::NAME).as_str(),
        )
    };
    // Every volume source has its secret in one of these fields.
    let fields = [
        ISCSIPersistentVolumeSource::SECRET_REF.name(),
        CSIPersistentVolumeSource::NODE_PUBLISH_SECRET_REF.name(),
        CSIPersistentVolumeSource::NODE_STAGE_SECRET_REF.name(),
        CSIPersistentVolumeSource::NODE_EXPAND_SECRET_REF.name(),
    ];
    let sources = source.value().as_map().into_iter().flat_map(|map| map.values());
    let referred = sources.flat_map(|source| fields.iter().filter_map(|field| source.get(field)).map(reference));
    std::iter::once(named).chain(referred).filter(|(_, name)| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn names_are_found_as_whole_strings() {
        let rows = [("a", true), ("b-c", true), ("b", false), ("c", false), ("\u{e4}", true), ("", false)];
        for (name, found) in rows {
            assert_eq!(contains("{\"a\":\"b-c\",\"\u{e4}\":1}", name), found, "{name}");
        }
    }

    #[test]
    fn secrets_of_volumes() {
        let rows = [
            (value!({"csi": {"nodeStageSecretRef": {"name": "s", "namespace": "n"}}}), vec![("n", "s")]),
            (value!({"csi": {"controllerPublishSecretRef": {"name": "s", "namespace": "n"}}}), vec![]),
            (value!({"rbd": {"secretRef": {"name": "s"}}}), vec![("of-claim", "s")]),
            (value!({"azureFile": {"secretName": "s"}}), vec![("of-claim", "s")]),
            (value!({"azureFile": {"secretName": "s", "secretNamespace": "n"}}), vec![("n", "s")]),
            (value!({"hostPath": {"path": "/"}}), vec![]),
        ];
        for (mut spec, expected) in rows {
            spec.set_at(&["claimRef"], value!({"namespace": "of-claim", "name": "c"}));
            let volume = value!({"spec": spec});
            assert_eq!(kubelets_secrets(View::new(&volume)), expected);
        }
    }
}
