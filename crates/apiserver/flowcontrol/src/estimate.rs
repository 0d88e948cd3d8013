//! Work estimation: how many seats a request takes while it is served, and how many, for how long, once it was answered.
//! Guarantees at least one seat, and no more than a level allows a single request. Must never look at a request: callers say what
//! it reads and how many watch what it writes.

use crate::limits::{Queuing, Seats};
use std::time::Duration;

/// The most seats of a single request, as of kube-apiserver's lists from memory and writes.
const MOST_SEATS: u64 = 10;

/// Bytes that are converted or encoded for a response, by seat: kube-apiserver's 100 kB.
const ENCODED_BYTES: u64 = 100_000;

/// Bytes that are sent as they are stored, by seat. They are copied piece by piece as the client takes them, and nothing is decoded
/// or encoded.
const STORED_BYTES: u64 = 1_000_000;

/// Watches that get an event of a write, by seat.
const WATCHES: u64 = 10;

/// How long such a seat is taken.
const EVENT_LATENCY: Duration = Duration::from_millis(5);

/// What a request is expected to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkEstimate {
    /// Seats while it is served.
    pub initial_seats: u64,
    /// Seats after it was answered, for `additional_latency`.
    pub final_seats: u64,
    pub additional_latency: Duration,
}

/// What a list reads, or a watch that begins with what there is.
#[derive(Clone, Copy, Debug)]
pub struct ListWork {
    /// Objects among which is selected, and their bytes.
    pub objects: u64,
    pub bytes: u64,
    /// The most objects that are wanted; 0 is all.
    pub limit: u64,
    /// Whether the response has the objects as they are stored.
    pub as_stored: bool,
}

impl WorkEstimate {
    /// The least that a request takes.
    pub const ONE: WorkEstimate = WorkEstimate { initial_seats: 1, final_seats: 0, additional_latency: Duration::ZERO };

    /// The seats that the request holds until all of its work is done.
    pub fn max_seats(&self) -> u64 {
        self.initial_seats.max(self.final_seats)
    }

    /// A list takes seats by the bytes of its response.
    pub fn list(list: &ListWork, most: u64) -> WorkEstimate {
        let limit = if list.limit > 0 { list.limit.min(list.objects) } else { list.objects };
        // Widened, as a product of two such numbers may not fit.
        let share = u128::from(list.bytes) * u128::from(limit) / u128::from(list.objects.max(1));
        let bytes = u64::try_from(share).unwrap_or(u64::MAX);
        let per_seat = if list.as_stored { STORED_BYTES } else { ENCODED_BYTES };
        let seats = bytes.div_ceil(per_seat).min(most).max(1);
        WorkEstimate { initial_seats: seats, ..WorkEstimate::ONE }
    }

    /// A write takes a seat, and afterwards seats by the watches that get its event. Seats that the level does not allow are
    /// taken for longer instead.
    pub fn write(watches: u64, most: u64) -> WorkEstimate {
        if watches < WATCHES {
            return WorkEstimate::ONE;
        }
        let wanted = watches.div_ceil(WATCHES);
        let final_seats = wanted.min(most).max(1);
        let latency = EVENT_LATENCY.mul_f64(wanted as f64 / final_seats as f64);
        WorkEstimate { initial_seats: 1, final_seats, additional_latency: latency }
    }
}

/// The most seats that a single request of a level may take: a few of the level's, so that others have some, too.
pub fn most_seats(seats: Seats, queuing: Option<Queuing>) -> u64 {
    let Some(queuing) = queuing else { return MOST_SEATS };
    let by_hand = seats.nominal / (queuing.hand_size as u64).max(1);
    // 15 percent, rounded up.
    let by_share = seats.nominal.saturating_mul(3).div_ceil(20);
    by_share.min(by_hand).clamp(1, MOST_SEATS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_take_seats_by_the_bytes_of_their_responses() {
        // (objects, bytes, limit, as stored, seats)
        let rows = [
            (0, 0, 0, false, 1),
            (100, 100_000, 0, false, 1),
            (100, 100_001, 0, false, 2),
            (1000, 1_000_000, 300, false, 3),
            (1000, 1_000_000, 5000, false, 10),
            (1000, 900_000_000, 0, false, 10),
            (1000, 1_000_000, 0, true, 1),
            (1000, 3_000_001, 0, true, 4),
            (u64::MAX, u64::MAX, u64::MAX, true, 10),
        ];
        for (objects, bytes, limit, as_stored, seats) in rows {
            let list = ListWork { objects, bytes, limit, as_stored };
            let expected = WorkEstimate { initial_seats: seats, ..WorkEstimate::ONE };
            assert_eq!(WorkEstimate::list(&list, MOST_SEATS), expected, "{list:?}");
        }
    }

    #[test]
    fn writes_take_seats_afterwards_by_their_watches() {
        let of = |watches, most| {
            let work = WorkEstimate::write(watches, most);
            (work.max_seats(), work.final_seats, work.additional_latency.as_millis())
        };
        assert_eq!(of(0, 10), (1, 0, 0));
        assert_eq!(of(9, 10), (1, 0, 0));
        assert_eq!(of(10, 10), (1, 1, 5));
        assert_eq!(of(95, 10), (10, 10, 5));
        // As much work with fewer seats takes longer.
        assert_eq!(of(1000, 10), (10, 10, 50));
        assert_eq!(of(1000, 1), (1, 1, 500));
    }

    #[test]
    fn a_single_request_gets_a_few_of_a_levels_seats() {
        let most = |nominal, hand_size| {
            let queuing = Queuing { queues: 64, hand_size, length_limit: 50 };
            most_seats(Seats { nominal, ..Seats::default() }, Some(queuing))
        };
        assert_eq!([most(245, 6), most(49, 6), most(20, 4), most(3, 8), most(0, 1)], [10, 8, 3, 1, 1]);
        assert_eq!(most_seats(Seats::default(), None), MOST_SEATS);
    }
}
