//! What the callers on a connection and its driver share: the streams, and the frames that are to be written.
//! Guarantees that no more is sent than the other side has room for, and that whoever waits learns of the end.
//! Must never wait, nor wake anybody while it is locked.

use crate::frames::Arrived;
use crate::http2::{self, CANCEL, FRAME_MAX, WINDOW, flag, kind, setting};
use crate::status::{Code, Status};
use bytes::{Buf, Bytes, BytesMut};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};

/// The state of a connection, and the way to it.
pub struct Shared(Mutex<State>);

impl Shared {
    pub fn new(state: State) -> Shared {
        Shared(Mutex::new(state))
    }

    /// Looks at the state or changes it, then wakes whom that concerns.
    pub fn with<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        let (outcome, driver, callers) = {
            // What a panic would leave is a stream that is not right, and nothing worse.
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let outcome = act(&mut state);
            let has_news = !state.out.is_empty() || state.is_done();
            (outcome, if has_news { state.driver.take() } else { None }, std::mem::take(&mut state.woken))
        };
        callers.into_iter().chain(driver).for_each(Waker::wake);
        outcome
    }
}

pub struct State {
    /// Frames that are to be written.
    pub out: Vec<u8>,
    /// Who writes them, while there is nothing to do.
    pub driver: Option<Waker>,
    /// Who is to be woken when the lock is given back.
    woken: Vec<Waker>,
    streams: BTreeMap<u32, Stream>,
    next: u32,
    /// Who waits until there are fewer streams.
    openers: Vec<Waker>,
    /// Why there are no more calls.
    over: Option<Status>,
    /// Nobody can begin a call any more, but those that are under way go on.
    is_closing: bool,
    /// What may still be sent, on all streams and on a new one.
    window: i64,
    window_initial: i64,
    frame_max: usize,
    streams_max: usize,
    /// What the other side may send on each stream, and what of all streams it was not told to have been taken.
    own_window: u32,
    taken: u32,
    message_max: usize,
}

struct Stream {
    arrived: Arrived,
    has_begun: bool,
    outcome: Option<Result<(), Status>>,
    waker: Option<Waker>,
    /// What does not fit into the window, and whether it is the last.
    outgoing: BytesMut,
    is_last: bool,
    /// Nothing more is to be sent, not even that it is over.
    is_sent: bool,
    window: i64,
    taken: u32,
}

/// The fields of an answer that matter.
#[derive(Default)]
pub struct Answer {
    pub http: Option<u16>,
    pub code: Option<Vec<u8>>,
    pub message: Vec<u8>,
}

impl State {
    /// Of a connection that is about to begin, on which the other side may send so much.
    pub fn new(window: u32, message_max: usize) -> State {
        let mut out = http2::PREFACE.to_vec();
        http2::write_settings(&mut out, &[(setting::ENABLE_PUSH, 0), (setting::INITIAL_WINDOW, window)]);
        if let Some(more @ 1..) = window.checked_sub(WINDOW) {
            http2::write(&mut out, kind::WINDOW_UPDATE, 0, 0, &more.to_be_bytes());
        }
        State {
            out,
            driver: None,
            woken: Vec::new(),
            streams: BTreeMap::new(),
            next: 1,
            openers: Vec::new(),
            over: None,
            is_closing: false,
            window: WINDOW.into(),
            window_initial: WINDOW.into(),
            frame_max: FRAME_MAX,
            streams_max: usize::MAX,
            own_window: window,
            taken: 0,
            message_max,
        }
    }

    /// Whether a call can begin, now or when others have ended.
    pub fn is_usable(&self) -> bool {
        self.over.is_none() && !self.is_closing
    }

    /// Whether nothing is left to be done.
    pub fn is_done(&self) -> bool {
        self.is_closing && self.streams.is_empty()
    }

    /// Begins a stream with a block of header fields.
    pub fn open(&mut self, waker: &Waker, block: &[u8]) -> Poll<Result<u32, Status>> {
        if let Some(over) = &self.over {
            return Poll::Ready(Err(over.clone()));
        }
        if self.is_closing {
            return Poll::Ready(Err(Status::unavailable("the connection is being closed")));
        }
        if self.streams.len() >= self.streams_max {
            self.openers.push(waker.clone());
            return Poll::Pending;
        }
        let id = self.next;
        self.next += 2;
        self.is_closing = self.next > u32::MAX >> 1;
        http2::write(&mut self.out, kind::HEADERS, flag::END_HEADERS, id, block);
        let stream = Stream {
            arrived: Arrived::new(self.message_max),
            has_begun: false,
            outcome: None,
            waker: None,
            outgoing: BytesMut::new(),
            is_last: false,
            is_sent: false,
            window: self.window_initial,
            taken: 0,
        };
        self.streams.insert(id, stream);
        Poll::Ready(Ok(id))
    }

    /// Sends a message as far as there is room, and the rest when there is.
    pub fn send(&mut self, id: u32, message: &[u8], is_last: bool) -> Result<(), Status> {
        let stream = self.streams.get_mut(&id);
        let Some(stream) = stream.filter(|stream| stream.outcome.is_none()) else {
            return Err(Status::unavailable("the call is over"));
        };
        stream.is_last = is_last;
        let mut sender = Sender { out: &mut self.out, window: &mut self.window, frame_max: self.frame_max };
        if stream.outgoing.is_empty() {
            let sent = sender.send(id, stream, message);
            stream.outgoing.extend_from_slice(message.get(sent..).unwrap_or_default());
        } else {
            stream.outgoing.extend_from_slice(message);
        }
        Ok(())
    }

    /// Sends what has been waiting for room.
    fn send_more(&mut self) {
        let mut sender = Sender { out: &mut self.out, window: &mut self.window, frame_max: self.frame_max };
        for (id, stream) in &mut self.streams {
            if !stream.outgoing.is_empty() {
                let outgoing = std::mem::take(&mut stream.outgoing);
                let sent = sender.send(*id, stream, &outgoing);
                stream.outgoing = outgoing;
                stream.outgoing.advance(sent);
            }
        }
    }

    /// Whether the answer of a stream has begun, or how it ended instead.
    pub fn poll_begun(&mut self, id: u32, waker: &Waker) -> Poll<Result<(), Status>> {
        let Some(stream) = self.streams.get_mut(&id) else { return Poll::Ready(Err(Status::malformed())) };
        match &stream.outcome {
            Some(Err(status)) if stream.arrived.is_empty() => Poll::Ready(Err(status.clone())),
            None if !stream.has_begun => {
                stream.waker = Some(waker.clone());
                Poll::Pending
            }
            _ => Poll::Ready(Ok(())),
        }
    }

    /// The next message of a stream; `None` at its end.
    pub fn poll_message(&mut self, id: u32, waker: &Waker) -> Poll<Result<Option<Bytes>, Status>> {
        let Some(stream) = self.streams.get_mut(&id) else { return Poll::Ready(Ok(None)) };
        match (stream.arrived.take(), &stream.outcome) {
            (Ok(None), None) => {}
            (Ok(None), Some(Ok(()))) if !stream.arrived.is_empty() => return Poll::Ready(Err(Status::malformed())),
            (Ok(None), Some(outcome)) => return Poll::Ready(outcome.clone().map(|()| None)),
            (message, _) => return Poll::Ready(message),
        }
        // Only who waits for more makes room for it.
        if stream.taken >= self.own_window / 2 {
            let taken = std::mem::take(&mut stream.taken);
            http2::write(&mut self.out, kind::WINDOW_UPDATE, 0, id, &taken.to_be_bytes());
        }
        stream.waker = Some(waker.clone());
        Poll::Pending
    }

    /// Nobody waits for the stream any more.
    pub fn close(&mut self, id: u32) {
        let Some(stream) = self.streams.remove(&id) else { return };
        if self.over.is_none() && !(stream.is_sent && stream.outcome.is_some()) {
            http2::write(&mut self.out, kind::RESET, 0, id, &CANCEL.to_be_bytes());
        }
        self.woken.extend(self.openers.pop());
    }

    /// No more calls begin here.
    pub fn leave(&mut self) {
        self.is_closing = true;
    }

    /// The connection has ended, and all that is on it.
    pub fn end(&mut self, why: &Status) {
        self.over.get_or_insert_with(|| why.clone());
        self.out = Vec::new();
        self.woken.append(&mut self.openers);
        self.fail(0, why);
    }

    /// Streams after one have ended.
    fn fail(&mut self, last: u32, why: &Status) {
        for stream in self.streams.range_mut(last + 1..).map(|(_, stream)| stream) {
            stream.finish(&mut self.woken, Err(why.clone()));
        }
    }

    /// Bytes of a stream have come, in a frame of some length.
    pub fn data(&mut self, id: u32, length: usize, bytes: &[u8], is_end: bool) {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        self.taken = self.taken.saturating_add(length);
        if self.taken >= self.own_window / 2 {
            let taken = std::mem::take(&mut self.taken);
            http2::write(&mut self.out, kind::WINDOW_UPDATE, 0, 0, &taken.to_be_bytes());
        }
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.taken = stream.taken.saturating_add(length);
        stream.arrived.push(Bytes::copy_from_slice(bytes));
        self.woken.extend(stream.waker.take());
        if is_end {
            stream.finish(&mut self.woken, Err(without_status()));
        }
    }

    /// The head of an answer has come, or what stands behind it.
    pub fn answer(&mut self, id: u32, answer: &Answer, is_end: bool) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let told = answer.code.as_ref().map(|code| Status::told(code, &answer.message));
        let outcome = match (stream.has_begun, answer.http) {
            (false, Some(100..200)) => return,
            (false, Some(200)) | (true, _) => told,
            (false, other) => Some(Err(Status::of_http(other.unwrap_or(0)))),
        };
        stream.has_begun = true;
        self.woken.extend(stream.waker.take());
        match outcome {
            Some(outcome) if is_end || outcome.is_err() => stream.finish(&mut self.woken, outcome),
            _ if is_end => stream.finish(&mut self.woken, Err(without_status())),
            _ => {}
        }
    }

    /// The other side ended a stream before its time.
    pub fn reset(&mut self, id: u32, code: u32) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.is_sent = true;
            stream.finish(&mut self.woken, Err(Status::unavailable(format_args!("the stream was reset: {code}"))));
        }
    }

    /// The other side takes no streams after one.
    pub fn go_away(&mut self, last: u32, code: u32) {
        self.is_closing = true;
        self.fail(last, &Status::unavailable(format_args!("the other side goes away: {code}")));
        self.woken.append(&mut self.openers);
    }

    /// The other side has room for more, on one stream or on all together.
    pub fn room(&mut self, id: u32, more: u32) {
        match self.streams.get_mut(&id) {
            Some(stream) => stream.window += i64::from(more),
            None if id == 0 => self.window += i64::from(more),
            None => return,
        }
        self.send_more();
    }

    /// What the other side wants.
    pub fn set(&mut self, settings: impl Iterator<Item = (u16, u32)>) {
        for (name, value) in settings {
            match name {
                setting::STREAMS_MAX => self.streams_max = value as usize,
                setting::FRAME_MAX => self.frame_max = FRAME_MAX.max(value as usize),
                setting::INITIAL_WINDOW => {
                    let more = i64::from(value) - self.window_initial;
                    self.window_initial += more;
                    self.streams.values_mut().for_each(|stream| stream.window += more);
                }
                _ => {}
            }
        }
        http2::write(&mut self.out, kind::SETTINGS, flag::ACK, 0, &[]);
        self.woken.append(&mut self.openers);
        self.send_more();
    }
}

fn without_status() -> Status {
    Status::new(Code::Internal, "the call ended without a status")
}

impl Stream {
    fn finish(&mut self, woken: &mut Vec<Waker>, outcome: Result<(), Status>) {
        self.outcome.get_or_insert(outcome);
        self.outgoing = BytesMut::new();
        woken.extend(self.waker.take());
    }
}

/// What sending takes, of the whole connection.
struct Sender<'a> {
    out: &'a mut Vec<u8>,
    window: &'a mut i64,
    frame_max: usize,
}

impl Sender<'_> {
    /// Sends as much of a message as there is room for; how much that is.
    fn send(&mut self, id: u32, stream: &mut Stream, message: &[u8]) -> usize {
        let mut sent = 0;
        while let Some(rest) = message.get(sent..).filter(|rest| !rest.is_empty()) {
            let room = usize::try_from((*self.window).min(stream.window)).unwrap_or(0);
            let Some(piece) = rest.get(..rest.len().min(room).min(self.frame_max)).filter(|piece| !piece.is_empty())
            else {
                break;
            };
            sent += piece.len();
            *self.window -= piece.len() as i64;
            stream.window -= piece.len() as i64;
            stream.is_sent = stream.is_last && sent == message.len();
            http2::write(self.out, kind::DATA, if stream.is_sent { flag::END_STREAM } else { 0 }, id, piece);
        }
        sent
    }
}
