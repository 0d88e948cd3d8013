//! An ordered union of authorizers: the first that allows or denies a request decides. Guarantees that members of
//! `system:masters` are allowed everything before any authorizer is called, so that no configuration locks the administrator
//! out. Must never allow a request because an authorizer fails.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use pintle_metrics::Counter;
use pintle_resource::MaybeReady;

use super::{Attributes, AuthorizationError, Authorizer, Decision, Reason, Refusal, UserRules};
use crate::UserInfo;
use crate::user::groups;

/// An authorizer of a union, with the labels that its metrics have.
pub struct NamedAuthorizer {
    /// Its type, as `RBAC`.
    pub kind: &'static str,
    /// Its name within the union, as `rbac`.
    pub name: String,
    /// How many requests it allowed, and denied.
    pub allowed: Arc<Counter>,
    pub denied: Arc<Counter>,
    authorizer: Arc<dyn Authorizer>,
}

impl NamedAuthorizer {
    /// An authorizer under its type and its name.
    pub fn new(
        kind: &'static str,
        name: impl Into<String>,
        authorizer: impl Into<Arc<dyn Authorizer>>,
    ) -> NamedAuthorizer {
        let (allowed, denied) = Default::default();
        NamedAuthorizer { kind, name: name.into(), allowed, denied, authorizer: authorizer.into() }
    }
}

/// Authorizers that are called in order, and that may be replaced while requests are served. Cheap to clone: clones share the
/// union.
#[derive(Clone, Default)]
pub struct AuthorizerUnion(Arc<SharedAuthorizers>);

/// The authorizers that all clones of a union share.
#[derive(Default)]
pub struct SharedAuthorizers(ArcSwap<Vec<NamedAuthorizer>>);

impl AuthorizerUnion {
    /// A union in the given order.
    pub fn new(authorizers: Vec<NamedAuthorizer>) -> AuthorizerUnion {
        AuthorizerUnion(Arc::new(SharedAuthorizers(ArcSwap::from_pointee(authorizers))))
    }

    /// The authorizers in their order.
    pub fn members(&self) -> Arc<Vec<NamedAuthorizer>> {
        self.0.0.load_full()
    }

    /// The shared state of all clones, to replace its authorizers.
    pub fn shared(&self) -> &Arc<SharedAuthorizers> {
        &self.0
    }

    /// Takes other authorizers; see [`SharedAuthorizers::replace`].
    pub fn replace(&self, authorizers: Vec<NamedAuthorizer>) {
        self.0.replace(authorizers);
    }
}

impl SharedAuthorizers {
    /// Replaces the authorizers. Requests in progress are decided by the previous ones. An authorizer of the same type and
    /// name continues the counters of its predecessor.
    pub fn replace(&self, mut authorizers: Vec<NamedAuthorizer>) {
        let before = self.0.load();
        for authorizer in &mut authorizers {
            let same = |it: &&NamedAuthorizer| it.kind == authorizer.kind && it.name == authorizer.name;
            if let Some(same) = before.iter().find(same) {
                (authorizer.allowed, authorizer.denied) = (same.allowed.clone(), same.denied.clone());
            }
        }
        self.0.store(Arc::new(authorizers));
    }
}

/// The opinions of those that did not decide.
#[derive(Default)]
struct Opinions {
    reasons: Vec<String>,
    errors: Vec<AuthorizationError>,
}

impl Opinions {
    /// The decision, if the member makes one.
    fn add(&mut self, member: &NamedAuthorizer, decision: Decision) -> Option<Decision> {
        match decision {
            Decision::NoOpinion(Refusal { reason, error }) => {
                self.reasons.extend(Some(reason).filter(|reason| !reason.is_empty()));
                self.errors.extend(error);
                return None;
            }
            Decision::Allow(_) => member.allowed.increment(),
            Decision::Deny(_) => member.denied.increment(),
        }
        Some(decision)
    }

    fn into_decision(self) -> Decision {
        let error = match &self.errors[..] {
            [] => None,
            errors => Some(AuthorizationError(aggregate(errors.iter().map(|error| error.0.as_str())))),
        };
        Decision::NoOpinion(Refusal { reason: self.reasons.join("\n"), error })
    }
}

/// Several errors as one text: each text once, a single one without brackets.
pub fn aggregate<'a>(errors: impl IntoIterator<Item = &'a str>) -> String {
    let mut texts: Vec<&str> = Vec::new();
    for error in errors {
        if !texts.contains(&error) {
            texts.push(error);
        }
    }
    if let [only] = texts[..] { only.to_owned() } else { format!("[{}]", texts.join(", ")) }
}

impl Authorizer for AuthorizerUnion {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> MaybeReady<'a, Decision> {
        if attributes.user.in_group(groups::MASTERS) {
            return MaybeReady::Ready(Decision::Allow(Reason::None));
        }
        let members = self.0.0.load();
        let mut opinions = Opinions::default();
        for (at, member) in members.iter().enumerate() {
            let MaybeReady::Ready(decision) = member.authorizer.authorize(attributes) else {
                // The result borrows from members that may be replaced. It is requested again, by a
                // future that owns them.
                let members = Guard::into_inner(members);
                return MaybeReady::wait(async move {
                    for member in members.iter().skip(at) {
                        let decision = member.authorizer.authorize(attributes).get().await;
                        if let Some(decision) = opinions.add(member, decision) {
                            return decision;
                        }
                    }
                    opinions.into_decision()
                });
            };
            if let Some(decision) = opinions.add(member, decision) {
                return MaybeReady::Ready(decision);
            }
        }
        MaybeReady::Ready(opinions.into_decision())
    }

    fn rules_for<'a>(&'a self, user: &'a UserInfo, namespace: &'a str) -> MaybeReady<'a, UserRules> {
        // Boxed: only reviews list rules.
        MaybeReady::wait(async move {
            let mut rules = UserRules::default();
            for member in self.members().iter() {
                rules.extend(member.authorizer.rules_for(user, namespace).get().await);
            }
            rules
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AlwaysAllow, AlwaysDeny};
    use super::*;
    use futures_util::FutureExt;

    /// Returns the same decision for every request.
    struct Fixed {
        decision: Decision,
        waits: bool,
    }

    impl Authorizer for Fixed {
        fn authorize<'a>(&'a self, _: &'a Attributes<'a>) -> MaybeReady<'a, Decision> {
            let decision = self.decision.clone();
            if self.waits { MaybeReady::wait(async move { decision }) } else { MaybeReady::Ready(decision) }
        }

        fn rules_for<'a>(&'a self, _: &'a UserInfo, _: &'a str) -> MaybeReady<'a, UserRules> {
            MaybeReady::Ready(UserRules::incomplete("no rules"))
        }
    }

    fn allow() -> Decision {
        Decision::Allow(Reason::Text("allowed".into()))
    }

    fn refusal(reason: &str, error: &str) -> Refusal {
        let error = Some(error).filter(|error| !error.is_empty()).map(|error| AuthorizationError(error.to_owned()));
        Refusal { reason: reason.to_owned(), error }
    }

    fn user(group: &str) -> UserInfo {
        UserInfo { name: "bob".into(), groups: vec![group.into()], ..UserInfo::default() }
    }

    #[test]
    fn the_first_that_allows_or_denies_decides() {
        let no_opinion = |reason, error| Decision::NoOpinion(refusal(reason, error));
        let deny = || Decision::Deny(refusal("denied", ""));
        // (decisions, whether it is allowed and denied, reason, error, members that count a decision)
        type Row = (Vec<Decision>, [bool; 2], &'static str, &'static str, [u64; 2]);
        let rows: [Row; 8] = [
            (vec![], [false, false], "", "", [0, 0]),
            (vec![allow(), deny()], [true, false], "allowed", "", [1, 0]),
            (vec![deny(), allow()], [false, true], "denied", "", [0, 1]),
            (vec![no_opinion("", ""), allow()], [true, false], "allowed", "", [1, 0]),
            (vec![no_opinion("", "broken"), allow()], [true, false], "allowed", "", [1, 0]),
            (vec![no_opinion("a", ""), no_opinion("", ""), no_opinion("b", "")], [false, false], "a\nb", "", [0, 0]),
            (vec![no_opinion("a", "x"), no_opinion("", "")], [false, false], "a", "x", [0, 0]),
            (vec![no_opinion("", "x"), no_opinion("", "y")], [false, false], "", "[x, y]", [0, 0]),
        ];
        let (bob, admin) = (user("people"), user(groups::MASTERS));
        for (decisions, [allowed, denied], reason, error, counts) in rows {
            // Whether each one waits, as bits.
            for waits in 0..1 << decisions.len() {
                let members = (0..).zip(&decisions).map(|(at, decision)| {
                    let fixed = Fixed { decision: decision.clone(), waits: waits >> at & 1 == 1 };
                    NamedAuthorizer::new("Fixed", format!("fixed-{at}"), Arc::new(fixed) as Arc<dyn Authorizer>)
                });
                let union = AuthorizerUnion::new(members.collect());
                let authorize = |user| {
                    let attributes = Attributes::resource(user, "list", "", "pods");
                    union.authorize(&attributes).get().now_or_never().expect("nothing waits for long")
                };
                let decision = authorize(&bob);
                assert_eq!([decision.is_allowed(), decision.is_denied()], [allowed, denied], "{decisions:?}");
                assert_eq!(decision.reason(&bob), reason, "{decisions:?}");
                let found = decision.error().map(ToString::to_string).unwrap_or_default();
                assert_eq!(found, error, "{decisions:?}, waits {waits:b}");
                let count = |of: fn(&NamedAuthorizer) -> u64| union.members().iter().map(of).sum::<u64>();
                assert_eq!([count(|it| it.allowed.get()), count(|it| it.denied.get())], counts);
                assert!(authorize(&admin).is_allowed() && authorize(&admin).reason(&admin).is_empty());
            }
        }
    }

    #[test]
    fn ready_results_are_not_boxed() {
        let bob = user("people");
        let attributes = Attributes::resource(&bob, "list", "", "pods");
        for (waits, is_ready) in [([false, false], true), ([false, true], false), ([true, false], false)] {
            let members = waits.map(|waits| {
                let fixed = Fixed { decision: Decision::no_opinion(""), waits };
                NamedAuthorizer::new("Fixed", "fixed", Arc::new(fixed) as Arc<dyn Authorizer>)
            });
            let union = AuthorizerUnion::new(members.into());
            assert_eq!(matches!(union.authorize(&attributes), MaybeReady::Ready(_)), is_ready, "{waits:?}");
        }
    }

    #[test]
    fn rules_are_listed_in_the_order_of_the_authorizers() {
        let allow: Arc<dyn Authorizer> = Arc::new(AlwaysAllow);
        let deny: Arc<dyn Authorizer> = Arc::new(AlwaysDeny);
        let fixed: Arc<dyn Authorizer> = Arc::new(Fixed { decision: Decision::no_opinion(""), waits: true });
        let named = |authorizer: &Arc<dyn Authorizer>| NamedAuthorizer::new("Test", "test", authorizer.clone());
        let rules = |members: &[&Arc<dyn Authorizer>]| {
            let union = AuthorizerUnion::new(members.iter().map(|member| named(member)).collect());
            union.rules_for(&user("people"), "ns").get().now_or_never().expect("nothing waits for long")
        };
        assert_eq!(rules(&[&deny]), UserRules::default());
        let all = rules(&[&fixed, &deny, &allow]);
        assert_eq!((all.incomplete, all.errors), (true, vec!["no rules".to_owned()]));
        assert_eq!((all.resource_rules.len(), all.non_resource_rules.len()), (1, 1));
        let denied = AlwaysDeny.authorize(&Attributes::non_resource(&user("people"), "get", "/")).get().now_or_never();
        assert_eq!(denied.expect("ready").reason(&user("people")), "Everything is forbidden.");
    }
}
