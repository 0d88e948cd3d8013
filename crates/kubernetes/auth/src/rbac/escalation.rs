//! Privilege escalation: whether a user holds all rules of a role that they grant.
//! Guarantees that a rule counts as held only if each thing that it allows is allowed by a rule of the user's.
//! Must never ask authorizers other than RBAC: their rules cannot be listed.

use super::missing::{list, missing};
use super::{PolicyRule, RbacSnapshot};
use pintle_auth::UserInfo;
use pintle_schema::names::quoted;

impl RbacSnapshot {
    /// Whether the user holds the rules in the namespace (empty: everywhere).
    ///
    /// # Errors
    /// What is missing, in kube-apiserver's words, or that the rules are too many.
    pub fn confirm_held(&self, user: &UserInfo, namespace: &str, rules: &[PolicyRule]) -> Result<(), String> {
        let (held, errors) = self.rules_of(user, namespace);
        let held: Vec<&PolicyRule> = held.iter().map(|held| held.rule).collect();
        let who = || format!("user {} (groups={}) is attempting to grant", quoted(&user.name), list(&user.groups));
        let missing = missing(&held, rules).map_err(|error| format!("{} RBAC permissions: {error}", who()))?;
        if missing.is_empty() {
            return Ok(());
        }
        let mut message = format!("{} RBAC permissions not currently held:\n{}", who(), missing.join("\n"));
        if !errors.is_empty() {
            let errors = if errors.len() == 1 { errors.concat() } else { format!("[{}]", errors.join(", ")) };
            message.push_str(&format!("; resolution errors: [{errors}]"));
        }
        Err(message)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Binding, Role, RoleKind, RoleRef, Subject, SubjectKind};
    use super::*;
    use pintle_auth::Str;

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
