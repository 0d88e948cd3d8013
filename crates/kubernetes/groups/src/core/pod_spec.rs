//! What holds for the pod spec wherever it stands: fields that say one thing twice, and dead annotations.
//!
//! Wire rules only: defaults are elsewhere.

use crate::views::remove_annotation;
use pintle_schema::ViewMut;
use pintle_types::core::v1::{PodSecurityContext, PodSpec, PodTemplateSpec};
use pintle_types::meta::v1::ObjectMeta;

/// Annotations in which init containers were once written.
const DEAD_ANNOTATIONS: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

pub(crate) fn normalize_template(mut template: ViewMut<'_, PodTemplateSpec>) {
    normalize_metadata(template.by_ref().field(PodTemplateSpec::METADATA));
    normalize_spec(template.field(PodTemplateSpec::SPEC));
}

pub(crate) fn normalize_metadata(mut metadata: ViewMut<'_, ObjectMeta>) {
    for annotation in DEAD_ANNOTATIONS {
        remove_annotation(metadata.by_ref(), annotation);
    }
}

/// Writes the service account's name in both its places, and makes the security context.
pub(crate) fn normalize_spec(mut spec: ViewMut<'_, PodSpec>) {
    let view = spec.view();
    let name = match view.field(PodSpec::SERVICE_ACCOUNT_NAME).as_str() {
        "" => view.field(PodSpec::SERVICE_ACCOUNT).get(),
        name => name.to_owned(),
    };
    if !name.is_empty() {
        spec.by_ref().field(PodSpec::SERVICE_ACCOUNT_NAME).set(name.as_str());
        spec.by_ref().field(PodSpec::SERVICE_ACCOUNT).set(name);
    }
    if !spec.view().field(PodSpec::SECURITY_CONTEXT).is_set() {
        spec.field(PodSpec::SECURITY_CONTEXT).set(PodSecurityContext::default());
    }
}
