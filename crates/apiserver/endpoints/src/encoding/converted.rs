//! `Converted`: objects in the version of a request, where conversion may wait for a webhook. Guarantees that the objects of
//! one response are converted together, and that immediate conversions are not stored here. Must never keep an object longer
//! than the response that it was converted for.

use pintle_cache::Object;
use pintle_registry::defined::conversion_between;
use pintle_registry::{Payload, Registry, Result, Status, Target};
use pintle_resource::Conversion;
use pintle_schema::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Objects that were converted in advance, by the id of the stored object; `None` is the one that is not stored.
#[derive(Default)]
pub struct Converted(HashMap<Option<u64>, Value>);

/// Whether there can be objects of a target that are shown only after waiting for their conversion.
pub fn waits(target: &Target) -> bool {
    target.storage().conversion.as_ref().is_some_and(|conversion| !conversion.is_immediate())
        || target.resource.custom.is_some() && target.stored.converts_later()
}

impl Converted {
    /// Converts what is to be shown. Nothing is done where objects convert at once, or are stored in the version to be shown.
    ///
    /// # Errors
    /// An object cannot be decoded or converted.
    pub async fn of(registry: &Registry, target: &Target, payloads: &[Payload]) -> Result<Self> {
        if !waits(target) {
            return Ok(Converted::default());
        }
        let shown = target.resource.api_version();
        let is_stored_form = registry.serves_stored_form(target);
        let mut converted = HashMap::new();
        let mut others: BTreeMap<String, Vec<(Option<u64>, Value)>> = BTreeMap::new();
        for payload in payloads {
            let value = match payload {
                Payload::Stored(object) if is_stored_form && says_version(object, &shown) => continue,
                Payload::Stored(object) => registry.decode(target, object)?,
                Payload::Value(value) => (**value).clone(),
            };
            let version = version_of(target, &value);
            match version == shown {
                true if is_stored_form => {}
                true => _ = converted.insert(id(payload), value),
                false => others.entry(version).or_default().push((id(payload), value)),
            }
        }
        for (version, objects) in others {
            let (ids, values): (Vec<_>, Vec<_>) = objects.into_iter().unzip();
            let conversion = conversion(target, &version, &shown)?;
            let answer = conversion.convert(values, &version, &shown).get().await.map_err(Status::not_converted)?;
            if answer.len() != ids.len() {
                return Err(Status::internal("a conversion gave another number of objects"));
            }
            converted.extend(ids.into_iter().zip(answer));
        }
        Ok(Converted(converted))
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

    /// Whether a stored object was converted ahead.
    pub fn has(&self, object: &Object) -> bool {
        self.0.contains_key(&Some(object.id))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn id(payload: &Payload) -> Option<u64> {
    match payload {
        Payload::Stored(object) => Some(object.id),
        Payload::Value(_) => None,
    }
}

/// The version that an object is of. Only objects of kinds that were defined at run time stay of other versions than the storage
/// version.
fn version_of(target: &Target, object: &Value) -> String {
    match target.resource.custom {
        Some(_) => object.str_at(&["apiVersion"]).to_owned(),
        None => target.storage().api_version.to_string(),
    }
}

fn conversion<'a>(target: &'a Target, from: &str, to: &str) -> Result<&'a dyn Conversion> {
    match (&target.resource.custom, target.storage().conversion.as_deref()) {
        (None, Some(conversion)) => Ok(conversion),
        _ => conversion_between(target, from, to),
    }
}

/// Whether the JSON of a stored object begins with its being of a version. The fields of custom resources stand in the order of
/// their names.
pub(super) fn says_version(object: &Object, api_version: &str) -> bool {
    let rest = object.encoded.json().strip_prefix(b"{\"apiVersion\":\"");
    rest.and_then(|rest| rest.strip_prefix(api_version.as_bytes())).is_some_and(|rest| rest.starts_with(b"\""))
}
