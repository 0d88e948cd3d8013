//! Validation of a definition's `spec` except schemas: names, versions, subresources, columns, selectable fields, conversion.

use super::{Definition, Options, schema, text, unusable_authorities};
use crate::json_schema::JsonSchema;
use crate::{field_path, shown, structural};
use pintle_cel::library::url::check as check_url;
use pintle_schema::{Value, names};
use pintle_validation::{ErrorList, FieldPath, same, webhook_client};
use std::collections::HashSet;

/// The most fields of one version that selectors may name.
const MAX_SELECTABLE: usize = 8;

static NULL: Value = Value::Null;

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_list).unwrap_or(&[])
}

fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or_default()
}

fn present<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).filter(|value| !value.is_null())
}

fn has_status(subresources: Option<&Value>) -> bool {
    subresources.and_then(|of| present(of, "status")).is_some()
}

pub(super) fn validate(
    definition: &Definition<'_>,
    options: &mut Options,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    let spec = definition.spec;
    group(text(spec, "group"), &path.child("group"), errors);
    one_of(text(spec, "scope"), &["Cluster", "Namespaced"], &path.child("scope"), errors);
    let prunes = !definition.preserves_unknown();
    options.require_structural |= prunes;
    schemas_are_there(definition, options, prunes, path, errors);
    if definition.any(|schema| schema.default.is_some()) {
        options.require_structural = true;
        if !prunes {
            let detail = "must be false in order to use defaults in the schema";
            errors.invalid(path.child("preserveUnknownFields"), true, detail);
        }
    }
    options.require_structural |= definition.any(|schema| {
        schema.embedded_resource
            || schema.preserve_unknown.is_some()
            || schema.int_or_string
            || !schema.list_map_keys.is_empty()
            || schema.list_type.is_some()
            || !schema.validations.is_empty()
    });
    versions(definition, options, path, errors);
    all_names(spec, path, errors);
    let shared = definition.shared.as_ref().and_then(Option::as_ref);
    let any_status = has_status(present(spec, "subresources"))
        || definition.versions.iter().any(|(version, _)| has_status(present(version, "subresources")));
    options.is_stored_schema = options.stored_versions.contains(text(spec, "version"));
    schema::validate(shared, any_status, options, &path.child("validation"), errors);
    subresources(present(spec, "subresources"), &path.child("subresources"), errors);
    columns(spec, path, errors);
    if !list(spec, "selectableFields").is_empty() {
        if definition.shared.is_none() {
            let detail = "may only be set when validations.schema is included";
            errors.invalid(path.child("selectableFields"), "", detail);
        } else {
            selectable(spec, shared, "", options, path, &path.child("schema.openAPIV3Schema"), errors);
        }
    }
    let conversion_path = path.child("conversion");
    let conversion_of = present(spec, "conversion");
    if let Some(strategy) = conversion_of.map(|of| text(of, "strategy")).filter(|of| !prunes && *of != "None") {
        let detail = "must be None if spec.preserveUnknownFields is true";
        errors.invalid(conversion_path.child("strategy"), strategy, detail);
    }
    if let Some(of) = conversion_of {
        conversion(of, options, &conversion_path, errors);
    }
}

/// Validates immutable fields.
pub(super) fn validate_update(
    new: &Definition<'_>,
    old: &Definition<'_>,
    is_established: bool,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    let names = path.child("names");
    let mut kept = |path: FieldPath<'_>, at: &[&str]| {
        let (new, old) = (new.spec.str_at(at), old.spec.str_at(at));
        if new != old {
            errors.immutable(path, new);
        }
    };
    if is_established {
        kept(path.child("scope"), &["scope"]);
        kept(names.child("kind"), &["names", "kind"]);
    }
    kept(path.child("group"), &["group"]);
    kept(names.child("plural"), &["names", "plural"]);
}

fn group(group: &str, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let faults = names::dns1123_subdomain(group);
    if group.is_empty() {
        errors.required(path, "");
    } else if !faults.is_empty() {
        errors.invalid(path, group, faults.join(","));
    } else if !group.contains('.') {
        errors.invalid(path, group, "should be a domain with at least one dot");
    }
}

fn one_of(value: &str, allowed: &[&str], path: &FieldPath<'_>, errors: &mut ErrorList) {
    if value.is_empty() {
        errors.required(path, "");
    } else if !allowed.contains(&value) {
        errors.not_supported(path, value, allowed);
    }
}

fn schemas_are_there(
    definition: &Definition<'_>,
    options: &Options,
    prunes: bool,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    if matches!(definition.shared, Some(Some(_))) || !(options.require_schema || prunes) {
        return;
    }
    let all = path.child("versions");
    for (at, (version, schema)) in definition.versions.iter().enumerate() {
        if matches!(schema, Some(Some(_))) {
            continue;
        }
        let version_path = all.index(at);
        let schema = version_path.child("schema");
        if options.require_schema {
            errors.required(schema.child("openAPIV3Schema"), "");
        } else if flag(version, "served") {
            errors.required(schema.child("openAPIV3Schema"), "because otherwise all fields are pruned");
        }
    }
}

fn versions(definition: &Definition<'_>, options: &mut Options, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let spec = definition.spec;
    let all = path.child("versions");
    let mut known = HashSet::new();
    let mut unique = true;
    let own_subresources = definition.versions.iter().any(|(version, _)| present(version, "subresources").is_some());
    for (at, (version, schema)) in definition.versions.iter().enumerate() {
        let (path, name) = (all.index(at), text(version, "name"));
        unique &= known.insert(name);
        let faults = names::dns1035_label(name);
        if !faults.is_empty() {
            errors.invalid(path.child("name"), name, faults.join(","));
        }
        // As kube-apiserver, where two versions have one name: the first one's.
        let first = definition.versions.iter().find(|(other, _)| text(other, "name") == name);
        let of = if own_subresources { first.map_or(*version, |(first, _)| first) } else { spec };
        let has_status = has_status(present(of, "subresources"));
        self::version(version, schema.as_ref(), has_status, options, &path, errors);
    }
    options.is_stored_schema = false;
    shared_and_own(definition, path, errors);
    let shown = || shown_versions(definition);
    if !unique {
        errors.invalid(all, shown(), "must contain unique version names");
    }
    let stored = definition.versions.iter().filter(|(version, _)| flag(version, "storage")).count();
    if stored != 1 {
        errors.invalid(all, shown(), "must have exactly one version marked as storage version");
    }
    let version = text(spec, "version");
    if !version.is_empty() {
        let faults = names::dns1035_label(version);
        if !faults.is_empty() {
            errors.invalid(path.child("version"), version, faults.join(","));
        }
        if definition.versions.first().is_some_and(|(first, _)| text(first, "name") != version) {
            errors.invalid(path.child("version"), version, "must match the first version in spec.versions");
        }
    }
}

/// A common part and parts of versions exclude each other, and equal parts of all versions must be a common part.
fn shared_and_own(definition: &Definition<'_>, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let spec = definition.spec;
    let parts = [
        ("schema", "validation", "schemas", "validation"),
        ("subresources", "subresources", "subresources", "subresources"),
        (
            "additionalPrinterColumns",
            "additionalPrinterColumns",
            "additionalPrinterColumns",
            "additionalPrinterColumns",
        ),
    ];
    let is_set = |value: &&Value| !matches!(value, Value::List(items) if items.is_empty());
    let own = |version: &Value, name: &str| present(version, name).filter(is_set).cloned();
    for (of_version, of_all, words, _) in parts {
        let has_own = definition.versions.iter().any(|(version, _)| own(version, of_version).is_some());
        if has_own && present(spec, of_all).filter(is_set).is_some() {
            let detail = format!("top-level and per-version {words} are mutually exclusive");
            errors.forbidden(path.child(of_all), detail);
        }
    }
    for (of_version, _, words, top) in parts {
        let mut all = definition.versions.iter().map(|(version, _)| own(version, of_version));
        let Some(Some(first)) = all.next() else { continue };
        if all.all(|other| other.is_some_and(|other| same(&other, &first))) {
            let detail = format!(
                "per-version {words} may not all be set to identical values (top-level {top} should be used instead)"
            );
            errors.invalid(path.child("versions"), shown_versions(definition), detail);
        }
    }
}

fn version(
    version: &Value,
    schema: Option<&Option<JsonSchema>>,
    has_status: bool,
    options: &mut Options,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    deprecation(version, &path.child("deprecationWarning"), errors);
    let name = text(version, "name");
    options.is_stored_schema = options.stored_versions.contains(name);
    let schema = schema.and_then(Option::as_ref);
    schema::validate(schema, has_status, options, &path.child("schema"), errors);
    subresources(present(version, "subresources"), &path.child("subresources"), errors);
    columns(version, path, errors);
    if list(version, "selectableFields").is_empty() {
        return;
    }
    match schema {
        Some(schema) => {
            let at = path.child("schema.openAPIV3Schema");
            selectable(version, Some(schema), name, options, path, &at, errors);
        }
        None => {
            let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
            errors.invalid(path.child("selectableFields"), "", detail);
        }
    }
}

fn deprecation(version: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else { return };
    if !flag(version, "deprecated") {
        return errors.invalid(path, warning, "can only be set for deprecated versions");
    }
    if warning.len() > 256 {
        errors.invalid(path, warning, "must be <= 256 characters long");
    }
    if warning.is_empty() {
        errors.invalid(path, warning, "must not be an empty string");
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, letter)| !names::is_printable(*letter)) {
        let detail =
            format!("must only contain printable UTF-8 characters; non-printable character found at index {at}");
        errors.invalid(path, warning, detail);
    }
}

fn all_names(spec: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let of = spec.get("names").unwrap_or(&NULL);
    let path = path.child("names");
    for name in ["plural", "singular", "kind", "listKind"] {
        if text(of, name).is_empty() {
            errors.required(path.child(name), "");
        }
    }
    names(of, &path, errors);
}

/// The names of a resource, where they are given.
pub(super) fn names(of: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let mut check = |path: FieldPath<'_>, name: &str, text: &str, prefix: &str| {
        let faults = names::dns1035_label(text);
        if !faults.is_empty() {
            errors.invalid(path, name, format!("{prefix}{}", faults.join(",")));
        }
    };
    for field in ["plural", "singular"] {
        let name = text(of, field);
        if !name.is_empty() {
            check(path.child(field), name, name, "");
        }
    }
    for field in ["kind", "listKind"] {
        let name = text(of, field);
        if !name.is_empty() {
            let prefix = "may have mixed case, but should otherwise match: ";
            check(path.child(field), name, &name.to_lowercase(), prefix);
        }
    }
    let texts = |field: &'static str| list(of, field).iter().map(|name| name.as_str().unwrap_or_default()).enumerate();
    let short = path.child("shortNames");
    texts("shortNames").for_each(|(at, name)| check(short.index(at), name, name, ""));
    let kind = text(of, "kind");
    if !kind.is_empty() && kind == text(of, "listKind") {
        errors.invalid(path.child("listKind"), kind, "kind and listKind may not be the same");
    }
    let categories = path.child("categories");
    for (at, name) in texts("categories") {
        let faults = names::dns1035_label(name);
        if !faults.is_empty() {
            errors.invalid(categories.index(at), name, faults.join(","));
        }
    }
}

fn subresources(of: Option<&Value>, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let Some(scale) = of.and_then(|of| present(of, "scale")) else { return };
    for (field, full, prefix, required) in [
        ("specReplicasPath", "scale.specReplicasPath", &[".spec."][..], true),
        ("statusReplicasPath", "scale.statusReplicasPath", &[".status."], true),
        ("labelSelectorPath", "scale.labelSelectorPath", &[".spec.", ".status."], false),
    ] {
        let (path, value) = (path.child(full), text(scale, field));
        if value.is_empty() {
            if required {
                errors.required(path, "");
            }
        } else if !simple_path(value, &path, errors) && !prefix.iter().any(|prefix| value.starts_with(prefix)) {
            let detail = match prefix {
                [one] => format!("should be a json path under {}", one.trim_end_matches('.')),
                _ => "should be a json path under either .spec or .status".to_owned(),
            };
            errors.invalid(path, value, detail);
        }
    }
}

/// Whether a path is wrong, which is reported.
fn simple_path(value: &str, path: &FieldPath<'_>, errors: &mut ErrorList) -> bool {
    let wrong = !value.starts_with('.');
    if wrong {
        errors.invalid(path, value, "must be a simple json path starting with .");
    }
    wrong
}

fn columns(of: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    let all = path.child("additionalPrinterColumns");
    for (at, column) in list(of, "additionalPrinterColumns").iter().enumerate() {
        let path = all.index(at);
        if text(column, "name").is_empty() {
            errors.required(path.child("name"), "");
        }
        let (kind, format, json_path) = (text(column, "type"), text(column, "format"), text(column, "JSONPath"));
        let detail = || format!("must be one of {}", TYPES.join(","));
        if kind.is_empty() {
            errors.required(path.child("type"), detail());
        } else if !TYPES.contains(&kind) {
            errors.invalid(path.child("type"), kind, detail());
        }
        if !format.is_empty() && !FORMATS.contains(&format) {
            errors.invalid(path.child("format"), format, format!("must be one of {}", FORMATS.join(",")));
        }
        let path = path.child("JSONPath");
        if json_path.is_empty() {
            errors.required(path, "");
        } else {
            simple_path(json_path, &path, errors);
        }
    }
}

fn selectable(
    of: &Value,
    schema: Option<&JsonSchema>,
    version: &str,
    options: &Options,
    path: &FieldPath<'_>,
    schema_path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    let all = path.child("selectableFields");
    let empty = JsonSchema::default();
    let schema = schema.unwrap_or(&empty);
    if let Err(reason) = structural::convertible(schema) {
        errors.invalid(schema_path, "", reason);
    }
    let mut known = HashSet::new();
    for (at, field) in list(of, "selectableFields").iter().enumerate() {
        let item = all.index(at);
        let (path, json_path) = (item.child("jsonPath"), text(field, "jsonPath"));
        if json_path.is_empty() {
            errors.required(path, "");
            continue;
        }
        let field_path::Found { names, schema: found, .. } = match field_path::find(json_path, schema, false) {
            Ok(found) => found,
            Err(reason) => {
                errors.invalid(path, json_path, format!("is an invalid path: {reason}"));
                continue;
            }
        };
        if names.first().is_some_and(|first| first == "metadata") {
            errors.invalid(path, json_path, "must not point to fields in metadata");
        }
        if !found.is_some_and(|found| matches!(found.kind.as_str(), "string" | "boolean" | "integer")) {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                          formats are allowed.";
            errors.invalid(path, json_path, detail);
        }
        if !known.insert(names) {
            errors.duplicate(path, json_path);
        }
    }
    if known.len() > MAX_SELECTABLE && !options.many_selectable.contains(version) {
        errors.too_many(all, known.len(), MAX_SELECTABLE);
    }
}

/// Versions, "" for all, that have as many selectable fields as before, though these are too many.
pub(super) fn with_many_selectable(new: &Value, old: &Value) -> HashSet<String> {
    let is_kept = |new: &Value, old: &Value| {
        let fields = list(old, "selectableFields");
        fields.len() > MAX_SELECTABLE && fields == list(new, "selectableFields")
    };
    let of_version = |new: &Value| {
        let name = text(new, "name");
        let old = list(old, "versions").iter().rev().find(|old| text(old, "name") == name)?;
        is_kept(new, old).then(|| name.to_owned())
    };
    let shared = is_kept(new, old).then(String::new);
    shared.into_iter().chain(list(new, "versions").iter().filter_map(of_version)).collect()
}

/// The versions as messages show them: a list that was sent without any is no missing one.
fn shown_versions(definition: &Definition<'_>) -> Value {
    match shown::versions(definition.spec) {
        Value::Null if definition.sent_no_versions => Value::List(Vec::new()),
        shown => shown,
    }
}

/// The versions of reviews that a conversion webhook takes.
pub(super) fn review_versions(spec: &Value) -> Vec<&str> {
    let conversion = spec.get("conversion").unwrap_or(&NULL);
    list(conversion, "conversionReviewVersions").iter().filter_map(Value::as_str).collect()
}

pub(super) fn is_known_review(version: &str) -> bool {
    matches!(version, "v1" | "v1beta1")
}

fn conversion(of: &Value, options: &Options, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let strategy = text(of, "strategy");
    one_of(strategy, &["None", "Webhook"], &path.child("strategy"), errors);
    let (client, reviews) = (path.child("webhookClientConfig"), path.child("conversionReviewVersions"));
    let config = present(of, "webhookClientConfig");
    if strategy != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        if config.is_some() {
            errors.forbidden(client, detail);
        }
        if !list(of, "conversionReviewVersions").is_empty() {
            errors.forbidden(reviews, detail);
        }
        return;
    }
    match config {
        None => errors.required(client, "required when strategy is set to Webhook"),
        Some(config) => webhook(config, options, &client, errors),
    }
    conversion_reviews(of, options, &reviews, errors);
}

fn webhook(config: &Value, options: &Options, client: &FieldPath<'_>, errors: &mut ErrorList) {
    match (present(config, "url"), present(config, "service")) {
        (Some(url), None) => {
            let url = url.as_str().unwrap_or_default();
            webhook_client::url(url, check_url(url), &client.child("url"), errors);
        }
        (None, Some(service)) => {
            let of = webhook_client::Service {
                namespace: text(service, "namespace"),
                name: text(service, "name"),
                port: service.get("port").and_then(Value::as_i64).unwrap_or(443),
                path: service.get("path").and_then(Value::as_str),
            };
            webhook_client::service(&of, &client.child("service"), errors);
        }
        _ => errors.required(client, "exactly one of url or service is required"),
    }
    let bundle = text(config, "caBundle");
    if let Some(why) = unusable_authorities(bundle).filter(|_| !options.allow_unusable_authorities) {
        errors.invalid(client.child("caBundle"), bundle, why);
    }
}

fn conversion_reviews(of: &Value, options: &Options, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let all = list(of, "conversionReviewVersions");
    if all.is_empty() {
        return errors.required(path, "");
    }
    let mut known = HashSet::new();
    let mut accepted = false;
    for (at, version) in all.iter().enumerate() {
        let name = version.as_str().unwrap_or_default();
        if !known.insert(name) {
            errors.invalid(path.index(at), name, "duplicate version");
            continue;
        }
        errors.invalid_each(path.index(at), version, names::dns1035_label(name));
        accepted |= is_known_review(name);
    }
    if options.require_recognized_review && !accepted {
        errors.invalid(path, Value::List(all.to_vec()), "must include at least one of v1, v1beta1");
    }
}
