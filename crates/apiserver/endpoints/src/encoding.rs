//! Forms of objects, lists and patches: which one a client gets or sends (negotiation), and how objects are written in
//! it.
//!
//! The common case copies the stored bytes. Everything else is made from the decoded object, and what does not depend
//! on the time of day is kept in the side cache. What other modules use is named here; they must not reach further in.

mod batches;
mod converted;
mod document;
mod indent;
mod list;
mod list_metadata;
mod media_type;
mod message;
mod negotiation;
mod object;
mod partial;
mod patch_type;
mod pieces;
mod rows;

pub(crate) use batches::batch;
pub use converted::Converted;
pub(crate) use converted::waits;
pub(crate) use document::TABLE_END;
pub use document::{IncludeObject, encode, is_a_list, made, made_rows, not_a_list, table, type_is_no_list};
pub use list::ListEncoder;
pub use message::put_message;
pub use negotiation::{
    AllowedMediaTypes, FORMATS, Format, GENERAL, Kind, MediaTypeOptions, ResponseKind, body_format, find_path,
    negotiate, negotiate_aggregated, negotiate_custom, negotiate_error, negotiate_kind, preferred, pretty,
    unsupported_body,
};
pub use object::ObjectEncoder;
pub use partial::partial;
pub use patch_type::PatchType;

#[cfg(test)]
mod tests;
