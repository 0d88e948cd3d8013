//! Handwritten rules of volumes: those of pods, persistent volumes and claims.
//!
//! Rules of single sources are tags of their types; this file has the table, and rules of several sources.

pub mod claim;
pub mod persistent;
pub mod projected;
pub mod sources;
pub mod warnings;

use pintle_schema::{ApiType, Map, Value, View, names};
use pintle_types::core::v1::{
    AzureDiskVolumeSource, CSIPersistentVolumeSource, CSIVolumeSource, ClusterTrustBundleProjection,
    ConfigMapVolumeSource, DownwardAPIProjection, DownwardAPIVolumeFile, DownwardAPIVolumeSource, EmptyDirVolumeSource,
    ISCSIPersistentVolumeSource, ISCSIVolumeSource, ImageVolumeSource, PersistentVolume, PersistentVolumeClaim,
    PersistentVolumeClaimSpec, PersistentVolumeClaimStatus, PersistentVolumeClaimTemplate,
    PersistentVolumeClaimVolumeSource, PersistentVolumeSource, PersistentVolumeSpec, Pod, PodCertificateProjection,
    PodSpec, ProjectedVolumeSource, QuobyteVolumeSource, SecretVolumeSource, ServiceAccountTokenProjection, Volume,
    VolumeProjection, VolumeSource,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{
    At, CustomRule, FieldOrder, FieldPath, Group, KindRules, Pass, ShownName, Skip, ValidationContext, at_field,
    at_type, field_order, pass, shown_name, skip, skip_inside,
};

/// The rules of volumes.
pub static GROUP: Group =
    Group { kinds: KINDS, custom_rules: RULES, orders: ORDERS, skips: SKIPS, names: NAMES, ..Group::NONE };

static KINDS: &[KindRules] = &[
    KindRules {
        // The rules of a new volume are asked twice, as kube-apiserver asks them.
        update: &[
            Pass::Metadata,
            Pass::Rules,
            Pass::Metadata,
            Pass::Rules,
            pass!(PersistentVolume, persistent::keeps_source),
        ],
        ..KindRules::of(PersistentVolume::schema)
    },
    KindRules {
        update: &[Pass::MetadataUpdate, Pass::Metadata, Pass::Rules, pass!(PersistentVolumeClaim, claim::keeps_spec)],
        ..KindRules::of(PersistentVolumeClaim::schema)
    },
];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] = &[
    field_order!(SecretVolumeSource: [SECRET_NAME, DEFAULT_MODE]),
    field_order!(ConfigMapVolumeSource: [DEFAULT_MODE]),
    field_order!(ProjectedVolumeSource: [DEFAULT_MODE]),
    field_order!(CSIPersistentVolumeSource: [
        DRIVER, VOLUME_HANDLE, CONTROLLER_PUBLISH_SECRET_REF, CONTROLLER_EXPAND_SECRET_REF
    ]),
    field_order!(PersistentVolumeSpec: [
        ACCESS_MODES, CAPACITY, PERSISTENT_VOLUME_RECLAIM_POLICY, NODE_AFFINITY
    ]),
    field_order!(PersistentVolumeClaimSpec: [SELECTOR, ACCESS_MODES]),
];

static SKIPS: &[Skip] = &[
    skip!(VolumeSource, is_later_source),
    skip!(PersistentVolumeSource, persistent::is_later_source),
    skip_inside!(PersistentVolumeSpec::NODE_AFFINITY, persistent::is_inline_volume),
];

static NAMES: &[ShownName] = &[
    shown_name!(VolumeSource::GCE_PERSISTENT_DISK = "persistentDisk"),
    shown_name!(PersistentVolumeSource::GCE_PERSISTENT_DISK = "persistentDisk"),
];

static RULES: &[CustomRule] = &[
    at_type!(VolumeSource, one_source, phase = After),
    at_type!(VolumeSource, names_made_of_it, phase = After),
    at_field!(PodSpec::VOLUMES, claims_of_their_own, phase = Inside(2)),
    at_field!(EmptyDirVolumeSource::SIZE_LIMIT, sources::size_limit),
    at_type!(AzureDiskVolumeSource, sources::azure_disk, phase = After),
    at_type!(QuobyteVolumeSource, sources::quobyte),
    at_type!(ISCSIPersistentVolumeSource, sources::iscsi_portal),
    at_field!(ISCSIVolumeSource::INITIATOR_NAME, sources::iscsi_initiator),
    at_field!(ISCSIPersistentVolumeSource::INITIATOR_NAME, sources::iscsi_initiator_of_pv),
    at_field!(CSIVolumeSource::NODE_PUBLISH_SECRET_REF, sources::publish_secret),
    at_field!(ImageVolumeSource::REFERENCE, sources::image),
    at_type!(DownwardAPIVolumeSource, projected::pod_info, phase = After),
    at_type!(DownwardAPIProjection, projected::pod_info_part),
    at_type!(DownwardAPIVolumeFile, projected::file),
    at_field!(ServiceAccountTokenProjection::PATH, projected::token_path),
    at_type!(VolumeProjection, projected::one_part, phase = After),
    at_type!(ClusterTrustBundleProjection, projected::trust_bundle),
    at_type!(PodCertificateProjection, projected::certificate_files, phase = After),
    at_type!(ProjectedVolumeSource, projected::parts, phase = After),
    at_field!(PersistentVolumeSpec::ACCESS_MODES, claim::access_modes),
    at_field!(PersistentVolumeSpec::CAPACITY, persistent::capacity),
    at_field!(PersistentVolumeSpec::PERSISTENT_VOLUME_RECLAIM_POLICY, persistent::reclaim_policy),
    at_field!(PersistentVolumeSpec::NODE_AFFINITY, persistent::node_affinity),
    at_field!(PersistentVolume::SPEC, persistent::attributes_class, phase = After),
    at_type!(PersistentVolumeSource, persistent::one_source, phase = After),
    at_type!(PersistentVolumeSpec, persistent::fits_source, phase = After),
    at_field!(PersistentVolumeClaimSpec::ACCESS_MODES, claim::access_modes),
    at_field!(PersistentVolumeClaimSpec::RESOURCES, claim::storage),
    at_field!(PersistentVolumeClaimSpec::DATA_SOURCE, claim::data_source),
    at_field!(PersistentVolumeClaimSpec::DATA_SOURCE_REF, claim::data_source_ref),
    at_type!(
        PersistentVolumeClaimSpec,
        claim::sources_agree,
        phase = BeforeField(&[PersistentVolumeClaimSpec::VOLUME_ATTRIBUTES_CLASS_NAME.name()])
    ),
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

/// Whether a field is a source beside the one that counts: it is not looked into.
fn is_later_source(source: At<'_, VolumeSource>, field: &str, _: &ValidationContext<'_>) -> bool {
    is_later(source.new.value(), field, ORDER)
}

/// Reports what is wrong with the number of sources, after what `inside` reports for the one that counts. Those that are
/// `free` may stand beside another.
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
    inside(first, cx);
    for other in set.filter(|other| !free.contains(other)) {
        let shown = match *other {
            "cephfs" => "cephFS",
            "downwardAPI" => "downwarAPI",
            other => other,
        };
        cx.errors.forbidden(path.child(shown), "may not specify more than 1 volume type");
    }
}

/// Whether a source is set beside an earlier one.
pub fn is_later(source: &Value, field: &str, order: &[&str]) -> bool {
    let mut others = source.as_map().into_iter().flat_map(Map::iter);
    let is_earlier = |other: &str| {
        let first = order.iter().find(|name| [other, field].contains(name));
        first.is_some_and(|first| *first == other) && order.contains(&field)
    };
    others.any(|(name, value)| name.as_str() != field && !value.is_null() && is_earlier(name))
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
