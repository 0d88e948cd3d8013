//! Defaulting of objects of a served or stored version.
//!
//! Constants come from the schema, everything else from the `DefaultFunctions` of a group. Idempotent. Must never reject an
//! object: values of the wrong shape are left unchanged.

mod plan;

use crate::conversion::{Conversion, ConversionError, convert_now, convert_one};
use crate::{Resource, Storage};
use pintle_schema::compiled::unique_id;
use pintle_schema::{Struct, Value, canonicalize};
use plan::Plan;
use std::collections::HashMap;
use std::sync::Arc;

/// A function that fills in the missing fields of a value of a type.
///
/// The value may be `Null`: an unset struct that Go would hold by value. A function leaves it so unless it has something to
/// set, and it must read nothing outside the value.
#[derive(Clone)]
pub enum DefaultFunction {
    Plain(fn(&mut Value)),
    /// One that fills in the time, which is given in seconds since 1970.
    Dated(fn(&mut Value, i64)),
    /// One that is made at run time, with a definition.
    Shared(Arc<dyn Fn(&mut Value) + Send + Sync>),
}

/// The time for stored objects: dates were set when they were written, and a missing date stays missing.
pub const UNDATED: i64 = 0;

/// The functions of some types, those of one type in the order in which they run.
pub struct DefaultFunctions {
    /// Under which the plans are kept with the schemas.
    id: u64,
    by_type: HashMap<u64, Vec<DefaultFunction>>,
}

impl DefaultFunctions {
    pub fn new<'a>(functions: impl IntoIterator<Item = (&'a Struct, DefaultFunction)>) -> Self {
        let mut by_type: HashMap<u64, Vec<DefaultFunction>> = HashMap::new();
        for (schema, function) in functions {
            by_type.entry(schema.compiled.id()).or_default().push(function);
        }
        DefaultFunctions { id: unique_id(), by_type }
    }

    /// How many functions there are for values of a type.
    pub fn count(&self, schema: &Struct) -> usize {
        self.of(schema).count()
    }

    fn of(&self, schema: &Struct) -> impl Iterator<Item = DefaultFunction> {
        self.by_type.get(&schema.compiled.id()).into_iter().flatten().cloned()
    }

    /// The plan of a schema, built at its first use.
    fn plan(&self, schema: &Struct) -> Arc<Plan> {
        schema.compiled.get_or_insert_with(self.id, || Plan::new(schema, self))
    }

    /// Applies the defaults to a decoded object of the schema's version, at a time in seconds since 1970.
    ///
    /// The tree needs not be canonical, before or after: explicit zeros, nulls and empty collections count as absent where
    /// Go could not tell them apart. A type's functions run before its constants, an owner before its fields.
    pub fn apply(&self, schema: &Struct, object: &mut Value, now_unix: i64) {
        self.plan(schema).run(object, now_unix);
    }

    /// A canonical object as it will be read after being stored, if defaults change it: a strategy may have cleared a field
    /// that has a default.
    pub fn completed(&self, schema: &Struct, object: &Value) -> Option<Value> {
        let plan = self.plan(schema);
        if plan.is_empty() {
            return None;
        }
        let mut completed = object.clone();
        plan.run(&mut completed, UNDATED);
        if completed == *object {
            return None;
        }
        canonicalize(schema, &mut completed);
        (completed != *object).then_some(completed)
    }
}

impl Resource {
    /// Applies the defaults of the resource's version to a decoded object, at a time in seconds since 1970.
    pub fn default(&self, object: &mut Value, now_unix: i64) {
        self.defaults.apply(&self.schema, object, now_unix);
    }

    /// A request's object, decoded and of this version, as a full object of the version that is stored.
    ///
    /// # Errors
    /// It cannot be converted to the storage version.
    pub async fn complete(&self, object: &mut Value, now_unix: i64) -> Result<(), ConversionError> {
        self.default_sent(object, now_unix);
        let Some((storage, conversion)) = self.own_conversion() else { return Ok(()) };
        convert_one(conversion, object, &self.api_version(), &storage.api_version).await?;
        self.default_converted(storage, object, now_unix);
        Ok(())
    }

    /// The same for a resource whose conversion is immediate, for callers that cannot wait.
    ///
    /// # Errors
    /// It cannot be converted, or not without waiting.
    pub fn complete_now(&self, object: &mut Value, now_unix: i64) -> Result<(), ConversionError> {
        self.default_sent(object, now_unix);
        let Some((storage, conversion)) = self.own_conversion() else { return Ok(()) };
        convert_now(conversion, object, &self.api_version(), &storage.api_version)?;
        self.default_converted(storage, object, now_unix);
        Ok(())
    }

    /// Applies the strategy's normalization and the version's defaults to a decoded object.
    pub fn default_sent(&self, object: &mut Value, now_unix: i64) {
        if let Some(normalize) = self.strategy.normalize {
            normalize(object);
        }
        self.default(object, now_unix);
    }

    fn own_conversion(&self) -> Option<(&Storage, &dyn Conversion)> {
        let storage = self.storage.as_ref()?;
        Some((storage, &**storage.conversion.as_ref()?))
    }

    fn default_converted(&self, storage: &Storage, object: &mut Value, now_unix: i64) {
        if storage.default_after_conversion {
            self.defaults.apply(&storage.schema, object, now_unix);
        }
    }

    /// A canonical object of the storage version as it will be read after being stored, if defaults change it.
    pub fn completed(&self, object: &Value) -> Option<Value> {
        self.defaults.completed(self.stored_schema(), object)
    }
}
