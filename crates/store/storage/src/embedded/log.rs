//! The log under the embedded store: appends steps, begins new segments, and maintains the manifest and the head.
//! Guarantees that a step is one write and one sync, and that nothing is appended to a file after a failed write or
//! sync. Must never decide anything about keys or revisions: the committer does.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::warn;

use super::active::{Active, HeadFile};
use super::background::{Background, Job};
use super::format::{self, HEAD, LOG, MANIFEST, Manifest, Point, SegmentInfo, StoreId};
use super::frames::Next;
use super::recovery::{self, Files, Scan};
use super::rewrite::{self, Contents, DeadEntry, Plan, RewriteError, Rewritten, Sealed};
use crate::api::{Observer, Record, Revision, StoreError};
use crate::committer::{Backend, BackendError, Replayed, Step};
use crate::files::{self, Storage};
use crate::key_index::Dead;
use crate::limits;
use crate::retention::Mark;

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
    fn fill(&self) -> u64 {
        self.segment_bytes / limits::FILL_PART
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
    pub fn replay(self, observer: &mut dyn Observer) -> Result<(Replayed, Log), StoreError> {
        let scan = recovery::scan(&self.files, &self.manifest)?;
        recovery::pass_on(&self.files, &self.manifest, &scan, observer)?;
        let path = self.files.log.clone();
        let (scan, log) = self.resume(scan).map_err(|error| StoreError::Io { path, error })?;
        Ok((Replayed { key_index: scan.key_index, marks: scan.marks }, log))
    }

    /// Prepares writing at the end of the log. Data that is not known to be synced is copied to a new segment,
    /// because readable data is not necessarily on the disk.
    fn resume(self, scan: Scan) -> io::Result<(Scan, Log)> {
        let OpenLog { files, options, mut manifest } = self;
        let next = recovery::next_number(&files, &manifest)?;
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
            fill: options.fill(),
        };
        let head = HeadFile::open(&files, scan.head_sequence)?;
        let keep: HashSet<u64> = sealed.iter().map(|it| it.info.number).chain([last.number]).collect();
        let mut log = Log {
            files,
            options,
            sealed: Vec::new(),
            active,
            next,
            compacted: scan.key_index.compacted(),
            marks: scan.marks.clone(),
            head,
            failed: None,
            fault: None,
            garbage: Vec::new(),
            background: Background::new(options.background),
            changed: true,
            rewrite_after: None,
            buffer: Vec::new(),
        };
        std::mem::swap(&mut log.sealed, &mut sealed);
        if !clean {
            log.copy_tail(last, scan.end)?;
        }
        log.add_dead(&scan.dead);
        log.sweep(&keep)?;
        Ok((scan, log))
    }
}

/// A log open for writing.
pub(crate) struct Log {
    files: Files,
    options: LogOptions,
    /// In the order of revisions.
    sealed: Vec<Sealed>,
    active: Active,
    /// The number of the next segment. A number is never reused.
    next: u64,
    compacted: Revision,
    marks: Vec<Mark>,
    head: HeadFile,
    /// The time and reason of a failed write or sync.
    failed: Option<(Instant, BackendError)>,
    /// The reported reason why nothing could be written since the last write.
    fault: Option<String>,
    /// Files that no manifest names any more.
    garbage: Vec<PathBuf>,
    background: Background,
    /// Whether there may be a segment to rewrite.
    changed: bool,
    rewrite_after: Option<Instant>,
    buffer: Vec<u8>,
}

/// Creates an empty log in the directory `log`, which is cleared, with history beginning after `base`.
pub(crate) fn create(storage: &Arc<dyn Storage>, log: &Path, base: Revision) -> io::Result<()> {
    if storage.exists(log)? {
        storage.remove_dir(log)?;
    }
    make_dir(storage.as_ref(), log)?;
    let files = Files { storage: storage.clone(), log: log.to_owned(), store: new_id() };
    let first = SegmentInfo { number: 1, base, end: None };
    let active = Active::create(&files, first, 0)?;
    storage.sync_dir(log)?;
    HeadFile::create(&files, &active)?;
    let manifest = Manifest { store: files.store, next: 2, compacted: base, marks: Vec::new(), segments: vec![first] };
    files::replace(storage.as_ref(), &log.join(MANIFEST), &manifest.encode())
}

/// Sixteen bytes that no other store has. The standard library seeds its hashers with the system's randomness.
fn new_id() -> StoreId {
    let mut id = [0; 16];
    for half in id.chunks_exact_mut(8) {
        half.copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
    }
    id
}

/// Creates a directory and its missing parents, and makes their names durable.
pub(crate) fn make_dir(storage: &dyn Storage, path: &Path) -> io::Result<()> {
    let mut missing = Vec::new();
    let mut above = Some(path);
    while let Some(directory) = above.filter(|directory| !directory.as_os_str().is_empty()) {
        if storage.exists(directory)? {
            break;
        }
        missing.push(directory);
        above = directory.parent();
    }
    storage.create_dir(path)?;
    for directory in missing {
        let parent = directory.parent().map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it });
        match parent.map_or(Ok(()), |parent| storage.sync_dir(parent)) {
            // A parent directory that can be traversed but not read was not created here.
            Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

impl Log {
    /// Opens the log under `directory` without verification, directly after it was created.
    pub fn open_new(storage: &Arc<dyn Storage>, log: PathBuf, options: LogOptions) -> Result<Log, StoreError> {
        Ok(OpenLog::open(storage.clone(), log, options)?.replay(&mut super::NullObserver)?.1)
    }

    /// Appends a step that may skip revisions which are not above the compaction revision.
    pub fn append(
        &mut self,
        records: &[Record],
        last: Revision,
        compacted: Option<Revision>,
        marks: Option<&[Mark]>,
    ) -> Result<(), BackendError> {
        self.ready()?;
        let sync = !records.is_empty();
        let written = self.active.append(&mut self.buffer, records, last, compacted, marks, sync);
        if self.buffer.capacity() > limits::BUFFER_BYTES {
            self.buffer = Vec::new();
        }
        written.map_err(|error| self.fail(error))?;
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
            self.active.sync().map_err(|error| self.fail(error))?;
            self.head.write(&self.active);
        }
        Ok(())
    }

    /// Ensures that the last segment can be appended to: it has not failed and is not full.
    fn ready(&mut self) -> Result<(), BackendError> {
        if let Some((since, error)) = &self.failed {
            if since.elapsed() < self.options.retry_after {
                return Err(error.clone());
            }
            return self.roll(self.active.synced).map_err(|error| self.fail(error));
        }
        if self.active.point.offset >= self.options.segment_bytes {
            self.sync()?;
            return self.roll(self.active.point).map_err(|error| self.fail(error));
        }
        Ok(())
    }

    /// Begins a new segment. The previous one ends at `end`; data after that was never acknowledged.
    fn roll(&mut self, end: Point) -> io::Result<()> {
        let info = SegmentInfo { number: self.take_number(), base: end.revision, end: None };
        let active = Active::create(&self.files, info, self.options.fill())?;
        self.files.storage.sync_dir(&self.files.log)?;
        self.switch(active, end)
    }

    /// Makes `active` the last segment, after the previous one, which ends at `end`.
    fn switch(&mut self, active: Active, end: Point) -> io::Result<()> {
        let before = SegmentInfo { end: Some(end), ..self.active.info };
        let sealed = self.sealed.iter().map(|it| it.info).chain([before, active.info]);
        self.write_manifest(sealed.collect())?;
        let before = std::mem::replace(&mut self.active, active);
        let info = SegmentInfo { end: Some(end), ..before.info };
        self.sealed.push(Sealed { info, end, contents: before.contents, damaged: false });
        self.head.write(&self.active);
        self.failed = None;
        self.changed = true;
        Ok(())
    }

    fn take_number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    fn write_manifest(&self, segments: Vec<SegmentInfo>) -> io::Result<()> {
        let manifest = Manifest {
            store: self.files.store,
            next: self.next,
            compacted: self.compacted,
            marks: self.marks.clone(),
            segments,
        };
        files::replace(self.files.storage.as_ref(), &self.files.log.join(MANIFEST), &manifest.encode())
    }

    /// Copies the complete frames beyond the synced offset to a new segment, which becomes the last one.
    fn copy_tail(&mut self, last: SegmentInfo, end: Point) -> io::Result<()> {
        let durable = self.active.point;
        let info = SegmentInfo { number: self.take_number(), base: durable.revision, end: None };
        let mut active = Active::create(&self.files, info, self.options.fill())?;
        let corrupt = |_| io::Error::other("the log has changed while it was opened");
        let mut reader = self.files.read(last).map_err(corrupt)?;
        while reader.point().offset < end.offset {
            let Next::Frame(frame) = reader.next()? else { return Err(corrupt(StoreError::AlreadyStarted)) };
            if frame.at >= durable.offset {
                active.copy(&mut self.buffer, &frame)?;
            }
        }
        active.sync()?;
        self.files.storage.sync_dir(&self.files.log)?;
        // The exact distribution of the entries over the two is unknown; only the share of dead ones matters.
        active.contents.entry_bytes = self.active.contents.entry_bytes;
        self.switch(active, durable)
    }

    /// Reports a failure once: nothing is written to this segment any more.
    fn fail(&mut self, error: io::Error) -> BackendError {
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

    /// Removes the files of an earlier run that no manifest names.
    fn sweep(&mut self, keep: &HashSet<u64>) -> io::Result<()> {
        for name in self.files.storage.list(&self.files.log)? {
            let number = format::segment_number(&name);
            let known = number.is_none_or(|number| keep.contains(&number) || number == self.active.info.number);
            if !known {
                self.garbage.push(self.files.log.join(name));
            }
        }
        Ok(())
    }

    /// Finds segments to rewrite.
    fn plan(&mut self) -> Option<Plan> {
        let run = rewrite::choose(&self.sealed, self.options.segment_bytes)?;
        let below = self.sealed.get(..run.start).unwrap_or_default().iter().flat_map(|it| &it.contents.dead);
        let below = below.map(|dead| dead.key).filter(|key| !key.is_tombstone()).collect();
        let number = self.take_number();
        let mut dead = Vec::new();
        let (mut infos, mut dead_bytes) = (Vec::new(), Vec::new());
        for sealed in self.sealed.get_mut(run).unwrap_or_default() {
            // Entries that die from here on are collected for the segment that is written now.
            dead.append(&mut sealed.contents.dead);
            dead_bytes.push(std::mem::take(&mut sealed.contents.dead_bytes));
            infos.push(sealed.info);
        }
        dead.sort_unstable_by_key(|dead: &DeadEntry| (dead.revision, dead.ordinal));
        Some(Plan { files: self.files.clone(), run: infos, number, dead, dead_bytes, below })
    }

    /// Installs a rewritten segment in place of its sources.
    fn install(&mut self, plan: &Plan, rewritten: Rewritten) -> io::Result<()> {
        let (Some(first), count) = (plan.run.first(), plan.run.len()) else { return Ok(()) };
        let at = self.sealed.iter().position(|it| it.info.number == first.number).ok_or(io::ErrorKind::NotFound)?;
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

    /// Completes a job.
    fn finished(&mut self, job: Job) {
        let Job::Rewrite(plan, outcome) = job else { return };
        let outcome = outcome.and_then(|rewritten| self.install(&plan, rewritten).map_err(RewriteError::Io));
        self.changed = true;
        let Err(error) = outcome else { return };
        // If the manifest could not be written, the one on disk is unknown, so the new file stays until the next
        // start.
        for (info, dead_bytes) in plan.run.iter().zip(&plan.dead_bytes) {
            let Some(sealed) = self.sealed.iter_mut().find(|it| it.info.number == info.number) else { continue };
            let range = info.base..sealed.end.revision;
            let own = plan.dead.iter().filter(|dead| dead.revision > range.start && dead.revision <= range.end);
            sealed.contents.dead.extend(own);
            sealed.contents.dead_bytes += dead_bytes;
            sealed.damaged |= matches!(error, RewriteError::Source(_));
        }
        match error {
            RewriteError::Stopped => {}
            RewriteError::Source(error) => warn!(err = %error, "space cannot be given back"),
            RewriteError::Io(error) => {
                warn!(err = %error, "space cannot be given back for now");
                self.rewrite_after = Instant::now().checked_add(self.options.retry_after * 10);
            }
        }
    }
}

impl Backend for Log {
    fn persist(&mut self, step: &Step<'_>) -> Result<(), BackendError> {
        self.ready()?;
        if self.active.point.revision != step.base {
            return Err(self.fail(io::Error::other("the log does not end where the writer goes on")));
        }
        let last = step.records.last().map_or(step.base, |record| record.revision);
        self.append(step.records, last, step.removal.map(|removal| removal.compacted), step.marks)?;
        if let Some(removal) = step.removal {
            self.add_dead(&removal.entries);
        }
        if self.fault.take_if(|_| !step.records.is_empty()).is_some() {
            warn!("the store can be written again");
        }
        Ok(())
    }

    fn tend(&mut self) -> Option<Duration> {
        loop {
            if self.failed.is_some() {
                return None;
            }
            if let Some(job) = self.background.finished() {
                self.finished(job);
            }
            if self.background.is_busy() {
                return Some(limits::REWRITE_POLL);
            }
            if self.rewrite_after.is_some_and(|after| Instant::now() < after) {
                return None;
            }
            if !self.garbage.is_empty() {
                let garbage = std::mem::take(&mut self.garbage);
                self.background.remove(self.files.storage.clone(), garbage);
            } else if std::mem::take(&mut self.changed)
                && let Some(plan) = self.plan()
            {
                let all: u64 = self.sealed.iter().map(|it| it.contents.entry_bytes).sum();
                let dead: u64 = self.sealed.iter().map(|it| it.contents.dead_bytes).sum();
                self.background.rewrite(plan, dead <= all / 2);
            } else {
                return None;
            }
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.background.stop();
        if self.failed.is_none() {
            // Everything acknowledged is synced already; this makes the last removals durable. If it fails, they are
            // repeated after the next start.
            let _ = self.sync();
        }
    }
}

/// The directory of a store's log.
pub(crate) fn directory(store: &Path) -> PathBuf {
    store.join(LOG)
}

/// Whether a directory contains a log, that is, a manifest.
pub(crate) fn exists(storage: &dyn Storage, log: &Path) -> io::Result<bool> {
    storage.exists(&log.join(MANIFEST))
}

/// The name of the head file.
pub(super) fn head_path(files: &Files) -> PathBuf {
    files.log.join(HEAD)
}
