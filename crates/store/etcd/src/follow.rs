//! Follows the cluster: reads everything once, then one watch delivers every change; a broken watch is opened again at
//! another endpoint. Guarantees that the observer receives each revision once, in order and complete, or a gap. Must
//! never advance without evidence: only on events, and on progress notifications of member versions that send them
//! correctly.

use crate::client::{RetryBudget, method};
use crate::import;
use crate::limits;
use crate::store::Shared;
use crate::wire::{
    EventType, RangeRequest, RangeResponse, WatchAction, WatchCreateRequest, WatchProgressRequest, WatchRequest,
    WatchResponse,
};
use bytes::Bytes;
use pintle_grpc::{Code, Status};
use pintle_storage::{Observer, Record, Revision, Started};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info};

/// Why a watch ended.
enum End {
    /// The endpoint failed; another, or this one later, continues.
    Broken(usize),
    /// The next revision was compacted, or does not follow the last one.
    Gone,
    /// The cluster's revision is lower than the published one.
    Behind,
}

/// Publishes the state at an old revision, so that `run` can publish the history since then.
///
/// # Errors
/// The cluster cannot be reached, or an import into it is unfinished.
pub(crate) async fn start(shared: &Shared, observer: &mut dyn Observer) -> Result<Started, Status> {
    let mut retries = RetryBudget::new(limits::START);
    loop {
        let current = shared.client.revision(limits::START).await?;
        if shared.is_unfinished().await {
            let why = format!("a copy to it was not finished; {}", import::ELSEWHERE);
            return Err(Status::new(Code::FailedPrecondition, why));
        }
        let base = oldest(shared, current).await?;
        match read_all(shared, base).await {
            Ok(records) => {
                let base = Revision(base);
                records.into_iter().for_each(|record| observer.replay(record, false));
                let started = Started { compacted: base, current: base };
                observer.replayed(started);
                shared.progress.reached(base.0);
                return Ok(Started { compacted: base, current: Revision(current) });
            }
            Err(status) if status.code == Code::OutOfRange && retries.wait(1).await => {}
            Err(status) => return Err(status),
        }
    }
}

/// The oldest readable revision within the wanted history.
async fn oldest(shared: &Shared, current: u64) -> Result<u64, Status> {
    let (mut gone, mut there) = (current.saturating_sub(limits::HISTORY_REVISIONS).max(1) - 1, current.max(1));
    // Most clusters keep more history than wanted, so the oldest wanted revision is tried first.
    let mut probe = gone + 1;
    while gone + 1 < there {
        let request = shared.client.probe(i64::try_from(probe).unwrap_or(i64::MAX));
        match shared.client.call::<RangeResponse>(method::RANGE, &request).await {
            Ok(_) => there = probe,
            Err(status) if status.code == Code::OutOfRange => gone = probe,
            Err(status) => return Err(status),
        }
        probe = gone + (there - gone) / 2;
    }
    Ok(there)
}

/// All keys under the prefix as of a revision.
async fn read_all(shared: &Shared, revision: u64) -> Result<Vec<Record>, Status> {
    let (mut key, end) = shared.keys.range();
    let mut records = Vec::new();
    loop {
        let request = RangeRequest {
            key,
            range_end: end.clone(),
            limit: limits::PAGE_KEYS,
            revision: i64::try_from(revision).unwrap_or(i64::MAX),
            count_only: false,
        };
        let page: RangeResponse = shared.client.call(method::RANGE, &request).await?;
        let next = page.kvs.last().map(|kv| [&kv.key[..], b"\0"].concat());
        for kv in page.kvs {
            let Some(key) = shared.keys.inner(&kv.key) else { continue };
            records.push(Record { revision: Revision(kv.mod_revision.unsigned_abs()), key, value: Some(kv.value) });
        }
        match next {
            Some(next) if page.more => key = Bytes::from(next),
            _ => return Ok(records),
        }
    }
}

/// Follows the cluster from the observer's revision until the future is dropped.
pub(crate) async fn run(shared: &Shared, mut observer: Box<dyn Observer>) {
    let (mut failures, mut is_gone) = (0, false);
    loop {
        let before = shared.progress.published();
        if is_gone {
            is_gone = read_anew(shared, observer.as_mut()).await.is_err();
            failures += usize::from(is_gone);
        } else {
            match watch(shared, observer.as_mut()).await {
                End::Broken(turn) => {
                    debug!(turn, revision = before, "the watch of etcd broke");
                    shared.client.failed(turn);
                    failures = if shared.progress.published() > before { 0 } else { failures + 1 };
                }
                End::Gone => {
                    info!(revision = before, "etcd does not tell what came next: everything is read anew");
                    is_gone = true;
                }
                // Unless everything was read again since.
                End::Behind => {
                    let answer = shared.revision(limits::CALL).await;
                    is_gone = answer.is_err_and(|status| status.code == Code::DataLoss);
                }
            }
        }
        if failures >= shared.client.endpoints() {
            tokio::time::sleep(limits::PAUSE.saturating_mul(failures.min(10) as u32).min(limits::PAUSE_MAX)).await;
        }
    }
}

/// Publishes the current state after a gap in history.
async fn read_anew(shared: &Shared, observer: &mut dyn Observer) -> Result<(), Status> {
    let current = shared.client.revision(limits::CALL).await?;
    let records = read_all(shared, current).await?;
    observer.replace(records, Revision(current));
    shared.progress.restarted(current);
    Ok(())
}

/// One watch, from the revision after the last that was published until it ends.
async fn watch(shared: &Shared, observer: &mut dyn Observer) -> End {
    let turn = shared.client.turn();
    let trusted = match shared.client.version(turn).await {
        Ok(version) => can_tell_progress(&version),
        Err(_) => return End::Broken(turn),
    };
    // If the member's progress notifications are not reliable, all keys are watched, so that each revision has an
    // event.
    let (key, range_end) = if trusted { shared.keys.range() } else { (ZERO, ZERO) };
    let next = shared.progress.published() + 1;
    let start_revision = i64::try_from(next).unwrap_or(i64::MAX);
    let create = WatchAction::Create(WatchCreateRequest { key, range_end, start_revision });
    let request = WatchRequest { action: Some(create) };
    let stream = shared.client.stream::<_, WatchResponse>(turn, method::WATCH, request).await;
    let Ok(mut stream) = stream else { return End::Broken(turn) };
    let mut heard = Instant::now();
    // When to check for overdue waiters, and whether that is sooner than usual.
    let (mut look, mut is_overdue) = (None, false);
    loop {
        let at = look.unwrap_or_else(Instant::now);
        tokio::select! {
            biased;
            message = stream.message() => {
                heard = Instant::now();
                let mut batch = Batch::default();
                let mut next = Some(message);
                let mut end = None;
                while let Some(message) = next {
                    end = match message {
                        Ok(Some(response)) => batch.take(shared, response, trusted, turn),
                        _ => Some(End::Broken(turn)),
                    };
                    let more = end.is_none() && batch.records.len() < limits::BATCH_RECORDS;
                    next = if more { at_once(stream.message()).await } else { None };
                }
                batch.publish(shared, observer);
                if let Some(end) = end {
                    return end;
                }
            }
            () = shared.progress.behind.notified() => return End::Behind,
            () = shared.compacted.news.notified() => {
                // The history that the cache serves is limited by compaction and by the published revision.
                let revision = shared.compacted.revision().min(shared.progress.published());
                observer.compacted(Revision(revision));
            }
            () = shared.progress.overdue.notified(), if !is_overdue => {
                let now = Instant::now();
                if look.is_none() {
                    heard = now;
                }
                (look, is_overdue) = (Some(now), true);
            }
            () = shared.progress.expected.notified(), if look.is_none() => {
                heard = Instant::now();
                look = Some(heard + limits::EVENT_LATE);
            }
            () = sleep_until(at), if look.is_some() => {
                if shared.progress.wanted().is_none() {
                    (look, is_overdue) = (None, false);
                    continue;
                }
                if heard.elapsed() > limits::SILENCE {
                    return End::Broken(turn);
                }
                look = Some(Instant::now() + limits::PROGRESS_PERIOD);
                let ask = WatchRequest { action: Some(WatchAction::Progress(WatchProgressRequest {})) };
                if trusted && stream.send(ask).is_err() {
                    return End::Broken(turn);
                }
            }
        }
    }
}

/// As a start key the first key; as a range end no end.
const ZERO: Bytes = Bytes::from_static(b"\0");

/// The output of a future that is ready.
async fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Changes of a watch that are published together.
#[derive(Default)]
struct Batch {
    records: Vec<Record>,
    /// The revision up to which the batch is complete.
    last: u64,
}

impl Batch {
    /// Adds a response; `Some` if the watch has ended.
    fn take(&mut self, shared: &Shared, response: WatchResponse, trusted: bool, turn: usize) -> Option<End> {
        if response.compact_revision > 0 {
            return Some(End::Gone);
        }
        if response.canceled {
            return Some(End::Broken(turn));
        }
        let cluster = response.header.as_ref().map_or(0, |header| header.cluster_id);
        if response.created && !shared.progress.follows(cluster) {
            return Some(End::Gone);
        }
        let before = self.last.max(shared.progress.published());
        if response.events.is_empty() && trusted && !response.created {
            self.last = response.header.map_or(0, |header| header.revision.unsigned_abs()).max(before);
        }
        for event in response.events {
            let delete = event.r#type == i32::from(EventType::Delete);
            let Some(kv) = event.kv else { continue };
            let revision = kv.mod_revision.unsigned_abs();
            if revision <= before {
                continue;
            }
            self.last = self.last.max(revision);
            let Some(key) = shared.keys.inner(&kv.key) else { continue };
            self.records.push(Record { revision: Revision(revision), key, value: (!delete).then_some(kv.value) });
        }
        None
    }

    fn publish(self, shared: &Shared, observer: &mut dyn Observer) {
        if self.last > shared.progress.published() {
            observer.publish(&self.records, Revision(self.last));
            shared.progress.reached(self.last);
        }
    }
}

/// Whether members of this version send progress notifications only after all events up to their revision.
fn can_tell_progress(version: &str) -> bool {
    let mut numbers = version.split(['.', '-', '+']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (3, 5, 13) || ((3, 4, 31)..(3, 5, 0)).contains(&version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_notifications_are_trusted_from_fixed_versions_only() {
        for (version, trusted) in [
            ("3.4.23", false),
            ("3.4.31", true),
            ("3.5.0", false),
            ("3.5.12", false),
            ("3.5.13", true),
            ("3.5.16", true),
            ("3.6.0-rc.1", true),
            ("4.0.0", true),
            ("", false),
        ] {
            assert_eq!(can_tell_progress(version), trusted, "{version}");
        }
    }
}
