//! OpenAPI: the served paths and the schemas of objects, as documents of version 3 and version 2.
//!
//! Both are written from the same routes and schemas, one path and one definition at a time: a whole document never exists as a
//! tree.

pub mod v2;
pub mod v3;

pub(crate) mod names;

mod cel;
mod common_kinds;
mod definitions;
mod gnostic;
mod gnostic_v3;
mod operation;
mod routes;
mod rules;
mod schema;
mod wire;

use crate::catalog::Catalog;
use pintle_schema::{Map, Str, Value};

/// Which version of OpenAPI a schema is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    V2,
    V3,
}

impl Dialect {
    fn reference(self, type_name: &str) -> Value {
        match self {
            Dialect::V2 => format!("#/definitions/{type_name}").into(),
            Dialect::V3 => format!("#/components/schemas/{type_name}").into(),
        }
    }
}

/// The group, version and kind extension.
pub(crate) fn group_version_kind(group: &str, version: &str, kind: &str) -> Value {
    pintle_schema::value!({ "group": group, "kind": kind, "version": version })
}

pub(crate) const GROUP_VERSION_KIND: &str = "x-kubernetes-group-version-kind";

pub(crate) fn push(map: &mut Map, key: &'static str, value: impl Into<Value>) {
    map.push(Str::new_static(key), value.into());
}

/// The `info` of documents about this server.
fn info(catalog: &Catalog) -> Value {
    pintle_schema::value!({ "title": "Kubernetes", "version": (catalog.server().version.release()) })
}

/// The scheme of authentication that the documents name.
fn bearer_token() -> Value {
    pintle_schema::value!({
        "type": "apiKey",
        "description": "Bearer token in the Authorization header",
        "name": "authorization",
        "in": "header",
    })
}
