//! Rules, subjects and the index, as rows; and the index against a walk over everything.
//! Guarantees that every wildcard and every kind of subject has a row that allows and one that does not.
//! Must never build its expectations with the code under test.

use super::*;
use pintle_auth::Attributes;

fn strs(texts: &[&str]) -> Vec<Str> {
    texts.iter().map(Str::new).collect()
}

fn user(name: &str, groups: &[&str]) -> UserInfo {
    UserInfo { name: name.into(), groups: strs(groups), ..UserInfo::default() }
}

fn rule(verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]) -> PolicyRule {
    PolicyRule {
        verbs: strs(verbs),
        api_groups: strs(groups),
        resources: strs(resources),
        resource_names: strs(names),
        non_resource_urls: Vec::new(),
    }
}

fn role(namespace: &str, name: &str, rules: Vec<PolicyRule>) -> Role {
    Role { namespace: namespace.into(), name: name.into(), rules }
}

/// `binding("ns", "b", ClusterRole, "view", &["User alice", "ServiceAccount ns/robot"])`
fn binding(namespace: &str, name: &str, kind: RoleKind, role: &str, to: &[&str]) -> Binding {
    let subjects = to.iter().map(|text| {
        let (kind, name) = text.split_once(' ').expect("kind and name");
        let kind = SubjectKind::from_name(kind).expect("a kind");
        let (namespace, name) = match kind {
            SubjectKind::ServiceAccount => name.split_once('/').expect("namespace/name"),
            _ => ("", name),
        };
        Subject { kind, name: name.into(), namespace: namespace.into() }
    });
    Binding {
        namespace: namespace.into(),
        name: name.into(),
        subjects: subjects.collect(),
        role_ref: RoleRef { kind, name: role.into() },
    }
}

#[test]
fn rules_for_resources() {
    let pods = rule(&["get", "list"], &[""], &["pods"], &[]);
    let named = rule(&["*"], &[""], &["pods", "pods/log"], &["a"]);
    let scales = rule(&["get"], &["*"], &["*/scale"], &[]);
    let all = rule(&["*"], &["*"], &["*"], &[]);
    let apps = rule(&["get"], &["apps"], &["deployments"], &[]);
    let nothing = rule(&[], &[""], &["pods"], &[]);
    // (rule, verb, group, resource[/subresource], name, allowed)
    let rows: [(&PolicyRule, &str, &str, &str, &str, bool); 24] = [
        (&pods, "get", "", "pods", "x", true),
        (&pods, "list", "", "pods", "", true),
        (&pods, "delete", "", "pods", "x", false),
        (&pods, "get", "apps", "pods", "x", false),
        (&pods, "get", "", "secrets", "x", false),
        (&pods, "get", "", "pods/log", "x", false),
        (&named, "delete", "", "pods", "a", true),
        (&named, "delete", "", "pods", "b", false),
        (&named, "list", "", "pods", "", false),
        (&named, "get", "", "pods/log", "a", true),
        (&named, "get", "", "pods/exec", "a", false),
        (&scales, "get", "apps", "deployments/scale", "d", true),
        (&scales, "get", "", "replicationcontrollers/scale", "d", true),
        (&scales, "get", "apps", "deployments", "d", false),
        (&scales, "get", "apps", "scale", "d", false),
        (&scales, "get", "apps", "deployments/rescale", "d", false),
        (&scales, "get", "apps", "deployments/status", "d", false),
        (&all, "escalate", "x.example", "things/deep", "n", true),
        (&all, "list", "", "pods", "", true),
        (&apps, "get", "apps", "deployments", "", true),
        (&apps, "get", "", "deployments", "", false),
        (&apps, "GET", "apps", "deployments", "", false),
        (&apps, "get", "apps", "deployment", "", false),
        (&nothing, "get", "", "pods", "", false),
    ];
    let anyone = user("u", &[]);
    for (rule, verb, group, path, name, allowed) in rows {
        let (resource, subresource) = path.split_once('/').unwrap_or((path, ""));
        let attributes = Attributes { subresource, name, ..Attributes::resource(&anyone, verb, group, resource) };
        assert_eq!(rule.allows(&attributes), allowed, "{rule:?}: {verb} {path} {name}");
    }
    // A rule for resources says nothing of paths, not even the one that covers everything.
    assert!(!all.allows(&Attributes::non_resource(&anyone, "get", "/metrics")));
}

#[test]
fn rules_for_paths() {
    let rows = [
        ("/metrics", "/metrics", true),
        ("/metrics", "/metrics/slis", false),
        ("/logs/*", "/logs/a/b", true),
        ("/logs/*", "/logs/", true),
        ("/logs/*", "/logs", false),
        ("/logs*", "/logs", true),
        ("*", "/", true),
        ("*", "", true),
        ("/a**", "/ab", true),
        ("", "/", false),
    ];
    let anyone = user("u", &[]);
    for (url, path, allowed) in rows {
        let rule = PolicyRule { verbs: strs(&["get"]), non_resource_urls: strs(&[url]), ..PolicyRule::default() };
        let get = Attributes::non_resource(&anyone, "get", path);
        assert_eq!(rule.allows(&get), allowed, "{url} {path}");
        let post = Attributes::non_resource(&anyone, "post", path);
        assert!(!rule.allows(&post), "{url} {path}");
        let resource = Attributes { path, ..Attributes::resource(&anyone, "get", "", "pods") };
        assert!(!rule.allows(&resource), "{url} {path}");
    }
}

fn everything() -> (Vec<Role>, Vec<Binding>) {
    use RoleKind::{ClusterRole, Role};
    let get = |resource| vec![rule(&["get"], &[""], &[resource], &[])];
    let roles = vec![
        role("", "pods", get("pods")),
        role("", "nodes", get("nodes")),
        role("a", "secrets", get("secrets")),
        role("b", "secrets", get("services")),
    ];
    let bindings = vec![
        binding("", "z-all", ClusterRole, "nodes", &["Group g", "User alice"]),
        binding("a", "pods", ClusterRole, "pods", &["User alice", "ServiceAccount /robot"]),
        binding("b", "pods", ClusterRole, "pods", &["ServiceAccount a/robot"]),
        binding("a", "secrets", Role, "secrets", &["Group g"]),
        binding("b", "secrets", Role, "secrets", &["Group g"]),
        binding("a", "gone", Role, "gone", &["User lost", "Group lost"]),
        binding("a", "gone2", Role, "gone", &["User lost"]),
        binding("", "gone", ClusterRole, "gone", &["User lost"]),
        binding("", "bad", ClusterRole, "pods", &["ServiceAccount /robot"]),
        binding("", "cannot", Role, "secrets", &["User odd"]),
    ];
    (roles, bindings)
}

#[test]
fn bindings_give_roles_to_their_subjects_where_they_say() {
    let (roles, bindings) = everything();
    let snapshot = RbacSnapshot::build(roles, bindings);
    let robot = "system:serviceaccount:a:robot";
    /// User, groups, resource, namespace, reason of the grant or of the refusal.
    type Row = (&'static str, &'static [&'static str], &'static str, &'static str, Result<&'static str, &'static str>);
    let rows: [Row; 16] = [
        ("alice", &[], "nodes", "", Ok(r#"ClusterRoleBinding "z-all" of ClusterRole "nodes" to User "alice""#)),
        // The first subject that applies is named, not the most particular.
        ("alice", &["g"], "nodes", "", Ok(r#"ClusterRoleBinding "z-all" of ClusterRole "nodes" to Group "g""#)),
        ("alice", &[], "nodes", "b", Ok(r#"ClusterRoleBinding "z-all" of ClusterRole "nodes" to User "alice""#)),
        ("alice", &[], "pods", "a", Ok(r#"RoleBinding "pods/a" of ClusterRole "pods" to User "alice""#)),
        ("alice", &[], "pods", "b", Err("")),
        ("alice", &[], "pods", "", Err("")),
        ("bob", &["g"], "secrets", "a", Ok(r#"RoleBinding "secrets/a" of Role "secrets" to Group "g""#)),
        ("bob", &["g"], "secrets", "b", Err("")),
        ("bob", &["g"], "services", "b", Ok(r#"RoleBinding "secrets/b" of Role "secrets" to Group "g""#)),
        ("g", &[], "nodes", "", Err("")),
        (robot, &[], "pods", "a", Ok(r#"RoleBinding "pods/a" of ClusterRole "pods" to ServiceAccount "robot/a""#)),
        (robot, &[], "pods", "b", Ok(r#"RoleBinding "pods/b" of ClusterRole "pods" to ServiceAccount "robot/a""#)),
        ("system:serviceaccount:b:robot", &[], "pods", "b", Err("")),
        (robot, &[], "pods", "", Err("")),
        ("lost", &[], "pods", "", Err(r#"RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found"#)),
        (
            "lost",
            &["lost"],
            "pods",
            "a",
            Err(
                r#"RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "gone" not found]"#,
            ),
        ),
    ];
    for (name, groups, resource, namespace, expected) in rows {
        let user = user(name, groups);
        let attributes = Attributes { namespace, ..Attributes::resource(&user, "get", "", resource) };
        let outcome = snapshot.authorize(&attributes).map(|binding| binding.describe(&user));
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(outcome, expected, "{name} {resource} {namespace}");
    }
}

#[test]
fn a_scope_is_replaced_alone() {
    let (roles, bindings) = everything();
    let whole = RbacSnapshot::build(roles.clone(), bindings.clone());
    let alice = user("alice", &[]);
    let may = |snapshot: &RbacSnapshot, resource, namespace| {
        let attributes = Attributes { namespace, ..Attributes::resource(&alice, "get", "", resource) };
        snapshot.authorize(&attributes).is_ok()
    };
    let without_a = whole.with_scope("a", [], []);
    assert!(may(&whole, "pods", "a") && !may(&without_a, "pods", "a"));
    assert!(may(&without_a, "nodes", "a"));
    // What belongs elsewhere is left out.
    let again = without_a.with_scope("a", roles, bindings);
    assert!(may(&again, "pods", "a") && may(&again, "nodes", ""));
    let no_cluster = again.with_scope("", [], []);
    assert!(!may(&no_cluster, "nodes", "") && !may(&no_cluster, "pods", "a"));
}

#[test]
fn the_index_finds_what_a_walk_over_everything_finds() {
    let (roles, bindings) = everything();
    let snapshot = RbacSnapshot::build(roles.clone(), bindings.clone());
    let names = ["alice", "bob", "lost", "g", "system:serviceaccount:a:robot", "odd"];
    for (name, group) in names.iter().flat_map(|name| [(*name, "g"), (*name, "none")]) {
        let user = user(name, &[group]);
        for namespace in ["", "a", "b", "c"] {
            let mut expected = Vec::new();
            for binding in &bindings {
                let here = binding.namespace.is_empty() || binding.namespace == namespace;
                let mut subjects = binding.subjects.iter();
                if !here || !subjects.any(|s| s.includes(&user, &binding.namespace)) {
                    continue;
                }
                let of = match binding.role_ref.kind {
                    RoleKind::ClusterRole => "",
                    RoleKind::Role if binding.namespace.is_empty() => continue,
                    RoleKind::Role => namespace,
                };
                for role in &roles {
                    if role.namespace == of && role.name == binding.role_ref.name {
                        expected.extend(role.rules.iter().map(|rule| rule.resources.clone()));
                    }
                }
            }
            let (rules, _) = snapshot.rules_of(&user, namespace);
            let mut found: Vec<_> = rules.iter().map(|r| r.rule.resources.clone()).collect();
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "{name} {group} {namespace}");
        }
    }
}

#[test]
fn publishing_replaces_the_snapshot() {
    let (roles, bindings) = everything();
    let rbac = Rbac::new(RbacSnapshot::default());
    let alice = user("alice", &[]);
    let attributes = Attributes::resource(&alice, "get", "", "nodes");
    assert!(rbac.snapshot().authorize(&attributes).is_err());
    rbac.publish(RbacSnapshot::build(roles, bindings));
    assert!(rbac.snapshot().authorize(&attributes).is_ok());
    // A list of rules says which roles are missing.
    let (authorizer, lost) = (RbacAuthorizer(Arc::new(rbac)), user("lost", &["lost"]));
    let MaybeReady::Ready(rules) = authorizer.rules_for(&lost, "a") else { panic!("it waits for nothing") };
    assert_eq!((rules.errors.len(), rules.incomplete), (3, false));
}

#[test]
fn a_list_of_rules_has_a_bound() {
    let rule = |name: usize| PolicyRule {
        verbs: vec!["get".into()],
        api_groups: vec!["".into()],
        resources: vec!["secrets".into()],
        resource_names: vec![format!("{name:01000}").into(); 100],
        ..PolicyRule::default()
    };
    let role = Role { namespace: "".into(), name: "many".into(), rules: (0..200).map(rule).collect() };
    let binding = Binding {
        namespace: "".into(),
        name: "many".into(),
        subjects: vec![Subject { kind: SubjectKind::User, name: "alice".into(), namespace: "".into() }],
        role_ref: RoleRef { kind: RoleKind::ClusterRole, name: "many".into() },
    };
    let authorizer = RbacAuthorizer(Arc::new(Rbac::new(RbacSnapshot::build([role], [binding]))));
    let alice = user("alice", &[]);
    let MaybeReady::Ready(rules) = authorizer.rules_for(&alice, "") else { panic!("it waits for nothing") };
    assert!((50..100).contains(&rules.resource_rules.len()), "{}", rules.resource_rules.len());
    assert_eq!((rules.incomplete, rules.errors), (true, vec![TOO_MANY.to_owned()]));
}
