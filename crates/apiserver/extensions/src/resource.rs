//! Resources of definitions: the resource of each served version, for the table.
//!
//! Each resource owns its engine, which is dropped with it.

use crate::columns::Columns;
use crate::conversion::ConversionWebhook;
use crate::definition::text;
use crate::engine::{CustomSchema, Scale, SchemaText, UnknownFields};
use crate::finalizers;
use crate::merge_schema::meta_fields;
use pintle_discovery::catalog::compare_versions;
use pintle_discovery::etag;
use pintle_meta::autoscaling;
use pintle_resource::{
    Action, Context, Conversion, Converted, CustomKind, DefaultFunction, DefaultFunctions, DefinedBy, FieldValue,
    GENERAL, MaybeReady, OpenApiVersion, Part, Resource, ScalePaths, Selectable, Served, Storage, Strategy,
    Subresource, Verbs, WITH_STATUS,
};
use pintle_schema::{ApiType, Form, Ref, Slice, Str, Struct, Text, Value};
use pintle_validation::Validator;
use pintle_webhook::Clients;
use std::cell::LazyCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Converts between versions: by a webhook if the definition has one. Fields that the new version does not know are dropped.
struct Versions {
    engines: HashMap<String, Arc<CustomSchema>>,
    webhook: Option<ConversionWebhook>,
}

impl Conversion for Versions {
    fn convert<'a>(&'a self, objects: Vec<Value>, from: &'a str, to: &'a str) -> MaybeReady<'a, Converted> {
        match self.caller(&objects, from, to) {
            Some(webhook) => MaybeReady::wait(async move {
                let converted = webhook.convert(objects, from, to).await?;
                Ok(self.pruned(converted, to))
            }),
            None => MaybeReady::Ready(Ok(self.pruned(objects, to))),
        }
    }

    fn convert_unpruned<'a>(&'a self, objects: Vec<Value>, from: &'a str, to: &'a str) -> MaybeReady<'a, Converted> {
        match self.caller(&objects, from, to) {
            Some(webhook) => MaybeReady::wait(webhook.convert(objects, from, to)),
            None => MaybeReady::Ready(Ok(objects)),
        }
    }

    fn is_immediate(&self) -> bool {
        self.webhook.is_none()
    }
}

impl Versions {
    /// The webhook that converts these objects, if one has to.
    fn caller(&self, objects: &[Value], from: &str, to: &str) -> Option<&ConversionWebhook> {
        self.webhook.as_ref().filter(|_| from != to && !objects.is_empty())
    }

    fn pruned(&self, mut objects: Vec<Value>, to: &str) -> Vec<Value> {
        if let Some(schema) = self.engines.get(to) {
            objects.iter_mut().for_each(|object| schema.read_converted(object));
        }
        objects
    }
}

static CUSTOM: Strategy = Strategy {
    unconditional_update: false,
    prepare_create: Some(|object, _| set_generation(object, 1)),
    prepare_update: Some(count_generation),
    ..GENERAL
};

static CUSTOM_WITH_STATUS: Strategy = Strategy {
    unconditional_update: false,
    prepare_create: Some(|object, _| set_generation(object, 1)),
    prepare_update: Some(count_generation),
    ..WITH_STATUS
};

/// The objects of one version.
struct Custom {
    engine: Arc<CustomSchema>,
    list_kind: Str,
    is_terminating: bool,
    selectable: Vec<Str>,
    fingerprint: Arc<str>,
    defined_by: Arc<DefinedBy>,
}

impl CustomKind for Custom {
    fn list_kind(&self) -> &str {
        &self.list_kind
    }

    fn merge_schema(&self) -> &Struct {
        self.engine.merge_schema()
    }

    fn coerce(&self, object: &mut Value) -> Result<Vec<String>, String> {
        self.engine.coerce(object)
    }

    fn reread(&self, object: &mut Value) {
        self.engine.reread(object);
    }

    fn defined_by(&self) -> &Arc<DefinedBy> {
        &self.defined_by
    }

    fn is_terminating(&self) -> bool {
        self.is_terminating
    }

    fn openapi(&self, version: OpenApiVersion, metadata: &str) -> Value {
        self.engine.openapi(version, metadata)
    }

    fn selectable_paths(&self) -> &[Str] {
        &self.selectable
    }

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn scale_problem(&self, object: &Value) -> Option<String> {
        self.engine.scale_problem(object)
    }
}

/// Where definitions are stored.
const DEFINITIONS: &str = "/registry/apiextensions.k8s.io/customresourcedefinitions/";

/// All but the status stays.
static STATUS: Part = Part {
    keeps: &[],
    keeps_metadata: true,
    reset_fields: &[&["metadata"], &["spec"]],
    prepare: Some(keep_all_but_status),
    validated: true,
};

fn set_generation(object: &mut Value, generation: i64) {
    object.set_at(&["metadata", "generation"], generation);
}

/// Every change except of metadata counts; a strategy with a status has restored the status before.
fn count_generation(object: &mut Value, old: &Value, _: &mut Context<'_>) {
    let counted = |object: &Value| {
        let mut object = object.clone();
        let map = object.make_map();
        ["metadata", "apiVersion"].iter().for_each(|field| _ = map.remove(field));
        object.sort_keys();
        object
    };
    let generation = old.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or_default();
    let changed = counted(object) != counted(old);
    set_generation(object, generation + i64::from(changed));
}

fn keep_all_but_status(object: &mut Value, old: &Value, _: &mut Context<'_>) {
    let status = object.get("status").cloned();
    let metadata = object.get("metadata").cloned();
    let mut kept = old.clone();
    let map = kept.make_map();
    map.remove("status");
    for (field, value) in [("metadata", metadata), ("status", status)] {
        if let Some(value) = value {
            map.set(field, value);
        }
    }
    *object = kept;
}

/// The decoding schema of objects: their metadata is typed; the engine checks everything else.
fn decoded(kind: &str, description: &str) -> Struct {
    let fields = Vec::from(meta_fields());
    Struct {
        name: Text::Shared(kind.into()),
        module: Text::Static(""),
        doc: Text::Shared(description.into()),
        by_name: Slice::Static(&[0, 1, 2]),
        fields: Slice::Shared(fields.into()),
        atomic: false,
        form: Form::Plain,
        rules: Slice::Static(&[]),
        union: None,
        preserve_unknown: true,
        compiled: Default::default(),
    }
}

/// The inputs of resources: a definition whose schemas are not parsed yet.
struct Definition<'a> {
    spec: &'a Value,
    versions: &'a [Value],
}

impl<'a> Definition<'a> {
    fn of(object: &'a Value) -> Option<Self> {
        let spec = object.get("spec")?;
        Some(Definition { spec, versions: spec.get("versions").and_then(Value::as_list).unwrap_or(&[]) })
    }

    /// The schema that the versions without one of their own share.
    fn shared_schema(&self) -> Option<&'a Value> {
        schema_in(self.spec.get("validation")?)
    }
}

/// The schema inside its container.
fn schema_in(holder: &Value) -> Option<&Value> {
    holder.get("openAPIV3Schema").filter(|schema| !schema.is_null())
}

/// A version, ready to be served.
struct Version<'a> {
    of: &'a Value,
    name: &'a str,
    engine: Arc<CustomSchema>,
    /// The schema that objects are decoded with.
    decoded: Ref<Struct>,
    /// Whether the definition is being deleted.
    is_terminating: bool,
    /// Of the definition.
    fingerprint: Arc<str>,
    defined_by: Arc<DefinedBy>,
}

/// The resources of a definition in its stored form, by the names that it was given: one for each version, each with whether it is
/// served. Objects can be stored, and their fields be owned, in a version that is not. Conversion webhooks are called by `webhooks`.
pub fn resources(definition: &Value, webhooks: &Arc<Clients>) -> Vec<(Arc<Resource>, bool)> {
    let Some(of) = Definition::of(definition) else { return Vec::new() };
    let names = definition.at(&["status", "acceptedNames"]).cloned().unwrap_or_default();
    let kind = text(&names, "kind");
    let flag = |version: &Value, name: &str| version.get(name).and_then(Value::as_bool).unwrap_or_default();
    let Some(stored) = of.versions.iter().find(|version| flag(version, "storage")) else { return Vec::new() };
    let stored = text(stored, "name");
    let webhook = of.spec.get("conversion").filter(|conversion| text(conversion, "strategy") == "Webhook");
    let of_name = definition.str_at(&["metadata", "name"]);
    let webhook = webhook.map(|conversion| ConversionWebhook::of(of_name, conversion, webhooks));
    let mut defined = pintle_codec::json::to_vec(of.spec);
    pintle_codec::json::encode(&names, &mut defined);
    let fingerprint: Arc<str> = etag(&defined).into();
    let is_terminating = !definition.str_at(&["metadata", "deletionTimestamp"]).is_empty();
    let key = format!("{DEFINITIONS}{of_name}");
    let revision = definition.str_at(&["metadata", "resourceVersion"]).parse().unwrap_or_default();
    let defined_by = Arc::new(DefinedBy::new(key, revision));
    let unknown = match of.spec.get("preserveUnknownFields").and_then(Value::as_bool) {
        Some(true) => UnknownFields::Kept,
        Some(false) | None => UnknownFields::Dropped,
    };
    let shared = LazyCell::new(|| Arc::new(of.shared_schema().map(SchemaText::of).unwrap_or_default()));
    let versions: Vec<Version<'_>> = of
        .versions
        .iter()
        .map(|version| {
            let name = text(version, "name");
            let own = version.get("schema").filter(|holder| !holder.is_null());
            let (schema, read) = match own.map(schema_in) {
                Some(own) => (Arc::new(own.map(SchemaText::of).unwrap_or_default()), own),
                None => (shared.clone(), of.shared_schema()),
            };
            let description = read.map(|schema| text(schema, "description")).unwrap_or_default();
            let decoded = Ref::Shared(Arc::new(decoded(kind, description)));
            let engine = Arc::new(CustomSchema::new(schema, scale_of(&of, version), unknown));
            let (fingerprint, defined_by) = (fingerprint.clone(), defined_by.clone());
            Version { of: version, name, engine, decoded, is_terminating, fingerprint, defined_by }
        })
        .collect();
    let group = text(of.spec, "group");
    let engines = versions.iter().map(|version| (format!("{group}/{}", version.name), version.engine.clone()));
    let conversion: Arc<dyn Conversion> = Arc::new(Versions { engines: engines.collect(), webhook });
    let Some(storage) = versions.iter().find(|version| version.name == stored) else { return Vec::new() };
    let made = |version| Arc::new(resource(&of, version, storage, &conversion, &names));
    versions.iter().map(|version| (made(version), flag(version.of, "served"))).collect()
}

/// A part of a version, or the common part of all versions.
fn part<'a>(definition: &Definition<'a>, version: &'a Value, name: &str) -> Option<&'a Value> {
    version.get(name).or(definition.spec.get(name)).filter(|part| !part.is_null())
}

fn resource(
    definition: &Definition<'_>,
    version: &Version<'_>,
    stored: &Version<'_>,
    conversion: &Arc<dyn Conversion>,
    names: &Value,
) -> Resource {
    let spec = definition.spec;
    let texts = |name: &str| -> Vec<Str> {
        let list = names.get(name).and_then(Value::as_list).unwrap_or(&[]);
        list.iter().filter_map(Value::as_str).map(Str::new).collect()
    };
    let (group, name) = (text(spec, "group"), version.name);
    let (plural, kind) = (text(names, "plural"), text(names, "kind"));
    let subresources = part(definition, version.of, "subresources");
    let scale = scale_of(definition, version.of);
    let has_status = subresources.and_then(|of| of.get("status")).is_some_and(|status| !status.is_null());
    let decoded = &version.decoded;
    let columns = part(definition, version.of, "additionalPrinterColumns");
    let mut all = Vec::new();
    if has_status {
        all.push(Subresource {
            name: "status".into(),
            kind: kind.into(),
            group_version: None,
            verbs: Verbs::PART,
            action: Action::Part(&STATUS),
            schema: Some(decoded.clone()),
        });
    }
    if let Some(scale) = &scale {
        all.push(Subresource {
            name: "scale".into(),
            kind: "Scale".into(),
            group_version: Some(("autoscaling".into(), "v1".into())),
            verbs: Verbs::PART,
            action: Action::Scale(scale_paths(scale)),
            schema: Some(Ref::Static(autoscaling::v1::Scale::schema)),
        });
    }
    let selectable = part(definition, version.of, "selectableFields").and_then(Value::as_list).unwrap_or(&[]);
    let complete = |version: &Version<'_>| {
        let engine = version.engine.clone();
        DefaultFunction::Shared(Arc::new(move |object: &mut Value| engine.complete(object)))
    };
    let mut completed = vec![(&**decoded, complete(version))];
    if name != stored.name {
        completed.push((&*stored.decoded, complete(stored)));
    }
    let defaults = DefaultFunctions::new(completed);
    let namespaced = text(spec, "scope") == "Namespaced";
    Resource {
        group: group.into(),
        version: name.into(),
        plural: plural.into(),
        singular: text(names, "singular").into(),
        kind: kind.into(),
        namespaced,
        verbs: Verbs::ALL,
        short_names: texts("shortNames"),
        categories: texts("categories"),
        storage: Some(Storage {
            prefix: format!("/registry/{group}/{plural}/").into(),
            api_version: format!("{group}/{}", stored.name).into(),
            kind: kind.into(),
            schema: stored.decoded.clone(),
            json: true,
            conversion: (name != stored.name).then(|| conversion.clone()),
            default_after_conversion: false,
            kept_as: None,
        }),
        schema: decoded.clone(),
        served: Served::ByDefault,
        introduced: 0,
        removed: 0,
        subresources: all,
        selectable: selectable.iter().map(|field| selectable_of(text(field, "jsonPath"))).collect(),
        selector_refusal: "field label not supported: {label}".into(),
        unserved: Vec::new(),
        defaults: Arc::new(defaults),
        printer: Arc::new(Columns::new(columns.and_then(Value::as_list).unwrap_or(&[]))),
        hidden_annotations: &[],
        rules: Arc::new(Validator::of_object(version.engine.clone())),
        warn: Some(finalizers::warn),
        strategy: if has_status { &CUSTOM_WITH_STATUS } else { &CUSTOM },
        ttl_seconds: 0,
        deprecation: deprecation(definition, version.of, name, kind),
        custom: Some(Arc::new(Custom {
            engine: version.engine.clone(),
            list_kind: text(names, "listKind").into(),
            is_terminating: version.is_terminating,
            selectable: selectable.iter().map(|field| text(field, "jsonPath").trim_start_matches('.').into()).collect(),
            fingerprint: version.fingerprint.clone(),
            defined_by: version.defined_by.clone(),
        })),
    }
}

fn scale_of(definition: &Definition<'_>, version: &Value) -> Option<Scale> {
    let scale = part(definition, version, "subresources")?.get("scale").filter(|scale| !scale.is_null())?;
    Some(Scale {
        spec_replicas: text(scale, "specReplicasPath").to_owned(),
        status_replicas: text(scale, "statusReplicasPath").to_owned(),
        selector: Some(text(scale, "labelSelectorPath")).filter(|path| !path.is_empty()).map(str::to_owned),
    })
}

fn scale_paths(scale: &Scale) -> ScalePaths {
    let steps = |path: &str| -> Vec<Str> { Scale::steps(path).into_iter().map(Str::new).collect() };
    ScalePaths {
        spec_replicas: steps(&scale.spec_replicas),
        status_replicas: steps(&scale.status_replicas),
        // Metadata has no such field, so an unnamed selector is never shown.
        selector: scale.selector.as_deref().map_or_else(|| vec!["metadata".into(), "selector".into()], steps),
    }
}

fn selectable_of(path: &str) -> Selectable {
    let steps = Scale::steps(path).into_iter().map(Str::new).collect();
    let label = path.strip_prefix('.').unwrap_or(path).into();
    Selectable { label, value: FieldValue::Path(steps), indexed: false }
}

/// The warning of a deprecated version; by default it names the highest version that is served instead.
fn deprecation(definition: &Definition<'_>, version: &Value, name: &str, kind: &str) -> Str {
    let flag = |version: &Value, name: &str| version.get(name).and_then(Value::as_bool).unwrap_or_default();
    if !flag(version, "deprecated") {
        return Str::default();
    }
    if let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) {
        return warning.into();
    }
    let group = text(definition.spec, "group");
    let others = definition.versions.iter().filter(|other| flag(other, "served") && !flag(other, "deprecated"));
    let later = others.map(|other| text(other, "name")).filter(|other| compare_versions(other, name).is_lt());
    match later.min_by(|a, b| compare_versions(a, b)) {
        Some(later) => format!("{group}/{name} {kind} is deprecated; use {group}/{later} {kind}").into(),
        None => format!("{group}/{name} {kind} is deprecated").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_codec::{Strictness, json};
    use pintle_schema::value;

    #[test]
    fn each_served_version_is_a_resource() {
        let names = value!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList",
            "shortNames": ["w"], "categories": []});
        let mut definition = value!({"spec": {"group": "g.example.com", "scope": "Namespaced", "names": (names.clone()),
                "validation": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
                    "properties": {"size": {"type": "integer", "default": 3}}}}}},
                "versions": [
                    {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}, "scale": {
                        "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
                        "selectableFields": [{"jsonPath": ".spec.color"}]},
                    {"name": "v1beta1", "served": true, "deprecated": true},
                    {"name": "v1alpha1"}]},
            "status": {"acceptedNames": (names)}});
        let made = resources(&definition, &Arc::default());
        let [(v1, true), (v1beta1, true), (_, false)] = made.as_slice() else { panic!("two versions are served") };
        assert_eq!(
            (v1.api_version().as_str(), v1beta1.api_version().as_str()),
            ("g.example.com/v1", "g.example.com/v1beta1")
        );
        let deprecation = "g.example.com/v1beta1 Widget is deprecated; use g.example.com/v1 Widget";
        assert_eq!(v1beta1.deprecation, deprecation);
        assert_eq!(v1.subresources.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["status", "scale"]);
        assert_eq!((v1.selectable[0].label.as_str(), &*v1.list_kind()), ("spec.color", "WidgetList"));
        let storage = v1beta1.storage.as_ref().map(|of| (of.prefix.as_str(), of.api_version.as_str()));
        assert_eq!(storage, Some(("/registry/g.example.com/widgets/", "g.example.com/v1")));
        let mut object = value!({"spec": {"other": 1}});
        v1.default(&mut object, 0);
        assert_eq!(object, value!({"spec": {"size": 3}}));
        definition.set_at(&["spec", "conversion", "strategy"], "Webhook");
        assert_eq!(resources(&definition, &Arc::default()).len(), 3);
        let versions = value!([{"name": "v1", "served": false, "storage": true}, {"name": "v2", "served": true}]);
        definition.set_at(&["spec", "versions"], versions);
        definition.set_at(&["spec", "conversion", "strategy"], "None");
        let served: Vec<bool> =
            resources(&definition, &Arc::default()).iter().map(|(_, is_served)| *is_served).collect();
        assert_eq!(served, [false, true], "the storage version is needed, though nobody sees it");
    }

    #[test]
    fn metadata_is_decoded_by_itself() {
        let schema = decoded("Wide", "");
        for (text, wanted) in [
            (r#"{"metadata":"x"}"#, "string into Go value of type v1.ObjectMeta"),
            (r#"{"metadata":{"labels":{"a":5}}}"#, "number into Go struct field ObjectMeta.labels of type string"),
            (
                r#"{"metadata":{"ownerReferences":[{"uid":5}]}}"#,
                "number into Go struct field OwnerReference.ownerReferences.uid of type types.UID",
            ),
        ] {
            let refused = json::decode(&schema, text.as_bytes(), Strictness::Ignore);
            let wanted = format!("json: cannot unmarshal {wanted}");
            assert_eq!(refused.map(|_| ()).map_err(|error| error.to_string()), Err(wanted));
        }
    }

    #[test]
    fn patched_objects_have_no_spelling_of_numbers() {
        let text = br#"{"spec":{"a":3.0,"b":[{"c":1e2}]}}"#;
        let tree = json::parse_spelled(text, Strictness::Ignore).expect("JSON").value;
        let object = json::conform_json(&decoded("Wide", ""), tree, Strictness::Ignore).expect("valid").value;
        assert_eq!(Some(&object), json::parse(text, Strictness::Ignore).ok().map(|parsed| parsed.value).as_ref());
    }

    #[test]
    fn generations_count_changes_outside_metadata() {
        let old = value!({"apiVersion": "g/v1", "metadata": {"generation": 4}, "spec": {"a": 1}});
        for (changed, generation) in [(value!({"a": 1}), 4), (value!({"a": 2}), 5)] {
            let mut new = value!({"apiVersion": "g/v2", "metadata": {"generation": 9, "labels": {"a": "b"}}});
            new.set_at(&["spec"], changed);
            let counted = |object: &Value| object.at(&["metadata", "generation"]).and_then(Value::as_i64);
            let mut warnings = Vec::new();
            struct Outside;
            impl pintle_resource::StrategyEnvironment for Outside {
                fn enabled(&self, _: &pintle_schema::Gate) -> bool {
                    false
                }
                fn new_uid(&self) -> String {
                    String::new()
                }
            }
            let mut context = Context {
                now_unix: 0,
                user: "",
                user_uid: "",
                groups: &[],
                extra: &[],
                environment: &Outside,
                sent_labels: false,
                warnings: &mut warnings,
            };
            count_generation(&mut new, &old, &mut context);
            assert_eq!(counted(&new), Some(generation));
        }
    }
}
