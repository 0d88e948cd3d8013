//! `Auditor` and `Record`: collect the data of a request and emit its audit events. Guarantees that an event contains what is
//! known at its stage. Must never delay a request for longer than its backends require.

use crate::backend::{Stats, Target};
use crate::event::{Details, Event, ObjectReference, RequestInfo, ResponseStatus};
use crate::kept::{Held, KEPT_BYTES, KeptBytes, RecordedObject, TRUNCATED};
use crate::policy::{Level, Policy, RuleOutcome, Stage};
use arc_swap::ArcSwap;
use bytes::Bytes;
use futures_util::future::join_all;
use pintle_auth::{Attributes, UserInfo};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// The audit log of a server.
pub struct Auditor {
    policy: ArcSwap<Policy>,
    /// All of them are given every event.
    targets: Vec<Target>,
    stats: Arc<Stats>,
    kept: Arc<KeptBytes>,
}

impl Auditor {
    /// Requests are recorded according to the policy, in all backends.
    pub fn new(policy: Policy, targets: Vec<Target>, stats: Arc<Stats>) -> Auditor {
        Auditor { policy: ArcSwap::from_pointee(policy), targets, stats, kept: KeptBytes::new(KEPT_BYTES) }
    }

    /// The same with this bound of the objects that events keep.
    #[must_use]
    pub fn keeping(self, bytes: usize) -> Auditor {
        Auditor { kept: KeptBytes::new(bytes), ..self }
    }

    /// Requests that come from now on are recorded as this policy says.
    pub fn replace_policy(&self, policy: Policy) {
        self.policy.store(Arc::new(policy));
    }

    pub fn stats(&self) -> &Arc<Stats> {
        &self.stats
    }

    /// Begins to record a request; `None` if it is not audited.
    pub fn begin(
        self: &Arc<Self>,
        attributes: &Attributes<'_>,
        request: impl FnOnce() -> RequestInfo,
        has_user: bool,
    ) -> Option<Arc<Record>> {
        let rule = self.policy.load().evaluate(attributes, has_user);
        self.stats.levels[rule.level as usize].increment();
        if rule.level == Level::None {
            return None;
        }
        let object = attributes.is_resource.then(|| {
            Arc::new(ObjectReference {
                resource: attributes.resource.to_owned(),
                namespace: attributes.namespace.to_owned(),
                name: attributes.name.to_owned(),
                api_group: attributes.api_group.to_owned(),
                api_version: attributes.api_version.to_owned(),
                subresource: attributes.subresource.to_owned(),
                ..ObjectReference::default()
            })
        });
        let details = Mutex::new(Details { object, ..Details::default() });
        Some(Arc::new(Record { auditor: self.clone(), rule, request: Arc::new(request()), details }))
    }

    /// Writes and sends everything that waits.
    pub async fn shutdown(&self) {
        join_all(self.targets.iter().map(|target| target.backend.shutdown())).await;
    }
}

/// A request that is audited.
pub struct Record {
    auditor: Arc<Auditor>,
    rule: RuleOutcome,
    request: Arc<RequestInfo>,
    details: Mutex<Details>,
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Record").field("rule", &self.rule).field("request", &self.request).finish_non_exhaustive()
    }
}

impl Record {
    pub fn level(&self) -> Level {
        self.rule.level
    }

    /// Whether objects are recorded without their managed fields.
    pub fn omits_managed_fields(&self) -> bool {
        self.rule.omit_managed_fields
    }

    /// The user that the request acts as, and the kind of constrained impersonation.
    pub fn impersonated(&self, user: Arc<UserInfo>, constraint: impl Into<String>) {
        let mut details = self.details();
        details.impersonated = Some(user);
        details.impersonation_constraint = constraint.into();
    }

    /// The metadata of the request's object. Values from the path have precedence.
    pub fn object(&self, namespace: &str, name: &str, uid: &str, resource_version: &str) {
        let mut details = self.details();
        let reference = Arc::make_mut(details.object.get_or_insert_default());
        for (known, said) in [
            (&mut reference.namespace, namespace),
            (&mut reference.name, name),
            (&mut reference.uid, uid),
            (&mut reference.resource_version, resource_version),
        ] {
            if known.is_empty() {
                said.clone_into(known);
            }
        }
    }

    /// The object of the request, or its patch, as compact JSON.
    pub fn request_object(&self, json: Bytes) {
        if self.rule.level >= Level::Request {
            let object = self.recorded(json);
            self.details().request_object = object;
        }
    }

    /// The object of the response as compact JSON.
    pub fn response_object(&self, json: Bytes) {
        if self.rule.level >= Level::RequestResponse {
            let object = self.recorded(json);
            self.details().response_object = object;
        }
    }

    /// Room for bytes of objects among all that are kept; `None` if there is none.
    pub fn hold(&self, bytes: usize) -> Option<Held> {
        self.auditor.kept.hold(bytes)
    }

    /// An object of the request is left out of its events.
    pub fn truncated(&self) {
        self.details().annotations.insert(TRUNCATED.into(), "true".to_owned());
    }

    /// Whether an object of the request was left out.
    pub fn is_truncated(&self) -> bool {
        self.details().annotations.contains_key(TRUNCATED)
    }

    /// An object, unless there is no room for it.
    fn recorded(&self, json: Bytes) -> Option<RecordedObject> {
        match self.hold(json.len()) {
            Some(held) => Some(RecordedObject::new(json, held)),
            None => {
                self.truncated();
                None
            }
        }
    }

    pub fn response(&self, status: ResponseStatus) {
        self.details().response = Some(status);
    }

    /// Whether there is a response.
    pub fn has_response(&self) -> bool {
        self.details().response.is_some()
    }

    /// Makes an event, with these annotations, and gives it to the backends. Returns whether all took it.
    pub async fn stage(&self, stage: Stage, annotations: Vec<(Cow<'static, str>, String)>) -> bool {
        if self.rule.omit_stages.contains(stage) {
            return true;
        }
        let time = if stage == Stage::RequestReceived { self.request.received } else { SystemTime::now() };
        let mut details = self.details().clone();
        details.annotations.extend(annotations);
        let event = Event { level: self.rule.level, stage, time, request: self.request.clone(), details };
        self.auditor.stats.events.increment();
        let event = Arc::new(event);
        let mut taken = true;
        for target in &self.auditor.targets {
            let events = vec![event.clone()];
            if !target.is_strict && self.is_followed(stage) {
                target.backend.hand_over(events).await;
            } else {
                taken &= target.backend.process(events).await || !target.is_strict;
            }
        }
        taken
    }

    /// Whether the event of a stage is followed by another one before the response of the request begins, so that it
    /// is enough to wait for that one. A write waits for its first event: it leaves a trace even if the server is killed.
    fn is_followed(&self, stage: Stage) -> bool {
        let is_read = matches!(self.request.verb.as_str(), "get" | "list" | "watch" | "head" | "options");
        let omitted = &self.rule.omit_stages;
        let has_end = !omitted.contains(Stage::ResponseStarted) && !omitted.contains(Stage::ResponseComplete);
        stage == Stage::RequestReceived && is_read && has_end
    }

    /// Counts that the request fails because an event was not taken.
    pub fn rejected(&self) {
        self.auditor.stats.rejected.increment();
    }

    fn details(&self) -> MutexGuard<'_, Details> {
        self.details.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use futures_util::future::BoxFuture;

    /// Keeps the events that it is given until the test takes them.
    #[derive(Default)]
    struct Sink(Mutex<Vec<Arc<Event>>>);

    impl Backend for Sink {
        fn process(&self, events: Vec<Arc<Event>>) -> BoxFuture<'_, bool> {
            self.0.lock().expect("the events").extend(events);
            Box::pin(std::future::ready(true))
        }

        fn shutdown(&self) -> BoxFuture<'_, ()> {
            Box::pin(std::future::ready(()))
        }
    }

    #[tokio::test]
    async fn objects_are_left_out_while_others_are_kept() {
        let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- {level: RequestResponse, omitStages: [RequestReceived]}\n";
        let path = std::env::temp_dir().join(format!("pintle-audit-kept-{}.yaml", std::process::id()));
        std::fs::write(&path, policy).expect("written");
        let policy = Policy::read(&path).expect("a policy");
        std::fs::remove_file(&path).expect("removed");
        let sink = Arc::new(Sink::default());
        let target = Target { backend: sink.clone(), is_strict: false };
        let auditor = Arc::new(Auditor::new(policy, vec![target], Arc::default()).keeping(20));
        let user = UserInfo::default();
        let request = || {
            let attributes = Attributes::resource(&user, "create", "", "configmaps");
            let info = || crate::event::tests::event().request.as_ref().clone();
            auditor.begin(&attributes, info, true).expect("a record")
        };
        let object = |length: usize| Bytes::from(vec![b' '; length]);
        let take = || {
            let events = std::mem::take(&mut *sink.0.lock().expect("the events"));
            let shown = events.iter().map(|event| {
                let lengths = [&event.details.request_object, &event.details.response_object];
                let truncated = event.details.annotations.get(TRUNCATED).map(String::as_str);
                (lengths.map(|object| object.as_ref().map(|object| object.len())), truncated == Some("true"))
            });
            shown.collect::<Vec<_>>()
        };
        for (sent, answered) in [(8, 8), (3, 8)] {
            let record = request();
            record.request_object(object(sent));
            record.response_object(object(answered));
            record.stage(Stage::ResponseComplete, Vec::new()).await;
        }
        // The first event waits, so that the second has room for one object only.
        assert_eq!(take(), [([Some(8), Some(8)], false), ([Some(3), None], true)]);
        let record = request();
        record.request_object(object(20));
        record.stage(Stage::ResponseComplete, Vec::new()).await;
        assert_eq!(take(), [([Some(20), None], false)]);
        // Its record keeps it, too.
        assert!(record.hold(1).is_none());
        drop(record);
        assert!(request().hold(20).is_some());
    }
}
