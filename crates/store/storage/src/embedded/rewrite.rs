//! Frees space: segments with mostly dead entries are rewritten without them, concurrently with the writer.
//! Guarantees that a rewritten segment is equivalent to its sources, and is synced before it replaces them.
//! Must never change a file of the log, nor drop a tombstone while an older entry of its key is kept.

use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::format::{self, FrameWriter, Point, SEGMENT_HEADER, SegmentInfo};
use super::frames::Next;
use super::recovery::{Files, damaged};
use crate::api::{Revision, StoreError};
use crate::files::StorageFile;
use crate::key_index::{Dead, KeyHash};
use crate::limits;

/// A sealed segment and its dead entries.
pub(crate) struct Sealed {
    pub info: SegmentInfo,
    /// Its end, as in `info`.
    pub end: Point,
    pub contents: Contents,
    /// Reading it for a rewrite failed.
    pub damaged: bool,
}

/// The known entries of a segment.
#[derive(Default)]
pub(crate) struct Contents {
    pub entry_bytes: u64,
    pub dead_bytes: u64,
    pub dead: Vec<DeadEntry>,
}

/// A dead entry that is still in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeadEntry {
    pub revision: Revision,
    pub ordinal: u32,
    pub key: KeyHash,
}

impl Contents {
    /// Whether enough is dead for a rewrite on a full disk.
    pub fn is_worth_a_copy(&self) -> bool {
        self.dead_bytes * limits::DEAD_PART_WHEN_FULL > self.entry_bytes
    }

    pub fn add_dead(&mut self, dead: &Dead) {
        let position = dead.position;
        self.dead_bytes += u64::from(position.bytes);
        self.dead.push(DeadEntry { revision: position.revision, ordinal: position.ordinal, key: dead.key });
    }
}

impl Sealed {
    /// The approximate size after a rewrite.
    pub fn live_bytes(&self) -> u64 {
        let Contents { entry_bytes, dead_bytes, .. } = self.contents;
        let live = entry_bytes.saturating_sub(dead_bytes);
        u64::try_from(u128::from(self.end.offset) * u128::from(live.max(1)) / u128::from(entry_bytes.max(1)))
            .unwrap_or(u64::MAX)
    }

    fn is_mostly_dead(&self) -> bool {
        self.contents.dead_bytes * 2 > self.contents.entry_bytes
    }
}

/// The segments to rewrite next: the one with the largest dead share, if that is more than half, with adjacent small
/// ones; or several small ones in a row.
pub(crate) fn choose(sealed: &[Sealed], segment_bytes: u64) -> Option<Range<usize>> {
    let small = |at: usize, part: u64| {
        sealed.get(at).filter(|it| !it.damaged && it.live_bytes() <= segment_bytes / part).map(Sealed::live_bytes)
    };
    let share = |it: &Sealed| u128::from(it.contents.dead_bytes) * 1000 / u128::from(it.contents.entry_bytes.max(1));
    let mostly_dead = sealed.iter().enumerate().filter(|(_, it)| !it.damaged && it.is_mostly_dead());
    // The oldest of equals, because its tombstones can be dropped.
    let worst = mostly_dead.max_by_key(|(at, it)| (share(it), std::cmp::Reverse(*at)));
    if let Some((at, worst)) = worst {
        let (mut run, mut total) = (at..at + 1, worst.live_bytes());
        while let Some(live) = small(run.end, 8).filter(|live| total + live <= segment_bytes) {
            total += live;
            run.end += 1;
        }
        while let Some(live) = run.start.checked_sub(1).and_then(|at| small(at, 8)) {
            if total + live > segment_bytes {
                break;
            }
            total += live;
            run.start -= 1;
        }
        return Some(run);
    }
    let mut run = 0..0;
    let mut total = 0;
    for at in 0..sealed.len() {
        match small(at, 4).filter(|live| total + live <= segment_bytes) {
            Some(live) => (run.end, total) = (at + 1, total + live),
            None => (run, total) = (at + 1..at + 1, 0),
        }
        if run.len() >= limits::SMALL_SEGMENTS {
            return Some(run);
        }
    }
    None
}

/// The segment to rewrite on a full disk: the one whose copy is the smallest, if enough of it is dead.
pub(crate) fn choose_when_full(sealed: &[Sealed]) -> Option<Range<usize>> {
    let gives = sealed.iter().enumerate().filter(|(_, it)| !it.damaged && it.contents.is_worth_a_copy());
    gives.min_by_key(|(_, it)| it.live_bytes()).map(|(at, _)| at..at + 1)
}

/// A plan for a rewrite.
pub(crate) struct Plan {
    pub files: Files,
    pub run: Vec<SegmentInfo>,
    /// Of the new segment.
    pub number: u64,
    /// The dead entries of the run, in the order of positions.
    pub dead: Vec<DeadEntry>,
    /// The bytes of dead entries in each segment of the run.
    pub dead_bytes: Vec<u64>,
    /// The approximate size of the new segment.
    pub live_bytes: u64,
    /// The keys of dead values that may still be in older segments: their tombstones have to stay.
    pub below: HashSet<KeyHash>,
}

/// A new segment, written and synced.
pub(crate) struct Rewritten {
    pub info: SegmentInfo,
    pub end: Point,
    pub entry_bytes: u64,
    /// Tombstones that had to stay.
    pub kept: Vec<DeadEntry>,
}

/// Why a segment was not rewritten.
#[derive(Debug)]
pub(crate) enum RewriteError {
    /// A file of the log is damaged or cannot be read.
    Source(StoreError),
    Io(io::Error),
    /// The store is being closed.
    Stopped,
}

impl From<io::Error> for RewriteError {
    fn from(error: io::Error) -> RewriteError {
        RewriteError::Io(error)
    }
}

/// How much of the disk and processor a rewrite may use.
#[derive(Default)]
pub(crate) struct Pace {
    pub stop: AtomicBool,
    /// Pauses as long as it works, if little space is to be freed.
    pub gentle: AtomicBool,
}

/// Writes the new segment. Budget: memory for a window of reading, a source frame and a frame of
/// `limits::REWRITE_FRAME_BYTES`.
pub(crate) fn rewrite(plan: &Plan, pace: &Pace) -> Result<Rewritten, RewriteError> {
    let base = plan.run.first().map_or(Revision(0), |info| info.base);
    let mut output = Output::new(plan, base)?;
    let mut dead = plan.dead.iter().peekable();
    let mut buffer = Vec::new();
    let mut since = Instant::now();
    let mut writer = FrameWriter::new(&mut buffer, base, None, None);
    let mut previous = base;
    for info in &plan.run {
        let path = plan.files.path(info.number);
        let mut reader = plan.files.read(*info).map_err(RewriteError::Source)?;
        loop {
            let at = reader.point().offset;
            let source = |what| RewriteError::Source(damaged(&path, at, what));
            let frame = match reader.next() {
                Ok(Next::Frame(frame)) => frame,
                Ok(Next::End) => break,
                Ok(Next::Invalid(what)) => return Err(source(what)),
                Err(error) => return Err(RewriteError::Source(StoreError::Io { path, error })),
            };
            let header = frame.header;
            // An entry's revision is stored as a difference of 32 bits.
            let far = header.last.0 - previous.0 > u64::from(u32::MAX);
            if (far && header.previous > previous) || writer.len() >= limits::REWRITE_FRAME_BYTES {
                output.frame(writer, header.previous)?;
                previous = header.previous;
                output.rest(pace, &mut since)?;
                writer = FrameWriter::new(&mut buffer, previous, None, None);
            }
            let payload = frame.head().map_err(source)?;
            let mut entries = payload.entries(header, frame.payload);
            while let Some(entry) = entries.next().map_err(source)? {
                let place = (entry.position.revision, entry.position.ordinal);
                while dead.next_if(|dead| (dead.revision, dead.ordinal) < place).is_some() {}
                if let Some(gone) = dead.next_if(|dead| (dead.revision, dead.ordinal) == place) {
                    if !gone.key.is_tombstone() || !plan.below.contains(&gone.key.of_value()) {
                        continue;
                    }
                    output.kept.push(*gone);
                }
                output.entry_bytes += u64::from(entry.position.bytes);
                writer.entry(entry.position, entry.key, entry.value);
            }
        }
        if reader.point().offset != info.end.map_or(0, |end| end.offset) {
            let path = plan.files.path(info.number);
            return Err(RewriteError::Source(damaged(&path, reader.point().offset, "the segment is cut short")));
        }
    }
    let last = plan.run.last().and_then(|info| info.end).map_or(previous, |end| end.revision);
    if last > previous || !writer.is_empty() {
        output.frame(writer, last)?;
    }
    output.finish(plan, base)
}

/// The segment that is being written.
struct Output {
    file: Arc<dyn StorageFile>,
    segment: format::SegmentId,
    point: Point,
    synced: u64,
    entry_bytes: u64,
    kept: Vec<DeadEntry>,
}

impl Output {
    fn new(plan: &Plan, base: Revision) -> Result<Output, RewriteError> {
        let segment = plan.files.segment(plan.number);
        let file = plan.files.storage.create(&plan.files.path(plan.number))?;
        let (header, checksum) = format::encode_segment_header(segment, base);
        file.write_at(&header, 0)?;
        let point = Point { offset: SEGMENT_HEADER as u64, checksum, revision: base };
        Ok(Output { file, segment, point, synced: 0, entry_bytes: 0, kept: Vec::new() })
    }

    fn frame(&mut self, writer: FrameWriter<'_>, last: Revision) -> io::Result<()> {
        let Point { offset, checksum, .. } = self.point;
        let (bytes, checksum) = writer.finish(self.segment, offset, last, self.synced, checksum);
        self.file.write_at(bytes, offset)?;
        self.point = Point { offset: offset + bytes.len() as u64, checksum, revision: last };
        Ok(())
    }

    /// Limits the system's backlog of unwritten data, and pauses.
    fn rest(&mut self, pace: &Pace, since: &mut Instant) -> Result<(), RewriteError> {
        if pace.stop.load(Ordering::Relaxed) {
            return Err(RewriteError::Stopped);
        }
        if self.point.offset - self.synced < limits::REWRITE_SYNC_BYTES {
            return Ok(());
        }
        self.file.sync()?;
        self.synced = self.point.offset;
        if pace.gentle.load(Ordering::Relaxed) {
            std::thread::sleep(since.elapsed().min(Duration::from_millis(100)));
        }
        *since = Instant::now();
        Ok(())
    }

    fn finish(self, plan: &Plan, base: Revision) -> Result<Rewritten, RewriteError> {
        self.file.sync()?;
        plan.files.storage.sync_dir(&plan.files.log)?;
        let info = SegmentInfo { number: plan.number, base, end: Some(self.point) };
        Ok(Rewritten { info, end: self.point, entry_bytes: self.entry_bytes, kept: self.kept })
    }
}
