//! Bodies that are made while they are sent. Guarantees that pieces that take long to make are made in turns, and that a client that
//! takes its body fast leaves the worker thread to others between pieces. Must never make a piece that was not asked for.

use crate::{Turns, Waiting, apart, limits};
use futures_util::stream::{Stream, StreamExt};
use pintle_schema::Str;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

struct Pieces<S> {
    stream: S,
    turns: Arc<Turns>,
    user: Str,
    /// The last piece took long.
    is_long: bool,
    /// The time of pieces since the task was last left to others.
    spent: Duration,
    waiting: Waiting,
}

/// The same stream, whose pieces are made in turns if they take long.
pub fn pieces<S: Stream + Unpin + Send>(
    turns: &Arc<Turns>,
    user: &Str,
    stream: S,
) -> impl Stream<Item = S::Item> + Unpin + Send + use<S> {
    Pieces {
        stream,
        turns: turns.clone(),
        user: user.clone(),
        is_long: false,
        spent: Duration::ZERO,
        waiting: Waiting::default(),
    }
}

impl<S: Stream + Unpin> Stream for Pieces<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let pieces = &mut *self;
        if pieces.spent >= limits::BUDGET {
            pieces.spent = Duration::ZERO;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let turn = match pieces.is_long {
            true => {
                let Turns { processors, .. } = &*pieces.turns;
                let part = ready!(pieces.waiting.poll(processors, &pieces.user, 1, context));
                Some(pieces.turns.begin(part))
            }
            false => None,
        };
        let began = Instant::now();
        let piece = match turn {
            Some(_) => apart(|| pieces.stream.poll_next_unpin(context)),
            None => pieces.stream.poll_next_unpin(context),
        };
        let took = began.elapsed();
        pieces.is_long = took >= limits::PIECE;
        pieces.spent = if piece.is_pending() { Duration::ZERO } else { pieces.spent + took };
        piece
    }
}
