//! Transactions: preconditions and writes as one etcd transaction, tried until its outcome is known.
//! Guarantees that a transaction takes place at most once, and that an answer is the truth. Only writes without a
//! precondition may be repeated, to the same effect.
//! Must never answer before the observer has seen what the answer is about.

use crate::client::{RetryBudget, is_passing, method};
use crate::limits;
use crate::store::Shared;
use crate::wire::{
    Compare, CompareTarget, Compared, DeleteRangeRequest, EventType, Op, PutRequest, RangeRequest, RequestOp,
    TxnRequest, TxnResponse, WatchAction, WatchCreateRequest, WatchRequest, WatchResponse,
};
use pintle_grpc::{Code, Status};
use pintle_storage::{CommitError, Expect, Revision, Transaction, Write};
use prost::Message;
use std::sync::Arc;
use tokio::time::timeout;

pub(crate) fn failed(status: Status) -> CommitError {
    let is_etcds = status.message.starts_with("etcdserver: ");
    CommitError::Storage(Arc::new(if is_etcds { Failure::Refused(status) } else { Failure::Unasked(status) }))
}

/// Why etcd did not do what it was asked for: in its own words, or as clients in Go say that it could not be asked.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{}", .0.message)]
    Refused(Status),
    #[error("{0}")]
    Unasked(Status),
}

/// What clients in Go say of a message that they do not send: servers take no longer ones, and say nothing of why.
fn too_long(length: usize) -> Status {
    let message = format!("trying to send message larger than max ({length} vs. {})", limits::MESSAGE_BYTES);
    Status::new(Code::ResourceExhausted, message)
}

/// The length that counts: clients in Go do not read a key that they create when the precondition fails, so that read is not counted
/// against the bound. Servers leave more room above it than this takes.
fn length_of(request: &TxnRequest, writes: &[Write]) -> usize {
    let reads = request.failure.iter().zip(writes).filter(|(_, write)| !matches!(write.expect, Expect::At(_)));
    let uncounted = reads.map(|(read, _)| {
        let length = read.encoded_len();
        1 + prost::length_delimiter_len(length) + length
    });
    request.encoded_len() - uncounted.sum::<usize>()
}

fn undecided() -> Status {
    Status::new(Code::Unknown, "what became of an attempt at the transaction cannot be told")
}

impl Shared {
    /// Carries a transaction out.
    pub(crate) async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        let _room = self.transactions.acquire().await.map_err(|_| CommitError::Closed)?;
        let since = self.progress.published();
        let mut retries = RetryBudget::new(limits::CALL);
        let mut in_doubt = false;
        let mut request = self.request(&transaction.writes).await?;
        let length = length_of(&request, &transaction.writes);
        if length > limits::MESSAGE_BYTES {
            return Err(failed(too_long(length)));
        }
        let answer = loop {
            let turn = self.client.turn();
            let time = retries.attempt();
            match self.client.attempt::<TxnResponse>(turn, time, method::TXN, &request).await {
                Ok(answer) => break answer,
                Err(status) if status.code == Code::NotFound && status.message.contains("lease") => {
                    self.leases.forget().await;
                    request = self.request(&transaction.writes).await?;
                    if !retries.wait(1).await {
                        return Err(failed(status));
                    }
                }
                Err(status) if is_passing(&status) => {
                    // It may have taken place, or still do; its preconditions see to it that it does not do so twice.
                    in_doubt = true;
                    self.client.failed(turn);
                    if !retries.wait(self.client.endpoints()).await {
                        return Err(failed(status));
                    }
                }
                // That there is no room is told of what was refused, and also of what was carried out and took the last.
                Err(status) if status.code == Code::ResourceExhausted => {
                    let look = TxnRequest { success: Vec::new(), ..std::mem::take(&mut request) };
                    let answer: TxnResponse = Box::pin(self.client.call(method::TXN, &look)).await.map_err(failed)?;
                    if answer.succeeded {
                        return Err(failed(status));
                    }
                    in_doubt = true;
                    break answer;
                }
                Err(status) => return Err(failed(status)),
            }
        };
        let current = answer.header.as_ref().map_or(0, |header| header.revision.unsigned_abs());
        self.progress.check(since, current).map_err(failed)?;
        let outcome = match answer.succeeded {
            true => Ok(current),
            false => Box::pin(self.refused(&transaction.writes, &answer, in_doubt.then_some(since))).await,
        };
        let seen = match &outcome {
            // Only the deletion of what may not have been there may be no event.
            Ok(revision) if transaction.writes.iter().all(|it| it.value.is_some() || it.expect != Expect::Any) => {
                self.progress.wait_for_event(*revision).await
            }
            outcome => self.progress.wait(*outcome.as_ref().unwrap_or(&current)).await,
        };
        seen.map_err(|_| CommitError::Closed)?;
        outcome.map(Revision)
    }

    async fn request(&self, writes: &[Write]) -> Result<TxnRequest, CommitError> {
        let mut request = TxnRequest::default();
        for write in writes {
            let key = self.keys.outer(&write.key);
            let expected = match write.expect {
                Expect::Any => None,
                Expect::Absent => Some(0),
                Expect::At(revision) => Some(i64::try_from(revision.0).unwrap_or(i64::MAX)),
            };
            if let Some(expected) = expected {
                request.compare.push(Compare {
                    target: CompareTarget::Mod.into(),
                    key: key.clone(),
                    to: Some(Compared::Mod(expected)),
                });
            }
            let range = RangeRequest { key: key.clone(), ..RangeRequest::default() };
            request.failure.push(RequestOp { request: Some(Op::Range(range)) });
            let op = match &write.value {
                None => Op::Delete(DeleteRangeRequest { key }),
                Some(value) => {
                    let lease = match self.lifetime(&write.key) {
                        0 => 0,
                        seconds => self.leases.lease(&self.client, seconds).await.map_err(failed)?,
                    };
                    Op::Put(PutRequest { key, value: value.clone(), lease })
                }
            };
            request.success.push(RequestOp { request: Some(op) });
        }
        Ok(request)
    }

    /// What it means that preconditions did not hold: somebody else was faster, or an earlier attempt, made after the
    /// revision `in_doubt`, has taken place. Its revision is the answer then.
    async fn refused(&self, writes: &[Write], answer: &TxnResponse, in_doubt: Option<u64>) -> Result<u64, CommitError> {
        let found = |at: usize| answer.responses.get(at).and_then(|response| response.range.as_ref()?.kvs.first());
        let revision = |at: usize| found(at).map(|kv| kv.mod_revision.unsigned_abs());
        let has_changed = |(at, write): (usize, &Write)| match write.expect {
            Expect::At(expected) => revision(at) != Some(expected.0),
            Expect::Any | Expect::Absent => false,
        };
        let failed_at = writes.iter().enumerate().position(|(at, write)| match write.expect {
            Expect::Absent => found(at).is_some(),
            _ => has_changed((at, write)),
        });
        let index = failed_at.unwrap_or(0);
        let Some(write) = writes.get(index) else { return Err(CommitError::Invalid("nothing is written".to_owned())) };
        if let Some(since) = in_doubt {
            let done = self.done_before(write, since, revision(index)).await.map_err(failed)?;
            if let Some(revision) = done {
                return Ok(revision);
            }
            // What changed never changes back, but what is there now may go: then an attempt that some member has kept until
            // then would take place after all.
            if !writes.iter().enumerate().any(has_changed) {
                return Err(failed(undecided()));
            }
        }
        Err(CommitError::Conflict { index, key: write.key.clone(), actual: revision(index).map(Revision) })
    }

    /// By which revision a write has taken place whose precondition does not hold any more; `None`: it has not, and its
    /// whole transaction has not. What happened to its key tells: `last` is the last such revision, if the key is there.
    async fn done_before(&self, write: &Write, since: u64, last: Option<u64>) -> Result<Option<u64>, Status> {
        let (after, to) = match (write.expect, last) {
            // Only the very next change of the key can be this one.
            (Expect::At(expected), _) => (expected.0, expected.0 + 1),
            (_, Some(last)) if last > since => (since, last),
            _ => return Ok(None),
        };
        let mut retries = RetryBudget::new(limits::CALL);
        loop {
            let turn = self.client.turn();
            match timeout(retries.attempt(), self.find(turn, write, after, to)).await {
                Ok(Ok(found)) => return Ok(found),
                Ok(Err(status)) if !is_passing(&status) => return Err(status),
                _ => self.client.failed(turn),
            }
            if !retries.wait(self.client.endpoints()).await {
                return Err(undecided());
            }
        }
    }

    /// The revision of a change of a key, after one revision and up to the first change at or after another, that is just
    /// what was to be written.
    async fn find(&self, turn: usize, write: &Write, after: u64, to: u64) -> Result<Option<u64>, Status> {
        let create = WatchCreateRequest {
            key: self.keys.outer(&write.key),
            start_revision: i64::try_from(after + 1).unwrap_or(i64::MAX),
            ..WatchCreateRequest::default()
        };
        let request = WatchRequest { action: Some(WatchAction::Create(create)) };
        let mut stream = self.client.stream::<_, WatchResponse>(turn, method::WATCH, request).await?;
        while let Some(response) = stream.message().await? {
            if response.compact_revision > 0 {
                return Err(Status::new(
                    Code::DataLoss,
                    "what became of an attempt at the transaction is no longer told",
                ));
            }
            for event in response.events {
                let removed = event.r#type == i32::from(EventType::Delete);
                let Some(kv) = event.kv else { continue };
                let revision = kv.mod_revision.unsigned_abs();
                let is_written = match &write.value {
                    None => removed,
                    Some(value) => !removed && *value == kv.value,
                };
                if is_written {
                    return Ok(Some(revision));
                }
                if revision >= to {
                    return Ok(None);
                }
            }
        }
        Err(Status::unavailable("the watch ended"))
    }
}
