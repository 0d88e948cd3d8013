//! Defaults of definitions in the version that they are stored in: what servers before 1.16 left out.
//!
//! Guarantees that such a definition is read as kube-apiserver reads it: it keeps unknown fields unless it says otherwise. Must never
//! change what this release stores, which says all of this.

use crate::defaulting::Rule;
use crate::defaulting::fields::{get_mut, is_null, is_zero, put, set, set_if_null, set_if_zero, text};
use pintle_schema::{ApiType, Value, View};
use pintle_types::apiextensions::v1beta1::{
    ConversionStrategyType, CustomResourceConversion, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec as Spec, CustomResourceDefinitionStatus, CustomResourceDefinitionVersion,
    ResourceScope, ServiceReference,
};

pub const RULES: &[Rule] = &[
    (CustomResourceDefinition::schema, stored_versions),
    (Spec::schema, definition_spec),
    (CustomResourceConversion::schema, conversion),
    (ServiceReference::schema, |service| set_if_null(service, ServiceReference::PORT, 443)),
];

fn stored_versions(definition: &mut Value) {
    let view = View::<CustomResourceDefinition>::new(definition);
    let status = view.field(CustomResourceDefinition::STATUS).value();
    if !is_zero(status, CustomResourceDefinitionStatus::STORED_VERSIONS) {
        return;
    }
    let versions = view.field(CustomResourceDefinition::SPEC).field(Spec::VERSIONS);
    let stored = versions.iter().find(|version| version.field(CustomResourceDefinitionVersion::STORAGE).get());
    if let Some(name) = stored.map(|version| version.field(CustomResourceDefinitionVersion::NAME).get()) {
        let status = definition.map_entry(CustomResourceDefinition::STATUS.name());
        put(status, CustomResourceDefinitionStatus::STORED_VERSIONS, Value::List(vec![name.into()]));
    }
}

fn definition_spec(spec: &mut Value) {
    type Names = CustomResourceDefinitionNames;
    set_if_zero(spec, Spec::SCOPE, ResourceScope::NAMESPACE);
    if let Some(names) = get_mut(spec, Spec::NAMES) {
        let kind = text(names, Names::KIND).to_owned();
        if !kind.is_empty() {
            set_if_zero(names, Names::SINGULAR, kind.to_lowercase());
            set_if_zero(names, Names::LIST_KIND, kind + "List");
        }
    }
    let only = text(spec, Spec::VERSION).to_owned();
    if !only.is_empty() && is_zero(spec, Spec::VERSIONS) {
        let version = CustomResourceDefinitionVersion { name: only, served: true, storage: true, ..Default::default() };
        set(spec, Spec::VERSIONS, vec![version]);
    } else if only.is_empty() {
        let versions = View::<Spec>::new(spec).field(Spec::VERSIONS);
        let first = versions.iter().next().map(|version| version.field(CustomResourceDefinitionVersion::NAME).get());
        first.into_iter().for_each(|name| set(spec, Spec::VERSION, name));
    }
    if is_null(spec, Spec::CONVERSION) {
        let none = CustomResourceConversion { strategy: ConversionStrategyType::NONE, ..Default::default() };
        set(spec, Spec::CONVERSION, none);
    }
    set_if_null(spec, Spec::PRESERVE_UNKNOWN_FIELDS, true);
}

/// Webhooks of old take the one version of reviews that there was.
fn conversion(conversion: &mut Value) {
    type Conversion = CustomResourceConversion;
    if ConversionStrategyType::WEBHOOK == text(conversion, Conversion::STRATEGY) {
        set_if_zero(conversion, Conversion::CONVERSION_REVIEW_VERSIONS, vec!["v1beta1".to_owned()]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::group;
    use super::CustomResourceDefinition;
    use pintle_resource::UNDATED;
    use pintle_schema::{ApiType, Value, canonicalize, value};

    fn read(mut stored: Value) -> Value {
        let group = group();
        let resource = &group.resources[0];
        let schema = resource.storage.as_ref().map(|storage| storage.schema.clone()).expect("stored");
        resource.defaults.apply(&schema, &mut stored, UNDATED);
        canonical(stored)
    }

    fn canonical(mut definition: Value) -> Value {
        canonicalize(CustomResourceDefinition::schema(), &mut definition);
        definition
    }

    #[test]
    fn definitions_of_old_are_completed() {
        let names = value!({"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"});
        let old = value!({"spec": {"group": "g", "version": "v1", "names": {"plural": "foos", "kind": "Foo"}}});
        let spec = value!({"group": "g", "version": "v1", "names": (names), "scope": "Namespaced",
            "versions": [{"name": "v1", "served": true, "storage": true}], "conversion": {"strategy": "None"},
            "preserveUnknownFields": true});
        assert_eq!(read(old).get("spec"), canonical(value!({"spec": (spec)})).get("spec"));
    }

    #[test]
    fn what_a_definition_says_stays() {
        let spec = value!({"version": "v2", "scope": "Cluster", "preserveUnknownFields": false,
            "names": {"kind": "Foo", "singular": "f", "listKind": "L"},
            "versions": [{"name": "v2", "storage": true}, {"name": "v1"}],
            "conversion": {"strategy": "Webhook", "conversionReviewVersions": ["v1"],
                "webhookClientConfig": {"service": {"port": 8443}}}});
        let definition = value!({"spec": (spec), "status": {"storedVersions": ["v1"]}});
        assert_eq!(read(definition.clone()), canonical(definition));
        let webhook = read(value!({"spec": {"conversion": {"strategy": "Webhook",
            "webhookClientConfig": {"service": {"name": "s"}}}}}));
        let conversion = webhook.at(&["spec", "conversion"]).cloned().unwrap_or_default();
        assert_eq!(conversion.get("conversionReviewVersions"), Some(&value!(["v1beta1"])));
        assert_eq!(conversion.at(&["webhookClientConfig", "service", "port"]), Some(&value!(443)));
    }
}
