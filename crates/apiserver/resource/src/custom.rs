//! `CustomKind`: what a kind does otherwise that was defined at run time.
//! Guarantees that built-in kinds pay nothing for it: they have none.
//! Must never do I/O.

use pintle_schema::{Str, Struct, Value};

/// A version of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenApiVersion {
    V2,
    V3,
}

/// A kind that was defined at run time. Its objects are decoded as trees; this is what is known of them beyond.
pub trait CustomKind: Send + Sync {
    /// The kind of lists.
    fn list_kind(&self) -> &str;

    /// The schema by which apply merges objects and finds the owners of fields.
    fn topology(&self) -> &Struct;

    /// Brings a decoded object into the shape that the definition gives it: removes unknown fields, and decodes the metadata of
    /// objects inside it. Returns the paths of what was removed, in the order in which they are reported.
    ///
    /// # Errors
    /// The type or the metadata of an object inside has the wrong shape.
    fn coerce(&self, object: &mut Value) -> Result<Vec<String>, String>;

    /// Whether a stored object is read otherwise than it is stored; if so, it is changed to what is read.
    fn reread(&self, object: &mut Value) -> bool;

    /// Whether objects are no longer created, because the definition is being deleted.
    fn is_terminating(&self) -> bool;

    /// The schema of objects that OpenAPI publishes. `metadata` refers to the type of their metadata.
    fn openapi(&self, version: OpenApiVersion, metadata: &str) -> Value;

    /// The paths of the fields that selectors may name.
    fn selectable_paths(&self) -> &[Str];

    /// A hash of the definition: as long as it stays the same, so does what is published.
    fn fingerprint(&self) -> &str;

    /// Why the scale of an object cannot be shown; `None` if it can.
    fn scale_problem(&self, object: &Value) -> Option<String>;
}
