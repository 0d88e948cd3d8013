//! Transactions: preconditions and writes as one etcd transaction, tried until its outcome is known.
//! Guarantees that a transaction takes place at most once, and that an answer is the truth. Only writes without a
//! precondition may be repeated, to the same effect.
//! Must never answer before the observer has seen what the answer is about.

use crate::client::{Patience, is_passing, method};
use crate::limits;
use crate::store::Shared;
use crate::wire::{
    Compare, CompareTarget, Compared, DeleteRangeRequest, KeyValue, Op, PutRequest, RangeRequest, RequestOp,
    TxnRequest, TxnResponse,
};
use bytes::Bytes;
use pintle_storage::{CommitError, Expect, Revision, Transaction, Write};
use std::sync::Arc;
use tonic::{Code, Status};

pub(crate) fn failed(status: Status) -> CommitError {
    CommitError::Storage(Arc::new(status))
}

impl Shared {
    /// Carries a transaction out.
    pub(crate) async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        let _room = self.transactions.acquire().await.map_err(|_| CommitError::Closed)?;
        let mut patience = Patience::new(limits::CALL);
        let mut in_doubt = false;
        let mut request = self.request(&transaction.writes).await?;
        let answer = loop {
            let turn = self.client.turn();
            match self.client.attempt::<_, TxnResponse>(turn, method::TXN, request.clone()).await {
                Ok(answer) => break answer,
                Err(status) if status.code() == Code::NotFound && status.message().contains("lease") => {
                    self.leases.forget().await;
                    request = self.request(&transaction.writes).await?;
                    if !patience.wait(1).await {
                        return Err(failed(status));
                    }
                }
                Err(status) if is_passing(&status) => {
                    // It may have taken place, or still do; its preconditions see to it that it does not do so twice.
                    in_doubt = true;
                    self.client.failed(turn);
                    if !patience.wait(self.client.endpoints()).await {
                        return Err(failed(status));
                    }
                }
                Err(status) => return Err(failed(status)),
            }
        };
        let current = answer.header.as_ref().map_or(0, |header| header.revision.unsigned_abs());
        let outcome = match answer.succeeded {
            true => Ok(current),
            false => self.conflict(&transaction.writes, &answer, in_doubt, current),
        };
        let seen = *outcome.as_ref().unwrap_or(&current);
        self.progress.wait(seen).await.map_err(|_| CommitError::Closed)?;
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

    /// What a transaction means whose preconditions did not hold: the first that did not, or that an earlier attempt
    /// has made them so.
    fn conflict(
        &self,
        writes: &[Write],
        answer: &TxnResponse,
        in_doubt: bool,
        current: u64,
    ) -> Result<u64, CommitError> {
        let found: Vec<Option<&KeyValue>> = (0..writes.len())
            .map(|at| answer.responses.get(at).and_then(|response| response.range.as_ref()?.kvs.first()))
            .collect();
        let revision = |kv: Option<&KeyValue>| kv.map(|kv| Revision(kv.mod_revision.unsigned_abs()));
        let failed_at = writes.iter().zip(&found).position(|(write, kv)| match write.expect {
            Expect::Any => false,
            Expect::Absent => kv.is_some(),
            Expect::At(expected) => revision(*kv) != Some(expected),
        });
        if in_doubt {
            return done_before(writes, &found, current).ok_or_else(|| {
                failed(Status::unknown("an attempt at the transaction failed, and what became of it cannot be told"))
            });
        }
        let index = failed_at.unwrap_or(0);
        let key = writes.get(index).map_or_else(|| "".into(), |write| write.key.clone());
        Err(CommitError::Conflict { index, key, actual: revision(found.get(index).copied().flatten()) })
    }
}

/// The revision of a transaction that has taken place, if what is there looks as if it had: every key has the value
/// that it was to get, by one and the same revision, or is gone as it was to be.
fn done_before(writes: &[Write], found: &[Option<&KeyValue>], current: u64) -> Option<u64> {
    let mut by: Option<u64> = None;
    for (write, kv) in writes.iter().zip(found) {
        match (&write.value, kv) {
            (None, None) => {}
            (Some(wanted), Some(kv)) if same(wanted, &kv.value) => {
                let revision = kv.mod_revision.unsigned_abs();
                if by.replace(revision).is_some_and(|other| other != revision) {
                    return None;
                }
            }
            _ => return None,
        }
    }
    Some(by.unwrap_or(current))
}

fn same(wanted: &Bytes, found: &Bytes) -> bool {
    wanted == found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(value: Option<&'static str>) -> Write {
        Write {
            key: "/a".into(),
            expect: Expect::Absent,
            value: value.map(|value| Bytes::from_static(value.as_bytes())),
        }
    }

    fn kv(value: &'static str, mod_revision: i64) -> KeyValue {
        KeyValue { value: Bytes::from_static(value.as_bytes()), mod_revision, ..KeyValue::default() }
    }

    #[test]
    fn a_transaction_has_taken_place_when_all_of_it_is_there() {
        let writes = [write(Some("x")), write(Some("y")), write(None)];
        let (x, y, later, other) = (kv("x", 7), kv("y", 7), kv("y", 8), kv("z", 7));
        for (found, expected) in [
            ([Some(&x), Some(&y), None], Some(7)),
            ([Some(&x), Some(&later), None], None),
            ([Some(&x), Some(&other), None], None),
            ([Some(&x), None, None], None),
            ([Some(&x), Some(&y), Some(&x)], None),
        ] {
            assert_eq!(done_before(&writes, &found, 9), expected);
        }
        assert_eq!(done_before(&writes[2..], &[None], 9), Some(9));
    }
}
