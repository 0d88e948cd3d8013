//! Defaulting: what the server fills into an object of a served or stored version that its author left out.
//!
//! Constants come from the schema's `default` tags, everything else from the functions of the group files here. Applying
//! twice changes nothing more. Nothing here may refuse an object: what has the wrong shape is left as it is.

mod admissionregistration;
mod apiextensions;
mod apps;
mod autoscaling;
mod batch;
mod certificates;
mod config;
mod core;
mod fields;
mod flowcontrol;
mod image;
mod networking;
mod persistent_volume;
mod plan;
mod pod;
mod rbac;
mod resource;
mod service;
mod storage;
#[cfg(test)]
mod tests;

pub(crate) use self::core::namespace_label;
use crate::resource::Resource;
use pintle_schema::{Struct, Value, canonicalize};

/// A type and a function that fills in what is missing in a value of it.
///
/// The value may be `Null`: a struct that Go would hold by value and that nobody set. A function leaves it so unless
/// it has something to set, and it must not read what lies outside the value.
type Rule = (fn() -> &'static Struct, fn(&mut Value));

/// The same for a function that fills in the time, which is given in seconds since 1970.
type DatedRule = (fn() -> &'static Struct, fn(&mut Value, i64));

/// A function of either kind.
#[derive(Clone, Copy)]
enum Function {
    Plain(fn(&mut Value)),
    Dated(fn(&mut Value, i64)),
}

/// Every function that fills in the time.
const DATED: &[DatedRule] = resource::DATED;

/// Every other function, by group. Those of one type run in the order they stand in.
const RULES: &[&[Rule]] = &[
    admissionregistration::RULES,
    apiextensions::RULES,
    apps::RULES,
    autoscaling::RULES,
    batch::RULES,
    certificates::RULES,
    config::RULES,
    core::RULES,
    flowcontrol::RULES,
    networking::RULES,
    persistent_volume::RULES,
    pod::RULES,
    rbac::RULES,
    resource::RULES,
    service::RULES,
    storage::RULES,
];

/// A request's object, decoded and of a version of a resource, as a full object of the version that is stored.
pub fn complete(resource: &Resource, object: &mut Value, now_unix: i64) {
    if let Some(normalize) = resource.strategy.normalize {
        normalize(object);
    }
    apply((resource.schema)(), object, now_unix);
    if let Some(storage) = &resource.storage
        && let Some(convert) = &storage.convert
    {
        (convert.to_storage)(object);
        if convert.defaulted {
            apply((storage.schema)(), object, now_unix);
        }
    }
}

/// What has been stored was dated when it was written; a date that is missing there is not made up.
pub const UNDATED: i64 = 0;

/// What a canonical object is read as once it has been stored, if that is more than was written: what a strategy did to it
/// may have left room for a default.
pub fn completed(schema: &'static Struct, object: &Value) -> Option<Value> {
    let plan = plan::of(schema)?;
    let mut completed = object.clone();
    plan.run(&mut completed, UNDATED);
    if completed == *object {
        return None;
    }
    canonicalize(schema, &mut completed);
    (completed != *object).then_some(completed)
}

/// Applies the defaults to a decoded object of the schema's version, at a time in seconds since 1970.
///
/// The tree needs not be canonical, before or after: explicit zeros, nulls and empty collections count as absent where
/// Go could not tell them apart. A type's functions run before its constants, an owner before its fields.
pub fn apply(schema: &'static Struct, object: &mut Value, now_unix: i64) {
    if let Some(plan) = plan::of(schema) {
        plan.run(object, now_unix);
    }
}
