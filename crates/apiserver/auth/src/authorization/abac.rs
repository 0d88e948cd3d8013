//! The ABAC authorizer: policies from a file, one per line, each of which allows a subject to do something. Guarantees that a
//! file with a malformed line gives no policies at all. Must never deny: other authorizers decide about requests that no policy
//! allows.

use super::{Attributes, Authorizer, Decision, NonResourceRule, Reason, ResourceRule, UserRules};
use crate::user::groups;
use crate::{Str, UserInfo};
use arc_swap::ArcSwap;
use pintle_codec::{Strictness, json};
use pintle_resource::MaybeReady;
use pintle_schema::Value;
use std::sync::Arc;

/// The version of versioned lines.
const VERSION: &str = "abac.authorization.kubernetes.io/v1beta1";
/// The version of lines that do not.
const OLD_VERSION: &str = "abac.authorization.kubernetes.io/v0";
const KIND: &str = "Policy";

/// The policy of one line. `*` matches everything, and an empty text only itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub user: String,
    pub group: String,
    /// Whether only get, list and watch are allowed.
    pub readonly: bool,
    pub api_group: String,
    pub resource: String,
    pub namespace: String,
    /// A path that is not about a resource; with a star at its end, all that begin so.
    pub non_resource_path: String,
}

/// The policies of a file, in its order.
#[derive(Clone, Debug, Default)]
pub struct Policies(pub Vec<Policy>);

/// Why a file is rejected.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {text}: {reason}")]
pub struct PolicyError {
    line: usize,
    text: String,
    reason: String,
}

impl Policies {
    /// Reads a file; empty lines and those that begin with `#` are comments.
    ///
    /// # Errors
    /// A line is no policy.
    pub fn parse(text: &str) -> Result<Policies, PolicyError> {
        let mut policies = Vec::new();
        for (line, text) in text.lines().enumerate() {
            if text.trim().is_empty() || text.trim().starts_with('#') {
                continue;
            }
            let failed = |reason| PolicyError { line: line + 1, text: text.to_owned(), reason };
            policies.push(Policy::parse(text).map_err(failed)?);
        }
        Ok(Policies(policies))
    }

    /// Whether a policy allows a request.
    pub fn allow(&self, attributes: &Attributes<'_>) -> bool {
        self.0.iter().any(|policy| policy.allows(attributes))
    }
}

/// Policies that are replaced when their file changes.
#[derive(Debug, Default)]
pub struct CurrentPolicies(ArcSwap<Policies>);

impl CurrentPolicies {
    pub fn new(policies: Policies) -> CurrentPolicies {
        CurrentPolicies(ArcSwap::from_pointee(policies))
    }

    pub fn replace(&self, policies: Policies) {
        self.0.store(Arc::new(policies));
    }
}

impl Authorizer for CurrentPolicies {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> MaybeReady<'a, Decision> {
        self.0.load().decide(attributes).into()
    }

    fn rules_for<'a>(&'a self, user: &'a UserInfo, namespace: &'a str) -> MaybeReady<'a, UserRules> {
        self.0.load().rules(user, namespace).into()
    }
}

impl Authorizer for Policies {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> MaybeReady<'a, Decision> {
        self.decide(attributes).into()
    }

    fn rules_for<'a>(&'a self, user: &'a UserInfo, namespace: &'a str) -> MaybeReady<'a, UserRules> {
        self.rules(user, namespace).into()
    }
}

impl Policies {
    fn decide(&self, attributes: &Attributes<'_>) -> Decision {
        match self.allow(attributes) {
            true => Decision::Allow(Reason::None),
            false => Decision::no_opinion("No policy matched."),
        }
    }

    /// What policies allow a user in a namespace, as rules. Policies for paths are for a namespace, too.
    fn rules(&self, user: &UserInfo, namespace: &str) -> UserRules {
        let mut rules = UserRules::default();
        let applies =
            |policy: &&Policy| policy.is_about(user) && (policy.namespace == "*" || policy.namespace == namespace);
        for policy in self.0.iter().filter(applies) {
            let verbs: &[&str] = if policy.readonly { &["get", "list", "watch"] } else { &["*"] };
            let verbs: Vec<Str> = verbs.iter().map(Str::new).collect();
            let one = |text: &String| vec![Str::new(text)];
            if !policy.resource.is_empty() {
                rules.resource_rules.push(ResourceRule {
                    verbs: verbs.clone(),
                    api_groups: one(&policy.api_group),
                    resources: one(&policy.resource),
                    resource_names: Vec::new(),
                });
            }
            if !policy.non_resource_path.is_empty() {
                rules
                    .non_resource_rules
                    .push(NonResourceRule { verbs, non_resource_urls: one(&policy.non_resource_path) });
            }
        }
        rules
    }
}

impl Policy {
    fn parse(text: &str) -> Result<Policy, String> {
        let object = json::parse(text.as_bytes(), Strictness::Ignore).map_err(|error| error.to_string())?.value;
        if object.as_map().is_none() {
            return Err("a policy must be an object".to_owned());
        }
        let (version, kind) = (object.str_at(&["apiVersion"]), object.str_at(&["kind"]));
        match (version, kind) {
            (VERSION, KIND) => {
                let null = Value::Null;
                let policy = Policy::read(object.get("spec").unwrap_or(&null))?;
                Ok(if policy.user == "*" || policy.group == "*" { policy.of_everybody() } else { policy })
            }
            ("", _) | (_, "") | (OLD_VERSION, KIND) => Policy::read(&object).map(Policy::renewed),
            _ => Err(format!("no kind {kind:?} is registered for version {version:?}")),
        }
    }

    fn read(fields: &Value) -> Result<Policy, String> {
        let text = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(value) => value.as_str().map(str::to_owned).ok_or_else(|| format!("{name} must be a string")),
        };
        let readonly = match fields.get("readonly") {
            None | Some(Value::Null) => false,
            Some(value) => value.as_bool().ok_or("readonly must be true or false")?,
        };
        Ok(Policy {
            user: text("user")?,
            group: text("group")?,
            readonly,
            api_group: text("apiGroup")?,
            resource: text("resource")?,
            namespace: text("namespace")?,
            non_resource_path: text("nonResourcePath")?,
        })
    }

    fn of_everybody(self) -> Policy {
        Policy { user: String::new(), group: groups::AUTHENTICATED.to_owned(), ..self }
    }

    /// Converts an unversioned line, in which an absent field matches everything.
    fn renewed(self) -> Policy {
        let is_for_all = self.user.is_empty() && self.group.is_empty() || self.user == "*" || self.group == "*";
        let policy = if is_for_all { self.of_everybody() } else { self };
        let or_all = |text: &str| if text.is_empty() { "*" } else { text }.to_owned();
        let non_resource_path = if policy.namespace.is_empty() && policy.resource.is_empty() { "*" } else { "" };
        Policy {
            namespace: or_all(&policy.namespace),
            resource: or_all(&policy.resource),
            api_group: "*".to_owned(),
            non_resource_path: non_resource_path.to_owned(),
            ..policy
        }
    }

    fn allows(&self, attributes: &Attributes<'_>) -> bool {
        let matches = |pattern: &str, value: &str| pattern == "*" || pattern == value;
        let reads = matches!(attributes.verb, "get" | "list" | "watch");
        if !self.is_about(attributes.user) || self.readonly && !reads {
            return false;
        }
        match attributes.is_resource {
            true => {
                matches(&self.namespace, attributes.namespace)
                    && matches(&self.resource, attributes.resource)
                    && matches(&self.api_group, attributes.api_group)
            }
            false => {
                let path = self.non_resource_path.as_str();
                let is_below = path.ends_with('*') && attributes.path.starts_with(path.trim_end_matches('*'));
                matches(path, attributes.path) || is_below
            }
        }
    }

    /// Whether the policy's user and group, if set, match. A policy with neither matches nobody.
    fn is_about(&self, user: &UserInfo) -> bool {
        let is_user = self.user == "*" || self.user == *user.name;
        let is_group = self.group == "*" || user.in_group(&self.group);
        match (self.user.is_empty(), self.group.is_empty()) {
            (true, true) => false,
            (true, false) => is_group,
            (false, true) => is_user,
            (false, false) => is_user && is_group,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str, group: &str) -> UserInfo {
        UserInfo { name: name.into(), groups: vec![group.into(), groups::AUTHENTICATED.into()], ..UserInfo::default() }
    }

    #[test]
    fn lines_without_a_version_leave_out_what_means_all() {
        let rows = [
            ("{}", "alice", true, true, true),
            (r#"{"user":"alice"}"#, "alice", true, true, true),
            (r#"{"user":"alice"}"#, "bob", false, false, false),
            (r#"{"user":"alice","resource":"pods"}"#, "alice", true, true, false),
            (r#"{"user":"*","readonly":true}"#, "bob", true, false, true),
            (r#"{"group":"staff","namespace":"n"}"#, "bob", true, true, false),
            (r#"{"group":"others"}"#, "bob", false, false, false),
            (r#"{"user":"alice","namespace":"other"}"#, "alice", false, false, false),
        ];
        for (line, name, reads, writes, paths) in rows {
            let policies = Policies::parse(line).unwrap_or_else(|error| panic!("{error}"));
            let user = user(name, "staff");
            let pods = |verb| Attributes { namespace: "n", ..Attributes::resource(&user, verb, "", "pods") };
            assert_eq!(policies.allow(&pods("list")), reads, "{line}: reading");
            assert_eq!(policies.allow(&pods("create")), writes, "{line}: writing");
            assert_eq!(policies.allow(&Attributes::non_resource(&user, "get", "/version")), paths, "{line}: paths");
        }
    }

    #[test]
    fn lines_with_a_version_say_all_with_a_star() {
        let rows = [
            (r#"{"user":"alice"}"#, false, false),
            (r#"{"user":"alice","namespace":"*","resource":"*","apiGroup":"*"}"#, true, false),
            (r#"{"user":"alice","namespace":"*","resource":"deployments","apiGroup":"apps"}"#, true, false),
            (r#"{"user":"alice","namespace":"*","resource":"deployments"}"#, false, false),
            (r#"{"group":"*","nonResourcePath":"*"}"#, false, true),
            (r#"{"user":"alice","nonResourcePath":"/ver*"}"#, false, true),
            (r#"{"user":"alice","nonResourcePath":"/version"}"#, false, true),
            (r#"{"user":"alice","group":"others","nonResourcePath":"*"}"#, false, false),
            (r#"{"nonResourcePath":"*"}"#, false, false),
        ];
        let alice = user("alice", "staff");
        for (spec, resources, paths) in rows {
            let line = format!(r#"{{"apiVersion":"{VERSION}","kind":"Policy","spec":{spec}}}"#);
            let policies = Policies::parse(&line).unwrap_or_else(|error| panic!("{error}"));
            let deployments =
                Attributes { namespace: "n", ..Attributes::resource(&alice, "create", "apps", "deployments") };
            assert_eq!(policies.allow(&deployments), resources, "{spec}");
            assert_eq!(policies.allow(&Attributes::non_resource(&alice, "get", "/version")), paths, "{spec}");
        }
    }

    #[test]
    fn rules_are_those_of_the_namespace() {
        let specs = [
            r#"{"user":"alice","namespace":"n","resource":"pods","readonly":true}"#,
            r#"{"user":"alice","resource":"nodes"}"#,
            r#"{"user":"alice","namespace":"*","resource":"*","nonResourcePath":"/x"}"#,
            r#"{"user":"bob","namespace":"*","resource":"secrets"}"#,
        ];
        let lines = specs.map(|spec| format!(r#"{{"apiVersion":"{VERSION}","kind":"Policy","spec":{spec}}}"#));
        let policies = Policies::parse(&lines.join("\n")).unwrap_or_else(|error| panic!("{error}"));
        let alice = user("alice", "staff");
        for (namespace, resources) in [("n", &["pods", "*"][..]), ("m", &["*"][..]), ("", &["nodes", "*"][..])] {
            let rules = policies.rules(&alice, namespace);
            let found: Vec<&str> = rules.resource_rules.iter().map(|rule| rule.resources[0].as_str()).collect();
            assert_eq!((&found[..], rules.non_resource_rules.len()), (resources, 1), "{namespace}");
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        assert_eq!(Policies::parse("# none\n\n  # still none\n").map(|policies| policies.0.len()).ok(), Some(0));
        for (line, reason) in [
            ("{", "line 2: {: "),
            ("[]", "a policy must be an object"),
            (r#"{"user":1}"#, "user must be a string"),
            (r#"{"readonly":"yes"}"#, "readonly must be true or false"),
            (r#"{"apiVersion":"v7","kind":"Policy"}"#, "no kind \"Policy\" is registered for version \"v7\""),
        ] {
            let error = Policies::parse(&format!("# a comment\n{line}")).expect_err(line).to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
