//! Reads a log at start: verifies everything before anything is passed on.
//! Guarantees that a log is rejected, with file and offset, unless it contains exactly what was acknowledged (and
//! possibly one last step that was not). Must never write: a failed start leaves everything unchanged.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::format::{self, HEAD, HEAD_BYTES, Head, MANIFEST, Manifest, Point, SegmentId, SegmentInfo, StoreId};
use super::frames::{Frame, FrameReader, Next};
use crate::api::{Observer, Record, Revision, StoreError};
use crate::files::{self, Storage};
use crate::key_index::{Dead, KeyIndex};
use crate::limits;
use crate::retention::Mark;

/// The location of a log's files.
#[derive(Clone)]
pub(crate) struct Files {
    pub storage: Arc<dyn Storage>,
    /// The directory of the log.
    pub log: PathBuf,
    pub store: StoreId,
}

impl Files {
    pub fn segment(&self, number: u64) -> SegmentId {
        SegmentId { store: self.store, number }
    }

    pub fn path(&self, number: u64) -> PathBuf {
        self.segment(number).path(&self.log)
    }

    /// Begins to read a segment.
    pub fn read(&self, info: SegmentInfo) -> Result<FrameReader, StoreError> {
        let path = self.path(info.number);
        let reader = self.storage.open(&path).and_then(|file| FrameReader::new(file, self.segment(info.number), info));
        match reader {
            Ok(Ok(reader)) => Ok(reader),
            Ok(Err(what)) => Err(damaged(&path, 0, what)),
            Err(error) => Err(unreadable(&path, error)),
        }
    }
}

/// An error of a file that differs from what was written.
pub(crate) fn damaged(file: &Path, offset: u64, detail: impl Into<String>) -> StoreError {
    StoreError::Damaged { file: file.to_owned(), offset, detail: detail.into() }
}

fn unreadable(file: &Path, error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::NotFound => damaged(file, 0, "the file is missing"),
        _ => StoreError::Io { path: file.to_owned(), error },
    }
}

/// Reads the manifest of the log in `log`.
pub(crate) fn manifest(storage: &dyn Storage, log: &Path) -> Result<Manifest, StoreError> {
    let path = log.join(MANIFEST);
    let bytes = files::read(storage, &path, limits::MANIFEST_BYTES_MAX).map_err(|error| unreadable(&path, error))?;
    Manifest::decode(&bytes).map_err(|(offset, what)| damaged(&path, offset, what))
}

/// Reads the newest valid slot of the head. Without one the log alone decides.
fn head(files: &Files) -> Result<Option<Head>, StoreError> {
    let path = files.log.join(HEAD);
    match files::read(files.storage.as_ref(), &path, HEAD_BYTES as u64) {
        Ok(bytes) => Ok(Head::decode(&bytes, files.store)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::Io { path, error }),
    }
}

/// The content of a log.
pub(crate) struct Scan {
    pub key_index: KeyIndex,
    /// Dead entries that may still be in the log, in the order of positions.
    pub dead: Vec<Dead>,
    pub marks: Vec<Mark>,
    /// The size of the entries of each segment in bytes.
    pub entry_bytes: Vec<u64>,
    /// The end of the last complete frame.
    pub end: Point,
    /// The synced part of the last segment, as far as known.
    pub durable: Point,
    /// Whether the file contains only zeros after that.
    pub whole: bool,
    pub head_sequence: u64,
}

/// A position at which a required revision above the compaction revision is missing.
struct Gap {
    revision: Revision,
    segment: u64,
    offset: u64,
}

/// Verifies everything and collects the state. Budget: each byte is read and hashed once, one hash lookup per entry.
pub(crate) fn scan(files: &Files, manifest: &Manifest) -> Result<Scan, StoreError> {
    let head = head(files)?;
    let mut inventory = Inventory {
        key_index: KeyIndex::new(true, Revision(0)),
        compacted: manifest.compacted,
        marks: manifest.marks.clone(),
        gap: None,
        entry_bytes: 0,
    };
    let mut entry_bytes = Vec::with_capacity(manifest.segments.len());
    let mut last = None;
    for info in &manifest.segments {
        inventory.entry_bytes = 0;
        last = Some(segment(files, *info, head, &mut inventory)?);
        entry_bytes.push(inventory.entry_bytes);
    }
    let Some((end, durable, whole)) = last else {
        return Err(damaged(&files.log.join(MANIFEST), 12, "the manifest names no segment"));
    };
    if let Some(gap) = inventory.gap.filter(|gap| gap.revision > inventory.compacted) {
        return Err(damaged(&files.path(gap.segment), gap.offset, format!("revision {} is not whole", gap.revision)));
    }
    check_head(files, manifest, head, end)?;
    let mut key_index = inventory.key_index;
    let mut dead = key_index.settle(inventory.compacted).map_err(|what| {
        let info = manifest.segments.first().map_or(0, |info| info.number);
        damaged(&files.path(info), 0, what)
    })?;
    if key_index.current() > end.revision {
        let path = files.path(manifest.segments.last().map_or(0, |info| info.number));
        return Err(damaged(&path, end.offset, "the compaction revision is above the last one"));
    }
    dead.sort_unstable_by_key(|dead| (dead.position.revision, dead.position.ordinal));
    Ok(Scan {
        key_index,
        dead,
        marks: inventory.marks,
        entry_bytes,
        end,
        durable,
        whole,
        head_sequence: head.map_or(0, |head| head.sequence),
    })
}

/// Checks that the log reaches the offset that the head records as synced.
fn check_head(files: &Files, manifest: &Manifest, head: Option<Head>, end: Point) -> Result<(), StoreError> {
    let Some(head) = head else { return Ok(()) };
    let path = files.log.join(MANIFEST);
    if head.segment >= manifest.next {
        return Err(damaged(&path, 32, format!("segment {:x} was written, and is not known here", head.segment)));
    }
    let sealed = manifest.segments.iter().find(|info| info.number == head.segment).and_then(|info| info.end);
    if sealed.is_some_and(|sealed| sealed.offset < head.offset) || end.revision < head.revision {
        let what = format!("revision {} was acknowledged, the log ends at revision {}", head.revision, end.revision);
        return Err(damaged(&path, 0, what));
    }
    Ok(())
}

/// The state collected while segments are read.
struct Inventory {
    key_index: KeyIndex,
    compacted: Revision,
    marks: Vec<Mark>,
    gap: Option<Gap>,
    entry_bytes: u64,
}

/// Reads a segment. Returns its end, its synced part, and whether its file ends at its end.
fn segment(
    files: &Files,
    info: SegmentInfo,
    head: Option<Head>,
    inventory: &mut Inventory,
) -> Result<(Point, Point, bool), StoreError> {
    let path = files.path(info.number);
    let io = |error| StoreError::Io { path: path.clone(), error };
    let mut reader = files.read(info)?;
    let begin = reader.point();
    // The manifest records the end of all segments but the last.
    let synced = head.filter(|head| head.segment == info.number && info.end.is_none());
    let mut durable = synced.is_none_or(|head| head.offset == begin.offset).then_some(begin);
    let invalid = loop {
        let at = reader.point().offset;
        match reader.next().map_err(io)? {
            Next::Frame(frame) => {
                inventory.frame(info, &frame).map_err(|what| damaged(&path, at, what))?;
            }
            Next::End => break None,
            Next::Invalid(what) => break Some(what),
        }
        let point = reader.point();
        if synced.is_some_and(|head| head.offset == point.offset) {
            durable = Some(point);
        }
    };
    let end = reader.point();
    if let Some(expected) = info.end {
        return match invalid {
            None if end == expected => Ok((end, end, true)),
            None => Err(damaged(&path, end.offset, "the segment ends otherwise than the manifest says")),
            Some(what) => Err(damaged(&path, end.offset, what)),
        };
    }
    // The end of the log. Later data was never acknowledged, unless a frame or the head proves that it was.
    let what = invalid.unwrap_or("the file ends before what was synced");
    if synced.is_some_and(|head| head.offset > end.offset) || reader.was_synced_here().map_err(io)? {
        return Err(damaged(&path, end.offset, what));
    }
    let Some(durable) = durable else {
        return Err(damaged(&path, end.offset, "no frame ends where the file was synced"));
    };
    Ok((end, durable, reader.ends_in_zeros().map_err(io)?))
}

impl Inventory {
    fn frame(&mut self, info: SegmentInfo, frame: &Frame<'_>) -> Result<(), &'static str> {
        let payload = frame.head()?;
        if info.end.is_none() {
            // For sealed segments the manifest has this information.
            self.compacted = self.compacted.max(payload.compacted.unwrap_or_default());
        }
        let mut entries = payload.entries(frame.header, frame.payload);
        let (mut revision, mut ordinal) = (frame.header.previous, u32::MAX);
        let mut gap = None;
        while let Some(entry) = entries.next()? {
            let position = entry.position;
            let follows = if position.revision == revision {
                position.ordinal == ordinal.wrapping_add(1)
            } else {
                if position.revision > revision.next() {
                    gap = Some(Revision(position.revision.0 - 1));
                }
                position.ordinal == 0
            };
            if !follows {
                gap = Some(position.revision);
            }
            (revision, ordinal) = (position.revision, position.ordinal);
            self.entry_bytes += u64::from(position.bytes);
            self.key_index.replay(position, entry.key, entry.value.is_none());
        }
        if frame.header.last > revision {
            gap = Some(frame.header.last);
        }
        if let Some(revision) = gap {
            self.gap = Some(Gap { revision, segment: info.number, offset: frame.at });
        }
        if let Some(marks) = payload.marks.filter(|_| info.end.is_none()) {
            self.marks = marks;
        }
        Ok(())
    }
}

/// Passes on everything that is not dead, in order. Budget: each byte is read and hashed once more, one copy of what
/// is passed on.
pub(crate) fn pass_on(
    files: &Files,
    manifest: &Manifest,
    scan: &Scan,
    observer: &mut dyn Observer,
) -> Result<(), StoreError> {
    let compacted = scan.key_index.compacted();
    let mut dead = scan.dead.iter().map(|dead| (dead.position.revision, dead.position.ordinal)).peekable();
    for info in &manifest.segments {
        let path = files.path(info.number);
        let mut reader = files.read(*info)?;
        loop {
            let at = reader.point().offset;
            let limit = if info.end.is_none() { scan.end.offset } else { u64::MAX };
            if at >= limit {
                break;
            }
            let frame = match reader.next().map_err(|error| StoreError::Io { path: path.clone(), error })? {
                Next::Frame(frame) => frame,
                Next::End => break,
                Next::Invalid(what) => return Err(damaged(&path, at, what)),
            };
            let payload = frame.head().map_err(|what| damaged(&path, at, what))?;
            let mut bytes = None;
            let mut entries = payload.entries(frame.header, frame.payload);
            while let Some(entry) = entries.next().map_err(|what| damaged(&path, at, what))? {
                let place = (entry.position.revision, entry.position.ordinal);
                while dead.next_if(|dead| *dead < place).is_some() {}
                if dead.next_if_eq(&place).is_some() {
                    continue;
                }
                // One copy for all values of the frame.
                let bytes = bytes.get_or_insert_with(|| Bytes::copy_from_slice(frame.payload));
                let value = entry.value.map(|value| bytes.slice(entry.value_at..entry.value_at + value.len()));
                let record = Record { revision: place.0, key: scan.key_index.key(entry.key), value };
                observer.replay(record, place.0 > compacted);
            }
        }
    }
    Ok(())
}

/// The number of the first segment without a file.
pub(crate) fn next_number(files: &Files, manifest: &Manifest) -> io::Result<u64> {
    let names = files.storage.list(&files.log)?;
    let found = names.iter().filter_map(|name| format::segment_number(name)).map(|number| number.saturating_add(1));
    Ok(found.max().unwrap_or(0).max(manifest.next))
}
