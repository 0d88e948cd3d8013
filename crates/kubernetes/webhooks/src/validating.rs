//! Validating webhooks: all matching ones are called concurrently. Guarantees that a request waits for all of them, and that
//! the first failure to arrive is returned. Must never change an object.

use crate::AdmissionWebhooks;
use crate::hook::Hook;
use crate::source::Snapshot;
use crate::versioned::Versioned;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use pintle_registry::{AdmissionRequest, Result, Status};
use pintle_resource::Resource;
use pintle_schema::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

impl AdmissionWebhooks {
    /// Calls the webhooks that match. Their warnings go after the given ones, if there are such: validation has warned before.
    ///
    /// # Errors
    /// One denies the request, or fails and must not.
    pub(crate) async fn call_validating(
        &self,
        snapshot: &Snapshot,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
        warnings: Option<&mut Vec<String>>,
    ) -> Result<()> {
        let warned = warnings.is_some().then(Mutex::<Vec<String>>::default);
        let list = warned.as_ref();
        let mut versions: Vec<Arc<Versioned>> = Vec::new();
        let mut called: Vec<(&Hook, Arc<Versioned>)> = Vec::new();
        for hook in &snapshot.hooks {
            let Some(resource) = self.selected(hook, request, object)? else { continue };
            let versioned = version(&mut versions, request, &resource, object).await?;
            if self.meets_conditions(hook, request, &versioned).await? {
                called.push((hook, versioned));
            }
        }
        if called.is_empty() {
            return Ok(());
        }
        if request.options.context.deadline.is_some_and(|end| end <= Instant::now()) {
            return Err(Status::new(504, "Timeout", "Timeout: request did not complete within requested timeout"));
        }
        let calls = called.iter().enumerate().map(|(index, (hook, versioned))| async move {
            let started = Instant::now();
            let outcome = self.call(hook, request, versioned, list).await.map(drop);
            self.metrics.called(self.kind, hook, request.operation, outcome.as_ref().err(), started.elapsed());
            outcome.or_else(|failure| self.failed(failure, hook, request, index, 0))
        });
        let mut calls: FuturesUnordered<_> = calls.collect();
        let mut first = Ok(());
        while let Some(outcome) = calls.next().await {
            first = first.and(outcome);
        }
        drop(calls);
        if let (Some(warnings), Some(warned)) = (warnings, warned) {
            warnings.append(&mut warned.into_inner().unwrap_or_else(PoisonError::into_inner));
        }
        first
    }
}

/// The objects in a version, shared by several webhooks.
async fn version(
    known: &mut Vec<Arc<Versioned>>,
    request: &AdmissionRequest<'_>,
    resource: &Arc<Resource>,
    object: Option<&Value>,
) -> Result<Arc<Versioned>> {
    if let Some(versioned) = known.iter().find(|versioned| Arc::ptr_eq(&versioned.resource, resource)) {
        return Ok(versioned.clone());
    }
    let versioned = Arc::new(Versioned::of(request, resource, object).await?);
    known.push(versioned.clone());
    Ok(versioned)
}
