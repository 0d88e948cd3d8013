//! Repeats of calls that may succeed soon, with growing pauses. Guarantees kube-apiserver's number of attempts and
//! pauses, and that the last attempt's error is the one returned. Must never repeat a call past the deadline of its
//! request: the caller's future ends with it.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::error::CallError;

/// How often a call is repeated, and after which pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// The first pause.
    pub initial: Duration,
    /// By how much each pause is longer than the one before.
    pub factor: f64,
    /// The share of a pause that chance adds.
    pub jitter: f64,
    /// How many attempts there are at most.
    pub attempts: u32,
}

/// Whether a call is repeated after this outcome.
pub type Retry = fn(&CallError) -> bool;

impl Backoff {
    /// kube-apiserver's pauses for webhooks: five attempts, each pause half as long again as the one before.
    pub const fn starting_with(initial: Duration) -> Backoff {
        Backoff { initial, factor: 1.5, jitter: 0.2, attempts: 5 }
    }

    /// Calls until the outcome is not to be repeated, or no attempt is left.
    ///
    /// # Errors
    /// The last attempt failed.
    pub async fn run<T, F>(self, retry: Retry, mut call: impl FnMut() -> F) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        let mut pause = self.initial;
        let mut left = self.attempts.max(1);
        loop {
            left -= 1;
            match call().await {
                Err(error) if left > 0 && retry(&error) => {
                    tokio::time::sleep(pause.mul_f64(1.0 + self.jitter * chance())).await;
                    pause = pause.mul_f64(self.factor);
                }
                outcome => return outcome,
            }
        }
    }
}

/// A number from 0 to 1 that need not be unpredictable: the standard library seeds its hashers from the system.
fn chance() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status_error::StatusError;
    use std::cell::Cell;

    fn failed(code: u16) -> CallError {
        CallError::Status(StatusError::of_code(code, "POST", "oops", None))
    }

    #[tokio::test(start_paused = true)]
    async fn transient_failures_are_repeated_five_times() {
        for (code, expected) in [(500, 5), (429, 5), (504, 5), (404, 1), (503, 1)] {
            let calls = Cell::new(0);
            let backoff = Backoff::starting_with(Duration::from_millis(500));
            let outcome = backoff.run(CallError::is_transient, || {
                calls.set(calls.get() + 1);
                async move { Err::<(), _>(failed(code)) }
            });
            assert_eq!(outcome.await.expect_err("a failure").code(), Some(code));
            assert_eq!(calls.get(), expected, "{code}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_success_ends_it() {
        let calls = Cell::new(0);
        let outcome = Backoff::starting_with(Duration::from_secs(1)).run(CallError::is_transient, || {
            calls.set(calls.get() + 1);
            let call = calls.get();
            async move { if call == 2 { Ok(call) } else { Err(failed(500)) } }
        });
        assert_eq!(outcome.await.expect("an answer"), 2);
    }
}
