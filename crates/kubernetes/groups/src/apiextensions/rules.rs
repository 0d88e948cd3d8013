//! Validation passes of the `apiextensions.k8s.io` group. The rules are in `pintle-extensions`.

use pintle_extensions::definition;
use pintle_resource::Written;
use pintle_schema::{ApiType, View};
use pintle_types::apiextensions::v1beta1::CustomResourceDefinition;
use pintle_validation::{Group, KindRules, Pass, Untyped, ValidationContext, metadata};

/// The group's kind, in the version that it is stored in.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: &[], ..Group::NONE };

static KINDS: &[KindRules] = &[KindRules {
    create: &[Pass::Rule(metadata_of_new), Pass::Rule(whole)],
    update: &[Pass::PlainMetadataUpdate, Pass::Rule(whole)],
    parts: &[("status", &[Pass::PlainMetadataUpdate, Pass::Rule(status)])],
    ..KindRules::of(CustomResourceDefinition::schema)
}];

fn metadata_of_new(definition: &Untyped<'_>, cx: &mut ValidationContext<'_>) {
    let object = definition.value;
    let check = |name: &str, prefix: bool| {
        let mut faults = (cx.request.name_check)(name, prefix);
        faults.extend(definition::name_fault(object, name));
        faults
    };
    let of = View::<CustomResourceDefinition>::new(object).field(CustomResourceDefinition::METADATA);
    metadata::validate_create(of.value(), false, &check, &mut cx.errors);
}

fn whole(definition: &Untyped<'_>, cx: &mut ValidationContext<'_>) {
    let environment = cx.request.environment;
    let found = definition::validate_definition(
        definition.value,
        definition.old,
        environment.empties(),
        environment.compatibility_minor(),
    );
    cx.errors.0.extend(found.0);
}

fn status(definition: &Untyped<'_>, cx: &mut ValidationContext<'_>) {
    definition::validate_status(definition.value, &mut cx.errors);
}

/// Warns of what a schema states and nothing holds it to.
pub fn warn(written: &Written<'_>, warnings: &mut Vec<String>) {
    if written.subresource.is_empty() {
        definition::warnings::warnings(written.object, written.old, warnings);
    }
}
