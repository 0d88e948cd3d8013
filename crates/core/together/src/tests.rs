//! What runs, in which order, and that no call is lost.

use super::*;
use std::future::{pending, poll_fn};
use tokio::sync::mpsc;

/// What ran, in order.
type Log = Arc<Mutex<Vec<&'static str>>>;

fn note(log: &Log, what: &'static str) {
    log.lock().unwrap().push(what);
}

/// A future that notes every message, and panics over a bad one.
async fn noting(mut messages: mpsc::UnboundedReceiver<&'static str>, log: Log) {
    while let Some(message) = messages.recv().await {
        assert_ne!(message, "bad");
        note(&log, message);
    }
}

/// One that is always called.
fn restless() -> impl Future<Output = ()> {
    poll_fn(|cx| {
        cx.waker().wake_by_ref();
        Poll::Pending
    })
}

#[tokio::test]
async fn members_run_when_called_and_who_is_last_after_them() {
    let log = Log::default();
    let (together, mut members) = Together::new(Waker::wake);
    let (messages, receivers): (Vec<_>, Vec<_>) = (0..3).map(|_| mpsc::unbounded_channel()).unzip();
    receivers.into_iter().for_each(|messages| together.spawn(noting(messages, Arc::clone(&log))));
    let (ring, noted) = (members.last_waker.clone(), Arc::clone(&log));
    let (woken, mut wakes) = mpsc::unbounded_channel();
    let task = tokio::spawn(poll_fn(move |cx| {
        let _ = woken.send(());
        members.poll(cx, |_| {
            note(&noted, "last");
            Poll::Pending
        })
    }));
    let logged = || std::mem::take(&mut *log.lock().unwrap());
    wakes.recv().await;
    assert_eq!(logged(), ["last"]);
    let send = |at: usize, message| messages[at].send(message).expect("listens");
    ring.wake_by_ref();
    send(2, "c");
    send(0, "a");
    send(2, "d");
    wakes.recv().await;
    assert_eq!(logged(), ["c", "d", "a", "last"], "woken once, in the order of calls");
    send(1, "bad");
    send(0, "e");
    wakes.recv().await;
    assert_eq!(logged(), ["e"], "the others go on");
    assert!(messages[1].is_closed() && !messages[2].is_closed() && wakes.try_recv().is_err());
    task.abort();
}

#[tokio::test]
async fn who_is_always_called_lets_the_others_run() {
    let (together, mut members) = Together::new(Waker::wake);
    together.spawn(restless());
    let (numbers, mut received) = mpsc::unbounded_channel();
    let (sums, mut summed) = mpsc::unbounded_channel();
    together.spawn(async move {
        let mut sum = 0;
        while let Some(number) = received.recv().await {
            sum += number;
        }
        let _ = sums.send(sum);
    });
    let (polled, mut polls) = mpsc::unbounded_channel();
    let task = tokio::spawn(poll_fn(move |cx| {
        members.poll(cx, |cx| {
            cx.waker().wake_by_ref();
            polled.send(()).map_or(Poll::Ready(()), |()| Poll::Pending)
        })
    }));
    for number in 1..=100 {
        numbers.send(number).expect("listens");
        polls.recv().await.expect("who is last is polled");
    }
    drop(numbers);
    assert_eq!(summed.recv().await, Some(5050));
    drop(polls);
    task.await.expect("who is last has ended");
}

#[tokio::test]
async fn a_panic_in_what_a_future_held_ends_that_one_alone() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("goes badly");
        }
    }
    let (together, members) = Together::new(Waker::wake);
    let task = tokio::spawn(members);
    let bad = Bad;
    together.spawn(poll_fn(move |_| {
        let _held = &bad;
        Poll::Ready(())
    }));
    let (done, mut finished) = mpsc::unbounded_channel();
    together.spawn(async move {
        let _ = done.send(());
    });
    assert_eq!(finished.recv().await, Some(()));
    task.abort();
}

#[tokio::test]
async fn what_is_left_when_the_task_ends_is_dropped_and_so_is_what_comes_later() {
    let (together, members) = Together::new(Waker::wake);
    let task = tokio::spawn(members);
    let alive = Arc::new(());
    let hold = |alive: Arc<()>| async move {
        pending::<()>().await;
        drop(alive);
    };
    together.spawn(hold(Arc::clone(&alive)));
    tokio::task::yield_now().await;
    together.spawn(hold(Arc::clone(&alive)));
    assert_eq!(Arc::strong_count(&alive), 3);
    task.abort();
    assert!(task.await.is_err());
    together.spawn(hold(Arc::clone(&alive)));
    assert_eq!(Arc::strong_count(&alive), 1);
}

/// Threads leave futures and call them while the task comes to rest: no call is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_is_lost_at_rest() {
    let (together, members) = Together::new(Waker::wake);
    let task = tokio::spawn(members);
    let (messages, mut receiver) = mpsc::unbounded_channel();
    let (answers, mut answered) = mpsc::unbounded_channel();
    let answer = answers.clone();
    together.spawn(async move {
        while let Some(message) = receiver.recv().await {
            let _ = answer.send(message);
        }
    });
    for round in 0..20_000 {
        messages.send(round).expect("listens");
        assert_eq!(answered.recv().await, Some(round));
        let answers = answers.clone();
        together.spawn(async move {
            let _ = answers.send(round);
        });
        assert_eq!(answered.recv().await, Some(round));
    }
    task.abort();
}
