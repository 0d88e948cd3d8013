//! Invariants of every OpenAPI document: references resolve, kinds and operations are marked.

use super::{default_catalog, everything, parse, walk, whole};
use crate::catalog::{Catalog, DiscoveredResource, PublishedPath, ServerDescription};
use crate::openapi::{v2, v3};
use crate::version::EffectiveVersion;
use pintle_schema::gates::{ALL_GATES, NO_GATES};
use pintle_schema::{ApiType, Field, Form, Map, Presence, Ref, Slice, Str, Struct, Text, Type, Value, value};
use std::collections::BTreeSet;
use std::sync::Arc;

fn documents(catalog: &Catalog) -> Vec<(String, Value)> {
    let index = parse(&v3::index(catalog, None, &mut |_, make| make()));
    let paths = index.get("paths").and_then(Value::as_map).expect("paths");
    paths
        .keys()
        .map(|path| (path.to_string(), parse(&v3::document(catalog, path, None).expect("what is listed is there"))))
        .collect()
}

/// References that lead nowhere, and definitions that nothing leads to.
fn check_references(name: &str, document: &Value, place: &[&str]) {
    let prefix = format!("#/{}/", place.join("/"));
    let none = Map::new();
    let defined = document.at(place).and_then(Value::as_map).unwrap_or(&none);
    let mut used = BTreeSet::new();
    walk("", document, &mut |key, value| {
        if let ("$ref", Some(reference)) = (key, value.as_str()) {
            if reference.starts_with("#/parameters/") {
                let shared = reference.trim_start_matches("#/parameters/");
                assert!(document.at(&["parameters", shared]).is_some(), "{name}: {reference}");
                return;
            }
            let target = reference.strip_prefix(&prefix).unwrap_or_else(|| panic!("{name}: {reference}"));
            assert!(defined.contains_key(target), "{name}: {reference} leads nowhere");
            used.insert(target);
        }
    });
    for key in defined.keys() {
        assert!(used.contains(key.as_str()), "{name}: nothing leads to {key}");
    }
}

#[test]
fn every_reference_resolves_and_every_definition_is_used() {
    let catalog = everything();
    let documents = documents(&catalog);
    assert!(documents.len() > 60, "{}", documents.len());
    for (name, document) in &documents {
        check_references(name, document, &["components", "schemas"]);
        walk("", document, &mut |_, value| {
            if let Some(map) = value.as_map() {
                assert!(map.len() == 1 || !matches!(map.get("$ref"), Some(Value::String(_))), "{name}: {map:?}");
            }
        });
    }
    check_references("v2", whole(), &["definitions"]);
}

#[test]
fn every_kind_has_its_definition_and_its_patches() {
    let catalog = everything();
    for version in catalog.groups().iter().flat_map(|group| &group.versions) {
        let (group, name) = version.resources.first().map(|first| (&first.group, &first.version)).expect("resources");
        let document = parse(&v3::group_version(&catalog, group, name).expect("served"));
        version.resources.iter().for_each(|resource| check_kind(resource, &document));
    }
}

fn check_kind(resource: &DiscoveredResource, document: &Value) {
    let mine = value!({
        "group": (resource.group.clone()), "kind": (resource.kind.clone()), "version": (resource.version.clone())
    });
    for types in [document.at(&["components", "schemas"]), whole().at(&["definitions"])] {
        let marked = types
            .and_then(Value::as_map)
            .expect("types")
            .values()
            .filter(|ty| ty.get("x-kubernetes-group-version-kind") == Some(&Value::List(vec![mine.clone()])));
        assert_eq!(marked.count(), 1, "{mine:?}");
    }
    if !resource.verbs.contains(&"patch") {
        return;
    }
    for paths in [document.get("paths"), whole().get("paths")] {
        let mut patches = paths.and_then(Value::as_map).expect("paths").values().filter_map(|item| item.get("patch"));
        let patch = patches
            .find(|patch| patch.get("x-kubernetes-group-version-kind") == Some(&mine))
            .unwrap_or_else(|| panic!("no patch of {mine:?}"));
        let parameters = patch.get("parameters").and_then(Value::as_list).expect("parameters");
        for name in ["dryRun", "fieldManager", "fieldValidation", "force"] {
            assert!(
                parameters.iter().any(|parameter| parameter.str_at(&["name"]) == name
                    || parameter.str_at(&["$ref"]) == format!("#/parameters/{name}-PatchOptions")),
                "{name} of {mine:?}"
            );
        }
    }
}

#[test]
fn operations_have_distinct_ids() {
    let mut ids = BTreeSet::new();
    walk("", whole(), &mut |key, value| {
        if key == "operationId" {
            assert!(ids.insert(value.as_str()), "{value:?} twice");
        }
    });
    for id in [
        "listCoreV1NamespacedPod",
        "connectCoreV1PostNamespacedPodExec",
        "connectCoreV1GetNodeProxyWithPath",
        "readCoreV1NamespacedPodLog",
        "createCoreV1NamespacedPodEviction",
        "patchAppsV1NamespacedDeploymentScale",
        "listRbacAuthorizationV1ClusterRole",
        "deleteAppsV1CollectionNamespacedDeployment",
        "watchCoreV1PodListForAllNamespaces",
        "getCoreV1APIResources",
        "getAppsAPIGroup",
    ] {
        assert!(ids.contains(&Some(id)), "{id}");
    }
}

/// Rows of an operation and the names of its parameters in the query that it has or lacks.
#[test]
fn parameters_are_those_that_matter() {
    let configmaps = "/api/v1/namespaces/{namespace}/configmaps";
    let rows = [
        (configmaps, "get", "watch", true),
        (configmaps, "get", "allowWatchBookmarks", true),
        (configmaps, "delete", "watch", false),
        (configmaps, "delete", "allowWatchBookmarks", false),
        (configmaps, "delete", "labelSelector", true),
        (configmaps, "delete", "dryRun", true),
        (configmaps, "delete", "pretty", true),
        ("/api/v1/namespaces/{namespace}/pods/{name}/log", "get", "pretty", true),
        ("/api/v1/namespaces/{namespace}/pods/{name}/log", "get", "sinceSeconds", true),
        ("/api/v1/namespaces/{namespace}/pods/{name}/log", "get", "sinceTime", false),
        ("/api/v1/namespaces/{namespace}/pods/{name}/exec", "post", "command", true),
        ("/api/v1/namespaces/{namespace}/pods/{name}/exec", "post", "pretty", false),
        ("/api/v1/nodes/{name}/proxy/{path}", "get", "pretty", false),
    ];
    let document = parse(&v3::group_version(&default_catalog(), "", "v1").expect("served"));
    for (path, method, name, expected) in rows {
        let named = |value: Option<&Value>, prefix: &str| {
            let parameters = value.and_then(|value| value.get("parameters")).and_then(Value::as_list);
            let mut parameters = parameters.unwrap_or_default().iter();
            parameters.any(|one| one.str_at(&["name"]) == name || one.str_at(&["$ref"]).starts_with(prefix))
        };
        let item = document.at(&["paths", path]);
        let found = named(item, "?") || named(item.and_then(|item| item.get(method)), "?");
        assert_eq!(found, expected, "v3: {name} of {method} {path}");
        let item = whole().at(&["paths", path]);
        let prefix = if name == "pretty" { "#/parameters/pretty".to_owned() } else { format!("#/parameters/{name}-") };
        let found = named(item, &prefix) || named(item.and_then(|item| item.get(method)), &prefix);
        assert_eq!(found, expected, "v2: {name} of {method} {path}");
    }
}

#[test]
fn operations_declare_media_types_and_responses() {
    let at = |path: &str, method: &str, below: &[&str]| {
        let found = whole().at(&["paths", path, method]).and_then(|operation| operation.at(below));
        found.cloned().unwrap_or_default()
    };
    let objects = value!(["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]);
    let rows = [
        ("/apis/apps/v1/", objects.clone()),
        ("/api/", objects),
        ("/version/", value!(["application/json"])),
        ("/apis/apps/v1/deployments", value!(["*/*"])),
    ];
    for (path, expected) in rows {
        super::assert_same(path, &at(path, "get", &["consumes"]), &expected);
    }
    let status = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Status";
    let rows = [
        ("/api/v1/namespaces/{name}", status),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}", status),
        ("/api/v1/namespaces/{namespace}/pods/{name}", "#/definitions/io.k8s.api.core.v1.Pod"),
    ];
    for (path, expected) in rows {
        assert_eq!(at(path, "delete", &["responses", "200", "schema", "$ref"]), Value::from(expected), "{path}");
    }
}

/// Rows of type, field and its published schema.
#[test]
fn properties_say_what_the_schema_says() {
    let catalog = default_catalog();
    let document = |group: &str| parse(&v3::group_version(&catalog, group, "v1").expect("served"));
    let (core, apps, services) = (document(""), document("apps"), document("apiregistration.k8s.io"));
    let rows = [
        (&apps, "io.k8s.api.apps.v1.Deployment", "metadata", "default", value!({})),
        (&apps, "io.k8s.api.apps.v1.DeploymentSpec", "replicas", "format", value!("int32")),
        (&apps, "io.k8s.api.apps.v1.DeploymentSpec", "strategy", "x-kubernetes-patch-strategy", value!("retainKeys")),
        (&core, "io.k8s.api.core.v1.PodSpec", "containers", "x-kubernetes-patch-merge-key", value!("name")),
        (&core, "io.k8s.api.core.v1.PodSpec", "containers", "x-kubernetes-list-map-keys", value!(["name"])),
        (&core, "io.k8s.api.core.v1.PodSpec", "containers", "x-kubernetes-list-type", value!("map")),
        (&core, "io.k8s.api.core.v1.PodSpec", "nodeSelector", "x-kubernetes-map-type", value!("atomic")),
        (&core, "io.k8s.api.core.v1.Container", "name", "default", value!("")),
        (&core, "io.k8s.api.core.v1.Container", "command", "items", value!({ "type": "string", "default": "" })),
        (&core, "io.k8s.api.core.v1.ContainerPort", "protocol", "default", value!("TCP")),
        (&core, "io.k8s.api.core.v1.ContainerPort", "protocol", "enum", value!(["SCTP", "TCP", "UDP"])),
        (&core, "io.k8s.api.core.v1.ContainerPort", "containerPort", "default", value!(0)),
        (&core, "io.k8s.api.core.v1.ReplicationControllerSpec", "replicas", "default", value!(1)),
        (&core, "io.k8s.api.core.v1.PodSpec", "schedulerName", "default", Value::Null),
        (&core, "io.k8s.api.core.v1.Probe", "periodSeconds", "default", Value::Null),
        (&apps, "io.k8s.api.apps.v1.DeploymentSpec", "replicas", "default", Value::Null),
        (
            &core,
            "io.k8s.api.core.v1.Secret",
            "data",
            "additionalProperties",
            value!({ "type": "string", "format": "byte" }),
        ),
        (
            &core,
            "io.k8s.api.core.v1.ResourceRequirements",
            "limits",
            "additionalProperties",
            value!({ "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity" }),
        ),
        (
            &core,
            "io.k8s.api.core.v1.PodSpec",
            "securityContext",
            "allOf",
            value!([{ "$ref": "#/components/schemas/io.k8s.api.core.v1.PodSecurityContext" }]),
        ),
        (&core, "io.k8s.api.core.v1.PodList", "items", "type", value!("array")),
        (
            &services,
            "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceSpec",
            "caBundle",
            "x-kubernetes-list-type",
            value!("atomic"),
        ),
    ];
    for (document, ty, field, key, expected) in rows {
        let property = document.at(&["components", "schemas", ty, "properties", field]);
        let property = property.unwrap_or_else(|| panic!("{ty}.{field}"));
        let found = property.get(key);
        super::assert_same(&format!("{ty}.{field} {key}"), found.unwrap_or(&Value::Null), &expected);
    }
}

/// Rows of type and the fields that it requires: those that JSON always includes and that are not optional, and those that are
/// tagged so.
#[test]
fn required_fields_are_listed() {
    let catalog = default_catalog();
    let rows = [
        ("", "v1", "io.k8s.api.core.v1.PodSpec", value!(["containers"])),
        ("", "v1", "io.k8s.api.core.v1.ContainerPort", value!(["containerPort"])),
        ("", "v1", "io.k8s.api.core.v1.Pod", Value::Null),
        ("", "v1", "io.k8s.api.core.v1.ContainerRestartRule", value!(["action"])),
        ("", "v1", "io.k8s.api.core.v1.PodCertificateProjection", value!(["signerName", "keyType"])),
        ("batch", "v1", "io.k8s.api.batch.v1.CronJob", value!(["spec"])),
        ("authentication.k8s.io", "v1", "io.k8s.api.authentication.v1.TokenReviewSpec", value!(["token"])),
        (
            "admissionregistration.k8s.io",
            "v1",
            "io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicySpec",
            Value::Null,
        ),
        (
            "apiextensions.k8s.io",
            "v1",
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec",
            value!(["group", "names", "scope", "versions"]),
        ),
    ];
    for (group, version, ty, expected) in rows {
        let document = parse(&v3::group_version(&catalog, group, version).expect("served"));
        let schema = document.at(&["components", "schemas", ty]).expect("defined");
        super::assert_same(ty, schema.get("required").unwrap_or(&Value::Null), &expected);
    }
}

#[test]
fn kinds_of_every_group_are_listed_for_the_versions_of_the_document() {
    let listed = |document: &Value, place: &str, kind: &str| {
        let name = format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}");
        let types =
            if place.is_empty() { document.get("definitions") } else { document.at(&["components", "schemas"]) };
        let kinds = types.and_then(|types| types.get(&name)).and_then(|ty| ty.get("x-kubernetes-group-version-kind"));
        kinds.and_then(Value::as_list).map_or(0, <[Value]>::len)
    };
    let apps = parse(&v3::group_version(&default_catalog(), "apps", "v1").expect("served"));
    let core = parse(&v3::group_version(&default_catalog(), "", "v1").expect("served"));
    for kind in ["DeleteOptions", "WatchEvent"] {
        assert_eq!(listed(&apps, "v3", kind), 2, "{kind}");
        assert_eq!(listed(&core, "v3", kind), 1, "{kind}");
        assert_eq!(listed(whole(), "", kind), 60, "{kind}");
    }
}

/// Rows of a type and its union.
#[test]
fn unions_name_their_members() {
    let catalog = default_catalog();
    let rows = [
        (
            "",
            "io.k8s.api.core.v1.SeccompProfile",
            value!({ "discriminator": "type", "fields-to-discriminateBy": { "localhostProfile": "LocalhostProfile" } }),
        ),
        (
            "",
            "io.k8s.api.core.v1.PodSchedulingGroup",
            value!({ "fields-to-discriminateBy": { "podGroupName": "PodGroupName" } }),
        ),
        (
            "flowcontrol.apiserver.k8s.io",
            "io.k8s.api.flowcontrol.v1.Subject",
            value!({
                "discriminator": "kind",
                "fields-to-discriminateBy": { "group": "Group", "serviceAccount": "ServiceAccount", "user": "User" },
            }),
        ),
    ];
    for (group, ty, expected) in rows {
        let document = parse(&v3::group_version(&catalog, group, "v1").expect("served"));
        let unions = document.at(&["components", "schemas", ty, "x-kubernetes-unions"]).expect("a union");
        super::assert_same(ty, unions, &Value::List(vec![expected]));
    }
}

#[test]
fn the_server_is_described() {
    const KEYS: PublishedPath = PublishedPath {
        path: "/openid/v1/jwks",
        media_types: &["application/jwk-set+json"],
        operation_id: "getKeys",
        tag: "openid",
        content: "the keys",
    };
    let catalog = default_catalog().of_server(ServerDescription {
        version: EffectiveVersion::emulating(35),
        published: vec![KEYS],
        ..ServerDescription::default()
    });
    let (old, path) = (parse(&v2::json(&catalog, &[])), "/openid/v1/jwks/");
    let index = parse(&v3::index(&catalog, None, &mut |_, make| make()));
    assert!(!index.str_at(&["paths", "openid/v1/jwks", "serverRelativeURL"]).is_empty());
    let new = parse(&v3::document(&catalog, "openid/v1/jwks", None).expect("published"));
    let schema = ["content", "application/jwk-set+json", "schema"];
    for (document, below) in [(&old, &schema[2..]), (&new, &schema[..])] {
        assert_eq!(document.at(&["info", "version"]), Some(&value!("1.35")));
        let operation = document.at(&["paths", path, "get"]).expect("described");
        assert_eq!(operation.str_at(&["operationId"]), "getKeys");
        assert_eq!(operation.get("consumes"), None);
        let content = operation.at(&["responses", "200"]).and_then(|answer| answer.at(below));
        assert_eq!(content, Some(&value!({ "type": "string" })));
    }
    assert_eq!(old.at(&["paths", path, "get", "produces"]), Some(&value!(["application/jwk-set+json"])));
    assert!(new.at(&["components", "schemas"]).is_none() && new.at(&["components", "securitySchemes"]).is_some());
}

#[test]
fn cbor_is_declared_where_it_is_served() {
    let media_types = |serves_cbor: bool| {
        let server = ServerDescription { serves_cbor, ..ServerDescription::default() };
        let document = parse(&v2::json(&default_catalog().of_server(server), &[]));
        let rows = [
            ("/apis/", "get", "produces"),
            ("/apis/apps/v1/", "get", "consumes"),
            ("/apis/apps/v1/deployments", "get", "produces"),
            ("/apis/apps/v1/namespaces/{namespace}/deployments/{name}", "patch", "consumes"),
            ("/apis/apps/v1/namespaces/{namespace}/deployments/{name}", "put", "consumes"),
            ("/api/v1/namespaces/{namespace}/pods/{name}/log", "get", "produces"),
        ];
        rows.map(|(path, method, list)| {
            let list = document.at(&["paths", path, method, list]).and_then(Value::as_list).expect("declared");
            list.iter().filter(|one| one.as_str().is_some_and(|one| one.contains("cbor"))).count()
        })
    };
    assert_eq!(media_types(false), [0; 6]);
    assert_eq!(media_types(true), [0, 1, 2, 1, 0, 1]);
}

#[test]
fn the_index_names_documents_by_their_content() {
    let catalog = default_catalog();
    let index = parse(&v3::index(&catalog, None, &mut |_, make| make()));
    let hash = crate::etag(&v3::document(&catalog, "apis/apps/v1", None).expect("served"));
    assert_eq!(
        index.str_at(&["paths", "apis/apps/v1", "serverRelativeURL"]),
        format!("/openapi/v3/apis/apps/v1?hash={hash}")
    );
    assert_eq!(hash.len(), 128);
    assert!(v3::document(&catalog, "apis/apps/v9", None).is_none());
}

/// A schema that was made at run time, of a resource with a nested object.
pub(super) fn run_time_schema() -> Struct {
    let shared = |text: &str| Text::Shared(Arc::from(text));
    let field = |name: &str, ty: Type| Field {
        name: shared(name),
        proto: 0,
        ty,
        presence: Presence::OmitEmpty,
        inline: false,
        optional: true,
        required: false,
        nullable: false,
        default: None,
        doc: shared(""),
        patch_strategy: "",
        patch_merge_key: "",
        atomic: None,
        gates: &[],
        rules: Slice::Static(&[]),
    };
    let object = |fields: Vec<Field>| Struct {
        name: shared(""),
        module: shared(""),
        doc: shared("A tab."),
        by_name: Slice::Shared((0..fields.len() as u16).collect()),
        fields: Slice::Shared(fields.into()),
        atomic: false,
        form: Form::Plain,
        preserve_unknown: false,
        compiled: Default::default(),
        rules: Slice::Static(&[]),
        union: None,
    };
    let spec = object(vec![field("image", Type::String)]);
    let meta = Ref::Static(pintle_meta::meta::v1::ObjectMeta::schema);
    object(vec![field("metadata", Type::Struct(meta)), field("spec", Type::Struct(Ref::Shared(Arc::new(spec))))])
}

#[test]
fn custom_resources_have_their_schema_in_place() {
    let mut catalog = default_catalog();
    let model = pintle_groups::find("", "v1", "configmaps").expect("config maps are built in");
    catalog.add(
        DiscoveredResource {
            group: Str::new("stable.example.com"),
            version: Str::new("v1"),
            plural: Str::new("crontabs"),
            kind: Str::new("CronTab"),
            list_kind: Str::new("CronTabList"),
            schema: Ref::Shared(Arc::new(run_time_schema())),
            strategic_patch: false,
            ..DiscoveredResource::from(&**model)
        },
        pintle_resource::VersionPriorities::CUSTOM,
    );
    let document = parse(&v3::document(&catalog, "apis/stable.example.com/v1", None).expect("served"));
    check_references("custom", &document, &["components", "schemas"]);
    assert_eq!(document.str_at(&["info", "title"]), "Kubernetes CRD Swagger");
    let spec = ["components", "schemas", "com.example.stable.v1.CronTab", "properties", "spec"];
    assert_eq!(document.str_at(&[&spec[..], &["properties", "image", "type"]].concat()), "string");
    let list = ["components", "schemas", "com.example.stable.v1.CronTabList", "properties", "items", "type"];
    assert_eq!(document.str_at(&list), "array");
    check_references("v2", &parse(&v2::json(&catalog, &[])), &["definitions"]);
}

/// The schema of a type in the document of a path, with its rules.
fn with_rules(path: &str, name: &str) -> Value {
    let document = parse(&v3::document(&default_catalog(), path, Some(&NO_GATES)).expect("served"));
    document.at(&["components", "schemas", name]).expect("defined").clone()
}

#[test]
fn rules_are_shown_when_asked_for() {
    let spec = with_rules("api/v1", "io.k8s.api.core.v1.ReplicationControllerSpec");
    let plain = parse(&v3::document(&default_catalog(), "api/v1", None).expect("served"));
    let plain = plain.at(&["components", "schemas", "io.k8s.api.core.v1.ReplicationControllerSpec"]).expect("defined");
    let replicas = ["properties", "replicas"];
    assert_eq!(spec.at(&replicas).and_then(|field| field.get("minimum")), Some(&Value::Int(0)));
    assert_eq!(plain.at(&replicas).and_then(|field| field.get("minimum")), None);

    let port = with_rules("api/v1", "io.k8s.api.core.v1.ContainerPort");
    assert_eq!(port.at(&["properties", "containerPort", "maximum"]), Some(&Value::Int(65535)));
    // Absent and zero are the same there, so the keyword would reject valid values.
    assert_eq!(port.at(&["properties", "hostPort", "minimum"]), None);
}

#[test]
fn published_rules_keep_properties_and_resolve() {
    let catalog = everything();
    let index = parse(&v3::index(&catalog, Some(&ALL_GATES), &mut |_, make| make()));
    for (path, entry) in index.get("paths").and_then(Value::as_map).expect("paths").iter() {
        assert!(entry.str_at(&["serverRelativeURL"]).ends_with("&rules=true"), "{entry:?}");
        let shown = parse(&v3::document(&catalog, path, Some(&ALL_GATES)).expect("served"));
        let plain = parse(&v3::document(&catalog, path, None).expect("served"));
        check_references(path, &shown, &["components", "schemas"]);
        let mut count = 0;
        walk("", &plain, &mut |_, _| count += 1);
        walk("", &shown, &mut |key, value| {
            count -= 1;
            // A schema of schemas has a property of this name, too.
            if let ("x-kubernetes-validations", Some(rules)) = (key, value.as_list()) {
                let parens = |rule: &Value, paren| rule.str_at(&["rule"]).matches(paren).count();
                assert!(rules.iter().all(|rule| parens(rule, '(') == parens(rule, ')')), "{path}: {value:?}");
            }
        });
        assert!(count <= 0, "{path}: something is missing");
    }
}

#[test]
fn a_server_may_hide_the_values_of_enumerations() {
    let hiding = ServerDescription { hides_enums: true, ..ServerDescription::default() };
    for (catalog, is_hidden) in [(default_catalog(), false), (default_catalog().of_server(hiding), true)] {
        let new = parse(&v3::document(&catalog, "api/v1", None).expect("served"));
        let old = parse(&v2::json(&catalog, &[]));
        for schemas in [new.at(&["components", "schemas"]), old.get("definitions")] {
            let field = ["io.k8s.api.core.v1.PodSpec", "properties", "restartPolicy"];
            let field = schemas.and_then(|schemas| schemas.at(&field)).expect("described");
            assert_eq!(field.get("enum").is_none(), is_hidden, "{field:?}");
            let description = field.str_at(&["description"]);
            assert_eq!(description.contains("Possible enum values"), !is_hidden, "{description}");
            assert!(!description.is_empty());
        }
    }
}
