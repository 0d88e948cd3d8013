//! Types of `extensions/v1beta1`: early forms of workloads and network objects, kept for conversion.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

mod network;
mod workload;

pub use network::*;
pub use workload::*;
