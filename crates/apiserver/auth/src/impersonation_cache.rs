//! Decisions of the constrained modes of impersonation, kept for a short time. Guarantees that what is kept was allowed, for the
//! same requestor and the same wish, and that the bytes of all entries are bounded. Must never keep a refusal.

use std::time::{Duration, Instant};

use pintle_schema::label_selector::LabelSelector;
use ring::digest::{Context, SHA256};

use crate::authorization::{Attributes, Labels};
use crate::kept::{Kept, Key};
use crate::{Str, UserInfo};

/// How long a decision is kept.
const LIFETIME: Duration = Duration::from_secs(10);

/// Bytes of the decisions: a few for each of thousands of users, at a kilobyte each.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The users that requestors may act as, by the hash of everything that the decisions depended on.
pub(crate) struct ImpersonationCache {
    entries: Kept<(Instant, UserInfo)>,
}

impl Default for ImpersonationCache {
    fn default() -> Self {
        ImpersonationCache { entries: Kept::with_bound(MAX_BYTES) }
    }
}

impl ImpersonationCache {
    /// The user that was allowed before.
    pub fn get(&self, key: &Key, now: Instant) -> Option<UserInfo> {
        self.entries.get(key).filter(|(until, _)| now < *until).map(|(_, user)| user)
    }

    /// Keeps a user that was allowed.
    pub fn keep(&self, key: Key, user: UserInfo, now: Instant) {
        let bytes = user.heap_bytes();
        self.entries.set(key, (now + LIFETIME, user), bytes);
    }
}

/// The key of a whole attempt in one mode: who asks, the user asked for, and the request. `None` when the request has a label
/// selector that cannot be read: such attempts are not kept.
pub(crate) fn request_key(mode: &str, wanted: &UserInfo, request: &Attributes<'_>) -> Option<Key> {
    let mut hasher = Hasher::new("request", mode, wanted, request.user);
    let texts = [request.verb, request.namespace, request.resource, request.subresource, request.name];
    let more =
        [request.api_group, request.api_version, request.path, if request.is_resource { "resource" } else { "" }];
    texts.iter().chain(&more).for_each(|text| hasher.add(text));
    let terms = request.field_selector.map(|selector| selector.terms()).unwrap_or_default();
    hasher.count(terms.len());
    for term in terms {
        hasher.add(&term.field);
        hasher.add(if term.negated { "!=" } else { "=" });
        hasher.add(&term.value);
    }
    match request.label_selector {
        None => {}
        Some(Labels::Parsed(selector)) => hasher.add(&selector.to_string()),
        Some(Labels::Text(text)) => hasher.add(&LabelSelector::parse(text).ok()?.to_string()),
    }
    Some(hasher.key())
}

/// The key of the part of an attempt that does not depend on the request: who asks and the user asked for.
pub(crate) fn user_key(mode: &str, wanted: &UserInfo, requestor: &UserInfo) -> Key {
    Hasher::new("user", mode, wanted, requestor).key()
}

/// Hashes texts, each prefixed with its length, so that no two inputs are equal.
struct Hasher(Context);

impl Hasher {
    fn new(scope: &str, mode: &str, wanted: &UserInfo, requestor: &UserInfo) -> Hasher {
        let mut hasher = Hasher(Context::new(&SHA256));
        hasher.add(scope);
        hasher.add(mode);
        hasher.user(wanted);
        hasher.user(requestor);
        hasher
    }

    fn count(&mut self, count: usize) {
        self.0.update(&count.to_le_bytes());
    }

    fn add(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text.as_bytes());
    }

    fn list(&mut self, texts: &[Str]) {
        self.count(texts.len());
        texts.iter().for_each(|text| self.add(text));
    }

    fn user(&mut self, user: &UserInfo) {
        self.add(&user.name);
        self.add(&user.uid);
        self.list(&user.groups);
        self.count(user.extra.len());
        for (key, values) in &user.extra {
            self.add(key);
            self.list(values);
        }
    }

    fn key(self) -> Key {
        let mut key = [0; 32];
        key.copy_from_slice(self.0.finish().as_ref());
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> UserInfo {
        UserInfo { name: name.into(), ..UserInfo::default() }
    }

    #[test]
    fn decisions_are_kept_for_a_short_time() {
        let cache = ImpersonationCache::default();
        let (now, key) = (Instant::now(), user_key("user-info", &user("joe"), &user("bob")));
        assert_eq!(cache.get(&key, now), None);
        cache.keep(key, user("joe"), now);
        assert_eq!(cache.get(&key, now + LIFETIME - Duration::from_millis(1)), Some(user("joe")));
        assert_eq!(cache.get(&key, now + LIFETIME), None);
    }

    #[test]
    fn users_with_very_many_groups_are_not_kept() {
        let (cache, now) = (ImpersonationCache::default(), Instant::now());
        let grouped = |groups: usize| UserInfo { groups: vec!["g".into(); groups], ..user("joe") };
        for groups in [1, 1000, 100_000] {
            let key = user_key("user-info", &grouped(groups), &user("bob"));
            cache.keep(key, grouped(groups), now);
            assert_eq!(cache.get(&key, now).is_some(), groups < 100_000, "{groups}");
        }
    }

    #[test]
    fn keys_depend_on_all_that_decides() {
        let (bob, joe) = (user("bob"), user("joe"));
        let list = Attributes::resource(&bob, "list", "", "pods");
        let key = |mode: &str, wanted: &UserInfo, request: &Attributes<'_>| request_key(mode, wanted, request);
        let base = key("user-info", &joe, &list);
        assert!(base.is_some());
        let grouped = UserInfo { groups: vec!["g".into()], ..joe.clone() };
        let others = [
            key("serviceaccount", &joe, &list),
            key("user-info", &grouped, &list),
            key("user-info", &joe, &Attributes { user: &joe, ..list }),
            key("user-info", &joe, &Attributes { verb: "get", ..list }),
            key("user-info", &joe, &Attributes { namespace: "n", ..list }),
            key("user-info", &joe, &Attributes { name: "n", ..list }),
            key("user-info", &joe, &Attributes { label_selector: Some(Labels::Text("a=b")), ..list }),
        ];
        assert!(others.iter().all(|other| other.is_some() && *other != base));
        let spaced = Attributes { label_selector: Some(Labels::Text("a = b")), ..list };
        assert_eq!(key("user-info", &joe, &spaced), others[6]);
        assert_eq!(key("user-info", &joe, &Attributes { label_selector: Some(Labels::Text("a in")), ..list }), None);
    }
}
