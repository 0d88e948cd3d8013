//! The flags about audit: the policy, the log and the webhook.
//! Guarantees that the values of a backend that is used make sense together. Must never read a file.

use super::FlagError;
use super::config::with_defaults;
use super::setting::{InputFile, Word};
use super::table::Flag;
use pintle_audit::LogFormat;
use std::path::PathBuf;
use std::time::Duration;

/// When events are written or sent, and whether requests wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In batches; requests do not wait.
    Batch,
    /// Requests wait.
    Blocking,
    /// Requests wait, and fail if their first event is lost.
    BlockingStrict,
}

impl Word for Mode {
    const SHAPE: &'static str = "MODE";

    fn read(text: &str) -> Result<Self, String> {
        let all = [Mode::Batch, Mode::Blocking, Mode::BlockingStrict];
        let found = all.into_iter().find(|mode| mode.write() == text);
        found.ok_or_else(|| "must be batch, blocking or blocking-strict".to_owned())
    }

    fn write(&self) -> String {
        let word = match self {
            Mode::Batch => "batch",
            Mode::Blocking => "blocking",
            Mode::BlockingStrict => "blocking-strict",
        };
        word.to_owned()
    }
}

/// The format of lines in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format(pub LogFormat);

impl Word for Format {
    const SHAPE: &'static str = "FORMAT";

    fn read(text: &str) -> Result<Self, String> {
        match text {
            "json" => Ok(Format(LogFormat::Json)),
            "legacy" => Ok(Format(LogFormat::Legacy)),
            _ => Err("must be legacy or json".to_owned()),
        }
    }

    fn write(&self) -> String {
        if self.0 == LogFormat::Json { "json" } else { "legacy" }.to_owned()
    }
}

/// The version of events; only one is supported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version;

impl Word for Version {
    const SHAPE: &'static str = "VERSION";

    fn read(text: &str) -> Result<Self, String> {
        if text == "audit.k8s.io/v1" { Ok(Version) } else { Err("must be audit.k8s.io/v1".to_owned()) }
    }

    fn write(&self) -> String {
        "audit.k8s.io/v1".to_owned()
    }
}

with_defaults! {
    /// How events are sent to a backend.
    pub struct Delivery {
        pub mode: Mode = Mode::Batch,
        pub buffer_size: i64 = 10000,
        pub max_size: i64 = 400,
        pub max_wait: Duration = Duration::from_secs(30),
        pub throttle: bool = true,
        pub throttle_qps: f64 = 10.0,
        pub throttle_burst: i64 = 15,
        pub truncate: bool,
        pub max_event_bytes: i64 = 100 << 10,
        pub max_batch_bytes: i64 = 10 << 20,
        pub version: Version,
    }
}

with_defaults! {
    /// All flags that begin with `--audit-`.
    pub struct AuditFlags {
        pub policy_file: Option<InputFile>,
        /// `-` is standard output.
        pub log_path: Option<PathBuf>,
        pub log_format: Format = Format(LogFormat::Json),
        pub log_max_age: i64 = 366,
        pub log_max_backup: i64 = 100,
        pub log_max_size: i64 = 100,
        pub log_compress: bool,
        pub log: Delivery = Delivery {
            mode: Mode::Blocking,
            max_size: 1,
            max_wait: Duration::ZERO,
            throttle: false,
            throttle_qps: 0.0,
            throttle_burst: 0,
            ..Delivery::default()
        },
        pub webhook_config: Option<InputFile>,
        pub webhook_backoff: Duration = Duration::from_secs(10),
        pub webhook: Delivery,
    }
}

impl AuditFlags {
    /// # Errors
    /// The values of a backend that is used contradict each other.
    pub fn check(&self) -> Result<(), FlagError> {
        if self.log_path.is_some() {
            self.log.check("log")?;
            for (flag, value) in
                [("maxage", self.log_max_age), ("maxbackup", self.log_max_backup), ("maxsize", self.log_max_size)]
            {
                must(value >= 0, || format!("--audit-log-{flag} {value} can't be a negative number"))?;
            }
        }
        if self.webhook_config.is_some() { self.webhook.check("webhook") } else { Ok(()) }
    }
}

impl Delivery {
    fn check(&self, backend: &str) -> Result<(), FlagError> {
        let positive = |what: &str, value: f64| {
            must(value > 0.0, || format!("invalid audit {what} {value}, must be a positive number"))
        };
        if self.mode == Mode::Batch {
            positive(&format!("batch {backend} buffer size"), self.buffer_size as f64)?;
            positive(&format!("batch {backend} max batch size"), self.max_size as f64)?;
            if self.throttle {
                positive(&format!("batch {backend} throttle QPS"), self.throttle_qps)?;
                positive(&format!("batch {backend} throttle burst"), self.throttle_burst as f64)?;
            }
        }
        let (event, batch) = (self.max_event_bytes, self.max_batch_bytes);
        positive(&format!("truncate {backend} max event size"), event as f64)?;
        must(batch >= event, || {
            format!(
                "invalid audit truncate {backend} max batch size {batch}, must be greater than max event size ({event})"
            )
        })
    }
}

fn must(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), FlagError> {
    if holds { Ok(()) } else { Err(FlagError::Combination(otherwise())) }
}

pub static AUDIT_FLAGS: &[Flag] = &[
    Flag::new(
        "audit-policy-file",
        |c| &mut c.audit.policy_file,
        "File with the audit policy; without it, nothing is audited.",
    ),
    Flag::new(
        "audit-log-path",
        |c| &mut c.audit.log_path,
        "File that audit events are written to; - is standard output.",
    ),
    Flag::new(
        "audit-log-format",
        |c| &mut c.audit.log_format,
        "Format of the audit log: json, or legacy for lines of text.",
    ),
    Flag::new("audit-log-maxage", |c| &mut c.audit.log_max_age, "Days that old audit logs are kept; 0 is forever."),
    Flag::new(
        "audit-log-maxbackup",
        |c| &mut c.audit.log_max_backup,
        "Number of old audit logs that are kept; 0 is all.",
    ),
    Flag::new(
        "audit-log-maxsize",
        |c| &mut c.audit.log_max_size,
        "Megabytes of an audit log before it is rotated; 0 is no limit.",
    ),
    Flag::new("audit-log-compress", |c| &mut c.audit.log_compress, "Whether old audit logs are compressed."),
    Flag::new(
        "audit-webhook-config-file",
        |c| &mut c.audit.webhook_config,
        "Kubeconfig file of the webhook that audit events are sent to.",
    ),
    Flag::new(
        "audit-webhook-initial-backoff",
        |c| &mut c.audit.webhook_backoff,
        "Pause before the first repetition of a failed call.",
    ),
    Flag::new(
        "audit-webhook-batch-initial-backoff",
        |c| &mut c.audit.webhook_backoff,
        "Deprecated: use --audit-webhook-initial-backoff.",
    ),
];

/// The flags of a backend's delivery.
macro_rules! delivery {
    ($field:ident, $backend:literal) => {
        delivery! { @ $field, $backend,
            "mode", mode, "How events are delivered: batch, blocking (requests wait) or blocking-strict (requests fail if \
                their first event is lost).";
            "version", version, "Version of the events.";
            "batch-buffer-size", buffer_size, "Number of events that wait in batch mode.";
            "batch-max-size", max_size, "Number of events in a batch.";
            "batch-max-wait", max_wait, "How long a batch that is not full waits.";
            "batch-throttle-enable", throttle, "Whether the rate of batches is limited.";
            "batch-throttle-qps", throttle_qps, "Batches per second.";
            "batch-throttle-burst", throttle_burst, "Number of batches that may follow each other at once.";
            "truncate-enabled", truncate, "Whether events that are too large are cut.";
            "truncate-max-event-size", max_event_bytes, "Maximum size of an event in bytes; larger ones lose their \
                objects, or are left out.";
            "truncate-max-batch-size", max_batch_bytes, "Maximum size of a batch in bytes; larger ones are split.";
        }
    };
    (@ $field:ident, $backend:literal, $($name:literal, $part:ident, $help:literal;)*) => {
        &[$(Flag::new(concat!("audit-", $backend, "-", $name), |c| &mut c.audit.$field.$part, $help)),*]
    };
}

pub static AUDIT_LOG_FLAGS: &[Flag] = delivery!(log, "log");
pub static AUDIT_WEBHOOK_FLAGS: &[Flag] = delivery!(webhook, "webhook");
