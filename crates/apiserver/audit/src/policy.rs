//! The rules that decide whether a request is audited, and in how much detail.
//! Guarantees that the first rule that matches a request decides. Must never change once it is made.

use pintle_auth::Attributes;

/// The level of detail of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// There is no event.
    None,
    /// User, verb, resource and outcome.
    Metadata,
    /// The object of the request, too.
    Request,
    /// The object of the response, too.
    RequestResponse,
}

impl Level {
    /// All levels, with the least first.
    pub const ALL: [Level; 4] = [Level::None, Level::Metadata, Level::Request, Level::RequestResponse];

    /// The name in policies and events.
    pub fn name(self) -> &'static str {
        match self {
            Level::None => "None",
            Level::Metadata => "Metadata",
            Level::Request => "Request",
            Level::RequestResponse => "RequestResponse",
        }
    }
}

/// The point of a request's way at which an event is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before the request is worked on.
    RequestReceived,
    /// The head of the response of a long-running request is known.
    ResponseStarted,
    /// The response is complete.
    ResponseComplete,
    /// The request made the server panic.
    Panic,
}

impl Stage {
    /// All stages, in the order in which they occur.
    pub const ALL: [Stage; 4] = [Stage::RequestReceived, Stage::ResponseStarted, Stage::ResponseComplete, Stage::Panic];

    /// The name in policies and events.
    pub fn name(self) -> &'static str {
        match self {
            Stage::RequestReceived => "RequestReceived",
            Stage::ResponseStarted => "ResponseStarted",
            Stage::ResponseComplete => "ResponseComplete",
            Stage::Panic => "Panic",
        }
    }
}

/// A set of stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages(u8);

impl Stages {
    /// Whether a stage is in the set.
    pub fn contains(self, stage: Stage) -> bool {
        self.0 & (1 << stage as u8) != 0
    }

    /// The stages of both sets.
    #[must_use]
    pub fn union(self, other: Stages) -> Stages {
        Stages(self.0 | other.0)
    }
}

impl FromIterator<Stage> for Stages {
    fn from_iter<I: IntoIterator<Item = Stage>>(stages: I) -> Self {
        stages.into_iter().fold(Stages::default(), |set, stage| Stages(set.0 | 1 << stage as u8))
    }
}

/// The outcome of the policy for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleOutcome {
    pub level: Level,
    /// Stages without an event.
    pub omit_stages: Stages,
    /// Whether objects in events have no managed fields.
    pub omit_managed_fields: bool,
}

/// Requests, and how they are audited. An empty list matches everything.
#[derive(Clone, Debug)]
pub struct Rule {
    pub users: Vec<String>,
    pub user_groups: Vec<String>,
    pub verbs: Vec<String>,
    pub resources: Vec<GroupResources>,
    /// `""` is that of resources without a namespace.
    pub namespaces: Vec<String>,
    /// Paths; `*` at the end matches everything that begins so.
    pub non_resource_urls: Vec<String>,
    pub outcome: RuleOutcome,
}

/// Resources of a group.
#[derive(Clone, Debug, Default)]
pub struct GroupResources {
    /// `*` is every group.
    pub group: String,
    /// `resource`, `resource/subresource`, `*`, `*/subresource`, `resource/*`; all if empty.
    pub resources: Vec<String>,
    pub names: Vec<String>,
}

/// Rules in their order, and the defaults where none matches.
#[derive(Clone, Debug)]
pub struct Policy {
    pub rules: Vec<Rule>,
    pub otherwise: RuleOutcome,
}

impl Policy {
    /// A policy with one level for all requests.
    pub fn of_level(level: Level) -> Policy {
        let otherwise = RuleOutcome { level, omit_stages: Stages::default(), omit_managed_fields: false };
        Policy { rules: Vec::new(), otherwise }
    }

    /// Evaluates the policy; `has_user` is false if authentication failed.
    pub fn evaluate(&self, attributes: &Attributes<'_>, has_user: bool) -> RuleOutcome {
        let rule = self.rules.iter().find(|rule| rule.matches(attributes, has_user));
        rule.map_or(self.otherwise, |rule| rule.outcome)
    }
}

impl Rule {
    fn matches(&self, of: &Attributes<'_>, has_user: bool) -> bool {
        let any = |list: &[String], text: &str| list.iter().any(|item| item == text);
        let is_user = || has_user && any(&self.users, &of.user.name);
        if !self.users.is_empty() && !is_user() {
            return false;
        }
        let in_group = || has_user && of.user.groups.iter().any(|group| any(&self.user_groups, group));
        if !self.user_groups.is_empty() && !in_group() {
            return false;
        }
        if !self.verbs.is_empty() && !any(&self.verbs, of.verb) {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            return of.is_resource
                && (self.namespaces.is_empty() || any(&self.namespaces, of.namespace))
                && (self.resources.is_empty() || self.resources.iter().any(|resources| resources.matches(of)));
        }
        self.non_resource_urls.is_empty()
            || !of.is_resource && self.non_resource_urls.iter().any(|pattern| path_matches(pattern, of.path))
    }
}

fn path_matches(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => path.starts_with(prefix.trim_end_matches('*')),
        None => pattern == path,
    }
}

impl GroupResources {
    fn matches(&self, of: &Attributes<'_>) -> bool {
        if self.group != "*" && self.group != of.api_group {
            return false;
        }
        if self.resources.is_empty() {
            return true;
        }
        if !self.names.is_empty() && self.names.iter().all(|name| name != of.name) {
            return false;
        }
        self.resources.iter().any(|pattern| resource_matches(pattern, of.resource, of.subresource))
    }
}

/// `resource/*` is also the resource itself.
fn resource_matches(pattern: &str, resource: &str, subresource: &str) -> bool {
    match pattern.split_once('/') {
        None => pattern == "*" || subresource.is_empty() && pattern == resource,
        Some((of, "*")) if of == resource => true,
        Some((of, name)) => !subresource.is_empty() && name == subresource && (of == "*" || of == resource),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_auth::UserInfo;

    #[test]
    fn patterns_of_resources() {
        for (pattern, resource, subresource, expected) in [
            ("*", "pods", "log", true),
            ("pods", "pods", "", true),
            ("pods", "pods", "log", false),
            ("pods/log", "pods", "log", true),
            ("pods/log", "pods", "", false),
            ("*/log", "pods", "log", true),
            ("*/log", "pods", "", false),
            ("pods/*", "pods", "log", true),
            ("pods/*", "pods", "", true),
            ("pods/*", "nodes", "", false),
        ] {
            assert_eq!(
                resource_matches(pattern, resource, subresource),
                expected,
                "{pattern} {resource}/{subresource}"
            );
        }
    }

    #[test]
    fn patterns_of_paths() {
        for (pattern, path, expected) in [
            ("*", "/a", true),
            ("/healthz*", "/healthz/ping", true),
            ("/healthz*", "/healthz", true),
            ("/version", "/version/", false),
            ("/version", "/version", true),
        ] {
            assert_eq!(path_matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let outcome = |level| RuleOutcome { level, omit_stages: Stages::default(), omit_managed_fields: false };
        let rule = |level| Rule {
            users: vec![],
            user_groups: vec![],
            verbs: vec![],
            resources: vec![],
            namespaces: vec![],
            non_resource_urls: vec![],
            outcome: outcome(level),
        };
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let policy = Policy {
            rules: vec![
                Rule { user_groups: texts(&["quiet"]), ..rule(Level::None) },
                Rule { namespaces: texts(&[""]), ..rule(Level::Request) },
                Rule { non_resource_urls: texts(&["/a*"]), ..rule(Level::RequestResponse) },
            ],
            otherwise: outcome(Level::Metadata),
        };
        let quiet = UserInfo { groups: vec!["quiet".into()], ..UserInfo::default() };
        let loud = UserInfo::default();
        let level = |attributes: Attributes<'_>, has_user| policy.evaluate(&attributes, has_user).level;
        assert_eq!(level(Attributes::non_resource(&quiet, "get", "/a"), true), Level::None);
        assert_eq!(level(Attributes::non_resource(&quiet, "get", "/a"), false), Level::RequestResponse);
        assert_eq!(level(Attributes::non_resource(&loud, "get", "/b"), true), Level::Metadata);
        assert_eq!(level(Attributes::resource(&loud, "get", "", "nodes"), true), Level::Request);
        let inside = Attributes { namespace: "a", ..Attributes::resource(&loud, "get", "", "pods") };
        assert_eq!(level(inside, true), Level::Metadata);
    }
}
