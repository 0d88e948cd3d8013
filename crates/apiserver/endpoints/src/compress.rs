//! Compression of responses while they are sent. Guarantees that a response is never buffered whole for compression, and that
//! compression runs on blocking threads only, in turns with other long computations. Must never run ahead of the client by more than
//! one chunk.

use crate::body::Body;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream::{self, StreamExt};
use pintle_compute::Turns;
use pintle_proxy::backend::ByteStream;
use pintle_schema::Str;
use std::io::{self, Write};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Bytes that are compressed at a time, which takes about 8 ms. With a quarter of it, a single reader of 3 MB cost two fifths
/// more CPU, for the transfer of pieces between threads; larger pieces would delay other requests.
const PIECE: usize = 1 << 20;

struct Compressing {
    body: Body,
    /// `None` once everything is compressed.
    encoder: Option<GzEncoder<Vec<u8>>>,
    turns: Arc<Turns>,
    user: Str,
}

/// The compressed bytes of a body that ends. They fail where the body does.
pub(crate) fn compressed(body: Body, turns: Arc<Turns>, user: Str) -> ByteStream {
    let encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
    stream::unfold(Compressing { body, encoder, turns, user }, |mut all| async move {
        let bytes = all.next().await?;
        Some((bytes, all))
    })
    .boxed()
}

impl Compressing {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            let mut encoder = self.encoder.take()?;
            let (pieces, is_last) = match self.plain().await {
                Ok(plain) => plain,
                Err(error) => return Some(Err(error)),
            };
            let turn = self.turns.turn(&self.user).await;
            let work = move || {
                // Writing to memory cannot fail.
                pieces.iter().for_each(|piece| drop(encoder.write_all(piece)));
                drop(turn);
                match is_last {
                    true => (encoder.finish().unwrap_or_default(), None),
                    false => (std::mem::take(encoder.get_mut()), Some(encoder)),
                }
            };
            // The work ends early only with the runtime.
            let (bytes, encoder) = spawn_blocking(work).await.ok()?;
            self.encoder = encoder;
            if !bytes.is_empty() {
                return Some(Ok(bytes.into()));
            }
        }
    }

    /// The next chunks to compress, and whether they are the last.
    async fn plain(&mut self) -> io::Result<(Vec<Bytes>, bool)> {
        let (mut pieces, mut size) = (Vec::new(), 0);
        while size < PIECE {
            let Some(piece) = self.body.next_piece().await else { return Ok((pieces, true)) };
            let piece = piece?;
            size += piece.len();
            pieces.push(piece);
        }
        Ok((pieces, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Size;
    use flate2::read::GzDecoder;
    use futures_util::TryStreamExt;
    use std::io::Read;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn plain(length: usize) -> Vec<u8> {
        (0..length).map(|n| b"some text, "[n % 11] ^ (n / 4096) as u8).collect()
    }

    #[tokio::test]
    async fn compressed_bodies_decompress_to_the_original() {
        for length in [0, 1, PIECE - 1, PIECE, 3 * PIECE + 17] {
            let expected = plain(length);
            let pieces: Vec<_> = expected.chunks(60_000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
            let chunks = Body::Chunks(stream::iter(pieces).boxed(), Size::About(0));
            for body in [Body::Full(expected.clone().into()), chunks] {
                let sent = compressed(body, Arc::default(), Str::new_static("user"));
                let sent: Vec<_> = sent.try_collect().await.expect("it ends");
                let mut read = Vec::new();
                GzDecoder::new(&*sent.concat()).read_to_end(&mut read).expect("it is gzip");
                assert!(read == expected, "{length}");
            }
        }
    }

    #[tokio::test]
    async fn compression_stops_when_the_body_is_dropped() {
        let made = Arc::new(AtomicUsize::new(0));
        let counted = made.clone();
        // Nothing that compresses well: every piece has bytes to send.
        let mut noise = 1_u64;
        let endless = std::iter::repeat_with(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            let bytes = std::iter::repeat_with(|| {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (noise >> 56) as u8
            });
            Ok(bytes.take(PIECE).collect::<Bytes>())
        });
        let body = Body::Chunks(stream::iter(endless).boxed(), Size::About(0));
        let mut sent = compressed(body, Arc::default(), Str::new_static("user"));
        assert_eq!(made.load(Ordering::Relaxed), 0);
        for taken in 1..5 {
            assert!(sent.next().await.is_some());
            assert_eq!(made.load(Ordering::Relaxed), taken);
        }
    }
}
