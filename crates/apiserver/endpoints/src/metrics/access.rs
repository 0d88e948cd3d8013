//! Metrics of authentication and authorization.
//! Guarantees that users are counted under a handful of names, whatever they are called.
//! Must never identify a user: user names are not used as labels.

use pintle_auth::{AuthorizerUnion, Decision};
use pintle_metrics::{Exposition, Family, Histogram, Layout};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A thousandth of a second, and fourteen times its double.
static DURATIONS: Layout = Layout::seconds(&[
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384,
]);

static FILTER_DURATIONS: Layout =
    Layout::seconds(&[0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 5.0, 10.0, 15.0, 30.0]);

const FILTER_DURATION: Family = Family::histogram(
    "apiserver_request_filter_duration_seconds",
    "Time of a request's steps before it is worked on, by step.",
);
const AUTHENTICATION_ATTEMPTS: Family =
    Family::counter("authentication_attempts", "Attempts to authenticate by result.");
const AUTHENTICATION_DURATION: Family =
    Family::histogram("authentication_duration_seconds", "Time that authenticating took by result.");
const USER_REQUESTS: Family =
    Family::counter("authenticated_user_requests", "Authenticated requests by the kind of their user.");
const AUTHORIZATION_ATTEMPTS: Family =
    Family::counter("authorization_attempts_total", "Authorized requests, by result.");
const AUTHORIZATION_DURATION: Family =
    Family::histogram("authorization_duration_seconds", "Time that authorizing a request took by result.");
const DECISIONS: Family = Family::counter("apiserver_authorization_decisions_total", "Decisions of each authorizer.");

/// Attempts of one kind: how many and how long, by result.
struct Attempts<const N: usize> {
    results: [&'static str; N],
    durations: [Histogram; N],
}

impl<const N: usize> Attempts<N> {
    fn new(results: [&'static str; N]) -> Self {
        Attempts { results, durations: std::array::from_fn(|_| Histogram::new(&DURATIONS)) }
    }

    /// Counts an attempt with one of the results.
    fn made(&self, result: usize, took: Duration) {
        self.durations[result].observe_duration(took);
    }

    fn render(&self, count: &Family, duration: &Family, out: &mut Exposition) {
        let made = || self.results.into_iter().zip(&self.durations).filter(|(_, durations)| !durations.is_empty());
        out.family(count);
        for (result, durations) in made() {
            out.sample(count.name, &[("result", result)], durations.buckets().map(|(_, n)| n).sum::<u64>());
        }
        out.family(duration);
        for (result, durations) in made() {
            out.histogram(duration.name, &[("result", result)], durations);
        }
    }
}

/// Names that are shown, and two placeholders for all others.
const USERS: [&str; 7] =
    ["admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default", "email_id", "other"];

/// The steps whose duration is reported.
const FILTERS: [&str; 2] = ["authentication", "authorization"];

/// Results of authorization.
const DECISION_RESULTS: [&str; 4] = ["allowed", "denied", "no-opinion", "error"];

/// The counters.
pub struct Access {
    authentication: Attempts<2>,
    authorization: Attempts<4>,
    /// By step, as in `FILTERS`.
    filters: [Histogram; FILTERS.len()],
    users: [AtomicU64; USERS.len()],
}

impl Default for Access {
    fn default() -> Self {
        Access {
            authentication: Attempts::new(["success", "failure"]),
            authorization: Attempts::new(DECISION_RESULTS),
            filters: std::array::from_fn(|_| Histogram::new(&FILTER_DURATIONS)),
            users: Default::default(),
        }
    }
}

impl Access {
    /// Counts an authentication attempt; `user` is its name, if it succeeded.
    pub fn authenticated(&self, user: Option<&str>, took: Duration) {
        self.authentication.made(usize::from(user.is_none()), took);
        self.filters[0].observe_duration(took);
        if let Some(name) = user {
            let other = if name.contains('@') { USERS.len() - 2 } else { USERS.len() - 1 };
            let at = USERS[..USERS.len() - 2].iter().position(|known| *known == name).unwrap_or(other);
            self.users[at].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts an authorized request.
    pub fn authorized(&self, decision: &Decision, took: Duration) {
        let result = match decision {
            _ if decision.error().is_some() => 3,
            Decision::Allow(_) => 0,
            Decision::Deny(_) => 1,
            Decision::NoOpinion(_) => 2,
        };
        self.authorization.made(result, took);
        self.filters[1].observe_duration(took);
    }

    /// Renders the decisions of each authorizer.
    pub(super) fn render_decisions(&self, authorizers: &AuthorizerUnion, out: &mut Exposition) {
        out.family(&DECISIONS);
        for member in authorizers.members().iter() {
            for (decision, count) in [("allowed", member.allowed.get()), ("denied", member.denied.get())] {
                if count > 0 {
                    let labels = [("decision", decision), ("name", &*member.name), ("type", member.kind)];
                    out.sample(DECISIONS.name, &labels, count);
                }
            }
        }
    }

    pub(super) fn render(&self, out: &mut Exposition) {
        out.family(&FILTER_DURATION);
        for (filter, durations) in FILTERS.iter().zip(&self.filters) {
            out.histogram(FILTER_DURATION.name, &[("filter", filter)], durations);
        }
        self.authentication.render(&AUTHENTICATION_ATTEMPTS, &AUTHENTICATION_DURATION, out);
        out.family(&USER_REQUESTS);
        for (name, count) in USERS.iter().zip(&self.users) {
            let count = count.load(Ordering::Relaxed);
            if count > 0 {
                out.sample(USER_REQUESTS.name, &[("username", name)], count);
            }
        }
        self.authorization.render(&AUTHORIZATION_ATTEMPTS, &AUTHORIZATION_DURATION, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_auth::authorization::{AlwaysAllow, AuthorizationError, Reason, Refusal};
    use pintle_auth::{Attributes, Authorizer, NamedAuthorizer, UserInfo};
    use pintle_resource::MaybeReady;
    use std::sync::Arc;

    #[test]
    fn users_are_counted_without_their_names() {
        let access = Access::default();
        for user in [Some("admin"), Some("jane@example.com"), Some("jane"), Some("joe"), None] {
            access.authenticated(user, Duration::from_millis(3));
        }
        let failed = Refusal { reason: String::new(), error: Some(AuthorizationError("a timeout".to_owned())) };
        for decision in [
            Decision::no_opinion(""),
            Decision::Allow(Reason::None),
            Decision::Allow(Reason::None),
            Decision::Deny(Refusal::default()),
            Decision::NoOpinion(failed),
        ] {
            access.authorized(&decision, Duration::ZERO);
        }
        let always: Arc<dyn Authorizer> = Arc::new(AlwaysAllow);
        let authorizers = AuthorizerUnion::new(vec![NamedAuthorizer::new("AlwaysAllow", "alwaysallow", always)]);
        let (user, mut out) = (UserInfo::anonymous(), Exposition::default());
        let attributes = Attributes::non_resource(&user, "get", "/");
        assert!(matches!(authorizers.authorize(&attributes), MaybeReady::Ready(Decision::Allow(_))));
        access.render(&mut out);
        access.render_decisions(&authorizers, &mut out);
        let text = out.into_text();
        for line in [
            "authentication_attempts{result=\"success\"} 4\n",
            "authentication_attempts{result=\"failure\"} 1\n",
            "authentication_duration_seconds_bucket{result=\"success\",le=\"0.004\"} 4\n",
            "authenticated_user_requests{username=\"admin\"} 1\n",
            "apiserver_request_filter_duration_seconds_count{filter=\"authentication\"} 5\n",
            "authenticated_user_requests{username=\"email_id\"} 1\n",
            "authenticated_user_requests{username=\"other\"} 2\n",
            "authorization_attempts_total{result=\"no-opinion\"} 1\n",
            "authorization_attempts_total{result=\"allowed\"} 2\n",
            "authorization_attempts_total{result=\"denied\"} 1\n",
            "authorization_attempts_total{result=\"error\"} 1\n",
            "# TYPE apiserver_authorization_decisions_total counter\n\
             apiserver_authorization_decisions_total{decision=\"allowed\",name=\"alwaysallow\",type=\"AlwaysAllow\"} 1\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains("jane"), "{text}");
    }
}
