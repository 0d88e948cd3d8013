//! Rules of IngressClass.

use crate::shared::invalid_each;
use pintle_schema::names;
use pintle_types::networking::v1::{IngressClass, IngressClassParametersReference, IngressClassSpec};
use pintle_validation::{At, Cx};

/// A class stays with its controller.
pub fn keeps_controller(class: At<'_, IngressClass>, cx: &mut Cx<'_>) {
    class.field(IngressClass::SPEC, |spec| {
        spec.field(IngressClassSpec::CONTROLLER, |controller| {
            if !controller.unchanged() {
                cx.errors.immutable(controller.path, controller.new.as_str());
            }
        });
    });
}

/// A controller is named by a path in the domain of who made it.
pub fn controller(controller: At<'_, String>, cx: &mut Cx<'_>) {
    for fault in names::domain_prefixed_path(controller.new.as_str()) {
        match fault {
            names::Fault::Required => cx.errors.required(controller.path, ""),
            names::Fault::Invalid { value, detail } => cx.errors.invalid(controller.path, value, detail),
        }
    }
}

/// Parameters of one namespace name it, those of the cluster name none.
pub fn namespace(parameters: At<'_, IngressClassParametersReference>, cx: &mut Cx<'_>) {
    type Parameters = IngressClassParametersReference;
    let path = parameters.path.to(Parameters::NAMESPACE);
    let namespace = parameters.new.field(Parameters::NAMESPACE).some();
    match (parameters.new.field(Parameters::SCOPE).value().as_str(), namespace) {
        (Some("Namespace"), None) => cx.errors.required(path, "`parameters.scope` is set to 'Namespace'"),
        (Some("Namespace"), Some(namespace)) => {
            let name = namespace.as_str();
            invalid_each(name, names::dns1123_label(name), &path, cx);
        }
        (Some("Cluster"), Some(_)) => cx.errors.forbidden(path, "`parameters.scope` is set to 'Cluster'"),
        _ => {}
    }
}
