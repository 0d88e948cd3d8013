//! Types of `meta.k8s.io/v1`: options of requests.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use crate::gates;
use pintle_schema::{ApiType, string_type};

use super::{IncludeObjectPolicy, TypeMeta};

/// Query parameters accepted by list and watch requests.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 6, name = "includeUninitialized"))]
pub struct ListOptions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Keeps only objects whose labels match this expression, such as "app=web,tier!=cache"; empty
    /// matches everything.
    #[k8s(proto = 1, optional)]
    pub label_selector: String,
    /// Keeps only objects whose supported fields match this expression, such as
    /// "status.phase=Running"; empty matches everything.
    #[k8s(proto = 2, optional)]
    pub field_selector: String,
    /// When true, the response is a stream of changes instead of a single list.
    #[k8s(proto = 3, optional)]
    pub watch: bool,
    /// Permits BOOKMARK events in a watch, which carry only a newer resourceVersion to resume from.
    /// The server decides if and when to send them.
    #[k8s(proto = 9, optional)]
    pub allow_watch_bookmarks: bool,
    /// State of the store to list at or to start watching from. Absent asks for the latest data,
    /// "0" accepts whatever the server has cached.
    #[k8s(proto = 4, optional)]
    pub resource_version: String,
    /// Tells how resourceVersion is applied to a list; may only be set when resourceVersion is set,
    /// except for watches that begin with the current objects.
    #[k8s(proto = 10, optional)]
    pub resource_version_match: ResourceVersionMatch,
    /// Upper bound in seconds for the duration of the call, whether or not anything happens; absent
    /// leaves the choice to the server.
    #[k8s(proto = 5, optional)]
    pub timeout_seconds: Option<i64>,
    /// Largest number of items to return in one page; zero means no limit. When more remain, the
    /// list carries a continue token.
    #[k8s(proto = 7)]
    pub limit: i64,
    /// Token from the previous page that asks for the following one; all other query parameters
    /// must stay the same. An expired token is answered with 410.
    #[k8s(proto = 8)]
    pub r#continue: String,
    /// When true, a watch first sends every existing object as an added event and then a bookmark
    /// that marks the end of the initial state. It needs resourceVersionMatch "NotOlderThan".
    #[k8s(proto = 11, optional)]
    pub send_initial_events: Option<bool>,
    /// Restricts a list or watch to one shard of the collection; absent covers everything.
    #[k8s(proto = 15, optional, gate = gates::SHARDED_LIST_AND_WATCH)]
    pub shard_selector: String,
}

string_type! {
    /// How the resourceVersion of a list request is compared with the data served.
    pub ResourceVersionMatch {
        /// Data at least as new as the given resourceVersion.
        NOT_OLDER_THAN = "NotOlderThan",
        /// Data exactly as of the given resourceVersion.
        EXACT = "Exact",
    }
}

/// Query parameters accepted when reading a single object.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 2, name = "includeUninitialized"))]
pub struct GetOptions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Oldest acceptable state of the object. Absent reads the latest state, "0" accepts whatever
    /// the server has cached.
    #[k8s(proto = 1, optional)]
    pub resource_version: String,
}

string_type! {
    /// What happens to the dependents of an object when it is deleted.
    pub DeletionPropagation {
        /// Dependents are kept and lose their reference to the owner.
        ORPHAN = "Orphan",
        /// The owner goes at once and its dependents are removed afterwards.
        BACKGROUND = "Background",
        /// Blocking dependents are removed first; the owner goes last.
        FOREGROUND = "Foreground",
    }
}

/// Settings that may accompany a delete request.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeleteOptions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Seconds the object gets to shut down; zero removes it at once, absent uses the default of
    /// its type. Must not be negative.
    #[k8s(proto = 1, optional)]
    pub grace_period_seconds: Option<i64>,
    /// Conditions the stored object has to meet; otherwise nothing is deleted and the answer is a
    /// 409 conflict.
    #[k8s(proto = 2, optional)]
    pub preconditions: Option<Preconditions>,
    /// Deprecated in favour of propagationPolicy: true keeps dependents, false removes them. Only
    /// one of the two may be set.
    #[k8s(proto = 3, optional)]
    pub orphan_dependents: Option<bool>,
    /// Decides what becomes of dependents: "Orphan", "Background" or "Foreground". Absent applies
    /// the default of the resource; not allowed together with orphanDependents.
    #[k8s(proto = 4, optional)]
    pub propagation_policy: Option<DeletionPropagation>,
    /// Set to "All" to run every check without storing anything; other values are refused.
    #[k8s(proto = 5, optional, list_type = atomic)]
    pub dry_run: Vec<String>,
    /// When true, removes an object even though its stored data cannot be read, skipping finalizers
    /// and other checks. This can damage the cluster and needs a special permission.
    #[k8s(proto = 6, optional)]
    pub ignore_store_read_error_with_cluster_breaking_potential: Option<bool>,
}

/// Query parameters accepted when creating an object.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 2, name = "includeUninitialized"))]
pub struct CreateOptions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Set to "All" to run every check without storing anything; other values are refused.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub dry_run: Vec<String>,
    /// Name under which the created fields are recorded, at most 128 printable characters; absent
    /// derives it from the client's user agent.
    #[k8s(proto = 3, optional)]
    pub field_manager: String,
    /// What to do about unknown or duplicate fields: "Ignore" drops them silently, "Warn" (the
    /// default) adds a warning, "Strict" refuses the request.
    #[k8s(proto = 4, optional)]
    pub field_validation: String,
}

/// Query parameters accepted when patching or applying an object.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PatchOptions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Set to "All" to run every check without storing anything; other values are refused.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub dry_run: Vec<String>,
    /// For apply patches only: true takes over fields owned by other managers instead of reporting
    /// a conflict.
    #[k8s(proto = 2, optional)]
    pub force: Option<bool>,
    /// Name under which the changed fields are recorded, at most 128 printable characters. Required
    /// for apply patches.
    #[k8s(proto = 3, optional)]
    pub field_manager: String,
    /// What to do about unknown or duplicate fields: "Ignore" drops them silently, "Warn" (the
    /// default) adds a warning, "Strict" refuses the request.
    #[k8s(proto = 4, optional)]
    pub field_validation: String,
}

/// Settings for a server-side apply request.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ApplyOptions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Set to "All" to run every check without storing anything; other values are refused.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub dry_run: Vec<String>,
    /// True takes over fields owned by other managers; false reports them as conflicts.
    #[k8s(proto = 2, always)]
    pub force: bool,
    /// Name under which the applied fields are recorded; required.
    #[k8s(proto = 3, always)]
    pub field_manager: String,
}

/// Query parameters accepted when replacing an object.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct UpdateOptions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Set to "All" to run every check without storing anything; other values are refused.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub dry_run: Vec<String>,
    /// Name under which the changed fields are recorded, at most 128 printable characters; absent
    /// derives it from the client's user agent.
    #[k8s(proto = 2, optional)]
    pub field_manager: String,
    /// What to do about unknown or duplicate fields: "Ignore" drops them silently, "Warn" (the
    /// default) adds a warning, "Strict" refuses the request.
    #[k8s(proto = 3, optional)]
    pub field_validation: String,
}

/// Conditions the stored object must meet before an operation goes ahead.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Preconditions {
    /// UID the object must have; absent accepts any.
    #[k8s(proto = 1, optional)]
    pub uid: Option<String>,
    /// Revision the object must be at; absent accepts any.
    #[k8s(proto = 2, optional)]
    pub resource_version: Option<String>,
}

/// Stands for the body of a patch request, whose form depends on its content type.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Patch {}

/// Query parameters accepted when asking for a table.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TableOptions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// How much of each object to put into its row: "None", "Metadata" (the default) or "Object".
    #[k8s(proto = 1)]
    pub include_object: IncludeObjectPolicy,
}
