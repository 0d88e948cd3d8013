//! Types of `apiextensions.k8s.io/v1beta1`: conversion between versions of custom resources.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Bytes, RawExtension, string_type};

use crate::meta::v1::{Status, TypeMeta};

string_type! {
    /// How objects are converted between versions of a custom resource.
    pub ConversionStrategyType {
        /// Only apiVersion is rewritten.
        NONE = "None",
        /// An external webhook does the work.
        WEBHOOK = "Webhook",
    }
}

/// Address and trust settings of a webhook; give a URL or a service.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct WebhookClientConfig {
    /// HTTPS address of the webhook, scheme://host:port/path.
    #[k8s(proto = 3, optional)]
    pub url: Option<String>,
    /// Service in the cluster behind which the webhook runs.
    #[k8s(proto = 1, optional)]
    pub service: Option<ServiceReference>,
    /// PEM certificates trusted for the webhook; system roots when unset.
    #[k8s(proto = 2, optional)]
    pub ca_bundle: Bytes,
}

/// Service behind which a webhook runs.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServiceReference {
    /// Namespace of the service.
    #[k8s(proto = 1, always)]
    pub namespace: String,
    /// Name of the service.
    #[k8s(proto = 2, always)]
    pub name: String,
    /// URL path used in calls.
    #[k8s(proto = 3, optional)]
    pub path: Option<String>,
    /// Port of the service; 443 when unset.
    #[k8s(proto = 4, optional)]
    pub port: Option<i32>,
}

/// Message asking a webhook to convert objects, and its reply.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ConversionReview {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Objects to convert.
    #[k8s(proto = 1, optional)]
    pub request: Option<ConversionRequest>,
    /// Converted objects.
    #[k8s(proto = 2, optional)]
    pub response: Option<ConversionResponse>,
}

/// Objects to convert and the version wanted.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ConversionRequest {
    /// Identifies this call; to be copied into the reply.
    #[k8s(proto = 1, always)]
    pub uid: String,
    /// Group and version to convert to.
    #[k8s(proto = 2, name = "desiredAPIVersion", always)]
    pub desired_api_version: String,
    /// Objects in their present versions.
    #[k8s(proto = 3, always, list_type = atomic)]
    pub objects: Vec<RawExtension>,
}

/// Reply of a conversion webhook.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ConversionResponse {
    /// Identifier copied from the call.
    #[k8s(proto = 1, always)]
    pub uid: String,
    /// Objects in the wanted version, in the original order.
    #[k8s(proto = 2, always, list_type = atomic)]
    pub converted_objects: Vec<RawExtension>,
    /// Success, or failure with an explanation.
    #[k8s(proto = 3, always)]
    pub result: Status,
}
