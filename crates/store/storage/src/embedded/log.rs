//! The log under the embedded store: appends steps, begins new segments, and maintains the manifest and the head.
//! Guarantees that a step is one write and one sync, that nothing is appended to a file after a failed write or sync, and
//! that a step which was refused is not found by a later start: otherwise the log ends.
//! Must never decide anything about keys or revisions: the committer does.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::warn;

use super::active::{Active, HeadFile};
use super::background::{Background, Job};
use super::format::{self, MANIFEST, Manifest, Point, SegmentInfo};
use super::recovery::{self, Files, Scan};
use super::reserve::Reserve;
use super::rewrite::{self, Contents, DeadEntry, Plan, RewriteError, Rewritten, Sealed};
use crate::api::{Observer, Record, Revision, StoreError};
use crate::committer::{Backend, BackendError, Claim, PersistError, Replayed, Step, positions};
use crate::files::{self, ReplaceError, Storage};
use crate::key_index::Dead;
use crate::limits;
use crate::retention::Mark;
use crate::space::{DiskSpace, is_out_of_space};

/// The options of a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogOptions {
    /// The size in bytes after which a new segment is begun.
    pub segment_bytes: u64,
    /// The delay before the disk is accessed again after a failure.
    pub retry_after: Duration,
    /// Whether segments are rewritten on a thread of their own.
    pub background: bool,
}

impl LogOptions {
    /// The amount of zeros written ahead of frames: large enough that few syncs extend the file, and small compared
    /// with the segment.
    pub fn fill(&self) -> u64 {
        (self.segment_bytes / limits::FILL_PART).max(1)
    }
}

/// A log of which only the manifest has been read.
pub(crate) struct OpenLog {
    files: Files,
    options: LogOptions,
    manifest: Manifest,
}

impl OpenLog {
    /// Reads the manifest of the log in `log`.
    pub fn open(storage: Arc<dyn Storage>, log: PathBuf, options: LogOptions) -> Result<OpenLog, StoreError> {
        let manifest = recovery::manifest(storage.as_ref(), &log)?;
        let files = Files { storage, log, store: manifest.store };
        Ok(OpenLog { files, options, manifest })
    }

    /// Verifies everything and passes it to `observer`, without writing.
    pub fn read(&self, observer: &mut dyn Observer) -> Result<Replayed, StoreError> {
        let scan = recovery::scan(&self.files, &self.manifest)?;
        recovery::pass_on(&self.files, &self.manifest, &scan, observer)?;
        Ok(Replayed { key_index: scan.key_index, marks: scan.marks })
    }

    /// Verifies everything, passes it to `observer`, and prepares the log for writing.
    pub fn replay(self, observer: &mut dyn Observer, space: Arc<DiskSpace>) -> Result<(Replayed, Log), StoreError> {
        let scan = recovery::scan(&self.files, &self.manifest)?;
        recovery::pass_on(&self.files, &self.manifest, &scan, observer)?;
        let path = self.files.log.clone();
        let (scan, log) = self.resume(scan, space).map_err(|error| StoreError::Io { path, error })?;
        Ok((Replayed { key_index: scan.key_index, marks: scan.marks }, log))
    }

    /// Prepares writing at the end of the log. Data that is not known to be synced is copied to a new segment,
    /// because readable data is not necessarily on the disk.
    fn resume(self, scan: Scan, space: Arc<DiskSpace>) -> io::Result<(Scan, Log)> {
        let OpenLog { files, options, mut manifest } = self;
        let next = recovery::next_number(&files, &manifest)?;
        // What a killed process has renamed is not necessarily durable, and the files that its manifest does not name
        // may be those of the one before.
        files.storage.sync_dir(&files.log)?;
        let garbage = sweep(&files, &manifest)?;
        let last = manifest.segments.pop().ok_or(io::ErrorKind::InvalidData)?;
        let ends = manifest.segments.iter().zip(&scan.entry_bytes);
        let sealed = ends.filter_map(|(info, entry_bytes)| {
            let contents = Contents { entry_bytes: *entry_bytes, ..Contents::default() };
            Some(Sealed { info: *info, end: info.end?, contents, damaged: false })
        });
        let mut sealed: Vec<Sealed> = sealed.collect();
        let entry_bytes = scan.entry_bytes.last().copied().unwrap_or_default();
        let clean = scan.whole && scan.end == scan.durable;
        let file = files.storage.open(&files.path(last.number))?;
        let allocated = file.len()?;
        let active = Active {
            file,
            info: last,
            segment: files.segment(last.number),
            point: scan.durable,
            synced: scan.durable,
            contents: Contents { entry_bytes, ..Contents::default() },
            allocated,
        };
        let head = HeadFile::open(&files, scan.head_sequence)?;
        let mut log = Log {
            reserve: Reserve::open(&files, space.clone()),
            space,
            files,
            options,
            sealed: Vec::new(),
            active,
            next,
            compacted: scan.key_index.compacted(),
            marks: scan.marks.clone(),
            head,
            failed: None,
            ended: None,
            full: false,
            wanted: 0,
            probe_after: None,
            fault: None,
            garbage,
            undecided: Vec::new(),
            background: Background::new(options.background),
            changed: true,
            rewrite_after: None,
            buffer: Vec::new(),
        };
        std::mem::swap(&mut log.sealed, &mut sealed);
        if !clean {
            log.secure_tail(last, scan.end)?;
        }
        log.add_dead(&scan.dead);
        Ok((scan, log))
    }
}

/// Removes the segments that the manifest does not name: a full disk may need their space for the start. Returns those that
/// cannot be removed.
fn sweep(files: &Files, manifest: &Manifest) -> io::Result<Vec<PathBuf>> {
    let known: HashSet<u64> = manifest.segments.iter().map(|info| info.number).collect();
    let names = files.storage.list(&files.log)?;
    let unknown = names.iter().filter(|name| format::segment_number(name).is_some_and(|it| !known.contains(&it)));
    let paths = unknown.map(|name| files.log.join(name));
    Ok(paths.filter(|path| files.storage.remove(path).is_err()).collect())
}

/// A log open for writing.
pub(crate) struct Log {
    pub(super) files: Files,
    pub(super) options: LogOptions,
    /// In the order of revisions.
    pub(super) sealed: Vec<Sealed>,
    pub(super) active: Active,
    /// The number of the next segment. A number is never reused.
    next: u64,
    compacted: Revision,
    marks: Vec<Mark>,
    pub(super) head: HeadFile,
    /// The time and reason of a failed write or sync.
    pub(super) failed: Option<(Instant, BackendError)>,
    /// Why nothing is written any more: it is not known what is on the disk.
    pub(super) ended: Option<BackendError>,
    /// Whether the disk has no space, so that only what does not grow is written.
    pub(super) full: bool,
    /// The bytes for which there was no space.
    pub(super) wanted: u64,
    /// When to look for space again.
    pub(super) probe_after: Option<Instant>,
    pub(super) reserve: Reserve,
    pub(super) space: Arc<DiskSpace>,
    /// The reported reason why nothing could be written since the last write.
    fault: Option<String>,
    /// Files that no manifest names any more.
    garbage: Vec<PathBuf>,
    /// Files that the manifest names or not: the last attempt to replace it may have taken place.
    undecided: Vec<PathBuf>,
    pub(super) background: Background,
    /// Whether there may be a segment to rewrite.
    pub(super) changed: bool,
    rewrite_after: Option<Instant>,
    pub(super) buffer: Vec<u8>,
}

impl Log {
    /// Opens the log under `directory` without verification, directly after it was created.
    pub fn open_new(storage: &Arc<dyn Storage>, log: PathBuf, options: LogOptions) -> Result<Log, StoreError> {
        Ok(OpenLog::open(storage.clone(), log, options)?.replay(&mut super::NullObserver, Arc::default())?.1)
    }

    /// Appends a step that may skip revisions which are not above the compaction revision.
    pub fn append(
        &mut self,
        records: &[Record],
        last: Revision,
        compacted: Option<Revision>,
        marks: Option<&[Mark]>,
    ) -> Result<(), BackendError> {
        let entries = positions(records).map(|(position, _)| u64::from(position.bytes)).sum();
        self.make_room(entries, Claim::Growth)?;
        self.write(records, last, compacted, marks).map_err(|error| match error {
            PersistError::Refused(error) | PersistError::Unknown(error) => error,
        })
    }

    fn write(
        &mut self,
        records: &[Record],
        last: Revision,
        compacted: Option<Revision>,
        marks: Option<&[Mark]>,
    ) -> Result<(), PersistError> {
        let sync = !records.is_empty();
        let written = self.active.append(&mut self.buffer, records, last, compacted, marks, sync);
        if self.buffer.capacity() > limits::BUFFER_BYTES {
            self.buffer = Vec::new();
        }
        written.map_err(|error| self.abandon_segment(error))?;
        if sync {
            self.head.write(&self.active);
        }
        self.compacted = self.compacted.max(compacted.unwrap_or_default());
        if let Some(marks) = marks {
            self.marks = marks.to_vec();
        }
        Ok(())
    }

    /// Makes everything appended durable.
    pub fn sync(&mut self) -> Result<(), BackendError> {
        if self.active.synced != self.active.point {
            self.active.sync().map_err(|error| match self.abandon_segment(error) {
                PersistError::Refused(error) | PersistError::Unknown(error) => error,
            })?;
            self.head.write(&self.active);
        }
        Ok(())
    }

    /// Ends the segment before what could not be written or synced, which may be on the disk and must not be found by the
    /// next start. If that fails too, the log ends.
    fn abandon_segment(&mut self, error: io::Error) -> PersistError {
        let error = match is_out_of_space(&error) {
            true => {
                self.set_full(&error);
                self.refuse()
            }
            false => self.fail(error),
        };
        match self.roll(self.active.synced, Claim::Internal) {
            Ok(()) => PersistError::Refused(error),
            Err(_) => {
                self.ended = Some(error.clone());
                PersistError::Unknown(error)
            }
        }
    }

    /// Begins a new segment. The previous one ends at `end`; data after that was never acknowledged. It may use the reserve
    /// as far as the claim may.
    pub(super) fn roll(&mut self, end: Point, claim: Claim) -> Result<(), ReplaceError> {
        loop {
            let error = match self.try_roll(end) {
                Err(ReplaceError::Before(error)) => error,
                other => return other,
            };
            if !is_out_of_space(&error) || !self.release(self.options.fill(), claim) {
                return Err(ReplaceError::Before(error));
            }
        }
    }

    fn try_roll(&mut self, end: Point) -> Result<(), ReplaceError> {
        let info = SegmentInfo { number: self.take_number(), base: end.revision, end: None };
        let active = Active::create(&self.files, info);
        let active = active.and_then(|active| self.files.storage.sync_dir(&self.files.log).map(|()| active));
        match active {
            Ok(active) => self.switch(active, end),
            Err(error) => {
                self.discard(self.files.path(info.number));
                Err(ReplaceError::Before(error))
            }
        }
    }

    /// Makes `active` the last segment, after the previous one, which ends at `end`. If that fails, its file is removed.
    pub(super) fn switch(&mut self, active: Active, end: Point) -> Result<(), ReplaceError> {
        let before = SegmentInfo { end: Some(end), ..self.active.info };
        // A segment without frames is left out.
        let is_empty = end.offset <= format::SEGMENT_HEADER as u64;
        let sealed = self.sealed.iter().map(|it| it.info).chain((!is_empty).then_some(before));
        if let Err(error) = self.write_manifest(sealed.chain([active.info]).collect()) {
            if let ReplaceError::Before(_) = &error {
                self.discard(self.files.path(active.info.number));
            }
            return Err(error);
        }
        let old = std::mem::replace(&mut self.active, active);
        if is_empty {
            self.garbage.push(self.files.path(before.number));
        } else {
            // The zeros after its end are not needed. If they stay, they do no harm.
            let _ = if old.allocated > end.offset { old.file.set_len(end.offset) } else { Ok(()) };
            self.sealed.push(Sealed { info: before, end, contents: old.contents, damaged: false });
        }
        self.head.write(&self.active);
        self.changed = true;
        Ok(())
    }

    /// Removes a file that no manifest names.
    pub(super) fn discard(&mut self, path: PathBuf) {
        match self.files.storage.remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => self.garbage.push(path),
            _ => {}
        }
    }

    pub(super) fn take_number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    fn write_manifest(&mut self, segments: Vec<SegmentInfo>) -> Result<(), ReplaceError> {
        let manifest = Manifest {
            store: self.files.store,
            next: self.next,
            compacted: self.compacted,
            marks: self.marks.clone(),
            segments,
        };
        files::replace(self.files.storage.as_ref(), &self.files.log.join(MANIFEST), &manifest.encode())?;
        // This one does not name them.
        self.garbage.append(&mut self.undecided);
        Ok(())
    }

    /// Reports a failure once: the disk is not accessed for a while.
    pub(super) fn fail(&mut self, error: io::Error) -> BackendError {
        let text = error.to_string();
        if self.fault.as_ref() != Some(&text) {
            warn!(err = %text, "the store cannot be written");
            self.fault = Some(text);
        }
        let error: BackendError = Arc::new(error);
        self.failed = Some((Instant::now(), error.clone()));
        error
    }

    /// Records dead entries that may still be in the log.
    fn add_dead(&mut self, dead: &[Dead]) {
        for dead in dead {
            let revision = dead.position.revision;
            let at = self.sealed.partition_point(|sealed| sealed.end.revision < revision);
            self.sealed.get_mut(at).map_or(&mut self.active.contents, |sealed| &mut sealed.contents).add_dead(dead);
        }
        self.changed |= !dead.is_empty();
    }

    /// Finds segments to rewrite.
    fn plan(&mut self) -> Option<Plan> {
        let run = match self.full {
            false => rewrite::choose(&self.sealed, self.options.segment_bytes)?,
            true => {
                // There must be space for the copy.
                let limit = self.options.segment_bytes.min(self.reserve.held());
                rewrite::choose_when_full(&self.sealed).or_else(|| rewrite::choose(&self.sealed, limit))?
            }
        };
        let below = self.sealed.get(..run.start).unwrap_or_default().iter().flat_map(|it| &it.contents.dead);
        let below = below.map(|dead| dead.key).filter(|key| !key.is_tombstone()).collect();
        let number = self.take_number();
        let mut dead = Vec::new();
        let (mut infos, mut dead_bytes, mut live_bytes) = (Vec::new(), Vec::new(), 0);
        for sealed in self.sealed.get_mut(run).unwrap_or_default() {
            live_bytes += sealed.live_bytes();
            // Entries that die from here on are collected for the segment that is written now.
            dead.append(&mut sealed.contents.dead);
            dead_bytes.push(std::mem::take(&mut sealed.contents.dead_bytes));
            infos.push(sealed.info);
        }
        dead.sort_unstable_by_key(|dead: &DeadEntry| (dead.revision, dead.ordinal));
        Some(Plan { files: self.files.clone(), run: infos, number, dead, dead_bytes, live_bytes, below })
    }

    /// Installs a rewritten segment in place of its sources.
    fn install(&mut self, plan: &Plan, rewritten: Rewritten) -> Result<(), ReplaceError> {
        let (Some(first), count) = (plan.run.first(), plan.run.len()) else { return Ok(()) };
        let at = self.sealed.iter().position(|it| it.info.number == first.number);
        let at = at.ok_or_else(|| ReplaceError::Before(io::ErrorKind::NotFound.into()))?;
        let run = at..at + count;
        let mut infos: Vec<SegmentInfo> = self.sealed.iter().map(|it| it.info).collect();
        infos.splice(run.clone(), [rewritten.info]);
        infos.push(self.active.info);
        self.write_manifest(infos)?;
        let mut contents = Contents { entry_bytes: rewritten.entry_bytes, dead_bytes: 0, dead: rewritten.kept };
        for old in self.sealed.get(run.clone()).unwrap_or_default() {
            contents.dead_bytes += old.contents.dead_bytes;
            contents.dead.extend_from_slice(&old.contents.dead);
            self.garbage.push(self.files.path(old.info.number));
        }
        self.sealed.splice(run, [Sealed { info: rewritten.info, end: rewritten.end, contents, damaged: false }]);
        Ok(())
    }

    /// Completes a job. Returns whether it was successful.
    fn finished(&mut self, job: Job) -> bool {
        let (plan, outcome) = match job {
            Job::Rewrite(plan, outcome) => (plan, outcome),
            Job::Remove(left) => {
                let removed = left.is_empty();
                self.garbage.extend(left);
                return removed || self.pause();
            }
        };
        self.changed = true;
        let path = self.files.path(plan.number);
        let error = match outcome.map(|rewritten| self.install(&plan, rewritten)) {
            Ok(Ok(())) => return true,
            Ok(Err(ReplaceError::Unknown(error))) => {
                self.undecided.push(path);
                RewriteError::Io(error)
            }
            Ok(Err(ReplaceError::Before(error))) => {
                self.discard(path);
                RewriteError::Io(error)
            }
            Err(error) => {
                self.discard(path);
                error
            }
        };
        for (info, dead_bytes) in plan.run.iter().zip(&plan.dead_bytes) {
            let Some(sealed) = self.sealed.iter_mut().find(|it| it.info.number == info.number) else { continue };
            let range = info.base..sealed.end.revision;
            let own = plan.dead.iter().filter(|dead| dead.revision > range.start && dead.revision <= range.end);
            sealed.contents.dead.extend(own);
            sealed.contents.dead_bytes += dead_bytes;
            sealed.damaged |= matches!(error, RewriteError::Source(_));
        }
        match error {
            RewriteError::Stopped => false,
            RewriteError::Source(error) => {
                warn!(err = %error, "space cannot be given back");
                true
            }
            // It is repeated with the reserve.
            RewriteError::Io(error) if is_out_of_space(&error) && !self.full => {
                self.set_full(&error);
                true
            }
            RewriteError::Io(error) => {
                warn!(err = %error, "space cannot be given back for now");
                self.pause()
            }
        }
    }

    /// Delays the next job. Returns false.
    fn pause(&mut self) -> bool {
        self.rewrite_after = Instant::now().checked_add(self.options.retry_after * 10);
        false
    }

    /// When to call `tend` again if there is nothing to do.
    fn next_look(&self) -> Option<Duration> {
        self.full.then_some(limits::FULL_POLL)
    }
}

impl Backend for Log {
    fn make_room(&mut self, bytes: u64, claim: Claim) -> Result<(), BackendError> {
        Log::make_room(self, bytes, claim)
    }

    fn is_full(&self) -> bool {
        self.full
    }

    fn persist(&mut self, step: &Step<'_>) -> Result<(), PersistError> {
        // Room was made for the entries of the records; there may be marks besides.
        let entries: u64 = positions(step.records).map(|(position, _)| u64::from(position.bytes)).sum();
        let marks = step.marks.map_or(0, format::marks_bytes);
        self.make_room(entries + marks, Claim::Internal).map_err(PersistError::Refused)?;
        if self.active.point.revision != step.base {
            let error = self.fail(io::Error::other("the log does not end where the writer goes on"));
            return Err(PersistError::Refused(error));
        }
        let last = step.records.last().map_or(step.base, |record| record.revision);
        self.write(step.records, last, step.removal.map(|removal| removal.compacted), step.marks)?;
        if let Some(removal) = step.removal {
            self.add_dead(&removal.entries);
        }
        if self.fault.take_if(|_| !step.records.is_empty() && !self.full).is_some() {
            warn!("the store can be written again");
        }
        Ok(())
    }

    fn ended(&self) -> Option<BackendError> {
        self.ended.clone()
    }

    fn tend(&mut self) -> Option<Duration> {
        let mut has_looked = false;
        loop {
            if self.failed.is_some() || self.ended.is_some() {
                return self.next_look();
            }
            let done = self.background.finished().is_none_or(|job| self.finished(job));
            if self.background.is_busy() {
                return Some(limits::REWRITE_POLL);
            }
            if !done || self.rewrite_after.is_some_and(|after| Instant::now() < after) {
                return self.next_look();
            }
            if !self.garbage.is_empty() {
                let garbage = std::mem::take(&mut self.garbage);
                self.background.remove(self.files.storage.clone(), garbage);
            } else if std::mem::take(&mut self.changed)
                && let Some(plan) = self.plan()
            {
                if self.full {
                    // The copy, and the manifest that names it.
                    self.release(plan.live_bytes.saturating_add(self.options.fill()), Claim::Internal);
                }
                let all: u64 = self.sealed.iter().map(|it| it.contents.entry_bytes).sum();
                let dead: u64 = self.sealed.iter().map(|it| it.contents.dead_bytes).sum();
                self.background.rewrite(plan, dead <= all / 2 && !self.full);
            } else if std::mem::replace(&mut has_looked, true) || !self.look_for_space() {
                return self.next_look();
            }
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.background.stop();
        // Everything acknowledged is synced already; this makes the last removals durable. If it fails, they are repeated
        // after the next start.
        if self.ended.is_none() && self.active.synced != self.active.point && self.active.sync().is_ok() {
            self.head.write(&self.active);
        }
    }
}
