//! The file of an audit policy: `audit.k8s.io/v1`, kind `Policy`. Guarantees that a file with an invalid rule is rejected with
//! kube-apiserver's message. Must never evaluate a policy.

use crate::policy::{GroupResources, Level, Policy, Rule, RuleOutcome, Stage, Stages};
use pintle_codec::{Strictness, yaml};
use pintle_meta::meta::v1::{ObjectMeta, TypeMeta};
use pintle_schema::names::dns1123_subdomain;
use pintle_schema::{ApiType, ApiValue, Value};
use pintle_validation::ErrorList;
use std::path::Path;
use tracing::warn;

const API_VERSION: &str = "audit.k8s.io/v1";

/// Why a policy cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("failed to read file path {path:?}: {error}")]
    File { path: String, error: std::io::Error },
    /// The text is no policy.
    #[error("failed decoding: {0}")]
    Decode(String),
    /// It is of another kind.
    #[error("failed decoding: no kind {kind:?} is registered for version {version:?}")]
    Kind { kind: String, version: String },
    /// Rules are invalid.
    #[error("{0}")]
    Invalid(String),
    /// There is no rule.
    #[error("loaded illegal policy with 0 rules")]
    NoRules,
    /// Any of these, with the file's name.
    #[error("{0}: from file {1}")]
    InFile(Box<PolicyError>, String),
}

/// The rules by which requests are audited.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct PolicyFile {
    /// The kind and API version of the object.
    #[k8s(inline)]
    type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(optional)]
    metadata: ObjectMeta,
    /// The first rule that matches decides.
    #[k8s(always)]
    rules: Vec<PolicyRule>,
    /// Stages without events, for all rules.
    #[k8s(optional)]
    omit_stages: Vec<String>,
    /// Whether objects are recorded without managed fields, unless a rule says otherwise.
    #[k8s(optional)]
    omit_managed_fields: bool,
}

/// Requests and their level.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct PolicyRule {
    /// How much is recorded.
    #[k8s(always)]
    level: String,
    /// User names.
    #[k8s(optional)]
    users: Vec<String>,
    /// Groups of users.
    #[k8s(optional)]
    user_groups: Vec<String>,
    /// Verbs.
    #[k8s(optional)]
    verbs: Vec<String>,
    /// Resources by group.
    #[k8s(optional)]
    resources: Vec<ResourcesOfGroup>,
    /// Namespaces.
    #[k8s(optional)]
    namespaces: Vec<String>,
    /// Paths that name no resource.
    #[k8s(name = "nonResourceURLs", optional)]
    non_resource_urls: Vec<String>,
    /// Stages without events.
    #[k8s(optional)]
    omit_stages: Vec<String>,
    /// Whether objects are recorded without managed fields.
    #[k8s(optional)]
    omit_managed_fields: Option<bool>,
}

/// Resources of a group.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct ResourcesOfGroup {
    /// The group; empty for the core group.
    #[k8s(optional)]
    group: String,
    /// The resources.
    #[k8s(optional)]
    resources: Vec<String>,
    /// The names of objects.
    #[k8s(optional)]
    resource_names: Vec<String>,
}

impl Policy {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is no valid policy.
    pub fn read(path: &Path) -> Result<Policy, PolicyError> {
        let name = path.display().to_string();
        let text = std::fs::read(path).map_err(|error| PolicyError::File { path: name.clone(), error })?;
        Policy::parse(&text).map_err(|error| PolicyError::InFile(Box::new(error), name))
    }

    /// Reads a policy from JSON or YAML. Fields that are unknown or repeated cause a warning only.
    ///
    /// # Errors
    /// It is no valid policy.
    pub fn parse(text: &[u8]) -> Result<Policy, PolicyError> {
        let failed = |error: &dyn std::fmt::Display| PolicyError::Decode(error.to_string());
        let head = yaml::parse(text, Strictness::Ignore).map_err(|error| failed(&error))?.value;
        let (version, kind) = (head.str_at(&["apiVersion"]), head.str_at(&["kind"]));
        if (version, kind) != (API_VERSION, "Policy") {
            return Err(PolicyError::Kind { kind: kind.to_owned(), version: version.to_owned() });
        }
        let decoded = yaml::decode(PolicyFile::schema(), text, Strictness::Collect).map_err(|error| failed(&error))?;
        if !decoded.problems.is_empty() {
            let problems: Vec<String> = decoded.problems.iter().map(ToString::to_string).collect();
            let err = problems.join(", ");
            warn!(err, "Audit policy contains errors, falling back to lenient decoding");
        }
        let file = PolicyFile::from_value(&decoded.value).map_err(|error| failed(&error))?;
        let errors = validate(&file);
        if !errors.is_empty() {
            return Err(PolicyError::Invalid(errors.summary()));
        }
        if file.rules.is_empty() {
            return Err(PolicyError::NoRules);
        }
        Ok(compiled(file))
    }
}

fn compiled(file: PolicyFile) -> Policy {
    let omit_stages = stages(&file.omit_stages);
    let omit_managed_fields = file.omit_managed_fields;
    let rule = |rule: PolicyRule| Rule {
        outcome: RuleOutcome {
            level: level(&rule.level).unwrap_or(Level::None),
            omit_stages: omit_stages.union(stages(&rule.omit_stages)),
            omit_managed_fields: rule.omit_managed_fields.unwrap_or(omit_managed_fields),
        },
        users: rule.users,
        user_groups: rule.user_groups,
        verbs: rule.verbs,
        resources: rule.resources.into_iter().map(of_group).collect(),
        namespaces: rule.namespaces,
        non_resource_urls: rule.non_resource_urls,
    };
    let otherwise = RuleOutcome { level: Level::None, omit_stages, omit_managed_fields };
    Policy { rules: file.rules.into_iter().map(rule).collect(), otherwise }
}

fn of_group(of: ResourcesOfGroup) -> GroupResources {
    GroupResources { group: of.group, resources: of.resources, names: of.resource_names }
}

fn level(name: &str) -> Option<Level> {
    Level::ALL.into_iter().find(|level| level.name() == name)
}

fn stages(names: &[String]) -> Stages {
    let named = |name: &String| Stage::ALL.into_iter().find(|stage| stage.name() == name);
    names.iter().filter_map(named).collect()
}

fn validate(file: &PolicyFile) -> ErrorList {
    let mut errors = ErrorList::default();
    validate_stages(&file.omit_stages, "omitStages", &mut errors);
    for (index, rule) in file.rules.iter().enumerate() {
        let at = |field: &str| format!("rules[{index}].{field}");
        match rule.level.as_str() {
            "" => errors.required(at("level"), ""),
            name if level(name).is_none() => {
                errors.not_supported(at("level"), name, &Level::ALL.map(Level::name));
            }
            _ => {}
        }
        validate_urls(&rule.non_resource_urls, &at("nonResourceURLs"), &mut errors);
        for of in &rule.resources {
            validate_resources(of, &at("resources"), &mut errors);
        }
        validate_stages(&rule.omit_stages, &at("omitStages"), &mut errors);
        let is_of_resources = !rule.resources.is_empty() || !rule.namespaces.is_empty();
        if !rule.non_resource_urls.is_empty() && is_of_resources {
            let why = "rules cannot apply to both regular resources and non-resource URLs";
            errors.invalid(at("nonResourceURLs"), list(&rule.non_resource_urls), why);
        }
    }
    errors
}

fn list(texts: &[String]) -> Value {
    Value::List(texts.iter().map(|text| text.as_str().into()).collect())
}

fn validate_urls(urls: &[String], at: &str, errors: &mut ErrorList) {
    for (index, url) in urls.iter().enumerate().filter(|(_, url)| *url != "*") {
        let at = format!("{at}[{index}]");
        if !url.starts_with('/') {
            errors.invalid(&at, url.as_str(), "non-resource URL rules must begin with a '/' character");
        }
        let mut before_last = url.chars();
        before_last.next_back();
        if before_last.as_str().contains('*') {
            errors.invalid(&at, url.as_str(), "non-resource URL wildcards '*' must be the final character of the rule");
        }
    }
}

fn validate_resources(of: &ResourcesOfGroup, at: &str, errors: &mut ErrorList) {
    if !of.group.is_empty() && of.group != "*" {
        let messages = dns1123_subdomain(&of.group);
        if !messages.is_empty() {
            errors.invalid(format!("{at}.group"), of.group.as_str(), messages.join(","));
        }
    }
    if !of.resource_names.is_empty() && of.resources.is_empty() {
        let why = "using resourceNames requires at least one resource";
        errors.invalid(format!("{at}.resourceNames"), list(&of.resource_names), why);
    }
}

fn validate_stages(names: &[String], at: &str, errors: &mut ErrorList) {
    for (index, name) in names.iter().enumerate() {
        if Stage::ALL.iter().all(|stage| stage.name() != name) {
            let allowed = Stage::ALL.map(Stage::name).join(",");
            errors.invalid(format!("{at}[{index}]"), name.as_str(), format!("allowed stages are {allowed}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";

    #[test]
    fn rules_take_over_what_the_policy_says() {
        let text = "omitStages: [RequestReceived]\nomitManagedFields: true\nunknown: 1\nrules:\n- {level: Metadata}\n\
                    - {level: Request, omitStages: [Panic], omitManagedFields: false}\n";
        let policy = Policy::parse(format!("{HEAD}{text}").as_bytes()).expect("a policy");
        let [first, second] = &policy.rules[..] else { panic!("two rules") };
        assert_eq!((first.outcome.level, first.outcome.omit_managed_fields), (Level::Metadata, true));
        assert_eq!(first.outcome.omit_stages, Stages::from_iter([Stage::RequestReceived]));
        assert_eq!((second.outcome.level, second.outcome.omit_managed_fields), (Level::Request, false));
        assert_eq!(second.outcome.omit_stages, Stages::from_iter([Stage::Panic, Stage::RequestReceived]));
        assert_eq!(policy.otherwise.level, Level::None);
    }

    #[test]
    fn invalid_policies_are_refused() {
        let rows = [
            ("rules: []", "loaded illegal policy with 0 rules"),
            ("rules: [{}]", "rules[0].level: Required value"),
            (
                "rules: [{level: All}]",
                "rules[0].level: Unsupported value: \"All\": supported values: \"None\", \"Metadata\"",
            ),
            (
                "rules: [{level: None, omitStages: [X]}]",
                "rules[0].omitStages[0]: Invalid value: \"X\": allowed stages are",
            ),
            ("rules: [{level: None, nonResourceURLs: [a]}]", "must begin with a '/' character"),
            ("rules: [{level: None, nonResourceURLs: ['/a*b']}]", "must be the final character of the rule"),
            ("rules: [{level: None, nonResourceURLs: [/a], namespaces: [a]}]", "both regular resources"),
            ("rules: [{level: None, resources: [{group: a/v1}]}]", "rules[0].resources.group: Invalid value"),
            ("rules: [{level: None, resources: [{resourceNames: [a]}]}]", "requires at least one resource"),
            ("rules: {", "failed decoding: "),
        ];
        for (text, expected) in rows {
            let error = Policy::parse(format!("{HEAD}{text}\n").as_bytes()).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let other = Policy::parse(b"apiVersion: v1\nkind: Pod\n").expect_err("no policy").to_string();
        assert!(other.contains("no kind \"Pod\" is registered for version \"v1\""), "{other}");
    }
}
