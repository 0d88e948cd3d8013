//! Calls of HTTPS webhooks: of admission, conversion, tokens, authorization, audit and images.
//! Guarantees that every call has a bound in bytes and in time, that connections are kept and shared by all callers of one
//! server, and that errors have the texts of Go's client, because clients and logs show them.
//! Must never know the meaning of a webhook, nor a built-in kind: services are resolved behind [`ServiceResolver`].
//!
//! A [`Clients`] is made once per process. [`Clients::client`] gives the [`Client`] of one webhook; two clients of the same
//! server with the same credentials share their connections. [`Kubeconfig`] reads the file that names a webhook and its
//! credentials. [`Backoff`] repeats calls as `webhook.WithExponentialBackoff` does.

mod backoff;
mod call;
mod client;
mod connect;
mod error;
mod in_process;
mod kubeconfig;
mod path;
mod response;
mod settings;
mod stats;
mod status_error;
mod streaming;
mod tls;
mod verify;

pub use backoff::{Backoff, Retry};
pub use call::{Call, Document, call_uid};
pub use client::{Client, Clients, SharedClient};
pub use connect::{Address, ResolveError, ServiceReference, ServiceResolver};
pub use error::{CallError, SetupError, TransportError};
pub use in_process::InProcess;
pub use kubeconfig::{Kubeconfig, KubeconfigError};
pub use response::WebhookResponse;
pub use settings::{Credentials, Settings};
pub use stats::{ClientStats, HostMethod};
pub use status_error::StatusError;
pub use streaming::{Pieces, StreamingClient};
pub use tls::{Identity, TlsSettings, check_authorities};
