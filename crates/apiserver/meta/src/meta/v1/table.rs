//! Types of `meta.k8s.io/v1`: tables and objects reduced to their metadata.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, RawExtension, Value, string_type};

use super::{ConditionStatus, ListMeta, ObjectMeta, TypeMeta};

/// Objects rendered as rows and columns for display.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(optional)]
    pub metadata: ListMeta,
    /// Describes the columns, in the order of the cells in each row.
    #[k8s(always, list_type = atomic)]
    pub column_definitions: Vec<TableColumnDefinition>,
    /// The rows of the table, usually one per object.
    #[k8s(always, list_type = atomic)]
    pub rows: Vec<TableRow>,
}

/// Describes one column of a table.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TableColumnDefinition {
    /// Heading of the column.
    #[k8s(always)]
    pub name: String,
    /// OpenAPI type of the cells, such as "string", "integer" or "boolean".
    #[k8s(always)]
    pub r#type: String,
    /// Optional OpenAPI format refining the type, for example "name" for the column that identifies
    /// the object.
    #[k8s(always)]
    pub format: String,
    /// Explains what the column shows.
    #[k8s(always)]
    pub description: String,
    /// Importance of the column: 0 is always shown, higher numbers only in wide output.
    #[k8s(always)]
    pub priority: i32,
}

/// One row of a table.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TableRow {
    /// Values of the row, one per column: strings, numbers, booleans, simple arrays or maps, or
    /// null.
    #[k8s(always, list_type = atomic)]
    pub cells: Vec<Value>,
    /// Remarks on the row for display; for example that the object has completed.
    #[k8s(optional, list_type = atomic)]
    pub conditions: Vec<TableRowCondition>,
    /// The object behind the row in the detail requested through includeObject; by default only its
    /// metadata.
    #[k8s(optional)]
    pub object: RawExtension,
}

/// A remark on how a row should be shown.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TableRowCondition {
    /// What is being remarked on; "Completed" is the only type.
    #[k8s(always)]
    pub r#type: RowConditionType,
    /// Whether the remark applies: "True", "False" or "Unknown".
    #[k8s(always)]
    pub status: ConditionStatus,
    /// One-word, machine-readable cause.
    #[k8s(optional)]
    pub reason: String,
    /// Explanation for people to read.
    #[k8s(optional)]
    pub message: String,
}

string_type! {
    /// Type of a remark on a table row.
    pub RowConditionType {
        /// The object has finished its work and may be shown dimmed or hidden.
        COMPLETED = "Completed",
    }
}

string_type! {
    /// How much of the object accompanies each row of a table.
    pub IncludeObjectPolicy {
        /// Rows carry no object.
        NONE = "None",
        /// Rows carry the object's metadata only.
        METADATA = "Metadata",
        /// Rows carry the full object in the requested version.
        OBJECT = "Object",
    }
}

/// Any object reduced to its type and metadata.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PartialObjectMetadata {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
}

/// A list of objects reduced to their metadata.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PartialObjectMetadataList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The PartialObjectMetadata objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<PartialObjectMetadata>,
}
