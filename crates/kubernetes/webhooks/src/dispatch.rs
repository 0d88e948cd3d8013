//! Common parts of mutating and validating webhooks: whether one is called for a request, and the call. Guarantees that
//! conditions are evaluated on the objects in the webhook's version. Must never wait longer for a webhook than its timeout and
//! the request's deadline allow.

use crate::failure::Failure;
use crate::hook::Hook;
use crate::review::{self, Response};
use crate::versioned::Versioned;
use crate::{AdmissionWebhooks, Kind};
use pintle_auth::Authorizer;
use pintle_expressions::{ConditionOwner, Inputs, Matched, RequestAuthorizer, RequestFacts};
use pintle_registry::environment::new_uid;
use pintle_registry::{AdmissionRequest, Result, Status};
use pintle_resource::Resource;
use pintle_schema::Value;
use pintle_webhook::{Call, CallError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing::warn;

/// Maximum size of a response: a patch in base64 of the largest allowed object, and room for the rest.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// How long after the request's deadline a call ends, so that the client gets the error of the request and not that of the webhook.
const GRACE: Duration = Duration::from_secs(1);

impl AdmissionWebhooks {
    /// The version in which a webhook is called for a request, according to rules and selectors; conditions come later.
    ///
    /// # Errors
    /// The namespace of the request does not exist.
    pub(crate) fn selected(
        &self,
        hook: &Hook,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
    ) -> Result<Option<Arc<Resource>>> {
        let Some(resource) = hook.rules.find(request, None) else { return Ok(None) };
        let selectors = hook.selectors.as_ref().map_err(Status::internal)?;
        Ok(selectors.select(request, object)?.then_some(resource))
    }

    /// Whether the conditions of a webhook hold.
    ///
    /// # Errors
    /// One has no value, and the failure policy is `Fail`.
    pub(crate) async fn meets_conditions(
        &self,
        hook: &Hook,
        request: &AdmissionRequest<'_>,
        versioned: &Versioned,
    ) -> Result<bool> {
        if hook.conditions.is_empty() {
            return Ok(true);
        }
        let (asked, own) = (&versioned.resource, request.resource());
        let names =
            |resource: &'_ Resource| [resource.group.clone(), resource.version.clone(), resource.plural.clone()];
        let (asked_names, own_names) = (names(asked), names(own));
        let user = request.options.context.user();
        let options = request.options_object();
        let facts = RequestFacts {
            kind: request.kind_in(asked),
            resource: asked_names.each_ref().map(|name| name.as_str()),
            request_kind: request.kind_in(own),
            request_resource: own_names.each_ref().map(|name| name.as_str()),
            subresource: request.subresource,
            name: request.name(versioned.object.as_ref()),
            namespace: request.namespace(),
            operation: request.operation.name(),
            user,
            dry_run: request.options.dry_run,
            options: options.as_ref(),
        };
        let mut inputs = Inputs::new(facts);
        inputs.object = versioned.object.as_ref();
        inputs.old_object = versioned.old.as_ref();
        let authorizer: &dyn Authorizer = &self.authorizer;
        let answers = RequestAuthorizer::new(authorizer, user);
        let owner = ConditionOwner {
            name: &hook.name,
            kind: "webhook",
            admission_type: self.kind.metric_type(),
            operation: request.operation.name(),
        };
        let matched = hook.conditions.matches_counted(&inputs, &answers, &self.conditions, &owner).await;
        match matched {
            Matched::Yes => Ok(true),
            Matched::No(_) => Ok(false),
            Matched::Failed(_) if hook.ignores_failures => Ok(false),
            Matched::Failed(why) => Err(Status::forbidden(own, request.name(versioned.object.as_ref()), &why)),
        }
    }

    /// Calls a webhook, and counts the call. Its warnings go to a list, or to the request at once.
    pub(crate) async fn call(
        &self,
        hook: &Hook,
        request: &AdmissionRequest<'_>,
        versioned: &Versioned,
        warned: Option<&Mutex<Vec<String>>>,
    ) -> std::result::Result<Response, Failure> {
        let dry_run = request.options.dry_run;
        if dry_run && !hook.takes_dry_runs {
            return Err(Failure::dry_run(&hook.name));
        }
        let failed = |code, reason: String| Failure::call(&hook.name, code, reason);
        let version = hook.version.ok_or_else(|| {
            failed(
                400,
                "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)"
                    .to_owned(),
            )
        })?;
        let client = hook.client(&self.source.making().clients).map_err(|reason| failed(500, reason))?;
        let registry = request.registry;
        let uid = new_uid(registry.environment.as_ref());
        let name = request.name(versioned.object.as_ref());
        let body = review::encode(request, versioned, &uid, version, name);
        let left = request.options.context.deadline.map(|end| end.saturating_duration_since(Instant::now()));
        let call = Call {
            body: body.into(),
            timeout: left.map_or(hook.timeout, |left| (left + GRACE).min(hook.timeout)),
            shown_timeout: whole_seconds(left.map_or(hook.timeout, |left| left.min(hook.timeout))),
            max_answer_bytes: MAX_ANSWER_BYTES,
        };
        let answer = client.post(call).await.map_err(|error| match error {
            CallError::Setup(error) => failed(500, format!("could not get REST client: {error}")),
            error => failed(error.code().unwrap_or(503), format!("failed to call webhook: {error}")),
        })?;
        let response = review::decode(&answer.body, &uid, version, self.kind);
        let response = response.map_err(|error| failed(503, error.to_string()))?;
        let context = &request.options.context;
        for (key, value) in &response.response.audit_annotations {
            context.annotate_from_outside(format!("{}/{key}", hook.name), value.as_str());
        }
        let warnings = response.response.warnings.iter().cloned();
        match warned {
            Some(list) => list.lock().unwrap_or_else(PoisonError::into_inner).extend(warnings),
            None => warnings.for_each(|warning| context.warn(warning)),
        }
        if response.response.allowed {
            Ok(response)
        } else {
            Err(Failure::denied(&hook.name, response.response.status))
        }
    }

    /// The effect of a failed call on the request: none with failure policy `Ignore`.
    pub(crate) fn failed(
        &self,
        failure: Failure,
        hook: &Hook,
        request: &AdmissionRequest<'_>,
        index: usize,
        round: u8,
    ) -> Result<()> {
        let Failure::Call { reason, .. } = &failure else { return Err(failure.into_status()) };
        if !hook.ignores_failures {
            return Err(failure.into_status());
        }
        warn!("failed calling webhook, failing open {}: {reason}", hook.name);
        self.metrics.failed_open(self.kind, hook);
        let kind = match self.kind {
            Kind::Mutating => "mutation",
            Kind::Validating => "validating",
        };
        let key = format!("failed-open.{kind}.webhook.admission.k8s.io/round_{round}_index_{index}");
        request.options.context.annotate(key, hook.name.as_str());
        if request.options.context.deadline.is_some_and(|end| end <= Instant::now()) {
            return Err(Status::new(504, "Timeout", "Timeout: request did not complete within requested timeout"));
        }
        Ok(())
    }
}

/// A time rounded up to whole seconds, as it is sent to webhooks.
fn whole_seconds(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs() + u64::from(time.subsec_nanos() > 0))
}
