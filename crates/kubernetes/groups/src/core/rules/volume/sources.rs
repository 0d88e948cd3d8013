//! Rules of single volume sources.

use super::is_of_pod;
use crate::rules::has_format;
use pintle_schema::Quantity;
use pintle_types::core::v1::{
    AzureDataDiskKind, AzureDiskVolumeSource, ISCSIPersistentVolumeSource, LocalObjectReference, PersistentVolume,
    QuobyteVolumeSource,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, ValidationContext};

/// How long the name of an interface for an initiator may be.
pub const MAX_INTERFACE: usize = 64;

pub const LONG_INTERFACE: &str = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";

/// Scratch space has no negative size.
pub fn size_limit(limit: At<'_, Option<Quantity>>, cx: &mut ValidationContext<'_>) {
    if limit.new.some().is_some_and(|limit| limit.get().signum() < 0) {
        cx.errors.forbidden(limit.path, "SizeLimit field must be a valid resource quantity");
    }
}

/// The URI of an Azure disk depends on its kind.
pub fn azure_disk(disk: At<'_, AzureDiskVolumeSource>, cx: &mut ValidationContext<'_>) {
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

/// Registries are hosts with ports.
pub fn quobyte(volume: At<'_, QuobyteVolumeSource>, cx: &mut ValidationContext<'_>) {
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

/// Whether a text is a host and a port. Only colons and brackets are checked.
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

/// Volume and portal together name an interface on the node.
pub fn iscsi_portal(disk: At<'_, ISCSIPersistentVolumeSource>, cx: &mut ValidationContext<'_>) {
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

/// The name with which a pod's volume connects. kube-apiserver's path is in lower case.
pub fn iscsi_initiator(name: At<'_, Option<String>>, cx: &mut ValidationContext<'_>) {
    initiator_name(name, "iscsi-name-of-known-kind", cx);
}

/// The name with which a persistent volume connects.
pub fn iscsi_initiator_of_pv(name: At<'_, Option<String>>, cx: &mut ValidationContext<'_>) {
    initiator_name(name, "iscsi-name", cx);
}

fn initiator_name(name: At<'_, Option<String>>, format: &str, cx: &mut ValidationContext<'_>) {
    if let Some(name) = name.some() {
        has_format(format, name.new.value(), &name.path.parent().child("initiatorname"), cx);
    }
}

/// A driver's secret has a name. kube-apiserver reports a wrong one at the driver.
pub fn publish_secret(secret: At<'_, Option<LocalObjectReference>>, cx: &mut ValidationContext<'_>) {
    let Some(secret) = secret.some() else { return };
    let name = secret.new.field(LocalObjectReference::NAME);
    if name.as_str().is_empty() {
        cx.errors.required(secret.path.to(LocalObjectReference::NAME), "");
    } else {
        has_format("dns1123-subdomain", name.value(), &secret.path.parent().to(LocalObjectReference::NAME), cx);
    }
}

/// A pod has an image reference; a template may omit it.
pub fn image(reference: At<'_, String>, cx: &mut ValidationContext<'_>) {
    if reference.new.as_str().is_empty() && is_of_pod(reference.path) {
        cx.errors.required(reference.path, "");
    }
}

#[cfg(test)]
mod tests {
    use super::is_host_and_port;

    #[test]
    fn hosts_with_ports() {
        assert!(is_host_and_port("a:1") && is_host_and_port("[::1]:1") && is_host_and_port(":"));
        assert!(!is_host_and_port("a") && !is_host_and_port("::1:1") && !is_host_and_port("[a:1"));
    }
}
