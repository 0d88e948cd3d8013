//! Audit: fills the [`Record`] of a request and emits its events. Guarantees that a request that is not audited costs one check
//! of an option. Must never change a response, except that a request is rejected when its first event had to be stored and was
//! not.

use crate::access::requested_name;
use crate::body::{Body, Size};
use crate::context::Context;
use crate::negotiation::{Format, MediaTypeOptions};
use crate::query::Query;
use crate::request::{Request, ResourcePath, Verb};
use crate::response::{ApiResponse, set_before};
use crate::{Api, encoding, limits};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue, USER_AGENT};
use pintle_audit::{Held, Level, Record, RequestInfo, ResponseStatus, Stage, truncated_user_agent};
use pintle_auth::{Attributes, UserInfo};
use pintle_codec::{Strictness, cbor, json, protobuf, yaml};
use pintle_meta::meta::{v1, v1beta1};
use pintle_registry::admission::kind_of;
use pintle_registry::{RequestContext, Status, environment, metadata, set_type};
use pintle_resource::{Resource, ResourceTable};
use pintle_schema::{ApiType, Struct, Value, canonicalize};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

/// Identifies a request, in both directions.
pub const AUDIT_ID: &str = "audit-id";

/// The id of a request: the client's own, as it is, or a new one.
pub fn audit_id(api: &Api, headers: &HeaderMap) -> String {
    match headers.get(AUDIT_ID).map(|id| String::from_utf8_lossy(id.as_bytes())) {
        Some(id) if !id.is_empty() => id.into_owned(),
        _ => environment::new_uid(api.registry.environment.as_ref()),
    }
}

/// Sets the audit id of a response, before that of a backend.
pub fn set_audit_id<B>(response: &mut http::Response<B>, id: &str) {
    if let Ok(value) = HeaderValue::from_bytes(id.as_bytes()) {
        set_before(response.headers_mut(), &HeaderName::from_static(AUDIT_ID), value);
    }
}

/// The time and URI of a request, noted before anything of it is parsed. Absent when auditing is off.
pub(crate) struct RequestStart {
    received: SystemTime,
    uri: String,
}

impl RequestStart {
    pub(crate) fn of(api: &Api, request: &Request) -> Option<Box<RequestStart>> {
        api.auditor.as_ref()?;
        let query = if request.query.is_empty() { "" } else { "?" };
        let uri = format!("{}{query}{}", request.path, request.query);
        Some(Box::new(RequestStart { received: SystemTime::now(), uri }))
    }
}

/// The inputs of an audit record, available when the user is known.
pub(crate) struct RecordBuilder<'a> {
    pub api: &'a Api,
    pub request: &'a Request,
    pub path: Option<&'a ResourcePath>,
    pub verb: Verb,
    pub query: &'a Query,
    pub context: &'a RequestContext,
}

impl RecordBuilder<'_> {
    /// Begins the record of a request, if it is audited; one that could not be authenticated has no user.
    pub(crate) fn record(&self, audit_start: &RequestStart, user: Option<&Arc<UserInfo>>) -> Option<Arc<Record>> {
        let auditor = self.api.auditor.as_ref()?;
        let (name, method, nobody);
        let of = match user {
            Some(user) => user,
            None => {
                nobody = UserInfo::default();
                &nobody
            }
        };
        let attributes = match self.path {
            Some(path) => {
                name = requested_name(path, self.verb, self.query);
                Attributes {
                    api_version: &path.version,
                    subresource: &path.subresource,
                    namespace: &path.namespace,
                    name: &name,
                    ..Attributes::resource(of, self.verb.name(), &path.group, &path.resource)
                }
            }
            None => {
                method = self.request.method.as_str().to_ascii_lowercase();
                Attributes::non_resource(of, &method, &self.request.path)
            }
        };
        let info = || RequestInfo {
            id: self.context.id.clone(),
            received: audit_start.received,
            uri: audit_start.uri.clone(),
            verb: attributes.verb.to_owned(),
            user: user.cloned(),
            source_ips: source_ips(&self.request.headers, self.request.peer),
            user_agent: truncated_user_agent(
                self.request.headers.get(USER_AGENT).map_or(&[], |agent| agent.as_bytes()),
            ),
        };
        let record = auditor.begin(&attributes, info, user.is_some())?;
        self.context.audited_by(record.clone());
        Some(record)
    }
}

/// Emits `RequestReceived`. Returns false if the event had to be stored and was not: the request must then be rejected.
pub(crate) async fn record_received(record: &Record, context: &RequestContext) -> bool {
    let stored = record.stage(Stage::RequestReceived, context.annotations()).await;
    if !stored {
        record.rejected();
    }
    stored
}

/// The addresses that the client's proxies named, without the same one twice in a row at the end.
fn source_ips(headers: &HeaderMap, peer: Option<IpAddr>) -> Vec<IpAddr> {
    let parse = |text: &str| text.trim().parse::<IpAddr>().ok().map(|address| address.to_canonical());
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let mut addresses: Vec<IpAddr> =
        text("x-forwarded-for").into_iter().flat_map(|list| list.split(',')).filter_map(parse).collect();
    if let Some(real) = text("x-real-ip").and_then(parse)
        && !addresses.contains(&real)
    {
        addresses.push(real);
    }
    if let Some(peer) = peer.map(|peer| peer.to_canonical())
        && addresses.last() != Some(&peer)
    {
        addresses.push(peer);
    }
    addresses
}

/// Records a decoded object of a request, of the resource's own kind.
pub fn request_object(context: &Context, resource: &Resource, object: &Value) {
    let Some(record) = context.request.audit() else { return };
    record_identity(record, object);
    if record.level() >= Level::Request {
        let mut object = object.clone();
        resource.default_sent(&mut object, context.api.registry.environment.now_unix());
        set_type(&mut object, &resource.api_version(), &resource.kind);
        record.request_object(encoded(record, &resource.schema, object));
    }
}

/// Records a decoded object of a request that has a kind of its own, as the options of a delete and bodies of subresources.
pub fn request_body(context: &Context, schema: &Struct, api_version: &str, kind: &str, object: &Value) {
    let Some(record) = context.request.audit() else { return };
    record_identity(record, object);
    if record.level() >= Level::Request {
        let mut object = object.clone();
        set_type(&mut object, api_version, kind);
        record.request_object(encoded(record, schema, object));
    }
}

fn record_identity(record: &Record, object: &Value) {
    let text = |key| metadata::text(object, key);
    record.object(text("namespace"), text("name"), text("uid"), text("resourceVersion"));
}

fn encoded(record: &Record, schema: &Struct, mut object: Value) -> Bytes {
    canonicalize(schema, &mut object);
    if record.omits_managed_fields() {
        remove_managed_fields(&mut object);
    }
    let mut json = encoding::encode(&object, schema, MediaTypeOptions::JSON);
    json.truncate(json.trim_ascii_end().len());
    json
}

/// Records a patch.
pub fn request_patch(context: &Context, bytes: &Bytes, format: Format) {
    let Some(record) = context.request.audit().filter(|record| record.level() >= Level::Request) else { return };
    let json = match format {
        Format::Json => compact_json(bytes),
        _ => parsed(format, bytes).map(|patch| json::to_vec(&patch).into()),
    };
    json.into_iter().for_each(|json| record.request_object(json));
}

fn parsed(format: Format, bytes: &[u8]) -> Option<Value> {
    match format {
        Format::Json => json::parse_spelled(bytes, Strictness::Ignore).ok().map(|parsed| parsed.value),
        Format::Yaml => yaml::parse(bytes, Strictness::Ignore).ok().map(|parsed| parsed.value),
        Format::Cbor => cbor::parse(bytes).ok(),
        Format::Protobuf => None,
    }
}

/// JSON without whitespace, if it is JSON.
fn compact_json(bytes: &[u8]) -> Option<Bytes> {
    json::parse_spelled(bytes, Strictness::Ignore).ok()?;
    let mut out = Vec::with_capacity(bytes.len());
    json::compact(bytes, &mut out);
    Some(out.into())
}

fn remove_managed_fields(object: &mut Value) {
    object.remove_at(&["metadata", "managedFields"]);
    for (list, inner) in [("items", None), ("rows", Some("object"))] {
        for item in object.get_mut(list).and_then(Value::as_list_mut).into_iter().flatten() {
            let item = match inner {
                Some(key) => item.get_mut(key),
                None => Some(item),
            };
            if let Some(item) = item {
                item.remove_at(&["metadata", "managedFields"]);
            }
        }
    }
}

/// Which events the end of a request makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FinalStage {
    /// `ResponseComplete`.
    #[default]
    Complete,
    /// `ResponseStarted` only: the request failed before the audited steps.
    Started,
    /// None: the first event could not be stored.
    None,
}

/// A request with its record.
pub(crate) struct ResponseAuditor<'a> {
    pub api: &'a Api,
    pub context: &'a RequestContext,
    pub record: &'a Arc<Record>,
    pub final_stage: FinalStage,
    /// By its path the request has no end of its own.
    pub is_long_running: bool,
    /// The client accepts a form of objects. Otherwise it gets a `Status` in JSON, which kube-apiserver does not record.
    pub is_acceptable: bool,
}

impl ResponseAuditor<'_> {
    /// Emits the events of a response whose head is known. `error` is the `Status` that the response was made of.
    pub(crate) async fn record(&self, answer: &mut ApiResponse, error: Option<Value>) {
        let is_recorded = self.is_acceptable || error.is_none();
        let status = if is_recorded { error.or_else(|| status_of(answer)) } else { None };
        self.record.response(match &status {
            Some(status) => ResponseStatus::of(status, answer.code),
            None => ResponseStatus::of_code(answer.code),
        });
        if self.record.level() >= Level::RequestResponse && is_recorded {
            // Counts until the object itself does.
            let (object, _buffered) = self.response_json(answer).await;
            object.into_iter().for_each(|object| self.record.response_object(object));
        }
        let annotations = self.context.annotations();
        if self.is_long_running || self.final_stage == FinalStage::Started {
            self.record.stage(Stage::ResponseStarted, annotations.clone()).await;
        }
        if self.final_stage == FinalStage::Complete && !answer.body.is_long_running() {
            self.record.stage(Stage::ResponseComplete, annotations).await;
        }
    }

    /// The object of a response as JSON, and the room for the pieces of its body.
    async fn response_json(&self, answer: &mut ApiResponse) -> (Option<Bytes>, Option<Held>) {
        let Some(format) = format_of(&answer.content_type) else { return (None, None) };
        let mut held = None;
        if matches!(answer.body, Body::Chunks(..)) {
            held = buffer(&mut answer.body, self.record).await;
        }
        let Body::Full(body) = &answer.body else { return (None, held) };
        (self.object_json(format, body), held)
    }

    fn object_json(&self, format: Format, body: &Bytes) -> Option<Bytes> {
        let is_object = format != Format::Json || body.trim_ascii_start().starts_with(b"{");
        let mut value = match format {
            _ if !is_object => return None,
            Format::Json if !self.record.omits_managed_fields() => {
                let is_typed = json::type_meta(body).is_ok_and(|head| !head.kind.is_empty());
                return compact_json(body).filter(|_| is_typed);
            }
            Format::Protobuf => self.decode_protobuf(body)?,
            _ => parsed(format, body)?,
        };
        if value.str_at(&["kind"]).is_empty() {
            return None;
        }
        if self.record.omits_managed_fields() {
            remove_managed_fields(&mut value);
        }
        Some(json::to_vec(&value).into())
    }

    fn decode_protobuf(&self, body: &[u8]) -> Option<Value> {
        let envelope = protobuf::decode_envelope(body).ok()?;
        let (api_version, kind) = (envelope.api_version.to_string(), envelope.kind.to_string());
        let table = self.api.registry.resources.snapshot();
        let (mut value, schema) = match Message::find(&table, &api_version, &kind)? {
            Message::Object(schema) => (protobuf::decode(schema, envelope.raw).ok()?, schema),
            Message::ListOf(schema) => {
                let mut list = protobuf::decode_list(v1::ListMeta::schema(), schema, envelope.raw).ok()?;
                let items = list.get_mut("items").and_then(Value::as_list_mut);
                items.into_iter().flatten().for_each(|item| canonicalize(schema, item));
                (list, schema)
            }
        };
        if !matches!(value, Value::Map(_)) {
            return None;
        }
        set_type(&mut value, &api_version, &kind);
        let mut json = encoding::encode(&value, schema, MediaTypeOptions::JSON);
        json.truncate(json.trim_ascii_end().len());
        parsed(Format::Json, &json)
    }
}

/// The form of a response in protobuf.
enum Message<'t> {
    Object(&'t Struct),
    /// A list of objects of this schema.
    ListOf(&'t Struct),
}

impl<'t> Message<'t> {
    /// That of a kind: of a resource, of its lists, of a subresource, or one that all groups have.
    fn find(table: &'t ResourceTable, api_version: &str, kind: &str) -> Option<Message<'t>> {
        match (api_version, kind) {
            ("v1", "Status") => return Some(Message::Object(v1::Status::schema())),
            ("v1", "APIVersions") => return Some(Message::Object(v1::APIVersions::schema())),
            ("v1", "APIGroup") => return Some(Message::Object(v1::APIGroup::schema())),
            ("v1", "APIGroupList") => return Some(Message::Object(v1::APIGroupList::schema())),
            ("v1", "APIResourceList") => return Some(Message::Object(v1::APIResourceList::schema())),
            ("meta.k8s.io/v1" | "meta.k8s.io/v1beta1", "PartialObjectMetadata") => {
                return Some(Message::Object(v1::PartialObjectMetadata::schema()));
            }
            // The versions number the fields in different ways.
            ("meta.k8s.io/v1", "PartialObjectMetadataList") => {
                return Some(Message::ListOf(v1::PartialObjectMetadata::schema()));
            }
            ("meta.k8s.io/v1beta1", "PartialObjectMetadataList") => {
                return Some(Message::Object(v1beta1::PartialObjectMetadataList::schema()));
            }
            _ => {}
        }
        let own = |resource: &&'t Arc<Resource>| resource.api_version() == api_version;
        if let Some(resource) = table.all().filter(own).find(|resource| *resource.kind == *kind) {
            return Some(Message::Object(&resource.schema));
        }
        if let Some(resource) = table.all().filter(own).find(|resource| resource.list_kind() == kind) {
            return Some(Message::ListOf(&resource.schema));
        }
        let of_kind = |resource: &'t Arc<Resource>| {
            let found = resource.subresources.iter().find(|subresource| {
                let [group, version, found] = kind_of(resource, &subresource.name);
                let is_version = match api_version.split_once('/') {
                    Some((own, rest)) => (own, rest) == (group, version),
                    None => group.is_empty() && api_version == version,
                };
                found == kind && is_version
            })?;
            found.schema.as_deref()
        };
        table.all().find_map(of_kind).map(Message::Object)
    }
}

fn format_of(content_type: &str) -> Option<Format> {
    let media_type = content_type.split(';').next().unwrap_or_default();
    match media_type {
        "application/json" => Some(Format::Json),
        "application/yaml" => Some(Format::Yaml),
        "application/cbor" => Some(Format::Cbor),
        "application/vnd.kubernetes.protobuf" => Some(Format::Protobuf),
        _ => None,
    }
}

/// Reads a body of pieces into one, up to a limit, and while there is room for it; one that is larger stays in pieces, and is not
/// recorded. Returns the room that it takes.
async fn buffer(body: &mut Body, record: &Record) -> Option<Held> {
    let Body::Chunks(mut chunks, size) = std::mem::replace(body, Body::empty()) else { return None };
    let (mut pieces, mut bytes, mut held) = (Vec::new(), 0, record.hold(0));
    let mut has_room = true;
    while has_room && bytes <= limits::AUDITED_BODY_BYTES {
        match chunks.next().await {
            Some(Ok(piece)) => {
                bytes += piece.len();
                has_room = held.as_mut().is_some_and(|held| held.grow(piece.len()));
                pieces.push(piece);
            }
            Some(Err(error)) => {
                // It is broken off where it was.
                let pieces = pieces.into_iter().map(Ok).chain([Err(error)]);
                *body = Body::Chunks(Box::pin(stream::iter(pieces)), Size::About(size.bytes()));
                return held;
            }
            None => {
                *body = Body::Full(pieces.concat().into());
                return held;
            }
        }
    }
    record.truncated();
    // The pieces count until they are sent.
    let pieces = pieces.into_iter().map(move |piece| {
        let _ = &held;
        Ok(piece)
    });
    *body = Body::Chunks(Box::pin(stream::iter(pieces).chain(chunks)), Size::About(size.bytes()));
    None
}

/// The `Status` that a good response is, as those of deletes are.
fn status_of(answer: &ApiResponse) -> Option<Value> {
    let Body::Full(body) = &answer.body else { return None };
    match format_of(&answer.content_type)? {
        Format::Protobuf => {
            let envelope = protobuf::decode_envelope(body).ok()?;
            let is_status = envelope.kind == "Status" && envelope.api_version == "v1";
            if is_status { protobuf::decode(v1::Status::schema(), envelope.raw).ok() } else { None }
        }
        // Objects of this server begin with their kind.
        Format::Json if body.starts_with(b"{\"kind\":\"") && !body.starts_with(b"{\"kind\":\"Status\"") => None,
        Format::Json => {
            let head = json::type_meta(body.get(..MAX_STATUS_BYTES.min(body.len()))?).ok()?;
            if head.kind == "Status" { parsed(Format::Json, body) } else { None }
        }
        format if body.len() <= MAX_STATUS_BYTES => {
            parsed(format, body).filter(|value| value.str_at(&["kind"]) == "Status")
        }
        _ => None,
    }
}

/// Larger bodies are not searched for a `Status`: those of successful responses are short.
const MAX_STATUS_BYTES: usize = 16 << 10;

/// Emits the last event of a request when it is dropped: its body has been sent, or its client has disconnected.
pub(crate) struct CompletionGuard {
    pub(crate) context: Option<Arc<RequestContext>>,
}

impl CompletionGuard {
    /// The last event has been made.
    pub(crate) fn disarm(mut self) {
        self.context = None;
    }
}

impl Drop for CompletionGuard {
    fn drop(&mut self) {
        let Some(context) = self.context.take() else { return };
        let Some(record) = context.audit().cloned() else { return };
        let stage = if std::thread::panicking() { Stage::Panic } else { Stage::ResponseComplete };
        if stage == Stage::Panic {
            let status = Status::new(500, "InternalError", "APIServer panic'd");
            record.response(ResponseStatus::of(&status.to_value(), 500));
        } else if !record.has_response() {
            let status = ResponseStatus {
                status: "Success".to_owned(),
                message: "Connection closed early".to_owned(),
                ..ResponseStatus::of_code(200)
            };
            record.response(status);
        }
        // Without a runtime the process ends.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { record.stage(stage, context.annotations()).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_audit::{Auditor, Policy};

    /// A record that may keep so many bytes of objects.
    fn record(bytes: usize) -> Arc<Record> {
        let rules = "rules: [{level: RequestResponse, omitStages: [RequestReceived]}]";
        let path = std::env::temp_dir().join(format!("pintle-audited-{}-{bytes}.yaml", std::process::id()));
        std::fs::write(&path, format!("apiVersion: audit.k8s.io/v1\nkind: Policy\n{rules}\n")).expect("written");
        let policy = Policy::read(&path).expect("a policy");
        std::fs::remove_file(&path).expect("removed");
        let auditor = Arc::new(Auditor::new(policy, Vec::new(), Arc::default()).keeping(bytes));
        let user = UserInfo::default();
        let info = || RequestInfo {
            id: String::new(),
            received: SystemTime::UNIX_EPOCH,
            uri: String::new(),
            verb: String::new(),
            user: None,
            source_ips: Vec::new(),
            user_agent: String::new(),
        };
        auditor.begin(&Attributes::resource(&user, "list", "", "pods"), info, true).expect("a record")
    }

    #[test]
    fn a_body_without_room_stays_in_pieces() {
        let body = || {
            let pieces = ["one", "two", "six"].map(|piece| Ok(Bytes::from_static(piece.as_bytes())));
            Body::Chunks(Box::pin(stream::iter(pieces)), Size::About(9))
        };
        for (room, is_whole) in [(9, true), (8, false), (2, false)] {
            let (record, mut body) = (record(room), body());
            let held = futures_util::FutureExt::now_or_never(buffer(&mut body, &record)).expect("nothing waits");
            assert_eq!((held.is_some(), record.is_truncated()), (is_whole, !is_whole), "{room}");
            let sent = match body {
                Body::Full(bytes) => bytes,
                Body::Chunks(chunks, _) => {
                    let pieces: Vec<_> = futures_util::FutureExt::now_or_never(chunks.collect()).expect("all is there");
                    pieces
                        .into_iter()
                        .map(|piece: std::io::Result<Bytes>| piece.expect("a piece"))
                        .collect::<Vec<_>>()
                        .concat()
                        .into()
                }
                _ => panic!("another body"),
            };
            assert_eq!(sent, "onetwosix", "{room}");
            drop(held);
            assert!(record.hold(room).is_some(), "all room is given back");
        }
    }

    #[test]
    fn kinds_of_messages() {
        let table = pintle_groups::resources().snapshot();
        for (api_version, kind, expected) in [
            ("v1", "Pod", Some("Pod")),
            ("v1", "PodList", Some("list of Pod")),
            ("authentication.k8s.io/v1", "TokenRequest", Some("TokenRequest")),
            ("autoscaling/v1", "Scale", Some("Scale")),
            ("policy/v1", "Eviction", Some("Eviction")),
            ("v1", "Status", Some("Status")),
            ("meta.k8s.io/v1", "PartialObjectMetadataList", Some("list of PartialObjectMetadata")),
            ("apps/v1", "Pod", None),
            ("autoscaling/v2", "Scale", None),
        ] {
            let found = Message::find(&table, api_version, kind).map(|message| match message {
                Message::Object(schema) => schema.name.to_string(),
                Message::ListOf(schema) => format!("list of {}", schema.name.as_str()),
            });
            assert_eq!(found.as_deref(), expected, "{api_version} {kind}");
        }
    }

    #[test]
    fn addresses_of_proxies_come_before_the_peer() {
        let peer = Some(IpAddr::from([10, 0, 0, 1]));
        for (forwarded, real, expected) in [
            ("", "", vec!["10.0.0.1"]),
            ("1.2.3.4, x, 5.6.7.8", "", vec!["1.2.3.4", "5.6.7.8", "10.0.0.1"]),
            ("1.2.3.4", "1.2.3.4", vec!["1.2.3.4", "10.0.0.1"]),
            ("1.2.3.4", "10.0.0.1", vec!["1.2.3.4", "10.0.0.1"]),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [("x-forwarded-for", forwarded), ("x-real-ip", real)] {
                headers.insert(name, HeaderValue::from_static(value));
            }
            let found: Vec<String> = source_ips(&headers, peer).iter().map(ToString::to_string).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn managed_fields_are_left_out_of_objects_lists_and_tables() {
        let text = r#"{"metadata":{"a":1,"managedFields":[]},"items":[{"metadata":{"managedFields":[1]}}],"rows":[{"object":{"metadata":{"managedFields":[1]}}}]}"#;
        let mut value = parsed(Format::Json, text.as_bytes()).expect("JSON");
        remove_managed_fields(&mut value);
        let expected = r#"{"metadata":{"a":1},"items":[{"metadata":{}}],"rows":[{"object":{"metadata":{}}}]}"#;
        assert_eq!(json::to_string(&value), expected);
    }
}
