//! Format 1, byte by byte: decodes entries of its engine to records.
//! Guarantees an error for anything that is not of the format.
//! Must never change: stores of that format exist.
//!
//! # The data directory
//!
//! ```text
//! DIR/lock      an empty file; the process that serves the directory holds its exclusive lock
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
//! # Invariants
//!
//! - Each step (a batch of transactions with the removals of a compaction step) is one atomic batch of the engine.
//! - The ordinals of a revision are 0, 1, 2, ... as its records were published. Later removals leave gaps.
//! - An entry whose revision is not above the compaction revision `c` is the live value of its key at `c`.
//!   Tombstones and superseded entries exist only above it.
//! - The current revision is that of the last log entry, or `c` if that is greater.
//! - A mark `(second, revision)` says that every later revision was made at or after that second.
//!
//! There is no index of live entries: it follows from the log, which is read once, at start.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::api::Revision;
use crate::retention::Mark;

/// The format that this module reads.
pub(crate) const VERSION: u32 = 1;

/// The key of the format version.
pub(crate) const VERSION_KEY: &[u8] = &[0, b'v'];
/// The key of the compaction revision.
pub(crate) const COMPACTED_KEY: &[u8] = &[0, b'c'];
/// The key of the time marks.
pub(crate) const MARKS_KEY: &[u8] = &[0, b'm'];

const LOG: u8 = 1;
const VALUE: u8 = 1;
const TOMBSTONE: u8 = 2;
const POSITION_BYTES: usize = 13;

/// Where a record stands in the log.
#[derive(Debug, Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub revision: Revision,
    pub ordinal: u32,
}

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

    /// The bytes are the contract.
    #[test]
    fn these_bytes_are_read() {
        assert_eq!(position_key(AT), [1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 3]);
        assert_eq!(decode_position(&position_key(AT)), Some(AT));
        let entry = [1, 0, 2, b'/', b'k', 37, 83, 174, 115, b'x', b'y'];
        assert_eq!(decode_entry(AT, &entry), Ok(Entry { key: "/k", value: Some(b"xy") }));
        let entry = [2, 0, 2, b'/', b'k', 217, 108, 76, 185];
        assert_eq!(decode_entry(AT, &entry), Ok(Entry { key: "/k", value: None }));
        let marks = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2];
        assert_eq!(decode_marks(&marks), Some(vec![Mark { unix_seconds: 1, revision: Revision(2) }]));
    }

    #[test]
    fn damage_is_refused() {
        let good = [1, 0, 2, b'/', b'k', 37, 83, 174, 115, b'x', b'y'];
        for length in 0..good.len() {
            assert!(decode_entry(AT, &good[..length]).is_err(), "cut to {length}");
        }
        for bit in 0..good.len() * 8 {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(decode_entry(AT, &bad).is_err(), "bit {bit}");
        }
        assert!(decode_entry(Position { revision: Revision(8), ordinal: 3 }, &good).is_err());
        assert_eq!(decode_position(&[1, 2]), None);
        assert_eq!(decode_marks(&[0; 17]), None);
        assert_eq!(decode_revision(&[0; 7]), None);
    }
}
