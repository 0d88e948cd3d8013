//! Tests count what ran where: a computation waits for another task, which only runs if the worker thread was left to it.

use super::*;
use futures_util::stream::{self, StreamExt};
use std::sync::{Barrier, mpsc};

const USER: Str = Str::new_static("user");

fn one_worker() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

/// Computes until its budget is used up, and gives way.
async fn use_up_the_budget() {
    let began = Instant::now();
    while began.elapsed() <= limits::BUDGET {}
    Loop::default().step(usize::MAX).await;
}

/// Blocks until another task of the same worker thread has run.
fn other_task_runs(runtime: &tokio::runtime::Runtime) -> impl FnOnce() -> bool + Send + use<> {
    let (ran, wait) = mpsc::channel();
    let handle = runtime.handle().clone();
    move || {
        handle.spawn(async move { ran.send(()) });
        wait.recv_timeout(Duration::from_secs(60)).is_ok()
    }
}

#[test]
fn long_computations_leave_the_worker_thread_to_others() {
    let runtime = one_worker();
    let turns = Arc::<Turns>::default();
    let declared = other_task_runs(&runtime);
    let found = other_task_runs(&runtime);
    let by_input = run(
        &turns,
        &USER,
        0,
        Box::pin(async move {
            expect_input(limits::LARGE_INPUT_BYTES).await;
            declared()
        }),
    );
    assert!(runtime.block_on(runtime.spawn(by_input)).expect("no panic"));
    assert_eq!(turns.taken(), 1);
    let by_time = run(
        &turns,
        &USER,
        0,
        Box::pin(async move {
            use_up_the_budget().await;
            found()
        }),
    );
    assert!(runtime.block_on(runtime.spawn(by_time)).expect("no panic"));
    assert_eq!(turns.taken(), 2);
}

#[test]
fn short_computations_take_no_turns() {
    let runtime = one_worker();
    let turns = Arc::<Turns>::default();
    let short = run(
        &turns,
        &USER,
        0,
        Box::pin(async {
            expect_input(limits::LARGE_INPUT_BYTES - 1).await;
            Loop::default().step(limits::STEPS_PER_LOOK - 1).await;
            tokio::task::yield_now().await;
        }),
    );
    runtime.block_on(runtime.spawn(short)).expect("no panic");
    assert_eq!(turns.taken(), 0);
}

#[test]
fn few_computations_run_at_a_time() {
    let runtime = one_worker();
    let turns = Arc::<Turns>::default();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), std::thread::available_parallelism().map_or(1, NonZero::get));
    let met = Arc::new(Barrier::new(most));
    let requests: Vec<_> = (0..3 * most)
        .map(|_| {
            let (now, met) = (now.clone(), met.clone());
            runtime.spawn(run(
                &turns,
                &USER,
                0,
                Box::pin(async move {
                    expect_long().await;
                    let at_once = now.fetch_add(1, Ordering::SeqCst) + 1;
                    // As many as are allowed run at the same time.
                    met.wait();
                    now.fetch_sub(1, Ordering::SeqCst);
                    at_once
                }),
            ))
        })
        .collect();
    for request in requests {
        assert!(runtime.block_on(request).expect("no panic") <= most);
    }
}

/// A user whose computations cannot be interrupted does not keep another from the processors.
#[test]
fn a_user_without_a_turn_gets_one() {
    let runtime = one_worker();
    let turns = Arc::<Turns>::default();
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let (go_on, wait) = mpsc::channel();
    let wait = Arc::new(std::sync::Mutex::new(wait));
    let greedy: Vec<_> = (0..2 * processors)
        .map(|_| {
            let wait = wait.clone();
            runtime.spawn(run(
                &turns,
                &USER,
                0,
                Box::pin(async move {
                    expect_long().await;
                    wait.lock().is_ok_and(|wait| wait.recv().is_ok())
                }),
            ))
        })
        .collect();
    let other = runtime.spawn(run(&turns, &Str::new_static("other"), 0, Box::pin(expect_long())));
    runtime.block_on(other).expect("no panic");
    for _ in &greedy {
        go_on.send(()).expect("it waits");
    }
    for request in greedy {
        assert!(runtime.block_on(request).expect("no panic"));
    }
}

/// One that waits for something else, such as a webhook, has no turn meanwhile, but keeps the room for its input.
#[test]
fn waiting_requests_hold_no_turn() {
    let runtime = one_worker();
    let turns = Arc::<Turns>::default();
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            let (answer, asked) = oneshot::channel::<()>();
            let request = runtime.spawn(run(
                &turns,
                &USER,
                0,
                Box::pin(async move {
                    expect_input(limits::LARGE_INPUT_BYTES).await;
                    asked.await.is_ok()
                }),
            ));
            (answer, request)
        })
        .collect();
    runtime.block_on(runtime.spawn(run(&turns, &USER, 0, Box::pin(expect_long())))).expect("no panic");
    for (answer, request) in waiting {
        answer.send(()).expect("it waits");
        assert!(runtime.block_on(request).expect("no panic"));
    }
}

#[test]
fn a_single_thread_does_all_work() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let large = run(
        &Arc::default(),
        &USER,
        0,
        Box::pin(async {
            expect_input(usize::MAX).await;
            use_up_the_budget().await;
            7
        }),
    );
    assert_eq!(runtime.block_on(large), 7);
}

#[test]
fn pieces_that_take_long_are_made_in_turns() {
    let runtime = one_worker();
    let turns = Arc::<Turns>::default();
    let others = [other_task_runs(&runtime), other_task_runs(&runtime)];
    let first = std::iter::once_with(|| {
        std::thread::sleep(limits::PIECE);
        true
    });
    let long = first.chain(others.into_iter().map(|other| {
        std::thread::sleep(limits::PIECE);
        other()
    }));
    let made = pieces(&turns, &USER, stream::iter(long));
    let sent = runtime.block_on(runtime.spawn(made.collect::<Vec<_>>())).expect("no panic");
    assert_eq!(sent, [true; 3]);
    // The second, the third, and the end.
    assert_eq!(turns.taken(), 3);
}

#[test]
fn pieces_are_made_when_they_are_asked_for() {
    let runtime = one_worker();
    let made = Arc::new(AtomicUsize::new(0));
    let counted = made.clone();
    let mut body = pieces(&Arc::default(), &USER, stream::repeat_with(move || counted.fetch_add(1, Ordering::Relaxed)));
    runtime.block_on(async {
        for asked in 0..5 {
            assert_eq!(body.next().await, Some(asked));
            assert_eq!(made.load(Ordering::Relaxed), asked + 1);
        }
    });
}

#[test]
fn what_took_long_before_takes_turns_from_its_beginning() {
    let runtime = one_worker();
    let turns = Arc::<Turns>::default();
    for _ in 0..2 {
        let undeclared = run(&turns, &USER, 7, Box::pin(async { std::thread::sleep(limits::BUDGET) }));
        runtime.block_on(runtime.spawn(undeclared)).expect("no panic");
    }
    assert_eq!(turns.taken(), 0);
    let other = other_task_runs(&runtime);
    let next = run(&turns, &USER, 7, Box::pin(async move { other() }));
    assert!(runtime.block_on(runtime.spawn(next)).expect("no panic"));
    assert_eq!(turns.taken(), 1);
}
