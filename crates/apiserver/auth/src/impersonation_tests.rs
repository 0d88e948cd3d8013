//! Tests of impersonation. Guarantees that each part of a user has a row in which only its permission is missing. Must never
//! build its expectations with the code under test.

use super::*;
use crate::authorization::{Decision, Reason, UserRules};
use futures_util::FutureExt;
use pintle_resource::MaybeReady;

fn strs(texts: &[&str]) -> Vec<Str> {
    texts.iter().map(Str::new).collect()
}

fn user(name: &str, groups: &[&str]) -> UserInfo {
    UserInfo { name: name.into(), groups: strs(groups), ..UserInfo::default() }
}

/// Allows members of the group `g` what a rule grants: `verb group resource name`.
struct Rules(Vec<String>);

impl Authorizer for Rules {
    fn authorize<'a>(&'a self, asked: &'a Attributes<'a>) -> MaybeReady<'a, Decision> {
        let resource = match asked.subresource {
            "" => asked.resource.to_owned(),
            subresource => format!("{}/{subresource}", asked.resource),
        };
        let is_met = |rule: &String| {
            let parts: Vec<&str> = rule.split(' ').collect();
            let wanted = [asked.verb, asked.api_group, &resource, asked.name];
            parts.iter().zip(wanted).enumerate().all(|(at, (part, wanted))| {
                // Of names only the name itself counts.
                *part == wanted || *part == "*" && at < 3
            })
        };
        let allows = asked.user.in_group("g") && self.0.iter().any(is_met);
        MaybeReady::Ready(if allows { Decision::Allow(Reason::None) } else { Decision::no_opinion("") })
    }

    fn rules_for<'a>(&'a self, _: &'a UserInfo, _: &'a str) -> MaybeReady<'a, UserRules> {
        MaybeReady::Ready(UserRules::incomplete("not listed"))
    }
}

fn rules(rules: &[&str]) -> Rules {
    Rules(rules.iter().map(ToString::to_string).collect())
}

/// The groups of the resulting user, or the error.
fn list_pods(allowed: &[&str], requestor: &UserInfo, wanted: UserInfo) -> Result<Vec<Str>, String> {
    let request = Attributes::resource(requestor, "list", "", "pods");
    let (impersonator, rules) = (Impersonator::default(), rules(allowed));
    let outcome = impersonator.impersonate(&rules, wanted, &request, true).now_or_never().expect("nothing waits");
    outcome.map(|(user, _)| user.groups).map_err(|refused| refused.message)
}

const LIST: &str = "impersonate-on:user-info:list  pods";
const A: &str = "authentication.k8s.io";

#[test]
fn every_part_of_a_user_is_authorized() {
    let joe = format!("impersonate:user-info {A} users joe");
    let group = format!("impersonate:user-info {A} groups h");
    let everything = [LIST, &joe, &group, "impersonate:user-info authentication.k8s.io uids 1"];
    let scopes = format!("impersonate:user-info {A} userextras/a.io/k v");
    let all: Vec<&str> = everything.into_iter().chain([&*scopes]).collect();
    let wanted = UserInfo { uid: "1".into(), extra: vec![("a.io/k".into(), strs(&["v"]))], ..user("joe", &["h"]) };
    let bob = user("bob", &["g"]);
    assert_eq!(list_pods(&all, &bob, wanted.clone()), Ok(strs(&["h", "system:authenticated"])));
    let missing = [
        ("list", r#"pods is forbidden: User "bob" cannot impersonate-on:user-info:list resource "pods""#),
        ("users", r#"users.authentication.k8s.io "joe" is forbidden: User "bob" cannot impersonate:user-info"#),
        ("groups", r#"groups.authentication.k8s.io "h" is forbidden"#),
        ("uids", r#"uids.authentication.k8s.io "1" is forbidden"#),
        ("userextras", r#"userextras.authentication.k8s.io "v" is forbidden"#),
    ];
    for (part, message) in missing {
        let rules: Vec<&str> = all.iter().copied().filter(|rule| !rule.contains(part)).collect();
        let refused = list_pods(&rules, &bob, wanted.clone()).expect_err(part);
        assert!(refused.starts_with(message), "{refused}");
    }
}

#[test]
fn constraints_limit_groups_and_extra_values() {
    let all = ["impersonate-on:user-info:list * *", "impersonate:user-info * *"];
    let bob = user("bob", &["g"]);
    let masters = list_pods(&all, &bob, user("joe", &[groups::MASTERS])).expect_err("masters");
    assert!(masters.ends_with(": impersonating the system:masters group is not allowed"), "{masters}");
    let nobody = list_pods(&all, &bob, user("joe", &[""])).expect_err("no group");
    assert!(nobody.ends_with(": impersonating the empty string group is not allowed"), "{nobody}");
    let extra = |key: &str, value: &str| {
        let extra = vec![(key.into(), strs(&[value]))];
        list_pods(&all, &bob, UserInfo { extra, ..user("joe", &[]) }).expect_err("a fault")
    };
    assert!(extra("k", "v").ends_with("must be a domain-prefixed path (such as \"acme.io/foo\")"));
    assert!(extra("a.io/K", "v").ends_with("impersonating a non-lowercase key in extra is not allowed: \"a.io/K\""));
    assert!(extra("a.io/k", "").ends_with("impersonating the empty string value in extra is not allowed"));
    // Only the mode without constraints has no such limits.
    assert!(list_pods(&["impersonate * *"], &bob, user("joe", &[groups::MASTERS])).is_ok());
    // The mode for others is not for accounts and nodes.
    for name in ["system:serviceaccount:ns:x", "system:node:n"] {
        assert!(list_pods(&all, &bob, user(name, &[])).is_err());
    }
}

#[test]
fn many_groups_are_authorized_at_once() {
    let rules = [
        LIST,
        "impersonate:user-info authentication.k8s.io users",
        "impersonate:user-info authentication.k8s.io groups *",
    ];
    let bob = user("bob", &["g"]);
    assert!(list_pods(&rules, &bob, user("joe", &["a", "b", "c", "d"])).is_ok());
    assert!(list_pods(&rules, &bob, user("joe", &["a", "b", "c"])).is_err());
}

#[test]
fn accounts_and_nodes_have_modes_of_their_own() {
    let bob = user("bob", &["g"]);
    let rules = [
        "impersonate-on:serviceaccount:list  pods",
        "impersonate:serviceaccount authentication.k8s.io serviceaccounts x",
    ];
    let groups = ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"];
    assert_eq!(list_pods(&rules, &bob, user("system:serviceaccount:ns:x", &[])), Ok(strs(&groups)));
    assert!(list_pods(&rules, &bob, user("system:serviceaccount:ns:y", &[])).is_err());

    let rules =
        ["impersonate-on:arbitrary-node:list  pods", "impersonate:arbitrary-node authentication.k8s.io nodes n"];
    let node = || user("system:node:n", &[]);
    assert_eq!(list_pods(&rules, &bob, node()), Ok(strs(&["system:nodes", "system:authenticated"])));
    assert!(list_pods(&rules, &bob, user("system:node:m", &[])).is_err());

    let rules =
        ["impersonate-on:associated-node:list  pods", "impersonate:associated-node authentication.k8s.io nodes"];
    let on = |node: &str| UserInfo {
        extra: vec![(NODE_NAME_KEY.into(), strs(&[node]))],
        ..user("system:serviceaccount:ns:agent", &["g"])
    };
    assert_eq!(list_pods(&rules, &on("n"), node()), Ok(strs(&["system:nodes", "system:authenticated"])));
    assert!(list_pods(&rules, &on("m"), node()).is_err());
    assert!(list_pods(&rules, &bob, node()).is_err());
}

#[test]
fn the_mode_that_last_succeeded_is_tried_first() {
    let authorizer = rules(&["impersonate  users joe"]);
    let impersonator = Impersonator::default();
    let bob = user("bob", &["g"]);
    let request = Attributes::resource(&bob, "list", "", "pods");
    let act = |name: &str, constrained| {
        let outcome = impersonator.impersonate(&authorizer, user(name, &[]), &request, constrained);
        outcome.now_or_never().expect("nothing waits")
    };
    let refused = |name: &str, constrained| act(name, constrained).expect_err(name).message;
    assert!(refused("jim", true).contains("cannot impersonate-on:user-info:list"));
    assert!(refused("jim", false).contains("cannot impersonate resource"));
    assert_eq!(act("joe", true).map(|(user, _)| user.groups), Ok(strs(&["system:authenticated"])));
    assert!(refused("jim", true).contains("cannot impersonate resource"));
}

#[test]
fn the_anonymous_user_is_never_authenticated() {
    let bob = user("bob", &["g"]);
    let rules = ["impersonate * *"];
    for groups in [&[][..], &["system:unauthenticated"]] {
        let outcome = list_pods(&rules, &bob, user(users::ANONYMOUS, groups));
        assert_eq!(outcome, Ok(strs(&["system:unauthenticated"])));
    }
    let outcome = list_pods(&rules, &bob, user("joe", &["system:unauthenticated"]));
    assert_eq!(outcome, Ok(strs(&["system:unauthenticated"])));
}

/// Allows everything, and records the verbs and resources that it was asked for.
#[derive(Default)]
struct Recorder(std::sync::Mutex<Vec<String>>);

impl Recorder {
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("no panic"))
    }
}

impl Authorizer for Recorder {
    fn authorize<'a>(&'a self, asked: &'a Attributes<'a>) -> MaybeReady<'a, Decision> {
        self.0.lock().expect("no panic").push(format!("{} {}", asked.verb, asked.resource));
        MaybeReady::Ready(Decision::Allow(Reason::None))
    }

    fn rules_for<'a>(&'a self, _: &'a UserInfo, _: &'a str) -> MaybeReady<'a, UserRules> {
        MaybeReady::Ready(UserRules::incomplete("not listed"))
    }
}

#[test]
fn what_a_constrained_mode_allowed_is_not_authorized_again() {
    let (impersonator, recorder) = (Impersonator::default(), Recorder::default());
    let bob = user("bob", &[]);
    let act = |requestor: &UserInfo, verb: &str, wanted: &str, constrained: bool| {
        let request = Attributes::resource(requestor, verb, "", "pods");
        let outcome = impersonator.impersonate(&recorder, user(wanted, &[]), &request, constrained);
        outcome.now_or_never().expect("nothing waits").map(|(user, _)| user.name).expect("allowed")
    };
    let on = |verb: &str| format!("impersonate-on:user-info:{verb} pods");
    let users = "impersonate:user-info users".to_owned();
    let rows = [
        ("list", "joe", vec![on("list"), users.clone()]),
        ("list", "joe", vec![]),
        ("get", "joe", vec![on("get")]),
        ("list", "jim", vec![on("list"), users]),
    ];
    for (verb, wanted, asked) in rows {
        assert_eq!(act(&bob, verb, wanted, true), wanted);
        assert_eq!(recorder.asked(), asked, "{verb} {wanted}");
    }
    let agent = |node: &str| UserInfo {
        extra: vec![(NODE_NAME_KEY.into(), strs(&[node]))],
        ..user("system:serviceaccount:ns:agent", &[])
    };
    assert_eq!(act(&agent("n"), "list", "system:node:n", true), "system:node:n");
    assert_eq!(recorder.asked().len(), 2);
    assert_eq!(act(&agent("m"), "list", "system:node:m", true), "system:node:m");
    assert_eq!(recorder.asked().len(), 0);
    // The old verb is authorized each time.
    for _ in 0..2 {
        assert_eq!(act(&bob, "list", "joe", false), "joe");
        assert_eq!(recorder.asked(), ["impersonate users"]);
    }
}
