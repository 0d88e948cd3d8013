//! The other objects that a pod needs on its node. Guarantees that every field of a pod that can name a secret, a
//! config map or a claim is read, in all its containers. Must never read the objects themselves.

use crate::fields::annotation;
use pintle_schema::{Value, View};
use pintle_types::core::v1::{
    CSIVolumeSource, ConfigMapEnvSource, ConfigMapKeySelector, ConfigMapProjection, ConfigMapVolumeSource, Container,
    EnvFromSource, EnvVar, EnvVarSource, ISCSIVolumeSource, LocalObjectReference, PersistentVolumeClaimVolumeSource,
    Pod, PodSpec, PodStatus, ProjectedVolumeSource, SecretEnvSource, SecretKeySelector, SecretProjection,
    SecretVolumeSource, Volume, VolumeProjection, VolumeSource,
};

/// The annotation of mirror pods, which represent static pods of a node.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Whether a pod is a mirror pod.
pub fn is_mirror(pod: View<'_, Pod>) -> bool {
    annotation(pod.field(Pod::METADATA), MIRROR).is_some()
}

/// The secrets that a pod names.
pub fn secrets(spec: View<'_, PodSpec>) -> impl Iterator<Item = &str> {
    const PLACES: ReferenceFields = ReferenceFields {
        environment: |from| {
            from.field(EnvFromSource::SECRET_REF).or_zero().field(SecretEnvSource::LOCAL_OBJECT_REFERENCE)
        },
        variable: |from| {
            from.field(EnvVarSource::SECRET_KEY_REF).or_zero().field(SecretKeySelector::LOCAL_OBJECT_REFERENCE)
        },
        projection: |from| {
            from.field(VolumeProjection::SECRET).or_zero().field(SecretProjection::LOCAL_OBJECT_REFERENCE)
        },
    };
    let pulls = spec.field(PodSpec::IMAGE_PULL_SECRETS).iter().map(name);
    let mounted = volumes(spec).flat_map(|volume| sources(volume.value()).filter_map(secret_of_source));
    pulls.chain(named(spec, PLACES)).chain(mounted).filter(is_name)
}

/// The config maps that a pod names.
pub fn config_maps(spec: View<'_, PodSpec>) -> impl Iterator<Item = &str> {
    const PLACES: ReferenceFields = ReferenceFields {
        environment: |from| {
            from.field(EnvFromSource::CONFIG_MAP_REF).or_zero().field(ConfigMapEnvSource::LOCAL_OBJECT_REFERENCE)
        },
        variable: |from| {
            from.field(EnvVarSource::CONFIG_MAP_KEY_REF).or_zero().field(ConfigMapKeySelector::LOCAL_OBJECT_REFERENCE)
        },
        projection: |from| {
            from.field(VolumeProjection::CONFIG_MAP).or_zero().field(ConfigMapProjection::LOCAL_OBJECT_REFERENCE)
        },
    };
    let mounted = volumes(spec).map(|volume| {
        let map = volume.field(Volume::VOLUME_SOURCE).field(VolumeSource::CONFIG_MAP).or_zero();
        name(map.field(ConfigMapVolumeSource::LOCAL_OBJECT_REFERENCE))
    });
    named(spec, PLACES).chain(mounted).filter(is_name)
}

/// The fields that name a secret or a config map: a whole environment, one variable, a part of a projected volume.
#[derive(Clone, Copy)]
struct ReferenceFields {
    environment: fn(View<'_, EnvFromSource>) -> View<'_, LocalObjectReference>,
    variable: fn(View<'_, EnvVarSource>) -> View<'_, LocalObjectReference>,
    projection: fn(View<'_, VolumeProjection>) -> View<'_, LocalObjectReference>,
}

/// The names in these fields, which may be empty.
fn named(spec: View<'_, PodSpec>, places: ReferenceFields) -> impl Iterator<Item = &str> {
    let of_containers = containers(spec).flat_map(move |container| {
        let variables = container.field(Container::ENV).iter();
        let variables = variables.map(move |it| (places.variable)(it.field(EnvVar::VALUE_FROM).or_zero()));
        container.field(Container::ENV_FROM).iter().map(places.environment).chain(variables)
    });
    of_containers.chain(projections(spec).map(places.projection)).map(name)
}

fn name(reference: View<'_, LocalObjectReference>) -> &str {
    reference.field(LocalObjectReference::NAME).as_str()
}

/// The claim of a pod's volume: the named one, or the generated one.
pub fn claim(pod: View<'_, Pod>, volume: View<'_, Volume>) -> Option<String> {
    let source = volume.field(Volume::VOLUME_SOURCE);
    if let Some(claim) = source.field(VolumeSource::PERSISTENT_VOLUME_CLAIM).some() {
        return Some(claim.field(PersistentVolumeClaimVolumeSource::CLAIM_NAME).get());
    }
    let name = pod.field(Pod::METADATA).field(pintle_types::meta::v1::ObjectMeta::NAME).as_str();
    let made = source.field(VolumeSource::EPHEMERAL).is_set();
    made.then(|| format!("{name}-{}", volume.field(Volume::NAME).as_str()))
}

/// The claims of persistent volumes that a pod has.
pub fn claims(pod: View<'_, Pod>) -> impl Iterator<Item = String> {
    volumes(pod.field(Pod::SPEC)).filter_map(move |volume| claim(pod, volume))
}

/// The names of a pod's existing resource claims.
pub fn resource_claims(pod: View<'_, Pod>) -> Vec<String> {
    let status = pod.field(Pod::STATUS);
    let made = status.field(PodStatus::RESOURCE_CLAIM_STATUSES).get();
    let extended = status.field(PodStatus::EXTENDED_RESOURCE_CLAIM_STATUS).get();
    let named = pod.field(Pod::SPEC).field(PodSpec::RESOURCE_CLAIMS).get().into_iter().filter_map(|claim| {
        let made = || made.iter().find(|status| status.name == claim.name)?.resource_claim_name.clone();
        let is_made = claim.resource_claim_template_name.is_some();
        claim.resource_claim_name.clone().or_else(|| is_made.then(made).flatten())
    });
    named.chain(extended.map(|status| status.resource_claim_name)).filter(|name| !name.is_empty()).collect()
}

/// The first kind of API object that a pod refers to, as messages name it.
pub fn any_object(spec: View<'_, PodSpec>) -> Option<&'static str> {
    if !spec.field(PodSpec::SERVICE_ACCOUNT_NAME).as_str().is_empty() {
        return Some("serviceaccounts");
    }
    if secrets(spec).next().is_some() {
        return Some("secrets");
    }
    if config_maps(spec).next().is_some() {
        return Some("configmaps");
    }
    if spec.field(PodSpec::RESOURCE_CLAIMS).iter().len() > 0 {
        return Some("resourceclaims");
    }
    volumes(spec).find_map(|volume| object_of_volume(volume.field(Volume::VOLUME_SOURCE)))
}

fn object_of_volume(source: View<'_, VolumeSource>) -> Option<&'static str> {
    let whole = [
        (VolumeSource::CONFIG_MAP.name(), "configmaps (via configmap volumes)"),
        (VolumeSource::SECRET.name(), "secrets (via secret volumes)"),
        (VolumeSource::CSI.name(), "csidrivers (via CSI volumes)"),
        (VolumeSource::GLUSTERFS.name(), "endpoints (via glusterFS volumes)"),
        (VolumeSource::PERSISTENT_VOLUME_CLAIM.name(), "persistentvolumeclaims"),
        (VolumeSource::EPHEMERAL.name(), "persistentvolumeclaims (via ephemeral volumes)"),
    ];
    let projected = [
        (VolumeProjection::CONFIG_MAP.name(), "configmaps (via projected volumes)"),
        (VolumeProjection::SECRET.name(), "secrets (via projected volumes)"),
        (VolumeProjection::SERVICE_ACCOUNT_TOKEN.name(), "serviceaccounts (via projected volumes)"),
        (VolumeProjection::CLUSTER_TRUST_BUNDLE.name(), "clustertrustbundles"),
        (VolumeProjection::POD_CERTIFICATE.name(), "podcertificates"),
    ];
    let first = |value: &Value, table: &[(&str, &'static str)]| {
        let found = table.iter().find(|(field, _)| value.get(field).is_some_and(|source| !source.is_null()));
        found.map(|(_, words)| *words)
    };
    let mut parts = source.field(VolumeSource::PROJECTED).or_zero().field(ProjectedVolumeSource::SOURCES).iter();
    first(source.value(), &whole).or_else(|| parts.find_map(|part| first(part.value(), &projected)))
}

fn is_name(name: &&str) -> bool {
    !name.is_empty()
}

/// All containers; ephemeral ones have the fields of the others.
fn containers(spec: View<'_, PodSpec>) -> impl Iterator<Item = View<'_, Container>> {
    let lists = [PodSpec::INIT_CONTAINERS.name(), PodSpec::CONTAINERS.name(), PodSpec::EPHEMERAL_CONTAINERS.name()];
    lists.into_iter().filter_map(move |list| spec.value().get(list)?.as_list()).flatten().map(View::new)
}

fn volumes(spec: View<'_, PodSpec>) -> impl Iterator<Item = View<'_, Volume>> {
    spec.field(PodSpec::VOLUMES).iter()
}

fn projections(spec: View<'_, PodSpec>) -> impl Iterator<Item = View<'_, VolumeProjection>> {
    volumes(spec).flat_map(|volume| {
        let projected = volume.field(Volume::VOLUME_SOURCE).field(VolumeSource::PROJECTED).or_zero();
        projected.field(ProjectedVolumeSource::SOURCES).iter()
    })
}

/// The sources of a volume: the maps beside its name.
fn sources(volume: &Value) -> impl Iterator<Item = &Value> {
    volume.as_map().into_iter().flat_map(|map| map.values())
}

/// Sources name their secret in one of few fields, whatever the source is.
fn secret_of_source(source: &Value) -> Option<&str> {
    let direct = source.get(SecretVolumeSource::SECRET_NAME.name()).and_then(Value::as_str);
    let references = [ISCSIVolumeSource::SECRET_REF.name(), CSIVolumeSource::NODE_PUBLISH_SECRET_REF.name()];
    let mut referred = references.iter().filter_map(|field| Some(name(View::new(source.get(field)?))));
    direct.or_else(|| referred.next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn every_place_that_names_an_object() {
        let pod = value!({"metadata": {"name": "p"}, "spec": {
            "imagePullSecrets": [{"name": "pull"}, {}],
            "initContainers": [{"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "key"}}}]}],
            "containers": [{"envFrom": [{"secretRef": {"name": "env"}}, {"configMapRef": {"name": "c-env"}}]}],
            "ephemeralContainers": [{"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c-key"}}}]}],
            "volumes": [
                {"name": "a", "secret": {"secretName": "mounted"}},
                {"name": "b", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "csi"}}},
                {"name": "c", "rbd": {"secretRef": {"name": "rbd"}}},
                {"name": "d", "azureFile": {"secretName": "azure"}},
                {"name": "e", "projected": {"sources": [{"secret": {"name": "part"}}, {"configMap": {"name": "c-part"}}]}},
                {"name": "f", "configMap": {"name": "c-mounted"}},
                {"name": "g", "persistentVolumeClaim": {"claimName": "claim"}},
                {"name": "h", "ephemeral": {"volumeClaimTemplate": {}}}
            ],
            "resourceClaims": [{"name": "x", "resourceClaimName": "own"}, {"name": "y", "resourceClaimTemplateName": "t"},
                {"name": "z", "resourceClaimTemplateName": "t"}]
        }, "status": {"resourceClaimStatuses": [{"name": "y", "resourceClaimName": "made"}],
            "extendedResourceClaimStatus": {"resourceClaimName": "extended"}}});
        let pod = View::<Pod>::new(&pod);
        let spec = pod.field(Pod::SPEC);
        assert_eq!(secrets(spec).collect::<Vec<_>>(), ["pull", "key", "env", "part", "mounted", "csi", "rbd", "azure"]);
        assert_eq!(config_maps(spec).collect::<Vec<_>>(), ["c-env", "c-key", "c-part", "c-mounted"]);
        assert_eq!(claims(pod).collect::<Vec<_>>(), ["claim", "p-h"]);
        assert_eq!(resource_claims(pod), ["own", "made", "extended"]);
    }

    #[test]
    fn the_first_object_is_named() {
        let rows = [
            (value!({}), None),
            (value!({"volumes": [{"name": "a", "emptyDir": {}}]}), None),
            (value!({"serviceAccountName": "a"}), Some("serviceaccounts")),
            (value!({"imagePullSecrets": [{"name": "a"}]}), Some("secrets")),
            (value!({"volumes": [{"name": "a", "configMap": {"name": "m"}}]}), Some("configmaps")),
            (value!({"resourceClaims": [{"name": "a"}]}), Some("resourceclaims")),
            (value!({"volumes": [{"name": "a", "secret": {}}]}), Some("secrets (via secret volumes)")),
            (value!({"volumes": [{"name": "a", "csi": {"driver": "d"}}]}), Some("csidrivers (via CSI volumes)")),
            (
                value!({"volumes": [{"name": "a", "projected": {"sources": [{"downwardAPI": {}}, {"serviceAccountToken": {}}]}}]}),
                Some("serviceaccounts (via projected volumes)"),
            ),
        ];
        for (spec, expected) in rows {
            assert_eq!(any_object(View::new(&spec)), expected, "{spec:?}");
        }
    }
}
