//! Which requests rules and selectors are about.

use super::{AdmissionRequest, Operation, RequestRules, RequestSelectors};
use crate::{Charges, RequestContext, WriteOptions, testing};
use pintle_schema::{Value, value};
use pintle_validation::ValidationEnvironment;
use std::sync::Arc;

struct Asked {
    resource: [&'static str; 3],
    subresource: &'static str,
    operation: Operation,
    namespace: &'static str,
    name: &'static str,
}

const CONFIG_MAP: Asked = Asked {
    resource: ["", "v1", "configmaps"],
    subresource: "",
    operation: Operation::Create,
    namespace: "n",
    name: "",
};

fn with_request<T>(asked: &Asked, ask: impl FnOnce(&AdmissionRequest<'_>) -> T) -> T {
    let registry = testing::registry();
    let target = registry.target_of(asked.resource, asked.namespace, asked.name).expect("a known resource");
    let context = Arc::new(RequestContext::new("create", String::new()));
    let options = WriteOptions { context, ..WriteOptions::default() };
    ask(&AdmissionRequest::new(&registry, &target, asked.subresource, asked.operation, &options, &Charges::default()))
}

fn found(asked: &Asked, rule: Value, is_exact: bool, object: &Value) -> Option<String> {
    let rules = RequestRules::read(Some(&value!([(rule)])), is_exact);
    with_request(asked, |request| rules.find(request, Some(object)).map(|resource| resource.api_version()))
}

#[test]
fn rules_name_operations_resources_scopes_and_objects() {
    let rule = |field: &str, value: Value| {
        let mut rule = value!({
            "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]
        });
        rule.set_at(&[field], value);
        rule
    };
    let status = Asked { subresource: "status", resource: ["", "v1", "pods"], ..CONFIG_MAP };
    let node = Asked { resource: ["", "v1", "nodes"], namespace: "", ..CONFIG_MAP };
    for (asked, rule, matches) in [
        (&CONFIG_MAP, rule("scope", value!("*")), true),
        (&CONFIG_MAP, rule("scope", value!("Namespaced")), true),
        (&CONFIG_MAP, rule("scope", value!("Cluster")), false),
        (&CONFIG_MAP, rule("operations", value!(["UPDATE", "*"])), true),
        (&CONFIG_MAP, rule("operations", value!(["UPDATE", "DELETE"])), false),
        (&CONFIG_MAP, rule("apiGroups", value!(["apps"])), false),
        (&CONFIG_MAP, rule("apiVersions", value!(["*"])), true),
        (&CONFIG_MAP, rule("resources", value!(["*"])), true),
        (&CONFIG_MAP, rule("resources", value!(["*/*"])), true),
        (&CONFIG_MAP, rule("resources", value!(["configmaps/status"])), false),
        (&CONFIG_MAP, rule("resourceNames", value!(["c"])), true),
        (&CONFIG_MAP, rule("resourceNames", value!(["d"])), false),
        (&status, rule("resources", value!(["pods"])), false),
        (&status, rule("resources", value!(["pods/*"])), true),
        (&status, rule("resources", value!(["*/status"])), true),
        (&node, rule("resources", value!(["nodes"])), true),
    ] {
        let object = value!({"metadata": {"name": "c"}});
        assert_eq!(found(asked, rule.clone(), false, &object).is_some(), matches, "{rule:?}");
    }
}

#[test]
fn a_generated_name_counts_once_the_object_has_it() {
    let rule = value!({
        "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "resourceNames": ["c-abcde"]
    });
    let named = value!({"metadata": {"name": "c-abcde", "generateName": "c-"}});
    let unnamed = value!({"metadata": {"generateName": "c-"}});
    assert!(found(&CONFIG_MAP, rule.clone(), false, &named).is_some());
    assert!(found(&CONFIG_MAP, rule, false, &unnamed).is_none());
    let refused = |object: &Value| with_request(&CONFIG_MAP, |request| request.refused_name(Some(object)).to_owned());
    assert_eq!((refused(&named).as_str(), refused(&unnamed).as_str()), ("c-abcde", "c-"));
}

#[test]
fn another_version_of_the_resource_is_found() {
    let asked = Asked { resource: ["autoscaling", "v1", "horizontalpodautoscalers"], ..CONFIG_MAP };
    let rule = |version: &str| {
        value!({
            "operations": ["*"], "apiGroups": ["autoscaling"], "apiVersions": [(version)],
            "resources": ["horizontalpodautoscalers"]
        })
    };
    let object = value!({"metadata": {"name": "c"}});
    assert_eq!(found(&asked, rule("v1"), false, &object).as_deref(), Some("autoscaling/v1"));
    assert_eq!(found(&asked, rule("v2"), false, &object).as_deref(), Some("autoscaling/v2"));
    assert_eq!(found(&asked, rule("v2"), true, &object), None);
    assert_eq!(found(&asked, rule("v3"), false, &object), None);
}

#[test]
fn selectors_look_at_the_object_and_at_namespaces() {
    let read = |value: Value| RequestSelectors::read(&value).expect("selectors");
    let labelled = value!({"metadata": {"name": "c", "labels": {"a": "1"}}});
    let object = read(value!({"objectSelector": {"matchLabels": {"a": "1"}}}));
    let namespace = read(value!({"namespaceSelector": {"matchExpressions": [
        {"key": "a", "operator": "In", "values": ["1", "2"]}
    ]}}));
    with_request(&CONFIG_MAP, |request| {
        assert_eq!(object.select(request, Some(&labelled)).ok(), Some(true));
        assert_eq!(object.select(request, Some(&value!({}))).ok(), Some(false));
        let missing = namespace.select(request, Some(&labelled)).expect_err("no such namespace");
        assert_eq!(missing.message, "namespaces \"n\" not found");
    });
    let unlabelled = read(value!({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}}));
    let exec = Asked {
        resource: ["", "v1", "pods"],
        subresource: "exec",
        operation: Operation::Connect,
        name: "p",
        ..CONFIG_MAP
    };
    with_request(&exec, |request| {
        assert_eq!(unlabelled.select(request, Some(&value!({"container": "c"}))).ok(), Some(false));
    });
    let new = Asked { resource: ["", "v1", "namespaces"], namespace: "", ..CONFIG_MAP };
    with_request(&new, |request| {
        assert_eq!(namespace.select(request, Some(&labelled)).ok(), Some(true));
        assert_eq!(namespace.select(request, Some(&value!({}))).ok(), Some(false));
    });
    let node = Asked { resource: ["", "v1", "nodes"], namespace: "", ..CONFIG_MAP };
    with_request(&node, |request| assert_eq!(namespace.select(request, Some(&value!({}))).ok(), Some(true)));
    assert!(
        RequestSelectors::read(&value!({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "x"}]}}))
            .is_err()
    );
}

struct SentEmpty(Value);

impl ValidationEnvironment for SentEmpty {
    fn empties(&self) -> Option<&Value> {
        Some(&self.0)
    }
}

#[test]
fn lists_that_were_sent_empty_are_shown_where_the_canonical_form_has_null() {
    let endpoints = Asked { resource: ["discovery.k8s.io", "v1", "endpointslices"], ..CONFIG_MAP };
    with_request(&endpoints, |request| {
        let schema = &request.resource().schema;
        let object = value!({"addressType": "IPv4", "endpoints": null, "ports": null});
        assert_eq!(request.as_sent(schema, &object), None, "nothing was sent empty");
        let environment = SentEmpty(value!({"endpoints": []}));
        let request = AdmissionRequest { environment: &environment, ..*request };
        let shown = value!({"addressType": "IPv4", "endpoints": [], "ports": null});
        assert_eq!(request.as_sent(schema, &object), Some(shown));
        let changed = value!({"endpoints": [{"addresses": ["10.0.0.1"]}]});
        assert_eq!(request.as_sent(schema, &changed), None, "it was filled since");
    });
}

#[test]
fn an_object_is_known_by_the_name_that_it_was_sent_with() {
    let asked = Asked { name: "", ..CONFIG_MAP };
    with_request(&asked, |request| {
        let renamed = value!({"metadata": {"name": "b"}});
        assert_eq!(request.name(Some(&renamed)), "b", "it had no name");
        let request = AdmissionRequest { sent_name: "a", ..*request };
        assert_eq!(request.name(Some(&renamed)), "a");
    });
}
