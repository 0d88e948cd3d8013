//! The Kubernetes API as Rust types: every group and version, with its wire names and numbers.
//! A type is the single statement of a shape; its schema, codecs and documentation derive from it.
//! Nothing here decides behaviour, and no crate of the workspace but the schema, `pintle_meta` and `pintle_gates` is used.
//!
//! # Map
//!
//! - `<group>::<version>` holds the types of one group version, for example [`apps::v1`]. A large
//!   one is split by subject and re-exported, so that a type is always found at that path.
//! - [`meta`] holds what all objects share: metadata, lists, options, status, discovery, tables. It is `pintle_meta`'s, as
//!   are [`apidiscovery`] and [`version`].
//! - `config_*` hold the files a server is configured with, [`audit`] the records of its audit log.
//!
//! # Reading a type
//!
//! A field's name in JSON is its name in camel case unless `name` says otherwise. In `k8s(..)`:
//!
//! - `proto` is the protobuf number; the fields of an `inline` struct belong to its owner in JSON;
//! - `optional` and `required` are what the API promises; `always` prints a field even when it is
//!   empty, `omitzero` leaves it out when it is zero;
//! - `list_type`, `list_map_keys`, `map_type` and `struct_type` say how server-side apply merges;
//! - `patch_strategy` and `patch_merge_key` say how a strategic merge patch merges;
//! - `gate` names a feature gate that has to be on, `default` the value a server fills in.
//!
//! On the struct of a kind, `resource` says under which group and names it is served.
//!
//! # Versions
//!
//! A version declares what is its own and takes the rest from another one, by name: `same_as! { super::v1::{Role, RoleList} }`
//! declares both types as `v1` has them. They are types of this version, with its names in OpenAPI; fields have the types that
//! this module knows under their names.
//!
//! On a struct, `reserved` keeps the number and name of a removed field from being used again,
//! `wrapper` marks a list that is a message of its own in protobuf, and `json_union` a value that
//! has more than one form in JSON.

// A struct may have lost more than one field: each is a `reserved` of its own.
#![allow(clippy::duplicated_attributes)]

pub mod admission;
pub mod admissionregistration;
pub mod apiextensions;
pub mod apiregistration;
pub mod apiserverinternal;
pub mod apps;
pub mod audit;
pub mod authentication;
pub mod authorization;
pub mod autoscaling;
pub mod batch;
pub mod certificates;
pub mod config_abac;
pub mod config_apiserver;
pub mod config_eventratelimit;
pub mod config_podsecurity;
pub mod config_podtolerationrestriction;
pub mod config_policyconfig;
pub mod config_resourcequota;
pub mod config_tracing;
pub mod config_webhookadmission;
pub mod coordination;
pub mod core;
pub mod discovery;
pub mod events;
pub mod extensions;
pub mod flowcontrol;
pub mod imagepolicy;
pub mod networking;
pub mod node;
pub mod policy;
pub mod rbac;
pub mod resource;
pub mod scheduling;
pub mod storage;
pub mod storagemigration;

pub use pintle_meta::{apidiscovery, config_kubeconfig, config_zpages, meta, version};
