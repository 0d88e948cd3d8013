//! Rules of VolumeAttachment: its source, and the errors that drivers report.

use crate::rules::internal_form::in_full;
use pintle_schema::{Map, View, names};
use pintle_types::storage::v1::{VolumeAttachment, VolumeAttachmentSource, VolumeAttachmentSpec, VolumeError};
use pintle_validation::{At, ValidationContext, same};
use std::collections::BTreeMap;

/// The limit on the size of an attachment's metadata, in bytes.
const MAX_METADATA: usize = 256 << 10;
const MAX_MESSAGE: usize = 1024;

/// An attachment is of one volume, named or described.
pub fn one_source(source: At<'_, VolumeAttachmentSource>, cx: &mut ValidationContext<'_>) {
    const ONE: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    let name = source.new.field(VolumeAttachmentSource::PERSISTENT_VOLUME_NAME).some().map(View::as_str);
    match (source.new.field(VolumeAttachmentSource::INLINE_VOLUME_SPEC).is_set(), name) {
        (false, None) => cx.errors.required(source.path, ONE),
        (true, Some(_)) => cx.errors.forbidden(source.path, ONE),
        (false, Some("")) => {
            let path = source.path.to(VolumeAttachmentSource::PERSISTENT_VOLUME_NAME);
            cx.errors.required(path, "must specify non empty persistentVolumeName");
        }
        _ => {}
    }
}

/// Whether a volume is both named and described; it is only reported as both.
pub fn is_named(source: At<'_, VolumeAttachmentSource>, _: &ValidationContext<'_>) -> bool {
    source.new.field(VolumeAttachmentSource::PERSISTENT_VOLUME_NAME).is_set()
}

/// The name of a volume is valid.
pub fn volume_name(attachment: At<'_, VolumeAttachment>, cx: &mut ValidationContext<'_>) {
    attachment.field(VolumeAttachment::SPEC, |spec| {
        spec.field(VolumeAttachmentSpec::SOURCE, |source| {
            let name = source.new.field(VolumeAttachmentSource::PERSISTENT_VOLUME_NAME);
            if let Some(name) =
                name.some().filter(|_| !source.old.is_some_and(|old| same(source.new.value(), old.value())))
            {
                let path = source.path.to(VolumeAttachmentSource::PERSISTENT_VOLUME_NAME);
                cx.errors.invalid_each(path, name.value(), names::dns1123_subdomain(name.as_str()));
            }
        });
    });
}

/// The metadata and errors that a driver reports have a limited size.
pub fn metadata(metadata: At<'_, BTreeMap<String, String>>, cx: &mut ValidationContext<'_>) {
    let entries = metadata.new.value().as_map().into_iter().flat_map(Map::iter);
    let total: usize = entries.map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if total > MAX_METADATA {
        cx.errors.too_long(metadata.path, MAX_METADATA);
    }
}

/// Failures are reported in short. The bound that kube-apiserver reports is that of the metadata.
pub fn failure(error: At<'_, VolumeError>, cx: &mut ValidationContext<'_>) {
    if error.new.field(VolumeError::MESSAGE).as_str().len() > MAX_MESSAGE {
        cx.errors.too_long(error.path.to(VolumeError::MESSAGE), MAX_METADATA);
    }
    if let Some(code) = error.new.field(VolumeError::ERROR_CODE).some().map(View::get).filter(|code| *code < 0) {
        let detail = "must be between 0 and 2147483647, inclusive";
        cx.errors.invalid(error.path.to(VolumeError::ERROR_CODE), i64::from(code), detail);
    }
}

/// The spec of an attachment is immutable.
pub fn keeps_spec(attachment: At<'_, VolumeAttachment>, cx: &mut ValidationContext<'_>) {
    attachment.field(VolumeAttachment::SPEC, |spec| {
        if spec.old.is_some_and(|old| !same(spec.new.value(), old.value())) {
            cx.errors.immutable(spec.path, in_full(spec.new));
            cx.errors.origin("immutable");
        }
    });
}
