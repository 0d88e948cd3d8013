//! `Resource` and `Strategy` describe a resource of the API; `ResourceTable` contains all resources of a server.
//!
//! A table is an immutable snapshot that is replaced as a whole. Nothing here knows a kind by name, and nothing here does I/O.

mod conversion;
mod custom;
mod defaults;
mod group;
mod maybe_ready;
mod printer;
mod resource;
mod strategy;
mod table;

pub use conversion::{Conversion, ConversionError, ConversionFunctions, Converted, convert_now, convert_one};
pub use custom::{CustomKind, DefinedBy, OpenApiVersion};
pub use defaults::{DefaultFunction, DefaultFunctions, UNDATED};
pub use group::{Group, GroupVersion};
pub use maybe_ready::MaybeReady;
pub use printer::{CREATION_DESCRIPTION, Column, NAME_DESCRIPTION, NameAndAge, Now, OPEN_AGE, Printer, Unprinted};
pub use resource::{
    Action, FieldValue, NOT_SUPPORTED, Resource, ScalePaths, Selectable, Served, Storage, Subresource, Unserved, Verbs,
    Warn, Written, texts,
};
pub use strategy::{
    Context, GENERAL, GarbageCollection, NameRule, Part, Path, SPEC_PATHS, STATUS, STATUS_ALONE, STATUS_PATHS,
    Strategy, StrategyEnvironment, WITH_STATUS, same, same_at,
};
pub use table::{Found, GroupPriorities, ResourceTable, Resources, StoredVersions, TableGroup, VersionPriorities};
