//! The actual cost of an evaluation, counted as kube-apiserver counts it.
//!
//! kube-apiserver keeps a stack of the values it has seen and finds a call's arguments by their ids; where it does not
//! find one, the call is free. Here the stack holds ids alone, and finding one takes constant time.

use crate::ast::ExprId;
use crate::error::EvalError;
use std::collections::HashMap;

pub(super) struct Ledger {
    cost: u64,
    limit: u64,
    /// Ids, each with the place of the one below that has the same id.
    stack: Vec<(ExprId, Option<usize>)>,
    last: HashMap<ExprId, usize>,
}

impl Ledger {
    pub fn new(limit: u64) -> Ledger {
        Ledger { cost: 0, limit, stack: Vec::new(), last: HashMap::new() }
    }

    pub fn cost(&self) -> u64 {
        self.cost
    }

    pub fn add(&mut self, cost: u64) {
        self.cost = self.cost.saturating_add(cost);
    }

    /// Adds a cost that is yet to come if it is above the limit.
    ///
    /// # Errors
    ///
    /// When it is.
    pub fn foresee(&mut self, cost: u64) -> Result<(), EvalError> {
        let total = self.cost.saturating_add(cost);
        if total <= self.limit {
            return Ok(());
        }
        self.cost = total;
        Err(EvalError::CostExceeded)
    }

    /// Notes that a value was seen.
    ///
    /// # Errors
    ///
    /// When the cost is above the limit.
    pub fn push(&mut self, id: ExprId) -> Result<(), EvalError> {
        let below = self.last.insert(id, self.stack.len());
        self.stack.push((id, below));
        if self.cost > self.limit { Err(EvalError::CostExceeded) } else { Ok(()) }
    }

    fn truncate(&mut self, len: usize) {
        while self.stack.len() > len {
            if let Some((id, below)) = self.stack.pop() {
                match below {
                    Some(below) => self.last.insert(id, below),
                    None => self.last.remove(&id),
                };
            }
        }
    }

    /// Forgets a value, if it is there, and all above it.
    pub fn drop_id(&mut self, id: ExprId) {
        if let Some(at) = self.last.get(&id).copied() {
            self.truncate(at);
        }
    }

    /// Forgets arguments, the last first, and says whether all were there.
    pub fn drop_args(&mut self, ids: impl DoubleEndedIterator<Item = ExprId>) -> bool {
        for id in ids.rev() {
            match self.last.get(&id).copied() {
                Some(at) => self.truncate(at),
                None => return false,
            }
        }
        true
    }
}
