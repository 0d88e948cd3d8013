//! Lists in every form: what a list consists of besides its items, and how an item is written. Guarantees that a list
//! is encoded piece by piece from its snapshot, in every form. Must never hold the encodings of all items of a list.

use super::batches::Batches;
use super::document::{IncludeObject, encode};
use super::list_metadata::{custom_list_meta, list_meta, typed_list_meta};
use super::message::{message_size, put_message};
use super::negotiation::{Format, MediaTypeOptions, ResponseKind};
use super::object::ObjectEncoder;
use super::partial::{MetadataForm, put_partial};
use pintle_cache::Object;
use pintle_codec::{cbor, json, protobuf, yaml};
use pintle_compute::give_way;
use pintle_meta::meta::v1::{PartialObjectMetadata, PartialObjectMetadataList, Table, TableRow};
use pintle_registry::{Items, Page, Payload, Registry, Result, Selection, Status, Target};
use pintle_resource::Now;
use pintle_schema::{ApiType, Map, Struct, Value, value};
use std::ops::ControlFlow;
use std::sync::Arc;

/// How far a walk over the objects of a list came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Walked {
    Stopped,
    ToTheEnd,
}

/// How much more may be worked at before others get their turn: about a millisecond.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Budget(bytes)
    }

    /// Takes what an object costs. Stops when nothing is left.
    pub(super) fn take(&mut self, object: &Object) -> ControlFlow<()> {
        self.0 = self.0.saturating_sub(object.encoded.json().len());
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Encodes a list. It has its own references, because it outlives its request.
pub struct ListEncoder {
    registry: Arc<Registry>,
    pub(super) target: Target,
    pub(super) wanted: MediaTypeOptions,
    include_object: IncludeObject,
    pub(super) is_stored_form: bool,
    pub(super) batches: Batches,
}

impl ListEncoder {
    pub fn new(
        registry: &Arc<Registry>,
        target: &Target,
        wanted: MediaTypeOptions,
        include_object: IncludeObject,
    ) -> Self {
        let (registry, target) = (registry.clone(), target.clone());
        let is_stored_form = registry.serves_stored_form(&target);
        ListEncoder { registry, target, wanted, include_object, is_stored_form, batches: Batches::default() }
    }

    pub(super) fn encoder(&self) -> ObjectEncoder<'_> {
        ObjectEncoder {
            registry: &self.registry,
            target: &self.target,
            wanted: self.wanted,
            include_object: self.include_object,
            converted: &self.batches.converted,
        }
    }

    /// The objects of a page that are selected as the target's version shows them, if the selection needs that.
    ///
    /// # Errors
    /// An object cannot be decoded or converted.
    pub async fn selected(&mut self, items: Items, selection: &Selection) -> Result<Items> {
        if !selection.needs_shown() {
            return Ok(items);
        }
        self.batches.prepare(&self.target, self.is_stored_form, &items);
        let mut picked = Vec::new();
        self.visit_all(&items, |encoder, object| {
            if selection.matches_shown(&encoder.target.resource, &encoder.served(&Payload::Stored(object.clone()))?) {
                picked.push(object.clone());
            }
            Ok(())
        })
        .await?;
        Ok(Items::Picked(picked))
    }

    /// Checks that objects can be shown before they are changed: those that a webhook has to convert.
    ///
    /// # Errors
    /// An object cannot be decoded or converted.
    pub async fn check(&mut self, items: &Items) -> Result<()> {
        self.batches.prepare(&self.target, self.is_stored_form, items);
        match self.batches.is_needed() {
            true => self.visit_all(items, |_, _| Ok(())).await,
            false => Ok(()),
        }
    }

    /// A list without its items, and the key of these.
    pub(super) fn document(&self, page: &Page) -> (Map, &'static str) {
        let resource = &self.target.resource;
        let (kind, api_version) = (resource.list_kind().into_owned(), resource.api_version());
        let (list, key) = match self.wanted.shape {
            ResponseKind::Table => (self.encoder().table(list_meta(page), true, Vec::new()), "rows"),
            ResponseKind::PartialList | ResponseKind::Partial => (
                value!({
                    "kind": "PartialObjectMetadataList", "apiVersion": (self.wanted.meta_version()),
                    "metadata": (list_meta(page)), "items": []
                }),
                "items",
            ),
            // Lists of custom resources are sorted by field.
            ResponseKind::Object if resource.custom.is_some() => (
                value!({"apiVersion": api_version, "items": [], "kind": kind, "metadata": (custom_list_meta(page))}),
                "items",
            ),
            ResponseKind::Object => (
                value!({"kind": kind, "apiVersion": api_version, "metadata": (typed_list_meta(page)), "items": []}),
                "items",
            ),
        };
        match list {
            Value::Map(list) => (list, key),
            _ => (Map::new(), key),
        }
    }

    /// The type of the whole list. Lists of objects have none: those of JSON and YAML need none.
    pub(super) fn schema(&self) -> Option<&Struct> {
        match (self.wanted.shape, self.wanted.format) {
            (ResponseKind::Table, _) => Some(Table::schema()),
            (ResponseKind::PartialList, _) => Some(PartialObjectMetadataList::schema()),
            (_, Format::Json | Format::Yaml) => Some(&self.target.resource.schema),
            _ => None,
        }
    }

    pub(super) fn empty(&self, mut object: Map, key: &str, schema: &Struct) -> bytes::Bytes {
        let is_null = match self.wanted.shape {
            ResponseKind::Table => self.encoder().printer().empty_is_null(),
            // kube-apiserver gathers these items, and gathers nothing.
            ResponseKind::PartialList => true,
            _ => false,
        };
        if is_null {
            object.set(key, Value::Null);
        }
        encode(&Value::Map(object), schema, self.wanted)
    }

    pub(super) fn item_form(&self) -> ItemForm {
        let resource = &self.target.resource;
        let skip = match resource.custom {
            Some(_) => 0,
            None => format!("{{\"kind\":\"{}\",\"apiVersion\":\"{}\",", resource.kind, resource.api_version()).len(),
        };
        let encoder = self.encoder();
        let (now, metadata) = (encoder.now(), encoder.metadata_form());
        let (is_stored_form, is_custom) = (self.is_stored_form, resource.custom.is_some());
        ItemForm { wanted: self.wanted, is_stored_form, is_custom, skip, metadata, now }
    }

    /// How many bytes the items have in JSON, if they are copied.
    pub(super) fn copied_bytes(&self, form: &ItemForm, items: &Items) -> Option<u64> {
        if self.wanted.shape != ResponseKind::Object || !self.is_stored_form || self.batches.is_needed() {
            return None;
        }
        let begin = usize::from(form.skip > 0);
        let size = |object: &Arc<Object>| (begin + object.encoded.json().len()).saturating_sub(form.skip);
        Some((items.iter().map(size).sum::<usize>() + items.len().saturating_sub(1)) as u64)
    }

    /// How many bytes the items have in protobuf, which a list says before its first item. What has to be encoded for
    /// that is not kept, but for the side cache.
    pub(super) async fn protobuf_bytes(&mut self, form: &ItemForm, items: &Items) -> Result<u64> {
        let (mut total, mut scratch) = (0, Vec::new());
        self.visit_all(items, |encoder, object| {
            total += form.protobuf_bytes(encoder, object, &mut scratch)? as u64;
            Ok(())
        })
        .await?;
        Ok(total)
    }

    /// Visits the objects after the `last`, which it moves on, until `visit` stops. Converts them before, batch by
    /// batch.
    ///
    /// # Errors
    /// Those of `visit`, and those of conversions.
    pub(super) async fn walk(
        &mut self,
        items: &Items,
        last: &mut Option<Arc<Object>>,
        mut visit: impl FnMut(&ObjectEncoder<'_>, &Arc<Object>) -> Result<ControlFlow<()>>,
    ) -> Result<Walked> {
        loop {
            let ListEncoder { batches, registry, target, .. } = self;
            batches.reach(registry, target, items, last.as_deref()).await?;
            let (mut walked, mut visited) = (Some(Walked::ToTheEnd), None);
            {
                let encoder = self.encoder();
                for object in items.after(last.as_deref()) {
                    if !self.batches.has(object) {
                        walked = None;
                        break;
                    }
                    let flow = visit(&encoder, object)?;
                    visited = Some(object);
                    if flow.is_break() {
                        walked = Some(Walked::Stopped);
                        break;
                    }
                }
            }
            if let Some(visited) = visited.cloned() {
                *last = Some(visited);
            }
            if let Some(walked) = walked {
                return Ok(walked);
            }
        }
    }

    /// Visits all objects, and lets others work in between.
    async fn visit_all(
        &mut self,
        items: &Items,
        mut visit: impl FnMut(&ObjectEncoder<'_>, &Arc<Object>) -> Result<()>,
    ) -> Result<()> {
        let mut last = None;
        loop {
            let mut budget = Budget::new(DECODED_BYTES);
            let visit = |encoder: &ObjectEncoder<'_>, object: &Arc<Object>| {
                visit(encoder, object)?;
                Ok(budget.take(object))
            };
            if self.walk(items, &mut last, visit).await? == Walked::ToTheEnd {
                return Ok(());
            }
            give_way().await;
        }
    }
}

/// How each item of a list is written.
pub(super) struct ItemForm {
    wanted: MediaTypeOptions,
    /// Stored objects are shown as they are.
    is_stored_form: bool,
    is_custom: bool,
    /// Items of built-in lists have no `apiVersion` and `kind`: this prefix of fixed length is cut off.
    skip: usize,
    metadata: MetadataForm,
    /// Ages are those of the beginning of the list.
    now: Now,
}

/// Bytes of stored objects that are decoded and encoded in about a millisecond.
const DECODED_BYTES: usize = 64 << 10;
/// The same for YAML, which takes longer to write.
const YAML_BYTES: usize = 16 << 10;
/// The same where most objects are not decoded, or not as a whole.
const COPIED_BYTES: usize = 256 << 10;

impl ItemForm {
    /// After how many bytes of stored objects others get their turn.
    pub(super) fn work_bytes(&self) -> usize {
        match (self.wanted.format, self.wanted.shape) {
            (Format::Yaml, _) => YAML_BYTES,
            (Format::Json, ResponseKind::Object) if self.is_stored_form => usize::MAX,
            (_, ResponseKind::PartialList) | (Format::Json, ResponseKind::Table) => COPIED_BYTES,
            _ => DECODED_BYTES,
        }
    }

    /// How many bytes of an object are shown, in JSON.
    pub(super) fn source_bytes(&self, object: &Object) -> usize {
        match self.wanted.shape {
            ResponseKind::Object => object.encoded.json().len(),
            _ => object.encoded.metadata().len(),
        }
    }

    /// Appends an item.
    ///
    /// # Errors
    /// The object cannot be decoded.
    pub(super) fn put(&self, encoder: &ObjectEncoder<'_>, object: &Arc<Object>, out: &mut Vec<u8>) -> Result<()> {
        match self.wanted.shape {
            ResponseKind::Object => self.put_object(encoder, object, out),
            ResponseKind::Table => self.put_row(encoder, object, out),
            ResponseKind::PartialList | ResponseKind::Partial => self.put_metadata(encoder, object, out),
        }
    }

    fn put_object(&self, encoder: &ObjectEncoder<'_>, object: &Arc<Object>, out: &mut Vec<u8>) -> Result<()> {
        let schema = &encoder.target.resource.schema;
        match self.wanted.format {
            Format::Json if self.is_stored_form && !encoder.converted.has(object) => {
                self.put_json(object.encoded.json(), out);
            }
            // Objects that a webhook converted are not kept.
            Format::Json if encoder.converted.has(object) => {
                self.put_json(&json::to_vec(&encoder.served(&Payload::Stored(object.clone()))?), out);
            }
            Format::Json => self.put_json(&encoder.stored_json(object)?, out),
            Format::Protobuf => put_message(out, 2, &encoder.stored_protobuf(object)?),
            Format::Yaml if self.is_stored_form && !encoder.converted.has(object) => {
                let mut item = Vec::with_capacity(object.encoded.json().len());
                self.put_json(object.encoded.json(), &mut item);
                let item = std::str::from_utf8(&item).map_err(Status::internal)?;
                yaml::encode_json_item(item, out).map_err(Status::internal)?;
            }
            Format::Yaml => yaml::encode_item(&self.item(encoder, object)?, out),
            Format::Cbor => cbor::encode_item(schema, &self.item(encoder, object)?, out),
        }
        Ok(())
    }

    /// How many bytes an item has in protobuf. Objects in their storage version remember it.
    fn protobuf_bytes(
        &self,
        encoder: &ObjectEncoder<'_>,
        object: &Arc<Object>,
        scratch: &mut Vec<u8>,
    ) -> Result<usize> {
        if self.wanted.shape != ResponseKind::Object || !self.is_stored_form {
            scratch.clear();
            self.put(encoder, object, scratch)?;
            return Ok(scratch.len());
        }
        if let Some(bytes) = object.protobuf_bytes() {
            return Ok(message_size(bytes));
        }
        let bytes = encoder.stored_protobuf(object)?.len();
        object.note_protobuf_bytes(bytes);
        Ok(message_size(bytes))
    }

    fn put_json(&self, json: &[u8], out: &mut Vec<u8>) {
        if self.skip > 0 {
            out.push(b'{');
        }
        out.extend_from_slice(json.get(self.skip..).unwrap_or_default());
    }

    fn item(&self, encoder: &ObjectEncoder<'_>, object: &Arc<Object>) -> Result<Value> {
        let mut item = encoder.served(&Payload::Stored(object.clone()))?;
        if !self.is_custom {
            let map = item.make_map();
            map.remove("kind");
            map.remove("apiVersion");
        }
        Ok(item)
    }

    fn put_row(&self, encoder: &ObjectEncoder<'_>, object: &Arc<Object>, out: &mut Vec<u8>) -> Result<()> {
        match self.wanted.format {
            Format::Json => encoder.stored_row(object)?.put(object, self.now, out),
            format => {
                let row = encoder.row_at(&Payload::Stored(object.clone()), &self.now)?;
                put_value(format, TableRow::schema(), &row, out);
            }
        }
        Ok(())
    }

    fn put_metadata(&self, encoder: &ObjectEncoder<'_>, object: &Arc<Object>, out: &mut Vec<u8>) -> Result<()> {
        match self.wanted.format {
            Format::Json if !encoder.converted.has(object) => put_partial(object, self.metadata, out),
            format => put_value(format, PartialObjectMetadata::schema(), &encoder.partial_of(object)?, out),
        }
        Ok(())
    }
}

/// Appends an item of a list of a type of its own.
fn put_value(format: Format, schema: &Struct, item: &Value, out: &mut Vec<u8>) {
    match format {
        Format::Json => json::encode(item, out),
        Format::Yaml => yaml::encode_item(item, out),
        Format::Cbor => cbor::encode_item(schema, item, out),
        Format::Protobuf => {
            let mut message = Vec::with_capacity(1024);
            protobuf::encode(schema, item, &mut message);
            put_message(out, 2, &message);
        }
    }
}
