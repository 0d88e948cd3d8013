//! Filling an empty cluster with values that keep their revisions: how a cluster's objects move here from elsewhere.
//! Guarantees that each value has the revision that it had, or an error: etcd counts by itself, so it is made to count.
//! Must never touch a cluster that others write to, or that has counted too far.

use crate::client::method;
use crate::store::Shared;
use crate::wire::{
    CompactionRequest, CompactionResponse, Compare, CompareTarget, Compared, DeleteRangeRequest, Op, PutRequest,
    RangeRequest, RangeResponse, RequestOp, TxnRequest, TxnResponse,
};
use crate::{EtcdStore, limits};
use bytes::Bytes;
use pintle_grpc::{Code, Status};
use pintle_storage::{Record, Revision, StoreError};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::Poll;
use tokio::task::JoinSet;

/// Written over and over where the source had no value of this revision any more. Outside of every prefix.
const FILLER: Bytes = Bytes::from_static(b"pintle_store_copy_filler");

/// How many fillers are under way at once.
const FILLERS: usize = 256;

/// How many revisions are made in one row, each of which waits for the one before: etcd syncs once for those that it got
/// together. It may get them in another order than they were sent in, and then what came too early is sent again.
const ROW: usize = 64;

/// From so many missing revisions on they are counted without order.
const GAP: u64 = 256;

impl EtcdStore {
    /// Writes these values, in the order of their revisions, so that etcd gives each the revision that it has; then
    /// counts on to `current`, and one further. Blocks, so it must not be called where tasks of the runtime run.
    ///
    /// # Errors
    /// The cluster is not empty, has counted too far, or somebody else writes to it.
    pub fn import(&self, records: &[Record], current: Revision) -> Result<(), StoreError> {
        let fill = async {
            let first = records.first().map_or(current, |first| first.revision);
            let mut revision = self.shared.begin(first).await?;
            revision = self.shared.fill(revision, first.0.saturating_sub(1)).await?;
            let mut row = Row::default();
            for group in records.chunk_by(|one, next| one.revision == next.revision) {
                let Some(wanted) = group.first().map(|record| record.revision.0) else { continue };
                let made = revision + row.steps.len() as u64;
                let gap = wanted.saturating_sub(made + 1);
                if gap < GAP {
                    row.steps.extend((0..gap).map(|_| Step::filler()));
                } else {
                    revision = self.shared.make(&mut row, revision).await?;
                    revision = self.shared.fill(revision, wanted - 1).await?;
                    row.last = None;
                }
                row.steps.push_back(self.shared.step(group).await?);
                while row.steps.len() >= ROW {
                    revision = self.shared.send(&mut row, revision).await?;
                }
            }
            revision = self.shared.make(&mut row, revision).await?;
            self.shared.fill(revision, current.0).await?;
            self.shared.end().await
        };
        self.runtime.block_on(fill).map_err(StoreError::Remote)
    }
}

/// What makes one revision.
struct Step {
    writes: Vec<RequestOp>,
    /// A key that it writes.
    key: Bytes,
}

impl Step {
    fn filler() -> Step {
        Step { writes: vec![put(FILLER, Bytes::new(), 0)], key: FILLER }
    }
}

/// Revisions that are still to be made, in their order.
#[derive(Default)]
struct Row {
    steps: VecDeque<Step>,
    /// A key that was written at the newest revision, when it was made in a row.
    last: Option<Bytes>,
}

fn disturbed(wanted: u64, found: u64) -> String {
    format!("the cluster stands at revision {found} where it should be at {wanted}: somebody else writes to it")
}

fn failed(status: Status) -> String {
    format!("etcd: {:?}: {}", status.code, status.message)
}

fn put(key: Bytes, value: Bytes, lease: i64) -> RequestOp {
    RequestOp { request: Some(Op::Put(PutRequest { key, value, lease })) }
}

impl Shared {
    /// The revision of a cluster that holds nothing under the prefix and has not come to the first revision yet.
    async fn begin(&self, first: Revision) -> Result<u64, String> {
        let (key, range_end) = self.keys.range();
        let request = RangeRequest { key, range_end, limit: 1, ..RangeRequest::default() };
        let found: RangeResponse = self.client.call(method::RANGE, &request).await.map_err(failed)?;
        let revision = found.header.map_or(0, |header| header.revision.unsigned_abs());
        if let Some(found) = found.kvs.first() {
            return Err(format!("the cluster is not empty: there is {}", String::from_utf8_lossy(&found.key)));
        }
        if revision >= first.0 {
            return Err(format!("the cluster has counted to {revision}, and the first revision to be kept is {first}"));
        }
        Ok(revision)
    }

    /// One transaction; answers the revision that it made.
    async fn write(&self, success: Vec<RequestOp>) -> Result<u64, String> {
        let request = TxnRequest { success, ..TxnRequest::default() };
        // Never twice: a second one would count on.
        let answer = self.client.attempt::<TxnResponse>(self.client.turn(), limits::CALL, method::TXN, &request).await;
        Ok(answer.map_err(failed)?.header.map_or(0, |header| header.revision.unsigned_abs()))
    }

    /// What writes the values of one revision. A transaction may have so many operations, but each of them may be a
    /// transaction.
    async fn step(&self, group: &[Record]) -> Result<Step, String> {
        let mut puts = Vec::with_capacity(group.len());
        for record in group {
            let Some(value) = &record.value else { continue };
            let lease = match self.lifetime(&record.key) {
                0 => 0,
                seconds => self.leases.lease(&self.client, seconds).await.map_err(failed)?,
            };
            puts.push(put(self.keys.outer(&record.key), value.clone(), lease));
        }
        let key = group.first().map_or(FILLER, |first| self.keys.outer(&first.key));
        let most = limits::TRANSACTION_WRITES;
        if puts.len() <= most {
            return Ok(Step { writes: puts, key });
        }
        let nested = puts.chunks(most / 2).map(|puts| {
            let inner = TxnRequest { success: puts.to_vec(), ..TxnRequest::default() };
            RequestOp { request: Some(Op::Txn(inner)) }
        });
        Ok(Step { writes: nested.collect(), key })
    }

    /// Makes all revisions of a row after one revision; answers the last.
    async fn make(&self, row: &mut Row, mut revision: u64) -> Result<u64, String> {
        while !row.steps.is_empty() {
            revision = self.send(row, revision).await?;
        }
        Ok(revision)
    }

    /// Sends the first of a row together, and takes from it what was made: at least the very first.
    async fn send(&self, row: &mut Row, revision: u64) -> Result<u64, String> {
        let mut before = row.last.clone().map(|key| (key, revision));
        let mut calls = Vec::with_capacity(ROW);
        for (step, wanted) in row.steps.iter().take(ROW).zip(revision + 1..) {
            let compare = before.replace((step.key.clone(), wanted)).map(|(key, revision)| Compare {
                target: CompareTarget::Mod.into(),
                key,
                to: Some(Compared::Mod(i64::try_from(revision).unwrap_or(i64::MAX))),
            });
            let compare = compare.into_iter().collect();
            let request = TxnRequest { compare, success: step.writes.clone(), ..TxnRequest::default() };
            let client = &self.client;
            // Never twice when it is not known what became of it: a second one would count on.
            calls.push(async move {
                client.attempt::<TxnResponse>(client.turn(), limits::CALL, method::TXN, &request).await
            });
        }
        let (mut reached, mut found) = (revision, revision);
        for answer in together(calls).await {
            let answer = answer.map_err(failed)?;
            let made = answer.header.map_or(0, |header| header.revision.unsigned_abs());
            found = found.max(made);
            match answer.succeeded {
                true if made == reached + 1 => reached = made,
                true => return Err(disturbed(reached + 1, made)),
                // It came too early, and what was to follow it did so as well.
                false => {}
            }
        }
        if reached == revision {
            return Err(disturbed(revision, found));
        }
        for _ in revision..reached {
            row.last = row.steps.pop_front().map(|step| step.key);
        }
        Ok(reached)
    }

    /// Counts from one revision to another, many writes at a time: only their number matters.
    async fn fill(&self, from: u64, to: u64) -> Result<u64, String> {
        let mut running: JoinSet<Result<u64, String>> = JoinSet::new();
        let (mut left, mut reached) = (to.saturating_sub(from), from);
        while left > 0 || !running.is_empty() {
            while left > 0 && running.len() < FILLERS {
                let client = self.client.clone();
                running.spawn(async move {
                    let success = vec![put(FILLER, Bytes::new(), 0)];
                    let request = TxnRequest { success, ..TxnRequest::default() };
                    let answer = client
                        .attempt::<TxnResponse>(client.turn(), crate::limits::ATTEMPT_MAX, method::TXN, &request)
                        .await;
                    Ok(answer.map_err(failed)?.header.map_or(0, |header| header.revision.unsigned_abs()))
                });
                left -= 1;
            }
            match running.join_next().await {
                Some(Ok(revision)) => reached = reached.max(revision?),
                Some(Err(error)) => return Err(error.to_string()),
                None => break,
            }
        }
        if reached == to { Ok(to) } else { Err(disturbed(to, reached)) }
    }

    /// Takes the filler away, and gives up the history of the filling.
    async fn end(&self) -> Result<(), String> {
        let request = Op::Delete(DeleteRangeRequest { key: FILLER });
        let revision = self.write(vec![RequestOp { request: Some(request) }]).await?;
        let request = CompactionRequest { revision: i64::try_from(revision).unwrap_or(i64::MAX) };
        let compacted: Result<CompactionResponse, Status> = self.client.call(method::COMPACT, &request).await;
        // Without fillers there was nothing to delete, and there may be nothing to compact.
        compacted.map(drop).or_else(|status| if status.code == Code::OutOfRange { Ok(()) } else { Err(failed(status)) })
    }
}

/// What comes of futures that are begun in their order and run at the same time.
async fn together<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        let mut is_done = true;
        for (future, outcome) in running.iter_mut().filter(|(_, outcome)| outcome.is_none()) {
            match future.as_mut().poll(context) {
                Poll::Ready(done) => *outcome = Some(done),
                Poll::Pending => is_done = false,
            }
        }
        if is_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    running.into_iter().filter_map(|(_, outcome)| outcome).collect()
}
