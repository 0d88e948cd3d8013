//! Rules of pod templates, wherever they are used.

use pintle_types::core::v1::PodTemplateSpec;
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, ValidationContext, metadata as general};

/// Labels and annotations of the pods to be made. kube-apiserver's paths leave `metadata` out.
pub fn metadata(template: At<'_, PodTemplateSpec>, cx: &mut ValidationContext<'_>) {
    let metadata = template.new.field(PodTemplateSpec::METADATA);
    let labels = template.path.to(ObjectMeta::LABELS).to_string();
    general::validate_labels(Some(metadata.field(ObjectMeta::LABELS).value()), &labels, &mut cx.errors);
    let annotations = template.path.to(ObjectMeta::ANNOTATIONS).to_string();
    general::validate_annotations(Some(metadata.field(ObjectMeta::ANNOTATIONS).value()), &annotations, &mut cx.errors);
}
