//! Types of `apps/v1`: workloads that keep pods running.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

mod controller_revision;
mod daemon_set;
mod deployment;
mod replica_set;
mod stateful_set;

pub use controller_revision::*;
pub use daemon_set::*;
pub use deployment::*;
pub use replica_set::*;
pub use stateful_set::*;
