//! Types of `admission.k8s.io/v1beta1`: what is exchanged with admission webhooks.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Bytes, RawExtension, string_type};

use crate::authentication::v1::UserInfo;
use crate::meta::v1::{GroupVersionKind, GroupVersionResource, Status, TypeMeta};

/// Message asking a webhook about an API request, and its reply.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AdmissionReview {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Question to the webhook.
    #[k8s(proto = 1, optional)]
    pub request: Option<AdmissionRequest>,
    /// Reply of the webhook.
    #[k8s(proto = 2, optional)]
    pub response: Option<AdmissionResponse>,
}

/// API request to be reviewed.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AdmissionRequest {
    /// Identifies this call; to be copied into the reply.
    #[k8s(proto = 1, optional, always)]
    pub uid: String,
    /// Kind of the object as sent to the webhook.
    #[k8s(proto = 2, optional, always)]
    pub kind: GroupVersionKind,
    /// Resource as sent to the webhook.
    #[k8s(proto = 3, optional, always)]
    pub resource: GroupVersionResource,
    /// Subresource addressed, such as status or scale.
    #[k8s(proto = 4, optional)]
    pub sub_resource: String,
    /// Kind in the client's original request, before any conversion.
    #[k8s(proto = 13, optional)]
    pub request_kind: Option<GroupVersionKind>,
    /// Resource in the client's original request, before any conversion.
    #[k8s(proto = 14, optional)]
    pub request_resource: Option<GroupVersionResource>,
    /// Subresource in the client's original request.
    #[k8s(proto = 15, optional)]
    pub request_sub_resource: String,
    /// Name of the object; may be empty when the server will generate it.
    #[k8s(proto = 5, optional)]
    pub name: String,
    /// Namespace of the request, if any.
    #[k8s(proto = 6, optional)]
    pub namespace: String,
    /// What is being done: CREATE, UPDATE, DELETE or CONNECT.
    #[k8s(proto = 7, optional, always)]
    pub operation: Operation,
    /// User who made the request.
    #[k8s(proto = 8, optional, always)]
    pub user_info: UserInfo,
    /// Object as it would become.
    #[k8s(proto = 9, optional)]
    pub object: RawExtension,
    /// Object as it is now; for updates and deletions.
    #[k8s(proto = 10, optional)]
    pub old_object: RawExtension,
    /// Whether nothing will be stored; effects must be avoided then.
    #[k8s(proto = 11, optional)]
    pub dry_run: Option<bool>,
    /// Options of the operation, such as CreateOptions.
    #[k8s(proto = 12, optional)]
    pub options: RawExtension,
}

/// Verdict of a webhook.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AdmissionResponse {
    /// Identifier copied from the call.
    #[k8s(proto = 1, optional, always)]
    pub uid: String,
    /// Whether the request may go on.
    #[k8s(proto = 2, optional, always)]
    pub allowed: bool,
    /// Details passed to the client on rejection.
    #[k8s(proto = 3, optional)]
    pub status: Option<Status>,
    /// Changes to the object, for mutating webhooks.
    #[k8s(proto = 4, optional)]
    pub patch: Bytes,
    /// Form of the changes; only JSONPatch exists.
    #[k8s(proto = 5, optional)]
    pub patch_type: Option<PatchType>,
    /// Entries for the audit record; prefixed with the webhook's name.
    #[k8s(proto = 6, optional)]
    pub audit_annotations: BTreeMap<String, String>,
    /// Texts shown to the client; best kept below 120 characters.
    #[k8s(proto = 7, optional, list_type = atomic)]
    pub warnings: Vec<String>,
}

string_type! {
    /// Form of changes in a reply.
    pub PatchType {
        /// List of JSON patch operations.
        JSON_PATCH = "JSONPatch",
    }
}

string_type! {
    /// Kind of the reviewed request.
    pub Operation {
        /// Creating an object.
        CREATE = "CREATE",
        /// Modifying an object.
        UPDATE = "UPDATE",
        /// Removing an object.
        DELETE = "DELETE",
        /// Opening a connection such as exec or proxy.
        CONNECT = "CONNECT",
    }
}
