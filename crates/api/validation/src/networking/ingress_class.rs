//! Rules of IngressClass.

use pintle_schema::names;
use pintle_types::networking::v1::{IngressClass, IngressClassSpec};
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
