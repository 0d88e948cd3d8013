//! OpenAPI version 2: one document about everything, in JSON or in protobuf.
//!
//! Parameters of queries are defined once and referred to, or the document would be several times as long.

use super::common_kinds::CommonKinds;
use super::operation::{Operation, PRETTY, Parameters, Status, UNAUTHORIZED};
use super::routes::Routes;
use super::schema::Schemas;
use super::v3::entries;
use super::{Dialect, GROUP_VERSION_KIND, bearer_token, gnostic, group_version_kind, info, push};
use crate::catalog::Catalog;
use crate::extension::OpenApiPart;
use pintle_schema::{Map, Str, Struct, Value, value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The media type of the protobuf form.
pub const PROTOBUF_MEDIA_TYPE: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// `/openapi/v2` as JSON, with the parts of extension servers.
pub fn json(catalog: &Catalog, parts: &[Arc<OpenApiPart>]) -> Vec<u8> {
    let (routes, shared) = prepare(catalog);
    let others = others(catalog, &routes, &shared, parts);
    let mut out = br#"{"swagger":"2.0","info":"#.to_vec();
    pintle_codec::json::encode(&info(catalog), &mut out);
    out.extend_from_slice(br#","paths":{"#);
    entries(&mut out, paths(&routes).chain(others.paths()));
    out.extend_from_slice(br#"},"definitions":{"#);
    entries(&mut out, definitions(catalog, &routes).chain(named(&others.definitions)));
    out.extend_from_slice(br#"},"parameters":{"#);
    entries(&mut out, named(&shared).chain(named(&others.parameters)));
    out.extend_from_slice(br#"},"securityDefinitions":{"BearerToken":"#);
    pintle_codec::json::encode(&bearer_token(), &mut out);
    out.extend_from_slice(br#"},"security":[{"BearerToken":[]}]}"#);
    out
}

/// `/openapi/v2` in the protobuf form for client-go.
pub fn protobuf(catalog: &Catalog, parts: &[Arc<OpenApiPart>]) -> Vec<u8> {
    let (routes, shared) = prepare(catalog);
    let others = others(catalog, &routes, &shared, parts);
    gnostic::document(gnostic::Parts {
        info: info(catalog),
        paths: paths(&routes).chain(others.paths()),
        definitions: definitions(catalog, &routes).chain(named(&others.definitions)),
        parameters: named(&shared).chain(named(&others.parameters)),
        bearer_token: bearer_token(),
    })
}

/// The merged parts of extension servers, without duplicates.
#[derive(Default)]
struct Others {
    paths: BTreeMap<Str, Value>,
    definitions: BTreeMap<String, Value>,
    parameters: BTreeMap<String, Value>,
}

impl Others {
    fn paths(&self) -> impl Iterator<Item = (&str, Value)> {
        self.paths.iter().map(|(path, item)| (path.as_str(), item.clone()))
    }
}

fn named(all: &BTreeMap<String, Value>) -> impl Iterator<Item = (&str, Value)> {
    all.iter().map(|(name, content)| (name.as_str(), content.clone()))
}

/// Merges the parts of extension servers. A definition whose name is taken by another content is renamed, and duplicates are
/// dropped.
fn others(catalog: &Catalog, routes: &Routes, shared: &BTreeMap<String, Value>, parts: &[Arc<OpenApiPart>]) -> Others {
    let mut others = Others::default();
    if parts.is_empty() {
        return others;
    }
    let own: BTreeMap<&str, _> = routes.definitions.iter().map(|(name, found)| (name.as_str(), found)).collect();
    let own_definition = |name: &str| own.get(name).map(|definition| schemas(catalog).definition(definition));
    for part in parts {
        let known = |name: &str| own_definition(name).or_else(|| others.definitions.get(name).cloned());
        let known_parameter = |name: &str| shared.get(name).or_else(|| others.parameters.get(name)).cloned();
        let part = OpenApiPart::clone(part).renamed(known, known_parameter);
        others.paths.extend(part.paths);
        others.definitions.extend(part.definitions.into_iter().filter(|(name, _)| !own.contains_key(name.as_str())));
        others.parameters.extend(part.parameters.into_iter().filter(|(name, _)| !shared.contains_key(name)));
    }
    others
}

fn prepare(catalog: &Catalog) -> (Routes, BTreeMap<String, Value>) {
    let mut routes = Routes::default();
    routes.version();
    routes.core_versions();
    routes.groups();
    catalog.server().published.iter().for_each(|document| routes.published(document));
    for group in catalog.groups() {
        if !group.name.is_empty() && !group.is_custom() {
            routes.group(&group.name);
        }
        for version in &group.versions {
            routes.version_of_group(catalog, &group.name, &version.name);
        }
    }
    routes.sort();
    let shared = shared_parameters(&routes);
    (routes, shared)
}

fn paths(routes: &Routes) -> impl Iterator<Item = (&str, Value)> {
    routes.paths.iter().map(|item| (item.path.as_str(), item.written(operation, parameters)))
}

fn schemas(catalog: &Catalog) -> Schemas<'_> {
    Schemas {
        dialect: Dialect::V2,
        common: CommonKinds::All(catalog),
        rules: None,
        hides_enums: catalog.server().hides_enums,
    }
}

fn definitions<'a>(catalog: &'a Catalog, routes: &'a Routes) -> impl Iterator<Item = (&'a str, Value)> {
    let schemas = schemas(catalog);
    routes.definitions.iter().map(move |(name, definition)| (name.as_str(), schemas.definition(definition)))
}

/// The parameters that operations refer to, by the name they are defined under.
fn shared_parameters(routes: &Routes) -> BTreeMap<String, Value> {
    let mut shared = BTreeMap::from([("pretty".to_owned(), query("pretty", PRETTY, "string"))]);
    let of_paths = routes.paths.iter().flat_map(|item| &item.parameters);
    let operations = routes.paths.iter().flat_map(|item| &item.operations);
    for parameters in of_paths.chain(operations.flat_map(|operation| &operation.parameters)) {
        for (options, field, ty) in parameters.of_query() {
            shared.entry(shared_name(options, &field.name)).or_insert_with(|| query(&field.name, &field.doc, ty));
        }
    }
    shared
}

fn shared_name(options: &Struct, field: &str) -> String {
    format!("{field}-{}", options.name.as_str())
}

fn query(name: &str, description: &str, ty: &str) -> Value {
    value!({ "name": name, "in": "query", "description": description, "type": ty, "uniqueItems": true })
}

fn operation(described: &Operation) -> Value {
    let mut out = Map::new();
    push(&mut out, "description", described.description.as_str());
    let consumes = described.body.as_ref().map_or(described.consumes, |body| body.media_types);
    if !consumes.is_empty() {
        push(&mut out, "consumes", consumes.to_vec());
    }
    push(&mut out, "produces", described.answer.media_types.to_vec());
    push(&mut out, "schemes", vec!["https"]);
    push(&mut out, "tags", vec![described.tag.as_str()]);
    push(&mut out, "operationId", described.id.as_str());
    let mut parameters = parameters(&described.parameters);
    if let Some(body) = &described.body {
        let mut parameter = Map::new();
        push(&mut parameter, "name", "body");
        push(&mut parameter, "in", "body");
        if body.required {
            push(&mut parameter, "required", true);
        }
        push(&mut parameter, "schema", value!({ "$ref": (Dialect::V2.reference(&body.type_name)) }));
        parameters.push(Value::Map(parameter));
    }
    if !parameters.is_empty() {
        push(&mut out, "parameters", Value::List(parameters));
    }
    push(&mut out, "responses", responses(described));
    if !described.action.is_empty() {
        push(&mut out, "x-kubernetes-action", described.action);
    }
    if let Some(kind) = &described.kind {
        push(&mut out, GROUP_VERSION_KIND, group_version_kind(&kind.group, &kind.version, &kind.kind));
    }
    Value::Map(out)
}

fn responses(described: &Operation) -> Map {
    let answer = &described.answer;
    let schema = || match &answer.type_name {
        Some(name) => value!({ "$ref": (Dialect::V2.reference(name)) }),
        None => value!({ "type": "string" }),
    };
    let mut responses = Map::new();
    for &(code, name) in answer.statuses {
        push(&mut responses, code, value!({ "description": name, "schema": (schema()) }));
    }
    let (code, name): Status = UNAUTHORIZED;
    push(&mut responses, code, value!({ "description": name }));
    responses
}

/// Options may share parameters; the first one is used.
fn parameters(parameters: &[Parameters]) -> Vec<Value> {
    let (mut out, mut names) = (Vec::new(), Vec::new());
    for one in parameters {
        match one {
            Parameters::Path { name, description } => out.push(value!({
                "name": (*name),
                "in": "path",
                "description": (description.as_str()),
                "required": true,
                "type": "string",
                "uniqueItems": true,
            })),
            Parameters::Pretty => out.push(reference("pretty")),
            Parameters::Query(_) | Parameters::QueryWithoutWatch(_) => {
                for (options, field, _) in one.of_query() {
                    let name: Str = field.name.to_key();
                    if !names.contains(&name) {
                        out.push(reference(&shared_name(options, &name)));
                        names.push(name);
                    }
                }
            }
        }
    }
    out
}

fn reference(name: &str) -> Value {
    value!({ "$ref": (format!("#/parameters/{name}")) })
}
