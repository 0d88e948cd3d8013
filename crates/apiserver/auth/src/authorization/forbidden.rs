//! The message of a 403 Status, as kube-apiserver words it.
//! Guarantees that the message names user, verb, resource and scope, and nothing that the user may not know.
//! Must never contain the object.

use std::fmt::Write;

use super::Attributes;
use crate::Str;
use pintle_schema::names::quoted;

/// The Status of a forbidden request; its reason is `Forbidden`, its code 403.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forbidden {
    /// `message`.
    pub message: String,
    /// `details.name`.
    pub name: Str,
    /// `details.group`.
    pub group: Str,
    /// `details.kind`, which here is the resource.
    pub kind: Str,
}

/// The Status of a forbidden request; `reason` is the result of [`Decision::reason`](super::Decision::reason).
pub fn forbidden(attributes: &Attributes<'_>, reason: &str) -> Forbidden {
    // Non-resource requests have none of these.
    let (resource, group, name) = match attributes.is_resource {
        true => (attributes.resource, attributes.api_group, attributes.name),
        false => ("", "", ""),
    };
    let mut message = String::new();
    // A path may name a group, but no resource.
    if !resource.is_empty() || !group.is_empty() {
        message.push_str(resource);
        if !group.is_empty() {
            message.push('.');
            message.push_str(group);
        }
        message.push(' ');
        if !name.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(message, "{} ", quoted(name));
        }
        message.push_str("is ");
    }
    message.push_str("forbidden: ");
    message.push_str(&escape(&refusal(attributes)));
    if !reason.is_empty() {
        message.push_str(": ");
        message.push_str(reason);
    }
    Forbidden { message, name: name.into(), group: group.into(), kind: resource.into() }
}

fn refusal(attributes: &Attributes<'_>) -> String {
    let user = quoted(&attributes.user.name);
    let verb = attributes.verb;
    if !attributes.is_resource {
        let path = quoted(attributes.path);
        return format!("User {user} cannot {verb} path {path}");
    }
    let full = match attributes.subresource {
        "" => attributes.resource.to_owned(),
        subresource => format!("{}/{subresource}", attributes.resource),
    };
    let (resource, group) = (quoted(&full), quoted(attributes.api_group));
    let what = format!("User {user} cannot {verb} resource {resource} in API group {group}");
    match attributes.namespace {
        "" => format!("{what} at the cluster scope"),
        namespace => format!("{what} in the namespace {}", quoted(namespace)),
    }
}

/// Escapes a text for HTML, as kube-apiserver does where a message repeats parts of a request.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UserInfo;

    #[test]
    fn messages() {
        let bob = UserInfo { name: "bob".into(), ..UserInfo::default() };
        // (verb, group, resource, subresource, namespace, name, reason, message)
        let rows = [
            [
                "get",
                "apps",
                "",
                "x",
                "",
                "deployments",
                "",
                r#".apps "deployments" is forbidden: User "bob" cannot get resource "/x" in API group "apps" at the cluster scope"#,
            ],
            [
                "get",
                "",
                "configmaps",
                "",
                "ns",
                "a",
                "",
                r#"configmaps "a" is forbidden: User "bob" cannot get resource "configmaps" in API group "" in the namespace "ns""#,
            ],
            [
                "list",
                "",
                "configmaps",
                "",
                "ns",
                "",
                "",
                r#"configmaps is forbidden: User "bob" cannot list resource "configmaps" in API group "" in the namespace "ns""#,
            ],
            [
                "get",
                "",
                "nodes",
                "",
                "",
                "n",
                "",
                r#"nodes "n" is forbidden: User "bob" cannot get resource "nodes" in API group "" at the cluster scope"#,
            ],
            [
                "get",
                "apps",
                "deployments",
                "scale",
                "ns",
                "d",
                "",
                r#"deployments.apps "d" is forbidden: User "bob" cannot get resource "deployments/scale" in API group "apps" in the namespace "ns""#,
            ],
            [
                "list",
                "",
                "pods",
                "",
                "",
                "",
                r#"RBAC: role.rbac.authorization.k8s.io "r" not found"#,
                r#"pods is forbidden: User "bob" cannot list resource "pods" in API group "" at the cluster scope: RBAC: role.rbac.authorization.k8s.io "r" not found"#,
            ],
        ];
        for row in rows {
            let [verb, group, resource, subresource, namespace, name, reason, message] = row;
            let attributes =
                Attributes { subresource, namespace, name, ..Attributes::resource(&bob, verb, group, resource) };
            let forbidden = forbidden(&attributes, reason);
            assert_eq!(forbidden.message, message);
            assert_eq!([&forbidden.kind, &forbidden.group, &forbidden.name], [resource, group, name]);
        }
        let path = Attributes::non_resource(&bob, "post", "/a<b>&");
        let expected = r#"forbidden: User "bob" cannot post path "/a&lt;b&gt;&amp;""#;
        assert_eq!(forbidden(&path, "").message, expected);
        assert_eq!(forbidden(&path, "").kind, "");
    }
}
