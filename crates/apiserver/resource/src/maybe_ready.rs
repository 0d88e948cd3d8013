//! `MaybeReady`: the result of a step that is usually ready at once and sometimes has to wait.
//!
//! Object-safe asynchronous traits (authentication, authorization, admission) return it from a plain method. An `async fn`
//! behind `dyn` allocates a boxed future for every call, even if the result is ready; with this type only an implementation
//! that waits pays for the box.

use futures_util::future::BoxFuture;
use std::fmt;

/// A value, or a future that resolves to it.
pub enum MaybeReady<'a, T> {
    /// The result is ready. Costs no allocation.
    Ready(T),
    /// The result of a future. Dropping the future cancels the work.
    Wait(BoxFuture<'a, T>),
}

impl<'a, T> MaybeReady<'a, T> {
    /// Boxes a future.
    pub fn wait(future: impl Future<Output = T> + Send + 'a) -> MaybeReady<'a, T> {
        MaybeReady::Wait(Box::pin(future))
    }

    /// The value, if it is ready.
    ///
    /// # Errors
    /// The future, which has not been polled.
    pub fn now(self) -> Result<T, Self> {
        match self {
            MaybeReady::Ready(value) => Ok(value),
            waiting => Err(waiting),
        }
    }

    /// The value; waits for it if need be.
    pub async fn get(self) -> T {
        match self {
            MaybeReady::Ready(value) => value,
            MaybeReady::Wait(future) => future.await,
        }
    }
}

impl<T> From<T> for MaybeReady<'_, T> {
    fn from(value: T) -> Self {
        MaybeReady::Ready(value)
    }
}

impl<T: fmt::Debug> fmt::Debug for MaybeReady<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MaybeReady::Ready(value) => f.debug_tuple("Ready").field(value).finish(),
            MaybeReady::Wait(_) => f.write_str("Wait"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn a_known_answer_needs_no_second_poll() {
        assert_eq!(MaybeReady::Ready(1).get().now_or_never(), Some(1));
        assert_eq!(MaybeReady::wait(std::future::ready(1)).get().now_or_never(), Some(1));
        assert_eq!(MaybeReady::wait(std::future::pending::<u8>()).get().now_or_never(), None);
    }
}
