//! Requests that take long to process: those with a large body, and patches of large objects. Guarantees that they do not block
//! worker threads, and that few run at a time, which bounds their memory. Must never delay a request that is not large.

use crate::limits;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::task::{block_in_place, yield_now};
use tokio::task_local;

task_local! {
    /// How many bytes the request that is being worked at is about to work through, if those are many.
    static LARGE: Arc<AtomicUsize>;
}

/// Room for the large requests that may be worked at together, in units of [`UNIT_BYTES`]. They share the processors and
/// the memory of one process.
static PERMITS: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(limits::LARGE_REQUESTS_BYTES / UNIT_BYTES)));

const UNIT_BYTES: usize = 1024;

/// The room that a request takes.
fn units(bytes: usize) -> u32 {
    let bytes = bytes.clamp(limits::LARGE_REQUEST_BYTES, limits::LARGE_REQUESTS_BYTES);
    u32::try_from(bytes / UNIT_BYTES).unwrap_or(u32::MAX)
}

/// Processes a request. Once [`expect`] reports that it is large, it waits for a permit, which it keeps until its end, and runs
/// with `block_in_place`.
pub fn work<F: Future + Unpin + Send>(request: F) -> impl Future<Output = F::Output> + Send {
    let large = Arc::<AtomicUsize>::default();
    LARGE.scope(large.clone(), LargeRequest { request, large, waiting: None, place: None })
}

/// Declares how many bytes the current request is about to process.
pub async fn expect(bytes: usize) {
    if bytes <= limits::LARGE_BODY_BYTES {
        return;
    }
    if LARGE.try_with(|large| large.fetch_max(bytes, Ordering::Relaxed)).is_ok() {
        // The permit is taken at the next poll.
        yield_now().await;
    }
}

type Acquired = Result<OwnedSemaphorePermit, AcquireError>;

struct LargeRequest<F> {
    request: F,
    large: Arc<AtomicUsize>,
    waiting: Option<BoxFuture<'static, Acquired>>,
    place: Option<OwnedSemaphorePermit>,
}

impl<F: Future + Unpin> Future for LargeRequest<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let work = &mut *self;
        let bytes = work.large.load(Ordering::Relaxed);
        if bytes == 0 {
            return work.request.poll_unpin(context);
        }
        if work.place.is_none() {
            let waiting = work.waiting.get_or_insert_with(|| PERMITS.clone().acquire_many_owned(units(bytes)).boxed());
            // The semaphore is never closed; if it were, requests would go on without a permit.
            work.place = ready!(waiting.poll_unpin(context)).ok();
            work.waiting = None;
        }
        match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => block_in_place(|| work.request.poll_unpin(context)),
            // A runtime with one thread has no other thread for the work.
            _ => work.request.poll_unpin(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Barrier, mpsc};

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
    }

    /// One worker thread: a large request that never awaits would block all others.
    #[test]
    fn a_large_request_leaves_the_worker_to_others() {
        let runtime = runtime();
        let (go_on, wait) = mpsc::channel();
        let large = runtime.spawn(work(Box::pin(async move {
            expect(limits::LARGE_BODY_BYTES + 1).await;
            wait.recv().is_ok()
        })));
        let other = runtime.spawn(work(Box::pin(async {
            expect(limits::LARGE_BODY_BYTES).await;
            7
        })));
        assert_eq!(runtime.block_on(other).expect("no panic"), 7);
        go_on.send(()).expect("it waits");
        assert!(runtime.block_on(large).expect("no panic"));
    }

    #[test]
    fn large_requests_in_progress_are_bounded() {
        let runtime = runtime();
        let now = Arc::new(AtomicUsize::new(0));
        let most = limits::LARGE_REQUESTS_BYTES / limits::LARGE_REQUEST_BYTES;
        let met = Arc::new(Barrier::new(most));
        let requests: Vec<_> = (0..3 * most)
            .map(|_| {
                let (now, met) = (now.clone(), met.clone());
                runtime.spawn(work(Box::pin(async move {
                    expect(limits::LARGE_BODY_BYTES + 1).await;
                    let at_once = now.fetch_add(1, Ordering::SeqCst) + 1;
                    // Waits until as many as allowed are running.
                    met.wait();
                    now.fetch_sub(1, Ordering::SeqCst);
                    at_once
                })))
            })
            .collect();
        for request in requests {
            assert!(runtime.block_on(request).expect("no panic") <= most);
        }
    }

    #[test]
    fn a_single_thread_does_all_work() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let large = work(Box::pin(async {
            expect(usize::MAX).await;
            7
        }));
        assert_eq!(runtime.block_on(large), 7);
    }
}
