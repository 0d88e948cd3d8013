//! Priority and fairness: which priority level a request belongs to, how many seats a level has, and in which order requests
//! that wait are given seats. Guarantees that the result of every function depends on its input only: there is no clock, no lock
//! and no randomness here. Must never know an object of the API: schemas and levels are given as plain values.

mod borrowing;
mod classify;
mod estimate;
mod limits;
mod queues;
mod retry_after;
mod shuffle;

pub use borrowing::{Adjustment, Borrower, DemandIntegrator, DemandStats, adjust};
pub use classify::{
    Class, Configuration, Distinguisher, FlowSchema, NonResourceRule, PolicyRule, ResourceRule, Subject,
};
pub use estimate::{ListWork, WorkEstimate, most_seats};
pub use limits::{Kind, Level, Queuing, Seats};
pub use queues::{Full, QueueId, Queues, Ticket};
pub use retry_after::RetryAfter;
pub use shuffle::{deal, flow_hash};
