//! Tests of whole documents: equality with recorded ones where those are present, and invariants of all documents.
//!
//! The recorded documents are outside the repository; without them their tests are skipped.

mod custom;
mod discovery;
mod openapi;
mod protobuf;

use crate::{Catalog, KnownVersions, ServerDescription};
use pintle_codec::Strictness;
use pintle_resource::Served;
use pintle_schema::Value;
use std::path::Path;
use std::sync::OnceLock;

/// The catalog of the default configuration.
fn default_catalog() -> Catalog {
    described(Catalog::of(&pintle_groups::table(|resource| resource.served == Served::ByDefault)))
}

fn everything() -> Catalog {
    described(Catalog::of(&pintle_groups::table(|_| true)))
}

/// The catalog of a server that knows Kubernetes' versions.
fn described(catalog: Catalog) -> Catalog {
    let known_versions =
        KnownVersions { all: pintle_groups::KNOWN_VERSIONS, not_of_custom: pintle_groups::NOT_OF_CUSTOM };
    catalog.of_server(ServerDescription { known_versions, ..ServerDescription::default() })
}

fn parse(json: &[u8]) -> Value {
    pintle_codec::json::parse(json, Strictness::Collect).expect("documents are JSON").value
}

/// OpenAPI version 2 of everything, read once.
fn whole() -> &'static Value {
    static WHOLE: OnceLock<Value> = OnceLock::new();
    WHOLE.get_or_init(|| parse(&crate::openapi::v2::json(&everything(), &[])))
}

/// A recorded document, if there is one.
fn facts(path: &str) -> Option<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/facts");
    std::fs::read(root.join(path)).ok().map(|bytes| parse(&bytes))
}

/// Compares values regardless of the order of keys; reports where they differ.
fn assert_same(path: &str, ours: &Value, theirs: &Value) {
    match (ours, theirs) {
        (Value::Map(a), Value::Map(b)) => {
            for key in a.keys().chain(b.keys()) {
                let at = format!("{path}.{key}");
                let (a, b) = (a.get(key), b.get(key));
                assert_eq!(a.is_some(), b.is_some(), "only one has {at}: {a:?} {b:?}");
                if let (Some(a), Some(b)) = (a, b) {
                    assert_same(&at, a, b);
                }
            }
        }
        (Value::List(a), Value::List(b)) => {
            assert_eq!(a.len(), b.len(), "length of {path}: {ours:?} {theirs:?}");
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                assert_same(&format!("{path}[{at}]"), a, b);
            }
        }
        _ => assert_eq!(ours, theirs, "{path}"),
    }
}

/// Visits every nested value with its key.
fn walk<'a>(key: &'a str, value: &'a Value, visit: &mut dyn FnMut(&'a str, &'a Value)) {
    visit(key, value);
    match value {
        Value::Map(map) => map.iter().for_each(|(key, value)| walk(key, value, visit)),
        Value::List(items) => items.iter().for_each(|item| walk("", item, visit)),
        _ => {}
    }
}
