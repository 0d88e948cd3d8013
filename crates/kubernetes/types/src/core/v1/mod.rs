//! Types of `v1`: pods, services, nodes and what they are made of.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

mod cloud_volume;
mod component;
mod config;
mod container;
mod container_status;
mod env;
mod event;
mod namespace;
mod network_volume;
mod node;
mod options;
mod persistent_volume;
mod pod;
mod pod_spec;
mod pod_status;
mod probe;
mod projection;
mod quota;
mod reference;
mod replication_controller;
mod scheduling;
mod security;
mod service;
mod volume;

pub use crate::meta::v1::List;
pub use cloud_volume::*;
pub use component::*;
pub use config::*;
pub use container::*;
pub use container_status::*;
pub use env::*;
pub use event::*;
pub use namespace::*;
pub use network_volume::*;
pub use node::*;
pub use options::*;
pub use persistent_volume::*;
pub use pod::*;
pub use pod_spec::*;
pub use pod_status::*;
pub use probe::*;
pub use projection::*;
pub use quota::*;
pub use reference::*;
pub use replication_controller::*;
pub use scheduling::*;
pub use security::*;
pub use service::*;
pub use volume::*;
