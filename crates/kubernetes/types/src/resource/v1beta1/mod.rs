//! Types of `resource.k8s.io/v1beta1`: devices, classes of them and claims to them.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

mod allocation;
mod claim;
mod slice;

pub use allocation::*;
pub use claim::*;
pub use slice::*;
