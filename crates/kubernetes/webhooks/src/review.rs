//! AdmissionReviews: the request to a webhook, and its response. Guarantees kube-apiserver's form of requests and its checks of
//! responses, with their messages. Must never accept a response to another request.

use crate::Kind;
use crate::hook::ReviewVersion;
use crate::versioned::Versioned;
use pintle_auth::UserInfo;
use pintle_codec::{Strictness, json, yaml};
use pintle_registry::AdmissionRequest;
use pintle_schema::{ApiType, ApiValue, Map, Value, names, value};
use pintle_types::admission::v1::{AdmissionResponse, AdmissionReview};
use pintle_types::authentication::v1::UserInfo as UserFacts;

const GROUP: &str = "admission.k8s.io";
const REVIEW: &str = "AdmissionReview";
/// Where kube-apiserver keeps the types of reviews, which a message names.
const SCHEME: &str = "k8s.io/apiserver/pkg/util/webhook/client.go:71";

impl ReviewVersion {
    fn name(self) -> &'static str {
        match self {
            ReviewVersion::V1 => "v1",
            ReviewVersion::V1Beta1 => "v1beta1",
        }
    }

    fn api_version(self) -> String {
        format!("{GROUP}/{}", self.name())
    }
}

/// The review of a request, as JSON.
pub(crate) fn encode(
    request: &AdmissionRequest<'_>,
    versioned: &Versioned,
    uid: &str,
    version: ReviewVersion,
    name: &str,
) -> Vec<u8> {
    let (asked, own) = (&versioned.resource, request.resource());
    let kind = |resource| {
        let [group, version, kind] = request.kind_in(resource);
        value!({"group": group, "version": version, "kind": kind})
    };
    let resource = |resource: &pintle_resource::Resource| {
        let (group, version, plural) = (resource.group.as_str(), resource.version.as_str(), resource.plural.as_str());
        value!({"group": group, "version": version, "resource": plural})
    };
    let mut map = Map::new();
    map.set("uid", uid);
    map.set("kind", kind(asked));
    map.set("resource", resource(asked));
    if !request.subresource.is_empty() {
        map.set("subResource", request.subresource);
    }
    map.set("requestKind", kind(own));
    map.set("requestResource", resource(own));
    if !request.subresource.is_empty() {
        map.set("requestSubResource", request.subresource);
    }
    for (field, text) in [("name", name), ("namespace", request.namespace())] {
        if !text.is_empty() {
            map.set(field, text);
        }
    }
    map.set("operation", request.operation.name());
    map.set("userInfo", user_info(request.options.context.user()));
    let mut out =
        format!("{{\"kind\":\"{REVIEW}\",\"apiVersion\":\"{}\",\"request\":", version.api_version()).into_bytes();
    json::encode(&Value::Map(map), &mut out);
    // The objects follow without being copied.
    out.pop();
    for (field, object) in [("object", &versioned.object), ("oldObject", &versioned.old)] {
        out.extend_from_slice(format!(",\"{field}\":").as_bytes());
        match object {
            Some(object) => json::encode(object, &mut out),
            None => out.extend_from_slice(b"null"),
        }
    }
    out.extend_from_slice(format!(",\"dryRun\":{},\"options\":", request.options.dry_run).as_bytes());
    match request.options_object() {
        Some(options) => json::encode(&options, &mut out),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b"}}");
    out
}

fn user_info(user: &UserInfo) -> Value {
    let facts = UserFacts {
        username: user.name.to_string(),
        uid: user.uid.to_string(),
        groups: user.groups.iter().map(ToString::to_string).collect(),
        extra: user
            .extra
            .iter()
            .map(|(key, values)| {
                let items = values.iter().map(ToString::to_string).collect();
                (key.to_string(), pintle_types::authentication::v1::ExtraValue { items })
            })
            .collect(),
    };
    let mut value = facts.to_value();
    pintle_schema::canonicalize(UserFacts::schema(), &mut value);
    value
}

/// Why a response is unusable.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unusable {
    #[error("failed to call webhook: {0}")]
    Undecodable(String),
    #[error("received invalid webhook response: {0}")]
    Invalid(String),
}

/// The response of a webhook.
pub(crate) struct Response {
    pub response: AdmissionResponse,
    /// The JSON patch; empty if there is none.
    pub patch: Vec<u8>,
    /// The type of the patch, which is `JSONPatch` in version v1beta1.
    pub patch_type: String,
}

/// Decodes and checks a response.
///
/// # Errors
/// It is no review, or not for the request `uid`.
pub(crate) fn decode(body: &[u8], uid: &str, version: ReviewVersion, kind: Kind) -> Result<Response, Unusable> {
    let undecodable = |error: String| Unusable::Undecodable(error);
    // Anything that does not look like JSON is YAML to kube-apiserver.
    let converted;
    let body = match body.trim_ascii_start().starts_with(b"{") {
        true => body,
        false => {
            let parsed = yaml::parse(body, Strictness::Ignore).map_err(|error| undecodable(error.to_string()))?;
            converted = json::to_vec(&parsed.value);
            &converted
        }
    };
    let head = json::type_meta(body)
        .map_err(|error| undecodable(format!("couldn't get version/kind; json parse error: {error}")))?;
    let expected = version.api_version();
    let api_version = if head.api_version.is_empty() { expected.as_str() } else { head.api_version.as_str() };
    let found = if head.kind.is_empty() { REVIEW } else { head.kind.as_str() };
    let is_expected = api_version == expected && found == REVIEW;
    if !is_expected {
        let known = match (api_version, found) {
            (_, "Status" | "APIVersions" | "APIGroupList" | "APIGroup" | "APIResourceList") => Some("v1"),
            ("admission.k8s.io/v1", REVIEW) => Some("v1"),
            ("admission.k8s.io/v1beta1", REVIEW) => Some("v1beta1"),
            _ => None,
        };
        return Err(undecodable(match known {
            Some(known) => {
                let wanted = version.name();
                format!("converting ({known}.{found}) to ({wanted}.{REVIEW}): unknown conversion")
            }
            None => format!(
                "no kind {} is registered for version {} in scheme {}",
                names::quoted(found),
                names::quoted(api_version),
                names::quoted(SCHEME)
            ),
        }));
    }
    let decoded = json::decode(AdmissionReview::schema(), body, Strictness::Ignore);
    let decoded = decoded.map_err(|error| undecodable(error.to_string()))?;
    let review = AdmissionReview::from_value(&decoded.value).map_err(|error| undecodable(error.to_string()))?;
    check(review, uid, version, kind, [head.api_version.as_str(), head.kind.as_str()]).map_err(Unusable::Invalid)
}

fn check(
    review: AdmissionReview,
    uid: &str,
    version: ReviewVersion,
    kind: Kind,
    [api_version, found]: [&str; 2],
) -> Result<Response, String> {
    let mut response = review.response.ok_or("webhook response was absent")?;
    let patch = std::mem::take(&mut response.patch.0);
    if version == ReviewVersion::V1Beta1 {
        let patch_type = if patch.is_empty() { String::new() } else { "JSONPatch".to_owned() };
        return Ok(Response { response, patch, patch_type });
    }
    if response.uid != uid {
        return Err(format!("expected response.uid={}, got {}", names::quoted(uid), names::quoted(&response.uid)));
    }
    if (api_version, found) != ("admission.k8s.io/v1", REVIEW) {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        return Err(format!(
            "expected webhook response of {GROUP}/v1, Kind={REVIEW}, got {group}/{version}, Kind={found}"
        ));
    }
    let patch_type = response.patch_type.as_ref().map(|patch_type| patch_type.as_str().to_owned());
    match (kind, patch.is_empty(), &patch_type) {
        (Kind::Validating, false, _) => return Err("validating webhook may not return response.patch".to_owned()),
        (Kind::Validating, _, Some(_)) => return Err("validating webhook may not return response.patchType".to_owned()),
        (Kind::Mutating, false, None) => {
            return Err("webhook returned response.patch but not response.patchType".to_owned());
        }
        (Kind::Mutating, true, Some(_)) => {
            return Err("webhook returned response.patchType but not response.patch".to_owned());
        }
        (Kind::Mutating, _, Some(patch_type)) if patch_type.is_empty() => {
            return Err("webhook returned invalid response.patchType of \"\"".to_owned());
        }
        _ => {}
    }
    Ok(Response { response, patch, patch_type: patch_type.unwrap_or_default() })
}
