//! Types of `meta.k8s.io/v1`: what all objects share, and the objects that describe the API itself.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

mod discovery;
mod object;
mod options;
mod selector;
mod status;
mod table;

pub use discovery::*;
pub use object::*;
pub use options::*;
pub use selector::*;
pub use status::*;
pub use table::*;
