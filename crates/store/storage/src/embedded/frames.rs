//! Reads a segment frame by frame, and distinguishes a torn end from damage.
//! Guarantees that each frame returned is the one that was written at that offset after the one before it.
//! Must never read more into memory than a window or one frame, whatever lengths a damaged file contains.

use std::io;
use std::sync::Arc;

use super::format::{
    self, FRAME_HEADER, FRAME_MAGIC, FRAME_TRAILER, FrameHeader, Payload, Point, SEGMENT_HEADER, SegmentId, SegmentInfo,
};
use crate::files::StorageFile;

/// The size of a read.
const WINDOW: usize = 256 * 1024;

/// Reads a segment from its beginning.
pub(crate) struct FrameReader {
    file: Arc<dyn StorageFile>,
    segment: SegmentId,
    /// The number of bytes of the file that belong to the segment.
    limit: u64,
    point: Point,
    window: Vec<u8>,
    window_at: u64,
}

/// The content at a position of a segment.
pub(crate) enum Next<'a> {
    Frame(Frame<'a>),
    /// The end of the segment.
    End,
    /// No valid frame, with the reason.
    Invalid(&'static str),
}

/// A frame with a valid checksum. Borrows from the reader's window.
pub(crate) struct Frame<'a> {
    pub at: u64,
    pub header: FrameHeader,
    pub payload: &'a [u8],
}

impl Frame<'_> {
    /// The fields before the entries.
    pub fn head(&self) -> Result<Payload, &'static str> {
        Payload::decode(self.payload).ok_or("a frame has no valid payload")
    }
}

impl FrameReader {
    /// Begins to read a segment, up to its end or, without one, to the end of its file. Returns an error if its
    /// header is not that of the segment.
    pub fn new(
        file: Arc<dyn StorageFile>,
        segment: SegmentId,
        info: SegmentInfo,
    ) -> io::Result<Result<FrameReader, &'static str>> {
        let length = file.len()?;
        let limit = info.end.map_or(length, |end| end.offset);
        let mut reader = FrameReader {
            file,
            segment,
            limit: limit.min(length),
            point: Point { offset: SEGMENT_HEADER as u64, checksum: 0, revision: info.base },
            window: Vec::new(),
            window_at: 0,
        };
        let header = reader.bytes(0, SEGMENT_HEADER)?;
        Ok(format::check_segment_header(header, segment, info.base).map(|checksum| {
            reader.point.checksum = checksum;
            reader
        }))
    }

    /// The offset of the next frame.
    pub fn point(&self) -> Point {
        self.point
    }

    /// The bytes from `offset` on; fewer than requested only at the end of the segment.
    fn bytes(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let length = length.min(usize::try_from(self.limit.saturating_sub(offset)).unwrap_or(usize::MAX));
        let inside = offset.checked_sub(self.window_at).and_then(|at| usize::try_from(at).ok());
        let known = inside.filter(|at| at.checked_add(length).is_some_and(|end| end <= self.window.len()));
        let at = match known {
            Some(at) => at,
            None => {
                let wanted = (length.max(WINDOW) as u64).min(self.limit.saturating_sub(offset)) as usize;
                if self.window.capacity() > 2 * WINDOW.max(wanted) {
                    self.window = Vec::new();
                }
                self.window.resize(wanted, 0);
                let read = self.file.read_at(&mut self.window, offset)?;
                self.window.truncate(read);
                self.window_at = offset;
                0
            }
        };
        Ok(self.window.get(at..).map_or(&[], |rest| rest.get(..length).unwrap_or(rest)))
    }

    /// The next frame. After an invalid one the result stays the same.
    pub fn next(&mut self) -> io::Result<Next<'_>> {
        let Point { offset, checksum, revision } = self.point;
        if offset >= self.limit {
            return Ok(Next::End);
        }
        let segment = self.segment;
        let header = FrameHeader::decode(self.bytes(offset, FRAME_HEADER)?, segment, offset);
        let Some(header) = header else { return Ok(Next::Invalid("no frame begins here")) };
        if header.frame_bytes() > self.limit - offset {
            return Ok(Next::Invalid("the file ends in the middle of a frame"));
        }
        let length = header.frame_bytes() as usize;
        let frame = self.bytes(offset, length)?;
        let Some(end) = format::check_frame(frame, checksum).filter(|_| frame.len() == length) else {
            return Ok(Next::Invalid("the checksum of a frame does not match"));
        };
        if header.previous != revision || header.last < header.previous {
            return Ok(Next::Invalid("a frame does not begin at the revision where the one before ends"));
        }
        self.point = Point { offset: offset + length as u64, checksum: end, revision: header.last };
        // The window contains the bytes just read.
        let frame = self.bytes(offset, length)?;
        let payload = frame.get(FRAME_HEADER..length - FRAME_TRAILER).unwrap_or_default();
        Ok(Next::Frame(Frame { at: offset, header, payload }))
    }

    /// Whether this position is followed by zeros only, written ahead.
    pub fn ends_in_zeros(&mut self) -> io::Result<bool> {
        let mut at = self.point.offset;
        while at < self.limit {
            let window = self.bytes(at, WINDOW)?;
            if window.is_empty() || window.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            at += window.len() as u64;
        }
        Ok(true)
    }

    /// Whether a later frame records that the file was synced beyond this position: then the invalid data here was
    /// valid once.
    pub fn was_synced_here(&mut self) -> io::Result<bool> {
        let torn = self.point.offset;
        let mut at = torn + 1;
        while at + (FRAME_HEADER as u64) <= self.limit {
            let segment = self.segment;
            let window = self.bytes(at, WINDOW)?;
            let last = window.len().saturating_sub(FRAME_HEADER);
            let starts = window.windows(FRAME_MAGIC.len()).take(last + 1).enumerate();
            for (place, _) in starts.filter(|(_, bytes)| *bytes == FRAME_MAGIC) {
                let header =
                    window.get(place..).and_then(|bytes| FrameHeader::decode(bytes, segment, at + place as u64));
                if header.is_some_and(|header| header.synced > torn) {
                    return Ok(true);
                }
            }
            at += last as u64 + 1;
        }
        Ok(false)
    }
}
