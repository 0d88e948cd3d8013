//! Imports values with their revisions into an empty cluster, to move the objects of another store. Guarantees that each value
//! has its original revision, or an error: etcd assigns revisions itself, so filler writes advance it. Must never touch a
//! cluster that others write to, or whose revision is too high.

use crate::client::method;
use crate::store::Shared;
use crate::wire::{
    CompactionRequest, CompactionResponse, Compare, CompareTarget, Compared, DeleteRangeRequest, Op, PutRequest,
    RangeRequest, RangeResponse, RequestOp, TxnRequest, TxnResponse,
};
use crate::{EtcdStore, limits};
use bytes::Bytes;
use futures_util::future::join_all;
use pintle_grpc::{Code, Status};
use pintle_storage::{Record, Revision, StoreError};
use std::collections::VecDeque;
use tokio::task::JoinSet;

/// Written once per revision for which the source has no value. Outside of every prefix.
const FILLER: Bytes = Bytes::from_static(b"pintle_store_copy_filler");

/// How many fillers are under way at once.
const FILLERS: usize = 256;

/// Number of revisions sent concurrently, each conditional on its predecessor: etcd syncs once for those that arrive together.
/// If they arrive in another order, those that came too early are sent again.
const ROW: usize = 64;

/// The advice for a cluster that cannot be filled.
pub const ELSEWHERE: &str = "a new cluster is needed, also where an interrupted copy is to be done again";

/// From so many missing revisions on they are counted without order.
const GAP: u64 = 256;

impl EtcdStore {
    /// Writes these values, in the order of their revisions, so that etcd gives each the revision that it has; then
    /// counts on to `current`, and one further. Blocks, so it must not be called where tasks of the runtime run.
    ///
    /// # Errors
    /// The cluster is not empty, its revision is too high, or another client writes to it.
    pub fn import(&self, records: &[Record], current: Revision) -> Result<(), StoreError> {
        if !records.is_sorted_by_key(|record| record.revision)
            || records.last().is_some_and(|last| last.revision > current)
        {
            return Err(StoreError::Remote("the values are not in the order of their revisions".to_owned()));
        }
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

/// The writes of one revision.
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

impl Row {
    /// The transactions for the next revisions, each conditional on its predecessor.
    fn requests(&self, revision: u64) -> Vec<TxnRequest> {
        let mut before = self.last.clone().map(|key| (key, revision));
        let steps = self.steps.iter().take(ROW).zip(revision + 1..);
        let requests = steps.map(|(step, wanted)| {
            let compare = before.replace((step.key.clone(), wanted)).map(|(key, revision)| Compare {
                target: CompareTarget::Mod.into(),
                key,
                to: Some(Compared::Mod(i64::try_from(revision).unwrap_or(i64::MAX))),
            });
            TxnRequest { compare: compare.into_iter().collect(), success: step.writes.clone(), ..TxnRequest::default() }
        });
        requests.collect()
    }

    /// Removes the finished steps, at least the first; returns the last revision.
    fn made(&mut self, revision: u64, answers: &[TxnResponse]) -> Result<u64, String> {
        let (mut reached, mut found) = (revision, revision);
        for answer in answers {
            let made = revision_of(answer);
            found = found.max(made);
            match answer.succeeded {
                true if made == reached + 1 => reached = made,
                true => return Err(disturbed(reached + 1, made)),
                // Sent too early, and so were its successors.
                false => {}
            }
        }
        if reached == revision {
            return Err(disturbed(revision, found));
        }
        for _ in revision..reached {
            self.last = self.steps.pop_front().map(|step| step.key);
        }
        Ok(reached)
    }
}

fn revision_of(answer: &TxnResponse) -> u64 {
    answer.header.as_ref().map_or(0, |header| header.revision.unsigned_abs())
}

fn disturbed(wanted: u64, found: u64) -> String {
    let what = format!("the cluster stands at revision {found} where it should be at {wanted}");
    format!("{what}: somebody else writes to it; {ELSEWHERE}")
}

fn failed(status: Status) -> String {
    format!("etcd: {:?}: {}", status.code, status.message)
}

fn put(key: Bytes, value: Bytes, lease: i64) -> RequestOp {
    RequestOp { request: Some(Op::Put(PutRequest { key, value, lease })) }
}

impl Shared {
    /// The revision of a cluster that has no key under the prefix and is below the first revision.
    async fn begin(&self, first: Revision) -> Result<u64, String> {
        let (key, range_end) = self.keys.range();
        let request = RangeRequest { key, range_end, limit: 1, ..RangeRequest::default() };
        let found: RangeResponse = self.client.call(method::RANGE, &request).await.map_err(failed)?;
        let revision = found.header.map_or(0, |header| header.revision.unsigned_abs());
        if let Some(found) = found.kvs.first() {
            let found = String::from_utf8_lossy(&found.key);
            return Err(format!("the cluster is not empty: there is {found}; {ELSEWHERE}"));
        }
        if revision >= first.0 {
            let what = format!("the cluster has counted to {revision}, and the first revision to be kept is {first}");
            return Err(format!("{what}; {ELSEWHERE}"));
        }
        Ok(revision)
    }

    /// Runs one transaction; returns its revision.
    async fn write(&self, success: Vec<RequestOp>) -> Result<u64, String> {
        let request = TxnRequest { success, ..TxnRequest::default() };
        // Never twice: a second one would count on.
        let answer = self.client.attempt::<TxnResponse>(self.client.turn(), limits::CALL, method::TXN, &request).await;
        Ok(revision_of(&answer.map_err(failed)?))
    }

    /// The writes of the values of one revision. A transaction is limited in operations, but each of them may be a
    /// transaction.
    async fn step(&self, group: &[Record]) -> Result<Step, String> {
        let mut step = Step { writes: Vec::with_capacity(group.len()), key: FILLER };
        for record in group {
            let Some(value) = &record.value else { continue };
            let lease = match self.lifetime(&record.key) {
                0 => 0,
                seconds => self.leases.lease(&self.client, seconds).await.map_err(failed)?,
            };
            step.key = self.keys.outer(&record.key);
            step.writes.push(put(step.key.clone(), value.clone(), lease));
        }
        if step.writes.is_empty() {
            return Ok(Step::filler());
        }
        let most = limits::TRANSACTION_WRITES;
        if step.writes.len() > most {
            let nested = step.writes.chunks(most / 2).map(|puts| {
                let inner = TxnRequest { success: puts.to_vec(), ..TxnRequest::default() };
                RequestOp { request: Some(Op::Txn(inner)) }
            });
            step.writes = nested.collect();
        }
        Ok(step)
    }

    /// Writes all revisions of a row after one revision; returns the last.
    async fn make(&self, row: &mut Row, mut revision: u64) -> Result<u64, String> {
        while !row.steps.is_empty() {
            revision = self.send(row, revision).await?;
        }
        Ok(revision)
    }

    /// Sends the first transactions of a row concurrently, and removes finished steps; returns the last revision.
    async fn send(&self, row: &mut Row, revision: u64) -> Result<u64, String> {
        let client = &self.client;
        let calls = row.requests(revision).into_iter().map(|request| async move {
            // Never repeated if its outcome is unknown: a second one would advance the revision further.
            client.attempt::<TxnResponse>(client.turn(), limits::CALL, method::TXN, &request).await
        });
        let answers: Result<Vec<_>, _> = join_all(calls).await.into_iter().collect();
        row.made(revision, &answers.map_err(failed)?)
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
                    Ok(revision_of(&answer.map_err(failed)?))
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

    /// Whether an import is unfinished, from the filler key; false if it cannot be read.
    pub async fn is_unfinished(&self) -> bool {
        let request = RangeRequest { key: FILLER, ..RangeRequest::default() };
        let found = self.client.call::<RangeResponse>(method::RANGE, &request).await;
        found.is_ok_and(|found| !found.kvs.is_empty())
    }

    /// Deletes the filler key, and compacts the history of the import.
    async fn end(&self) -> Result<(), String> {
        let request = Op::Delete(DeleteRangeRequest { key: FILLER });
        let revision = self.write(vec![RequestOp { request: Some(request) }]).await?;
        let request = CompactionRequest { revision: i64::try_from(revision).unwrap_or(i64::MAX) };
        let compacted: Result<CompactionResponse, Status> = self.client.call(method::COMPACT, &request).await;
        // Without fillers there was nothing to delete, and there may be nothing to compact.
        compacted.map(drop).or_else(|status| if status.code == Code::OutOfRange { Ok(()) } else { Err(failed(status)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ResponseHeader;
    use std::collections::HashMap;

    /// A simulated etcd.
    #[derive(Default)]
    struct Cluster {
        revision: u64,
        changed: HashMap<Bytes, u64>,
    }

    impl Cluster {
        fn answer(&mut self, request: &TxnRequest) -> TxnResponse {
            let changed = |key: &Bytes| self.changed.get(key).copied().unwrap_or_default();
            let holds = |compare: &Compare| compare.to == Some(Compared::Mod(changed(&compare.key).cast_signed()));
            let succeeded = request.compare.iter().all(holds);
            if succeeded {
                self.revision += 1;
                for operation in &request.success {
                    let Some(Op::Put(put)) = &operation.request else { continue };
                    self.changed.insert(put.key.clone(), self.revision);
                }
            }
            let header = Some(ResponseHeader { revision: self.revision.cast_signed(), ..ResponseHeader::default() });
            TxnResponse { header, succeeded, ..TxnResponse::default() }
        }
    }

    fn key(revision: u64) -> Bytes {
        Bytes::from(format!("/{revision}"))
    }

    /// The steps for these revisions; every third one is filler.
    fn row(revisions: std::ops::RangeInclusive<u64>) -> Row {
        let step = |revision| match revision % 3 {
            0 => Step::filler(),
            _ => Step { writes: vec![put(key(revision), Bytes::new(), 0)], key: key(revision) },
        };
        Row { steps: revisions.map(step).collect(), last: None }
    }

    #[test]
    fn revisions_are_kept_in_any_order_of_transactions() {
        for stride in [1, 3, 7, 29, 63] {
            let (mut cluster, mut row, mut revision, mut sent) = (Cluster::default(), row(1..=500), 0, 0);
            while !row.steps.is_empty() {
                let requests = row.requests(revision);
                let mut answers = vec![TxnResponse::default(); requests.len()];
                // The last first, then every n-th until all are done.
                let last = requests.len() - 1;
                for turn in (0..stride).flat_map(|turn| (turn..=last).step_by(stride)) {
                    answers[last - turn] = cluster.answer(&requests[last - turn]);
                }
                revision = row.made(revision, &answers).expect("some were made");
                sent += 1;
            }
            assert_eq!((revision, cluster.revision), (500, 500));
            assert!((1..=500).filter(|it| it % 3 > 0).all(|it| cluster.changed[&key(it)] == it), "stride {stride}");
            assert!(sent > 500_usize.div_ceil(ROW), "none came too early");
        }
    }

    #[test]
    fn writes_of_others_are_noticed() {
        for at in [0, 5, 63] {
            let (mut cluster, mut row) = (Cluster::default(), row(1..=100));
            let mut answers = Vec::new();
            for (turn, request) in row.requests(0).iter().enumerate() {
                cluster.revision += u64::from(turn == at);
                answers.push(cluster.answer(request));
            }
            assert!(row.made(0, &answers).is_err_and(|error| error.contains("somebody else writes")), "{at}");
        }
        let (mut cluster, mut row) = (Cluster::default(), row(1..=100));
        let answers: Vec<_> = row.requests(0).iter().map(|request| cluster.answer(request)).collect();
        let revision = row.made(0, &answers).expect("all were made");
        cluster.changed.insert(row.last.clone().expect("a key"), 1000);
        let answers: Vec<_> = row.requests(revision).iter().map(|request| cluster.answer(request)).collect();
        assert!(row.made(revision, &answers).is_err(), "what they were to follow is gone");
    }
}
