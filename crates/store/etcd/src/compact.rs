//! Compaction: one of the servers of a cluster compacts history that is older than one interval. Guarantees that
//! servers coordinate by the version of one key, as kube-apiserver does, so that both can run together, and that each
//! learns how far the others compacted. Must never compact the last interval.

use crate::client::{Client, method};
use crate::limits::ATTEMPT_MAX;
use crate::wire::{
    CompactionRequest, CompactionResponse, Compare, CompareTarget, Compared, Op, PutRequest, RangeRequest, RequestOp,
    TxnRequest, TxnResponse,
};
use bytes::Bytes;
use pintle_grpc::Status;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// Holds the revision of the last compaction; its version counts them. Outside of every prefix.
const KEY: &[u8] = b"compact_rev_key";

/// The known compaction revision of the cluster.
#[derive(Default)]
pub struct Compacted {
    revision: AtomicU64,
    /// Notified when it increases.
    pub news: Notify,
}

impl Compacted {
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    fn reached(&self, revision: i64) {
        let revision = u64::try_from(revision).unwrap_or(0);
        if self.revision.fetch_max(revision, Ordering::AcqRel) < revision {
            self.news.notify_one();
        }
    }
}

/// Compacts once in an interval until the future is dropped.
pub async fn run(client: &Client, interval: Duration, compacted: &Compacted) {
    let (mut count, mut revision) = (0, 0);
    loop {
        tokio::time::sleep(interval).await;
        // A failure is retried after the next interval.
        if let Ok(next) = step(client, count, revision, compacted).await {
            (count, revision) = next;
        }
    }
}

/// Compacts up to `revision`, unless another server has compacted since there were `count` compactions. Returns the
/// number of compactions, and the revision to compact up to the next time.
async fn step(client: &Client, count: i64, revision: i64, compacted: &Compacted) -> Result<(i64, i64), Status> {
    let key = Bytes::from_static(KEY);
    let compare =
        Compare { target: CompareTarget::Version.into(), key: key.clone(), to: Some(Compared::Version(count)) };
    let put = PutRequest { key: key.clone(), value: revision.to_string().into(), lease: 0 };
    let get = RangeRequest { key, ..RangeRequest::default() };
    let request = TxnRequest {
        compare: vec![compare],
        success: vec![RequestOp { request: Some(Op::Put(put)) }],
        failure: vec![RequestOp { request: Some(Op::Range(get)) }],
    };
    let answer: TxnResponse = client.attempt(client.turn(), ATTEMPT_MAX, method::TXN, &request).await?;
    let current = answer.header.map_or(0, |header| header.revision);
    if !answer.succeeded {
        let found = answer.responses.first().and_then(|response| response.range.as_ref()?.kvs.first());
        // The server that counted last compacts up to the revision that it wrote.
        let theirs = found.and_then(|kv| std::str::from_utf8(&kv.value).ok()?.parse().ok());
        compacted.reached(theirs.unwrap_or(0));
        return Ok((found.map_or(0, |kv| kv.version), current));
    }
    if revision > 0 {
        let _: CompactionResponse =
            client.attempt(client.turn(), ATTEMPT_MAX, method::COMPACT, &CompactionRequest { revision }).await?;
        compacted.reached(revision);
    }
    Ok((count + 1, current))
}
