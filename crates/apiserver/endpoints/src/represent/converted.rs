//! `Converted`: objects in the version of a request, where converting them has to wait.
//! Guarantees that the objects of one answer are converted together, and that versions which convert at once never come here.
//! Must never keep an object longer than the answer that it was converted for.

use pintle_cache::Object;
use pintle_registry::{Payload, Registry, Result, Status, Target};
use pintle_schema::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Objects that were converted ahead, by the ids of what is stored; `None` is the one that is not stored.
#[derive(Default)]
pub struct Converted(HashMap<Option<u64>, Value>);

/// Whether objects of a target can only be shown after waiting for their conversion.
pub fn waits(target: &Target) -> bool {
    target.storage().conversion.as_ref().is_some_and(|conversion| !conversion.is_immediate())
}

impl Converted {
    /// Converts what is to be shown. Nothing is done where objects convert at once.
    ///
    /// # Errors
    /// An object cannot be decoded or converted.
    pub async fn of(registry: &Registry, target: &Target, payloads: &[Payload]) -> Result<Self> {
        let conversion = target.storage().conversion.as_ref().filter(|_| waits(target));
        let Some(conversion) = conversion.filter(|_| !payloads.is_empty()) else { return Ok(Converted::default()) };
        let ids = payloads.iter().map(id);
        let values = payloads.iter().map(|payload| match payload {
            Payload::Stored(object) => registry.decode(target, object),
            Payload::Value(value) => Ok((**value).clone()),
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        let (from, to) = (&target.storage().api_version, target.resource.api_version());
        let converted = conversion.convert(values, from, &to).get().await.map_err(Status::not_converted)?;
        if converted.len() != payloads.len() {
            return Err(Status::internal("a conversion gave another number of objects"));
        }
        Ok(Converted(ids.zip(converted).collect()))
    }

    /// The same of stored objects.
    ///
    /// # Errors
    /// An object cannot be decoded or converted.
    pub async fn of_stored(
        registry: &Registry,
        target: &Target,
        objects: impl Iterator<Item = &Arc<Object>>,
    ) -> Result<Self> {
        if !waits(target) {
            return Ok(Converted::default());
        }
        let payloads: Vec<_> = objects.map(|object| Payload::Stored(object.clone())).collect();
        Converted::of(registry, target, &payloads).await
    }

    /// An object that was converted ahead.
    pub fn get(&self, payload: &Payload) -> Option<&Value> {
        self.0.get(&id(payload))
    }
}

fn id(payload: &Payload) -> Option<u64> {
    match payload {
        Payload::Stored(object) => Some(object.id),
        Payload::Value(_) => None,
    }
}
