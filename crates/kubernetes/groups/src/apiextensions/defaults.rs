//! Defaults of custom resource definitions: names, conversion, stored versions.
//!
//! Defaults for custom resources, which a definition contains, are not applied here.

use crate::defaulting::Rule;
use crate::defaulting::fields::{get_mut, is_zero, put, set_if_null, set_if_zero, text};
use pintle_schema::{ApiType, Value, View};
use pintle_types::apiextensions::v1::{
    ConversionStrategyType, CustomResourceConversion, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec, CustomResourceDefinitionStatus, CustomResourceDefinitionVersion,
};

pub const RULES: &[Rule] =
    &[(CustomResourceDefinition::schema, stored_versions), (CustomResourceDefinitionSpec::schema, definition_spec)];

/// A definition that was never stored is so in the first version that says it is the one to store.
fn stored_versions(definition: &mut Value) {
    let view = View::<CustomResourceDefinition>::new(definition);
    let status = view.field(CustomResourceDefinition::STATUS).value();
    if !is_zero(status, CustomResourceDefinitionStatus::STORED_VERSIONS) {
        return;
    }
    let versions = view.field(CustomResourceDefinition::SPEC).field(CustomResourceDefinitionSpec::VERSIONS);
    let stored = versions.iter().find(|version| version.field(CustomResourceDefinitionVersion::STORAGE).get());
    let name = stored.map(|version| Value::from(text(version.value(), CustomResourceDefinitionVersion::NAME)));
    if let Some(name) = name {
        let status = definition.map_entry(CustomResourceDefinition::STATUS.name());
        put(status, CustomResourceDefinitionStatus::STORED_VERSIONS, Value::List(vec![name]));
    }
}

fn definition_spec(spec: &mut Value) {
    type Names = CustomResourceDefinitionNames;
    if let Some(names) = get_mut(spec, CustomResourceDefinitionSpec::NAMES) {
        let kind = text(names, Names::KIND).to_owned();
        if !kind.is_empty() {
            set_if_zero(names, Names::SINGULAR, kind.to_lowercase());
            set_if_zero(names, Names::LIST_KIND, kind + "List");
        }
    }
    let none = CustomResourceConversion { strategy: ConversionStrategyType::NONE, webhook: None };
    set_if_null(spec, CustomResourceDefinitionSpec::CONVERSION, none);
}
