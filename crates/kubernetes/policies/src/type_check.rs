//! Checks the expressions of a stored ValidatingAdmissionPolicy against the types of the objects that it names.
//! Guarantees kube-controller-manager's choice of types and its warnings. Must never change what a policy does, and checks
//! no more than a bounded amount of text.

use crate::policy::named;
use pintle_cel::{Decl, Environment, Type};
use pintle_discovery::DiscoveredResource;
use pintle_discovery::openapi::v3;
use pintle_resource::{Resource, ResourceTable};
use pintle_schema::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A rule that names this many types ends the search for more.
const MAX_TYPES: usize = 10;
/// How many bytes of expressions are checked for one policy, each as often as there are types.
const MAX_CHECKED_BYTES: usize = 8 << 20;

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionWarning {
    /// The path of the expression.
    pub field_ref: String,
    /// The faults by type.
    pub warning: String,
}

/// The warnings about a policy, in the order of its validations. `stamp` makes the names of types unlike any other.
pub fn type_check(policy: &Value, table: &ResourceTable, stamp: u32) -> Vec<ExpressionWarning> {
    let spec = policy.get("spec").unwrap_or(&Value::Null);
    let params = spec.get("paramKind").and_then(|kind| {
        let resource = table.of_kind(kind.str_at(&["apiVersion"]), kind.str_at(&["kind"]))?;
        Some(declaration(resource, stamp))
    });
    let types = checked_types(spec, table).into_values();
    let mut checks: Vec<Check> = types.map(|resource| Check::new(spec, &resource, params.as_ref(), stamp)).collect();
    let validations = spec.get("validations").and_then(Value::as_list).unwrap_or_default();
    let mut left = MAX_CHECKED_BYTES;
    let mut warnings = Vec::new();
    for (at, validation) in validations.iter().enumerate() {
        for field in ["expression", "messageExpression"] {
            let text = validation.str_at(&[field]);
            if text.is_empty() && field == "messageExpression" {
                continue;
            }
            let cost = checks.iter().map(|check| check.bytes + text.len()).sum();
            let Some(rest) = left.checked_sub(cost) else { return warnings };
            // Variables are checked once.
            checks.iter_mut().for_each(|check| check.bytes = 0);
            left = rest;
            let faults: Vec<String> = checks.iter().filter_map(|check| check.fault(text)).collect();
            if !faults.is_empty() {
                let field_ref = format!("spec.validations[{at}].{field}");
                warnings.push(ExpressionWarning { field_ref, warning: faults.join("\n") });
            }
        }
    }
    warnings
}

/// The check of expressions against one type.
struct Check {
    /// The type, as warnings name it.
    kind: String,
    environment: Environment,
    /// The length of the variables, which have to be checked first.
    bytes: usize,
}

impl Check {
    fn new(spec: &Value, resource: &Resource, params: Option<&Arc<Decl>>, stamp: u32) -> Check {
        let object = declaration(resource, stamp);
        let declared = Environment::for_type_check(Some(&object), params);
        let mut environment = declared.with_policy_variables(Vec::new());
        let mut bytes = 0;
        for (name, text) in named(spec.get("variables")) {
            bytes += text.len();
            // What is too long, or has a fault, is of any type to those that use it.
            let ty = match bytes <= MAX_CHECKED_BYTES / MAX_TYPES {
                true => environment.check(text).map_or(Type::Error, |checked| checked.output_type()),
                false => Type::Error,
            };
            environment.add_policy_variable(name, &ty);
        }
        let kind = format!("{}/{}, Kind={}", resource.group, resource.version, resource.kind);
        Check { kind, environment, bytes }
    }

    fn fault(&self, text: &str) -> Option<String> {
        let issues = self.environment.check(text).err()?;
        Some(format!("{}: {issues}\n", self.kind))
    }
}

/// What expressions know of the objects of a resource.
fn declaration(resource: &Resource, stamp: u32) -> Arc<Decl> {
    let mut schema = v3::resolved_schema(&DiscoveredResource::from(resource));
    mark_int_or_string(&mut schema);
    Arc::new(Decl::of_openapi(&schema, true, &format!("{}{stamp}", resource.kind)))
}

/// Built-in kinds tell by a format what custom ones tell by an extension.
fn mark_int_or_string(schema: &mut Value) {
    if schema.str_at(&["format"]) == "int-or-string" {
        schema.set_at(&["x-kubernetes-int-or-string"], Value::Bool(true));
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_map_mut) {
        properties.entries_mut().iter_mut().for_each(|(_, property)| mark_int_or_string(property));
    }
    for below in ["additionalProperties", "items"] {
        schema.get_mut(below).into_iter().for_each(mark_int_or_string);
    }
}

/// Group, version and kind, by which types are sorted.
type Kind = [String; 3];

/// The types that the rules of a policy name without wildcards.
fn checked_types(spec: &Value, table: &ResourceTable) -> BTreeMap<Kind, Arc<Resource>> {
    let mut types = BTreeMap::new();
    let rules = spec.at(&["matchConstraints", "resourceRules"]).and_then(Value::as_list).unwrap_or_default();
    for rule in rules {
        let names = |field: &str| {
            let names = rule.get(field).and_then(Value::as_list).unwrap_or_default();
            let mut names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            names.sort_unstable();
            names
        };
        let has_wildcard = |names: &[&str]| names.iter().any(|name| name.contains('*'));
        let (groups, versions, mut resources) = (names("apiGroups"), names("apiVersions"), names("resources"));
        if has_wildcard(&groups) || has_wildcard(&versions) {
            continue;
        }
        resources.retain(|name| !name.contains(['*', '/']));
        let mut count = 0;
        for (group, version, name) in triples(&groups, &versions, &resources) {
            for resource in resources_for(table, group, version, name) {
                let kind = [&resource.group, &resource.version, &resource.kind].map(ToString::to_string);
                types.insert(kind, resource.clone());
                count += 1;
                if count == MAX_TYPES {
                    return types;
                }
            }
        }
    }
    types
}

fn triples<'a>(
    groups: &'a [&'a str],
    versions: &'a [&'a str],
    names: &'a [&'a str],
) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
    groups.iter().flat_map(move |group| {
        versions.iter().flat_map(move |version| names.iter().map(move |name| (*group, *version, *name)))
    })
}

/// The served resources that a rule names, by their plural or singular name. Without a group, those of every group.
fn resources_for<'a>(table: &'a ResourceTable, group: &str, version: &str, name: &str) -> Vec<&'a Arc<Resource>> {
    let name = name.to_lowercase();
    let is_named = |resource: &&Arc<Resource>| {
        (group.is_empty() || resource.group == group)
            && (version.is_empty() || resource.version == version)
            && (resource.plural == name.as_str() || resource.singular == name.as_str())
    };
    let mut found: Vec<_> = table.served().filter(is_named).collect();
    found.sort_by_key(|resource| (&resource.group, &resource.version, &resource.plural));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    fn policy(rules: Value, variables: Value, validations: Value) -> Value {
        value!({"spec": {
            "matchConstraints": {"resourceRules": rules}, "variables": variables, "validations": validations
        }})
    }

    fn rule(group: &str, version: &str, resources: &[&str]) -> Value {
        let resources = Value::List(resources.iter().map(|name| Value::from(*name)).collect());
        value!({"apiGroups": [group], "apiVersions": [version], "resources": resources})
    }

    fn warnings(policy: &Value) -> Vec<(String, String)> {
        let table = pintle_groups::resources();
        let found = type_check(policy, &table.snapshot(), 7);
        found.into_iter().map(|warning| (warning.field_ref, warning.warning)).collect()
    }

    fn of(rules: Value, expression: &str) -> Vec<(String, String)> {
        warnings(&policy(rules, value!([]), value!([{"expression": expression}])))
    }

    #[test]
    fn faults_are_told_for_each_type() {
        let rules = value!([(rule("apps", "v1", &["replicasets", "deployments"]))]);
        let text = "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n | object.replicas > 1\n | ......^\n\n\
            apps/v1, Kind=ReplicaSet: ERROR: <input>:1:7: undefined field 'replicas'\n | object.replicas > 1\n | ......^\n";
        let expected = [("spec.validations[0].expression".to_owned(), text.to_owned())];
        assert_eq!(of(rules.clone(), "object.replicas > 1"), expected);
        assert_eq!(of(rules, "object.spec.replicas > 1"), []);
    }

    #[test]
    fn built_in_types_are_known_field_by_field() {
        for (expression, fault) in [
            ("object.metadata.name == 'a' && oldObject.metadata.labels['x'] == 'y'", None),
            ("object.metadata.creationTimestamp < timestamp('2026-01-01T00:00:00Z')", None),
            ("object.spec.containers.all(c, c.image.startsWith('a'))", None),
            (
                "object.spec.containers[0].ports[0].containerPort == 'a'",
                Some("found no matching overload for '_==_' applied to '(int, string)'"),
            ),
            ("object.spec.containers[0].livenessProbe.httpGet.port == 'a'", None),
            // Quantities have no one type, and what has none is not there.
            ("has(object.spec.containers[0].resources.requests)", Some("undefined field 'requests'")),
            ("object.spec == 1", Some("applied to '(Pod7.spec, int)'")),
            ("authorizer.group('').resource('pods').check('get').allowed()", None),
            ("authorizer.requestResource.check('get').allowed()", Some("requestResource")),
            ("namespaceObject.metadata.name == request.namespace", None),
            ("request.nosuch == 1", Some("undefined field 'nosuch'")),
            ("params.a == 1", Some("undeclared reference to 'params'")),
            ("1 +", Some("Syntax error")),
            ("'a text'", None),
        ] {
            let found = of(value!([(rule("", "v1", &["pods"]))]), expression);
            match fault {
                None => assert_eq!(found, [], "{expression}"),
                Some(fault) => assert!(found.len() == 1 && found[0].1.contains(fault), "{expression}: {found:?}"),
            }
        }
    }

    #[test]
    fn variables_have_types_and_their_own_faults_are_not_told() {
        let rules = value!([(rule("", "v1", &["configmaps"]))]);
        let variables = value!([
            {"name": "n", "expression": "size(object.data)"},
            {"name": "bad", "expression": "object.nosuch"},
            {"name": "sum", "expression": "variables.n + 1"}
        ]);
        for (expression, fault) in [
            ("variables.sum == 2", None),
            ("variables.sum == 'a'", Some("'(int, string)'")),
            ("variables.bad == 1 && variables.bad == 'a'", None),
            ("variables.nosuch", Some("undefined field 'nosuch'")),
        ] {
            let found = warnings(&policy(rules.clone(), variables.clone(), value!([{"expression": expression}])));
            match fault {
                None => assert_eq!(found, [], "{expression}"),
                Some(fault) => assert!(found.len() == 1 && found[0].1.contains(fault), "{expression}: {found:?}"),
            }
        }
    }

    #[test]
    fn messages_and_parameters_are_checked() {
        let mut policy = policy(
            value!([(rule("", "v1", &["secrets"]))]),
            value!([]),
            value!([{"expression": "object.a", "messageExpression": "object.b"}, {"expression": "params.nosuch == 1"}, {"expression": "params.data.x == 'a'"}]),
        );
        policy.set_at(&["spec", "paramKind"], value!({"apiVersion": "v1", "kind": "ConfigMap"}));
        let places: Vec<String> = warnings(&policy).into_iter().map(|(place, _)| place).collect();
        assert_eq!(
            places,
            [
                "spec.validations[0].expression",
                "spec.validations[0].messageExpression",
                "spec.validations[1].expression"
            ]
        );
    }

    #[test]
    fn rules_name_types() {
        let names = |rules: Value| -> Vec<String> {
            let table = pintle_groups::resources();
            let spec = value!({"matchConstraints": {"resourceRules": rules}});
            checked_types(&spec, &table.snapshot()).into_keys().map(|kind| kind.join("/")).collect()
        };
        for (rules, expected) in [
            (value!([]), &[][..]),
            (value!([(rule("apps", "v1", &["*", "deployments/scale"]))]), &[]),
            (value!([(rule("*", "v1", &["deployments"])), (rule("apps", "*", &["deployments"]))]), &[]),
            (
                value!([(rule("apps", "v1", &["deployments"])), (rule("", "v1", &["pods"]))]),
                &["/v1/Pod", "apps/v1/Deployment"],
            ),
            (value!([(rule("apps", "v1", &["deployment", "nosuch"]))]), &["apps/v1/Deployment"]),
            // No group is any group.
            (value!([(rule("", "v1", &["events"]))]), &["/v1/Event", "events.k8s.io/v1/Event"]),
        ] {
            assert_eq!(names(rules.clone()), expected, "{rules:?}");
        }
        let many = [
            "pods",
            "services",
            "secrets",
            "nodes",
            "configmaps",
            "endpoints",
            "events",
            "limitranges",
            "podtemplates",
            "bindings",
            "namespaces",
        ];
        assert_eq!(names(value!([(rule("", "v1", &many)), (rule("apps", "v1", &["deployments"]))])).len(), 10);
    }
}
