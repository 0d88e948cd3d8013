//! ImagePolicyWebhook: has a webhook review the images of pods.
//! Guarantees that a pod whose images the webhook rejects is not admitted, and that the webhook is asked about the pod as it
//! will be stored. Must never admit a pod after a failed call, unless the configuration says so.

use crate::plugin::{Plugin, Requests};
use crate::request::Request;
use pintle_codec::json;
use pintle_registry::Phase;
use pintle_registry::metadata;
use pintle_registry::status::Result;
use pintle_resource::MaybeReady;
use pintle_reviews::{ExpiringCache, ReviewClient};
use pintle_schema::{ApiType, ApiValue, Value, View, canonicalize, value};
use pintle_types::core::v1::{Container, EphemeralContainer, EphemeralContainerCommon, Pod, PodSpec};
use pintle_types::imagepolicy::v1alpha1::{ImageReview, ImageReviewContainerSpec, ImageReviewSpec, ImageReviewStatus};
use pintle_types::meta::v1::ObjectMeta;
use std::time::{Duration, Instant};
use tracing::info;

pub const PLUGIN: Plugin =
    Plugin::on(&[Requests::write("", "pods"), Requests::update("", "pods", EPHEMERAL_CONTAINERS)])
        .authorizing(Phase::Validate, |request, object| MaybeReady::wait(async move { check(&request, object).await }));

const EPHEMERAL_CONTAINERS: &str = "ephemeralcontainers";

/// Bytes of kept reviews: as many as kube-apiserver keeps, 1024, at two kilobytes each.
const MAX_KEPT_BYTES: usize = 2 * 1024 * 1024;

/// Annotations whose keys contain this are sent to the webhook.
const SHOWN_ANNOTATIONS: &str = ".image-policy.k8s.io/";

/// The prefix of audit annotations.
const AUDIT_PREFIX: &str = "imagepolicywebhook.image-policy.k8s.io/";

/// The annotation of a pod that was admitted although the webhook failed.
const FAILED_OPEN: &str = "alpha.image-policy.k8s.io/failed-open";

/// The webhook that reviews images.
#[derive(Debug)]
pub struct ImagePolicy {
    posted: ReviewClient,
    allow_ttl: Duration,
    deny_ttl: Duration,
    default_allow: bool,
    known: ExpiringCache<ImageReviewStatus>,
}

impl ImagePolicy {
    /// Reviews are sent with `posted`, and cached for `allow_ttl` or `deny_ttl`; 0 disables the cache. `default_allow`
    /// admits pods when the webhook fails.
    pub fn new(posted: ReviewClient, allow_ttl: Duration, deny_ttl: Duration, default_allow: bool) -> ImagePolicy {
        ImagePolicy { posted, allow_ttl, deny_ttl, default_allow, known: ExpiringCache::with_bound(MAX_KEPT_BYTES) }
    }

    /// The review of a pod's images, kept or new.
    ///
    /// # Errors
    /// The webhook failed.
    async fn review(&self, spec: Value) -> std::result::Result<ImageReviewStatus, pintle_reviews::ReviewError> {
        let key = ExpiringCache::<ImageReviewStatus>::key(&json::to_vec(&spec));
        if let Some(status) = self.known.get(&key, Instant::now()) {
            return Ok(status);
        }
        let status = value!({"allowed": (Value::Bool(false))});
        let ImageReview { status, .. } =
            self.posted.review("imagepolicy.k8s.io", "ImageReview", spec, status, |_, _| ()).await?;
        let ttl = if status.allowed { self.allow_ttl } else { self.deny_ttl };
        let annotations =
            status.audit_annotations.iter().map(|(key, value)| 2 * size_of::<String>() + key.len() + value.len());
        let bytes = status.reason.len() + annotations.sum::<usize>();
        self.known.set(key, status.clone(), bytes, Instant::now(), ttl);
        Ok(status)
    }
}

async fn check(request: &Request<'_>, object: &Value) -> Result<()> {
    let Some(policy) = &request.configuration.image_policy else {
        return Err(request.forbidden(object, "no image policy webhook is configured"));
    };
    let spec = ImageReviewSpec {
        containers: images(request, object),
        annotations: annotations(object),
        namespace: request.namespace().to_owned(),
    };
    let mut spec = spec.to_value();
    canonicalize(ImageReviewSpec::schema(), &mut spec);
    let audit = &request.write.options.context;
    let status = match policy.review(spec).await {
        Ok(status) => status,
        Err(error) => {
            let err = error.to_string();
            info!(err, allowed = policy.default_allow, "the image policy webhook failed");
            if !policy.default_allow {
                return Err(request.forbidden(object, err));
            }
            audit.annotate(format!("{AUDIT_PREFIX}failed-open"), "true");
            request.write.charges.annotate(FAILED_OPEN, "true");
            return Ok(());
        }
    };
    for (key, value) in status.audit_annotations {
        audit.annotate_from_outside(format!("{AUDIT_PREFIX}{key}"), value);
    }
    match status.reason.as_str() {
        _ if status.allowed => Ok(()),
        "" => Err(request.forbidden(object, "one or more images rejected by webhook backend")),
        reason => {
            let why = format!("image policy webhook backend denied one or more images: {reason}");
            Err(request.forbidden(object, why))
        }
    }
}

/// The images in question: of ephemeral containers when these are added, else of all others, init containers last.
fn images(request: &Request<'_>, pod: &Value) -> Vec<ImageReviewContainerSpec> {
    let spec = View::<Pod>::new(pod).field(Pod::SPEC);
    let review = |image: String| ImageReviewContainerSpec { image };
    if request.subresource() == EPHEMERAL_CONTAINERS {
        let image = |container: View<'_, EphemeralContainer>| {
            container.field(EphemeralContainer::EPHEMERAL_CONTAINER_COMMON).field(EphemeralContainerCommon::IMAGE).get()
        };
        return spec.field(PodSpec::EPHEMERAL_CONTAINERS).iter().map(image).map(review).collect();
    }
    let lists = [PodSpec::CONTAINERS, PodSpec::INIT_CONTAINERS].map(|list| spec.field(list));
    lists.iter().flat_map(|list| list.iter()).map(|container| review(container.field(Container::IMAGE).get())).collect()
}

/// The annotations that concern the webhook.
fn annotations(pod: &Value) -> std::collections::BTreeMap<String, String> {
    let mut all = metadata::view(pod).field(ObjectMeta::ANNOTATIONS).get();
    all.retain(|key: &String, _| key.contains(SHOWN_ANNOTATIONS));
    all
}
