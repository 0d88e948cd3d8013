//! The audit log: which requests are recorded, in how much detail, and which backends get their events. Guarantees that an
//! event is written whole or not at all, and that a backend that fails or hangs delays only requests whose mode requires it.
//! Must never read a request: callers fill a [`Record`].

mod auditor;
mod backend;
mod buffered;
mod event;
mod kept;
mod log;
mod policy;
mod policy_file;
mod rotation;
mod truncate;
mod webhook;

pub use auditor::{Auditor, Record};
pub use backend::{Backend, Stats, Target};
pub use buffered::{BatchOptions, Buffered};
pub use event::{Details, Event, ObjectReference, RequestInfo, ResponseStatus, truncated_user_agent};
pub use kept::{Held, KEPT_BYTES, KeptBytes, RecordedObject};
pub use log::{Log, LogFormat};
pub use policy::{Level, Policy, Rule, RuleOutcome, Stage, Stages};
pub use policy_file::PolicyError;
pub use rotation::{LogFile, Rotation};
pub use truncate::{Truncate, TruncateOptions};
pub use webhook::Webhook;
