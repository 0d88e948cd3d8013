//! `Driver`: reads what comes on a connection and writes what is to go out.
//! Guarantees that it ends with the connection, with the last who could call, and when the other side falls silent.
//! Must never keep anybody waiting who could be answered.

use crate::hpack::Table;
use crate::http2::{self, FRAME_MAX, HEAD, Head, flag, kind};
use crate::state::{Answer, Shared, State};
use crate::status::Status;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// How long a ping may go unanswered. Servers in Go send one with the first message that comes after the last was answered,
/// to learn how much may be under way: to a lone call that is a packet to wake up for, and another to send. A late answer
/// goes out with something else; own pings see to it that there is something.
const PING_PATIENCE: Duration = Duration::from_secs(1);

/// Bytes that are read at once: two frames.
const READ: usize = 2 * (HEAD + FRAME_MAX);
/// Bytes of header fields at most.
const FIELDS_MAX: usize = 1 << 16;

pub struct Driver<T> {
    stream: T,
    shared: Arc<Shared>,
    /// What has come, from one place to another.
    read: Box<[u8]>,
    from: usize,
    to: usize,
    frames: Frames,
    writing: Vec<u8>,
    written: usize,
    alive: Option<KeepAlive>,
}

/// What is remembered from frame to frame.
#[derive(Default)]
struct Frames {
    table: Table,
    /// Header fields that go on in the next frame.
    block: Option<(Head, Vec<u8>)>,
    /// A ping that is answered later.
    held: Option<([u8; 8], Instant)>,
    may_hold: bool,
    is_answered: bool,
}

struct KeepAlive {
    timer: Pin<Box<Sleep>>,
    every: Duration,
    patience: Duration,
    has_asked: bool,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Driver<T> {
    pub fn new(stream: T, shared: Arc<Shared>, keep_alive: Option<(Duration, Duration)>) -> Driver<T> {
        let alive = keep_alive.map(|(every, patience)| {
            let timer = Box::pin(sleep(every));
            KeepAlive { timer, every, patience, has_asked: false }
        });
        let frames = Frames { may_hold: alive.is_some(), ..Frames::default() };
        let read = vec![0; READ].into_boxed_slice();
        Driver { stream, shared, read, from: 0, to: 0, frames, writing: Vec::new(), written: 0, alive }
    }

    /// Goes on as far as it goes; why it ended, in the end.
    fn run(&mut self, context: &mut Context<'_>) -> Poll<Status> {
        loop {
            while let Poll::Ready(read) = self.poll_read(context) {
                if let Err(why) = read {
                    return Poll::Ready(why);
                }
            }
            if let Some(why) = self.keep_alive(context) {
                return Poll::Ready(why);
            }
            if let Err(error) = ready!(self.poll_write(context)) {
                return Poll::Ready(Status::unavailable(error));
            }
            let is_at_rest = self.shared.with(|state| {
                if state.is_done() {
                    return Err(Status::unavailable("the connection is closed"));
                }
                let is_at_rest = state.out.is_empty();
                state.driver = is_at_rest.then(|| context.waker().clone());
                Ok(is_at_rest)
            });
            match is_at_rest {
                Ok(true) => return Poll::Pending,
                Ok(false) => {}
                Err(why) => return Poll::Ready(why),
            }
        }
    }

    /// Takes in what has come.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Status>> {
        self.read.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        let mut room = ReadBuf::new(self.read.get_mut(self.to..).unwrap_or_default());
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, &mut room));
        let come = room.filled().len();
        read.map_err(Status::unavailable)?;
        if come == 0 {
            return Poll::Ready(Err(Status::unavailable("the connection was closed")));
        }
        self.to += come;
        let Driver { read, from, to, frames, shared, .. } = self;
        Poll::Ready(shared.with(|state| {
            while let Some(bytes) = read.get(*from..*to)
                && let Some(head) = Head::read(bytes)
            {
                if head.length > FRAME_MAX {
                    return Err(broken("a frame is too long"));
                }
                let Some(content) = bytes.get(HEAD..HEAD + head.length) else { break };
                frames.take(state, head, content)?;
                *from += HEAD + head.length;
            }
            Ok(())
        }))
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        loop {
            while let Some(rest) = self.writing.get(self.written..).filter(|rest| !rest.is_empty()) {
                match ready!(Pin::new(&mut self.stream).poll_write(context, rest))? {
                    0 => return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into())),
                    written => self.written += written,
                }
            }
            self.writing.clear();
            self.written = 0;
            let (writing, frames) = (&mut self.writing, &mut self.frames);
            self.shared.with(|state| {
                frames.answer_late(state);
                std::mem::swap(writing, &mut state.out);
            });
            if self.writing.is_empty() {
                return Pin::new(&mut self.stream).poll_flush(context);
            }
        }
    }

    /// Asks now and then whether the other side is there; why not, when it does not say.
    fn keep_alive(&mut self, context: &mut Context<'_>) -> Option<Status> {
        let alive = self.alive.as_mut()?;
        if std::mem::take(&mut self.frames.is_answered) && alive.has_asked {
            alive.has_asked = false;
            alive.timer.as_mut().reset(Instant::now() + alive.every);
        }
        while alive.timer.as_mut().poll(context).is_ready() {
            if alive.has_asked {
                return Some(Status::unavailable("the other side is silent"));
            }
            alive.has_asked = true;
            alive.timer.as_mut().reset(Instant::now() + alive.patience);
            self.shared.with(|state| http2::write(&mut state.out, kind::PING, 0, 0, &[0; 8]));
        }
        None
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Future for Driver<T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.run(context).map(|why| self.shared.with(|state| state.end(&why)))
    }
}

impl<T> Drop for Driver<T> {
    fn drop(&mut self) {
        // Whoever is on it learns that nobody keeps it going.
        self.shared.with(|state| state.end(&Status::unavailable("the connection is closed")));
    }
}

fn broken(why: &str) -> Status {
    Status::unavailable(format_args!("broken HTTP/2: {why}"))
}

fn number(content: &[u8]) -> Result<u32, Status> {
    content.first_chunk().copied().map(http2::u31).ok_or_else(|| broken("a frame is too short"))
}

impl Frames {
    fn take(&mut self, state: &mut State, head: Head, content: &[u8]) -> Result<(), Status> {
        if let Some((first, mut block)) = self.block.take() {
            if head.kind != kind::CONTINUATION || head.stream != first.stream {
                return Err(broken("header fields do not go on"));
            }
            block.extend_from_slice(content);
            return self.fields(state, first, head.has(flag::END_HEADERS), block);
        }
        match head.kind {
            kind::DATA => {
                let bytes = plain(head, content)?;
                state.data(head.stream, content.len(), bytes, head.has(flag::END_STREAM));
            }
            kind::HEADERS => {
                let block = plain(head, content)?;
                let priority = if head.has(flag::PRIORITY) { 5 } else { 0 };
                let block = block.get(priority..).ok_or_else(|| broken("a frame is too short"))?;
                if head.has(flag::END_HEADERS) {
                    return self.read(state, head, block);
                }
                self.fields(state, head, false, block.to_vec())?;
            }
            kind::RESET => state.reset(head.stream, number(content)?),
            kind::SETTINGS if !head.has(flag::ACK) => state.set(http2::settings(content)),
            kind::PING => self.ping(state, head, content)?,
            kind::GO_AWAY => {
                state.go_away(number(content)?, number(content.get(4..).unwrap_or_default())?);
            }
            kind::WINDOW_UPDATE => state.room(head.stream, number(content)?),
            kind::PUSH_PROMISE | kind::CONTINUATION => return Err(broken("a frame that nobody asked for")),
            _ => {}
        }
        Ok(())
    }

    /// A block of header fields, or as much of it as has come.
    fn fields(&mut self, state: &mut State, head: Head, is_whole: bool, block: Vec<u8>) -> Result<(), Status> {
        if block.len() > FIELDS_MAX {
            return Err(broken("too many header fields"));
        }
        if is_whole {
            return self.read(state, head, &block);
        }
        self.block = Some((head, block));
        Ok(())
    }

    fn read(&mut self, state: &mut State, head: Head, block: &[u8]) -> Result<(), Status> {
        let mut answer = Answer::default();
        let read = self.table.read(block, |name, value| match name {
            b":status" => answer.http = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()),
            b"grpc-status" => answer.code = Some(value.to_vec()),
            b"grpc-message" => answer.message = value.to_vec(),
            _ => {}
        });
        read.map_err(|_| broken("header fields are malformed"))?;
        state.answer(head.stream, &answer, head.has(flag::END_STREAM));
        Ok(())
    }

    fn ping(&mut self, state: &mut State, head: Head, content: &[u8]) -> Result<(), Status> {
        if head.has(flag::ACK) {
            self.is_answered = true;
            return Ok(());
        }
        let ping = *content.first_chunk().ok_or_else(|| broken("a frame is too short"))?;
        // Answers are given in order.
        if let Some((before, _)) = self.held.replace((ping, Instant::now())) {
            http2::write(&mut state.out, kind::PING, flag::ACK, 0, &before);
        }
        Ok(())
    }

    /// Answers the ping whose time has come.
    fn answer_late(&mut self, state: &mut State) {
        let is_due = |since: &Instant| !self.may_hold || since.elapsed() >= PING_PATIENCE;
        if let Some((ping, _)) = self.held.take_if(|(_, since)| is_due(since)) {
            http2::write(&mut state.out, kind::PING, flag::ACK, 0, &ping);
        }
    }
}

/// The content of a frame without what was only added to hide its length.
fn plain(head: Head, content: &[u8]) -> Result<&[u8], Status> {
    if !head.has(flag::PADDED) {
        return Ok(content);
    }
    let split = content.split_first().and_then(|(added, rest)| {
        let length = rest.len().checked_sub(usize::from(*added))?;
        rest.get(..length)
    });
    split.ok_or_else(|| broken("a frame is too short"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack;
    use crate::status::Code;
    use crate::{Connection, Settings, framed};
    use bytes::Bytes;
    use http::uri::{Authority, Scheme};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
    use tokio::time::advance;

    fn connect(keep_alive: Option<(Duration, Duration)>) -> (Connection, DuplexStream) {
        let (here, there) = tokio::io::duplex(1 << 20);
        let (scheme, authority) = (Scheme::HTTP, Authority::from_static("localhost"));
        let settings = Settings { scheme, authority, window: 1 << 20, message_max: 1 << 16, keep_alive };
        (Connection::open(here, &settings), there)
    }

    fn frames(frames: &[(u8, u8, u32, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (kind, flags, stream, content) in frames {
            http2::write(&mut bytes, *kind, *flags, *stream, content);
        }
        bytes
    }

    fn block(fields: &[(&str, &str)]) -> Vec<u8> {
        let mut block = Vec::new();
        fields.iter().for_each(|(name, value)| hpack::write(&mut block, name, value.as_bytes()));
        block
    }

    /// What has been sent to the other side.
    async fn sent(there: &mut DuplexStream) -> Vec<u8> {
        let mut bytes = Vec::new();
        while let Ok(Ok(1..)) = tokio::time::timeout(Duration::from_millis(1), there.read_buf(&mut bytes)).await {}
        bytes
    }

    /// What a call comes to when it is answered so.
    async fn outcome(answer: &[u8]) -> Result<Bytes, Code> {
        let (connection, mut there) = connect(None);
        let call = tokio::spawn(async move { connection.unary("/any", Bytes::from_static(b"question")).await });
        there.write_all(&frames(&[(kind::SETTINGS, 0, 0, &[])])).await.unwrap();
        sent(&mut there).await;
        for piece in answer.chunks(7) {
            // Nobody listens any more when enough has come.
            let _ = there.write_all(piece).await;
            tokio::task::yield_now().await;
        }
        let answered = tokio::time::timeout(Duration::from_secs(60), call).await.expect("an answer");
        answered.unwrap().map_err(|status| status.code)
    }

    #[tokio::test(start_paused = true)]
    async fn answers_are_read_in_every_form() {
        let message = framed(5, |to| to.extend_from_slice(b"hello"));
        let padded = [&[3], &message[..], &[0; 3]].concat();
        let head = block(&[(":status", "200"), ("content-type", "application/grpc")]);
        let with_priority = [&[0; 5], &head[..]].concat();
        let (first, rest) = head.split_at(10);
        let well = block(&[("grpc-status", "0")]);
        let early = block(&[(":status", "100")]);
        let (last, whole) = (flag::END_STREAM | flag::END_HEADERS, flag::END_HEADERS);
        let hello = Ok(Bytes::from_static(b"hello"));
        let plain = [
            (kind::HEADERS, whole, 1, &head[..]),
            (kind::DATA, 0, 1, &message[..]),
            (kind::HEADERS, last, 1, &well[..]),
        ];
        assert_eq!(outcome(&frames(&plain)).await, hello);
        let odd = [
            (0xbe, 0xff, 1, &b"of no known kind"[..]),
            (kind::HEADERS, whole, 1, &early[..]),
            (kind::HEADERS, flag::PRIORITY | whole, 1, &with_priority[..]),
            (kind::DATA, flag::PADDED, 1, &padded[..]),
            (kind::DATA, 0, 77, b"of nobody"),
            (kind::HEADERS, flag::END_STREAM, 1, b""),
            (kind::CONTINUATION, 0, 1, &well[..5]),
            (kind::CONTINUATION, flag::END_HEADERS, 1, &well[5..]),
        ];
        assert_eq!(outcome(&frames(&odd)).await, hello);
        let without_status = [plain[0], (kind::DATA, flag::END_STREAM, 1, &message[..])];
        assert_eq!(outcome(&frames(&without_status)).await, Err(Code::Internal));
        for broken in [
            &frames(&[(kind::HEADERS, 0, 1, first), (kind::DATA, 0, 1, rest)])[..],
            &frames(&[(kind::HEADERS, whole, 1, &[0x80])]),
            &frames(&[(kind::HEADERS, whole | flag::PADDED, 1, &[9, 0x88])]),
            &frames(&[(kind::DATA, flag::PADDED, 1, &[])]),
            &frames(&[(kind::PUSH_PROMISE, 0, 1, &[0; 9])]),
            &frames(&[(kind::WINDOW_UPDATE, 0, 1, &[0])]),
            &frames(&[(kind::GO_AWAY, 0, 0, &[0; 8])]),
            &frames(&[(kind::RESET, 0, 1, &[0, 0, 0, 7])]),
            b"HTTP/1.1 400 Bad Request",
        ] {
            assert_eq!(outcome(broken).await, Err(Code::Unavailable), "{broken:x?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_ping_is_answered_with_what_comes_later_and_at_once_where_nothing_may() {
        let ping = frames(&[(kind::PING, 0, 0, b"whatever")]);
        let answer = frames(&[(kind::PING, flag::ACK, 0, b"whatever")]);
        let (_connection, mut there) = connect(None);
        sent(&mut there).await;
        there.write_all(&ping).await.unwrap();
        assert_eq!(sent(&mut there).await, answer);

        let keep_alive = Some((Duration::from_secs(5), Duration::from_secs(3)));
        let (connection, mut there) = connect(keep_alive);
        sent(&mut there).await;
        there.write_all(&ping).await.unwrap();
        assert_eq!(sent(&mut there).await, b"");
        advance(PING_PATIENCE).await;
        assert_eq!(sent(&mut there).await, b"");
        tokio::spawn(async move { connection.unary("/any", Bytes::from_static(b"question")).await });
        assert!(sent(&mut there).await.ends_with(&answer));
        there.write_all(&ping).await.unwrap();
        assert_eq!(sent(&mut there).await, b"");
        advance(Duration::from_secs(5)).await;
        let own = frames(&[(kind::PING, 0, 0, &[0; 8])]);
        assert_eq!(sent(&mut there).await, [own, answer].concat(), "its own ping takes it along");
    }
}
