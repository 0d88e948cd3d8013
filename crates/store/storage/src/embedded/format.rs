//! The format on disk, byte by byte: encodes and decodes segments, frames, entries, the manifest and the head.
//! Guarantees round trips, and an error for anything else.
//! Must never change without a new `VERSION`, nor allocate more than a few times the size of its input.
//!
//! # The data directory
//!
//! ```text
//! DIR/lock            an empty file; the process that serves the directory holds its exclusive lock
//! DIR/format          the text "pintle store, format 2"; written last into a new store, so that a store whose manifest
//!                     is missing is known to be damaged and not new
//! DIR/log/manifest    which segments there are, in order, and where each but the last ends
//! DIR/log/head        how far the last segment was known to be synced
//! DIR/log/N.log       the segments; N is the number of the segment, 16 hexadecimal digits
//! ```
//!
//! Also there for a while: `NAME.new`, what is about to replace NAME; `DIR/log.new`, a log that is being made from another
//! store; `DIR/unfinished`, as long as a store is filled from another one.
//!
//! All integers are little-endian. `H(bytes, seed)` is XXH3 with 64 bits.
//!
//! # A segment
//!
//! A header and then frames, one after the other without gaps. A frame is what one step of the store writes: it is
//! written by one write, and a frame with entries is synced before it is acknowledged. Behind the last frame may stand
//! zeros that were written ahead.
//!
//! ```text
//! segment header, 64 bytes                       frame
//!   0  magic "PINTLSEG"                            0  magic "PFRM"
//!   8  format version: u32                         4  payload length: u32
//!  12  zero: u32                                   8  number of entries: u32
//!  16  store id: 16 bytes                         12  zero: u32
//!  32  segment number: u64                        16  previous revision: u64
//!  40  base revision: u64, of the log before it   24  last revision: u64
//!  48  zero: u64                                  32  synced: u64, how much of this file was known to be synced when
//!  56  H(bytes 0 to 56, 0): u64                       the frame was written
//!                                                 40  H(bytes 0 to 40, h + offset of the frame): u64,
//! payload                                             h = H(store id and segment number, 0)
//!   0  compaction revision: u64, 0 if not told    48  payload
//!   8  number of time marks: u32,                  n  H(bytes 0 to n, c): u64, where c is this field of the frame
//!      ffffffff if not told                           before, or the last field of the segment header
//!  12  per mark: second: u64, revision: u64
//!      then the entries                          entry
//!                                                  0  kind: u8: 1 value, 2 tombstone
//!                                                  1  zero: u8
//!                                                  2  length of the key: u16
//!                                                  4  length of the value: u32
//!                                                  8  revision: u32, less the frame's previous revision
//!                                                 12  ordinal: u32
//!                                                 16  key, UTF-8, then the value
//! ```
//!
//! # The manifest and the head
//!
//! ```text
//! manifest                                       head: two slots, at 0 and at 512, in different sectors
//!   0  magic "PINTLMAN"                            0  magic "PINTLHED"
//!   8  format version: u32                         8  store id: 16 bytes
//!  12  number of segments: u32                    24  sequence: u64, the higher one is the newer
//!  16  store id: 16 bytes                         32  segment number: u64
//!  32  next segment number: u64                   40  offset: u64
//!  40  compaction revision: u64                   48  revision: u64
//!  48  number of time marks: u32                  56  H(bytes 0 to 56, 0): u64
//!  52  zero: u32
//!  56  per mark: second: u64, revision: u64
//!      per segment, 40 bytes: number: u64, base revision: u64, last revision: u64, length: u64,
//!        the last checksum in it: u64; the last three are 0 for the last segment
//!      H(all before, 0): u64
//! ```
//!
//! # Invariants
//!
//! - Revisions have no gap from frame to frame: a frame's previous revision is the last one of the frame before, across
//!   segments too. Within frames there is no gap above the compaction revision.
//! - The compaction revision is the highest that the manifest or any frame of the last segment contains.
//! - An entry is dead if its revision and one that supersedes it are not above the compaction revision, or if it is a
//!   tombstone that is not above it. Dead entries may be present or absent, but a tombstone is present as long as any
//!   older entry of its key is.
//! - A segment except the last one ends where the manifest says. Data after that was never acknowledged.
//! - The head never records more than what was synced. It may record less: it is not synced itself.
//!
//! There is no index of live entries: it follows from the log, which is read at start.

use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::api::Revision;
use crate::key_index::{ENTRY_HEADER_BYTES, Position};
use crate::retention::Mark;

/// The format that this module writes and reads.
pub const VERSION: u32 = 2;

/// The name of the file that exists while the store is filled from another one.
pub(crate) const UNFINISHED: &str = "unfinished";
/// The name of the file with the store's format version.
pub(crate) const MARKER: &str = "format";
/// The name of the directory that holds the log.
pub(crate) const LOG: &str = "log";
/// The name of an unfinished log.
pub(crate) const NEW_LOG: &str = "log.new";
pub(crate) const MANIFEST: &str = "manifest";
pub(crate) const HEAD: &str = "head";

/// The content of the marker.
pub(crate) fn marker(version: u32) -> String {
    format!("pintle store, format {version}\n")
}

/// The version that a marker names; `None` if it is not a marker.
pub(crate) fn marked_version(text: &[u8]) -> Option<u32> {
    let version = text.strip_prefix(b"pintle store, format ")?.strip_suffix(b"\n")?;
    std::str::from_utf8(version).ok()?.parse().ok()
}

pub(crate) const SEGMENT_HEADER: usize = 64;
pub(crate) const FRAME_HEADER: usize = 48;
/// The checksum after a frame's payload.
pub(crate) const FRAME_TRAILER: usize = 8;
/// A frame's size besides its entries and marks.
pub(crate) const FRAME_OVERHEAD: u64 = (FRAME_HEADER + PAYLOAD_HEADER + FRAME_TRAILER) as u64;

/// The size of marks in a frame.
pub(crate) fn marks_bytes(marks: &[Mark]) -> u64 {
    (marks.len() * MARK) as u64
}
pub(crate) const FRAME_MAGIC: [u8; 4] = *b"PFRM";
const SEGMENT_MAGIC: [u8; 8] = *b"PINTLSEG";
const MANIFEST_MAGIC: [u8; 8] = *b"PINTLMAN";
const HEAD_MAGIC: [u8; 8] = *b"PINTLHED";
const PAYLOAD_HEADER: usize = 12;
const NO_MARKS: u32 = u32::MAX;
const MARK: usize = 16;
const MANIFEST_HEADER: usize = 56;
const MANIFEST_SEGMENT: usize = 40;
const HEAD_SLOT: usize = 64;
/// The offsets of the slots of the head: in different sectors, so that a torn write damages only one.
pub(crate) const HEAD_SLOTS: [u64; 2] = [0, 512];
pub(crate) const HEAD_BYTES: usize = 1024;
const VALUE: u8 = 1;
const TOMBSTONE: u8 = 2;

/// The ID of a store, which distinguishes its files from those of another store.
pub(crate) type StoreId = [u8; 16];

/// The identity of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentId {
    pub store: StoreId,
    pub number: u64,
}

impl SegmentId {
    /// The name of the segment's file.
    pub fn path(&self, log: &Path) -> PathBuf {
        log.join(format!("{:016x}.log", self.number))
    }

    fn seed(&self) -> u64 {
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(&self.store);
        bytes[16..].copy_from_slice(&self.number.to_le_bytes());
        xxh3_64_with_seed(&bytes, 0)
    }
}

/// The number of the segment with this file name.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log").filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

/// The bytes of a segment's header, and the initial checksum of its frames.
pub(crate) fn encode_segment_header(id: SegmentId, base: Revision) -> ([u8; SEGMENT_HEADER], u64) {
    let mut bytes = [0; SEGMENT_HEADER];
    bytes[..8].copy_from_slice(&SEGMENT_MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[16..32].copy_from_slice(&id.store);
    bytes[32..40].copy_from_slice(&id.number.to_le_bytes());
    bytes[40..48].copy_from_slice(&base.0.to_le_bytes());
    let checksum = xxh3_64_with_seed(&bytes[..56], 0);
    bytes[56..].copy_from_slice(&checksum.to_le_bytes());
    (bytes, checksum)
}

/// Checks the header of this segment. Returns the initial checksum of its frames.
pub(crate) fn check_segment_header(bytes: &[u8], id: SegmentId, base: Revision) -> Result<u64, &'static str> {
    let (expected, checksum) = encode_segment_header(id, base);
    if bytes == expected {
        return Ok(checksum);
    }
    let whole = bytes.len() == SEGMENT_HEADER && u64_at(bytes, 56) == Some(xxh3_64_with_seed(&bytes[..56], 0));
    Err(match whole {
        false => "the segment has no valid header",
        true if bytes[16..32] != id.store => "the segment belongs to another store",
        true if u64_at(bytes, 32) != Some(id.number) => "the segment stands in the place of another one",
        true => "the segment does not begin where the one before ends",
    })
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub payload: u32,
    pub entries: u32,
    pub previous: Revision,
    pub last: Revision,
    pub synced: u64,
}

impl FrameHeader {
    fn encode(&self, segment: SegmentId, offset: u64) -> [u8; FRAME_HEADER] {
        let mut bytes = [0; FRAME_HEADER];
        bytes[..4].copy_from_slice(&FRAME_MAGIC);
        bytes[4..8].copy_from_slice(&self.payload.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.entries.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.previous.0.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.last.0.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.synced.to_le_bytes());
        let checksum = xxh3_64_with_seed(&bytes[..40], segment.seed().wrapping_add(offset));
        bytes[40..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Decodes the frame header at `offset` of this segment; `None` if it is not one.
    pub fn decode(bytes: &[u8], segment: SegmentId, offset: u64) -> Option<FrameHeader> {
        let bytes = bytes.get(..FRAME_HEADER)?;
        let header = FrameHeader {
            payload: u32_at(bytes, 4)?,
            entries: u32_at(bytes, 8)?,
            previous: Revision(u64_at(bytes, 16)?),
            last: Revision(u64_at(bytes, 24)?),
            synced: u64_at(bytes, 32)?,
        };
        (bytes == header.encode(segment, offset)).then_some(header)
    }

    /// The size of the whole frame in bytes.
    pub fn frame_bytes(&self) -> u64 {
        FRAME_HEADER as u64 + u64::from(self.payload) + FRAME_TRAILER as u64
    }
}

/// Builds a frame in a buffer.
pub(crate) struct FrameWriter<'a> {
    buffer: &'a mut Vec<u8>,
    previous: Revision,
    entries: u32,
}

impl<'a> FrameWriter<'a> {
    /// Begins a frame in `buffer`, which is cleared.
    pub fn new(
        buffer: &'a mut Vec<u8>,
        previous: Revision,
        compacted: Option<Revision>,
        marks: Option<&[Mark]>,
    ) -> FrameWriter<'a> {
        buffer.clear();
        buffer.extend_from_slice(&[0; FRAME_HEADER]);
        buffer.extend_from_slice(&compacted.map_or(0, |revision| revision.0).to_le_bytes());
        buffer.extend_from_slice(&marks.map_or(NO_MARKS, |marks| marks.len() as u32).to_le_bytes());
        encode_marks(buffer, marks.unwrap_or_default());
        FrameWriter { buffer, previous, entries: 0 }
    }

    /// Adds an entry. Its revision is less than 2^32 above the frame's previous one, its key at most
    /// `limits::KEY_BYTES_MAX` long, its value at most `limits::VALUE_BYTES_MAX`.
    pub fn entry(&mut self, position: Position, key: &str, value: Option<&[u8]>) {
        let revision = position.revision.0.wrapping_sub(self.previous.0) as u32;
        self.buffer.extend_from_slice(&[if value.is_some() { VALUE } else { TOMBSTONE }, 0]);
        self.buffer.extend_from_slice(&(key.len() as u16).to_le_bytes());
        self.buffer.extend_from_slice(&(value.map_or(0, <[u8]>::len) as u32).to_le_bytes());
        self.buffer.extend_from_slice(&revision.to_le_bytes());
        self.buffer.extend_from_slice(&position.ordinal.to_le_bytes());
        self.buffer.extend_from_slice(key.as_bytes());
        self.buffer.extend_from_slice(value.unwrap_or_default());
        self.entries += 1;
    }

    /// The size so far in bytes.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether there is no entry yet.
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Completes the frame for its place in a segment. Returns its bytes, and its checksum, with which the next frame
    /// begins.
    pub fn finish(self, segment: SegmentId, offset: u64, last: Revision, synced: u64, chain: u64) -> (&'a [u8], u64) {
        let payload = (self.buffer.len() - FRAME_HEADER) as u32;
        let header = FrameHeader { payload, entries: self.entries, previous: self.previous, last, synced };
        let checksum = seal_frame(self.buffer, header, segment, offset, chain);
        (self.buffer, checksum)
    }
}

/// Completes a frame from a payload that has room for the header before it.
pub(crate) fn seal_frame(
    buffer: &mut Vec<u8>,
    header: FrameHeader,
    segment: SegmentId,
    offset: u64,
    chain: u64,
) -> u64 {
    buffer[..FRAME_HEADER].copy_from_slice(&header.encode(segment, offset));
    let checksum = xxh3_64_with_seed(buffer, chain);
    buffer.extend_from_slice(&checksum.to_le_bytes());
    checksum
}

/// Verifies a whole frame with the preceding checksum. Returns the frame's own checksum.
pub(crate) fn check_frame(frame: &[u8], chain: u64) -> Option<u64> {
    let (body, checksum) = frame.split_at_checked(frame.len().checked_sub(FRAME_TRAILER)?)?;
    let expected = xxh3_64_with_seed(body, chain);
    (u64_at(checksum, 0)? == expected).then_some(expected)
}

/// A decoded entry. Borrows from the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub position: Position,
    pub key: &'a str,
    pub value: Option<&'a [u8]>,
    /// The offset of the value in the payload.
    pub value_at: usize,
}

/// The fields of a payload besides its entries, and the offset of the entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Payload {
    pub compacted: Option<Revision>,
    pub marks: Option<Vec<Mark>>,
    entries_at: usize,
}

impl Payload {
    /// Decodes the fields before the entries.
    pub fn decode(payload: &[u8]) -> Option<Payload> {
        let compacted = Some(Revision(u64_at(payload, 0)?)).filter(|revision| revision.0 > 0);
        let (marks, length) = match u32_at(payload, 8)? {
            NO_MARKS => (None, 0),
            count => {
                let length = (count as usize).checked_mul(MARK)?;
                (Some(decode_marks(payload.get(PAYLOAD_HEADER..)?.get(..length)?)), length)
            }
        };
        Some(Payload { compacted, marks, entries_at: PAYLOAD_HEADER + length })
    }

    /// The entries of the payload, which must agree with the header.
    pub fn entries<'a>(&self, header: FrameHeader, payload: &'a [u8]) -> Entries<'a> {
        Entries { payload, at: self.entries_at, left: header.entries, header, before: None }
    }
}

/// Iterates over the entries of a frame.
pub(crate) struct Entries<'a> {
    payload: &'a [u8],
    at: usize,
    left: u32,
    header: FrameHeader,
    before: Option<Position>,
}

impl<'a> Entries<'a> {
    /// The next entry; `None` at the end. An error if the payload is invalid.
    pub fn next(&mut self) -> Result<Option<Entry<'a>>, &'static str> {
        if self.left == 0 {
            let whole = self.at == self.payload.len();
            return if whole { Ok(None) } else { Err("a frame holds more than its entries") };
        }
        let entry = self.decode().ok_or("an entry is malformed")?;
        let (position, header) = (entry.position, self.header);
        let rises =
            self.before.is_none_or(|before| (before.revision, before.ordinal) < (position.revision, position.ordinal));
        if position.revision <= header.previous || position.revision > header.last || !rises {
            return Err("the revisions of a frame's entries do not rise");
        }
        self.before = Some(position);
        self.left -= 1;
        Ok(Some(entry))
    }

    fn decode(&mut self) -> Option<Entry<'a>> {
        let entry = self.payload.get(self.at..)?;
        let head = entry.get(..ENTRY_HEADER_BYTES)?;
        let key_end = ENTRY_HEADER_BYTES + usize::from(u16::from_le_bytes([head[2], head[3]]));
        let value_length = u32_at(head, 4)? as usize;
        let end = key_end.checked_add(value_length)?;
        let key = std::str::from_utf8(entry.get(ENTRY_HEADER_BYTES..key_end)?).ok()?;
        let value = entry.get(key_end..end)?;
        let value = match head[0] {
            VALUE => Some(value),
            TOMBSTONE if value.is_empty() => None,
            _ => return None,
        };
        let revision = Revision(self.header.previous.0.checked_add(u64::from(u32_at(head, 8)?))?);
        let position = Position { revision, ordinal: u32_at(head, 12)?, bytes: u32::try_from(end).ok()? };
        let value_at = self.at + key_end;
        self.at += end;
        Some(Entry { position, key, value, value_at })
    }
}

/// A segment in the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentInfo {
    pub number: u64,
    pub base: Revision,
    /// The revision, length and checksum at its end; `None` for the last segment, which is still being written.
    pub end: Option<Point>,
}

/// A position between two frames of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub offset: u64,
    /// The checksum of the frame before it.
    pub checksum: u64,
    pub revision: Revision,
}

/// The content of the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub store: StoreId,
    pub next: u64,
    pub compacted: Revision,
    pub marks: Vec<Mark>,
    /// In the order of revisions; never empty, and only the last one has no end.
    pub segments: Vec<SegmentInfo>,
}

impl Manifest {
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(
            MANIFEST_HEADER + self.marks.len() * MARK + self.segments.len() * MANIFEST_SEGMENT + FRAME_TRAILER,
        );
        bytes.extend_from_slice(&MANIFEST_MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(self.segments.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&self.store);
        bytes.extend_from_slice(&self.next.to_le_bytes());
        bytes.extend_from_slice(&self.compacted.0.to_le_bytes());
        bytes.extend_from_slice(&(self.marks.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        encode_marks(&mut bytes, &self.marks);
        for segment in &self.segments {
            let end = segment.end.unwrap_or(Point { offset: 0, checksum: 0, revision: Revision(0) });
            for number in [segment.number, segment.base.0, end.revision.0, end.offset, end.checksum] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
        let checksum = xxh3_64_with_seed(&bytes, 0);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Decodes a manifest; on error, the offset and the reason.
    pub fn decode(bytes: &[u8]) -> Result<Manifest, (u64, &'static str)> {
        if bytes.get(..8) != Some(&MANIFEST_MAGIC) {
            return Err((0, "this is no manifest"));
        }
        if u32_at(bytes, 8) != Some(VERSION) {
            return Err((8, "the manifest is of an unknown format version"));
        }
        let end = bytes.len().saturating_sub(8);
        let (body, checksum) = bytes.split_at(end);
        if u64_at(checksum, 0) != Some(xxh3_64_with_seed(body, 0)) {
            return Err((end as u64, "the checksum of the manifest does not match"));
        }
        let manifest = Manifest::decode_body(body).ok_or((12, "the manifest is malformed"))?;
        let borders =
            manifest.segments.windows(2).all(|pair| pair[0].end.map(|end| end.revision) == Some(pair[1].base));
        let open = manifest.segments.iter().filter(|segment| segment.end.is_none()).count();
        let numbered = manifest.segments.iter().all(|segment| segment.number < manifest.next);
        match manifest.segments.last() {
            Some(last) if last.end.is_none() && open == 1 && borders && numbered => Ok(manifest),
            _ => Err((12, "the segments of the manifest do not follow one another")),
        }
    }

    fn decode_body(body: &[u8]) -> Option<Manifest> {
        let segments = u32_at(body, 12)? as usize;
        let marks = (u32_at(body, 48)? as usize).checked_mul(MARK)?;
        let marks_at = body.get(MANIFEST_HEADER..)?;
        let (marks, rest) = marks_at.split_at_checked(marks)?;
        if rest.len() != segments.checked_mul(MANIFEST_SEGMENT)? {
            return None;
        }
        let segment = |bytes: &[u8]| {
            let end = Point {
                revision: Revision(u64_at(bytes, 16)?),
                offset: u64_at(bytes, 24)?,
                checksum: u64_at(bytes, 32)?,
            };
            let end = (end.offset > 0).then_some(end);
            Some(SegmentInfo { number: u64_at(bytes, 0)?, base: Revision(u64_at(bytes, 8)?), end })
        };
        Some(Manifest {
            store: body.get(16..32)?.try_into().ok()?,
            next: u64_at(body, 32)?,
            compacted: Revision(u64_at(body, 40)?),
            marks: decode_marks(marks),
            segments: rest.chunks_exact(MANIFEST_SEGMENT).map(segment).collect::<Option<_>>()?,
        })
    }
}

/// A slot of the head: how far the last segment was synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub sequence: u64,
    pub segment: u64,
    pub offset: u64,
    pub revision: Revision,
}

impl Head {
    pub fn encode(&self, store: StoreId) -> [u8; HEAD_SLOT] {
        let mut bytes = [0; HEAD_SLOT];
        bytes[..8].copy_from_slice(&HEAD_MAGIC);
        bytes[8..24].copy_from_slice(&store);
        for (at, number) in [(24, self.sequence), (32, self.segment), (40, self.offset), (48, self.revision.0)] {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        let checksum = xxh3_64_with_seed(&bytes[..56], 0);
        bytes[56..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The newest valid slot of a head.
    pub fn decode(bytes: &[u8], store: StoreId) -> Option<Head> {
        let slot = |at: u64| {
            let slot = bytes.get(at as usize..)?.get(..HEAD_SLOT)?;
            let head = Head {
                sequence: u64_at(slot, 24)?,
                segment: u64_at(slot, 32)?,
                offset: u64_at(slot, 40)?,
                revision: Revision(u64_at(slot, 48)?),
            };
            (slot == head.encode(store)).then_some(head)
        };
        HEAD_SLOTS.into_iter().filter_map(slot).max_by_key(|head| head.sequence)
    }
}

fn encode_marks(bytes: &mut Vec<u8>, marks: &[Mark]) {
    for mark in marks {
        bytes.extend_from_slice(&mark.unix_seconds.to_le_bytes());
        bytes.extend_from_slice(&mark.revision.0.to_le_bytes());
    }
}

fn decode_marks(bytes: &[u8]) -> Vec<Mark> {
    let mark = |pair: &[u8]| Some(Mark { unix_seconds: u64_at(pair, 0)?, revision: Revision(u64_at(pair, 8)?) });
    bytes.chunks_exact(MARK).filter_map(mark).collect()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
