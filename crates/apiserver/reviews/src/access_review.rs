//! The authorizer that sends SubjectAccessReviews. Guarantees that a failed call is decided as configured, with the error that
//! clients see. Must never cache decisions for requests with long texts, which a client could use to fill the memory.

use std::time::{Duration, Instant};

use pintle_auth::authorization::{
    Attributes, AuthorizationError, Authorizer, Decision, Labels, Reason, Refusal, UserRules,
};
use pintle_auth::{Str, UserInfo};
use pintle_codec::json;
use pintle_metrics::{Counter, Histogram, Keyed, Layout, exponential};
use pintle_resource::MaybeReady;
use pintle_schema::field_selector::FieldSelector;
use pintle_schema::label_selector::{LabelSelector, Operator};
use pintle_schema::{ApiType, Map, Value, value};
use tracing::warn;

use crate::condition::{self, Condition};
use crate::expiring::{ExpiringCache, Key};
use crate::review::{ReviewClient, ReviewVersion, label};

/// Decisions for requests with longer texts are not cached.
const MAX_KEPT_TEXT: usize = 10_000;

const GROUP: &str = "authorization.k8s.io";
const KIND: &str = "SubjectAccessReview";

static DURATIONS: Layout = Layout::seconds(&BOUNDS);
const BOUNDS: [f64; 15] = exponential(0.001, 2.0);

/// The decision when a call fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    #[default]
    NoOpinion,
    Deny,
}

/// How long decisions are kept; 0 disables the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheTimes {
    pub allowed: Duration,
    pub others: Duration,
}

/// How requests are reviewed.
#[derive(Debug)]
pub struct AccessReviewConfig {
    pub posted: ReviewClient,
    pub times: CacheTimes,
    pub on_failure: OnFailure,
    /// All must hold for a request to be reviewed.
    pub conditions: Vec<Condition>,
}

/// Counters of a webhook.
#[derive(Default)]
pub struct AccessReviewStats {
    /// Durations of calls by their outcome.
    pub calls: Keyed<&'static str, Histogram>,
    /// Failures that were no opinion, by their outcome.
    pub failed_open: Keyed<&'static str, Counter>,
    /// Requests that a condition excluded, and those for which one failed.
    pub excluded: Counter,
    pub condition_errors: Counter,
}

/// An authorizer that calls another server.
pub struct AccessReviews {
    config: AccessReviewConfig,
    known: ExpiringCache<SubjectAccessReviewStatus>,
    pub stats: AccessReviewStats,
}

/// The response.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct SubjectAccessReview {
    #[k8s(optional)]
    status: SubjectAccessReviewStatus,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct SubjectAccessReviewStatus {
    #[k8s(always)]
    allowed: bool,
    #[k8s(optional)]
    denied: bool,
    #[k8s(optional)]
    reason: String,
    #[k8s(optional)]
    evaluation_error: String,
}

impl AccessReviews {
    /// Sends reviews as configured.
    pub fn new(config: AccessReviewConfig) -> AccessReviews {
        AccessReviews { config, known: ExpiringCache::default(), stats: AccessReviewStats::default() }
    }

    fn failure(&self, error: String) -> Decision {
        let refusal = Refusal { reason: String::new(), error: Some(AuthorizationError(error)) };
        match self.config.on_failure {
            OnFailure::NoOpinion => Decision::NoOpinion(refusal),
            OnFailure::Deny => Decision::Deny(refusal),
        }
    }

    async fn review(&self, spec: Value, key: Option<Key>) -> Decision {
        let last = std::sync::Mutex::new("error");
        let observe = |outcome: Result<(), &_>, took: Duration| {
            let label = label(&outcome);
            self.stats.calls.get(&label, || Histogram::new(&DURATIONS)).observe_duration(took);
            if let Ok(mut last) = last.lock() {
                *last = label;
            }
        };
        let status = value!({"allowed": (Value::Bool(false))});
        let review = self.config.posted.review::<SubjectAccessReview>(GROUP, KIND, spec, status, observe).await;
        let SubjectAccessReview { status } = match review {
            Ok(review) => review,
            Err(error) => {
                let err = error.to_string();
                warn!(err, "failed to make webhook authorizer request");
                if self.config.on_failure == OnFailure::NoOpinion {
                    let label = last.into_inner().unwrap_or("error");
                    self.stats.failed_open.get(&label, Counter::new).increment();
                }
                return self.failure(err);
            }
        };
        let times = self.config.times;
        let time = if status.allowed { times.allowed } else { times.others };
        if let Some(key) = key {
            let bytes = status.reason.len() + status.evaluation_error.len();
            self.known.set(key, status.clone(), bytes, Instant::now(), time);
        }
        status.into_decision()
    }
}

impl SubjectAccessReviewStatus {
    fn into_decision(self) -> Decision {
        let refusal = |error: Option<AuthorizationError>| Refusal { reason: self.reason.clone(), error };
        match (self.allowed, self.denied) {
            (true, true) => {
                let error = "webhook subject access review returned both allow and deny response";
                Decision::Deny(refusal(Some(AuthorizationError(error.to_owned()))))
            }
            (false, true) => Decision::Deny(refusal(None)),
            (true, false) if self.reason.is_empty() => Decision::Allow(Reason::None),
            (true, false) => Decision::Allow(Reason::Text(self.reason.into())),
            (false, false) => Decision::NoOpinion(refusal(None)),
        }
    }
}

impl Authorizer for AccessReviews {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> MaybeReady<'a, Decision> {
        let selectors = [attributes.field_selector.and_then(of_fields), attributes.label_selector.and_then(of_labels)];
        if !self.config.conditions.is_empty() {
            let request = condition::request_value(attributes, selectors.each_ref().map(Option::as_ref));
            match condition::all_hold(&self.config.conditions, &request) {
                Ok(true) => {}
                Ok(false) => {
                    self.stats.excluded.increment();
                    return MaybeReady::Ready(Decision::no_opinion(""));
                }
                Err(error) => {
                    self.stats.condition_errors.increment();
                    return MaybeReady::Ready(self.failure(error));
                }
            }
        }
        let spec = spec(attributes, selectors, self.config.posted.version);
        let key = ExpiringCache::<SubjectAccessReviewStatus>::key(&json::to_vec(&spec));
        if let Some(status) = self.known.get(&key, Instant::now()) {
            return MaybeReady::Ready(status.into_decision());
        }
        let key = Some(key).filter(|_| text_bytes(attributes) < MAX_KEPT_TEXT);
        MaybeReady::wait(self.review(spec, key))
    }

    fn rules_for<'a>(&'a self, _: &'a UserInfo, _: &'a str) -> MaybeReady<'a, UserRules> {
        MaybeReady::Ready(UserRules::incomplete("webhook authorizer does not support user rule resolution"))
    }
}

/// The bytes that the client chose.
fn text_bytes(it: &Attributes<'_>) -> usize {
    let texts = [it.namespace, it.verb, it.api_group, it.api_version, it.resource, it.subresource, it.name, it.path];
    texts.iter().map(|text| text.len()).sum()
}

/// The spec of a review.
fn spec(attributes: &Attributes<'_>, selectors: [Option<Value>; 2], version: ReviewVersion) -> Value {
    let mut spec = Map::new();
    if attributes.is_resource {
        let mut resource = texts(&[
            ("namespace", attributes.namespace),
            ("verb", attributes.verb),
            ("group", attributes.api_group),
            ("version", attributes.api_version),
            ("resource", attributes.resource),
            ("subresource", attributes.subresource),
            ("name", attributes.name),
        ]);
        for (name, selector) in ["fieldSelector", "labelSelector"].into_iter().zip(selectors) {
            if let Some(selector) = selector {
                resource.set(name, selector);
            }
        }
        spec.set("resourceAttributes", Value::Map(resource));
    } else {
        spec.set("nonResourceAttributes", Value::Map(texts(&[("path", attributes.path), ("verb", attributes.verb)])));
    }
    let UserInfo { name, uid, groups, extra } = attributes.user;
    if !name.is_empty() {
        spec.set("user", name.clone());
    }
    if !groups.is_empty() {
        let field = if version == ReviewVersion::V1 { "groups" } else { "group" };
        spec.set(field, strings(groups));
    }
    if !extra.is_empty() {
        let extra = extra.iter().map(|(key, values)| (key.clone(), strings(values))).collect();
        spec.set("extra", Value::Map(Map::from_entries(extra)));
    }
    if !uid.is_empty() {
        spec.set("uid", uid.clone());
    }
    Value::Map(spec)
}

/// Those that are not empty.
fn texts(fields: &[(&'static str, &str)]) -> Map {
    let given = fields.iter().filter(|(_, text)| !text.is_empty());
    Map::from_entries(given.map(|(name, text)| (Str::new_static(name), Value::from(*text))).collect())
}

fn strings(list: &[Str]) -> Value {
    Value::List(list.iter().map(|text| Value::String(text.clone())).collect())
}

fn of_fields(selector: &FieldSelector) -> Option<Value> {
    let requirement = |term: &pintle_schema::field_selector::FieldTerm| {
        let operator = if term.negated { "NotIn" } else { "In" };
        let values = Value::List(vec![Value::String(term.value.clone())]);
        value!({"key": (Value::String(term.field.clone())), "operator": operator, "values": values})
    };
    requirements(selector.terms().iter().map(requirement).collect())
}

fn of_labels(labels: Labels<'_>) -> Option<Value> {
    let parsed;
    let selector = match labels {
        Labels::Parsed(selector) => selector,
        Labels::Text("") => return None,
        Labels::Text(text) => {
            parsed = LabelSelector::parse(text).ok()?;
            &parsed
        }
    };
    let requirement = |it: pintle_schema::label_selector::RequirementRef<'_>| {
        let operator = match it.operator() {
            Operator::In | Operator::Equals | Operator::DoubleEquals => "In",
            Operator::NotIn | Operator::NotEquals => "NotIn",
            Operator::Exists => "Exists",
            Operator::DoesNotExist => "DoesNotExist",
            // A review has no comparisons. Omitting one asks for more than the request does.
            Operator::GreaterThan | Operator::LessThan => return None,
        };
        let mut requirement = value!({"key": (it.key()), "operator": operator});
        let values: Vec<Str> = it.values().map(Str::new).collect();
        if !values.is_empty() {
            requirement.set_at(&["values"], strings(&values));
        }
        Some(requirement)
    };
    requirements(selector.requirements().filter_map(requirement).collect())
}

fn requirements(requirements: Vec<Value>) -> Option<Value> {
    (!requirements.is_empty()).then(|| value!({"requirements": (Value::List(requirements))}))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
