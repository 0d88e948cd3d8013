//! Rules of single volume sources: which fields need which others, and texts whose form no tag knows.

use super::is_of_pod;
use pintle_schema::{Quantity, View, names};
use pintle_types::core::v1::{
    AzureDataDiskKind, AzureDiskVolumeSource, CSIVolumeSource, FlockerVolumeSource, ISCSIPersistentVolumeSource,
    ISCSIVolumeSource, LocalObjectReference, PersistentVolume, QuobyteVolumeSource,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, Cx, FieldPath};

/// How long the name of an interface for an initiator may be.
pub const MAX_INTERFACE: usize = 64;

pub const LONG_INTERFACE: &str = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";

const FORM: &str = "must be valid format";
const FORM_OF_POD: &str = "must be valid format starting with iqn, eui, or naa";

/// Scratch space has no negative size.
pub fn size_limit(limit: At<'_, Option<Quantity>>, cx: &mut Cx<'_>) {
    if limit.new.some().is_some_and(|limit| limit.get().signum() < 0) {
        cx.errors.forbidden(limit.path, "SizeLimit field must be a valid resource quantity");
    }
}

/// What identifies a disk of Azure depends on its kind.
pub fn azure_disk(disk: At<'_, AzureDiskVolumeSource>, cx: &mut Cx<'_>) {
    const MANAGED: &str =
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
    const BLOB: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
    let Some(kind) = disk.new.field(AzureDiskVolumeSource::KIND).some() else { return };
    let uri = disk.new.field(AzureDiskVolumeSource::DISK_URI).as_str();
    let (begin, form) = match kind.value().as_str() == Some(AzureDataDiskKind::MANAGED.as_str()) {
        true => ("/subscriptions/", MANAGED),
        false => ("https://", BLOB),
    };
    if !uri.starts_with(begin) {
        cx.errors.not_supported(disk.path.to(AzureDiskVolumeSource::DISK_URI), uri, &[form]);
    }
}

/// A dataset is known by its name or by its identifier.
pub fn flocker(set: At<'_, FlockerVolumeSource>, cx: &mut Cx<'_>) {
    let name = set.new.field(FlockerVolumeSource::DATASET_NAME).as_str();
    let uuid = set.new.field(FlockerVolumeSource::DATASET_UUID).as_str();
    if !name.is_empty() && !uuid.is_empty() {
        let detail = "datasetName and datasetUUID can not be specified simultaneously";
        cx.errors.invalid(set.path, "resource", detail);
    }
}

/// Registries are hosts with ports.
pub fn quobyte(volume: At<'_, QuobyteVolumeSource>, cx: &mut Cx<'_>) {
    const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
    const MAX_TENANT: usize = 64;
    let registry = volume.new.field(QuobyteVolumeSource::REGISTRY).as_str();
    let path = volume.path.to(QuobyteVolumeSource::REGISTRY);
    let tenant = volume.new.field(QuobyteVolumeSource::TENANT).as_str();
    if !registry.is_empty() && tenant.len() <= MAX_TENANT {
        for _ in registry.split(',').filter(|pair| !is_host_and_port(pair)) {
            cx.errors.invalid(path, registry, PAIRS);
        }
    }
}

/// Whether a text is a host and a port, as far as colons and brackets tell.
fn is_host_and_port(text: &str) -> bool {
    let host = match text.rsplit_once(':') {
        Some((host, _)) => host,
        None => return false,
    };
    match host.strip_prefix('[') {
        Some(address) => address.strip_suffix(']').is_some_and(|address| !address.contains(['[', ']'])),
        None => !host.contains([':', '[', ']']),
    }
}

/// Whether a name of an iSCSI node is right; one of an unknown kind is not.
fn is_iscsi_name(name: &str) -> bool {
    let has_letters = |rest: &str, count: usize| {
        rest.chars().count() == count + 1 && rest.chars().skip(1).all(|c| c.is_ascii_alphanumeric())
    };
    if name.starts_with("iqn") {
        is_qualified_name(name)
    } else if let Some(rest) = name.strip_prefix("eui") {
        has_letters(rest, 16)
    } else {
        name.strip_prefix("naa").is_some_and(|rest| has_letters(rest, 32))
    }
}

/// `iqn.` with year and month, a reversed domain, and after a colon anything without separators.
fn is_qualified_name(name: &str) -> bool {
    name.match_indices("iqn.").any(|(at, begin)| {
        let rest = name.get(at + begin.len()..).unwrap_or_default();
        let date = rest.as_bytes().get(..8).unwrap_or_default();
        let is_date = date.len() == 8
            && date.iter().enumerate().all(|(at, byte)| match at {
                4 => *byte == b'-',
                7 => *byte == b'.',
                _ => byte.is_ascii_digit(),
            });
        let named = rest.get(8..).and_then(|rest| rest.split_once(':'));
        is_date
            && named.is_some_and(|(domain, own)| {
                !domain.is_empty()
                    && domain.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
                    && !own.is_empty()
                    && !own.contains([',', ';', '*', '&', '$', '|', ' ', '\t', '\n', '\r', '\u{c}'])
            })
    })
}

fn name_of_target(name: At<'_, String>, detail: &str, cx: &mut Cx<'_>) {
    let text = name.new.as_str();
    if !text.is_empty() && !is_iscsi_name(text) {
        let is_known = ["iqn", "eui", "naa"].iter().any(|kind| text.starts_with(kind));
        cx.errors.invalid(name.path, text, if is_known { FORM } else { detail });
    }
}

/// The target of a pod's volume.
pub fn iqn_of_pod(name: At<'_, String>, cx: &mut Cx<'_>) {
    name_of_target(name, FORM_OF_POD, cx);
}

/// The target of a persistent volume.
pub fn iqn(name: At<'_, String>, cx: &mut Cx<'_>) {
    name_of_target(name, FORM, cx);
}

fn initiator(name: View<'_, Option<String>>, owner: &FieldPath<'_>, detail: &str, cx: &mut Cx<'_>) {
    let Some(name) = name.some() else { return };
    let path = owner.child("initiatorname");
    name_of_target(At { new: name, old: None, path: &path }, detail, cx);
    if name.as_str().is_empty() {
        cx.errors.invalid(path, "", detail);
    }
}

/// The initiator has a name of the right form.
pub fn iscsi_of_pod(disk: At<'_, ISCSIVolumeSource>, cx: &mut Cx<'_>) {
    type Disk = ISCSIVolumeSource;
    initiator(disk.new.field(Disk::INITIATOR_NAME), disk.path, FORM_OF_POD, cx);
}

/// Volume and portal together name an interface on the node.
pub fn iscsi_portal(disk: At<'_, ISCSIPersistentVolumeSource>, cx: &mut Cx<'_>) {
    type Disk = ISCSIPersistentVolumeSource;
    if !disk.new.field(Disk::INITIATOR_NAME).is_set() {
        return;
    }
    let name = match super::persistent::is_inline(cx) {
        true => "",
        false => cx.root::<PersistentVolume>().field(PersistentVolume::METADATA).field(ObjectMeta::NAME).as_str(),
    };
    let portal = disk.new.field(Disk::TARGET_PORTAL).as_str();
    if name.len() + 1 + portal.len() > MAX_INTERFACE {
        cx.errors.invalid(disk.path.child("targetportal"), portal, LONG_INTERFACE);
    }
}

/// The initiator has a name of the right form.
pub fn iscsi(disk: At<'_, ISCSIPersistentVolumeSource>, cx: &mut Cx<'_>) {
    type Disk = ISCSIPersistentVolumeSource;
    initiator(disk.new.field(Disk::INITIATOR_NAME), disk.path, FORM, cx);
}

/// The secret's name is told where the reference tells it: beside the reference.
pub fn csi_secret(volume: At<'_, CSIVolumeSource>, cx: &mut Cx<'_>) {
    let Some(secret) = volume.new.field(CSIVolumeSource::NODE_PUBLISH_SECRET_REF).some() else { return };
    let name = secret.field(LocalObjectReference::NAME);
    if !name.as_str().is_empty() {
        let messages = names::dns1123_subdomain(name.as_str());
        cx.errors.invalid_each(volume.path.to(LocalObjectReference::NAME), name.value(), messages);
    }
}

/// A pod names the image; a template may leave it to what is made of it.
pub fn image(reference: At<'_, String>, cx: &mut Cx<'_>) {
    if reference.new.as_str().is_empty() && is_of_pod(reference.path) {
        cx.errors.required(reference.path, "");
    }
}

#[cfg(test)]
mod tests {
    use super::{is_host_and_port, is_iscsi_name};

    #[test]
    fn names_of_iscsi_nodes() {
        for right in ["iqn.2001-04.com.example:storage.disk1", "eui.0123456789abcdef", "iqn.1994-05.com.example:x"] {
            assert!(is_iscsi_name(right), "{right}");
        }
        for wrong in ["iqn.2001-04.com.example", "iqn.2001-4.com:a", "eui.0123", "naa.x", "a", "iqn.2001-04.com:a b"] {
            assert!(!is_iscsi_name(wrong), "{wrong}");
        }
    }

    #[test]
    fn hosts_with_ports() {
        assert!(is_host_and_port("a:1") && is_host_and_port("[::1]:1") && is_host_and_port(":"));
        assert!(!is_host_and_port("a") && !is_host_and_port("::1:1") && !is_host_and_port("[a:1"));
    }
}
