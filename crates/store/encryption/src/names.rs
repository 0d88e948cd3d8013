//! Which resource a storage key belongs to. Guarantees at most two look-ups for each key. Must never be called with a
//! key that lacks the prefix.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

/// A resource of the API, `name.group`; `*` stands for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// "" for the core group.
    pub group: String,
    /// The plural name.
    pub resource: String,
}

impl GroupResource {
    /// All resources of all groups.
    pub const ALL: &'static str = "*.*";

    /// Reads `name.group`, or `name` of the core group.
    #[must_use]
    pub fn parse(text: &str) -> GroupResource {
        let (resource, group) = text.split_once('.').unwrap_or((text, ""));
        GroupResource { group: group.to_owned(), resource: resource.to_owned() }
    }
}

impl fmt::Display for GroupResource {
    /// The name in a configuration: `*.` is all resources of the core group.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.group.as_str(), self.resource.as_str()) {
            ("", "*") => f.write_str("*."),
            ("", resource) => f.write_str(resource),
            (group, resource) => write!(f, "{resource}.{group}"),
        }
    }
}

/// The built-in resources by storage prefix.
#[derive(Debug, Default)]
pub struct Names {
    /// Below the store's prefix, each with its last slash: `services/specs/`.
    built_in: HashMap<String, GroupResource>,
    /// The prefix of all keys: `/registry/`.
    root: String,
    /// The prefix of all keys in the store, if it differs.
    kept_root: Option<String>,
}

impl Names {
    /// `built_in` pairs storage prefixes, such as `/registry/pods/`, with resources; all keys begin with `root`.
    #[must_use]
    pub fn new(root: &str, built_in: impl IntoIterator<Item = (String, GroupResource)>) -> Names {
        let within = |(prefix, name): (String, GroupResource)| Some((prefix.strip_prefix(root)?.to_owned(), name));
        Names { built_in: built_in.into_iter().filter_map(within).collect(), root: root.to_owned(), kept_root: None }
    }

    /// The same, for a store whose keys have another prefix.
    #[must_use]
    pub fn kept_under(self, root: &str) -> Names {
        Names { kept_root: Some(root.to_owned()).filter(|root| *root != self.root), ..self }
    }

    /// The key under which a value is stored, which is authenticated with the value.
    pub(crate) fn kept<'a>(&self, key: &'a str) -> Cow<'a, str> {
        match (&self.kept_root, key.strip_prefix(self.root.as_str())) {
            (Some(root), Some(rest)) => Cow::Owned(format!("{root}{rest}")),
            _ => Cow::Borrowed(key),
        }
    }

    /// The resource of a key; `None` for other data, such as the tables of allocated addresses.
    pub fn of(&self, key: &str) -> Option<GroupResource> {
        let rest = key.strip_prefix(self.root.as_str())?;
        let mut slashes = rest.match_indices('/').map(|(at, _)| at);
        let (first, second) = (slashes.next()?, slashes.next());
        let ends = [second, Some(first)].into_iter().flatten();
        if let Some(known) = ends.filter_map(|end| self.built_in.get(rest.get(..=end)?)).next() {
            return Some(known.clone());
        }
        // Custom resources, and the two kinds that describe them, have their group in the key.
        let (group, resource) = (rest.get(..first)?, rest.get(first + 1..second?)?);
        group.contains('.').then(|| GroupResource { group: group.to_owned(), resource: resource.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_their_resource() {
        let built_in = [("/registry/secrets/", "secrets"), ("/registry/services/specs/", "services")];
        let names = Names::new("/registry/", built_in.map(|(at, name)| (at.to_owned(), GroupResource::parse(name))));
        for (key, expected) in [
            ("/registry/secrets/default/a", Some("secrets")),
            ("/registry/services/specs/default/a", Some("services")),
            ("/registry/stable.example.com/crontabs/default/a", Some("crontabs.stable.example.com")),
            ("/registry/apiregistration.k8s.io/apiservices/v1.", Some("apiservices.apiregistration.k8s.io")),
            ("/registry/ranges/serviceips", None),
            ("/elsewhere/secrets/default/a", None),
        ] {
            assert_eq!(names.of(key).map(|name| name.to_string()).as_deref(), expected, "{key}");
        }
        assert_eq!(GroupResource::parse("*.").to_string(), "*.");
        assert_eq!(GroupResource::parse(GroupResource::ALL).to_string(), "*.*");
    }
}
