//! Transactions: preconditions and writes as one etcd transaction, retried until its outcome is known. Guarantees that
//! a transaction takes place at most once, and that the reported outcome is correct. Only writes without a precondition
//! may be repeated, with the same effect. Must never respond before the observer has seen the revision of the outcome.

use crate::client::{RetryBudget, is_passing, method};
use crate::limits;
use crate::store::Shared;
use crate::wire::{
    Compare, CompareTarget, Compared, DeleteRangeRequest, EventType, Op, PutRequest, RangeRequest, RangeResponse,
    RequestOp, TxnRequest, TxnResponse, WatchAction, WatchCreateRequest, WatchRequest, WatchResponse,
};
use pintle_grpc::{Code, Status};
use pintle_storage::{CommitError, Condition, Expect, Revision, Transaction, Write};
use prost::Message;
use std::sync::Arc;
use tokio::time::timeout;

pub(crate) fn failed(status: Status) -> CommitError {
    let is_etcds = status.message.starts_with("etcdserver: ");
    CommitError::Storage(Arc::new(if is_etcds { Failure::Refused(status) } else { Failure::Unasked(status) }))
}

/// Why a call failed: with etcd's message, or with that of Go's client for a call that was not sent.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{}", .0.message)]
    Refused(Status),
    #[error("{0}")]
    Unasked(Status),
}

/// The error of Go's client for a message above the limit, which it does not send.
fn too_long(length: usize) -> Status {
    let message = format!("trying to send message larger than max ({length} vs. {})", limits::MESSAGE_BYTES);
    Status::new(Code::ResourceExhausted, message)
}

/// The length that is limited: Go's client does not read a key that it creates if the precondition fails, and
/// kube-apiserver has no conditions on other keys, so these are not counted. Servers accept more than this in addition.
fn length_of(request: &TxnRequest, transaction: &Transaction) -> usize {
    fn delimited(message: &impl Message) -> usize {
        let length = message.encoded_len();
        1 + prost::length_delimiter_len(length) + length
    }
    let Transaction { writes, conditions } = transaction;
    let reads = request.failure.iter().zip(writes).filter(|(_, write)| !matches!(write.expect, Expect::At(_)));
    let compared = request.compare.iter().rev().take(conditions.len());
    let uncounted = reads.map(|(read, _)| delimited(read)).chain(compared.map(delimited));
    let read_beside = request.failure.iter().skip(writes.len()).map(delimited);
    request.encoded_len() - uncounted.chain(read_beside).sum::<usize>()
}

/// Whether the transaction can no longer take place, as a condition does not hold and its key never changes back.
fn has_failed(condition: &Condition, revision: Option<u64>) -> bool {
    revision != Some(condition.at.0)
}

fn undecided() -> Status {
    Status::new(Code::Unknown, "the outcome of an attempt at the transaction is unknown")
}

impl Shared {
    /// Commits a transaction.
    pub(crate) async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        let _room = self.transactions.acquire().await.map_err(|_| CommitError::Closed)?;
        let since = self.progress.published();
        let mut retries = RetryBudget::new(limits::CALL);
        let mut in_doubt = false;
        let mut request = self.request(&transaction).await?;
        let length = length_of(&request, &transaction);
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
                    request = self.request(&transaction).await?;
                    if !retries.wait(1).await {
                        return Err(failed(status));
                    }
                }
                Err(status) if is_passing(&status) => {
                    // It may have taken place, or still may; its preconditions prevent a second time.
                    in_doubt = true;
                    self.client.failed(turn);
                    if !retries.wait(self.client.endpoints()).await {
                        return Err(failed(status));
                    }
                }
                // etcd reports a full database for rejected transactions, and also for one that took place and used the
                // last space.
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
            false => Box::pin(self.refused(&transaction, &answer, in_doubt.then_some(since))).await,
        };
        let seen = match &outcome {
            // Only the deletion of a key that may not exist may have no event.
            Ok(revision) if transaction.writes.iter().all(|it| it.value.is_some() || it.expect != Expect::Any) => {
                self.progress.wait_for_event(*revision).await
            }
            outcome => self.progress.wait(*outcome.as_ref().unwrap_or(&current)).await,
        };
        seen.map_err(|_| CommitError::Closed)?;
        outcome.map(Revision)
    }

    async fn request(&self, transaction: &Transaction) -> Result<TxnRequest, CommitError> {
        let mut request = TxnRequest::default();
        for write in &transaction.writes {
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
        for condition in &transaction.conditions {
            let key = self.keys.outer(&condition.key);
            let at = i64::try_from(condition.at.0).unwrap_or(i64::MAX);
            request.compare.push(Compare {
                target: CompareTarget::Mod.into(),
                key: key.clone(),
                to: Some(Compared::Mod(at)),
            });
            let range = RangeRequest { key, ..RangeRequest::default() };
            request.failure.push(RequestOp { request: Some(Op::Range(range)) });
        }
        Ok(request)
    }

    /// The outcome if preconditions did not hold: a conflict, or the revision of an earlier attempt, made after the
    /// revision `in_doubt`, that has taken place.
    async fn refused(
        &self,
        transaction: &Transaction,
        answer: &TxnResponse,
        in_doubt: Option<u64>,
    ) -> Result<u64, CommitError> {
        let Transaction { writes, conditions } = transaction;
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
        let beside = conditions.iter().zip(writes.len()..).find(|(condition, at)| has_failed(condition, revision(*at)));
        if let (None, Some((condition, at))) = (failed_at, beside) {
            let may_have_been_deleted = writes.iter().any(|write| !matches!(write.expect, Expect::At(_)));
            if in_doubt.is_some() && may_have_been_deleted {
                return Err(failed(undecided()));
            }
            return Err(CommitError::ConditionFailed {
                key: condition.key.clone(),
                actual: revision(at).map(Revision),
            });
        }
        let index = failed_at.unwrap_or(0);
        let Some(write) = writes.get(index) else { return Err(CommitError::Invalid("nothing is written".to_owned())) };
        if let Some(since) = in_doubt {
            let done = self.done_before(write, since, revision(index)).await.map_err(failed)?;
            if let Some(revision) = done
                && self.made(revision, writes, index).await.map_err(failed)?
            {
                return Ok(revision);
            }
            // A changed key never changes back, but an existing key may be deleted: then a delayed attempt could still
            // take place.
            if !writes.iter().enumerate().any(has_changed) {
                return Err(failed(undecided()));
            }
        }
        Err(CommitError::Conflict { index, key: write.key.clone(), actual: revision(index).map(Revision) })
    }

    /// The revision of a write whose precondition does not hold any more; `None` if its transaction has not taken
    /// place. Derived from the history of its key: `last` is its last revision, if the key exists.
    async fn done_before(&self, write: &Write, since: u64, last: Option<u64>) -> Result<Option<u64>, Status> {
        let (after, to) = match (write.expect, last) {
            // Only the next change of the key can be this one.
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

    /// Whether a revision, which has a change that equals one of the writes, has all of them. Otherwise it is another transaction's:
    /// two servers that charge a quota in the same second may write the very same usage, each with an object of its own.
    async fn made(&self, revision: u64, writes: &[Write], known: usize) -> Result<bool, Status> {
        for (_, write) in writes.iter().enumerate().filter(|(index, _)| *index != known) {
            let request = RangeRequest {
                key: self.keys.outer(&write.key),
                revision: i64::try_from(revision).unwrap_or(i64::MAX),
                ..RangeRequest::default()
            };
            let answer: RangeResponse = self.client.call(method::RANGE, &request).await?;
            let is_made = match (&write.value, answer.kvs.first()) {
                (None, found) => found.is_none(),
                (Some(value), Some(found)) => found.mod_revision.unsigned_abs() == revision && found.value == *value,
                (Some(_), None) => false,
            };
            if !is_made {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The revision of a change of a key that equals the write, after one revision and up to the first change at or
    /// after another.
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
