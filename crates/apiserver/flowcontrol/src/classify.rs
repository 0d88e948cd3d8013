//! Flow schemas: which priority level a request belongs to, and which flow of it.
//! Guarantees that the first schema that matches, by precedence and then by name, decides, and that every request has a class.
//! Must never change once it is made.

use crate::limits::{Kind, Level, Seats};
use pintle_auth::{Attributes, UserInfo, users};
use std::sync::Arc;

/// What distinguishes the flows of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distinguisher {
    /// They are one.
    None,
    ByUser,
    ByNamespace,
}

impl Distinguisher {
    /// What tells the flow of a request from others of its schema.
    pub fn of<'a>(self, request: &Attributes<'a>) -> &'a str {
        match self {
            Distinguisher::None => "",
            Distinguisher::ByUser => request.user.name.as_str(),
            Distinguisher::ByNamespace => request.namespace,
        }
    }
}

/// Whose requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// `*` is every user.
    User(String),
    /// `*` is every group.
    Group(String),
    /// Namespace and name; `*` is every name.
    ServiceAccount(String, String),
}

impl Subject {
    fn matches(&self, user: &UserInfo) -> bool {
        match self {
            Subject::User(name) => name == "*" || *name == user.name.as_str(),
            Subject::Group(name) => name == "*" || user.in_group(name),
            Subject::ServiceAccount(namespace, name) => {
                let account = user.name.strip_prefix(users::SERVICE_ACCOUNT_PREFIX);
                let account = account.and_then(|account| account.split_once(':'));
                account.is_some_and(|(of, account)| of == namespace && (name == "*" || account == name))
            }
        }
    }
}

/// Requests for resources. A list with `*` alone matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRule {
    pub verbs: Vec<String>,
    pub api_groups: Vec<String>,
    /// `resource` or `resource/subresource`.
    pub resources: Vec<String>,
    /// Whether requests without a namespace match.
    pub cluster_scope: bool,
    pub namespaces: Vec<String>,
}

/// Requests for paths that name no resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NonResourceRule {
    pub verbs: Vec<String>,
    pub urls: Vec<String>,
}

/// Requests of some subjects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyRule {
    pub subjects: Vec<Subject>,
    pub resource_rules: Vec<ResourceRule>,
    pub non_resource_rules: Vec<NonResourceRule>,
}

impl PolicyRule {
    fn matches(&self, request: &Attributes<'_>) -> bool {
        if !self.subjects.iter().any(|subject| subject.matches(request.user)) {
            return false;
        }
        match request.is_resource {
            true => self.resource_rules.iter().any(|rule| rule.matches(request)),
            false => self.non_resource_rules.iter().any(|rule| rule.matches(request)),
        }
    }
}

impl ResourceRule {
    fn matches(&self, request: &Attributes<'_>) -> bool {
        let resource_matches = || {
            is_all(&self.resources)
                || self.resources.iter().any(|pattern| match request.subresource {
                    "" => pattern == request.resource,
                    subresource => pattern.split_once('/') == Some((request.resource, subresource)),
                })
        };
        contains(&self.verbs, request.verb)
            && resource_matches()
            && contains(&self.api_groups, request.api_group)
            && if request.namespace.is_empty() {
                self.cluster_scope
            } else {
                contains(&self.namespaces, request.namespace)
            }
    }
}

impl NonResourceRule {
    fn matches(&self, request: &Attributes<'_>) -> bool {
        contains(&self.verbs, request.verb) && self.urls.iter().any(|url| url_matches(url, request.path))
    }
}

/// A URL matches itself, and everything below it.
fn url_matches(url: &str, path: &str) -> bool {
    let prefix = url.strip_suffix('*').unwrap_or(url);
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    url == "*" || url == path || path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'))
}

fn is_all(list: &[String]) -> bool {
    matches!(list, [only] if only == "*")
}

fn contains(list: &[String], text: &str) -> bool {
    is_all(list) || list.iter().any(|item| item == text)
}

/// A flow schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSchema {
    pub name: String,
    pub uid: String,
    /// Lower ones are asked first.
    pub precedence: i32,
    /// The name of its priority level.
    pub level: String,
    pub distinguisher: Distinguisher,
    pub rules: Vec<PolicyRule>,
}

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class<'a> {
    pub schema: &'a Arc<FlowSchema>,
    /// The position of the schema in the order in which they are asked.
    pub index: usize,
    /// The index of its level.
    pub level: usize,
}

/// All schemas and levels, as requests are classified by them.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    /// By precedence, with the index of their level. Schemas whose level does not exist are left out.
    schemas: Vec<(Arc<FlowSchema>, usize)>,
    levels: Vec<Level>,
    seats: Vec<Seats>,
}

/// The names of what is always there.
const EXEMPT: &str = "exempt";
const CATCH_ALL: &str = "catch-all";

impl Configuration {
    /// Of `total` seats. What requests are classified by when nothing else matches is added if it is not there.
    pub fn new(mut schemas: Vec<Arc<FlowSchema>>, mut levels: Vec<Level>, total: u64) -> Configuration {
        let exempt = Kind::Exempt { nominal_shares: 0, lendable_percent: 0 };
        let catch_all =
            Kind::Limited { nominal_shares: 5, lendable_percent: 0, borrowing_percent: None, queuing: None };
        for (name, kind) in [(EXEMPT, exempt), (CATCH_ALL, catch_all)] {
            if levels.iter().all(|level| level.name != name) {
                levels.push(Level { name: name.to_owned(), uid: String::new(), kind });
            }
        }
        levels.sort_by(|a, b| a.name.cmp(&b.name));
        schemas.sort_by(|a, b| (a.precedence, &a.name).cmp(&(b.precedence, &b.name)));
        let is_missing = |schemas: &[Arc<FlowSchema>], name| schemas.iter().all(|schema| schema.name != name);
        // Before and after all others, whatever their precedence.
        if is_missing(&schemas, EXEMPT) {
            schemas.insert(0, Arc::new(masters()));
        }
        if is_missing(&schemas, CATCH_ALL) {
            schemas.push(Arc::new(everybody()));
        }
        let level_of = |schema: &FlowSchema| levels.binary_search_by(|level| level.name.cmp(&schema.level)).ok();
        let schemas = schemas.into_iter().filter_map(|schema| {
            let level = level_of(&schema)?;
            Some((schema, level))
        });
        let schemas = schemas.collect();
        let seats = Seats::of(&levels, total);
        Configuration { schemas, levels, seats }
    }

    /// Whether a level, or a schema, is always there.
    pub fn is_mandatory(name: &str) -> bool {
        matches!(name, EXEMPT | CATCH_ALL)
    }

    /// The levels, sorted by name.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The seats of the levels, in their order.
    pub fn seats(&self) -> &[Seats] {
        &self.seats
    }

    /// The schemas, in the order in which they are asked, and the index of the level of each.
    pub fn schemas(&self) -> impl Iterator<Item = (&Arc<FlowSchema>, usize)> {
        self.schemas.iter().map(|(schema, level)| (schema, *level))
    }

    /// The class of a request; `None` only for one that is neither authenticated nor anonymous.
    pub fn classify(&self, request: &Attributes<'_>) -> Option<Class<'_>> {
        let matches = |schema: &FlowSchema| schema.rules.iter().any(|rule| rule.matches(request));
        let found = self.schemas.iter().position(|(schema, _)| matches(schema));
        let index = found.or_else(|| self.schemas.iter().rposition(|(schema, _)| schema.name == CATCH_ALL))?;
        self.schemas.get(index).map(|(schema, level)| Class { schema, index, level: *level })
    }
}

fn of_groups(name: &str, precedence: i32, level: &str, groups: &[&str]) -> FlowSchema {
    let all = || vec!["*".to_owned()];
    let rule = PolicyRule {
        subjects: groups.iter().map(|group| Subject::Group((*group).to_owned())).collect(),
        resource_rules: vec![ResourceRule {
            verbs: all(),
            api_groups: all(),
            resources: all(),
            cluster_scope: true,
            namespaces: all(),
        }],
        non_resource_rules: vec![NonResourceRule { verbs: all(), urls: all() }],
    };
    FlowSchema {
        name: name.to_owned(),
        uid: String::new(),
        precedence,
        level: level.to_owned(),
        distinguisher: Distinguisher::ByUser,
        rules: vec![rule],
    }
}

fn masters() -> FlowSchema {
    let schema = of_groups(EXEMPT, 1, EXEMPT, &[pintle_auth::groups::MASTERS]);
    FlowSchema { distinguisher: Distinguisher::None, ..schema }
}

fn everybody() -> FlowSchema {
    use pintle_auth::groups::{AUTHENTICATED, UNAUTHENTICATED};
    of_groups(CATCH_ALL, 10000, CATCH_ALL, &[UNAUTHENTICATED, AUTHENTICATED])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str, groups: &[&str]) -> UserInfo {
        UserInfo {
            name: name.into(),
            groups: groups.iter().map(|group| (*group).into()).collect(),
            ..UserInfo::default()
        }
    }

    #[test]
    fn urls_match_what_is_below_them() {
        for (url, path, expected) in [
            ("*", "/x", true),
            ("/healthz", "/healthz", true),
            ("/healthz", "/healthz/ping", true),
            ("/healthz", "/healthzz", false),
            ("/api/*", "/api/v1", true),
            ("/api/*", "/apis", false),
        ] {
            assert_eq!(url_matches(url, path), expected, "{url} {path}");
        }
    }

    #[test]
    fn the_first_schema_that_matches_decides() {
        let levels = ["high", "low"].map(|name| Level {
            name: name.to_owned(),
            uid: format!("{name}-uid"),
            kind: Kind::Limited { nominal_shares: 10, lendable_percent: 0, borrowing_percent: None, queuing: None },
        });
        let leases = FlowSchema {
            rules: vec![PolicyRule {
                subjects: vec![Subject::ServiceAccount("kube-system".to_owned(), "*".to_owned())],
                resource_rules: vec![ResourceRule {
                    verbs: vec!["get".to_owned()],
                    api_groups: vec!["coordination.k8s.io".to_owned()],
                    resources: vec!["leases".to_owned(), "leases/status".to_owned()],
                    cluster_scope: false,
                    namespaces: vec!["*".to_owned()],
                }],
                ..PolicyRule::default()
            }],
            ..of_groups("leases", 100, "high", &[])
        };
        let dangling = FlowSchema { level: "missing".to_owned(), ..of_groups("dangling", 50, "", &["*"]) };
        let low = of_groups("all-low", 200, "low", &["dev"]);
        let configuration = Configuration::new([low, dangling, leases].map(Arc::new).to_vec(), levels.to_vec(), 600);
        let account = user("system:serviceaccount:kube-system:a", &["system:authenticated"]);
        let lease = |user, verb, subresource, namespace| Attributes {
            subresource,
            namespace,
            ..Attributes::resource(user, verb, "coordination.k8s.io", "leases")
        };
        let name = |request: Attributes<'_>| configuration.classify(&request).map(|class| class.schema.name.clone());
        assert_eq!(name(lease(&account, "get", "", "x")).as_deref(), Some("leases"));
        assert_eq!(name(lease(&account, "get", "status", "x")).as_deref(), Some("leases"));
        assert_eq!(name(lease(&account, "get", "scale", "x")).as_deref(), Some("catch-all"));
        assert_eq!(name(lease(&account, "get", "", "")).as_deref(), Some("catch-all"));
        assert_eq!(name(lease(&account, "update", "", "x")).as_deref(), Some("catch-all"));
        let developer = user("x", &["dev"]);
        assert_eq!(name(lease(&developer, "get", "", "x")).as_deref(), Some("all-low"));
        assert_eq!(
            name(Attributes::non_resource(&user("x", &["system:masters"]), "get", "/")).as_deref(),
            Some("exempt")
        );
        let class = configuration.classify(&lease(&account, "get", "", "x")).expect("a class");
        assert_eq!(configuration.levels()[class.level].uid, "high-uid");
    }

    #[test]
    fn every_schema_finds_its_level() {
        let names: Vec<String> = (0..100).map(|at| format!("level-{at}")).collect();
        let kind = Kind::Limited { nominal_shares: 1, lendable_percent: 0, borrowing_percent: None, queuing: None };
        let level = |name: &String| Level { name: name.clone(), uid: String::new(), kind: kind.clone() };
        let schema = |name: &String| Arc::new(of_groups(name, 50, name, &["*"]));
        let missing = Arc::new(of_groups("missing", 50, "level-100", &["*"]));
        let schemas = names.iter().map(schema).chain([missing]).collect();
        let configuration = Configuration::new(schemas, names.iter().map(level).collect(), 600);
        let found: Vec<_> = configuration.schemas().map(|(schema, level)| (&schema.level, level)).collect();
        assert_eq!(found.len(), names.len() + 2, "all but one, and the mandatory ones");
        assert!(found.iter().all(|(name, level)| configuration.levels()[*level].name == **name), "{found:?}");
    }

    #[test]
    fn missing_mandatory_schemas_stand_first_and_last() {
        let schema = |name: &str, precedence| of_groups(name, precedence, CATCH_ALL, &["*"]);
        let others = [schema("zz", 10000), schema("a", 1)].map(Arc::new).to_vec();
        let configuration = Configuration::new(others, Vec::new(), 600);
        let names: Vec<_> = configuration.schemas().map(|(schema, _)| schema.name.as_str()).collect();
        assert_eq!(names, [EXEMPT, "a", "zz", CATCH_ALL]);
    }
}
