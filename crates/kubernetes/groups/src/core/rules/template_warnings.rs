//! Warnings of the kinds with a pod template, and helpers for other groups.
//!
//! Warnings never reject a request. Texts are kube-apiserver's.

use crate::core::rules::pod::warnings::{name_for_host, of_template};
use crate::rules::warnings::Written;
use pintle_schema::{Value, View};
use pintle_types::core::v1::{Pod, PodTemplate, ReplicationController, ReplicationControllerSpec};
use pintle_validation::FieldPath;

pub fn pod_template(written: &Written<'_>, warnings: &mut Vec<String>) {
    if written.has_new_generation() {
        template_in(written.object, &[PodTemplate::TEMPLATE.name()], warnings);
    }
}

/// Of a changed controller kube-apiserver validates the template that is replaced.
pub fn replication_controller(written: &Written<'_>, warnings: &mut Vec<String>) {
    name_for_pods(written, warnings);
    if has_new_spec(written) {
        let fields = [ReplicationController::SPEC.name(), ReplicationControllerSpec::TEMPLATE.name()];
        template_in(written.old.unwrap_or(written.object), &fields, warnings);
    }
}

/// Whether it is new, or its generation increased.
pub(crate) fn has_new_spec(written: &Written<'_>) -> bool {
    written.subresource.is_empty() && written.has_new_generation()
}

/// Warns of a name that is no host's name.
pub(crate) fn name_for_pods(written: &Written<'_>, warnings: &mut Vec<String>) {
    if written.is_new() {
        // Metadata has the same path in every object.
        let metadata = written.view::<Pod>().field(Pod::METADATA);
        name_for_host(metadata, "this is used in Pod names and hostnames", warnings);
    }
}

pub(crate) fn template_in(object: &Value, fields: &[&str], warnings: &mut Vec<String>) {
    if let Some(template) = object.at(fields) {
        of_template(View::new(template), &FieldPath::ROOT, fields, warnings);
    }
}
