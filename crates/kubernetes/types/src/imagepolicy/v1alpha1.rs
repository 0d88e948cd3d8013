//! Types of `imagepolicy.k8s.io/v1alpha1`: the question whether images may be run.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::ApiType;

use crate::meta::v1::{ObjectMeta, TypeMeta};

/// Asks a webhook whether the images of a pod may run.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ImageReview {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Images and the pod they are for.
    #[k8s(proto = 2, optional, always)]
    pub spec: ImageReviewSpec,
    /// Verdict of the webhook.
    #[k8s(proto = 3, optional)]
    pub status: ImageReviewStatus,
}

/// Pod details relevant to the verdict.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ImageReviewSpec {
    /// Images of the pod's containers.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub containers: Vec<ImageReviewContainerSpec>,
    /// Pod annotations whose key contains image-policy.k8s.io.
    #[k8s(proto = 2, optional)]
    pub annotations: BTreeMap<String, String>,
    /// Namespace of the pod.
    #[k8s(proto = 3, optional)]
    pub namespace: String,
}

/// One container as far as its image goes.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ImageReviewContainerSpec {
    /// Image reference, by tag or digest.
    #[k8s(proto = 1, optional)]
    pub image: String,
}

/// Verdict on the images.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ImageReviewStatus {
    /// Whether all images may run.
    #[k8s(proto = 1, optional, always)]
    pub allowed: bool,
    /// Why the images were refused; shown to the user.
    #[k8s(proto = 2, optional)]
    pub reason: String,
    /// Entries for the audit record.
    #[k8s(proto = 3, optional)]
    pub audit_annotations: BTreeMap<String, String>,
}
