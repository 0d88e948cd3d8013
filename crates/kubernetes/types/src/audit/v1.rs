//! Types of `audit.k8s.io/v1`: audit records and the policy that says what is recorded.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, MicroTime, RawExtension, string_type};

use crate::authentication::v1::UserInfo;
use crate::meta::v1::{ListMeta, ObjectMeta, Status, TypeMeta};

string_type! {
    /// Amount of detail in audit records.
    pub Level {
        /// Nothing is recorded.
        NONE = "None",
        /// Who did what and when, without any bodies.
        METADATA = "Metadata",
        /// Additionally the request body.
        REQUEST = "Request",
        /// Additionally request and response bodies.
        REQUEST_RESPONSE = "RequestResponse",
    }
}

string_type! {
    /// Point of request handling at which a record is made.
    pub Stage {
        /// The request arrived and is not yet handled.
        REQUEST_RECEIVED = "RequestReceived",
        /// Headers went out while the body follows, as in watches.
        RESPONSE_STARTED = "ResponseStarted",
        /// The answer was sent in full.
        RESPONSE_COMPLETE = "ResponseComplete",
        /// Handling crashed.
        PANIC = "Panic",
    }
}

/// Audit record of one API request at one stage.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Detail of this record.
    #[k8s(proto = 1, always)]
    pub level: Level,
    /// Identifies the request across all its records.
    #[k8s(proto = 2, name = "auditID", always)]
    pub audit_id: String,
    /// Stage at which the record was made.
    #[k8s(proto = 3, always)]
    pub stage: Stage,
    /// URI as sent by the client.
    #[k8s(proto = 4, name = "requestURI", always)]
    pub request_uri: String,
    /// API verb, or HTTP method in lower case for other paths.
    #[k8s(proto = 5, always)]
    pub verb: String,
    /// User who made the request.
    #[k8s(proto = 6, always)]
    pub user: UserInfo,
    /// User acted for, when impersonating.
    #[k8s(proto = 7, optional)]
    pub impersonated_user: Option<UserInfo>,
    /// Further facts on how the user was established.
    #[k8s(proto = 17, optional)]
    pub authentication_metadata: Option<AuthenticationMetadata>,
    /// Addresses of client and proxies; those from headers can be forged.
    #[k8s(proto = 8, name = "sourceIPs", optional, list_type = atomic)]
    pub source_ips: Vec<String>,
    /// User agent claimed by the client; can be forged.
    #[k8s(proto = 16, optional)]
    pub user_agent: String,
    /// Object addressed; absent for lists and plain paths.
    #[k8s(proto = 9, optional)]
    pub object_ref: Option<ObjectReference>,
    /// Outcome, with at least the HTTP status code.
    #[k8s(proto = 10, optional)]
    pub response_status: Option<Status>,
    /// Request body as received; only at sufficient detail.
    #[k8s(proto = 11, optional)]
    pub request_object: Option<RawExtension>,
    /// Response body as returned; only at full detail.
    #[k8s(proto = 12, optional)]
    pub response_object: Option<RawExtension>,
    /// When the request arrived.
    #[k8s(proto = 13, optional, always)]
    pub request_received_timestamp: MicroTime,
    /// When this stage was reached.
    #[k8s(proto = 14, optional, always)]
    pub stage_timestamp: MicroTime,
    /// Notes by plugins, such as authorization decisions.
    #[k8s(proto = 15, optional)]
    pub annotations: BTreeMap<String, String>,
}

/// Facts on how a user was established.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AuthenticationMetadata {
    /// Verb that authorised the constrained impersonation.
    #[k8s(proto = 1, optional)]
    pub impersonation_constraint: String,
}

/// Collection of audit records.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EventList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The records.
    #[k8s(proto = 2, always)]
    pub items: Vec<Event>,
}

/// Configuration of what the audit log records.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Rules in order; the first one matching sets the detail.
    #[k8s(proto = 2, always, list_type = atomic)]
    pub rules: Vec<PolicyRule>,
    /// Stages never recorded, whatever the rule.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub omit_stages: Vec<Stage>,
    /// Whether managedFields are left out of recorded bodies; rules can override it.
    #[k8s(proto = 4, optional)]
    pub omit_managed_fields: bool,
}

/// Collection of audit policies.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PolicyList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The policies.
    #[k8s(proto = 2, always)]
    pub items: Vec<Policy>,
}

/// Detail recorded for matching requests; every aspect given must match.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PolicyRule {
    /// Detail recorded.
    #[k8s(proto = 1, always)]
    pub level: Level,
    /// Users matched; empty means all.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub users: Vec<String>,
    /// Groups matched; one membership suffices, empty means all.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub user_groups: Vec<String>,
    /// Verbs matched; empty means all.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub verbs: Vec<String>,
    /// Resources matched; empty means all kinds.
    #[k8s(proto = 5, optional, list_type = atomic)]
    pub resources: Vec<GroupResources>,
    /// Namespaces matched; an empty string stands for cluster-scoped requests.
    #[k8s(proto = 6, optional, list_type = atomic)]
    pub namespaces: Vec<String>,
    /// Plain paths matched; a trailing `*` covers everything below.
    #[k8s(proto = 7, name = "nonResourceURLs", optional, list_type = atomic)]
    pub non_resource_urls: Vec<String>,
    /// Stages not recorded, on top of those of the policy.
    #[k8s(proto = 8, optional, list_type = atomic)]
    pub omit_stages: Vec<Stage>,
    /// Overrides the policy's choice on leaving out managedFields.
    #[k8s(proto = 9, optional)]
    pub omit_managed_fields: Option<bool>,
}

/// Resources of one API group.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct GroupResources {
    /// API group; empty for the core group.
    #[k8s(proto = 1, optional)]
    pub group: String,
    /// Resources or resource/subresource pairs; empty means all in the group.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub resources: Vec<String>,
    /// Only objects with these names; needs resources to be named.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub resource_names: Vec<String>,
}

/// Points at the object a recorded request addressed.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ObjectReference {
    /// Resource in plural.
    #[k8s(proto = 1, optional)]
    pub resource: String,
    /// Namespace of the object.
    #[k8s(proto = 2, optional)]
    pub namespace: String,
    /// Name of the object.
    #[k8s(proto = 3, optional)]
    pub name: String,
    /// UID of the object.
    #[k8s(proto = 4, optional)]
    pub uid: String,
    /// API group; empty for the core group.
    #[k8s(proto = 5, optional)]
    pub api_group: String,
    /// API version used in the request.
    #[k8s(proto = 6, optional)]
    pub api_version: String,
    /// Resource version given in the request.
    #[k8s(proto = 7, optional)]
    pub resource_version: String,
    /// Subresource addressed, if any.
    #[k8s(proto = 8, optional)]
    pub subresource: String,
}
