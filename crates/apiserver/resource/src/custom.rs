//! `CustomKind`: the behaviour of kinds defined at run time. Guarantees that built-in kinds pay nothing for it. Must never do
//! I/O.

use pintle_schema::{Str, Struct, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A version of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenApiVersion {
    V2,
    V3,
}

/// The definition that resources were made from. A write that they prepared is committed only if the definition is still at
/// a revision at which it makes the same resources.
#[derive(Debug)]
pub struct DefinedBy {
    key: Str,
    revision: AtomicU64,
}

impl DefinedBy {
    /// The definition that is stored under a key, as it is at a revision.
    pub fn new(key: impl Into<Str>, revision: u64) -> Self {
        DefinedBy { key: key.into(), revision: AtomicU64::new(revision) }
    }

    /// Where the definition is stored.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The last revision of the definition that is known to make the same resources.
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// The definition makes the same resources at this revision.
    pub fn confirm(&self, revision: u64) {
        self.revision.fetch_max(revision, Ordering::AcqRel);
    }
}

/// A kind that was defined at run time. Its objects are decoded as trees; this is what is known of them beyond.
pub trait CustomKind: Send + Sync {
    /// The kind of lists.
    fn list_kind(&self) -> &str;

    /// The schema by which apply merges objects and finds the owners of fields.
    fn merge_schema(&self) -> &Struct;

    /// Coerces a decoded object by its definition: removes unknown fields, and decodes the metadata of embedded objects.
    /// Returns the paths of removed fields, in the order of the report.
    ///
    /// # Errors
    /// The type or the metadata of an embedded object has the wrong shape.
    fn coerce(&self, object: &mut Value) -> Result<Vec<String>, String>;

    /// Makes a stored object what the definition reads of it.
    fn reread(&self, object: &mut Value);

    /// The definition that the resource was made from.
    fn defined_by(&self) -> &Arc<DefinedBy>;

    /// Whether objects are no longer created, because the definition is being deleted.
    fn is_terminating(&self) -> bool;

    /// The schema of objects that OpenAPI publishes. `metadata` refers to the type of their metadata.
    fn openapi(&self, version: OpenApiVersion, metadata: &str) -> Value;

    /// The paths of the fields that selectors may name.
    fn selectable_paths(&self) -> &[Str];

    /// A hash of the definition, which the published documents follow from.
    fn fingerprint(&self) -> &str;

    /// Why an object has no valid scale; `None` if it has one.
    fn scale_problem(&self, object: &Value) -> Option<String>;
}
