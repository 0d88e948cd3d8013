//! Priority and fairness: which priority level a request belongs to, how many seats a level has, and in which order requests
//! that wait are given seats. Guarantees that what decides is pure: its result depends on its input only, and a simulation has
//! the same result each time; locks and wakers are in `controller` and `level` alone. Must never know an object of the
//! API: schemas and levels are given as plain values.

mod borrowing;
pub mod bounds;
mod classify;
mod clock;
mod controller;
mod described;
mod dump;
mod estimate;
mod level;
mod limits;
mod queues;
mod retry_after;
mod shuffle;
mod slots;
mod stats;

#[cfg(test)]
mod tests;

pub use borrowing::{Adjustment, Borrower, DemandIntegrator, DemandStats, adjust};
pub use classify::{
    Class, Configuration, Distinguisher, FlowSchema, NonResourceRule, PolicyRule, ResourceRule, Subject,
};
pub use controller::{Flow, FlowController, LevelState};
pub use described::{Described, Details};
pub use estimate::{ListWork, WorkEstimate, most_seats};
pub use level::{Arriving, Begun, FlowClass, Permit, PriorityLevel, Rejected, Totals, Waiting};
pub use limits::{Kind, Level, Queuing, Seats};
pub use queues::{Full, QueueId, QueueState, Queues, Ticket};
pub use retry_after::RetryAfter;
pub use shuffle::{deal, flow_hash};
pub use stats::{FlowStats, Gauge, LevelStats, Reason, seat_seconds};
