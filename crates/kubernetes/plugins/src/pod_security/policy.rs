//! Policies: the level and version of the standards that a namespace's labels select. Guarantees kube-apiserver's
//! interpretation of invalid labels: strict for `enforce`, lenient otherwise. Must never look at a pod.

use pintle_types::config_podsecurity::v1::PodSecurityDefaults;
use pintle_validation::ErrorList;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Privileged,
    Baseline,
    Restricted,
}

const LEVELS: [(&str, Level); 3] =
    [("privileged", Level::Privileged), ("baseline", Level::Baseline), ("restricted", Level::Restricted)];

/// A minor version of Kubernetes 1; the greatest is "latest".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32);

const LATEST: Version = Version(u32::MAX);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    pub level: Level,
    pub version: Version,
}

/// Begins the labels.
const PREFIX: &str = "pod-security.kubernetes.io/";

impl Level {
    pub fn name(self) -> &'static str {
        LEVELS.iter().find(|(_, level)| *level == self).map_or("", |(name, _)| name)
    }
}

impl Policy {
    pub const PRIVILEGED: Policy = Policy { level: Level::Privileged, version: LATEST };
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = self.level.name();
        match self.version {
            LATEST => write!(f, "{level}:latest"),
            Version(minor) => write!(f, "{level}:v1.{minor}"),
        }
    }
}

/// The modes of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policies {
    pub enforce: Policy,
    pub warn: Policy,
    /// Violations are counted; there is no audit log yet.
    pub audit: Policy,
}

/// Labels that cannot be read, with their values and why.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Errors(Vec<(&'static str, String, &'static str)>);

impl Errors {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn as_list(&self) -> ErrorList {
        let mut errors = ErrorList::default();
        for (label, value, why) in &self.0 {
            errors.invalid(format!("metadata.labels[{label}]"), value.as_str(), *why);
        }
        errors
    }
}

impl Default for Policies {
    fn default() -> Self {
        Policies { enforce: Policy::PRIVILEGED, warn: Policy::PRIVILEGED, audit: Policy::PRIVILEGED }
    }
}

impl Policies {
    /// The policies of namespaces without labels.
    ///
    /// # Errors
    /// A level or a version is invalid.
    pub fn from_defaults(defaults: &PodSecurityDefaults) -> Result<Policies, Errors> {
        let policies = |label: &str| {
            let key = label.strip_prefix(PREFIX)?;
            let said = match key {
                "enforce" => &defaults.enforce,
                "enforce-version" => &defaults.enforce_version,
                "audit" => &defaults.audit,
                "audit-version" => &defaults.audit_version,
                "warn" => &defaults.warn,
                _ => &defaults.warn_version,
            };
            Some(said.clone()).filter(|said| !said.is_empty())
        };
        let (policies, errors) = Policies::from_labels(&policies, &Policies::default());
        if errors.is_empty() { Ok(policies) } else { Err(errors) }
    }

    /// Parses the labels of a namespace; missing ones have defaults.
    pub fn from_labels(label: &dyn Fn(&str) -> Option<String>, defaults: &Policies) -> (Policies, Errors) {
        let mut errors = Errors::default();
        // Invalid `enforce` labels fall back to the strictest level, so that no pod gets in by mistake; the
        // others do not.
        let enforce = read(
            label,
            ["pod-security.kubernetes.io/enforce", "pod-security.kubernetes.io/enforce-version"],
            (defaults.enforce, Level::Restricted),
            &mut errors,
        );
        let audit = read(
            label,
            ["pod-security.kubernetes.io/audit", "pod-security.kubernetes.io/audit-version"],
            (defaults.audit, Level::Privileged),
            &mut errors,
        );
        let warn = read(
            label,
            ["pod-security.kubernetes.io/warn", "pod-security.kubernetes.io/warn-version"],
            (defaults.warn, Level::Privileged),
            &mut errors,
        );
        let follows = !warn.has_level && enforce.can_read_level;
        let mut policies = Policies { enforce: enforce.policy, warn: warn.policy, audit: audit.policy };
        if follows && policies.enforce.level > policies.warn.level {
            policies.warn.level = policies.enforce.level;
            if !warn.has_version {
                policies.warn.version = policies.enforce.version;
            }
        }
        (policies, errors)
    }

    pub fn are_privileged(&self) -> bool {
        [self.enforce, self.warn, self.audit].iter().all(|policy| policy.level == Level::Privileged)
    }
}

struct Read {
    policy: Policy,
    has_level: bool,
    can_read_level: bool,
    has_version: bool,
}

fn read(
    label: &dyn Fn(&str) -> Option<String>,
    [level_label, version_label]: [&'static str; 2],
    (policy, otherwise): (Policy, Level),
    errors: &mut Errors,
) -> Read {
    let mut read = Read { policy, has_level: false, can_read_level: false, has_version: false };
    if let Some(text) = label(level_label) {
        read.has_level = true;
        let found = LEVELS.iter().find(|(name, _)| *name == text);
        read.can_read_level = found.is_some();
        read.policy.level = found.map_or(otherwise, |(_, level)| *level);
        if found.is_none() {
            errors.0.push((level_label, text, "must be one of privileged, baseline, restricted"));
        }
    }
    if let Some(text) = label(version_label) {
        read.has_version = true;
        match version(&text) {
            Some(version) => read.policy.version = version,
            None => errors.0.push((version_label, text, "must be \"latest\" or \"v1.x\"")),
        }
    }
    read
}

fn version(text: &str) -> Option<Version> {
    if text == "latest" {
        return Some(LATEST);
    }
    let minor = text.strip_prefix("v1.")?;
    let canonical = minor.bytes().all(|byte| byte.is_ascii_digit()) && (minor == "0" || !minor.starts_with('0'));
    minor.parse().ok().filter(|_| canonical).map(Version)
}
