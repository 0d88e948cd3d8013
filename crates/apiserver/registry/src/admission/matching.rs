//! `RequestRules` and `RequestSelectors`: the requests that a policy or a webhook matches, by operation, resource and scope,
//! and by labels of the object and its namespace. Guarantees that rules are evaluated on the names of a request only, without
//! reading or allocating anything.

use super::attributes::kind_of;
use super::{AdmissionRequest, Operation};
use crate::status::{Result, Status};
use crate::{Registry, Target, set_type};
use pintle_resource::{Conversion, Found, Resource, convert_one};
use pintle_schema::label_selector::{Expression, LabelSelector};
use pintle_schema::{Str, Struct, Value, with_shown_empties};
use std::sync::Arc;

const ANY: &str = "*";

/// Names, or all there are.
#[derive(Clone, Debug)]
struct Names(Option<Vec<Str>>);

impl Names {
    fn read(value: &Value, field: &str) -> Names {
        let names: Vec<Str> = texts(value.get(field)).map(Str::from).collect();
        Names((!names.iter().any(|name| name == ANY)).then_some(names))
    }

    fn include(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|names| names.iter().any(|known| known == name))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    All,
    Namespaced,
    Cluster,
}

/// A `RuleWithOperations`, or one with names of objects.
#[derive(Clone, Debug)]
struct Rule {
    operations: Names,
    groups: Names,
    versions: Names,
    /// Resources and subresources.
    resources: Vec<(Str, Str)>,
    scope: Scope,
    /// Empty for all.
    names: Vec<Str>,
}

impl Rule {
    fn read(value: &Value) -> Rule {
        let split = |text: &str| {
            let (resource, subresource) = text.split_once('/').unwrap_or((text, ""));
            (Str::from(resource), Str::from(subresource))
        };
        Rule {
            operations: Names::read(value, "operations"),
            groups: Names::read(value, "apiGroups"),
            versions: Names::read(value, "apiVersions"),
            resources: texts(value.get("resources")).map(split).collect(),
            scope: match value.str_at(&["scope"]) {
                "Namespaced" => Scope::Namespaced,
                "Cluster" => Scope::Cluster,
                _ => Scope::All,
            },
            names: texts(value.get("resourceNames")).map(Str::from).collect(),
        }
    }

    /// Whether a request is meant, were it one for this version of its resource.
    fn includes(&self, request: &AdmissionRequest<'_>, resource: &Resource) -> bool {
        let is = |own: &str, asked: &str| own == asked || own == ANY;
        let is_asked =
            |(plural, subresource): &(Str, Str)| is(plural, &resource.plural) && is(subresource, request.subresource);
        self.resources.iter().any(is_asked)
            && self.groups.include(&resource.group)
            && self.operations.include(request.operation.name())
            && self.versions.include(&resource.version)
            && match self.scope {
                Scope::All => true,
                Scope::Namespaced => resource.namespaced,
                Scope::Cluster => !resource.namespaced,
            }
    }

    fn includes_name(&self, request: &AdmissionRequest<'_>, object: Option<&Value>) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| name == request.name(object))
    }
}

/// Rules, of which one must be met.
#[derive(Clone, Debug, Default)]
pub struct RequestRules {
    rules: Vec<Rule>,
    /// Whether a request for another version of the same resource is no match.
    is_exact: bool,
}

impl RequestRules {
    /// Reads a list of rules, as webhooks and policies have it.
    pub fn read(rules: Option<&Value>, is_exact: bool) -> RequestRules {
        let rules = rules.and_then(Value::as_list).unwrap_or_default();
        RequestRules { rules: rules.iter().map(Rule::read).collect(), is_exact }
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The version of the request's resource that a rule matches; `None` when no rule matches.
    pub fn find(&self, request: &AdmissionRequest<'_>, object: Option<&Value>) -> Option<Arc<Resource>> {
        let own = &request.target.resource;
        let is_met =
            |rule: &Rule, resource: &Resource| rule.includes(request, resource) && rule.includes_name(request, object);
        if self.rules.iter().any(|rule| is_met(rule, own)) {
            return Some(own.clone());
        }
        if self.is_exact || request.target.stored.versions.len() < 2 {
            return None;
        }
        self.rules.iter().find_map(|rule| {
            let others = request.target.stored.versions.iter().filter(|other| !Arc::ptr_eq(other, own));
            let met = others.filter(|other| is_met(rule, other) && is_served(request, other));
            met.min_by_key(|other| rank(request.registry, other)).cloned()
        })
    }
}

fn is_served(request: &AdmissionRequest<'_>, resource: &Resource) -> bool {
    let has_subresource = request.subresource.is_empty() || resource.subresource(request.subresource).is_some();
    let table = request.registry.resources.read();
    has_subresource && matches!(table.find(&resource.group, &resource.version, &resource.plural), Found::Resource(_))
}

/// Orders versions, preferred ones first.
fn rank(registry: &Registry, resource: &Resource) -> std::cmp::Reverse<(i32, i32)> {
    let priorities = registry.resources.read().priorities(&resource.group, &resource.version);
    std::cmp::Reverse((priorities.group.priority, priorities.version))
}

/// The selectors of a webhook or a policy.
#[derive(Clone, Debug)]
pub struct RequestSelectors {
    pub namespaces: LabelSelector,
    pub objects: LabelSelector,
}

impl RequestSelectors {
    /// Reads `namespaceSelector` and `objectSelector` of a struct.
    ///
    /// # Errors
    /// One is no selector.
    pub fn read(value: &Value) -> std::result::Result<RequestSelectors, String> {
        let selector = |field| read_selector(value.get(field)).map_err(|error| error.to_string());
        Ok(RequestSelectors { namespaces: selector("namespaceSelector")?, objects: selector("objectSelector")? })
    }

    /// Whether they select a request. `object` is `None` where there is none, as for deletions.
    ///
    /// # Errors
    /// The namespace does not exist.
    pub fn select(&self, request: &AdmissionRequest<'_>, object: Option<&Value>) -> Result<bool> {
        if !self.objects.is_everything() {
            if request.operation == Operation::Connect {
                // Options have no labels, not even none.
                return Ok(false);
            }
            let selects = |object: Option<&Value>| object.is_some_and(|object| selects(&self.objects, object));
            if !selects(object) && !selects(request.old) {
                return Ok(false);
            }
        }
        if self.namespaces.is_everything() {
            return Ok(true);
        }
        let resource = request.resource();
        if !request.is_about_namespace() && (!resource.namespaced || request.namespace().is_empty()) {
            // Cluster-scoped objects always match.
            return Ok(true);
        }
        if request.is_about_namespace()
            && request.subresource.is_empty()
            && let Some(object) = object
        {
            return Ok(selects(&self.namespaces, object));
        }
        let Some(home) = request.registry.namespace(request.namespace()) else { return Ok(true) };
        let namespace = home.get()?;
        Ok(self.namespaces.matches(|label| namespace.encoded.label(label)))
    }
}

fn selects(selector: &LabelSelector, object: &Value) -> bool {
    let labels = object.at(&["metadata", "labels"]);
    selector.matches(|label| labels?.get(label)?.as_str())
}

/// A `LabelSelector` of `meta/v1`; everything if absent.
pub fn read_selector(
    value: Option<&Value>,
) -> std::result::Result<LabelSelector, pintle_schema::label_selector::LabelSelectorError> {
    let field = |field| value.and_then(|value| value.get(field));
    let labels = field("matchLabels").and_then(Value::as_map);
    let labels = labels.into_iter().flat_map(|labels| labels.iter());
    let expressions = field("matchExpressions").and_then(Value::as_list).unwrap_or_default();
    let values: Vec<Vec<Str>> =
        expressions.iter().map(|expression| texts(expression.get("values")).map(Str::from).collect()).collect();
    let expression = |(expression, values)| Expression {
        key: Value::str_at(expression, &["key"]),
        operator: Value::str_at(expression, &["operator"]),
        values: Vec::as_slice(values),
    };
    LabelSelector::from_parts(
        labels.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default())),
        expressions.iter().zip(&values).map(expression),
    )
}

fn texts(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_str)
}

impl AdmissionRequest<'_> {
    /// The kind that a version of the request's resource, or of its subresource, takes.
    pub fn kind_in<'r>(&self, resource: &'r Resource) -> [&'r str; 3] {
        kind_of(resource, self.subresource)
    }

    /// An object of the version that the write is worked on in, in a version of the resource.
    ///
    /// # Errors
    /// It cannot be converted.
    pub async fn as_version(&self, resource: &Resource, object: &mut Value) -> Result<()> {
        let (version, working) = (resource.api_version(), &self.target.storage().api_version);
        if let Some(conversion) = self.conversion_beside(resource) {
            convert_one(conversion, object, working, &version).await.map_err(Status::not_converted)?;
        }
        set_type(object, &version, &resource.kind);
        Ok(())
    }

    /// The conversion between a version and the working version of the write; `None` if they have the same shape.
    fn conversion_beside<'r>(&'r self, resource: &'r Resource) -> Option<&'r dyn Conversion> {
        let storage = resource.storage.as_ref().filter(|_| !self.is_stored_form(resource))?;
        let is_worked_on = |other: &&Arc<Resource>| other.api_version() == self.target.storage().api_version;
        let beside = || self.target.stored.versions.iter().find(is_worked_on)?.storage.as_ref()?.conversion.as_deref();
        storage.conversion.as_deref().or_else(beside)
    }

    /// An object of a version of the resource, completed by defaults, in the version that the write is worked on in.
    ///
    /// # Errors
    /// It cannot be converted.
    pub async fn as_stored(&self, resource: &Arc<Resource>, object: &mut Value) -> Result<()> {
        let working = &self.target.storage().api_version;
        if resource.storage.as_ref().is_some_and(|storage| storage.api_version == *working) {
            let target = Target { resource: resource.clone(), ..self.target.clone() };
            return self.registry.complete(&target, object).await;
        }
        resource.default_sent(object, self.registry.environment.now_unix());
        if let Some(conversion) = self.conversion_beside(resource) {
            let version = resource.api_version();
            convert_one(conversion, object, &version, working).await.map_err(Status::not_converted)?;
        }
        self.registry.set_type_and_namespace(self.target, object);
        Ok(())
    }

    /// The request's object in the canonical form of a schema, with the lists and maps that were sent empty where that form has
    /// null; `None` if there are none.
    pub fn as_sent(&self, schema: &Struct, object: &Value) -> Option<Value> {
        with_shown_empties(schema, object, self.environment.empties()?)
    }

    /// Whether objects of a version have the form that the write is worked on in.
    pub fn is_stored_form(&self, resource: &Resource) -> bool {
        let storage = self.target.storage();
        storage.kind == resource.kind && storage.api_version == resource.api_version()
    }
}
