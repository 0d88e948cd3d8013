//! Conversion of custom resources by a webhook: ConversionReviews, and checks of the response. Guarantees kube-apiserver's
//! messages, and that a webhook changes no metadata except labels and annotations. Must never convert a part of a batch: all
//! objects are converted, or none.

mod metrics;

pub use metrics::{CONVERSIONS, ConversionMetrics};

use crate::definition::text;
use metrics::Failure;
use pintle_codec::{Strictness, json, yaml};
use pintle_meta::v1::Status;
use pintle_resource::{ConversionError, Converted};
use pintle_schema::compat;
use pintle_schema::{ApiType, ApiValue, RawExtension, Value, base64, names};
use pintle_validation::{ErrorList, metadata};
use pintle_webhook::{
    Address, Call, CallError, Client, Clients, Credentials, ServiceReference, Settings, TlsSettings, call_uid,
};
use std::fmt::Display;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The time of a call, as in kube-apiserver.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How many objects go into one review.
const BATCH: usize = 250;
/// Maximum size of a response: as many objects of the largest size as a page of a list usually holds.
const MAX_ANSWER_BYTES: usize = 128 << 20;
/// The User-Agent of calls to webhooks.
const USER_AGENT: &str = "kube-apiserver-admission";

const GROUP: &str = "apiextensions.k8s.io";
const REVIEW: &str = "ConversionReview";
/// Where kube-apiserver keeps the types of reviews, which a message names.
const SCHEME: &str = "k8s.io/apiserver/pkg/util/webhook/client.go:71";

/// A conversion webhook of a definition.
pub(crate) struct ConversionWebhook {
    /// The definition's name.
    definition: String,
    clients: Arc<Clients>,
    settings: Settings,
    client: OnceLock<Client>,
    /// `v1` or `v1beta1`; `None` if the webhook supports neither.
    version: Option<&'static str>,
}

/// The response of a webhook.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Review {
    #[k8s(proto = 1, optional)]
    response: Option<ConversionResponse>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct ConversionResponse {
    #[k8s(proto = 1, optional)]
    uid: String,
    #[k8s(proto = 2, optional)]
    converted_objects: Vec<RawExtension>,
    #[k8s(proto = 3, optional)]
    result: Status,
}

/// Why objects could not be converted.
struct Fault {
    failure: Failure,
    why: String,
    /// Whether nothing is said of the webhook.
    is_bare: bool,
}

impl Fault {
    fn new(failure: Failure, why: String) -> Fault {
        Fault { failure, why, is_bare: false }
    }

    /// One of an object that is none.
    fn bare(why: impl Into<String>) -> Fault {
        Fault { failure: Failure::InvalidObject, why: why.into(), is_bare: true }
    }
}

impl ConversionWebhook {
    /// The webhook in the `conversion` of the stored definition with this name.
    pub(crate) fn of(definition: &str, conversion: &Value, clients: &Arc<Clients>) -> ConversionWebhook {
        let none = Value::Null;
        let config = conversion.get("webhookClientConfig").unwrap_or(&none);
        let address = match config.get("service").filter(|service| !service.is_null()) {
            Some(service) => Address::Service(ServiceReference {
                namespace: text(service, "namespace").to_owned(),
                name: text(service, "name").to_owned(),
                port: service
                    .get("port")
                    .and_then(Value::as_i64)
                    .and_then(|port| u16::try_from(port).ok())
                    .unwrap_or(443),
                path: text(service, "path").to_owned(),
            }),
            None => Address::Url(text(config, "url").to_owned()),
        };
        let ca_pem = base64::decode(text(config, "caBundle")).unwrap_or_default();
        let versions = conversion.get("conversionReviewVersions").and_then(Value::as_list).unwrap_or_default();
        let version = versions.iter().filter_map(Value::as_str).find_map(|version| match version {
            "v1" => Some("v1"),
            "v1beta1" => Some("v1beta1"),
            _ => None,
        });
        let settings = Settings {
            tls: TlsSettings { ca_pem, http2: address.allows_http2(), ..TlsSettings::default() },
            address,
            credentials: Credentials::default(),
            user_agent: USER_AGENT.to_owned(),
        };
        let definition = definition.to_owned();
        ConversionWebhook { definition, clients: clients.clone(), settings, client: OnceLock::new(), version }
    }

    /// Converts objects between two versions, in reviews of many.
    pub(crate) async fn convert(&self, objects: Vec<Value>, from: &str, to: &str) -> Converted {
        let mut converted = Vec::with_capacity(objects.len());
        for batch in objects.chunks(BATCH) {
            let started = Instant::now();
            match self.convert_batch(batch, from, to).await {
                Ok(batch) => converted.extend(batch),
                // kube-apiserver converts each object by itself, and its messages are about one. A webhook that did not respond at all
                // is not asked again.
                Err(_) if batch.len() > 1 && started.elapsed() < TIMEOUT => {
                    for object in batch {
                        converted.extend(self.convert_batch(std::slice::from_ref(object), from, to).await?);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(converted)
    }

    async fn convert_batch(&self, objects: &[Value], from: &str, to: &str) -> Converted {
        let kind = objects.first().map_or("", |object| object.str_at(&["kind"]));
        let started = Instant::now();
        let converted = self.try_batch(objects, from, to).await;
        let failure = converted.as_ref().err().map(|fault| fault.failure);
        CONVERSIONS.observe(&self.definition, (from, to), failure, started.elapsed());
        converted.map_err(|Fault { why, is_bare, .. }| match is_bare {
            true => ConversionError(why),
            false => ConversionError(format!("conversion webhook for {from}, Kind={kind} {why}")),
        })
    }

    async fn try_batch(&self, objects: &[Value], from: &str, to: &str) -> Result<Vec<Value>, Fault> {
        let kind = objects.first().map_or("", |object| object.str_at(&["kind"]));
        let answered = self.review(objects, from, to).await;
        let answered = answered.map_err(|why| Fault::new(Failure::Call, format!("failed: {why}")))?;
        if answered.len() != objects.len() {
            let (found, expected) = (answered.len(), objects.len());
            let why = format!("returned {found} objects, expected {expected}");
            return Err(Fault::new(Failure::PartialResponse, why));
        }
        let mut converted = Vec::with_capacity(objects.len());
        for (at, (answered, object)) in answered.into_iter().zip(objects).enumerate() {
            let invalid_at = |why: &dyn Display| format!("returned invalid object at index {at}: {why}");
            let invalid = |why: String| Fault::new(Failure::InvalidObject, why);
            let mut answered = raw_object(answered.0)?;
            let (version, found) = (answered.str_at(&["apiVersion"]), answered.str_at(&["kind"]));
            if version != to {
                let why = format!("invalid groupVersion (expected {to}, received {version})");
                return Err(invalid(invalid_at(&why)));
            }
            if found != kind {
                let why = format!("invalid kind (expected {kind}, received {found})");
                return Err(invalid(invalid_at(&why)));
            }
            check_same(object, &answered).map_err(|why| invalid(format!("returned invalid object: {why}")))?;
            restore_metadata(object, &mut answered)
                .map_err(|why| invalid(format!("returned invalid metadata: {why}")))?;
            converted.push(answered);
        }
        Ok(converted)
    }

    /// Calls the webhook.
    async fn review(&self, objects: &[Value], from: &str, to: &str) -> Result<Vec<RawExtension>, String> {
        let version = self.version.ok_or("does not support known conversionReviewVersions")?;
        let client = self.client()?;
        let uid = call_uid();
        let mut body =
            format!("{{\"kind\":\"{REVIEW}\",\"apiVersion\":\"{GROUP}/{version}\",\"request\":{{\"uid\":\"{uid}\",")
                .into_bytes();
        body.extend_from_slice(b"\"desiredAPIVersion\":");
        json::encode_str(to, &mut body);
        body.extend_from_slice(b",\"objects\":[");
        for (at, object) in objects.iter().enumerate() {
            if at > 0 {
                body.push(b',');
            }
            let mut object = object.clone();
            object.make_map().set("apiVersion", from);
            // An object that was just sent is not in canonical form yet.
            object.sort_keys();
            json::encode(&object, &mut body);
        }
        body.extend_from_slice(b"]}}");
        let call =
            Call { body: body.into(), timeout: TIMEOUT, shown_timeout: TIMEOUT, max_answer_bytes: MAX_ANSWER_BYTES };
        let answer = client.post(call).await.map_err(|error: CallError| error.to_string())?;
        decode(&answer.body, &uid, version)
    }

    /// The client, made with the first call.
    fn client(&self) -> Result<&Client, String> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = self.clients.client(self.settings.clone()).map_err(|error| error.to_string())?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// An object of a response, which was not decoded with it. kube-apiserver says nothing else of one that is none.
fn raw_object(answered: Value) -> Result<Value, Fault> {
    let text = match answered {
        Value::Null => return Err(Fault::bare("unexpected end of JSON input")),
        Value::Raw(text) => text.to_string(),
        other => json::to_string(&other),
    };
    let parsed = json::parse(text.as_bytes(), Strictness::Ignore);
    let object =
        parsed.map_err(|why| Fault { failure: Failure::MalformedResponse, ..Fault::bare(why.to_string()) })?.value;
    let found = match &object {
        // A version that is none hides the kind, too.
        Value::Map(_)
            if object.str_at(&["kind"]).is_empty() || object.str_at(&["apiVersion"]).matches('/').count() > 1 =>
        {
            return Err(Fault::bare(format!("Object 'Kind' is missing in '{text}'")));
        }
        Value::Map(_) => return Ok(object),
        Value::Null => return Err(Fault::bare("unexpected end of JSON input")),
        Value::List(_) => "array",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        _ => "number",
    };
    Err(Fault::bare(format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")))
}

/// Decodes and checks a response.
fn decode(body: &[u8], uid: &str, version: &str) -> Result<Vec<RawExtension>, String> {
    // Anything that does not look like JSON is YAML to kube-apiserver.
    let converted;
    let body = match body.trim_ascii_start().starts_with(b"{") {
        true => body,
        false => {
            let parsed = yaml::parse(body, Strictness::Ignore).map_err(|error| error.to_string())?;
            converted = json::to_vec(&parsed.value);
            &converted
        }
    };
    let head =
        json::type_meta(body).map_err(|error| format!("couldn't get version/kind; json parse error: {error}"))?;
    let own = format!("{GROUP}/{version}");
    let api_version = if head.api_version.is_empty() { own.as_str() } else { head.api_version.as_str() };
    let kind = if head.kind.is_empty() { REVIEW } else { head.kind.as_str() };
    if (api_version, kind) != (own.as_str(), REVIEW) {
        let known = match (api_version, kind) {
            (_, "Status" | "APIVersions" | "APIGroupList" | "APIGroup" | "APIResourceList") => Some("v1"),
            ("apiextensions.k8s.io/v1", REVIEW) => Some("v1"),
            ("apiextensions.k8s.io/v1beta1", REVIEW) => Some("v1beta1"),
            _ => None,
        };
        return Err(match known {
            Some(known) => format!("converting ({known}.{kind}) to ({version}.{REVIEW}): unknown conversion"),
            None => format!(
                "no kind {} is registered for version {} in scheme {}",
                names::quoted(kind),
                names::quoted(api_version),
                names::quoted(SCHEME)
            ),
        });
    }
    let decoded = json::decode(Review::schema(), body, Strictness::Ignore).map_err(|error| error.to_string())?;
    let review = Review::from_value(&decoded.value).map_err(|error| error.to_string())?;
    if version == "v1" && (head.api_version.as_str(), head.kind.as_str()) != (own.as_str(), REVIEW) {
        let (group, found) = head.api_version.rsplit_once('/').unwrap_or(("", head.api_version.as_str()));
        return Err(format!(
            "expected webhook response of {own}, Kind={REVIEW}, got {group}/{found}, Kind={}",
            head.kind
        ));
    }
    let response = review.response.ok_or("no response provided")?;
    if version == "v1" && response.uid != uid {
        return Err(format!("expected response.uid={}, got {}", names::quoted(uid), names::quoted(&response.uid)));
    }
    if response.result.status != "Success" {
        return Err(match response.result.message.as_str() {
            "" => format!("response.result.status was '{}', not 'Success'", response.result.status),
            message => message.to_owned(),
        });
    }
    Ok(response.converted_objects)
}

/// A converted object is the same object.
fn check_same(object: &Value, converted: &Value) -> Result<(), String> {
    for (path, what) in [
        (&["kind"] as &[&str], "kind"),
        (&["metadata", "name"], "name"),
        (&["metadata", "namespace"], "namespace"),
        (&["metadata", "uid"], "UID"),
    ] {
        let (before, after) = (object.str_at(path), converted.str_at(path));
        if before != after {
            return Err(format!("must have the same {what}: {before} != {after}"));
        }
    }
    Ok(())
}

/// Gives a converted object the metadata of the original, with its own labels and annotations.
fn restore_metadata(object: &Value, converted: &mut Value) -> Result<(), String> {
    let answered = match converted.get("metadata") {
        None => return Err("missing metadata in converted object".to_owned()),
        Some(answered @ Value::Map(_)) => answered.clone(),
        Some(other) => return Err(format!("invalid metadata of type {} in converted object", compat::type_of(other))),
    };
    let mut metadata = object.get("metadata").cloned().unwrap_or_else(Value::map);
    for field in ["labels", "annotations"] {
        let Some(texts) = answered.get(field).filter(|texts| !texts.is_null()) else {
            metadata.make_map().remove(field);
            continue;
        };
        let Value::Map(map) = texts else {
            let found = compat::type_of(texts);
            return Err(format!("invalid metadata.{field} of type {found} in converted object"));
        };
        if let Some((key, other)) = map.iter().find(|(_, text)| text.as_str().is_none()) {
            let found = compat::type_of(other);
            return Err(format!("metadata.{field}[{key}] must be a string, but is {found} in converted object"));
        }
        if metadata.get(field) != Some(texts) {
            let mut errors = ErrorList::default();
            match field {
                "labels" => metadata::validate_labels(Some(texts), "metadata.labels", &mut errors),
                _ => metadata::validate_annotations(Some(texts), "metadata.annotation", &mut errors),
            }
            if !errors.is_empty() {
                return Err(errors.summary());
            }
        }
        metadata.make_map().set(field, texts.clone());
    }
    converted.make_map().set("metadata", metadata);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn answers() {
        let response = |response: Value| {
            let review =
                value!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": response});
            decode(&json::to_vec(&review), "u", "v1").map(|objects| objects.len())
        };
        let success = || value!({"status": "Success"});
        assert_eq!(response(value!({"uid": "u", "result": (success()), "convertedObjects": [{"a": 1}]})), Ok(1));
        let wrong = response(value!({"uid": "w", "result": (success())}));
        assert_eq!(wrong, Err("expected response.uid=\"u\", got \"w\"".to_owned()));
        let failed = response(value!({"uid": "u", "result": {"status": "Failed", "message": "m"}}));
        assert_eq!(failed, Err("m".to_owned()));
        let silent = response(value!({"uid": "u"}));
        assert_eq!(silent, Err("response.result.status was '', not 'Success'".to_owned()));
        assert_eq!(response(Value::Null), Err("no response provided".to_owned()));
        let status = decode(br#"{"kind":"Status","apiVersion":"v1"}"#, "u", "v1");
        assert_eq!(status, Err("converting (v1.Status) to (v1.ConversionReview): unknown conversion".to_owned()));
    }

    #[test]
    fn objects_that_are_none() {
        let raw = |text: &'static str| raw_object(Value::Raw(text.into())).map_err(|fault| fault.why);
        assert_eq!(raw(r#"{"kind": "A"}"#), Ok(value!({"kind": "A"})));
        for (text, why) in [
            ("null", "unexpected end of JSON input"),
            (r#""x""#, "json: cannot unmarshal string into Go value of type map[string]interface {}"),
            ("[1]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
            (r#"{"a":1}"#, r#"Object 'Kind' is missing in '{"a":1}'"#),
            (
                r#"{"kind":"A","apiVersion":"a/b/c"}"#,
                r#"Object 'Kind' is missing in '{"kind":"A","apiVersion":"a/b/c"}'"#,
            ),
        ] {
            assert_eq!(raw(text), Err(why.to_owned()), "{text}");
        }
        let text = decode(b"zz", "u", "v1").expect_err("refused");
        assert!(
            text.starts_with("couldn't get version/kind; json parse error: json: cannot unmarshal string"),
            "{text}"
        );
    }

    #[test]
    fn only_labels_and_annotations_change() {
        let object =
            value!({"metadata": {"name": "a", "labels": {"x": "y"}, "generation": 1, "annotations": {"k": "l"}}});
        let mut converted =
            value!({"metadata": {"name": "a", "labels": {"x": "z"}, "generation": 9, "finalizers": ["f"]}});
        restore_metadata(&object, &mut converted).expect("restored");
        assert_eq!(converted, value!({"metadata": {"name": "a", "labels": {"x": "z"}, "generation": 1}}));
        let mut wrong = value!({"metadata": {"labels": {"x": 1}}});
        let error = restore_metadata(&object, &mut wrong).expect_err("refused");
        assert_eq!(error, "metadata.labels[x] must be a string, but is int64 in converted object");
        let mut invalid = value!({"metadata": {"labels": {"x": "not valid!"}}});
        assert!(
            restore_metadata(&object, &mut invalid).expect_err("refused").starts_with("metadata.labels: Invalid value")
        );
    }
}
