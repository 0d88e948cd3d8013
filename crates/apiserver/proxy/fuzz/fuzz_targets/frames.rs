//! No bytes of a peer make the readers of SPDY frames and of WebSockets panic, or hold more than they were sent; and what
//! is read of a WebSocket does not depend on how it arrives.
#![no_main]

use futures_util::FutureExt;
use libfuzzer_sys::fuzz_target;
use pintle_proxy::spdy::{Frame, Frames, PIECE_BYTES};
use pintle_proxy::websocket::frames::{BUFFER_BYTES, Kind, open};
use std::io::ErrorKind;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf, join, sink};

/// What a client sends, so many bytes at a time.
struct Sent(Vec<u8>, usize, usize);

impl AsyncRead for Sent {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let Sent(bytes, at, step) = &mut *self;
        let length = out.remaining().min(*step).min(bytes.len() - *at);
        out.put_slice(&bytes[*at..*at + length]);
        *at += length;
        Poll::Ready(Ok(()))
    }
}

/// The messages of a client, and how its connection ended.
fn messages(input: &[u8], step: usize) -> (Vec<(Kind, Vec<u8>)>, Option<ErrorKind>) {
    let connection = join(Sent(input.to_vec(), 0, step), sink());
    let (mut reader, _writer) = open(Box::new(connection), Some(1 << 20));
    let mut messages: Vec<(Kind, Vec<u8>)> = Vec::new();
    loop {
        // Reading what is there never waits, but that a task gives way now and then.
        let Some(outcome) = reader.next().now_or_never() else { continue };
        match outcome {
            Ok(Some(piece)) => {
                assert!(piece.bytes.len() <= BUFFER_BYTES);
                if piece.first {
                    messages.push((piece.kind, Vec::new()));
                }
                messages.last_mut().expect("it has begun").1.extend_from_slice(&piece.bytes);
            }
            Ok(None) => return (messages, None),
            Err(error) => return (messages, Some(error.kind())),
        }
    }
}

fuzz_target!(|input: Vec<u8>| {
    let mut frames = Frames::new(&input[..]);
    let mut held = 0;
    while let Some(Ok(frame)) = frames.next().now_or_never() {
        if let Frame::Data { bytes, .. } = frame {
            assert!(bytes.len() <= PIECE_BYTES);
            held += bytes.len();
        }
    }
    assert!(held <= input.len());

    let whole = messages(&input, usize::MAX);
    assert!(whole.0.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() <= input.len());
    assert_eq!(messages(&input, 1), whole);
});
