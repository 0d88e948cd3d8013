//! OpenAPI version 3: an index, and a document for each group version.
//!
//! A document is written path by path and type by type, and defines everything that it refers to. With gates it contains
//! validation rules as well.

use super::cel::EnabledRules;
use super::common_kinds::CommonKinds;
use super::definitions::{Definitions, Kind};
use super::operation::{Operation, PRETTY, Parameters, UNAUTHORIZED};
use super::routes::{Address, Routes, addresses};
use super::schema::Schemas;
use super::{Dialect, GROUP_VERSION_KIND, bearer_token, gnostic_v3, group_version_kind, names, push};
use crate::catalog::{Catalog, DiscoveredResource, VersionEntry};
use crate::document::etag;
use pintle_schema::{GateSet, Map, Str, Value, value};
use std::cell::LazyCell;
use std::collections::HashMap;

/// `/openapi/v3`: where each document is. The addresses carry a hash of the documents, so that clients may keep them.
///
/// `hash_of` gives the hash of a document that is not of custom resources, from an earlier index or by the function that it
/// is given, which makes the document.
pub fn index(
    catalog: &Catalog,
    rules: Option<&GateSet>,
    hash_of: &mut dyn FnMut(&str, &dyn Fn() -> String) -> String,
) -> Vec<u8> {
    let asked = if rules.is_some() { "&rules=true" } else { "" };
    // Of ten thousand custom groups each would list all others again.
    let shared = LazyCell::new(|| shared_by_custom(catalog));
    let paths = addresses(catalog).into_iter().map(|(path, address, version)| {
        let hash = match version.filter(|entry| entry.is_custom()) {
            Some(entry) => custom_hash(entry, &shared),
            None => hash_of(&path, &|| etag(&write(catalog, &address, rules))),
        };
        let url = format!("/openapi/v3/{path}?hash={hash}{asked}");
        (Str::from(path), value!({ "serverRelativeURL": url }))
    });
    crate::document::to_json(&value!({ "paths": (Value::Map(paths.collect())) }))
}

/// The index with the documents of extension servers: the path of each, and where it is. They take the place of those of the same path.
pub fn index_with(index: &[u8], others: &[(String, String)]) -> Option<Vec<u8>> {
    let mut index = pintle_codec::json::parse(index, pintle_codec::Strictness::Ignore).ok()?.value;
    let paths = index.get_mut("paths")?.as_map_mut()?.entries_mut();
    for (path, url) in others {
        let at = paths.partition_point(|(known, _)| known.as_str() < path.as_str());
        let address = value!({ "serverRelativeURL": (url.as_str()) });
        match paths.get_mut(at).filter(|(known, _)| known.as_str() == path) {
            Some((_, known)) => *known = address,
            None => paths.insert(at, (Str::from(path.as_str()), address)),
        }
    }
    Some(crate::document::to_json(&index))
}

/// The hash of a version with custom resources only: that of their definitions and verbs, and of what all such documents
/// share, so that no document is generated for it.
fn custom_hash(entry: &VersionEntry, shared: &str) -> String {
    let mut content = entry.name.as_bytes().to_vec();
    for resource in &entry.resources {
        if let Some(custom) = &resource.custom {
            content.extend_from_slice(custom.fingerprint().as_bytes());
        }
        content.extend_from_slice(resource.verbs.join(",").as_bytes());
    }
    content.extend_from_slice(shared.as_bytes());
    etag(&content)
}

/// A hash of what documents of custom resources show besides their definitions.
fn shared_by_custom(catalog: &Catalog) -> String {
    let versions = CommonKinds::OfCustom(catalog).group_versions();
    let versions: Vec<String> = versions.iter().map(|(group, version)| format!("{group}/{version}")).collect();
    etag(versions.join(",").as_bytes())
}

/// The ETag of a document of custom resources, for which it need not be made; `None` for any other.
pub fn custom_etag(catalog: &Catalog, path: &str) -> Option<String> {
    let (group, version) = path.trim_matches('/').strip_prefix("apis/")?.split_once('/')?;
    let entry = catalog.version(group, version).filter(|entry| entry.is_custom())?;
    Some(custom_hash(entry, &shared_by_custom(catalog)))
}

/// The document at a path below `/openapi/v3/`, such as `apis/apps/v1`; `None` when there is none.
pub fn document(catalog: &Catalog, path: &str, rules: Option<&GateSet>) -> Option<Vec<u8>> {
    let path = path.trim_matches('/');
    let (_, address, _) = addresses(catalog).into_iter().find(|(known, ..)| known == path)?;
    Some(write(catalog, &address, rules))
}

/// The media type of documents in protobuf.
pub const PROTOBUF_MEDIA_TYPE: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

/// A document in protobuf; `None` when it is no JSON.
pub fn protobuf(document: &[u8]) -> Option<Vec<u8>> {
    let parsed = pintle_codec::json::parse(document, pintle_codec::Strictness::Ignore).ok()?;
    Some(gnostic_v3::document(&parsed.value))
}

/// The document of a group version as JSON; `None` when it is not served.
pub fn group_version(catalog: &Catalog, group: &str, version: &str) -> Option<Vec<u8>> {
    catalog.version(group, version)?;
    Some(write(catalog, &Address::GroupVersion(Str::new(group), Str::new(version)), None))
}

/// The schema of a resource's objects without references: each is replaced by what it refers to, but one to a type that
/// it stands in, which is an object without fields.
pub fn resolved_schema(resource: &DiscoveredResource) -> Value {
    let kind = Kind { group: resource.group.clone(), version: resource.version.clone(), kind: resource.kind.clone() };
    let mut definitions = Definitions::default();
    let name = names::of_kind(&resource.schema, &kind.group, &kind.version, &kind.kind);
    match &resource.custom {
        Some(custom) => definitions.add_custom(name.clone(), custom, kind),
        None => definitions.add_kind(name.clone(), &resource.schema, kind),
    }
    let schemas = Schemas { dialect: Dialect::V3, common: CommonKinds::Of("", "v1"), rules: None, hides_enums: false };
    let definitions = definitions.iter().map(|(name, definition)| (name.clone(), schemas.definition(definition)));
    Resolution { definitions: definitions.collect(), visited: Vec::new() }.named(&name)
}

/// Replaces references by what they refer to.
struct Resolution {
    definitions: HashMap<String, Value>,
    /// The types around the place.
    visited: Vec<String>,
}

impl Resolution {
    fn named(&mut self, name: &str) -> Value {
        if self.visited.iter().any(|visited| visited == name) {
            return value!({ "type": "object" });
        }
        let Some(mut schema) = self.definitions.get(name).cloned() else { return value!({}) };
        self.visited.push(name.to_owned());
        self.resolve(&mut schema);
        self.visited.pop();
        schema
    }

    fn resolve(&mut self, schema: &mut Value) {
        if let Some(name) = referred(schema).map(str::to_owned) {
            *schema = self.named(&name);
            return;
        }
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_map_mut) {
            properties.entries_mut().iter_mut().for_each(|(_, property)| self.resolve(property));
        }
        for below in ["additionalProperties", "items"] {
            schema.get_mut(below).into_iter().for_each(|schema| self.resolve(schema));
        }
    }
}

/// The name of the type that a schema refers to, by itself or within the `allOf` that describes it.
fn referred(schema: &Value) -> Option<&str> {
    let name = |schema: &'_ Value| schema.get("$ref").and_then(Value::as_str).is_some();
    let reference = match schema.get("allOf").and_then(Value::as_list) {
        Some(parts) => parts.iter().find(|part| name(part))?,
        None => schema,
    };
    reference.get("$ref")?.as_str()?.rsplit('/').next()
}

fn write(catalog: &Catalog, address: &Address, rules: Option<&GateSet>) -> Vec<u8> {
    let mut routes = Routes::default();
    let is_custom = match address {
        Address::GroupVersion(group, version) => catalog.version(group, version).is_some_and(VersionEntry::is_custom),
        _ => false,
    };
    match address {
        Address::Version => routes.version(),
        Address::CoreVersions => routes.core_versions(),
        Address::Groups => routes.groups(),
        Address::Published(document) => routes.published(document),
        Address::Group(group) => routes.group(group),
        Address::GroupVersion(group, version) => routes.version_of_group(catalog, group, version),
    }
    routes.sort();
    let mut out = br#"{"openapi":"3.0.0","info":"#.to_vec();
    pintle_codec::json::encode(&info(catalog, address), &mut out);
    out.extend_from_slice(br#","paths":{"#);
    entries(&mut out, routes.paths.iter().map(|item| (item.path.as_str(), item.written(operation, parameters))));
    out.extend_from_slice(br#"},"components":{"#);
    if !routes.definitions.is_empty() {
        out.extend_from_slice(br#""schemas":{"#);
        let common = match address {
            Address::GroupVersion(..) if is_custom => CommonKinds::OfCustom(catalog),
            Address::GroupVersion(group, version) => CommonKinds::Of(group, version),
            _ => CommonKinds::All(catalog),
        };
        let rules = rules.map(|gates| EnabledRules { gates });
        let hides_enums = catalog.server().hides_enums;
        let schemas = Schemas { dialect: Dialect::V3, common, rules, hides_enums };
        let definitions = routes.definitions.iter();
        entries(&mut out, definitions.map(|(name, definition)| (name.as_str(), schemas.definition(definition))));
        out.push(b'}');
    }
    // Documents of custom resources leave authentication to those of the server.
    if !is_custom {
        let before: &[u8] = if routes.definitions.is_empty() { b"" } else { b"," };
        out.extend_from_slice(before);
        out.extend_from_slice(br#""securitySchemes":"#);
        pintle_codec::json::encode(&value!({ "BearerToken": (bearer_token()) }), &mut out);
    }
    out.extend_from_slice(b"}}");
    out
}

/// Groups that are not built in have their own title.
fn info(catalog: &Catalog, address: &Address) -> Value {
    let custom = match address {
        Address::GroupVersion(group, _) => catalog.group(group).is_some_and(|group| !group.is_built_in()),
        _ => false,
    };
    match custom {
        true => value!({ "title": "Kubernetes CRD Swagger", "version": "v0.1.0" }),
        false => super::info(catalog),
    }
}

/// Writes the entries of an object, one value at a time.
pub(crate) fn entries<'a>(out: &mut Vec<u8>, entries: impl Iterator<Item = (&'a str, Value)>) {
    for (at, (key, value)) in entries.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        pintle_codec::json::encode(&Value::from(key), out);
        out.push(b':');
        pintle_codec::json::encode(&value, out);
    }
}

fn operation(described: &Operation) -> Value {
    let mut out = Map::new();
    push(&mut out, "tags", vec![described.tag.as_str()]);
    push(&mut out, "description", described.description.as_str());
    push(&mut out, "operationId", described.id.as_str());
    let parameters = parameters(&described.parameters);
    if !parameters.is_empty() {
        push(&mut out, "parameters", Value::List(parameters));
    }
    if let Some(body) = &described.body {
        let mut request = Map::new();
        push(&mut request, "content", content(body.media_types, Some(&body.type_name)));
        if body.required {
            push(&mut request, "required", true);
        }
        push(&mut out, "requestBody", request);
    }
    let mut responses = Map::new();
    let answer = &described.answer;
    for (code, name) in answer.statuses {
        let content = content(answer.media_types, answer.type_name.as_deref());
        push(&mut responses, code, value!({ "description": (*name), "content": content }));
    }
    push(&mut responses, UNAUTHORIZED.0, value!({ "description": (UNAUTHORIZED.1) }));
    push(&mut out, "responses", responses);
    if !described.action.is_empty() {
        push(&mut out, "x-kubernetes-action", described.action);
    }
    if let Some(kind) = &described.kind {
        push(&mut out, GROUP_VERSION_KIND, group_version_kind(&kind.group, &kind.version, &kind.kind));
    }
    Value::Map(out)
}

fn content(media_types: &[&'static str], type_name: Option<&str>) -> Map {
    let schema = || match type_name {
        Some(name) => value!({ "$ref": (Dialect::V3.reference(name)) }),
        None => value!({ "type": "string" }),
    };
    media_types.iter().map(|media_type| (Str::new_static(media_type), value!({ "schema": (schema()) }))).collect()
}

/// Options may share parameters; the first one is used.
fn parameters(parameters: &[Parameters]) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for one in parameters {
        match one {
            Parameters::Path { name, description } => out.push(value!({
                "name": (*name),
                "in": "path",
                "description": (description.as_str()),
                "required": true,
                "schema": { "type": "string", "uniqueItems": true },
            })),
            Parameters::Pretty => out.push(query("pretty", PRETTY, "string")),
            Parameters::Query(_) | Parameters::QueryWithoutWatch(_) => {
                for (_, field, ty) in one.of_query() {
                    if out.iter().all(|other| other.str_at(&["name"]) != field.name.as_str()) {
                        out.push(query(&field.name, &field.doc, ty));
                    }
                }
            }
        }
    }
    out
}

fn query(name: &str, description: &str, ty: &str) -> Value {
    value!({
        "name": name,
        "in": "query",
        "description": description,
        "schema": { "type": ty, "uniqueItems": true },
    })
}
