//! The rules of an authorization configuration, with kube-apiserver's order and messages. Guarantees that a valid
//! configuration can be used. Must never connect to a webhook.

use pintle_kubernetes_auth::Mode;
use pintle_reviews::{Condition, ReviewVersion};
use pintle_schema::names::dns1123_subdomain;
use pintle_schema::{Value, value};
use pintle_types::config_apiserver::v1::{AuthorizationConfiguration, WebhookConfiguration, WebhookMatchCondition};
use pintle_validation::ErrorList;
use std::io::ErrorKind;
use std::path::Path;

/// The only authorizer type that a configuration may contain several times.
pub const WEBHOOK: &str = "Webhook";

const MAX_CONDITIONS: usize = 64;
const MAX_TIMEOUT_SECONDS: i64 = 30;
const NANOS: i64 = 1_000_000_000;

/// Validates a configuration.
pub fn configuration(configuration: &AuthorizationConfiguration) -> ErrorList {
    let mut errors = ErrorList::default();
    let all = &configuration.authorizers;
    if all.is_empty() {
        errors.required("authorizers", "at least one authorization mode must be defined");
    }
    // Names of authorizers whose type is wrong are not taken.
    let mut names_taken: Vec<&str> = Vec::new();
    for (at, authorizer) in all.iter().enumerate() {
        let (path, before) = (format!("authorizers[{at}]"), &all[..at]);
        let kind = authorizer.r#type.as_str();
        let type_path = format!("{path}.type");
        if kind.is_empty() {
            errors.required(type_path, "");
            continue;
        }
        let names = Mode::NAMES.map(|(name, _)| name);
        let known: Vec<&str> = names.into_iter().chain([WEBHOOK]).collect();
        if !known.contains(&kind) {
            errors.not_supported(type_path, kind, &known);
            continue;
        }
        if kind != WEBHOOK && before.iter().any(|other| other.r#type == kind) {
            errors.duplicate(type_path, kind);
            continue;
        }
        let (name, name_path) = (authorizer.name.as_str(), format!("{path}.name"));
        let faults = dns1123_subdomain(name);
        if name.is_empty() {
            errors.required(name_path, "");
        } else if names_taken.contains(&name) {
            errors.duplicate(name_path, name);
        } else if !faults.is_empty() {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            errors.invalid(name_path, name, format!("authorizer name is invalid: {}", faults.join(", ")));
        }
        names_taken.push(name);
        match &authorizer.webhook {
            None if kind == WEBHOOK => errors.required(format!("{path}.webhook"), "required when type=Webhook"),
            None => {}
            Some(webhook) if kind == WEBHOOK => check_webhook(webhook, &path, &mut errors),
            Some(_) => errors.invalid(format!("{path}.webhook"), "non-null", "may only be specified when type=Webhook"),
        }
    }
    errors
}

fn check_webhook(webhook: &WebhookConfiguration, path: &str, errors: &mut ErrorList) {
    let timeout = webhook.timeout;
    if timeout.nanos == 0 {
        errors.required(format!("{path}.timeout"), "");
    } else if timeout.nanos < 0 || timeout.nanos > MAX_TIMEOUT_SECONDS * NANOS {
        errors.invalid(format!("{path}.timeout"), timeout.to_string(), "must be > 0s and <= 30s");
    }
    for (name, time) in [("authorizedTTL", webhook.authorized_ttl), ("unauthorizedTTL", webhook.unauthorized_ttl)] {
        if time.nanos == 0 {
            errors.required(format!("{path}.{name}"), "");
        } else if time.nanos < 0 {
            errors.invalid(format!("{path}.{name}"), time.to_string(), "must be > 0s");
        }
    }
    let version = webhook.subject_access_review_version.as_str();
    match version {
        "" => errors.required(format!("{path}.subjectAccessReviewVersion"), ""),
        _ if ReviewVersion::of_name(version).is_some() => {}
        _ => errors.not_supported(format!("{path}.subjectAccessReviewVersion"), version, &["v1", "v1beta1"]),
    }
    let version_path = format!("{path}.matchConditionSubjectAccessReviewVersion");
    match webhook.match_condition_subject_access_review_version.as_str() {
        "" if webhook.match_conditions.is_empty() => {}
        "" => errors.required(version_path, "required if match conditions are specified"),
        "v1" => {}
        other => errors.not_supported(version_path, other, &["v1"]),
    }
    match webhook.failure_policy.as_str() {
        "" => errors.required(format!("{path}.failurePolicy"), ""),
        "NoOpinion" | "Deny" => {}
        other => errors.not_supported(format!("{path}.failurePolicy"), other, &["NoOpinion", "Deny"]),
    }
    check_connection(webhook, &format!("{path}.connectionInfo"), errors);
    conditions(&webhook.match_conditions, path, errors);
}

fn check_connection(webhook: &WebhookConfiguration, path: &str, errors: &mut ErrorList) {
    let file_path = format!("{path}.kubeConfigFile");
    let file = webhook.connection_info.kube_config_file.as_deref();
    match webhook.connection_info.r#type.as_str() {
        "" => errors.required(format!("{path}.type"), ""),
        "InClusterConfig" => match file {
            Some(file) => errors.invalid(file_path, file, "can only be set when type=KubeConfigFile"),
            None => errors.forbidden(format!("{path}.type"), "InClusterConfig is not supported by this server"),
        },
        "KubeConfigFile" => match file {
            None | Some("") => errors.required(file_path, ""),
            Some(file) if !Path::new(file).is_absolute() => errors.invalid(file_path, file, "must be an absolute path"),
            Some(file) => match std::fs::metadata(file) {
                Err(error) => {
                    let why = match error.kind() {
                        ErrorKind::NotFound => "no such file or directory".to_owned(),
                        ErrorKind::PermissionDenied => "permission denied".to_owned(),
                        ErrorKind::NotADirectory => "not a directory".to_owned(),
                        _ => error.to_string(),
                    };
                    errors.invalid(file_path, file, format!("error loading file: stat {file}: {why}"));
                }
                Ok(found) if !found.is_file() => errors.invalid(file_path, file, "must be a regular file"),
                Ok(_) => {}
            },
        },
        other => {
            let given = value!({"Type": other, "KubeConfigFile": (file.map_or(Value::Null, Value::from))});
            errors.not_supported(format!("{path}.type"), given, &["InClusterConfig", "KubeConfigFile"]);
        }
    }
}

/// Compiles the match conditions of a webhook and reports their errors.
pub fn conditions(conditions: &[WebhookMatchCondition], path: &str, errors: &mut ErrorList) -> Vec<Condition> {
    let path = format!("{path}.matchConditions");
    if conditions.len() > MAX_CONDITIONS {
        errors.too_many(path, conditions.len(), MAX_CONDITIONS);
        return Vec::new();
    }
    let mut compiled = Vec::new();
    for (at, condition) in conditions.iter().enumerate() {
        let (path, text) = (format!("{path}[{at}].expression"), condition.expression.as_str());
        if text.trim().is_empty() {
            errors.required(path, "");
        } else if conditions[..at].iter().any(|other| other.expression == text) {
            errors.duplicate(path, text);
        } else {
            match Condition::compile(text) {
                Ok(condition) => compiled.push(condition),
                Err(error) => errors.invalid(path, text, error.to_string()),
            }
        }
    }
    compiled
}
