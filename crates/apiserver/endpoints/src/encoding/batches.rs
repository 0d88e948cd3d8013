//! Batches of the objects of a list that are converted by a webhook, one batch at a time. Guarantees that what is converted together
//! is bounded in bytes, and that a list that fits into one batch is converted by one call. Must never convert further ahead.

use super::converted::{Converted, says_version, waits};
use crate::limits::CONVERSION_BATCH_BYTES;
use pintle_cache::Object;
use pintle_registry::{Items, Registry, Result, Target};
use std::sync::Arc;

/// The converted objects around the place in a list that has been reached.
#[derive(Default)]
pub(super) struct Batches {
    /// Some of the objects need a conversion that may wait.
    is_needed: bool,
    /// The first and the last object of the current batch.
    range: Option<(Arc<Object>, Arc<Object>)>,
    pub(super) converted: Converted,
}

impl Batches {
    /// Finds out whether objects have to be converted. The current batch remains if it has some of them.
    pub(super) fn prepare(&mut self, target: &Target, is_stored_form: bool, items: &Items) {
        let shown = target.resource.api_version();
        let is_shown = |object: &Arc<Object>| is_stored_form && says_version(object, &shown);
        self.is_needed = waits(target) && !items.iter().all(is_shown);
    }

    pub(super) fn is_needed(&self) -> bool {
        self.is_needed
    }

    /// Whether an object is converted, as far as it has to be.
    pub(super) fn has(&self, object: &Object) -> bool {
        let is_between = |(first, last): &(Arc<Object>, Arc<Object>)| first.key <= object.key && object.key <= last.key;
        !self.is_needed || self.range.as_ref().is_some_and(is_between)
    }

    /// Converts what follows an object, unless the next one is in the batch already.
    ///
    /// # Errors
    /// An object cannot be decoded or converted.
    pub(super) async fn reach(
        &mut self,
        registry: &Registry,
        target: &Target,
        items: &Items,
        last: Option<&Object>,
    ) -> Result<()> {
        let batch = {
            let mut rest = items.after(last);
            match rest.next() {
                Some(next) if !self.has(next) => batch(next, rest),
                _ => return Ok(()),
            }
        };
        (self.range, self.converted) = (None, Converted::default());
        self.converted = Converted::of_stored(registry, target, batch.iter()).await?;
        self.range = batch.first().cloned().zip(batch.last().cloned());
        Ok(())
    }
}

/// The first objects, until they have enough bytes.
pub(crate) fn batch<'a>(first: &Arc<Object>, rest: impl Iterator<Item = &'a Arc<Object>>) -> Vec<Arc<Object>> {
    let size = |object: &Object| object.encoded.json().len();
    let (mut batch, mut bytes) = (vec![first.clone()], size(first));
    for object in rest {
        bytes += size(object);
        if bytes > CONVERSION_BATCH_BYTES {
            break;
        }
        batch.push(object.clone());
    }
    batch
}
