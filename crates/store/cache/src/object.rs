//! `Object`: an object of a resource at one revision.
//! Guarantees that its ID is unique while the process lives. Must never change, but for what is noted about it.

use crate::encoded_object::EncodedObject;
use pintle_storage::{Key, Revision};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// An object at one revision.
#[derive(Debug)]
pub struct Object {
    /// Unique for this state of this object while the process lives.
    pub id: u64,
    pub key: Key,
    /// The revision of its last change.
    pub revision: Revision,
    pub encoded: EncodedObject,
    /// The length of the prefix of its resource in the key.
    pub(crate) prefix: u16,
    /// 0 is not noted yet.
    protobuf_bytes: AtomicU32,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Object {
    pub fn new(key: Key, prefix_length: usize, revision: Revision, encoded: EncodedObject) -> Self {
        let prefix = u16::try_from(prefix_length.min(key.len())).unwrap_or(0);
        Object {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            key,
            revision,
            encoded,
            prefix,
            protobuf_bytes: AtomicU32::new(0),
        }
    }

    /// How long the object is in protobuf, in its storage version, if that is noted: lists say it before their first item.
    pub fn protobuf_bytes(&self) -> Option<usize> {
        Some(self.protobuf_bytes.load(Ordering::Relaxed) as usize).filter(|bytes| *bytes > 0)
    }

    pub fn note_protobuf_bytes(&self, bytes: usize) {
        self.protobuf_bytes.store(u32::try_from(bytes).unwrap_or(0), Ordering::Relaxed);
    }

    /// The key without the resource's prefix: `namespace/name` or `name`.
    pub fn path(&self) -> &str {
        &self.key[usize::from(self.prefix)..]
    }

    pub fn namespace(&self) -> &str {
        self.path().rsplit_once('/').map_or("", |(namespace, _)| namespace)
    }

    pub fn name(&self) -> &str {
        self.path().rsplit_once('/').map_or(self.path(), |(_, name)| name)
    }

    /// The value of the resource's selectable field with this index; "" if there is none.
    pub fn field(&self, index: usize) -> &str {
        self.encoded.field(index).unwrap_or("")
    }
}
