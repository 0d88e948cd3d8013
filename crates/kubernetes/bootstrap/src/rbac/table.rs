//! The types of the tables of roles and bindings, and their conversion to API objects.
//!
//! Verbs, groups and resources are sorted within a rule. Nothing here grants a permission.

use crate::object::metadata;
use pintle_types::meta::v1::{LabelSelector, ObjectMeta};
use pintle_types::rbac::v1::{AggregationRule, PolicyRule, RoleRef, Subject as ApiSubject};
use std::collections::BTreeMap;

/// The API group of roles, bindings, users and groups.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// The label of all objects of these tables.
const BOOTSTRAPPING: (&str, &str) = ("kubernetes.io/bootstrapping", "rbac-defaults");

/// Label prefix by which `admin`, `edit` and `view` find the roles that they consist of.
const AGGREGATE_TO: &str = "rbac.authorization.k8s.io/aggregate-to-";

type Names = &'static [&'static str];

pub(super) const ANY: Names = &["*"];

pub(super) const CREATE: Names = &["create"];
pub(super) const GET: Names = &["get"];
pub(super) const LIST: Names = &["list", "watch"];
pub(super) const MODIFY: Names = &["patch", "update"];
pub(super) const READ: Names = &["get", "list", "watch"];
pub(super) const READ_UPDATE: Names = &["get", "list", "update", "watch"];
pub(super) const READ_WRITE: Names =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
pub(super) const UPDATE: Names = &["update"];
pub(super) const WRITE: Names = &["create", "delete", "deletecollection", "patch", "update"];

pub(super) const ADMISSION: Names = &["admissionregistration.k8s.io"];
pub(super) const APPS: Names = &["apps"];
pub(super) const APPS_AND_EXTENSIONS: Names = &["apps", "extensions"];
pub(super) const AUTHENTICATION: Names = &["authentication.k8s.io"];
pub(super) const AUTHORIZATION: Names = &["authorization.k8s.io"];
pub(super) const AUTOSCALING: Names = &["autoscaling"];
pub(super) const BATCH: Names = &["batch"];
pub(super) const CERTIFICATES: Names = &["certificates.k8s.io"];
pub(super) const COORDINATION: Names = &["coordination.k8s.io"];
pub(super) const CORE: Names = &[""];
pub(super) const CORE_AND_EVENTS: Names = &["", "events.k8s.io"];
pub(super) const DISCOVERY: Names = &["discovery.k8s.io"];
pub(super) const EXTENSIONS: Names = &["extensions"];
pub(super) const NETWORKING: Names = &["networking.k8s.io"];
pub(super) const POLICY: Names = &["policy"];
pub(super) const RBAC: Names = &[GROUP];
pub(super) const RESOURCE: Names = &["resource.k8s.io"];
pub(super) const STORAGE: Names = &["storage.k8s.io"];

/// Reporting events, which nearly every component does.
pub(super) const EVENTS: Rule = rule(&["create", "patch", "update"], CORE_AND_EVENTS, &["events"]);

/// A permission.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    verbs: Names,
    groups: Names,
    resources: Names,
    names: Names,
    urls: Names,
}

/// The verbs on the resources of the groups.
pub(super) const fn rule(verbs: Names, groups: Names, resources: Names) -> Rule {
    Rule { verbs, groups, resources, names: &[], urls: &[] }
}

/// The verbs on URLs that are no resources.
pub(super) const fn urls(verbs: Names, urls: Names) -> Rule {
    Rule { verbs, groups: &[], resources: &[], names: &[], urls }
}

impl Rule {
    /// The same for objects of these names only.
    pub(super) const fn named(self, names: Names) -> Rule {
        Rule { names, ..self }
    }

    pub(super) fn policy(&self) -> PolicyRule {
        PolicyRule {
            verbs: texts(self.verbs),
            api_groups: texts(self.groups),
            resources: texts(self.resources),
            resource_names: texts(self.names),
            non_resource_urls: texts(self.urls),
        }
    }
}

pub(super) fn policies(rules: &[Rule]) -> Vec<PolicyRule> {
    rules.iter().map(Rule::policy).collect()
}

fn texts(names: Names) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A cluster role.
#[derive(Clone, Copy)]
pub(super) struct Role {
    pub name: &'static str,
    pub rules: &'static [Rule],
    /// Consists of the roles that are part of this one of admin, edit and view.
    pub consists_of: Option<&'static str>,
    /// Is part of this one of admin, edit and view.
    pub part_of: Option<&'static str>,
}

pub(super) const fn role(name: &'static str, rules: &'static [Rule]) -> Role {
    Role { name, rules, consists_of: None, part_of: None }
}

/// A role that consists of others.
pub(super) const fn aggregate(name: &'static str, consists_of: &'static str) -> Role {
    Role { name, rules: &[], consists_of: Some(consists_of), part_of: None }
}

impl Role {
    pub(super) const fn part_of(self, aggregate: &'static str) -> Role {
        Role { part_of: Some(aggregate), ..self }
    }

    pub(super) fn metadata(&self) -> ObjectMeta {
        let mut metadata = managed(self.name, "");
        if let Some(aggregate) = self.part_of {
            metadata.labels.insert(format!("{AGGREGATE_TO}{aggregate}"), "true".to_owned());
        }
        metadata
    }

    pub(super) fn aggregation(&self) -> Option<AggregationRule> {
        let label = format!("{AGGREGATE_TO}{}", self.consists_of?);
        let selector =
            LabelSelector { match_labels: BTreeMap::from([(label, "true".to_owned())]), ..Default::default() };
        Some(AggregationRule { cluster_role_selectors: vec![selector] })
    }
}

/// The subject of a binding.
#[derive(Clone, Copy)]
pub(super) enum Subject {
    User(&'static str),
    Group(&'static str),
    /// A service account of `kube-system`.
    SystemAccount(&'static str),
}

pub(super) const fn user(name: &'static str) -> Subject {
    Subject::User(name)
}

pub(super) const fn group(name: &'static str) -> Subject {
    Subject::Group(name)
}

pub(super) const fn system_account(name: &'static str) -> Subject {
    Subject::SystemAccount(name)
}

impl Subject {
    fn api(self) -> ApiSubject {
        let (kind, api_group, name, namespace) = match self {
            Subject::User(name) => ("User", GROUP, name, ""),
            Subject::Group(name) => ("Group", GROUP, name, ""),
            Subject::SystemAccount(name) => ("ServiceAccount", "", name, "kube-system"),
        };
        ApiSubject {
            kind: kind.to_owned(),
            api_group: api_group.to_owned(),
            name: name.to_owned(),
            namespace: namespace.to_owned(),
        }
    }
}

pub(super) fn subjects(of: &[Subject]) -> Vec<ApiSubject> {
    of.iter().map(|subject| subject.api()).collect()
}

/// Gives the cluster role of the same name to subjects.
pub(super) struct Binding {
    pub name: &'static str,
    pub subjects: &'static [Subject],
}

pub(super) const fn binding(name: &'static str, subjects: &'static [Subject]) -> Binding {
    Binding { name, subjects }
}

/// A role inside a namespace.
pub(super) struct NamespacedRole {
    pub namespace: &'static str,
    pub name: &'static str,
    pub rules: &'static [Rule],
}

/// Gives a role of the binding's namespace to subjects.
pub(super) struct NamespacedBinding {
    pub namespace: &'static str,
    pub name: &'static str,
    pub role: &'static str,
    pub subjects: &'static [Subject],
}

pub(super) fn role_ref(kind: &str, name: &str) -> RoleRef {
    RoleRef { api_group: GROUP.to_owned(), kind: kind.to_owned(), name: name.to_owned() }
}

/// Metadata of an object that later starts may bring up to date.
pub(super) fn managed(name: &str, namespace: &str) -> ObjectMeta {
    metadata(name, namespace, &[BOOTSTRAPPING], &[(crate::reconcile::RBAC_AUTOUPDATE, "true")])
}
