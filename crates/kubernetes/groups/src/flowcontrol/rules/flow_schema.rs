//! Rules of FlowSchema: its subjects and the requests that it matches.

use crate::rules::internal_form::in_full;
use pintle_schema::{Value, View, names};
use pintle_types::flowcontrol::v1::{
    FlowDistinguisherMethod, FlowSchema, PolicyRulesWithSubjects, Subject, SubjectKind,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, FieldPath, ValidationContext};

const ANY: &str = "*";

/// No schema comes before the one that nothing holds up.
pub fn only_exempt_is_first(precedence: At<'_, i32>, cx: &mut ValidationContext<'_>) {
    let name = cx.root::<FlowSchema>().field(FlowSchema::METADATA).field(ObjectMeta::NAME).as_str();
    if precedence.new.get() == 1 && name != "exempt" {
        let detail = "only the schema named 'exempt' may have matchingPrecedence 1";
        cx.errors.invalid(precedence.path, 1, detail);
    }
}

/// Flows are divided in one of two ways.
pub fn distinguisher(method: At<'_, FlowDistinguisherMethod>, cx: &mut ValidationContext<'_>) {
    const METHODS: &[&str] = &["ByNamespace", "ByUser"];
    let path = method.path.to(FlowDistinguisherMethod::TYPE);
    let name = method.new.field(FlowDistinguisherMethod::TYPE).value().as_str().unwrap_or_default();
    if !METHODS.contains(&name) {
        cx.errors.not_supported(path, in_full(method.new), METHODS);
    }
}

/// Rules are about something.
pub fn some_rule(rules: At<'_, PolicyRulesWithSubjects>, cx: &mut ValidationContext<'_>) {
    let is_empty = |list: &Value| list.is_zero();
    if is_empty(rules.new.field(PolicyRulesWithSubjects::RESOURCE_RULES).value())
        && is_empty(rules.new.field(PolicyRulesWithSubjects::NON_RESOURCE_RULES).value())
    {
        cx.errors.required(rules.path, "at least one of resourceRules and nonResourceRules has to be non-empty");
    }
}

/// The kinds of subjects, with the field of each.
fn fields_of_kinds() -> [(String, &'static str); 3] {
    [
        (SubjectKind::SERVICE_ACCOUNT.as_str().to_owned(), Subject::SERVICE_ACCOUNT.name()),
        (SubjectKind::USER.as_str().to_owned(), Subject::USER.name()),
        (SubjectKind::GROUP.as_str().to_owned(), Subject::GROUP.name()),
    ]
}

fn kind_of<'a>(subject: &At<'a, Subject>) -> &'a str {
    subject.new.field(Subject::KIND).value().as_str().unwrap_or_default()
}

fn is_set(subject: &At<'_, Subject>, field: &str) -> bool {
    subject.new.value().get(field).is_some_and(|value| !value.is_null())
}

/// A subject is given in the field of its kind.
pub fn subject(subject: At<'_, Subject>, cx: &mut ValidationContext<'_>) {
    const KINDS: &[&str] = &["Group", "ServiceAccount", "User"];
    let kind = kind_of(&subject);
    match fields_of_kinds().into_iter().find(|(of, _)| of == kind) {
        None => cx.errors.unknown_name(subject.path.to(Subject::KIND), kind, KINDS),
        Some((_, own)) if !is_set(&subject, own) => {
            cx.errors.required(subject.path.child(own), format!("{own} is required when subject kind is '{kind}'"));
        }
        Some(_) => {}
    }
}

/// A subject is given in no other field than that of its kind, which kube-apiserver looks into first.
pub fn no_other_subject(subject: At<'_, Subject>, cx: &mut ValidationContext<'_>) {
    let (kind, fields) = (kind_of(&subject), fields_of_kinds());
    if !fields.iter().any(|(of, _)| of == kind) {
        return;
    }
    for (of, field) in fields.iter().filter(|(of, field)| of != kind && is_set(&subject, field)) {
        let detail = format!("{field} is forbidden when subject kind is not '{of}'");
        cx.errors.forbidden(subject.path.child(field), detail);
    }
}

/// Verbs that requests have, or all.
pub fn verbs(verbs: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    const VERBS: &[&str] =
        &["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
    let value = verbs.new.value();
    if !has_any(verbs.new) {
        if !verbs.new.iter().all(|verb| VERBS.contains(&verb.as_str())) {
            cx.errors.not_supported(verbs.path, value.clone(), VERBS);
        }
    } else {
        alone(verbs, "verbs", cx);
    }
}

pub fn api_groups(groups: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    alone(groups, "api groups", cx);
}

pub fn resources(resources: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    alone(resources, "resources", cx);
}

/// Namespaces by name, or all.
pub fn namespaces(namespaces: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    alone(namespaces, "namespaces", cx);
    each_unless_any(namespaces, cx, |name, path, cx| {
        for message in names::dns1123_label(name) {
            let detail = format!("each member of this list must be '*' or a DNS-1123 label; {message}");
            cx.errors.invalid(path, name, detail);
        }
    });
}

/// Paths, or all.
pub fn urls(urls: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    alone(urls, "non-resource URLs", cx);
    each_unless_any(urls, cx, |url, path, cx| {
        if let Some(fault) = fault_of_url(url) {
            cx.errors.invalid(path, url, fault);
        }
    });
}

fn fault_of_url(url: &str) -> Option<&'static str> {
    if url.is_empty() {
        Some("must not be empty")
    } else if url == "/" {
        None
    } else if !url.starts_with('/') {
        Some("must start with slash")
    } else if url.contains(' ') {
        Some("must not contain white-space")
    } else if url.contains("//") {
        Some("must not contain double slash")
    } else {
        let wildcards = url.matches('*').count();
        (wildcards > 1 || wildcards == 1 && !url.ends_with("/*")).then_some("wildcard can only do suffix matching")
    }
}

fn has_any(list: View<'_, Vec<String>>) -> bool {
    list.iter().any(|item| item.as_str() == ANY)
}

/// A wildcard is the only item.
fn alone(list: At<'_, Vec<String>>, of: &str, cx: &mut ValidationContext<'_>) {
    if has_any(list.new) && list.new.iter().len() > 1 {
        let detail = format!("if '*' is present, must not specify other {of}");
        cx.errors.invalid(list.path, list.new.value().clone(), detail);
    }
}

fn each_unless_any(
    list: At<'_, Vec<String>>,
    cx: &mut ValidationContext<'_>,
    validate: impl Fn(&str, &FieldPath<'_>, &mut ValidationContext<'_>),
) {
    if !has_any(list.new) {
        for (at, item) in list.new.iter().enumerate() {
            validate(item.as_str(), &list.path.index(at), cx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fault_of_url;

    #[test]
    fn urls() {
        for right in ["/", "/a", "/a/*", "/*"] {
            assert_eq!(fault_of_url(right), None, "{right}");
        }
        for wrong in ["", "a", "/a b", "//a", "/a*", "/*/*"] {
            assert!(fault_of_url(wrong).is_some(), "{wrong}");
        }
    }
}
