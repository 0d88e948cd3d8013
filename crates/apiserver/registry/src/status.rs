//! `Status`: every error of an API request, with kube-apiserver's codes, reasons and messages.
//!
//! Inner modules have their own errors, which become a Status here and nowhere else.

use pintle_resource::{ConversionError, Resource};
use pintle_schema::names::quoted;
use pintle_schema::{Map, Str, Value};
use pintle_validation::{ErrorList, ErrorWords};

/// The response to a failed request (a `v1.Status`).
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub code: u16,
    /// Empty where kube-apiserver sets none.
    pub reason: &'static str,
    pub message: String,
    pub details: Option<Box<Details>>,
    /// Warnings gathered before the failure go out with it.
    pub warnings: Vec<String>,
    /// A token to continue an expired list, returned in the Status' metadata.
    pub continue_token: Option<String>,
    /// The missing object that the failure is due to, if a controller is expected to create it soon. Not part of the response.
    pub awaits: Option<Box<AwaitedObject>>,
    /// The definition of the resource has changed since the request began, which can be carried out anew. Not part of the response.
    pub is_redefined: bool,
    /// The whole `Status`, as another server gave it. It is answered in place of what the fields above say.
    pub given: Option<Box<Value>>,
    /// Asks browsers not to guess the content type. kube-apiserver sets it on requests that it refuses.
    pub no_sniffing: bool,
}

/// An object that is expected to be created soon.
#[derive(Clone, Debug, PartialEq)]
pub struct AwaitedObject {
    pub group: &'static str,
    pub version: &'static str,
    pub plural: &'static str,
    pub namespace: String,
    pub name: String,
}

/// The `details` of a Status.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    pub name: String,
    pub group: String,
    pub kind: String,
    pub uid: String,
    pub causes: Vec<Cause>,
    pub retry_after_seconds: u32,
}

/// One thing that is wrong, and with which field.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    pub reason: String,
    pub message: String,
    pub field: String,
}

/// A result with a Status as its error.
pub type Result<T> = std::result::Result<T, Status>;

impl Status {
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        let (message, warnings) = (message.into(), Vec::new());
        Status {
            code,
            reason,
            message,
            details: None,
            warnings,
            continue_token: None,
            awaits: None,
            is_redefined: false,
            given: None,
            no_sniffing: false,
        }
    }

    /// What a request has prepared under the definition of its resource does not count, as that has changed.
    pub fn redefined() -> Self {
        let why = "the definition of the resource has been modified; please try again";
        Status { is_redefined: true, ..Status::new(409, "Conflict", why) }
    }

    /// The same failure, due to an object that is expected to be created soon.
    pub fn awaiting(self, object: AwaitedObject) -> Self {
        Status { awaits: Some(Box::new(object)), ..self }
    }

    pub fn with_details(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// The response to a request that is refused before it reaches a resource.
    pub fn without_sniffing(self) -> Self {
        Status { no_sniffing: true, ..self }
    }

    pub fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.warnings = warnings;
        self
    }

    /// Adds warnings before its own.
    pub fn warned_before(mut self, warnings: Vec<String>) -> Self {
        self.warnings.splice(0..0, warnings);
        self
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Status::new(400, "BadRequest", message)
    }

    pub fn unauthorized() -> Self {
        Status::new(401, "Unauthorized", "Unauthorized")
    }

    /// `why` is the message of the authorizer or an admission plugin.
    pub fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let of = resource.qualified();
        let subject = if name.is_empty() { of } else { format!("{of} {}", quoted(name)) };
        Status::new(403, "Forbidden", format!("{subject} is forbidden: {why}")).with_details(named(resource, name))
    }

    pub fn not_found(resource: &Resource, name: &str) -> Self {
        Status::new(404, "NotFound", format!("{} {} not found", resource.qualified(), quoted(name)))
            .with_details(named(resource, name))
    }

    /// The path leads nowhere.
    pub fn no_such_path() -> Self {
        Status::new(404, "NotFound", "the server could not find the requested resource")
            .with_details(Details::default())
    }

    pub fn already_exists(resource: &Resource, name: &str) -> Self {
        Status::new(409, "AlreadyExists", format!("{} {} already exists", resource.qualified(), quoted(name)))
            .with_details(named(resource, name))
    }

    pub fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        Status::conflict_of(named(resource, name), why)
    }

    /// The same where kube-apiserver names something else than the resource.
    pub fn conflict_of(subject: Details, why: &str) -> Self {
        let Details { name, group, kind, .. } = &subject;
        let dot = if group.is_empty() { "" } else { "." };
        let message = format!("Operation cannot be fulfilled on {kind}{dot}{group} {}: {why}", quoted(name));
        Status::new(409, "Conflict", message).with_details(subject)
    }

    /// The object changed since the version the writer saw.
    pub fn modified(resource: &Resource, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Status::conflict(resource, name, why)
    }

    pub fn invalid(group: &str, kind: &str, name: &str, errors: &ErrorList) -> Self {
        let subject = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let message = format!("{subject} {} is invalid: {}", quoted(name), errors.summary());
        let causes = errors.reported().map(|error| Cause {
            reason: error.kind.reason().into(),
            message: error.body(),
            field: error.field.clone(),
        });
        Status::new(422, "Invalid", message).with_details(Details {
            name: name.into(),
            group: group.into(),
            kind: kind.into(),
            causes: causes.collect(),
            ..Details::default()
        })
    }

    pub fn method_not_allowed() -> Self {
        Status::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
            .with_details(Details::default())
    }

    pub fn not_acceptable(accepted: &[&str]) -> Self {
        let message = format!("only the following media types are accepted: {}", accepted.join(", "));
        Status::new(406, "NotAcceptable", message)
    }

    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Status::new(415, "UnsupportedMediaType", message)
    }

    pub fn body_too_large() -> Self {
        Status::new(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728")
    }

    pub fn expired(message: impl Into<String>) -> Self {
        Status::new(410, "Expired", message)
    }

    pub fn internal(message: impl std::fmt::Display) -> Self {
        Status::new(500, "InternalError", format!("Internal error occurred: {message}")).with_details(Details {
            causes: vec![Cause { reason: String::new(), message: message.to_string(), field: String::new() }],
            ..Details::default()
        })
    }

    /// An object could not be converted.
    pub fn not_converted(error: ConversionError) -> Self {
        Status::unexplained(error.0)
    }

    /// A failure that has code 500 and no reason in kube-apiserver.
    pub fn unexplained(message: impl Into<String>) -> Self {
        Status::new(500, "", message)
    }

    /// The request took longer than it may.
    pub fn timed_out() -> Self {
        let message = "Timeout: request did not complete within the allotted timeout";
        Status::new(504, "Timeout", message).with_details(Details::default())
    }

    /// A resourceVersion that the server has not reached yet.
    pub fn too_large_resource_version(requested: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {requested}, current: {current}");
        Status::new(504, "Timeout", message).with_details(Details {
            causes: vec![Cause {
                reason: "ResourceVersionTooLarge".into(),
                message: "Too large resource version".into(),
                field: String::new(),
            }],
            retry_after_seconds: 1,
            ..Details::default()
        })
    }

    /// The Status as an object.
    pub fn to_value(&self) -> Value {
        if let Some(given) = &self.given {
            return Value::clone(given);
        }
        let mut map = head("Failure");
        if let (Some(token), Some(metadata)) = (&self.continue_token, map.get_mut("metadata")) {
            metadata.set_at(&["continue"], token.as_str());
        }
        map.push(Str::new_static("message"), Value::from(self.message.as_str()));
        if !self.reason.is_empty() {
            map.push(Str::new_static("reason"), Value::from(self.reason));
        }
        if let Some(details) = &self.details {
            map.push(Str::new_static("details"), details.to_value());
        }
        map.push(Str::new_static("code"), Value::Int(self.code.into()));
        Value::Map(map)
    }
}

/// The Status of a request that succeeded and has no object to show.
pub fn success(details: Option<&Details>) -> Value {
    let mut map = head("Success");
    if let Some(details) = details {
        map.push(Str::new_static("details"), details.to_value());
    }
    Value::Map(map)
}

fn head(status: &'static str) -> Map {
    Map::from_entries(vec![
        (Str::new_static("kind"), Value::from("Status")),
        (Str::new_static("apiVersion"), Value::from("v1")),
        (Str::new_static("metadata"), Value::map()),
        (Str::new_static("status"), Value::from(status)),
    ])
}

impl Details {
    fn to_value(&self) -> Value {
        let mut map = Map::new();
        for (key, text) in [("name", &self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)] {
            if !text.is_empty() {
                map.push(Str::new_static(key), Value::from(text.as_str()));
            }
        }
        if !self.causes.is_empty() {
            map.push(Str::new_static("causes"), Value::List(self.causes.iter().map(Cause::to_value).collect()));
        }
        if self.retry_after_seconds > 0 {
            map.push(Str::new_static("retryAfterSeconds"), Value::Int(self.retry_after_seconds.into()));
        }
        Value::Map(map)
    }
}

impl Cause {
    fn to_value(&self) -> Value {
        let mut map = Map::new();
        for (key, text) in [("reason", &self.reason), ("message", &self.message), ("field", &self.field)] {
            if !text.is_empty() {
                map.push(Str::new_static(key), Value::from(text.as_str()));
            }
        }
        Value::Map(map)
    }
}

/// Details that name an object of a resource, as most errors have them.
pub fn named(resource: &Resource, name: &str) -> Details {
    Details {
        name: name.into(),
        group: resource.group.to_string(),
        kind: resource.plural.to_string(),
        ..Details::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_messages_are_quoted() {
        let roles = pintle_groups::find("rbac.authorization.k8s.io", "v1", "roles").expect("a known resource");
        let name = "a\"\u{a0}";
        let message = |status: Status| status.message;
        assert!(
            message(Status::not_found(roles, name)).starts_with(r#"roles.rbac.authorization.k8s.io "a\"\u00a0" not"#)
        );
        assert!(
            message(Status::forbidden(roles, name, "x"))
                .starts_with(r#"roles.rbac.authorization.k8s.io "a\"\u00a0" is"#)
        );
        let subject = Details { kind: "Role".to_owned(), ..named(roles, name) };
        let conflict = r#"Operation cannot be fulfilled on Role.rbac.authorization.k8s.io "a\"\u00a0": x"#;
        assert_eq!(message(Status::conflict_of(subject, "x")), conflict);
    }
}
