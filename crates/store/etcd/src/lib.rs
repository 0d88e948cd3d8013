//! The store over an etcd cluster that others may write too: other servers of this kind, and kube-apiserver. Guarantees
//! that every later read, on any server, sees an acknowledged write. Must never parse a value, nor publish a change
//! that did not happen, or in another order.
//!
//! # How it works
//!
//! ```text
//!  commit() ─▶ one transaction of etcd's ─▶ wait until the watch has brought it ─▶ answer
//!  watch of the prefix ─▶ in the order of revisions ─▶ Observer
//!  catch_up() ─▶ ask the majority for the newest revision ─▶ wait until the watch has come there
//! ```
//!
//! One watch follows all keys under the prefix, so there is one order of all changes and one revision that all have
//! reached. A watch that breaks goes on elsewhere after the last revision; when that has been compacted meanwhile,
//! everything is read anew and the observer is notified of a gap in history.
//!
//! Each connection, the watch and each commit under way is a task of the runtime; closing the store ends them.

mod alert_stream;
mod client;
mod commit;
mod compact;
mod endpoint;
mod follow;
mod import;
mod lease;
pub mod limits;
mod progress;
mod read_index;
pub mod stats;
mod store;
mod tasks;
mod tls;
mod wire;

pub use endpoint::local_url;
pub use store::{EtcdOptions, EtcdStore, OwnKeys};
pub use tls::{CaRenewal, Identity, Renewal, Tls};
