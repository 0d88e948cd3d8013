//! What audit events have of a response: its status and its object. Guarantees that a response is recorded whole or not
//! at all, within the bounds of what events keep. Must never change what is sent.

use crate::audit::{compact_json, parsed, remove_managed_fields};
use crate::body::{Body, Size};
use crate::encoding::{Format, MediaTypeOptions};
use crate::response::ApiResponse;
use crate::{Api, encoding, limits};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use pintle_audit::{Held, Level, Record, ResponseStatus, Stage};
use pintle_codec::{json, protobuf};
use pintle_meta::meta::{v1, v1beta1};
use pintle_registry::admission::kind_of;
use pintle_registry::{RequestContext, set_type};
use pintle_resource::{Resource, ResourceTable};
use pintle_schema::{ApiType, Struct, Value, canonicalize};
use std::sync::Arc;

/// A request with its record.
pub(super) struct ResponseAuditor<'a> {
    pub api: &'a Api,
    pub context: &'a RequestContext,
    pub record: &'a Arc<Record>,
    /// `ResponseStarted` is emitted: by its path the request has no end of its own, or it failed before the audited
    /// steps.
    pub has_started: bool,
    /// `ResponseComplete` is emitted when the response ends.
    pub is_complete: bool,
    /// The client accepts a form of objects. Otherwise it gets a `Status` in JSON, which kube-apiserver does not
    /// record.
    pub is_acceptable: bool,
}

impl ResponseAuditor<'_> {
    /// Emits the events of a response whose head is known. `error` is the `Status` that the response was made of.
    pub(super) async fn record(&self, answer: &mut ApiResponse, error: Option<Value>) {
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
        if self.has_started {
            self.record.stage(Stage::ResponseStarted, annotations.clone()).await;
        }
        if self.is_complete && !answer.body.is_long_running() {
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

/// Reads a body of pieces into one, up to a limit, and while there is room for it; one that is larger stays in pieces,
/// and is not recorded. Returns the room that it takes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_audit::{Auditor, Policy, RequestInfo};
    use pintle_auth::{Attributes, UserInfo};
    use std::time::SystemTime;

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
}
