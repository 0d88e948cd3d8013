//! The documents of one table of resources. Guarantees that large ones are built when they are first requested, and
//! kept: aggregated discovery encoded, OpenAPI compressed. Must never know a request.

use crate::encoding::{self, Format, MediaTypeOptions};
use bytes::Bytes;
use pintle_discovery::{Catalog, Document, ServerDescription, discovery, etag, openapi};
use pintle_resource::ResourceTable;
use pintle_schema::GateSet;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// The documents of one table of resources.
pub struct DocumentSet {
    pub(super) generation: u64,
    pub catalog: Catalog,
    pub documents: Documents,
    /// The hashes of documents that no definition has a part in: those of earlier tables hold.
    hashes: Arc<Mutex<HashMap<String, String>>>,
}

/// Documents that are built when first requested.
#[derive(Default)]
pub struct Documents {
    /// `/api` and `/apis`.
    aggregated: [OnceLock<Aggregated>; 2],
    made: Mutex<HashMap<String, Arc<CompressedDocument>>>,
}

/// Discovery of everything at once, as nearly all want it. Its ETag is that of its JSON, whatever the form.
struct Aggregated {
    json: Bytes,
    etag: String,
}

/// A document that was made, compressed, with its ETag.
struct CompressedDocument {
    compressed: Vec<u8>,
    length: usize,
    etag: String,
}

impl DocumentSet {
    pub(super) fn of(table: &ResourceTable, server: &ServerDescription, before: Option<&DocumentSet>) -> Self {
        let catalog = match before {
            Some(before) => before.catalog.next(table),
            None => Catalog::of(table).of_server(server.clone()),
        };
        let built_in = |catalog: &Catalog| catalog.resources().filter(|resource| resource.custom.is_none()).count();
        // As long as only custom resources change, the other documents are not built again for the index.
        let before = before.filter(|before| built_in(&before.catalog) == built_in(&catalog));
        DocumentSet {
            generation: table.generation(),
            hashes: before.map(|before| before.hashes.clone()).unwrap_or_default(),
            catalog,
            documents: Documents::default(),
        }
    }

    /// The index of OpenAPI version 3. The key distinguishes indexes with validation rules from those without.
    pub(super) fn index(&self, key: &str, gates: Option<&GateSet>) -> Vec<u8> {
        openapi::v3::index(&self.catalog, gates, &mut |path, make| {
            let key = format!("{key}/{path}");
            let known = self.hashes.lock().ok().and_then(|hashes| hashes.get(&key).cloned());
            known.unwrap_or_else(|| {
                let made = make();
                if let Ok(mut hashes) = self.hashes.lock() {
                    hashes.insert(key, made.clone());
                }
                made
            })
        })
    }
}

impl Documents {
    /// `/api` or `/apis` in the aggregated form, and its ETag.
    pub(super) fn aggregated(&self, is_core: bool, catalog: &Catalog, wanted: MediaTypeOptions) -> (Bytes, String) {
        let [core, named] = &self.aggregated;
        let kept = if is_core { core } else { named };
        let make = if is_core { discovery::aggregated_api } else { discovery::aggregated_apis };
        let make_json = if is_core { discovery::aggregated_api_json } else { discovery::aggregated_apis_json };
        let Aggregated { json, etag } = kept.get_or_init(|| {
            let mut json = make_json(catalog);
            let etag = etag(&json);
            // As all JSON is sent.
            json.push(b'\n');
            Aggregated { json: json.into(), etag }
        });
        let bytes = if wanted == MediaTypeOptions::JSON { json.clone() } else { encode(&make(catalog), wanted) };
        (bytes, etag.clone())
    }

    /// The document under a key, built when first requested.
    pub(super) fn get_or_make(&self, key: &str, make: impl FnOnce() -> Option<Vec<u8>>) -> Option<(Vec<u8>, String)> {
        if let Some(made) = self.made.lock().ok().and_then(|made| made.get(key).cloned()) {
            return inflate(&made).map(|bytes| (bytes, made.etag.clone()));
        }
        let bytes = make()?;
        let made = CompressedDocument { compressed: deflate(&bytes), length: bytes.len(), etag: etag(&bytes) };
        let tag = made.etag.clone();
        if let Ok(mut all) = self.made.lock() {
            all.insert(key.to_owned(), Arc::new(made));
        }
        Some((bytes, tag))
    }
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn inflate(made: &CompressedDocument) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::with_capacity(made.length);
    flate2::read::DeflateDecoder::new(&made.compressed[..]).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A document in the form that was negotiated.
pub(super) fn encode(document: &Document, wanted: MediaTypeOptions) -> Bytes {
    if wanted.format != Format::Protobuf {
        return encoding::encode(&document.value, document.schema, wanted);
    }
    let (mut raw, mut bytes) = (Vec::new(), Vec::new());
    pintle_codec::protobuf::encode(document.schema, &document.value, &mut raw);
    pintle_codec::protobuf::encode_envelope(document.api_version, document.kind, &raw, &mut bytes);
    bytes.into()
}
