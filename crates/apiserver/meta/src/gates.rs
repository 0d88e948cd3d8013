//! The feature gates of an API server as such, whatever kinds it serves.
//! Must never have a gate that only a kind or a group needs.

use pintle_schema::gates;
use pintle_schema::gates::Stage::Beta;

#[rustfmt::skip]
gates! {
    /// The gates of every API server.
    pub ALL {
        API_RESPONSE_COMPRESSION = "APIResponseCompression": beta(16);
        /// Errors report unreadable objects, and these can be deleted.
        ALLOW_UNSAFE_MALFORMED_OBJECT_DELETION = "AllowUnsafeMalformedObjectDeletion": alpha(32);
        /// Objects are served, and custom ones stored, in CBOR.
        CBOR_SERVING_AND_STORAGE = "CBORServingAndStorage": alpha(32);
        COMPONENT_FLAGZ = "ComponentFlagz": alpha(32), beta(36);
        COMPONENT_STATUSZ = "ComponentStatusz": alpha(32), beta(36);
        CONSTRAINED_IMPERSONATION = "ConstrainedImpersonation": alpha(35), beta(36);
        OPENAPI_ENUMS = "OpenAPIEnums": beta(24);
        /// A list or watch can be of a part of a collection.
        SHARDED_LIST_AND_WATCH = "ShardedListAndWatch": alpha(36);
        STORAGE_VERSION_HASH = "StorageVersionHash": beta(15);
        /// Closes HTTP/2 connections of unauthenticated clients after one response: over HTTP/2 they could have many
        /// requests at a time.
        UNAUTHENTICATED_HTTP2_DOS_MITIGATION = "UnauthenticatedHTTP2DOSMitigation": beta(29);
        WATCH_LIST = "WatchList": alpha(27), beta(32), since(33, Beta, false), beta(34);
    }
}
