//! `RequestContext`: the state of a request from its first byte to its last, shared by all steps. Guarantees that the identity
//! is set once, by authentication, and that warnings and annotations keep their order. Must never make a decision: steps read
//! it and add to it.

use crate::ResourcePath;
use pintle_audit::{Level, Record};
use pintle_auth::{UserInfo, groups};
use pintle_schema::names;
use std::borrow::Cow;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A request, as every step of its way knows it.
#[derive(Debug)]
pub struct RequestContext {
    /// Identifies the request in logs, audit events and responses (`Audit-ID`); empty for the server's own work.
    pub id: String,
    /// When the head of the request had been read.
    pub started: Instant,
    /// The verb of its attributes, as rules of authorization name it; empty for the server's own work.
    pub verb: &'static str,
    /// The client's name from its User-Agent: the default field manager.
    pub agent: String,
    /// The deadline of the response; `None` for long-running requests.
    pub deadline: Option<Instant>,
    /// What its path names; `None` for paths that name no resource, and for the server's own work.
    pub resource_path: Option<ResourcePath>,
    /// Its path, where that names no resource.
    pub other_path: String,
    identity: OnceLock<Identity>,
    audit: OnceLock<Arc<Record>>,
    notes: Mutex<Notes>,
}

/// The authenticated user of a request, and the user that it acts as.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The authenticated user.
    pub original: Arc<UserInfo>,
    /// The user that the request acts as: another one when it impersonates.
    pub user: Arc<UserInfo>,
}

/// Warnings, annotations and timings collected for the end of a request.
#[derive(Debug, Default)]
struct Notes {
    warnings: Vec<String>,
    annotations: Vec<(Cow<'static, str>, String)>,
    timings: Vec<(Step, Duration)>,
}

/// The steps whose time is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Authentication,
    Authorization,
    /// Reading the body.
    Receiving,
    Conversion,
    MutatingAdmission,
    Validation,
    ValidatingAdmission,
    /// Until the write is durable.
    Commit,
}

impl Default for RequestContext {
    fn default() -> Self {
        RequestContext::new("", String::new())
    }
}

impl RequestContext {
    /// A request before authentication.
    pub fn new(verb: &'static str, agent: String) -> Self {
        RequestContext {
            id: String::new(),
            started: Instant::now(),
            verb,
            agent,
            deadline: None,
            resource_path: None,
            other_path: String::new(),
            identity: OnceLock::new(),
            audit: OnceLock::new(),
            notes: Mutex::default(),
        }
    }

    /// Work of the server itself, to which nothing is forbidden.
    pub fn of_server() -> Arc<Self> {
        static SERVER: LazyLock<Arc<UserInfo>> = LazyLock::new(|| {
            let groups = [groups::AUTHENTICATED, groups::MASTERS].map(Into::into);
            Arc::new(UserInfo { name: SERVER_USER.into(), groups: groups.into(), ..UserInfo::default() })
        });
        Arc::new(RequestContext::default().acting_as(SERVER.clone()))
    }

    /// The same request of a user that acts as itself. The user of a request that has one stays.
    #[must_use]
    pub fn acting_as(self, user: Arc<UserInfo>) -> Self {
        self.identify(Identity { original: user.clone(), user });
        self
    }

    /// Sets the identity. Only the first call has an effect.
    pub fn identify(&self, identity: Identity) {
        let _ = self.identity.set(identity);
    }

    /// How many bytes of memory the request's own texts take, for as long as it lasts: its path, its client's name and its user.
    pub fn held_bytes(&self) -> usize {
        let path = self.resource_path.as_ref().map_or(0, |path| {
            let ResourcePath { group, version, namespace, resource, name, subresource, rest, .. } = path;
            [group, version, namespace, resource, name, subresource, rest].iter().map(|part| part.len()).sum()
        });
        let user = self.user();
        let lengths = |texts: &[pintle_auth::Str]| texts.iter().map(|text| text.len()).sum::<usize>();
        let extra = user.extra.iter().map(|(key, values)| key.len() + lengths(values));
        let user = user.name.len() + user.uid.len() + lengths(&user.groups) + extra.sum::<usize>();
        path + self.other_path.len() + self.agent.len() + user
    }

    /// The identity; `None` until the request is authenticated.
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.get()
    }

    /// The user that the request acts as; one without name and groups until it is authenticated.
    pub fn user(&self) -> &Arc<UserInfo> {
        static NOBODY: LazyLock<Arc<UserInfo>> = LazyLock::new(Arc::default);
        self.identity.get().map_or(&NOBODY, |identity| &identity.user)
    }

    /// Sets the audit record. Only the first call has an effect.
    pub fn audited_by(&self, record: Arc<Record>) {
        let _ = self.audit.set(record);
    }

    /// The audit record; `None` if the request is not audited, or has none yet.
    pub fn audit(&self) -> Option<&Arc<Record>> {
        self.audit.get()
    }

    /// Adds a text for a Warning header of the response, also of errors.
    pub fn warn(&self, text: impl Into<String>) {
        self.notes().warnings.push(text.into());
    }

    /// Takes the warnings so far.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.notes().warnings)
    }

    /// Adds an annotation to the request's audit events. The first value of a key stays.
    pub fn annotate(&self, key: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        let (key, mut notes) = (key.into(), self.notes());
        if notes.annotations.iter().all(|(known, _)| *known != key) {
            notes.annotations.push((key, value.into()));
        }
    }

    /// Adds an annotation whose key comes from outside: without effect unless it is a DNS name, a slash and a name.
    pub fn annotate_from_outside(&self, key: String, value: impl Into<String>) {
        if key.contains('/') && names::label_key(&key).is_empty() {
            self.annotate(key, value);
        }
    }

    /// Adds an annotation that shows what is in the request's body, if its audit events show bodies.
    pub fn annotate_body(&self, key: impl Into<Cow<'static, str>>, value: impl FnOnce() -> String) {
        if self.audit().is_some_and(|record| record.level() >= Level::Request) {
            self.annotate(key, value());
        }
    }

    /// The annotations of the request's audit events, in the order in which they came.
    pub fn annotations(&self) -> Vec<(Cow<'static, str>, String)> {
        self.notes().annotations.clone()
    }

    /// Adds the time that a step took since it began.
    pub fn spent(&self, step: Step, since: Instant) {
        let took = since.elapsed();
        let mut notes = self.notes();
        match notes.timings.iter_mut().find(|(known, _)| *known == step) {
            Some((_, sum)) => *sum += took,
            None => notes.timings.push((step, took)),
        }
    }

    /// How long each step took, in the order in which they first ended.
    pub fn timings(&self) -> Vec<(Step, Duration)> {
        self.notes().timings.clone()
    }

    fn notes(&self) -> std::sync::MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The user name of the server itself.
pub const SERVER_USER: &str = "system:apiserver";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identity_is_set_once() {
        let user = |name: &str| Arc::new(UserInfo { name: name.into(), ..UserInfo::default() });
        let context = RequestContext::default();
        assert_eq!(context.user().name, "");
        context.identify(Identity { original: user("alice"), user: user("bob") });
        context.identify(Identity { original: user("eve"), user: user("eve") });
        assert_eq!(context.user().name, "bob");
        assert_eq!(context.identity().map(|identity| identity.original.name.as_str()), Some("alice"));
    }

    #[test]
    fn notes_keep_their_order_and_annotations_their_first_value() {
        let context = RequestContext::default();
        context.warn("one");
        context.warn("two");
        assert_eq!((context.take_warnings(), context.take_warnings()), (vec!["one".into(), "two".into()], vec![]));
        for (key, value) in [("b", "1"), ("a", "2"), ("b", "3")] {
            context.annotate(key, value);
        }
        assert_eq!(context.annotations(), [("b".into(), "1".to_owned()), ("a".into(), "2".to_owned())]);
        for key in ["a.com/Bad Key!", "a.com/b/c", "plain", "/k", "a.com/", "A.com/k", "a.com/k_1"] {
            context.annotate_from_outside(key.to_owned(), "4");
        }
        assert_eq!(context.annotations().get(2..), Some(&[("a.com/k_1".into(), "4".to_owned())][..]));
        let since = Instant::now();
        context.spent(Step::Commit, since);
        context.spent(Step::Commit, since);
        assert_eq!(context.timings().len(), 1);
    }
}
