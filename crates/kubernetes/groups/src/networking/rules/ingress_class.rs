//! Rules of IngressClass.

use pintle_types::networking::v1::{IngressClass, IngressClassSpec};
use pintle_validation::{At, ValidationContext};

/// A class stays with its controller.
pub fn keeps_controller(class: At<'_, IngressClass>, cx: &mut ValidationContext<'_>) {
    class.field(IngressClass::SPEC, |spec| {
        spec.field(IngressClassSpec::CONTROLLER, |controller| {
            if !controller.unchanged() {
                cx.errors.immutable(controller.path, controller.new.as_str());
            }
        });
    });
}
