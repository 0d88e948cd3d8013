//! Evictions: deletes a pod if its disruption budget allows it.
//!
//! Guarantees that a disruption is durably subtracted from the budget's status before the pod is changed, so that no
//! two evictions share one. Must never compute what a budget allows: the disruption controller does.

use crate::in_namespace;
use futures_util::future::{BoxFuture, FutureExt};
use pintle_cache::Object;
use pintle_compute::Loop;
use pintle_endpoints::encoding::AllowedMediaTypes;
use pintle_endpoints::handler::{Call, Handler};
use pintle_endpoints::query::delete_options_from_body;
use pintle_endpoints::request::Request;
use pintle_endpoints::response::{ApiResponse, attach_warnings};
use pintle_endpoints::selectors::label_selector;
use pintle_endpoints::subresource::{body, created};
use pintle_registry::unreadable::UNSAFE_DELETION_OPTION;
use pintle_registry::update::{ManagedFieldsUpdate, SubresourcePart, Update};
use pintle_registry::{
    AdmissionMode, Cause, DeleteOptions, Details, ListOptions, Payload, Registry, Result, Selection, Status, Target,
    WriteOptions, metadata, track_posted,
};
use pintle_schema::{Time, Value, View, ViewMut};
use pintle_types::core::v1::{ConditionStatus, Pod, PodCondition, PodConditionType, PodPhase, PodStatus};
use pintle_types::meta::v1::{self, Condition};
use pintle_types::policy::v1::{
    PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus, UnhealthyPodEvictionPolicyType,
};
use pintle_validation::ErrorList;

const BUDGETS: [&str; 3] = ["policy", "v1", "poddisruptionbudgets"];

/// The maximum number of attempts if the pod changes meanwhile.
const ATTEMPTS: usize = 20;

/// The maximum number of evictions that the disruption controller has not processed yet.
const DISRUPTED_PODS: usize = 2000;

/// `Retry-After` while a budget's status is outdated.
const RETRY_AFTER_SECONDS: u32 = 10;

/// The version of evictions of older clients.
const ALSO: &[&str] = &["policy/v1beta1"];

/// Handles a POST of an eviction to a pod.
pub struct Eviction;

impl Handler for Eviction {
    fn handle<'a>(&'a self, call: Call<'a>, request: Request) -> BoxFuture<'a, Result<ApiResponse>> {
        evict(call, request).boxed()
    }
}

/// Deletes a pod, if its disruption budget allows it.
///
/// # Errors
/// The pod does not exist, its budget does not allow it, or the deletion is rejected.
async fn evict(call: Call<'_>, request: Request) -> Result<ApiResponse> {
    let target = call.target()?;
    let wanted = call.context.negotiate(AllowedMediaTypes::Actions)?;
    let (mut eviction, options, mut warnings) = body(call.context, call.subresource()?, ALSO, request).await?;
    let outcome = match asked_for(call, &target, &mut eviction, &options, &mut warnings).await {
        Ok(options) => Evicting { registry: &call.context.api.registry, target: &target, options }.run().await,
        Err(status) => Err(status),
    };
    attach_warnings(outcome.map(|()| created(wanted)), warnings)
}

/// The delete options of an eviction, after its admission.
async fn asked_for(
    call: Call<'_>,
    target: &Target,
    eviction: &mut Value,
    options: &WriteOptions,
    warnings: &mut Vec<String>,
) -> Result<DeleteOptions> {
    let Call { context, path, .. } = call;
    in_namespace(eviction, &target.namespace)?;
    if let Some(schema) = &call.subresource()?.schema {
        let environment = context.api.registry.environment.as_ref();
        track_posted(schema, "policy/v1", &path.subresource, eviction, options, environment);
    }
    let check = |eviction: &mut Value| check(eviction, &target.name, options.dry_run);
    context.api.registry.admit_action(target, &path.subresource, eviction, options, warnings, &check).await?;
    let none = Value::map();
    let asked = eviction.get("deleteOptions").unwrap_or(&none);
    // The other options matter once there is a pod to delete.
    target.get()?;
    let deletion = delete_options_from_body(asked, false, context.request.clone())?;
    Ok(DeleteOptions { dry_run: deletion.dry_run || options.dry_run, is_admitted: true, ..deletion })
}

/// Checks an eviction before admission validates it. A dry run becomes one of its delete options, if it has any.
fn check(eviction: &mut Value, pod: &str, is_dry_run: bool) -> Result<()> {
    if metadata::text(eviction, "name") != pod {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    let Some(asked) = eviction.get("deleteOptions").filter(|asked| !asked.is_null()) else { return Ok(()) };
    check_options(asked, is_dry_run, pod)?;
    if is_dry_run {
        eviction.set_at(&["deleteOptions", "dryRun"], Value::List(vec!["All".into()]));
    }
    Ok(())
}

/// An eviction deletes no unreadable pod, and is a dry run in its body if it is one in its query.
fn check_options(asked: &Value, is_dry_run: bool, pod: &str) -> Result<()> {
    if asked.get(UNSAFE_DELETION_OPTION).and_then(Value::as_bool) == Some(true) {
        let mut errors = ErrorList::default();
        let detail = "can not be set for pod eviction, try after removing the option";
        errors.invalid(format!("deleteOptions.{UNSAFE_DELETION_OPTION}"), true, detail);
        return Err(Status::invalid("policy", "Eviction", pod, &errors));
    }
    let listed = asked.get("dryRun").and_then(Value::as_list).unwrap_or(&[]);
    let listed: Vec<&str> = listed.iter().filter_map(Value::as_str).collect();
    if is_dry_run && !listed.is_empty() && listed != ["All"] {
        let listed = listed.join(" ");
        let why = format!("Non-matching dry-run options in request and content: [All] and [{listed}]");
        return Err(Status::unexplained(why));
    }
    Ok(())
}

struct Evicting<'a> {
    registry: &'a Registry,
    target: &'a Target,
    options: DeleteOptions,
}

impl Evicting<'_> {
    async fn run(&self) -> Result<()> {
        let mut attempts = 1..ATTEMPTS;
        loop {
            let stored = self.target.get()?;
            let pod = self.registry.decode(self.target, &stored)?;
            let phase = View::<Pod>::new(&pod).field(Pod::STATUS).field(PodStatus::PHASE).get();
            let is_over = phase == PodPhase::SUCCEEDED || phase == PodPhase::FAILED || metadata::is_terminating(&pod);
            if !is_over && phase != PodPhase::PENDING {
                return self.guarded(&stored, &pod).await;
            }
            // A pod that becomes ready meanwhile is protected by its budget.
            match self.remove((!is_over).then_some(&stored)).await {
                Err(status) if status.code == 409 && !self.names_version() && attempts.next().is_some() => {}
                outcome => return outcome,
            }
        }
    }

    /// The eviction of a pod that counts for budgets.
    async fn guarded(&self, stored: &Object, pod: &Value) -> Result<()> {
        let mut budgets = self.budgets(stored).await?;
        if budgets.len() > 1 {
            return Err(guarded_twice());
        }
        let Some((target, budget)) = budgets.pop() else {
            return self.remove(None).await;
        };
        if is_ready(pod) || !spares_unready(&budget) {
            self.take_disruption(&target, &budget).await?;
            return self.remove(None).await;
        }
        match self.remove(Some(stored)).await {
            // The pod may have become ready.
            Err(status) if status.code == 409 && !self.names_version() => Err(still_processed(&target.name)),
            outcome => outcome,
        }
    }

    fn names_version(&self) -> bool {
        self.options.resource_version.is_some()
    }

    /// The budgets that select the pod, with their targets.
    async fn budgets(&self, pod: &Object) -> Result<Vec<(Target, Value)>> {
        let target = |name: &str| self.registry.target_of(BUDGETS, &self.target.namespace, name);
        let all = target("").ok_or_else(Status::no_such_path)?;
        let everything = Selection::parse(&all.resource, &all.resource.selectable, "", "")?;
        let (mut found, mut steps) = (Vec::new(), Loop::default());
        for object in self.registry.list(&all, &everything, &ListOptions::default()).await?.items.iter() {
            // To decode a budget and its selector takes about a microsecond for so many bytes.
            steps.step(1 + object.encoded.size() / 16).await;
            let budget = self.registry.decode(&all, object)?;
            let spec = View::<PodDisruptionBudget>::new(&budget).field(PodDisruptionBudget::SPEC);
            // An absent selector selects nothing, an empty one everything.
            let selector = spec.field(PodDisruptionBudgetSpec::SELECTOR).get().as_ref().and_then(label_selector);
            if selector.is_some_and(|selector| selector.matches(|key| pod.encoded.label(key))) {
                found.extend(target(object.name()).map(|target| (target, budget)));
            }
        }
        Ok(found)
    }

    async fn take_disruption(&self, target: &Target, budget: &Value) -> Result<()> {
        let now = Time::from_seconds(self.registry.environment.now_unix());
        let change = |stored: Option<&Value>| {
            let mut budget = stored.ok_or_else(|| target.not_found())?.clone();
            let generation = metadata::generation(&budget);
            let view = ViewMut::<PodDisruptionBudget>::new(&mut budget).field(PodDisruptionBudget::STATUS);
            let mut status = view.view().get();
            take(&target.name, generation, &mut status, &self.target.name, now)?;
            view.set(status);
            Ok(budget)
        };
        if self.options.dry_run {
            return change(Some(budget)).map(drop);
        }
        self.update_status(target, &change, ManagedFieldsUpdate::Compute).await.map(drop)
    }

    /// Sets the pod's condition `DisruptionTarget` and deletes the pod, if it is still at the revision `seen`.
    async fn remove(&self, seen: Option<&Object>) -> Result<()> {
        let mut options = self.options.clone();
        if let (Some(seen), false) = (seen, self.names_version()) {
            options.resource_version = Some(seen.revision.0.to_string());
        }
        if !options.dry_run {
            let now = Time::from_seconds(self.registry.environment.now_unix());
            let change = |stored: Option<&Value>| {
                let stored = stored.ok_or_else(|| self.target.not_found())?;
                let [uid, version] = ["uid", "resourceVersion"].map(|field| metadata::text(stored, field));
                options.check_preconditions(self.target, uid, version)?;
                let mut pod = stored.clone();
                mark_disrupted(&mut pod, now);
                Ok(pod)
            };
            let written = self.update_status(self.target, &change, ManagedFieldsUpdate::Provided).await?;
            if let (Some(version), Payload::Stored(pod)) = (&mut options.resource_version, written) {
                *version = pod.revision.0.to_string();
            }
        }
        self.registry.delete(self.target, &options).await.map(drop)
    }

    async fn update_status(
        &self,
        target: &Target,
        change: &dyn pintle_registry::update::Change,
        owners: ManagedFieldsUpdate,
    ) -> Result<Payload> {
        let part = SubresourcePart::of(&target.resource, "status");
        let update = Update { change, part, create: false, from_stored: true, owners };
        let options = WriteOptions { admission: AdmissionMode::Skip, ..WriteOptions::of_server("kube-apiserver") };
        let written = self.registry.update(target, &update, &options).await?;
        Ok(written.payload)
    }
}

fn is_ready(pod: &Value) -> bool {
    let conditions = View::<Pod>::new(pod).field(Pod::STATUS).field(PodStatus::CONDITIONS).get();
    let ready = conditions.iter().find(|condition| condition.r#type == PodConditionType::READY);
    ready.is_some_and(|condition| condition.status == ConditionStatus::TRUE)
}

/// Whether unready pods are evicted without a disruption.
fn spares_unready(budget: &Value) -> bool {
    let budget = View::<PodDisruptionBudget>::new(budget);
    let policy = budget.field(PodDisruptionBudget::SPEC).field(PodDisruptionBudgetSpec::UNHEALTHY_POD_EVICTION_POLICY);
    let status = budget.field(PodDisruptionBudget::STATUS).get();
    policy.get() == Some(UnhealthyPodEvictionPolicyType::ALWAYS_ALLOW)
        || status.desired_healthy > 0 && status.current_healthy >= status.desired_healthy
}

/// Subtracts one disruption for a pod from a budget's status.
fn take(budget: &str, generation: i64, status: &mut PodDisruptionBudgetStatus, pod: &str, now: Time) -> Result<()> {
    if status.observed_generation < generation {
        return Err(still_processed(budget));
    }
    if status.disrupted_pods.len() > DISRUPTED_PODS {
        return Err(forbidden(
            budget,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        ));
    }
    match status.disruptions_allowed {
        0 => return Err(exhausted(budget, status)),
        ..0 => return Err(forbidden(budget, "pdb disruptions allowed is negative")),
        _ => status.disruptions_allowed -= 1,
    }
    if status.disruptions_allowed == 0 {
        forbid_disruptions(status, now);
    }
    status.disrupted_pods.insert(pod.to_owned(), now);
    Ok(())
}

const DISRUPTION_ALLOWED: &str = "DisruptionAllowed";

fn forbid_disruptions(status: &mut PodDisruptionBudgetStatus, now: Time) {
    let observed_generation = status.observed_generation;
    let conditions = &mut status.conditions;
    let at = conditions.iter().position(|condition| condition.r#type == DISRUPTION_ALLOWED).unwrap_or_else(|| {
        conditions.push(Condition { r#type: DISRUPTION_ALLOWED.to_owned(), ..Condition::default() });
        conditions.len() - 1
    });
    let Some(condition) = conditions.get_mut(at) else { return };
    if condition.status != v1::ConditionStatus::FALSE {
        condition.status = v1::ConditionStatus::FALSE;
        condition.last_transition_time = now;
    }
    condition.reason = "InsufficientPods".to_owned();
    condition.message = String::new();
    condition.observed_generation = observed_generation;
}

fn mark_disrupted(pod: &mut Value, now: Time) {
    let status = ViewMut::<Pod>::new(pod).field(Pod::STATUS);
    let mut conditions = status.view().field(PodStatus::CONDITIONS).get();
    let wanted = PodCondition {
        r#type: PodConditionType::DISRUPTION_TARGET,
        status: ConditionStatus::TRUE,
        last_transition_time: now,
        reason: "EvictionByEvictionAPI".to_owned(),
        message: "Eviction API: evicting".to_owned(),
        ..PodCondition::default()
    };
    match conditions.iter_mut().find(|condition| condition.r#type == wanted.r#type) {
        Some(known) if known.status == wanted.status => {
            *known = PodCondition { last_transition_time: known.last_transition_time, ..wanted };
        }
        Some(known) => *known = wanted,
        None => conditions.push(wanted),
    }
    status.field(PodStatus::CONDITIONS).set(conditions);
}

fn still_processed(budget: &str) -> Status {
    let why = format!("The disruption budget {budget} is still being processed by the server.");
    too_many_requests(why, RETRY_AFTER_SECONDS)
}

/// The error for a pod with several budgets.
fn guarded_twice() -> Status {
    let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    Status::unexplained(why)
}

/// The error of a budget that allows no more disruptions.
fn exhausted(budget: &str, status: &PodDisruptionBudgetStatus) -> Status {
    let said = status.conditions.iter().find(|condition| {
        condition.r#type == DISRUPTION_ALLOWED
            && condition.status == v1::ConditionStatus::FALSE
            && !condition.message.is_empty()
    });
    let blocked = format!("The disruption budget {budget} does not allow evicting pods currently");
    let why = match said {
        // The counts in the status are outdated then.
        Some(condition) if condition.reason == "SyncFailed" => {
            format!("{blocked} because it failed sync: {}", condition.message)
        }
        _ if status.current_healthy <= status.desired_healthy => format!(
            "The disruption budget {budget} needs {} healthy pods and has {} currently",
            status.desired_healthy, status.current_healthy
        ),
        Some(condition) => format!("{blocked} ({}): {}", condition.reason, condition.message),
        None => blocked,
    };
    too_many_requests(why, 0)
}

fn too_many_requests(why: String, retry_after_seconds: u32) -> Status {
    let cause = Cause { reason: "DisruptionBudget".to_owned(), message: why, field: String::new() };
    let details = Details { causes: vec![cause], retry_after_seconds, ..Details::default() };
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    Status::new(429, "TooManyRequests", message).with_details(details)
}

fn forbidden(budget: &str, why: &str) -> Status {
    // kube-apiserver uses the kind as the resource here.
    let kind = "poddisruptionbudget";
    let details =
        Details { name: budget.to_owned(), group: "policy".to_owned(), kind: kind.to_owned(), ..Details::default() };
    let message = format!("{kind}.policy {budget:?} is forbidden: {why}");
    Status::new(403, "Forbidden", message).with_details(details)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn a_dry_run_becomes_a_delete_option() {
        for (options, is_dry_run, expected) in [
            (value!({"gracePeriodSeconds": 1}), true, Ok(value!({"gracePeriodSeconds": 1, "dryRun": ["All"]}))),
            (value!({"dryRun": ["All"]}), false, Ok(value!({"dryRun": ["All"]}))),
            (Value::Null, true, Ok(Value::Null)),
            (value!({"dryRun": ["x"]}), true, Err(500)),
        ] {
            let mut eviction = value!({"metadata": {"name": "p"}, "deleteOptions": (options.clone())});
            let outcome = check(&mut eviction, "p", is_dry_run).map_err(|status| status.code);
            assert_eq!(
                outcome.map(|()| eviction.remove_at(&["deleteOptions"]).unwrap_or_default()),
                expected,
                "{options:?}"
            );
        }
        assert!(check(&mut value!({"metadata": {"name": "p"}}), "q", false).is_err());
    }
}
