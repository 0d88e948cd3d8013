//! The audit log that the flags configure. Guarantees that an invalid policy or webhook is rejected before the server
//! starts. Must never audit without a policy.

use crate::flags::{AuditFlags, Delivery, Mode};
use pintle::follow::{self, follow};
use pintle::webhooks::client_of_kubeconfig;
use pintle_audit::{
    Auditor, Backend, BatchOptions, Buffered, Log, Policy, Rotation, Stats, Target, Truncate, TruncateOptions, Webhook,
};
use pintle_webhook::{Backoff, Clients};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

/// Builds the auditor; `None` without a policy, or without a backend. Call it within a runtime.
///
/// # Errors
/// A file cannot be read or written, or is invalid.
pub fn auditor(flags: &AuditFlags, clients: &Arc<Clients>) -> Result<Option<Arc<Auditor>>, Box<dyn Error>> {
    let Some(path) = flags.policy_file.as_deref() else { return Ok(None) };
    let policy = Policy::read(path).map_err(|error| format!("loading audit policy file: {error}"))?;
    let stats = Arc::new(Stats::default());
    let mut targets = Vec::new();
    if let Some(path) = &flags.log_path {
        let log = Log::open(path, flags.log_format.0, rotation(flags), stats.clone());
        let log = log.map_err(|error| format!("ensureLogFile: {}: {error}", path.display()))?;
        targets.push(delivered(Arc::new(log), &flags.log, false, &stats));
    }
    if let Some(path) = flags.webhook_config.as_deref() {
        let failed = |error: &dyn std::fmt::Display| format!("initializing audit webhook: {error}");
        let client = client_of_kubeconfig(path, clients).map_err(|error| failed(&error))?;
        let backoff = Backoff::starting_with(flags.webhook_backoff);
        let webhook = Webhook { client, backoff, stats: stats.clone() };
        targets.push(delivered(Arc::new(webhook), &flags.webhook, true, &stats));
    }
    if targets.is_empty() {
        return Ok(None);
    }
    let auditor = Arc::new(Auditor::new(policy, targets, stats));
    follow_policy(path.to_owned(), &auditor)?;
    Ok(Some(auditor))
}

/// Takes over the policy when its file changes, as long as the auditor is used.
fn follow_policy(path: PathBuf, auditor: &Arc<Auditor>) -> Result<(), Box<dyn Error>> {
    // The first look takes over what has changed since the policy was read.
    let mut last = Vec::new();
    follow("audit policy", auditor, move |auditor| {
        let text = follow::read(&path)?;
        if text != last {
            auditor.replace_policy(Policy::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?);
            last = text;
        }
        Ok(())
    })?;
    Ok(())
}

fn rotation(flags: &AuditFlags) -> Rotation {
    let natural = |number: i64| u64::try_from(number).unwrap_or_default();
    Rotation {
        max_megabytes: natural(flags.log_max_size),
        max_age_days: natural(flags.log_max_age),
        max_backups: usize::try_from(flags.log_max_backup).unwrap_or_default(),
        compress: flags.log_compress,
    }
}

/// Wraps a backend with truncation and buffering, as its flags say. Truncation comes before the buffer, so that it
/// bounds the buffer.
fn delivered(backend: Arc<dyn Backend>, how: &Delivery, is_remote: bool, stats: &Arc<Stats>) -> Target {
    let natural = |number: i64| usize::try_from(number).unwrap_or_default();
    let throttle = (how.throttle_qps as f32, u32::try_from(how.throttle_burst).unwrap_or_default());
    let backend: Arc<dyn Backend> = match how.mode {
        Mode::Blocking | Mode::BlockingStrict => backend,
        Mode::Batch => {
            let options = BatchOptions {
                buffer_size: natural(how.buffer_size),
                max_batch_size: natural(how.max_size),
                max_wait: how.max_wait,
                throttle: how.throttle.then_some(throttle),
                concurrent: is_remote,
            };
            Arc::new(Buffered::new(backend, options, stats.clone()))
        }
    };
    let is_strict = how.mode == Mode::BlockingStrict;
    if !how.truncate {
        return Target { backend, is_strict };
    }
    let bytes = |number: i64| u64::try_from(number).unwrap_or_default();
    let options =
        TruncateOptions { max_event_bytes: bytes(how.max_event_bytes), max_batch_bytes: bytes(how.max_batch_bytes) };
    Target { backend: Arc::new(Truncate { backend, options, stats: stats.clone() }), is_strict }
}
