//! The bounds of flow control, with their reasons.
//! Guarantees that what administrators configure is bounded, too. Must never hold what a level configures itself.

use std::time::Duration;

/// How many requests may wait at one level, however many queues it has and however long they are. Each holds its head and a
/// timer, some 10 KiB; its body counts among the bodies of its user. kube-apiserver has no such limit; by its defaults a level has 6,400 places.
pub const WAITING: usize = 20_000;

/// The longest time that a request waits: kube-apiserver's minute. It waits for a quarter of its own time at most.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How often levels are lent each other's seats anew: kube-apiserver's ten seconds.
pub const ADJUSTMENT_PERIOD: Duration = Duration::from_secs(10);

/// How long a request is expected to hold its seats before that is known. Most are served from memory; a queue pays for
/// what its requests really took. kube-apiserver's 3 ms.
pub(crate) const EXPECTED_SERVICE: Duration = Duration::from_millis(3);

/// How many queues of a level a dump shows, beside those that have requests.
pub(crate) const SHOWN_QUEUES: usize = 1024;
