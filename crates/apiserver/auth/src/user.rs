//! The user of a request, and the user and group names that have a meaning in Kubernetes.
//! Guarantees nothing about the name's form: identity providers may use any text.
//! Must never hold a credential.

use crate::Str;

/// User names with a meaning in Kubernetes.
pub mod users {
    use pintle_schema::names::{dns1123_label, dns1123_subdomain};

    /// The user of requests without a credential.
    pub const ANONYMOUS: &str = "system:anonymous";
    /// The prefix of the user name of every service account: `system:serviceaccount:<namespace>:<name>`.
    pub const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";

    /// The prefix of the user name of every node: `system:node:<name>`.
    pub const NODE_PREFIX: &str = "system:node:";

    /// The user name of a service account.
    pub fn service_account(namespace: &str, name: &str) -> crate::Str {
        format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}").into()
    }

    /// Namespace and name of the service account that has this user name.
    pub fn as_service_account(user: &str) -> Option<(&str, &str)> {
        let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT_PREFIX)?.split_once(':')?;
        let valid = dns1123_label(namespace).is_empty() && dns1123_subdomain(name).is_empty();
        valid.then_some((namespace, name))
    }

    /// The node that has this user name.
    pub fn as_node(user: &str) -> Option<&str> {
        user.strip_prefix(NODE_PREFIX).filter(|name| dns1123_subdomain(name).is_empty())
    }
}

/// Groups with a meaning in Kubernetes.
pub mod groups {
    /// May do everything; no authorizer is called.
    pub const MASTERS: &str = "system:masters";
    /// All users with a credential.
    pub const AUTHENTICATED: &str = "system:authenticated";
    /// All requests without a credential.
    pub const UNAUTHENTICATED: &str = "system:unauthenticated";
    /// All nodes.
    pub const NODES: &str = "system:nodes";

    /// The groups of the service accounts of a namespace.
    pub fn of_service_accounts(namespace: &str) -> Vec<crate::Str> {
        vec!["system:serviceaccounts".into(), format!("system:serviceaccounts:{namespace}").into()]
    }
}

/// The key in [`UserInfo::extra`] of the credential's id.
pub const CREDENTIAL_ID_KEY: &str = "authentication.kubernetes.io/credential-id";

/// The key in [`UserInfo::extra`] of the node on which a service account's pod runs.
pub const NODE_NAME_KEY: &str = "authentication.kubernetes.io/node-name";

/// A user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// The name that identifies the user.
    pub name: Str,
    /// Distinguishes users that have the same name at different times; often empty.
    pub uid: Str,
    /// The groups the user is in, in the order the credential gives them.
    pub groups: Vec<Str>,
    /// Further attributes, sorted by key.
    pub extra: Vec<(Str, Vec<Str>)>,
}

impl UserInfo {
    /// The user of requests without a credential.
    pub fn anonymous() -> UserInfo {
        UserInfo {
            name: Str::new_static(users::ANONYMOUS),
            groups: vec![Str::new_static(groups::UNAUTHENTICATED)],
            ..UserInfo::default()
        }
    }

    /// Whether the user is in a group.
    pub fn in_group(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// The bytes that the user takes on the heap, at most.
    pub fn heap_bytes(&self) -> usize {
        let extra = self.extra.iter().map(|(key, values)| size_of_val(values) + key.len() + heap_bytes(values));
        size_of_val(self) + self.name.len() + self.uid.len() + heap_bytes(&self.groups) + extra.sum::<usize>()
    }

    /// The user with the group of all authenticated users. An anonymous user stays as it is.
    pub fn authenticated(mut self) -> UserInfo {
        let exempt = self.name == users::ANONYMOUS
            || self.in_group(groups::AUTHENTICATED)
            || self.in_group(groups::UNAUTHENTICATED);
        if !exempt {
            self.groups.push(Str::new_static(groups::AUTHENTICATED));
        }
        self
    }
}

/// The bytes that a list of texts takes on the heap, at most.
pub fn heap_bytes(texts: &[Str]) -> usize {
    texts.iter().map(|text| size_of_val(text) + text.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_the_authenticated_is_added_once_and_last() {
        let rows: [(&str, &[&str], &[&str]); 4] = [
            ("alice", &[], &["system:authenticated"]),
            ("alice", &["a"], &["a", "system:authenticated"]),
            ("alice", &["system:authenticated", "a"], &["system:authenticated", "a"]),
            ("system:anonymous", &["system:unauthenticated"], &["system:unauthenticated"]),
        ];
        for (name, before, after) in rows {
            let user =
                UserInfo { name: name.into(), groups: before.iter().map(Str::new).collect(), ..UserInfo::default() };
            assert_eq!(user.authenticated().groups, after);
        }
    }
}
