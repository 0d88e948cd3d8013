//! The request and response of a review. Guarantees kube-apiserver's messages for a response that is no such review. Must never
//! accept a status of another kind.

use std::time::{Duration, Instant};

use pintle_codec::{Strictness, json, yaml};
use pintle_schema::{ApiType, Value, value};
use pintle_webhook::{Backoff, Call, CallError, Client};

/// Maximum size of a response.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The pause before the second attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The version of a review.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReviewVersion {
    V1,
    #[default]
    V1beta1,
    /// For image reviews only.
    V1alpha1,
}

impl ReviewVersion {
    /// As a group-version has it.
    pub fn name(self) -> &'static str {
        match self {
            ReviewVersion::V1 => "v1",
            ReviewVersion::V1beta1 => "v1beta1",
            ReviewVersion::V1alpha1 => "v1alpha1",
        }
    }

    /// The version of a token or access review by its name.
    pub fn of_name(name: &str) -> Option<ReviewVersion> {
        [ReviewVersion::V1, ReviewVersion::V1beta1].into_iter().find(|version| version.name() == name)
    }
}

/// Where reviews of one kind are sent.
#[derive(Clone, Debug)]
pub struct ReviewClient {
    pub client: Client,
    pub version: ReviewVersion,
    /// How long one call may take.
    pub timeout: Duration,
    /// When failed calls are repeated.
    pub backoff: Backoff,
}

/// Why there is no review.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The last call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The response is no such review.
    #[error("{0}")]
    Answer(String),
}

/// How metrics name the outcome of a call.
pub(crate) fn label(outcome: &Result<(), &CallError>) -> &'static str {
    match outcome {
        Ok(()) => "success",
        Err(error) if error.is_timeout() || error.code() == Some(504) => "timeout",
        Err(_) => "error",
    }
}

impl ReviewClient {
    /// Reviews with kube-apiserver's pauses between failed calls.
    pub fn new(client: Client, version: ReviewVersion, timeout: Duration) -> ReviewClient {
        ReviewClient { client, version, timeout, backoff: Backoff::starting_with(FIRST_PAUSE) }
    }

    /// Sends a review, with retries, and returns the status of the response. `observe` is called with the outcome of each
    /// attempt.
    ///
    /// # Errors
    /// There is no response, or it is no such review.
    pub async fn review<T: ApiType>(
        &self,
        group: &str,
        kind: &str,
        spec: Value,
        status: Value,
        observe: impl Fn(Result<(), &CallError>, Duration),
    ) -> Result<T, ReviewError> {
        let api_version = format!("{group}/{}", self.version.name());
        let review = value!({
            "kind": kind,
            "apiVersion": (api_version.as_str()),
            "metadata": (Value::map()),
            "spec": spec,
            "status": status
        });
        let call = Call {
            body: json::to_vec(&review).into(),
            timeout: self.timeout,
            shown_timeout: self.timeout,
            max_answer_bytes: MAX_ANSWER_BYTES,
        };
        let (call, observe) = (&call, &observe);
        let answer = self.backoff.run(CallError::is_transient, || async move {
            let since = Instant::now();
            let outcome = self.client.post(call.clone()).await;
            observe(outcome.as_ref().map(drop), since.elapsed());
            outcome
        });
        decode::<T>(&answer.await?.body, &api_version, kind).map_err(ReviewError::Answer)
    }
}

/// The review in a response. Its kind and version default to those of the request. What is no JSON object is read as YAML.
fn decode<T: ApiType>(body: &[u8], api_version: &str, kind: &str) -> Result<T, String> {
    let converted = match body.trim_ascii_start().starts_with(b"{") {
        true => None,
        false => yaml::parse(body, Strictness::Ignore).ok().map(|parsed| json::to_vec(&parsed.value)),
    };
    let body = converted.as_deref().unwrap_or(body);
    let head = json::type_meta(body);
    let head = head.map_err(|error| format!("couldn't get version/kind; json parse error: {}", error.text()))?;
    let found_kind = if head.kind.is_empty() { kind } else { &head.kind };
    let found_version = if head.api_version.is_empty() { api_version } else { &head.api_version };
    if !is_known(found_version, found_kind) {
        let scheme = if found_version.starts_with(IMAGE_POLICY) { LEGACY_SCHEME } else { CLIENT_SCHEME };
        return Err(format!(
            "no kind \"{found_kind}\" is registered for version \"{found_version}\" in scheme \"{scheme}\""
        ));
    }
    if (found_kind, found_version) != (kind, api_version) {
        let (found, wanted) = (go_type(found_version, found_kind), go_type(api_version, kind));
        return Err(format!("converting ({found}) to ({wanted}): unknown conversion"));
    }
    let decoded = json::decode(T::schema(), body, Strictness::Ignore).map_err(|error| error.text().to_owned())?;
    T::from_value(&decoded.value).map_err(|error| error.to_string())
}

const IMAGE_POLICY: &str = "imagepolicy.k8s.io/";
/// The scheme with the kinds of image reviews, and that with those of other reviews.
const LEGACY_SCHEME: &str = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30";
const CLIENT_SCHEME: &str = "k8s.io/client-go/kubernetes/scheme/register.go:82";

/// Whether kube-apiserver knows a kind. The kinds of Kubernetes' other groups are not listed here; they all count as known.
fn is_known(api_version: &str, kind: &str) -> bool {
    const OPTIONS: [&str; 7] =
        ["CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions", "WatchEvent"];
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let kinds: &[&str] = match (group, version) {
        ("authentication.k8s.io", "v1") => &["SelfSubjectReview", "TokenRequest", "TokenReview"],
        ("authentication.k8s.io", "v1beta1") => &["SelfSubjectReview", "TokenReview"],
        ("authentication.k8s.io", "v1alpha1") => &["SelfSubjectReview"],
        ("authorization.k8s.io", "v1" | "v1beta1") => {
            &["LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"]
        }
        ("imagepolicy.k8s.io", "v1alpha1") => &["ImageReview"],
        ("authentication.k8s.io" | "authorization.k8s.io" | "imagepolicy.k8s.io", _) => return false,
        (group, _) => return !group.contains('.') || group.ends_with(".k8s.io"),
    };
    kinds.contains(&kind) || OPTIONS.contains(&kind)
}

/// The Go type of a version and kind.
fn go_type(api_version: &str, kind: &str) -> String {
    let version = api_version.rsplit_once('/').map_or(api_version, |(_, version)| version);
    format!("{version}.{kind}")
}
