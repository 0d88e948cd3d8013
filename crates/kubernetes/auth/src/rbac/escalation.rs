//! Privilege escalation: whether a user holds all rules of a role that they grant.
//! Guarantees that a rule counts as held only if each thing that it allows is allowed by a rule of the user's.
//! Must never ask authorizers other than RBAC: their rules cannot be listed.

use super::{PolicyRule, RbacSnapshot};
use pintle_auth::{Str, UserInfo};
use pintle_schema::names::quoted;
use std::collections::{BTreeMap, BTreeSet};

impl RbacSnapshot {
    /// Whether the user holds the rules in the namespace (empty: everywhere).
    ///
    /// # Errors
    /// What is missing, in kube-apiserver's words.
    pub fn confirm_held(&self, user: &UserInfo, namespace: &str, rules: &[PolicyRule]) -> Result<(), String> {
        let (held, errors) = self.rules_of(user, namespace);
        let is_missing = |part: &PolicyRule| !held.iter().any(|held| includes(held.rule, part));
        let missing: Vec<PolicyRule> = rules.iter().flat_map(parts).filter(is_missing).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let shown: BTreeSet<String> = joined(missing).iter().map(shown).collect();
        let shown: Vec<String> = shown.into_iter().collect();
        let mut message = format!(
            "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            quoted(&user.name),
            list(&user.groups),
            shown.join("\n")
        );
        if !errors.is_empty() {
            let errors = if errors.len() == 1 { errors.concat() } else { format!("[{}]", errors.join(", ")) };
            message.push_str(&format!("; resolution errors: [{errors}]"));
        }
        Err(message)
    }
}

/// The smallest rules that together allow what a rule allows.
fn parts(rule: &PolicyRule) -> Vec<PolicyRule> {
    let one = |text: &Str| vec![text.clone()];
    let names: Vec<Vec<Str>> = match rule.resource_names.is_empty() {
        true => vec![Vec::new()],
        false => rule.resource_names.iter().map(one).collect(),
    };
    let mut parts = Vec::new();
    for verbs in rule.verbs.iter().map(one) {
        for (group, resource) in rule.api_groups.iter().flat_map(|group| rule.resources.iter().map(move |r| (group, r)))
        {
            parts.extend(names.iter().map(|names| PolicyRule {
                verbs: verbs.clone(),
                api_groups: one(group),
                resources: one(resource),
                resource_names: names.clone(),
                non_resource_urls: Vec::new(),
            }));
        }
        parts.extend(rule.non_resource_urls.iter().map(|url| PolicyRule {
            verbs: verbs.clone(),
            non_resource_urls: one(url),
            ..PolicyRule::default()
        }));
    }
    parts
}

/// Whether a rule includes a part of another.
fn includes(held: &PolicyRule, part: &PolicyRule) -> bool {
    let all =
        |held: &[Str], part: &[Str]| held.iter().any(|own| own == "*") || part.iter().all(|one| held.contains(one));
    let resource = |resource: &Str| {
        let any = resource.split_once('/').map(|(_, subresource)| format!("*/{subresource}"));
        held.resources.iter().any(|own| own == "*" || own == resource || any.as_ref().is_some_and(|any| own == any))
    };
    all(&held.verbs, &part.verbs)
        && all(&held.api_groups, &part.api_groups)
        && part.resources.iter().all(resource)
        && (held.resource_names.is_empty()
            || !part.resource_names.is_empty()
                && part.resource_names.iter().all(|name| held.resource_names.contains(name)))
        && part.non_resource_urls.iter().all(|path| held.covers_path(path))
}

/// Parts that differ in their verbs alone, as one rule.
fn joined(parts: Vec<PolicyRule>) -> Vec<PolicyRule> {
    let mut simple: BTreeMap<(Str, Str, Option<Str>), PolicyRule> = BTreeMap::new();
    let mut joined = Vec::new();
    for part in parts {
        let ([group], [resource]) = (&*part.api_groups, &*part.resources) else {
            joined.push(part);
            continue;
        };
        let key = (group.clone(), resource.clone(), part.resource_names.first().cloned());
        match simple.get_mut(&key) {
            Some(known) => known.verbs.extend(part.verbs),
            None => drop(simple.insert(key, part)),
        }
    }
    joined.extend(simple.into_values());
    joined
}

fn shown(rule: &PolicyRule) -> String {
    let fields = [
        ("APIGroups", &rule.api_groups),
        ("Resources", &rule.resources),
        ("NonResourceURLs", &rule.non_resource_urls),
        ("ResourceNames", &rule.resource_names),
        ("Verbs", &rule.verbs),
    ];
    let fields = fields.iter().filter(|(_, texts)| !texts.is_empty());
    let fields: Vec<String> = fields.map(|(name, texts)| format!("{name}:{}", list(texts))).collect();
    format!("{{{}}}", fields.join(", "))
}

fn list(texts: &[Str]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::{Binding, Role, RoleKind, RoleRef, Subject, SubjectKind};
    use super::*;

    /// `verbs groups resources names urls`, each with commas between.
    fn rule(text: &str) -> PolicyRule {
        let mut fields = text.split(' ').map(|field| {
            let texts = field.split(',').map(|text| Str::from(if text == "core" { "" } else { text }));
            if field == "-" { Vec::new() } else { texts.collect() }
        });
        let mut next = || fields.next().unwrap_or_default();
        PolicyRule {
            verbs: next(),
            api_groups: next(),
            resources: next(),
            resource_names: next(),
            non_resource_urls: next(),
        }
    }

    fn missing(held: &str, granted: &str) -> String {
        let role = Role { namespace: "".into(), name: "r".into(), rules: vec![rule(held)] };
        let binding = Binding {
            namespace: "".into(),
            name: "b".into(),
            subjects: vec![Subject { kind: SubjectKind::User, name: "bob".into(), namespace: "".into() }],
            role_ref: RoleRef { kind: RoleKind::ClusterRole, name: "r".into() },
        };
        let bob = UserInfo { name: "bob".into(), groups: vec!["a".into(), "b".into()], ..UserInfo::default() };
        let snapshot = RbacSnapshot::build([role], [binding]);
        let outcome = snapshot.confirm_held(&bob, "ns", &[rule(granted)]);
        let message = outcome.err().unwrap_or_default();
        let head = "user \"bob\" (groups=[\"a\" \"b\"]) is attempting to grant RBAC permissions not currently held:\n";
        message.strip_prefix(head).unwrap_or(&message).to_owned()
    }

    #[test]
    fn granted_permissions_must_be_held() {
        // (held, granted, missing)
        let rows = [
            ("get,list core pods", "get core pods", ""),
            ("* * *", "* * *", ""),
            ("* * *", "get core pods a", ""),
            ("get core *", "get core pods/log", ""),
            ("get core */log", "get core pods/log", ""),
            ("get core */log", "get core pods", r#"{APIGroups:[""], Resources:["pods"], Verbs:["get"]}"#),
            ("get core pods", "get core pods/log", r#"{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}"#),
            ("get core pods", "* core pods", r#"{APIGroups:[""], Resources:["pods"], Verbs:["*"]}"#),
            (
                "get core pods",
                "list,get,watch core pods",
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}"#,
            ),
            ("get core pods a,b", "get core pods a", ""),
            ("get core pods a", "get core pods", r#"{APIGroups:[""], Resources:["pods"], Verbs:["get"]}"#),
            (
                "get core pods a",
                "get core pods a,b",
                r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}"#,
            ),
            ("get - - - /a/*", "get - - - /a/b", ""),
            ("get - - - /a", "get - - - /b", r#"{NonResourceURLs:["/b"], Verbs:["get"]}"#),
            (
                "get core pods",
                "get core,apps pods,nodes",
                "{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\"]}\n\
                 {APIGroups:[\"apps\"], Resources:[\"nodes\"], Verbs:[\"get\"]}\n\
                 {APIGroups:[\"apps\"], Resources:[\"pods\"], Verbs:[\"get\"]}",
            ),
        ];
        for (held, granted, expected) in rows {
            assert_eq!(missing(held, granted), expected, "{held} / {granted}");
        }
    }
}
