//! Types of `meta.k8s.io/v1beta1`: what all objects share, and the objects that describe the API itself.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

use crate::meta::v1::{ListMeta, TypeMeta};

pub use crate::meta::v1::{
    ConditionStatus, IncludeObjectPolicy, PartialObjectMetadata, RowConditionType, Table, TableColumnDefinition,
    TableOptions, TableRow, TableRowCondition,
};

/// Collection of objects cut down to their metadata.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PartialObjectMetadataList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 2, optional)]
    pub metadata: ListMeta,
    /// The PartialObjectMetadata objects in the list.
    #[k8s(proto = 1, always)]
    pub items: Vec<crate::meta::v1::PartialObjectMetadata>,
}
