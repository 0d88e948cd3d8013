//! The format on disk, byte by byte: how a step of the store becomes entries of the engine, and back.
//! Guarantees that what was encoded decodes to the same, and that anything else is refused, never guessed.
//! Must never change without a new `VERSION`.
//!
//! # The data directory
//!
//! ```text
//! DIR/lock      an empty file; whoever serves the directory holds its exclusive lock
//! DIR/format    the text "pintle store, format 1"; there once the log has its version, so that a log without one is
//!               known to be damaged and not new
//! DIR/engine/   the engine's files (fjall, format 3): journal, tables, value files
//! ```
//!
//! The engine is an ordered map from bytes to bytes with atomic, synced batches. The store uses one keyspace of it,
//! `log`, with two kinds of entries, told apart by the first byte of their key. Integers are big-endian, so that
//! the order of bytes is the order of numbers.
//!
//! ```text
//! key                                            value
//! 00 'v'                                         version: u32                        format version, 1
//! 00 'c'                                         revision: u64                       compaction revision
//! 00 'm'                                         (second: u64, revision: u64)*       time marks, oldest first
//! 01 revision: u64 ordinal: u32                  entry                               one record of the log
//!
//! entry:   kind: u8   01 value, 02 tombstone
//!          key_length: u16
//!          key: key_length bytes of UTF-8
//!          checksum: u32
//!          value: the rest; empty for a tombstone
//! ```
//!
//! The checksum is the lower half of `XXH3_64(value, s)`, with `s = XXH3_64(key, t)`, `t = XXH3_64(the 13 bytes of the
//! engine's key, kind)`; the second argument is the seed.
//!
//! # What is always true
//!
//! - Each step (a batch of transactions with the removals of a compaction step) is one atomic batch of the engine.
//! - The ordinals of a revision are 0, 1, 2, ... as its records were published. Later removals leave gaps.
//! - An entry whose revision is not above the compaction revision `c` is the live value of its key at `c`.
//!   Tombstones and superseded entries exist only above it.
//! - The current revision is that of the last log entry, or `c` if that is greater.
//! - A mark `(second, revision)` says that every later revision was made at or after that second.
//!
//! What is live is not written down: it follows from the log, which is read once, at start.

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::api::{Key, Revision};
use crate::ledger::Position;
use crate::retention::Mark;

/// The format that this module writes and reads.
pub const VERSION: u32 = 1;

/// The name of the file that is there while the store is filled from another.
pub(crate) const UNFINISHED: &str = "unfinished";

/// The name of the file that says what the directory is.
pub(crate) const MARKER: &str = "format";

/// What stands in that file.
pub(crate) fn marker() -> String {
    format!("pintle store, format {VERSION}\n")
}

/// Where the format version stands.
pub(crate) const VERSION_KEY: &[u8] = &[0, b'v'];
/// Where the compaction revision stands.
pub(crate) const COMPACTED_KEY: &[u8] = &[0, b'c'];
/// Where the time marks stand.
pub(crate) const MARKS_KEY: &[u8] = &[0, b'm'];

const LOG: u8 = 1;
const VALUE: u8 = 1;
const TOMBSTONE: u8 = 2;
const POSITION_BYTES: usize = 13;
const HEADER_BYTES: usize = 7;
/// Behind the kind and the key's length.
const KEY_AT: usize = 3;

/// The key of a log entry.
pub(crate) fn position_key(position: Position) -> [u8; POSITION_BYTES] {
    let mut key = [LOG; POSITION_BYTES];
    key[1..9].copy_from_slice(&position.revision.0.to_be_bytes());
    key[9..].copy_from_slice(&position.ordinal.to_be_bytes());
    key
}

/// The first key of a log entry with this revision or a later one.
pub(crate) fn revision_key(revision: Revision) -> [u8; POSITION_BYTES] {
    position_key(Position { revision, ordinal: 0 })
}

/// The position that a log entry's key stands for.
pub(crate) fn decode_position(key: &[u8]) -> Option<Position> {
    let (tag, rest) = key.split_first()?;
    let (revision, ordinal) = rest.split_first_chunk()?;
    let ordinal = ordinal.try_into().ok()?;
    let position = Position { revision: Revision(u64::from_be_bytes(*revision)), ordinal: u32::from_be_bytes(ordinal) };
    (*tag == LOG).then_some(position)
}

/// A decoded log entry. Borrows from the engine's buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub key: &'a str,
    pub value: Option<&'a [u8]>,
}

/// Encodes a log entry. Budget: one allocation, one copy. `key` is at most `limits::KEY_BYTES_MAX` long.
pub(crate) fn encode_entry(position: Position, key: &str, value: Option<&Bytes>) -> Vec<u8> {
    let kind = if value.is_some() { VALUE } else { TOMBSTONE };
    let value = value.map_or(&[][..], |value| value);
    let mut entry = Vec::with_capacity(HEADER_BYTES + key.len() + value.len());
    entry.push(kind);
    entry.extend_from_slice(&(key.len() as u16).to_be_bytes());
    entry.extend_from_slice(key.as_bytes());
    entry.extend_from_slice(&checksum(position, kind, key.as_bytes(), value).to_be_bytes());
    entry.extend_from_slice(value);
    entry
}

/// Decodes a log entry; what is wrong with it if it is not one.
pub(crate) fn decode_entry(position: Position, entry: &[u8]) -> Result<Entry<'_>, &'static str> {
    let (kind, rest) = entry.split_first().ok_or("an empty entry")?;
    let (length, rest) = rest.split_first_chunk().ok_or("an entry without a key")?;
    let (key, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length))).ok_or("a key is cut short")?;
    let (expected, value) = rest.split_first_chunk().ok_or("an entry without a checksum")?;
    if checksum(position, *kind, key, value) != u32::from_be_bytes(*expected) {
        return Err("a checksum does not match");
    }
    let key = std::str::from_utf8(key).map_err(|_| "a key is not UTF-8")?;
    match *kind {
        VALUE => Ok(Entry { key, value: Some(value) }),
        TOMBSTONE if value.is_empty() => Ok(Entry { key, value: None }),
        _ => Err("an entry of an unknown kind"),
    }
}

/// A log entry that has been found right, with its parts to be taken out of the engine's buffer.
#[derive(Debug)]
pub(crate) struct Checked {
    entry: Bytes,
    key_end: usize,
    tombstone: bool,
}

impl Checked {
    /// Decodes an entry, to be looked at elsewhere.
    pub fn new(position: Position, entry: Bytes) -> Result<Checked, &'static str> {
        let decoded = decode_entry(position, &entry)?;
        let (key_end, tombstone) = (KEY_AT + decoded.key.len(), decoded.value.is_none());
        Ok(Checked { entry, key_end, tombstone })
    }

    pub fn key(&self) -> Key {
        let key = self.entry.get(KEY_AT..self.key_end).unwrap_or_default();
        std::str::from_utf8(key).unwrap_or_default().into()
    }

    /// Not copied.
    pub fn value(&self) -> Option<Bytes> {
        (!self.tombstone).then(|| self.entry.slice(self.key_end + size_of::<u32>()..))
    }
}

/// Encodes the time marks.
pub(crate) fn encode_marks(marks: &[Mark]) -> Vec<u8> {
    marks.iter().flat_map(|mark| [mark.unix_seconds, mark.revision.0]).flat_map(u64::to_be_bytes).collect()
}

/// Decodes the time marks.
pub(crate) fn decode_marks(bytes: &[u8]) -> Option<Vec<Mark>> {
    let (pairs, rest) = bytes.as_chunks::<16>();
    let number = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_be_bytes);
    let mark =
        |pair: &[u8; 16]| Some(Mark { unix_seconds: number(&pair[..8])?, revision: Revision(number(&pair[8..])?) });
    rest.is_empty().then(|| pairs.iter().map(mark).collect()).flatten()
}

/// Decodes the compaction revision.
pub(crate) fn decode_revision(bytes: &[u8]) -> Option<Revision> {
    bytes.try_into().ok().map(|bytes| Revision(u64::from_be_bytes(bytes)))
}

/// A checksum against damage of the disk, not against intent. The position takes part, so that an entry in the wrong
/// place is noticed too.
fn checksum(position: Position, kind: u8, key: &[u8], value: &[u8]) -> u32 {
    let seed = xxh3_64_with_seed(&position_key(position), u64::from(kind));
    let seed = xxh3_64_with_seed(key, seed);
    xxh3_64_with_seed(value, seed) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Position = Position { revision: Revision(7), ordinal: 3 };

    #[test]
    fn entries_and_positions_come_back() {
        for value in [None, Some(Bytes::new()), Some(Bytes::from_static(b"{}")), Some(vec![7; 100_001].into())] {
            let bytes = encode_entry(AT, "/registry/pods/default/web", value.as_ref());
            let entry = decode_entry(AT, &bytes).unwrap();
            assert_eq!((entry.key, entry.value), ("/registry/pods/default/web", value.as_deref()));
            let checked = Checked::new(AT, bytes.into()).unwrap();
            assert_eq!((&*checked.key(), checked.value()), ("/registry/pods/default/web", value));
        }
        assert_eq!(decode_position(&position_key(AT)), Some(AT));
        assert!(position_key(AT) < position_key(Position { revision: Revision(256), ordinal: 0 }));
        let marks =
            vec![Mark { unix_seconds: 5, revision: Revision(2) }, Mark { unix_seconds: 9, revision: Revision(4) }];
        assert_eq!(decode_marks(&encode_marks(&marks)), Some(marks));
    }

    /// The bytes are the contract: a change here is a new version.
    #[test]
    fn the_bytes_are_these() {
        assert_eq!(position_key(AT), [1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 3]);
        let entry = encode_entry(AT, "/k", Some(&Bytes::from_static(b"xy")));
        assert_eq!(entry, [1, 0, 2, b'/', b'k', 37, 83, 174, 115, b'x', b'y']);
        let entry = encode_entry(AT, "/k", None);
        assert_eq!(entry, [2, 0, 2, b'/', b'k', 217, 108, 76, 185]);
        assert_eq!(encode_marks(&[Mark { unix_seconds: 1, revision: Revision(2) }])[7..], [1, 0, 0, 0, 0, 0, 0, 0, 2]);
    }

    #[test]
    fn damage_is_refused() {
        let good = encode_entry(AT, "/registry/pods/default/web", Some(&Bytes::from_static(b"some value here")));
        for length in 0..good.len() {
            assert!(decode_entry(AT, &good[..length]).is_err(), "cut to {length}");
        }
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(decode_entry(AT, &bad).is_err(), "bit {bit}");
        }
        let elsewhere = Position { revision: Revision(8), ordinal: 3 };
        assert!(decode_entry(elsewhere, &good).is_err());
        assert_eq!(decode_position(&[1, 2]), None);
        assert_eq!(decode_marks(&[0; 17]), None);
        assert_eq!(decode_revision(&[0; 7]), None);
    }
}
