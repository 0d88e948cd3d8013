//! Documents of kinds that were defined at run time: kube-apiserver describes less of them than of its own in OpenAPI.

use super::openapi::run_time_schema;
use super::{default_catalog, parse};
use crate::catalog::{Catalog, DiscoveredResource, DiscoveredSubresource, ServerDescription};
use crate::discovery::aggregated_apis;
use crate::openapi::{v2, v3};
use pintle_meta::autoscaling::v1::Scale;
use pintle_resource::{CustomKind, DefinedBy, OpenApiVersion, VersionPriorities};
use pintle_schema::{ApiType, Ref, Str, Struct, Value, value};
use std::sync::Arc;

/// A kind of which OpenAPI says what it is given.
pub(super) struct Published {
    pub schema: Value,
    pub selectable: Vec<Str>,
}

/// A kind without properties.
const BARE: Published = Published { schema: Value::Null, selectable: Vec::new() };

impl CustomKind for Published {
    fn list_kind(&self) -> &str {
        "WidgetList"
    }

    fn merge_schema(&self) -> &Struct {
        panic!("nothing is applied")
    }

    fn coerce(&self, _: &mut Value) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }

    fn reread(&self, _: &mut Value) {}

    fn defined_by(&self) -> &Arc<DefinedBy> {
        panic!("there is no definition")
    }

    fn is_terminating(&self) -> bool {
        false
    }

    fn openapi(&self, _: OpenApiVersion, metadata: &str) -> Value {
        match self.schema {
            Value::Null => value!({ "type": "object", "properties": { "metadata": { "$ref": metadata } } }),
            _ => self.schema.clone(),
        }
    }

    fn selectable_paths(&self) -> &[Str] {
        &self.selectable
    }

    fn fingerprint(&self) -> &str {
        "bare"
    }

    fn scale_problem(&self, _: &Value) -> Option<String> {
        None
    }
}

/// Widgets, with the subresource `scale`.
fn widgets() -> Catalog {
    widgets_of(BARE)
}

/// The same of a kind.
pub(super) fn widgets_of(kind: Published) -> Catalog {
    let model = pintle_groups::find("", "v1", "configmaps").expect("config maps are built in");
    let scale = DiscoveredSubresource {
        name: Str::new("scale"),
        kind: Str::new("Scale"),
        group_version: Some((Str::new("autoscaling"), Str::new("v1"))),
        verbs: vec!["get", "patch", "update"],
        schema: Some(Ref::Static(Scale::schema)),
        stream: false,
    };
    let mut catalog = default_catalog();
    catalog.add(
        DiscoveredResource {
            group: Str::new("fun.example.com"),
            version: Str::new("v1"),
            plural: Str::new("widgets"),
            kind: Str::new("Widget"),
            list_kind: Str::new("WidgetList"),
            subresources: vec![scale],
            schema: Ref::Shared(Arc::new(run_time_schema())),
            custom: Some(Arc::new(kind)),
            strategic_patch: false,
            ..DiscoveredResource::from(&**model)
        },
        VersionPriorities::CUSTOM,
    );
    catalog
}

#[test]
fn aggregated_discovery_names_group_and_version_of_kinds() {
    let all = aggregated_apis(&widgets()).value;
    let groups = all.get("items").and_then(Value::as_list).expect("groups");
    let kinds = |name: &str| -> Vec<Value> {
        let group = groups.iter().find(|group| group.str_at(&["metadata", "name"]) == name).expect("listed");
        let version = group.get("versions").and_then(Value::as_list).and_then(<[Value]>::first).expect("a version");
        let resource = version.get("resources").and_then(Value::as_list).and_then(<[Value]>::first).expect("one");
        let below = resource.get("subresources").and_then(Value::as_list).unwrap_or_default();
        let all = std::iter::once(resource).chain(below);
        all.map(|one| one.get("responseKind").cloned().unwrap_or_default()).collect()
    };
    let widget = value!({ "group": "fun.example.com", "version": "v1", "kind": "Widget" });
    let scale = value!({ "group": "autoscaling", "version": "v1", "kind": "Scale" });
    assert_eq!(kinds("fun.example.com"), [widget, scale]);
    let definition = value!({ "group": "", "version": "", "kind": "CustomResourceDefinition" });
    assert_eq!(kinds("apiextensions.k8s.io").first(), Some(&definition));
}

#[test]
fn hashes_follow_everything_that_documents_show() {
    let hash = |catalog: &Catalog| v3::custom_etag(catalog, "apis/fun.example.com/v1").expect("custom");
    let catalog = widgets();
    let index = parse(&v3::index(&catalog, None, &mut |_, make| make()));
    let url = index.str_at(&["paths", "apis/fun.example.com/v1", "serverRelativeURL"]);
    assert_eq!(url, format!("/openapi/v3/apis/fun.example.com/v1?hash={}", hash(&catalog)));
    // A server without known versions lists those that it has.
    let alone = |catalog: Catalog| catalog.of_server(ServerDescription::default());
    let mut others = alone(widgets());
    assert_ne!(hash(&others), hash(&catalog));
    let before = hash(&others);
    assert_eq!(hash(&alone(widgets())), before);
    let model = pintle_groups::find("", "v1", "configmaps").expect("config maps are built in");
    let other = DiscoveredResource { group: Str::new("other.example.com"), ..DiscoveredResource::from(&**model) };
    others.add(other, VersionPriorities::CUSTOM);
    assert_ne!(hash(&others), before);
    assert!(v3::custom_etag(&catalog, "apis/apps/v1").is_none());
}

const COLLECTION: &str = "/apis/fun.example.com/v1/namespaces/{namespace}/widgets";

#[test]
fn paths_of_discovery_and_of_old_watches_are_not_described() {
    let catalog = widgets();
    let expected = [
        COLLECTION.to_owned(),
        format!("{COLLECTION}/{{name}}"),
        format!("{COLLECTION}/{{name}}/scale"),
        "/apis/fun.example.com/v1/widgets".to_owned(),
    ];
    let new = parse(&v3::document(&catalog, "apis/fun.example.com/v1", None).expect("served"));
    for document in [new, parse(&v2::json(&catalog, &[]))] {
        let paths = document.get("paths").and_then(Value::as_map).expect("paths");
        let found: Vec<&str> = paths.keys().map(Str::as_str).filter(|path| path.contains("fun.example")).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn operations_are_described_as_kube_apiserver_does() {
    let catalog = widgets();
    let document = parse(&v3::document(&catalog, "apis/fun.example.com/v1", None).expect("served"));
    let item = format!("{COLLECTION}/{{name}}");
    let item = item.as_str();
    let at = |path: &str, below: &[&str]| document.at(&["paths", path]).and_then(|item| item.at(below));
    let media_types = |value: Option<&Value>| -> Vec<String> {
        let content = value.and_then(Value::as_map).expect("content");
        content.keys().map(|media_type| media_type.to_string()).collect()
    };
    for (path, below) in [
        (COLLECTION, &["get", "responses", "200", "content"][..]),
        (COLLECTION, &["post", "responses", "201", "content"][..]),
        (COLLECTION, &["post", "requestBody", "content"][..]),
        (item, &["put", "requestBody", "content"][..]),
        (item, &["delete", "requestBody", "content"][..]),
    ] {
        assert_eq!(media_types(at(path, below)), ["application/json", "application/yaml"], "{path} {below:?}");
    }
    assert_eq!(at(COLLECTION, &["delete", "requestBody"]), None);
    assert_eq!(at(item, &["patch", "responses", "201"]), None);
    let scale = at(&format!("{item}/scale"), &["get", "x-kubernetes-group-version-kind"]);
    assert_eq!(scale, Some(&value!({ "group": "fun.example.com", "kind": "Widget", "version": "v1" })));
    let names = |operation: Option<&Value>| -> Vec<String> {
        let parameters = operation.and_then(Value::as_list).expect("parameters");
        parameters.iter().map(|one| one.str_at(&["name"]).to_owned()).collect()
    };
    assert_eq!(names(at(item, &["get", "parameters"])), ["resourceVersion"]);
    let of_deletes = names(at(COLLECTION, &["delete", "parameters"]));
    assert!(of_deletes.contains(&"watch".to_owned()) && !of_deletes.contains(&"dryRun".to_owned()), "{of_deletes:?}");
}

#[test]
fn components_have_no_defaults_of_lists_and_no_authentication() {
    let document = parse(&v3::document(&widgets(), "apis/fun.example.com/v1", None).expect("served"));
    assert_eq!(document.at(&["components", "securitySchemes"]), None);
    let list = ["components", "schemas", "com.example.fun.v1.WidgetList", "properties"];
    let list = document.at(&list).expect("defined");
    let reference = "#/components/schemas/com.example.fun.v1.Widget";
    assert_eq!(list.at(&["items", "items"]), Some(&value!({ "$ref": reference })));
    assert_eq!(list.at(&["metadata", "default"]), None);
    let options = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
    let kinds = document.at(&["components", "schemas", options, "x-kubernetes-group-version-kind"]);
    assert_eq!(kinds.and_then(Value::as_list).map(<[Value]>::len), Some(53));
    assert!(document.at(&["components", "schemas", "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent"]).is_none());
}
