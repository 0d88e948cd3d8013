//! The segment that is being written, and the head file, which records how far it is synced.
//! Guarantees one write per frame, over zeros that are there already, so that a frame is not written for which there is no
//! space; and that the head never records more than was synced.
//! Must never be used again after a frame or a sync has failed: the log begins a new segment then.

use std::io;
use std::sync::Arc;

use super::format::{
    self, FRAME_HEADER, FrameHeader, FrameWriter, HEAD_BYTES, HEAD_SLOTS, Head, Point, SEGMENT_HEADER, SegmentId,
    SegmentInfo, StoreId,
};
use super::frames::Frame;
use super::layout;
use super::recovery::Files;
use super::rewrite::Contents;
use crate::api::{Record, Revision};
use crate::committer::positions;
use crate::files::StorageFile;
use crate::retention::Mark;

/// The last segment of a log.
pub(crate) struct Active {
    pub file: Arc<dyn StorageFile>,
    pub info: SegmentInfo,
    pub segment: SegmentId,
    /// The offset of the next frame.
    pub point: Point,
    /// The offset up to which everything is durable.
    pub synced: Point,
    pub contents: Contents,
    /// The end of the zeros after the last frame, up to which frames are written.
    pub allocated: u64,
}

impl Active {
    /// Makes a new segment. Its name is not durable yet.
    pub fn create(files: &Files, info: SegmentInfo) -> io::Result<Active> {
        let segment = files.segment(info.number);
        let file = files.storage.create(&files.path(info.number))?;
        let (header, checksum) = format::encode_segment_header(segment, info.base);
        file.write_at(&header, 0)?;
        file.sync()?;
        let point = Point { offset: SEGMENT_HEADER as u64, checksum, revision: info.base };
        Ok(Active { file, info, segment, point, synced: point, contents: Contents::default(), allocated: point.offset })
    }

    /// Writes zeros up to `end`, for the frames to come. A sync that extends a file waits for the file system's journal;
    /// one that overwrites zeros does not. A failure changes nothing that matters: zeros after the last frame mean nothing.
    pub fn allocate(&mut self, end: u64) -> io::Result<()> {
        let from = self.allocated.max(self.point.offset);
        let bytes = end.saturating_sub(from);
        if bytes > 0 {
            let written = self.file.write_at(&vec![0; bytes as usize], from);
            if written.is_err() {
                // Gives back what was allocated in part.
                let _ = self.file.set_len(from);
            }
            written?;
        }
        self.allocated = self.allocated.max(end);
        Ok(())
    }

    /// Appends a frame in space that [was allocated](Active::allocate). Budget: one copy, one system call, and one more for
    /// the sync.
    pub fn append(
        &mut self,
        buffer: &mut Vec<u8>,
        records: &[Record],
        last: Revision,
        compacted: Option<Revision>,
        marks: Option<&[Mark]>,
        sync: bool,
    ) -> io::Result<()> {
        let mut frame = FrameWriter::new(buffer, self.point.revision, compacted, marks);
        let mut entry_bytes = 0;
        for (position, record) in positions(records) {
            frame.entry(position, &record.key, record.value.as_deref());
            entry_bytes += u64::from(position.bytes);
        }
        let Point { offset, checksum, .. } = self.point;
        let (bytes, checksum) = frame.finish(self.segment, offset, last, self.synced.offset, checksum);
        let end = offset + bytes.len() as u64;
        self.file.write_at(bytes, offset)?;
        self.allocated = self.allocated.max(end);
        self.point = Point { offset: end, checksum, revision: last };
        self.contents.entry_bytes += entry_bytes;
        if sync { self.sync() } else { Ok(()) }
    }

    /// Appends the entries of a frame of another segment.
    pub fn copy(&mut self, buffer: &mut Vec<u8>, frame: &Frame<'_>) -> io::Result<()> {
        buffer.clear();
        buffer.extend_from_slice(&[0; FRAME_HEADER]);
        buffer.extend_from_slice(frame.payload);
        let Point { offset, checksum, .. } = self.point;
        let header = FrameHeader { synced: self.synced.offset, ..frame.header };
        let checksum = format::seal_frame(buffer, header, self.segment, offset, checksum);
        self.file.write_at(buffer, offset)?;
        self.point = Point { offset: offset + buffer.len() as u64, checksum, revision: header.last };
        self.allocated = self.allocated.max(self.point.offset);
        Ok(())
    }

    pub fn sync(&mut self) -> io::Result<()> {
        self.file.sync()?;
        self.synced = self.point;
        Ok(())
    }
}

/// The file with two slots that are written alternately.
pub(crate) struct HeadFile {
    /// `None` while no file can be written.
    file: Option<Arc<dyn StorageFile>>,
    store: StoreId,
    sequence: u64,
}

impl HeadFile {
    /// Creates the head of a new log.
    pub fn create(files: &Files, active: &Active) -> io::Result<HeadFile> {
        let file = files.storage.create(&layout::head_path(files))?;
        file.write_at(&[0; HEAD_BYTES], 0)?;
        let mut head = HeadFile { file: Some(file.clone()), store: files.store, sequence: 0 };
        head.write(active);
        file.sync()?;
        Ok(head)
    }

    /// Opens the head of a log, whose newest slot has this sequence; creates it if it is missing.
    pub fn open(files: &Files, sequence: u64) -> io::Result<HeadFile> {
        let path = layout::head_path(files);
        let file = match files.storage.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => files.storage.create(&path)?,
            other => other?,
        };
        Ok(HeadFile { file: Some(file), store: files.store, sequence })
    }

    /// Records how far the last segment is synced. It is not synced itself, so that it costs only a copy into the
    /// page cache. A failure is ignored, because the head may record less than is synced, and the write is durable.
    pub fn write(&mut self, active: &Active) {
        let sequence = self.sequence + 1;
        let synced = active.synced;
        let head = Head { sequence, segment: active.info.number, offset: synced.offset, revision: synced.revision };
        let slot = HEAD_SLOTS[(sequence % 2) as usize];
        if let Some(file) = &self.file
            && file.write_at(&head.encode(self.store), slot).is_ok()
        {
            self.sequence = sequence;
        }
    }
}
