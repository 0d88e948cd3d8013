//! Types of `meta.k8s.io/v1`: the answer when a request has no other one.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, string_type};

use super::{ListMeta, TypeMeta};

/// The answer of a request that does not return another object, most often an error.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// Outcome in one word: "Success" or "Failure".
    #[k8s(proto = 2, optional)]
    pub status: String,
    /// Explanation of the outcome for people to read.
    #[k8s(proto = 3, optional)]
    pub message: String,
    /// One-word, machine-readable cause of a failure that refines the HTTP code; empty when there
    /// is nothing more to say.
    #[k8s(proto = 4, optional)]
    pub reason: StatusReason,
    /// Further data that belongs to the reason, such as the object concerned; absent for reasons
    /// that define none.
    #[k8s(proto = 5, optional)]
    pub details: Option<StatusDetails>,
    /// HTTP status code the answer suggests; zero when not set.
    #[k8s(proto = 6, optional)]
    pub code: i32,
}

/// Additional, reason-specific data about an outcome.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StatusDetails {
    /// Name of the object concerned, when there is exactly one.
    #[k8s(proto = 1, optional)]
    pub name: String,
    /// API group of the object concerned.
    #[k8s(proto = 2, optional)]
    pub group: String,
    /// Kind or resource name of the object concerned; it may differ from the kind that was
    /// requested.
    #[k8s(proto = 3, optional)]
    pub kind: String,
    /// UID of the object concerned, when there is exactly one.
    #[k8s(proto = 6, optional)]
    pub uid: String,
    /// Individual problems that led to the failure, such as one entry per invalid field.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub causes: Vec<StatusCause>,
    /// Seconds to wait before trying again; zero means the server gives no advice.
    #[k8s(proto = 5, optional)]
    pub retry_after_seconds: i32,
}

string_type! {
    /// Machine-readable explanation of why a request failed.
    pub StatusReason {
        /// The server gives no specific reason.
        UNKNOWN = "",
        /// The caller is not authenticated (401).
        UNAUTHORIZED = "Unauthorized",
        /// The caller is known but not permitted to do this (403).
        FORBIDDEN = "Forbidden",
        /// The object or resource does not exist (404).
        NOT_FOUND = "NotFound",
        /// An object of that name exists already (409).
        ALREADY_EXISTS = "AlreadyExists",
        /// The object changed in the meantime or its state forbids the operation (409).
        CONFLICT = "Conflict",
        /// The item is no longer available at this address (410).
        GONE = "Gone",
        /// The submitted object has invalid field values (422).
        INVALID = "Invalid",
        /// The server could not finish in time and suggests a retry (500).
        SERVER_TIMEOUT = "ServerTimeout",
        /// Stored data could not be read or decoded (500).
        STORE_READ_ERROR = "StorageReadError",
        /// The request ran past its deadline; its effect is unknown (504).
        TIMEOUT = "Timeout",
        /// The client should slow down and retry later (429).
        TOO_MANY_REQUESTS = "TooManyRequests",
        /// The request itself is malformed (400).
        BAD_REQUEST = "BadRequest",
        /// The resource does not support this action (405).
        METHOD_NOT_ALLOWED = "MethodNotAllowed",
        /// None of the response formats the client accepts is available (406).
        NOT_ACCEPTABLE = "NotAcceptable",
        /// The request body is too large (413).
        REQUEST_ENTITY_TOO_LARGE = "RequestEntityTooLarge",
        /// The format of the request body is not supported (415).
        UNSUPPORTED_MEDIA_TYPE = "UnsupportedMediaType",
        /// Something unexpected went wrong inside the server (500).
        INTERNAL_ERROR = "InternalError",
        /// The requested resourceVersion or continue token is too old (410).
        EXPIRED = "Expired",
        /// The server or a backend is temporarily unable to answer (503).
        SERVICE_UNAVAILABLE = "ServiceUnavailable",
    }
}

/// One single problem that contributed to a failure.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StatusCause {
    /// Machine-readable type of the problem; empty when unknown.
    #[k8s(proto = 1, optional)]
    pub reason: CauseType,
    /// Explanation of the problem for people to read.
    #[k8s(proto = 2, optional)]
    pub message: String,
    /// Path of the field concerned in the submitted JSON, such as `"spec.ports[0].port`"; empty
    /// when no field is to blame.
    #[k8s(proto = 3, optional)]
    pub field: String,
}

string_type! {
    /// Machine-readable type of a single problem.
    pub CauseType {
        /// The value refers to something that does not exist.
        FIELD_VALUE_NOT_FOUND = "FieldValueNotFound",
        /// A required value is missing.
        FIELD_VALUE_REQUIRED = "FieldValueRequired",
        /// A value that has to be unique appears twice.
        FIELD_VALUE_DUPLICATE = "FieldValueDuplicate",
        /// The value is malformed or out of range.
        FIELD_VALUE_INVALID = "FieldValueInvalid",
        /// The value is not one of the allowed choices.
        FIELD_VALUE_NOT_SUPPORTED = "FieldValueNotSupported",
        /// The field may not be set under the present circumstances.
        FORBIDDEN = "FieldValueForbidden",
        /// The value is longer than permitted.
        TOO_LONG = "FieldValueTooLong",
        /// The list has more entries than permitted.
        TOO_MANY = "FieldValueTooMany",
        /// The server itself failed while checking the value.
        INTERNAL = "InternalError",
        /// The value has the wrong JSON type.
        TYPE_INVALID = "FieldValueTypeInvalid",
        /// The response was not what an API server would send, possibly from something in between.
        UNEXPECTED_SERVER_RESPONSE = "UnexpectedServerResponse",
        /// Another manager owns the field.
        FIELD_MANAGER_CONFLICT = "FieldManagerConflict",
        /// The requested resourceVersion lies ahead of what the server has seen.
        RESOURCE_VERSION_TOO_LARGE = "ResourceVersionTooLarge",
    }
}
