//! Handwritten rules of volumes: those of pods, persistent volumes and claims.
//!
//! Rules of single sources are tags of their types; this file has the table, and rules of several sources.

pub mod claim;
pub mod persistent;
pub mod projected;
pub mod sources;
pub mod warnings;

use pintle_schema::{ApiType, Value, View, names};
use pintle_types::core::v1::{
    AzureDiskVolumeSource, CSIVolumeSource, ClusterTrustBundleProjection, DownwardAPIProjection, DownwardAPIVolumeFile,
    DownwardAPIVolumeSource, EmptyDirVolumeSource, ISCSIPersistentVolumeSource, ISCSIVolumeSource, ImageVolumeSource,
    PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimStatus,
    PersistentVolumeClaimTemplate, PersistentVolumeClaimVolumeSource, PersistentVolumeSource, PersistentVolumeSpec,
    Pod, PodCertificateProjection, PodSpec, ProjectedVolumeSource, QuobyteVolumeSource, ServiceAccountTokenProjection,
    Volume, VolumeProjection, VolumeSource,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{
    At, CustomRule, FieldPath, Group, KindRules, Step, ValidationContext, at_field, at_type, step,
};

/// The rules of volumes.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES };

static KINDS: &[KindRules] = &[
    KindRules {
        // The rules of a new volume are asked twice, as kube-apiserver asks them.
        update: &[
            Step::Metadata,
            Step::Rules,
            Step::Metadata,
            Step::Rules,
            step!(PersistentVolume, persistent::keeps_source),
        ],
        ..KindRules::of(PersistentVolume::schema)
    },
    KindRules {
        update: &[Step::MetadataUpdate, Step::Metadata, Step::Rules, step!(PersistentVolumeClaim, claim::keeps_spec)],
        ..KindRules::of(PersistentVolumeClaim::schema)
    },
];

static RULES: &[CustomRule] = &[
    at_type!(VolumeSource, one_source, AFTER),
    at_type!(VolumeSource, names_made_of_it, AFTER),
    at_field!(PodSpec::VOLUMES, claims_of_their_own, AFTER),
    at_field!(EmptyDirVolumeSource::SIZE_LIMIT, sources::size_limit),
    at_type!(AzureDiskVolumeSource, sources::azure_disk, AFTER),
    at_type!(QuobyteVolumeSource, sources::quobyte),
    at_type!(ISCSIPersistentVolumeSource, sources::iscsi_portal),
    at_field!(ISCSIVolumeSource::INITIATOR_NAME, sources::iscsi_initiator),
    at_field!(ISCSIPersistentVolumeSource::INITIATOR_NAME, sources::iscsi_initiator_of_pv),
    at_field!(CSIVolumeSource::NODE_PUBLISH_SECRET_REF, sources::publish_secret),
    at_field!(ImageVolumeSource::REFERENCE, sources::image),
    at_type!(DownwardAPIVolumeSource, projected::pod_info, AFTER),
    at_type!(DownwardAPIProjection, projected::pod_info_part),
    at_type!(DownwardAPIVolumeFile, projected::file),
    at_field!(ServiceAccountTokenProjection::PATH, projected::token_path),
    at_type!(VolumeProjection, projected::one_part, AFTER),
    at_type!(ClusterTrustBundleProjection, projected::trust_bundle),
    at_type!(PodCertificateProjection, projected::certificate_files, AFTER),
    at_type!(ProjectedVolumeSource, projected::parts, AFTER),
    at_field!(PersistentVolumeSpec::ACCESS_MODES, claim::access_modes),
    at_field!(PersistentVolumeSpec::CAPACITY, persistent::capacity),
    at_field!(PersistentVolumeSpec::PERSISTENT_VOLUME_RECLAIM_POLICY, persistent::reclaim_policy),
    at_field!(PersistentVolumeSpec::NODE_AFFINITY, persistent::node_affinity, AFTER),
    at_field!(PersistentVolume::SPEC, persistent::attributes_class, AFTER),
    at_type!(PersistentVolumeSource, persistent::one_source, AFTER),
    at_type!(PersistentVolumeSpec, persistent::fits_source, AFTER),
    at_field!(PersistentVolumeClaimSpec::ACCESS_MODES, claim::access_modes),
    at_field!(PersistentVolumeClaimSpec::RESOURCES, claim::storage),
    at_field!(PersistentVolumeClaimSpec::DATA_SOURCE, claim::data_source),
    at_field!(PersistentVolumeClaimSpec::DATA_SOURCE_REF, claim::data_source_ref),
    at_type!(PersistentVolumeClaimSpec, claim::sources_agree, AFTER),
    at_field!(PersistentVolumeClaimTemplate::METADATA, claim::template_metadata),
    at_type!(PersistentVolumeClaimStatus, claim::status, ON_PART),
];

/// The sources of a pod's volume in kube-apiserver's order: the first one that is set counts.
const ORDER: &[&str] = &[
    VolumeSource::EMPTY_DIR.name(),
    VolumeSource::HOST_PATH.name(),
    VolumeSource::GIT_REPO.name(),
    VolumeSource::GCE_PERSISTENT_DISK.name(),
    VolumeSource::AWS_ELASTIC_BLOCK_STORE.name(),
    VolumeSource::SECRET.name(),
    VolumeSource::NFS.name(),
    VolumeSource::ISCSI.name(),
    VolumeSource::GLUSTERFS.name(),
    VolumeSource::FLOCKER.name(),
    VolumeSource::PERSISTENT_VOLUME_CLAIM.name(),
    VolumeSource::RBD.name(),
    VolumeSource::CINDER.name(),
    VolumeSource::CEPHFS.name(),
    VolumeSource::QUOBYTE.name(),
    VolumeSource::DOWNWARD_API.name(),
    VolumeSource::FC.name(),
    VolumeSource::FLEX_VOLUME.name(),
    VolumeSource::CONFIG_MAP.name(),
    VolumeSource::AZURE_FILE.name(),
    VolumeSource::VSPHERE_VOLUME.name(),
    VolumeSource::PHOTON_PERSISTENT_DISK.name(),
    VolumeSource::PORTWORX_VOLUME.name(),
    VolumeSource::AZURE_DISK.name(),
    VolumeSource::STORAGEOS.name(),
    VolumeSource::PROJECTED.name(),
    VolumeSource::SCALE_IO.name(),
    VolumeSource::CSI.name(),
    VolumeSource::EPHEMERAL.name(),
    VolumeSource::IMAGE.name(),
];

/// A volume has one source.
fn one_source(source: At<'_, VolumeSource>, cx: &mut ValidationContext<'_>) {
    first_source(source.new.value(), ORDER, &[], source.path, cx, |_, _| {});
}

const ONE_TYPE: &str = "may not specify more than 1 volume type";

/// Reports what is wrong with the number of sources, after what `inside` reports for the one that counts. What is
/// inside
/// the others is not reported; those that are `free` may stand beside another.
pub fn first_source(
    source: &Value,
    order: &[&'static str],
    free: &[&str],
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
    inside: impl FnOnce(&str, &mut ValidationContext<'_>),
) {
    let mut set = order.iter().filter(|name| source.get(name).is_some_and(|member| !member.is_null()));
    let Some(first) = set.next() else { return cx.errors.required(path, "must specify a volume type") };
    if *first == VolumeSource::GCE_PERSISTENT_DISK.name() {
        move_errors(&path.child(first), &path.child("persistentDisk"), cx);
    }
    inside(first, cx);
    for other in set.filter(|other| !free.contains(other)) {
        take_back(&path.child(other), cx);
        let shown = match *other {
            "cephfs" => "cephFS",
            "downwardAPI" => "downwarAPI",
            other => other,
        };
        cx.errors.forbidden(path.child(shown), ONE_TYPE);
    }
}

/// Moves the errors below a path to another path.
fn move_errors(place: &FieldPath<'_>, shown: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if cx.errors.is_empty() {
        return;
    }
    let (place, shown) = (place.to_string(), shown.to_string());
    for error in &mut cx.errors.0 {
        if let Some(rest) = error.field.strip_prefix(&place).filter(|rest| rest.starts_with('.')) {
            error.field = format!("{shown}{rest}");
        }
    }
}

/// Forgets the errors of a place that is not looked at after all.
pub fn take_back(place: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if cx.errors.is_empty() {
        return;
    }
    let place = place.to_string();
    cx.errors.0.retain(|error| match error.field.strip_prefix(&place) {
        Some("") => error.detail == ONE_TYPE,
        Some(rest) => !rest.starts_with(['.', '[']),
        None => true,
    });
}

/// Objects that are named after a volume get valid names.
fn names_made_of_it(source: At<'_, VolumeSource>, cx: &mut ValidationContext<'_>) {
    // The source is inlined in the volume.
    let name = View::<Volume>::new(source.new.value()).field(Volume::NAME).as_str();
    let path = source.path.to(Volume::NAME);
    let source = source.new;
    if let Some(disk) = source.field(VolumeSource::ISCSI).some()
        && disk.field(ISCSIVolumeSource::INITIATOR_NAME).is_set()
        && name.len() + 1 + disk.field(ISCSIVolumeSource::TARGET_PORTAL).as_str().len() > sources::MAX_INTERFACE
    {
        cx.errors.invalid(path, name, sources::LONG_INTERFACE);
    }
    if source.field(VolumeSource::EPHEMERAL).is_set() && is_of_pod(&path) {
        let pod = cx.root::<Pod>().field(Pod::METADATA).field(ObjectMeta::NAME).as_str();
        let claim = format!("{pod}-{name}");
        if !pod.is_empty() && !name.is_empty() {
            for message in names::dns1123_subdomain(&claim) {
                cx.errors.invalid(path, name, format!("PVC name \"{claim}\": {message}"));
            }
        }
    }
}

/// Whether a place is in the volumes of a pod itself, and not in those of a template.
pub fn is_of_pod(path: &FieldPath<'_>) -> bool {
    path.to_string().starts_with("spec.volumes[")
}

/// No volume takes a claim that is made for another.
fn claims_of_their_own(volumes: At<'_, Vec<Volume>>, cx: &mut ValidationContext<'_>) {
    for (index, volume) in volumes.new.iter().enumerate() {
        let path = volumes.path.index(index);
        let source = volume.field(Volume::VOLUME_SOURCE);
        let Some(claim) = source.field(VolumeSource::PERSISTENT_VOLUME_CLAIM).some() else { continue };
        let claim = claim.field(PersistentVolumeClaimVolumeSource::CLAIM_NAME).as_str();
        let pod = cx.root::<Pod>().field(Pod::METADATA).field(ObjectMeta::NAME).as_str();
        let made_for = claim.strip_prefix(pod).and_then(|rest| rest.strip_prefix('-')).filter(|_| !pod.is_empty());
        let is_made = |other: &str| {
            volumes.new.iter().any(|volume| {
                volume.field(Volume::NAME).as_str() == other
                    && volume.field(Volume::VOLUME_SOURCE).field(VolumeSource::EPHEMERAL).is_set()
            })
        };
        if made_for.is_some_and(is_made) && is_of_pod(&path) {
            let path = path.to(VolumeSource::PERSISTENT_VOLUME_CLAIM);
            let detail = "must not reference a PVC that gets created for an ephemeral volume";
            cx.errors.invalid(path.to(PersistentVolumeClaimVolumeSource::CLAIM_NAME), claim, detail);
        }
    }
}

#[cfg(test)]
mod tests;
