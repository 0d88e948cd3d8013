//! Mutating webhooks: called one after the other, each with the result of the previous one. Guarantees the order of
//! configurations and webhooks by name, and that a webhook is called again at most once, if another has changed the object
//! since. Must never apply a part of a patch: it applies whole, or the request fails.

use crate::annotations;
use crate::failure::Failure;
use crate::hook::Hook;
use crate::review::Response;
use crate::source::Snapshot;
use crate::versioned::Versioned;
use crate::{AdmissionWebhooks, MUTATING};
use pintle_apply::json_patch;
use pintle_codec::{Strictness, json};
use pintle_registry::{AdmissionRequest, Result, Status};
use pintle_schema::{Value, names};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

/// State of the first round, kept for the second.
#[derive(Default)]
struct Invoked {
    /// The object as it was after the first round.
    last: Option<Value>,
    /// Webhooks that may be called again, and have been called.
    previous: HashSet<String>,
    /// Those of them that must be called again, since the object has changed after their call.
    due: HashSet<String>,
}

impl Invoked {
    fn require_all(&mut self) {
        self.due.extend(self.previous.drain());
    }
}

impl AdmissionWebhooks {
    /// Calls the webhooks that match.
    ///
    /// # Errors
    /// One denies the request, fails and must not, or its patch cannot be applied.
    pub(crate) async fn call_mutating(
        &self,
        snapshot: &Snapshot,
        request: &AdmissionRequest<'_>,
        object: Option<&mut Value>,
    ) -> Result<()> {
        let is_reinvocation = request.rounds.is_some_and(|rounds| rounds.is_reinvocation());
        let mut invoked: Invoked = request.rounds.and_then(|rounds| rounds.take(MUTATING)).unwrap_or_default();
        if is_reinvocation && invoked.last.as_ref() != object.as_deref() {
            invoked.require_all();
        }
        let mut round = Round { webhooks: self, request, current: None, invoked, is_reinvocation };
        let mut object = object;
        for (index, hook) in snapshot.hooks.iter().enumerate() {
            round.take(index, hook, object.as_deref_mut()).await?;
        }
        let Round { current, mut invoked, .. } = round;
        if let (Some(versioned), Some(object)) = (current, object.as_deref_mut()) {
            versioned.write_back(request, object).await?;
        }
        if let (Some(rounds), false) = (request.rounds, is_reinvocation) {
            invoked.last = object.as_deref().cloned();
            rounds.keep(MUTATING, invoked);
        }
        Ok(())
    }
}

/// One round of calls.
struct Round<'a> {
    webhooks: &'a AdmissionWebhooks,
    request: &'a AdmissionRequest<'a>,
    /// The objects in the version of the last webhook.
    current: Option<Versioned>,
    invoked: Invoked,
    is_reinvocation: bool,
}

impl Round<'_> {
    /// Calls a webhook if it matches, and lets it change the object.
    async fn take(&mut self, index: usize, hook: &Arc<Hook>, object: Option<&mut Value>) -> Result<()> {
        let (webhooks, request) = (self.webhooks, self.request);
        let changed = self.current.as_ref().filter(|current| current.is_changed).and_then(|now| now.object.as_ref());
        let Some(resource) = webhooks.selected(hook, request, changed.or(object.as_deref()))? else { return Ok(()) };
        if self.current.as_ref().is_none_or(|current| !Arc::ptr_eq(&current.resource, &resource)) {
            let mut object = object;
            if let (Some(before), Some(object)) = (self.current.take(), object.as_deref_mut()) {
                before.write_back(request, object).await?;
            }
            self.current = Some(Versioned::of(request, &resource, object.as_deref()).await?);
        }
        let Some(versioned) = &mut self.current else { return Ok(()) };
        if !webhooks.meets_conditions(hook, request, versioned).await? {
            return Ok(());
        }
        if self.is_reinvocation && !self.invoked.due.contains(&hook.id) {
            return Ok(());
        }
        let round = u8::from(self.is_reinvocation);
        let started = Instant::now();
        let outcome = match webhooks.call(hook, request, versioned, None).await {
            Ok(response) => {
                let patched = patch(hook, request, versioned, &response);
                if let Ok(Patched::Applied { .. }) = patched {
                    let key = format!("patch.webhook.admission.k8s.io/round_{round}_index_{index}");
                    request.options.context.annotate_body(key, || annotations::patch(hook, &response));
                }
                patched
            }
            Err(failure) => Err(failure),
        };
        webhooks.metrics.called(webhooks.kind, hook, request.operation, outcome.as_ref().err(), started.elapsed());
        let is_changed = matches!(outcome, Ok(Patched::Applied { changed: true }));
        let place = format!("mutation.webhook.admission.k8s.io/round_{round}_index_{index}");
        request.options.context.annotate(place, annotations::mutation(hook, is_changed));
        if is_changed {
            self.invoked.require_all();
            if let Some(rounds) = request.rounds {
                rounds.request_reinvocation();
            }
        }
        if hook.is_reinvoked {
            self.invoked.previous.insert(hook.id.clone());
        }
        match outcome {
            Ok(_) => Ok(()),
            Err(failure) => webhooks.failed(failure, hook, request, index, round),
        }
    }
}

/// What a patch has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patched {
    /// There was none.
    Nothing,
    Applied {
        /// Whether the object is another one now.
        changed: bool,
    },
}

/// Applies the patch of a webhook.
fn patch(
    hook: &Hook,
    request: &AdmissionRequest<'_>,
    versioned: &mut Versioned,
    response: &Response,
) -> std::result::Result<Patched, Failure> {
    if response.patch.is_empty() {
        return Ok(Patched::Nothing);
    }
    let undecodable = |error: String| {
        Failure::call(&hook.name, 503, format!("received undecodable patch in webhook response: {error}"))
    };
    let decoded = json::parse_spelled(&response.patch, Strictness::Ignore);
    let patch = decoded.map_err(|error| undecodable(error.to_string()))?.value;
    let operations = match &patch {
        Value::List(operations) => operations,
        Value::Null => return Ok(Patched::Nothing),
        other => {
            return Err(undecodable(format!(
                "json: cannot unmarshal {} into Go value of type jsonpatch.Patch",
                other.json_kind()
            )));
        }
    };
    if let Some(other) = operations.iter().find(|operation| !matches!(operation, Value::Map(_) | Value::Null)) {
        let kind = other.json_kind();
        return Err(undecodable(format!("json: cannot unmarshal {kind} into Go value of type jsonpatch.Operation")));
    }
    if operations.is_empty() {
        return Ok(Patched::Nothing);
    }
    let refused = |why: String| Failure::Refused(Status::internal(why));
    let Some(object) = &versioned.object else {
        let hook = names::quoted(&hook.name);
        return Err(refused(format!(
            "admission webhook {hook} attempted to modify the object, which is not supported for this operation"
        )));
    };
    if response.patch_type != "JSONPatch" {
        let patch_type = names::quoted(&response.patch_type);
        return Err(Failure::call(&hook.name, 400, format!("unsupported patch type {patch_type}")));
    }
    let patched = json_patch::apply(object.clone(), &patch).map_err(|error| refused(error.detail().to_owned()))?;
    let changed = versioned.replace(request, patched).map_err(Failure::Refused)?;
    Ok(Patched::Applied { changed })
}
