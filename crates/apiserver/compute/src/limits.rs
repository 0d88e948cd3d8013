//! The bounds of long computations, each with its reason.
//! Guarantees that the budget of a computation is stated once.
//! Must never depend on a kind of request.

use std::time::Duration;

/// How long a request computes on a worker thread before it has to take turns: other requests of the same thread wait
/// that long. Most requests are done in a tenth of it.
pub const BUDGET: Duration = Duration::from_millis(1);

/// How long a computation keeps its turn while others wait for theirs. A change of turns costs some 20 µs.
pub const SLICE: Duration = Duration::from_millis(5);

/// A piece of a body that took longer to make has the next one made in a turn.
pub const PIECE: Duration = Duration::from_micros(500);

/// Bytes of input from which a computation takes turns from its beginning: to decode, validate, compare and encode an
/// object of this size takes about a millisecond.
pub const LARGE_INPUT_BYTES: usize = 32 << 10;

/// The inputs that are worked on at a time, in bytes. A decoded object usually takes a few times the bytes of its body, and up
/// to two hundred times if it is all structure: this bounds their memory.
pub const INPUT_BYTES: usize = 8 << 20;

/// What is left of [`INPUT_BYTES`] to users who hold nothing of it: the largest body and a third. A user whose large objects wait
/// for a slow webhook leaves it to others.
pub const INPUT_BYTES_RESERVED: usize = 4 << 20;

/// Turns beyond one for each processor, for users who have none: they need not wait for the end of a computation that cannot
/// be interrupted.
pub const TURNS_RESERVED: usize = 1;

/// Steps of a loop between two looks at the clock, which take as long as one step.
pub(crate) const STEPS_PER_LOOK: usize = 64;
