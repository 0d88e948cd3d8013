//! Documents of extension servers: their resources in the form of aggregated discovery, and their parts of OpenAPI. Guarantees
//! that only the content of the server's own version is used. Must never trust a document: each is decoded under its schema,
//! and parts that do not fit are left out.

use pintle_codec::{Strictness, json};
use pintle_meta::apidiscovery::v2::{APIGroupDiscoveryList, APIVersionDiscovery};
use pintle_meta::meta::v1::{APIResource, APIResourceList};
use pintle_schema::{ApiType, ApiValue, Map, Str, Value, canonicalize, value};
use std::collections::{BTreeMap, BTreeSet};

/// The resources of a version in a document of aggregated discovery; `None` if it is malformed or lacks the version.
pub fn of_aggregated(document: &[u8], group: &str, version: &str) -> Option<Vec<Value>> {
    let schema = APIGroupDiscoveryList::schema();
    let mut list = json::decode(schema, document, Strictness::Ignore).ok()?.value;
    fill_kinds(&mut list);
    canonicalize(schema, &mut list);
    let items = list.get("items")?.as_list()?;
    let found = items.iter().find(|item| item.str_at(&["metadata", "name"]) == group)?;
    let versions = found.get("versions")?.as_list()?;
    let found = versions.iter().find(|item| item.str_at(&["version"]) == version)?;
    APIVersionDiscovery::from_value(found).ok()?;
    Some(found.get("resources").and_then(Value::as_list).unwrap_or_default().to_vec())
}

/// Gives resources and subresources without a kind an empty one, without which old clients fail.
fn fill_kinds(list: &mut Value) {
    let below = |value: &mut Value, name: &str, each: &dyn Fn(&mut Value)| {
        value.get_mut(name).and_then(Value::as_list_mut).into_iter().flatten().for_each(each);
    };
    let fill = |entry: &mut Value| {
        if let Some(map) = entry.as_map_mut()
            && map.get("responseKind").is_none_or(Value::is_null)
        {
            map.set("responseKind", kind_of("", "", ""));
        }
    };
    let resource = |resource: &mut Value| {
        fill(resource);
        below(resource, "subresources", &fill);
    };
    let version = |version: &mut Value| below(version, "resources", &resource);
    below(list, "items", &|group: &mut Value| below(group, "versions", &version));
}

/// The resources of a version's own document, in the form of aggregated discovery: kinds that name no group or version stay so.
/// `None` if it is malformed, or if a subresource has another scope than its resource.
pub fn of_resource_list(document: &[u8]) -> Option<Vec<Value>> {
    let decoded = json::decode(APIResourceList::schema(), document, Strictness::Ignore).ok()?.value;
    let list = APIResourceList::from_value(&decoded).ok()?;
    let (below, own): (Vec<&APIResource>, _) = list.resources.iter().partition(|one| one.name.contains('/'));
    let mut parents: Vec<Parent<'_>> = own.into_iter().map(Parent::of).collect();
    for resource in below {
        let (name, subresource) = resource.name.split_once('/')?;
        let known = parents.iter().position(|parent| parent.name == name);
        let at = known.unwrap_or_else(|| {
            parents.push(Parent { name, namespaced: resource.namespaced, resource: None, below: Vec::new() });
            parents.len() - 1
        });
        let parent = parents.get_mut(at)?;
        if parent.namespaced != resource.namespaced {
            return None;
        }
        let kind = match resource.kind.is_empty() {
            true => kind_of("", "", ""),
            false => kind_of(&resource.group, &resource.version, &resource.kind),
        };
        let verbs = resource.verbs.to_value();
        parent.below.push(value!({ "subresource": subresource, "responseKind": kind, "verbs": verbs }));
    }
    Some(parents.into_iter().map(Parent::described).collect())
}

/// A resource with its subresources; those of a resource that is not listed make it known.
struct Parent<'a> {
    name: &'a str,
    namespaced: bool,
    resource: Option<&'a APIResource>,
    below: Vec<Value>,
}

impl<'a> Parent<'a> {
    fn of(resource: &'a APIResource) -> Self {
        Parent { name: &resource.name, namespaced: resource.namespaced, resource: Some(resource), below: Vec::new() }
    }

    fn described(self) -> Value {
        let mut entry = Map::new();
        let mut push = |name: &'static str, value: Value| entry.push(Str::new_static(name), value);
        let unknown = APIResource::default();
        let resource = self.resource.unwrap_or(&unknown);
        push("resource", self.name.into());
        push("responseKind", kind_of(&resource.group, &resource.version, &resource.kind));
        push("scope", if self.namespaced { "Namespaced" } else { "Cluster" }.into());
        push("singularResource", resource.singular_name.as_str().into());
        push("verbs", self.resource.map_or(Value::Null, |resource| resource.verbs.to_value()));
        for (name, texts) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
            if !texts.is_empty() {
                push(name, texts.clone().into());
            }
        }
        if !self.below.is_empty() {
            push("subresources", Value::List(self.below));
        }
        Value::Map(entry)
    }
}

fn kind_of(group: &str, version: &str, kind: &str) -> Value {
    value!({ "group": group, "version": version, "kind": kind })
}

/// The URL of a version's OpenAPI document in the server's index; `None` if absent.
pub fn openapi_v3_url(index: &[u8], group: &str, version: &str) -> Option<String> {
    let index = json::parse(index, Strictness::Ignore).ok()?.value;
    let url = index.get("paths")?.get(&format!("apis/{group}/{version}"))?.str_at(&["serverRelativeURL"]);
    (!url.is_empty()).then(|| url.to_owned())
}

/// A server's part of the OpenAPI document of version 2.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenApiPart {
    pub(crate) paths: Vec<(Str, Value)>,
    pub(crate) definitions: BTreeMap<String, Value>,
    pub(crate) parameters: BTreeMap<String, Value>,
}

const DEFINITIONS: &str = "#/definitions/";
const PARAMETERS: &str = "#/parameters/";

impl OpenApiPart {
    /// The paths of one version, and the definitions that they refer to; `None` when the document is no JSON.
    pub fn of(document: &[u8], group: &str, version: &str) -> Option<OpenApiPart> {
        let document = json::parse(document, Strictness::Ignore).ok()?.value;
        let below = format!("/apis/{group}/{version}/");
        let entries = |name: &str| document.get(name).and_then(Value::as_map).map(Map::entries).unwrap_or_default();
        let paths: Vec<_> =
            entries("paths").iter().filter(|(path, item)| path.starts_with(&below) && is_map(item)).cloned().collect();
        let mut part = OpenApiPart { paths, ..OpenApiPart::default() };
        let mut wanted: Vec<String> = part.paths.iter().flat_map(|(_, item)| references(item)).collect();
        let mut seen = BTreeSet::new();
        while let Some(reference) = wanted.pop() {
            if !seen.insert(reference.clone()) {
                continue;
            }
            let (kind, name) = match (reference.strip_prefix(DEFINITIONS), reference.strip_prefix(PARAMETERS)) {
                (Some(name), _) => ("definitions", name),
                (_, Some(name)) => ("parameters", name),
                _ => continue,
            };
            let found = document.get(kind).and_then(|all| all.get(name)).filter(|found| is_map(found));
            let Some(found) = found else { continue };
            wanted.extend(references(found));
            let all = if kind == "definitions" { &mut part.definitions } else { &mut part.parameters };
            all.insert(name.to_owned(), found.clone());
        }
        Some(part)
    }

    /// Renames definitions whose name `known` uses for another content.
    pub(crate) fn renamed(
        mut self,
        known_definition: impl Fn(&str) -> Option<Value>,
        known_parameter: impl Fn(&str) -> Option<Value>,
    ) -> OpenApiPart {
        let mut renames: BTreeMap<String, String> = BTreeMap::new();
        let mut plan = |prefix: &str, own: &BTreeMap<String, Value>, known: &dyn Fn(&str) -> Option<Value>| {
            for (name, content) in own {
                let is_other = |name: &str| known(name).is_some_and(|other| other != *content);
                if is_other(name) {
                    let free = |number: &usize| !is_other(&format!("{name}_v{number}"));
                    let number = (2..).find(free).unwrap_or(2);
                    renames.insert(format!("{prefix}{name}"), format!("{prefix}{name}_v{number}"));
                }
            }
        };
        plan(DEFINITIONS, &self.definitions, &known_definition);
        plan(PARAMETERS, &self.parameters, &known_parameter);
        if renames.is_empty() {
            return self;
        }
        self.paths.iter_mut().for_each(|(_, item)| rewrite(item, &renames));
        for (prefix, all) in [(DEFINITIONS, &mut self.definitions), (PARAMETERS, &mut self.parameters)] {
            let renamed = std::mem::take(all).into_iter().map(|(name, mut content)| {
                rewrite(&mut content, &renames);
                let new = renames.get(&format!("{prefix}{name}")).and_then(|new| new.strip_prefix(prefix));
                (new.map_or(name.clone(), str::to_owned), content)
            });
            *all = renamed.collect();
        }
        self
    }
}

fn is_map(value: &Value) -> bool {
    value.as_map().is_some()
}

const REFERENCE: &str = "$ref";

/// All references in a value. The depth of values is bounded where they are parsed.
fn references(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    match value.as_str() {
                        Some(text) if key.as_str() == REFERENCE => found.push(text.to_owned()),
                        _ => pending.push(value),
                    }
                }
            }
            Value::List(items) => pending.extend(items),
            _ => {}
        }
    }
    found
}

fn rewrite(value: &mut Value, renames: &BTreeMap<String, String>) {
    match value {
        Value::Map(map) => {
            for (key, value) in map.iter_mut() {
                let new = value.as_str().filter(|_| key.as_str() == REFERENCE).and_then(|text| renames.get(text));
                match new {
                    Some(new) => *value = new.as_str().into(),
                    None => rewrite(value, renames),
                }
            }
        }
        Value::List(items) => items.iter_mut().for_each(|item| rewrite(item, renames)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_of_one_version_are_taken() {
        let document = br#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[
            {"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[{"resource":"stolen"}]}]},
            {"metadata":{"name":"g"},"versions":[{"version":"v1","resources":[{"resource":"things","scope":"Namespaced","singularResource":"thing","verbs":["get"]}],"freshness":"Current"}]}]}"#;
        let found = of_aggregated(document, "g", "v1").expect("a version");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].str_at(&["resource"]), "things");
        assert_eq!(found[0].get("responseKind"), Some(&kind_of("", "", "")));
        assert_eq!(of_aggregated(document, "g", "v2"), None);
        assert_eq!(of_aggregated(b"[]", "g", "v1"), None);
        assert_eq!(of_aggregated(br#"{"kind":"APIGroupList","groups":[]}"#, "g", "v1"), None);
    }

    #[test]
    fn lists_of_resources_become_aggregated_discovery() {
        let document = br#"{"kind":"APIResourceList","groupVersion":"g/v1","resources":[
            {"name":"things","singularName":"thing","namespaced":true,"kind":"Thing","verbs":["get","list"],"shortNames":["th"]},
            {"name":"things/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get"]},
            {"name":"others/status","singularName":"","namespaced":false,"kind":"Other","verbs":["get"]}]}"#;
        let found = of_resource_list(document).expect("a list");
        let expected = r#"{"resource":"things","responseKind":{"group":"","version":"","kind":"Thing"},"scope":"Namespaced","singularResource":"thing","verbs":["get","list"],"shortNames":["th"],"subresources":[{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},"verbs":["get"]}]}"#;
        assert_eq!(json::to_string(&found[0]), expected);
        let alone = r#"{"resource":"others","responseKind":{"group":"","version":"","kind":""},"scope":"Cluster","singularResource":"","verbs":null,"subresources":[{"subresource":"status","responseKind":{"group":"","version":"","kind":"Other"},"verbs":["get"]}]}"#;
        assert_eq!(json::to_string(&found[1]), alone);
        assert_eq!(of_resource_list(b"no"), None);
        let scopes = br#"{"resources":[{"name":"a","namespaced":true},{"name":"a/status","namespaced":false}]}"#;
        assert_eq!(of_resource_list(scopes), None);
    }

    #[test]
    fn a_part_holds_what_its_paths_refer_to_under_names_of_its_own() {
        let document = br##"{"paths":{"/apis/g/v1/things":{"get":{"responses":{"200":{"schema":{"$ref":"#/definitions/A"}}},"parameters":[{"$ref":"#/parameters/p"}]}},
            "/apis/apps/v1/deployments":{"get":{}}},
            "definitions":{"A":{"properties":{"b":{"$ref":"#/definitions/B"}}},"B":{"type":"string"},"C":{}},
            "parameters":{"p":{"name":"x"}}}"##;
        let part = OpenApiPart::of(document, "g", "v1").expect("a document");
        assert_eq!(part.paths.len(), 1);
        assert_eq!(part.definitions.keys().collect::<Vec<_>>(), ["A", "B"]);
        let known = |name: &str| (name == "B").then(|| value!({ "type": "integer" }));
        let renamed = part.clone().renamed(known, |_| None);
        assert_eq!(renamed.definitions.keys().collect::<Vec<_>>(), ["A", "B_v2"]);
        assert_eq!(renamed.definitions["A"].str_at(&["properties", "b", "$ref"]), "#/definitions/B_v2");
        let same = |name: &str| (name == "B").then(|| value!({ "type": "string" }));
        assert_eq!(part.clone().renamed(same, |_| None), part);
    }

    #[test]
    fn an_index_names_the_document_of_a_version() {
        let index = br#"{"paths":{"apis/g/v1":{"serverRelativeURL":"/openapi/v3/apis/g/v1?hash=A"}}}"#;
        assert_eq!(openapi_v3_url(index, "g", "v1").as_deref(), Some("/openapi/v3/apis/g/v1?hash=A"));
        assert_eq!(openapi_v3_url(index, "g", "v2"), None);
    }
}
