//! `KeptBytes`: how many bytes of objects audit keeps, from the request until its events have been written or sent.
//! Guarantees that they are bounded together, wherever they are: in requests, buffers, batches. Must never wait: what has no room
//! is left out of its event, as kube-apiserver leaves out the objects of events that are too large.

use bytes::Bytes;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// All objects of events together: four of the largest, or 10,000 events, which is the usual buffer, of 26 KiB each.
/// kube-apiserver has no limit.
pub const KEPT_BYTES: usize = 256 << 20;

/// The annotation of an event whose objects were left out.
pub const TRUNCATED: &str = "audit.k8s.io/truncated";

/// Bytes that may still be kept.
#[derive(Debug)]
pub struct KeptBytes(AtomicUsize);

impl KeptBytes {
    pub fn new(bytes: usize) -> Arc<KeptBytes> {
        Arc::new(KeptBytes(AtomicUsize::new(bytes)))
    }

    /// Room for so many bytes, until what is returned is dropped; `None` if there is none.
    pub fn hold(self: &Arc<Self>, bytes: usize) -> Option<Held> {
        let mut held = Held { of: self.clone(), bytes: 0 };
        held.grow(bytes).then_some(held)
    }
}

/// Bytes that are kept.
#[derive(Debug)]
pub struct Held {
    of: Arc<KeptBytes>,
    bytes: usize,
}

impl Held {
    /// Holds more. Returns whether there was room.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let taken = self.of.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        self.bytes += if taken.is_ok() { bytes } else { 0 };
        taken.is_ok()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.of.0.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

/// An object of an event, as compact JSON. Clones share it.
#[derive(Clone, Debug)]
pub struct RecordedObject {
    json: Bytes,
    /// Given back with the last clone.
    _held: Option<Arc<Held>>,
}

impl RecordedObject {
    pub(crate) fn new(json: Bytes, held: Held) -> RecordedObject {
        RecordedObject { json, _held: Some(Arc::new(held)) }
    }
}

/// An object that counts for nothing.
impl From<Bytes> for RecordedObject {
    fn from(json: Bytes) -> Self {
        RecordedObject { json, _held: None }
    }
}

impl Deref for RecordedObject {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_makes_room() {
        let kept = KeptBytes::new(10);
        let mut held = kept.hold(6).expect("room");
        assert!(kept.hold(5).is_none() && held.grow(4) && !held.grow(1));
        let object = RecordedObject::new(Bytes::from_static(b"{}"), held);
        let clone = object.clone();
        drop(object);
        assert!(kept.hold(1).is_none(), "a clone keeps it");
        drop(clone);
        assert!(kept.hold(10).is_some());
    }
}
