//! Rules of admission policies and their bindings: expressions that are there, names, parameters.

use super::expressions::{self, Sees};
use crate::rules::internal_form::in_full;
use crate::rules::{invalid_each, items};
use pintle_cel::Type;
use pintle_schema::names;
use pintle_types::admissionregistration::v1::{
    AuditAnnotation, ExpressionWarning, JSONPatch, MatchCondition, Mutation, ParamKind, ParamRef,
    ParameterNotFoundActionType, PatchType, ValidatingAdmissionPolicy, Validation, ValidationAction, Variable,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, ValidationContext};
use std::collections::HashSet;

pub fn match_condition(condition: At<'_, MatchCondition>, cx: &mut ValidationContext<'_>) {
    let path = condition.path.to(MatchCondition::EXPRESSION);
    match condition.new.field(MatchCondition::EXPRESSION).as_str() {
        blank if blank.trim().is_empty() => cx.errors.required(path, ""),
        text => expressions::condition(&path, text, cx),
    }
    let path = condition.path.to(MatchCondition::NAME);
    match condition.new.field(MatchCondition::NAME).as_str() {
        "" => cx.errors.required(path, ""),
        name => _ = invalid_each(name, names::label_key(name), &path, cx),
    }
}

/// A kind, with the version that it is read in.
pub fn param_kind(kind: At<'_, ParamKind>, cx: &mut ValidationContext<'_>) {
    let path = kind.path.to(ParamKind::API_VERSION);
    match kind.new.field(ParamKind::API_VERSION).as_str() {
        "" => cx.errors.required(path, ""),
        text if text.matches('/').count() > 1 => {
            cx.errors.invalid(path, text, format!("unexpected GroupVersion string: {text}"));
        }
        text => {
            let (group, version) = text.split_once('/').unwrap_or(("", text));
            let joined = |messages: Vec<String>| Some(messages.join(",")).filter(|text| !text.is_empty());
            if let Some(detail) = joined(names::dns1123_subdomain(group)).filter(|_| !group.is_empty()) {
                cx.errors.invalid(path, group, detail);
            }
            if version.is_empty() {
                cx.errors.invalid(path, text, "version must be specified");
            } else if let Some(detail) = joined(names::dns1035_label(version)) {
                cx.errors.invalid(path, version, detail);
            }
        }
    }
    let path = kind.path.to(ParamKind::KIND);
    match kind.new.field(ParamKind::KIND).as_str() {
        "" => cx.errors.required(path, ""),
        name => {
            let messages = names::dns1035_label(&name.to_lowercase());
            if !messages.is_empty() {
                let detail = format!("may have mixed case, but should otherwise match: {}", messages.join(","));
                cx.errors.invalid(path, name, detail);
            }
        }
    }
}

const EXCLUSIVE: &str = "name and selector are mutually exclusive";

/// Parameters are referred to by a valid name, or by a selector.
pub fn param_name(param: At<'_, ParamRef>, cx: &mut ValidationContext<'_>) {
    let name = param.new.field(ParamRef::NAME).as_str();
    if !name.is_empty() {
        let path = param.path.to(ParamRef::NAME);
        invalid_each(name, names::path_segment_name(name), &path, cx);
        if param.new.field(ParamRef::SELECTOR).is_set() {
            cx.errors.forbidden(path, EXCLUSIVE);
        }
    }
}

/// Parameters are referred to by name or by selector, and `parameterNotFoundAction` is set.
pub fn param_ref(param: At<'_, ParamRef>, cx: &mut ValidationContext<'_>) {
    let name = param.new.field(ParamRef::NAME).as_str();
    let selects = param.new.field(ParamRef::SELECTOR).is_set();
    if !name.is_empty() && selects {
        cx.errors.forbidden(param.path.to(ParamRef::SELECTOR), EXCLUSIVE);
    } else if name.is_empty() && !selects {
        cx.errors.required(param.path, "one of name or selector must be specified");
    }
    let action = param.new.field(ParamRef::PARAMETER_NOT_FOUND_ACTION).value().as_str().unwrap_or_default();
    let path = param.path.to(ParamRef::PARAMETER_NOT_FOUND_ACTION);
    let actions = [ParameterNotFoundActionType::DENY, ParameterNotFoundActionType::ALLOW];
    if action.is_empty() {
        cx.errors.required(path, "");
    } else if !actions.iter().any(|known| known.as_str() == action) {
        cx.errors.unknown_name(path, action, &["Deny", "Allow"]);
    }
}

pub fn variable(variable: At<'_, Variable>, cx: &mut ValidationContext<'_>) {
    let path = variable.path.to(Variable::NAME);
    let name = variable.new.field(Variable::NAME).as_str();
    let is_word = |text: &str| text.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    if name.trim().is_empty() {
        cx.errors.required(path, "name is not specified");
    } else if !is_word(name) || name.starts_with(|c: char| c.is_ascii_digit()) || names::CEL_RESERVED.contains(&name) {
        cx.errors.invalid(path, name, "must be a valid CEL identifier");
    }
    let path = variable.path.to(Variable::EXPRESSION);
    match variable.new.field(Variable::EXPRESSION).as_str() {
        blank if blank.trim().is_empty() => cx.errors.required(path, "expression is not specified"),
        text => expressions::variable(&path, text, cx),
    }
}

/// A mutation is given in the field of its type and in no other.
pub fn mutation(mutation: At<'_, Mutation>, cx: &mut ValidationContext<'_>) {
    let fields = [
        (PatchType::JSON_PATCH, Mutation::JSON_PATCH.name()),
        (PatchType::APPLY_CONFIGURATION, Mutation::APPLY_CONFIGURATION.name()),
    ];
    let path = mutation.path.to(Mutation::PATCH_TYPE);
    let kind = mutation.new.field(Mutation::PATCH_TYPE).value().as_str().unwrap_or_default();
    if kind.is_empty() {
        return cx.errors.required(path, "");
    }
    if !fields.iter().any(|(of, _)| of.as_str() == kind) {
        return cx.errors.unknown_name(path, kind, &["ApplyConfiguration", "JSONPatch"]);
    }
    let set = |field: &str| mutation.new.value().get(field).filter(|value| !value.is_null());
    for (_, own) in fields.iter().filter(|(of, _)| of.as_str() == kind) {
        let path = mutation.path.child(own);
        match set(own) {
            None => cx.errors.required(path, format!("must be specified when patchType is {kind}")),
            // Both have an expression and nothing else.
            Some(own) if own.str_at(&[JSONPatch::EXPRESSION.name()]).trim().is_empty() => {
                cx.errors.required(path.to(JSONPatch::EXPRESSION), "");
            }
            Some(own) => {
                let ty = match kind == PatchType::JSON_PATCH.as_str() {
                    true => Type::list(Type::object("JSONPatch")),
                    false => Type::object("Object"),
                };
                let text = own.str_at(&[JSONPatch::EXPRESSION.name()]).trim();
                expressions::expression(&path.to(JSONPatch::EXPRESSION), text, Sees::Patches, &[ty], cx);
            }
        }
    }
    for (_, other) in fields.iter().filter(|(of, other)| of.as_str() != kind && set(other).is_some()) {
        let detail = format!("must not be specified when patchType is {kind}");
        cx.errors.invalid(mutation.path.child(other), format!("{{{other}}}"), detail);
    }
}

fn has_line_breaks(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

/// An expression, and a message that fits on a line.
pub fn validation(validation: At<'_, Validation>, cx: &mut ValidationContext<'_>) {
    const NOTHING: &str = "must be non-empty if specified";
    const REASONS: &[&str] = &["Forbidden", "Invalid", "RequestEntityTooLarge"];
    let path = validation.path.to(Validation::EXPRESSION);
    match validation.new.field(Validation::EXPRESSION).as_str() {
        blank if blank.trim().is_empty() => cx.errors.required(path, "expression is not specified"),
        text => expressions::expression(&path, text, Sees::All, &[Type::Bool], cx),
    }
    let is_blank = |text: &str| !text.is_empty() && text.trim().is_empty();
    let message = validation.new.field(Validation::MESSAGE_EXPRESSION).as_str();
    let path = validation.path.to(Validation::MESSAGE_EXPRESSION);
    if is_blank(message) {
        cx.errors.invalid(path, message, NOTHING);
    } else if !message.is_empty() {
        expressions::expression(&path, message, Sees::NoAuthorizer, &[Type::String], cx);
    }
    let path = validation.path.to(Validation::MESSAGE);
    let message = validation.new.field(Validation::MESSAGE).as_str();
    if is_blank(message) {
        cx.errors.invalid(path, message, NOTHING);
    } else if has_line_breaks(message.trim()) {
        cx.errors.invalid(path, message, "must not contain line breaks");
    }
    let reason = validation.new.field(Validation::REASON);
    let name = reason.value().as_str().unwrap_or_default();
    if reason.is_set() && !REASONS.contains(&name) {
        cx.errors.unknown_name(validation.path.to(Validation::REASON), name, REASONS);
    }
}

/// Not too many.
pub fn audit_annotations(annotations: At<'_, Vec<AuditAnnotation>>, cx: &mut ValidationContext<'_>) {
    const MOST: usize = 20;
    if items(annotations.new).len() > MOST {
        let detail = format!("must not have more than {MOST} auditAnnotations");
        cx.errors.invalid(annotations.path, in_full(annotations.new), detail);
    }
}

/// A key that is a name after the policy's own, and an expression for its value.
pub fn audit_annotation(annotation: At<'_, AuditAnnotation>, cx: &mut ValidationContext<'_>) {
    const LONGEST: usize = 5 * 1024;
    let metadata = cx.root::<ValidatingAdmissionPolicy>().field(ValidatingAdmissionPolicy::METADATA);
    let policy = metadata.field(ObjectMeta::NAME).as_str();
    let key = annotation.new.field(AuditAnnotation::KEY).as_str();
    let path = annotation.path.to(AuditAnnotation::KEY);
    if policy.is_empty() {
        cx.errors.invalid(path, key, "requires metadata.name be non-empty");
    } else {
        let name = format!("{policy}/{key}");
        invalid_each(&name, names::label_key(&name), &path, cx);
    }
    let path = annotation.path.to(AuditAnnotation::VALUE_EXPRESSION);
    let text = annotation.new.field(AuditAnnotation::VALUE_EXPRESSION).as_str();
    match text.trim() {
        "" => cx.errors.required(path, "valueExpression is not specified"),
        long if long.len() > LONGEST => {
            cx.errors.required(path, format!("must not exceed {LONGEST} bytes in length"));
        }
        _ => expressions::expression(&path, text, Sees::All, &[Type::String, Type::Null], cx),
    }
}

/// Validation actions are distinct, and `Deny` and `Warn` exclude each other.
pub fn actions(actions: At<'_, Vec<ValidationAction>>, cx: &mut ValidationContext<'_>) {
    const ACTIONS: &[&str] = &["Audit", "Deny", "Warn"];
    let mut seen = HashSet::new();
    for (at, action) in items(actions.new).iter().enumerate() {
        let action = action.as_str().unwrap_or_default();
        if !ACTIONS.contains(&action) {
            cx.errors.unknown_name(actions.path.index(at), action, ACTIONS);
        }
        if !seen.insert(action) {
            cx.errors.duplicate(actions.path.index(at), action);
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the \
                      API response and headers serves no purpose)";
        cx.errors.invalid(actions.path, actions.new.value().clone(), detail);
    }
    if seen.is_empty() {
        cx.errors.required(actions.path, "at least one validation action is required");
    }
}

/// An error and its path.
pub fn expression_warning(warning: At<'_, ExpressionWarning>, cx: &mut ValidationContext<'_>) {
    if warning.new.field(ExpressionWarning::WARNING).as_str().is_empty() {
        cx.errors.required(warning.path.to(ExpressionWarning::WARNING), "");
    }
    if warning.new.field(ExpressionWarning::FIELD_REF).as_str().trim().is_empty() {
        cx.errors.required(warning.path.to(ExpressionWarning::FIELD_REF), "");
    }
}
