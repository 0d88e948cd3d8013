//! Filling an empty cluster with values that keep their revisions: how a cluster's objects move here from elsewhere.
//! Guarantees that each value has the revision that it had, or an error: etcd counts by itself, so it is made to count.
//! Must never touch a cluster that others write to, or that has counted too far.

use crate::client::method;
use crate::store::Shared;
use crate::wire::{
    CompactionRequest, CompactionResponse, DeleteRangeRequest, Op, PutRequest, RangeRequest, RangeResponse, RequestOp,
    TxnRequest, TxnResponse,
};
use crate::{EtcdStore, limits};
use bytes::Bytes;
use pintle_grpc::{Code, Status};
use pintle_storage::{Record, Revision, StoreError};
use tokio::task::JoinSet;

/// Written over and over where the source had no value of this revision any more. Outside of every prefix.
const FILLER: &[u8] = b"pintle_store_copy_filler";

/// How many fillers are under way at once.
const FILLERS: usize = 256;

impl EtcdStore {
    /// Writes these values, in the order of their revisions, so that etcd gives each the revision that it has; then
    /// counts on to `current`, and one further. Blocks, so it must not be called where tasks of the runtime run.
    ///
    /// # Errors
    /// The cluster is not empty, has counted too far, or somebody else writes to it.
    pub fn import(&self, records: &[Record], current: Revision) -> Result<(), StoreError> {
        let fill = async {
            let mut revision = self.shared.begin(records.first().map_or(current, |first| first.revision)).await?;
            for group in records.chunk_by(|one, next| one.revision == next.revision) {
                let Some(wanted) = group.first().map(|record| record.revision.0) else { continue };
                self.shared.fill(revision, wanted - 1).await?;
                revision = self.shared.put_all(group).await?;
                if revision != wanted {
                    return Err(disturbed(wanted, revision));
                }
            }
            self.shared.fill(revision, current.0).await?;
            self.shared.end().await
        };
        self.runtime.block_on(fill).map_err(StoreError::Remote)
    }
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

    /// Values of one revision. A transaction may have so many operations, but each of them may be a transaction.
    async fn put_all(&self, group: &[Record]) -> Result<u64, String> {
        let mut puts = Vec::with_capacity(group.len());
        for record in group {
            let Some(value) = &record.value else { continue };
            let lease = match self.lifetime(&record.key) {
                0 => 0,
                seconds => self.leases.lease(&self.client, seconds).await.map_err(failed)?,
            };
            puts.push(put(self.keys.outer(&record.key), value.clone(), lease));
        }
        let most = limits::TRANSACTION_WRITES;
        if puts.len() <= most {
            return self.write(puts).await;
        }
        let half = most / 2;
        let nested = puts.chunks(half).map(|puts| {
            let inner = TxnRequest { success: puts.to_vec(), ..TxnRequest::default() };
            RequestOp { request: Some(Op::Txn(inner)) }
        });
        self.write(nested.collect()).await
    }

    /// Counts from one revision to another, many writes at a time: only their number matters.
    async fn fill(&self, from: u64, to: u64) -> Result<u64, String> {
        let mut running: JoinSet<Result<u64, String>> = JoinSet::new();
        let (mut left, mut reached) = (to.saturating_sub(from), from);
        while left > 0 || !running.is_empty() {
            while left > 0 && running.len() < FILLERS {
                let client = self.client.clone();
                running.spawn(async move {
                    let success = vec![put(Bytes::from_static(FILLER), Bytes::new(), 0)];
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
        let request = Op::Delete(DeleteRangeRequest { key: Bytes::from_static(FILLER) });
        let revision = self.write(vec![RequestOp { request: Some(request) }]).await?;
        let request = CompactionRequest { revision: i64::try_from(revision).unwrap_or(i64::MAX) };
        let compacted: Result<CompactionResponse, Status> = self.client.call(method::COMPACT, &request).await;
        // Without fillers there was nothing to delete, and there may be nothing to compact.
        compacted.map(drop).or_else(|status| if status.code == Code::OutOfRange { Ok(()) } else { Err(failed(status)) })
    }
}
