//! The `apiextensions.k8s.io` group: custom resource definitions.
//!
//! Definitions are stored as v1beta1, as in kube-apiserver; the strategy gets them in that form.

pub(crate) mod defaults;
pub(crate) mod rules;
pub(crate) mod stored_defaults;

use crate::group::{TypeFunctions, version};
use crate::views::{clear, push, rename, set_if_absent, take_entries, unwrap_into};
use pintle_resource::{
    Context, Group, NameRule, Resource, SPEC_PATHS, STATUS, Storage, Strategy, Subresource, WITH_STATUS, same,
};
use pintle_schema::{ApiType, Str, Value, View, ViewMut, canonicalize};
use pintle_types::apiextensions::{v1, v1beta1};
use v1beta1::{
    CustomResourceDefinition, CustomResourceDefinitionSpec as Spec, CustomResourceDefinitionStatus,
    CustomResourceDefinitionVersion as Version,
};

/// The group.
pub fn group() -> Group {
    let functions =
        TypeFunctions::default().rules(&[&rules::GROUP]).defaults(defaults::RULES).defaults(stored_defaults::RULES);
    Group {
        name: Str::new_static("apiextensions.k8s.io"),
        priority: Some(16700),
        built_in: true,
        versions: vec![version("v1", 15)],
        resources: functions.complete(vec![custom_resource_definitions()]),
        internal: Vec::new(),
    }
}

fn custom_resource_definitions() -> Resource {
    Resource {
        storage: Some(
            Storage::of::<v1beta1::CustomResourceDefinition>()
                .under("/registry/apiextensions.k8s.io/customresourcedefinitions/")
                .as_json()
                .converting(to_v1beta1, from_v1beta1),
        ),
        subresources: vec![Subresource::status::<v1::CustomResourceDefinition>(&STATUS)],
        strategy: &CUSTOM_RESOURCE_DEFINITION,
        warn: Some(rules::warn),
        ..Resource::of::<v1::CustomResourceDefinition>()
    }
}

static CUSTOM_RESOURCE_DEFINITION: Strategy = Strategy {
    name: NameRule::Subdomain,
    unconditional_update: false,
    delete_answers_object: true,
    delete_declares_status: true,
    generation: Some(SPEC_PATHS),
    counts_empties: Some(has_empty_items),
    begin_deletion: Some(begin_deletion),
    prepare_create: Some(|object, _| note_storage_version(object)),
    prepare_update: Some(|object: &mut Value, _: &Value, _: &mut Context| note_storage_version(object)),
    ..WITH_STATUS
};

/// Who deletes the objects of a definition holds it until they are gone.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The message of the condition that the first delete sets.
fn begin_deletion(object: &mut Value) {
    let metadata = object.map_entry("metadata").make_map();
    // The objects end, not the definition: there is no period that it is given.
    metadata.remove("deletionGracePeriodSeconds");
    let finalizers = metadata.entry("finalizers");
    if finalizers.is_null() {
        *finalizers = Value::List(Vec::new());
    }
    if let Some(list) = finalizers.as_list_mut()
        && !list.iter().any(|finalizer| finalizer.as_str() == Some(CLEANUP_FINALIZER))
    {
        list.push(CLEANUP_FINALIZER.into());
    }
    let deleted = object.at(&["metadata", "deletionTimestamp"]).cloned().unwrap_or_default();
    let status = object.map_entry("status").make_map();
    let conditions = status.entry("conditions");
    if conditions.is_null() {
        *conditions = Value::List(Vec::new());
    }
    if let Some(list) = conditions.as_list_mut() {
        list.retain(|condition| condition.get("type").and_then(Value::as_str) != Some("Terminating"));
        list.push(pintle_schema::value!({
            "type": "Terminating",
            "status": "True",
            "lastTransitionTime": (deleted),
            "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        }));
    }
}

/// Whether a schema's `items` are neither a schema nor a list of them. kube-apiserver takes that for items without either, which it
/// does not store: they are new with each write.
fn has_empty_items(sent: &Value) -> bool {
    match sent {
        Value::Map(map) => map.iter().any(|(name, value)| match value {
            Value::List(items) if items.is_empty() => name == "items",
            value => has_empty_items(value),
        }),
        Value::List(items) => items.iter().any(has_empty_items),
        _ => false,
    }
}

/// Adds the storage version to those that objects may be stored in.
fn note_storage_version(object: &mut Value) {
    let mut definition = ViewMut::<CustomResourceDefinition>::new(object);
    let versions = definition.view().field(CustomResourceDefinition::SPEC).field(Spec::VERSIONS);
    let storage = versions.iter().find(|version| version.field(Version::STORAGE).get());
    let Some(name) = storage.map(|version| version.field(Version::NAME).get()) else { return };
    let status = definition.by_ref().field(CustomResourceDefinition::STATUS);
    let stored = status.field(CustomResourceDefinitionStatus::STORED_VERSIONS);
    if !stored.view().get().contains(&name) {
        push(stored, &name);
    }
}

/// What a version says here, and the same for all versions in the storage version.
const SHARED: [(&str, &str); 4] = [
    (Version::SCHEMA.name(), Spec::VALIDATION.name()),
    (Version::SUBRESOURCES.name(), Spec::SUBRESOURCES.name()),
    (Version::ADDITIONAL_PRINTER_COLUMNS.name(), Spec::ADDITIONAL_PRINTER_COLUMNS.name()),
    (Version::SELECTABLE_FIELDS.name(), Spec::SELECTABLE_FIELDS.name()),
];

/// What a webhook says here, and the conversion itself in the storage version.
const WEBHOOK: [(&str, &str); 2] = [
    (v1::WebhookConversion::CLIENT_CONFIG.name(), v1beta1::CustomResourceConversion::WEBHOOK_CLIENT_CONFIG.name()),
    (
        v1::WebhookConversion::CONVERSION_REVIEW_VERSIONS.name(),
        v1beta1::CustomResourceConversion::CONVERSION_REVIEW_VERSIONS.name(),
    ),
];

/// A column's path is spelt in two ways.
const COLUMN: [(&str, &str); 1] =
    [(v1::CustomResourceColumnDefinition::JSON_PATH.name(), v1beta1::CustomResourceColumnDefinition::JSON_PATH.name())];

fn rename_in_columns(mut spec: ViewMut<'_, Spec>, names: &[(&'static str, &'static str)]) {
    for version in spec.by_ref().field(Spec::VERSIONS).iter_mut() {
        let columns = version.field(Version::ADDITIONAL_PRINTER_COLUMNS);
        columns.iter_mut().for_each(|column| rename(column.raw(), names));
    }
}

fn to_v1beta1(object: &mut Value) {
    let mut spec = ViewMut::<CustomResourceDefinition>::new(object).field(CustomResourceDefinition::SPEC);
    rename_in_columns(spec.by_ref(), &COLUMN);
    if let Some(conversion) = spec.by_ref().field(Spec::CONVERSION).some() {
        let conversion = conversion.raw();
        unwrap_into(conversion, v1::CustomResourceConversion::WEBHOOK.name());
        rename(conversion, &WEBHOOK);
    }
    set_if_absent(&mut spec, Spec::PRESERVE_UNKNOWN_FIELDS, false);
    let versions: Vec<Value> =
        spec.view().field(Spec::VERSIONS).iter().map(|version| version.value().clone()).collect();
    let Some(first) = versions.first() else { return };
    spec.by_ref().field(Spec::VERSION).set(View::<Version>::new(first).field(Version::NAME).get());
    // What versions share may be written in several ways: a field that is false is an absent one. The first one's form is
    // kept, since rules tell empty lists from absent ones.
    let mut canonical = versions.clone();
    if canonical.len() > 1 {
        canonical.iter_mut().for_each(|version| canonicalize(Version::schema(), version));
    }
    for (of_version, of_all) in SHARED {
        let Some(value) = first.get(of_version).filter(|value| !value.is_zero() || value.as_map().is_some()) else {
            continue;
        };
        let mut forms = canonical.iter().map(|version| version.get(of_version));
        let of_first = forms.next().flatten();
        let is_shared = forms.all(|other| match (of_first, other) {
            (Some(first), Some(other)) => same(first, other),
            (first, other) => first.is_none() && other.is_none(),
        });
        if !is_shared {
            continue;
        }
        for version in spec.by_ref().field(Spec::VERSIONS).iter_mut() {
            version.raw().make_map().remove(of_version);
        }
        spec.by_ref().raw().make_map().set(of_all, value.clone());
    }
}

fn from_v1beta1(object: &mut Value) {
    let mut spec = ViewMut::<CustomResourceDefinition>::new(object).field(CustomResourceDefinition::SPEC);
    if let Some(conversion) = spec.by_ref().field(Spec::CONVERSION).some() {
        let conversion = conversion.raw();
        let mut webhook = take_entries(conversion, &WEBHOOK.map(|(_, there)| there));
        if webhook.as_map().is_some_and(|map| map.values().any(|value| !value.is_null())) {
            rename(&mut webhook, &WEBHOOK.map(|(here, there)| (there, here)));
            conversion.make_map().set(v1::CustomResourceConversion::WEBHOOK.name(), webhook);
        }
    }
    // Definitions of old may name a version without listing it.
    let only = spec.view().field(Spec::VERSION).get();
    if !only.is_empty() && spec.view().field(Spec::VERSIONS).iter().len() == 0 {
        let version = Version { name: only, served: true, storage: true, ..Default::default() };
        spec.by_ref().field(Spec::VERSIONS).set(vec![version]);
    }
    clear(&mut spec, Spec::VERSION);
    for (of_version, of_all) in SHARED {
        let Some(value) = spec.by_ref().raw().make_map().remove(of_all).filter(|value| !value.is_null()) else {
            continue;
        };
        for version in spec.by_ref().field(Spec::VERSIONS).iter_mut() {
            let slot = version.raw().make_map().entry(of_version);
            if slot.is_null() {
                *slot = value.clone();
            }
        }
    }
    rename_in_columns(spec, &COLUMN.map(|(here, there)| (there, here)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{created, round_trip};
    use pintle_schema::value;

    #[test]
    fn what_all_versions_share_moves_up() {
        let schema = |kind: &str| value!({"openAPIV3Schema": {"type": kind}});
        let definition = |first: &str, second: &str| {
            value!({"spec": {"group": "g", "conversion": {"strategy": "Webhook", "webhook": {
                    "clientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v1"]}},
                "versions": [
                    {"name": "v2", "served": true, "storage": true, "schema": (schema(first)), "subresources": {"status": {}},
                        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".a"}]},
                    {"name": "v1", "served": true, "storage": false, "schema": (schema(second)), "subresources": {"status": {}}}
            ]}})
        };
        let columns = || value!([{"name": "Size", "type": "integer", "JSONPath": ".a"}]);
        let conversion = || {
            value!({"strategy": "Webhook", "webhookClientConfig": {"url": "https://a"},
            "conversionReviewVersions": ["v1"]})
        };
        let shared = value!({"spec": {"group": "g", "version": "v2", "conversion": (conversion()),
            "validation": (schema("object")), "subresources": {"status": {}}, "preserveUnknownFields": false,
            "versions": [{"name": "v2", "served": true, "storage": true, "additionalPrinterColumns": (columns())},
                {"name": "v1", "served": true, "storage": false}]}});
        round_trip(&custom_resource_definitions(), definition("object", "object"), shared);
        let apart = value!({"spec": {"group": "g", "version": "v2", "conversion": (conversion()),
        "subresources": {"status": {}}, "preserveUnknownFields": false, "versions": [
            {"name": "v2", "served": true, "storage": true, "schema": (schema("object")), "additionalPrinterColumns": (columns())},
            {"name": "v1", "served": true, "storage": false, "schema": (schema("string"))}
        ]}});
        round_trip(&custom_resource_definitions(), definition("object", "string"), apart);
    }

    #[test]
    fn items_of_no_kind_are_found() {
        let inside = |schema: Value| value!({"spec": {"versions": [null, {"schema": {"openAPIV3Schema": (schema)}}]}});
        assert!(has_empty_items(&inside(value!({"properties": {"a": {"items": []}}}))));
        assert!(!has_empty_items(&inside(value!({"properties": {"items": {"required": []}}}))));
    }

    #[test]
    fn what_versions_share_may_be_written_in_several_ways() {
        let mut definition = value!({"spec": {"versions": [
            {"name": "v1", "schema": {"openAPIV3Schema": {"nullable": false, "type": "object", "definitions": {}}}},
            {"name": "v2", "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
        to_v1beta1(&mut definition);
        let first = value!({"openAPIV3Schema": {"nullable": false, "type": "object", "definitions": {}}});
        assert_eq!(definition.at(&["spec", "validation"]), Some(&first));
        let versions = definition.at(&["spec", "versions"]).and_then(Value::as_list).unwrap_or_default();
        assert!(versions.len() == 2 && versions.iter().all(|version| version.get("schema").is_none()));
    }

    #[test]
    fn the_storage_version_is_noted() {
        let mut definition = value!({"spec": {"versions": [{"name": "v1"}, {"name": "v2", "storage": true}]},
            "status": {"storedVersions": ["v1"]}});
        note_storage_version(&mut definition);
        note_storage_version(&mut definition);
        assert_eq!(definition.at(&["status", "storedVersions"]), Some(&value!(["v1", "v2"])));
        let made = created(&custom_resource_definitions(), definition);
        assert_eq!(made.at(&["status", "storedVersions"]), Some(&value!(["v2"])));
    }
}
