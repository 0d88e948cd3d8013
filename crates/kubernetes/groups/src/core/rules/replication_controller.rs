//! Rules of ReplicationController.

use crate::rules::selects;
use pintle_types::core::v1::{PodTemplateSpec, ReplicationController, ReplicationControllerSpec};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, ValidationContext};

/// The controller selects the pods that it makes.
pub fn labels_match(template: At<'_, Option<PodTemplateSpec>>, cx: &mut ValidationContext<'_>) {
    let Some(template) = template.some() else { return };
    let spec = cx.root::<ReplicationController>().field(ReplicationController::SPEC);
    let selector = spec.field(ReplicationControllerSpec::SELECTOR);
    template.field(PodTemplateSpec::METADATA, |metadata| {
        if !selector.value().is_zero() && !selects(selector, metadata.new) {
            let labels = metadata.new.field(ObjectMeta::LABELS).value().clone();
            let detail = "`selector` does not match template `labels`";
            cx.errors.invalid(metadata.path.to(ObjectMeta::LABELS), labels, detail);
        }
    });
}
