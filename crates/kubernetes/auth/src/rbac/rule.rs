//! One rule of a role, and when it covers a request.
//! Guarantees Kubernetes' reading of wildcards, and that an empty list of verbs, groups or resources covers nothing.
//! Must never treat a name as a pattern: only `*`, `*/subresource` and paths that end in `*` are patterns.

use pintle_auth::{Attributes, Str};

/// What may be done with what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyRule {
    /// The verbs; `*` is all.
    pub verbs: Vec<Str>,
    /// The API groups; `*` is all, empty text the core group.
    pub api_groups: Vec<Str>,
    /// The resources, as `pods`, `pods/log`, `*/scale` or `*`.
    pub resources: Vec<Str>,
    /// The names of objects; none: all of them.
    pub resource_names: Vec<Str>,
    /// The paths that are not about resources, as `/healthz`, `/logs/*` or `*`.
    pub non_resource_urls: Vec<Str>,
}

impl PolicyRule {
    /// Whether the rule covers the request.
    pub fn allows(&self, attributes: &Attributes<'_>) -> bool {
        if !covers(&self.verbs, attributes.verb) {
            return false;
        }
        if !attributes.is_resource {
            return self.covers_path(attributes.path);
        }
        covers(&self.api_groups, attributes.api_group)
            && self.covers_resource(attributes.resource, attributes.subresource)
            && self.covers_name(attributes.name)
    }

    /// The bytes that the rule takes on the heap, at most.
    pub(super) fn heap_bytes(&self) -> usize {
        let lists = [&self.verbs, &self.api_groups, &self.resources, &self.resource_names, &self.non_resource_urls];
        size_of_val(self) + lists.iter().map(|texts| pintle_auth::heap_bytes(texts)).sum::<usize>()
    }

    fn covers_resource(&self, resource: &str, subresource: &str) -> bool {
        let covered = |rule: &Str| match (rule.as_str(), subresource) {
            ("*", _) => true,
            (rule, "") => rule == resource,
            (rule, _) => rule.strip_suffix(subresource).is_some_and(|rest| {
                let of = rest.strip_suffix('/');
                of == Some("*") || of == Some(resource)
            }),
        };
        self.resources.iter().any(covered)
    }

    fn covers_name(&self, name: &str) -> bool {
        self.resource_names.is_empty() || self.resource_names.iter().any(|own| own == name)
    }

    pub(super) fn covers_path(&self, path: &str) -> bool {
        self.non_resource_urls
            .iter()
            .any(|rule| rule == path || (rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*'))))
    }
}

fn covers(list: &[Str], value: &str) -> bool {
    list.iter().any(|own| own == "*" || own == value)
}
