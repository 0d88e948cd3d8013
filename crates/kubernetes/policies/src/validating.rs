//! ValidatingAdmissionPolicy: expressions that an object must satisfy. Guarantees that every policy is evaluated before a
//! request is rejected, and that the first rejection is returned. Must never change an object.

use crate::metrics::{Checks, error_type};
use crate::params;
use crate::policy::{Action, Binding, Policy, named};
use crate::source::{BoundPolicy, Matches, Snapshot, Source};
use crate::versions::{Versions, facts, namespace_object, reads_namespace};
use pintle_auth::AuthorizerUnion;
use pintle_cel::environment::Policy as Declared;
use pintle_cel::{Type, Value as CelValue};
use pintle_codec::json;
use pintle_expressions::{
    BUDGET, Budget, ConditionMetrics, ConditionOwner, Expression, Inputs, MatchConditions, Matched, Mode, OutOfBudget,
    PolicyVariables, RequestAuthorizer, evaluate_all,
};
use pintle_registry::status::{Cause, Status};
use pintle_registry::{AdmissionPlugin, AdmissionRequest, Admitted, Operation, Phase, Registry, Result};
use pintle_resource::MaybeReady;
use pintle_schema::{Map, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const NAME: &str = "ValidatingAdmissionPolicy";

/// The longest message that an expression may give.
const MAX_MESSAGE_BYTES: usize = 5 * 1024;
/// The maximum length of an audit annotation's value.
const MAX_ANNOTATION_BYTES: usize = 10 * 1024;
const FAILURES: &str = "validation.policy.admission.k8s.io/validation_failure";

/// The admission plugin.
pub struct ValidatingPolicies {
    source: Source<Validating>,
    authorizer: AuthorizerUnion,
    checks: Arc<Checks>,
    conditions: Arc<ConditionMetrics>,
}

/// The validations of a policy.
pub struct Validating {
    variables: PolicyVariables,
    conditions: MatchConditions,
    validations: Vec<Validation>,
    /// Messages by the place of their validation, if any has one.
    messages: Option<Vec<Option<Expression>>>,
    annotations: Vec<(String, Expression)>,
    fails: bool,
    /// Whether an expression may read the namespace.
    reads_namespace: bool,
}

struct Validation {
    expression: Expression,
    message: String,
    reason: String,
}

/// The outcome of a validation.
struct Decision {
    verdict: ValidationResult,
    took: Duration,
}

enum ValidationResult {
    Admit,
    /// It could not be evaluated, which the failure policy ignores.
    Ignored(String),
    Deny {
        message: String,
        reason: String,
        error: &'static str,
    },
}

/// The outcome of an audit annotation.
enum Annotation {
    Publish(String),
    Error(String),
}

/// The outcome of a policy for a request and one parameter.
#[derive(Default)]
struct Outcome<'p> {
    decisions: Vec<Decision>,
    annotations: Vec<(&'p str, Annotation)>,
}

/// Where match conditions are counted.
struct Counting<'c> {
    metrics: &'c ConditionMetrics,
    owner: ConditionOwner<'c>,
}

impl Validating {
    pub fn compile(_: &str, spec: &Value) -> Validating {
        let has_params = spec.get("paramKind").is_some_and(|kind| !kind.is_null());
        let declared = Declared { has_params, has_authorizer: true, has_patches: false };
        let variables = PolicyVariables::compile(named(spec.get("variables")), Mode::Stored, declared);
        let environment = variables.environment(Mode::Stored, declared);
        let plain = variables.environment(Mode::Stored, Declared { has_authorizer: false, ..declared });
        let list = |field| spec.get(field).and_then(Value::as_list).unwrap_or_default();
        let validations = list("validations");
        let message = |validation: &Value| {
            let text = validation.str_at(&["messageExpression"]);
            (!text.is_empty()).then(|| Expression::compile(text, &plain, &[Type::String]))
        };
        let messages: Vec<_> = validations.iter().map(message).collect();
        let validation = |validation: &Value| Validation {
            expression: Expression::compile(validation.str_at(&["expression"]), &environment, &[Type::Bool]),
            message: validation.str_at(&["message"]).trim().to_owned(),
            reason: validation.str_at(&["reason"]).to_owned(),
        };
        let annotation = |annotation: &Value| {
            let text = annotation.str_at(&["valueExpression"]);
            let value = Expression::compile(text, &environment, &[Type::String, Type::Null]);
            (annotation.str_at(&["key"]).to_owned(), value)
        };
        let mut made = Validating {
            conditions: MatchConditions::compile_in(
                named(spec.get("matchConditions")),
                &environment,
                variables.clone(),
            ),
            validations: validations.iter().map(validation).collect(),
            messages: messages.iter().any(Option::is_some).then_some(messages),
            annotations: list("auditAnnotations").iter().map(annotation).collect(),
            fails: spec.str_at(&["failurePolicy"]) != "Ignore",
            reads_namespace: false,
            variables,
        };
        made.reads_namespace = reads_namespace(made.expressions());
        made
    }

    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let variables = self.variables.iter().map(|(_, expression)| expression);
        let conditions = self.conditions.iter().map(|(_, expression)| expression);
        let validations = self.validations.iter().map(|validation| &validation.expression);
        let messages = self.messages.iter().flatten().flatten();
        let annotations = self.annotations.iter().map(|(_, expression)| expression);
        variables.chain(conditions).chain(validations).chain(messages).chain(annotations)
    }

    /// The policy as a whole could not be evaluated.
    fn failed(&self, message: String) -> Outcome<'_> {
        let verdict = self.failure(message);
        Outcome { decisions: vec![Decision { verdict, took: Duration::ZERO }], annotations: Vec::new() }
    }

    fn failure(&self, message: String) -> ValidationResult {
        match self.fails {
            true => ValidationResult::Deny { error: error_type(&message), message, reason: String::new() },
            false => ValidationResult::Ignored(message),
        }
    }

    async fn validate(
        &self,
        inputs: &Inputs<'_>,
        answers: &RequestAuthorizer<'_>,
        counting: &Counting<'_>,
    ) -> Outcome<'_> {
        let Counting { metrics, owner } = counting;
        match self.conditions.matches_counted(inputs, answers, metrics, owner).await {
            Matched::Yes => {}
            Matched::No(_) => return Outcome::default(),
            // Under the failure policy `Ignore` the policy then matches nothing, rather than admitting.
            Matched::Failed(_) if !self.fails => return Outcome::default(),
            Matched::Failed(error) => return self.failed(error),
        }
        let started = Instant::now();
        let mut budget = Budget(BUDGET);
        let expressions = self.validations.iter().map(|validation| Some(&validation.expression));
        let results = match evaluate_all(expressions, &self.variables, inputs, Some(answers), &mut budget).await {
            Ok(results) => results,
            Err(error) => return self.failed(error.to_string()),
        };
        let messages = match &self.messages {
            None => Ok(Vec::new()),
            Some(messages) => {
                evaluate_all(messages.iter().map(Option::as_ref), &self.variables, inputs, None, &mut budget).await
            }
        };
        let took = started.elapsed() / u32::try_from(results.len().max(1)).unwrap_or(1);
        let mut decisions = Vec::with_capacity(results.len());
        for (at, (validation, result)) in self.validations.iter().zip(results).enumerate() {
            let verdict = match (result, &messages) {
                (Some(Err(error)), _) => self.failure(error),
                (_, Err(OutOfBudget)) => self.failure(format!("failed messageExpression: {OutOfBudget}")),
                (Some(Ok(CelValue::Bool(true))), Ok(_)) => ValidationResult::Admit,
                (_, Ok(messages)) => {
                    let message = messages.get(at).and_then(Option::as_ref);
                    let message = message.and_then(|message| message.as_ref().ok()).and_then(CelValue::as_str);
                    ValidationResult::Deny {
                        message: validation.message(message),
                        reason: validation.reason.clone(),
                        error: error_type(""),
                    }
                }
            };
            decisions.push(Decision { verdict, took });
        }
        match self.annotate(inputs).await {
            Ok(annotations) => Outcome { decisions, annotations },
            Err(error) => self.failed(error.to_string()),
        }
    }

    async fn annotate(&self, inputs: &Inputs<'_>) -> std::result::Result<Vec<(&str, Annotation)>, OutOfBudget> {
        if self.annotations.is_empty() {
            return Ok(Vec::new());
        }
        let mut budget = Budget(BUDGET);
        let expressions = self.annotations.iter().map(|(_, expression)| Some(expression));
        let values = evaluate_all(expressions, &self.variables, inputs, None, &mut budget).await?;
        let annotations = self.annotations.iter().zip(values).filter_map(|((key, expression), value)| {
            let annotation = match value? {
                Err(_) if !self.fails => return None,
                Err(error) => Annotation::Error(error),
                Ok(CelValue::Null) => return None,
                Ok(value) => match value.as_str().map(str::trim) {
                    Some("") => return None,
                    Some(text) => Annotation::Publish(text.to_owned()),
                    None => Annotation::Error(format!(
                        "valueExpression '{}' resulted in unsupported return type: {}. Return type must be either string or null.",
                        expression.text(),
                        value.type_name()
                    )),
                },
            };
            Some((key.as_str(), annotation))
        });
        Ok(annotations.collect())
    }
}

impl Validation {
    /// The message of a rejection: the result of its expression, if usable.
    fn message(&self, evaluated: Option<&str>) -> String {
        let is_fit = |text: &&str| !text.is_empty() && text.len() <= MAX_MESSAGE_BYTES && !text.contains('\n');
        match evaluated.map(str::trim).filter(is_fit) {
            Some(text) => text.to_owned(),
            None if !self.message.is_empty() => self.message.clone(),
            None => format!("failed expression: {}", self.expression.text().trim()),
        }
    }
}

impl ValidatingPolicies {
    /// Policies whose expressions use this authorizer.
    pub fn new(authorizer: AuthorizerUnion, checks: Arc<Checks>, conditions: Arc<ConditionMetrics>) -> Self {
        let source =
            Source::new("validatingadmissionpolicies", "validatingadmissionpolicybindings", Validating::compile);
        ValidatingPolicies { source, authorizer, checks, conditions }
    }

    /// Replaces the policies of files and their bindings, which are complete and valid. They apply to every request that begins
    /// afterwards.
    pub fn set_files(&self, policies: &[Value], bindings: &[Value]) {
        self.source.set_files(policies, bindings);
    }

    fn ask<'a>(
        &'a self,
        request: &'a AdmissionRequest<'a>,
        object: Option<&'a Value>,
        warnings: Option<&'a mut Vec<String>>,
    ) -> Admitted<'a> {
        let snapshot = self.source.snapshot(request);
        let matched = snapshot.matching(request, object);
        if matched.is_empty() {
            return MaybeReady::Ready(Ok(()));
        }
        MaybeReady::wait(async move {
            let mut dispatch = Dispatch {
                plugin: self,
                request,
                object,
                answers: RequestAuthorizer::new(&self.authorizer, request.options.context.user()),
                denied: None,
                failure: None,
                warned: Vec::new(),
            };
            let outcome = dispatch.run(&snapshot, matched).await;
            match warnings {
                Some(warnings) => warnings.append(&mut dispatch.warned),
                None => dispatch.warned.drain(..).for_each(|warning| request.options.context.warn(warning)),
            }
            outcome
        })
    }
}

/// A request that policies are evaluated for.
struct Dispatch<'a> {
    plugin: &'a ValidatingPolicies,
    request: &'a AdmissionRequest<'a>,
    object: Option<&'a Value>,
    answers: RequestAuthorizer<'a>,
    denied: Option<Status>,
    /// The first failure for the audit log: an annotation is set once.
    failure: Option<Value>,
    warned: Vec<String>,
}

impl Dispatch<'_> {
    async fn run(&mut self, snapshot: &Snapshot<Validating>, matched: Matches) -> Result<()> {
        let options = self.request.options_object();
        let mut policies = matched.iter().filter_map(|(at, _)| Some(&snapshot.hooks.get(*at)?.policy));
        let reads_namespace = policies.any(|policy| policy.evaluator.reads_namespace);
        let namespace = namespace_object(self.request, reads_namespace)?;
        let mut versions = Versions::new(self.request, self.object);
        for (at, resource) in matched {
            let Some(hook) = snapshot.hooks.get(at) else { continue };
            let BoundPolicy { policy, bindings } = &**hook;
            let params = policy.param_kind.as_ref().map(|kind| kind.source(self.request.registry)).transpose();
            let (resource, params) = match (resource, params) {
                (Err(status), _) => {
                    self.misconfigured(policy, None, &status.message);
                    continue;
                }
                (_, Err(error)) => {
                    self.misconfigured(policy, None, &error.to_string());
                    continue;
                }
                (Ok(resource), Ok(params)) => (resource, params),
            };
            let mut annotations = Annotations::default();
            for binding in bindings {
                match binding.matches(self.request, self.object) {
                    Ok(true) => {}
                    Ok(false) => continue,
                    Err(status) => {
                        self.misconfigured(policy, Some(binding), &status.message);
                        continue;
                    }
                }
                let params = match params::collect(self.request, params.as_ref(), binding).await {
                    Ok(params) => params,
                    Err(error) => {
                        self.misconfigured(policy, Some(binding), &error.to_string());
                        continue;
                    }
                };
                if params.is_empty() {
                    continue;
                }
                let objects = match versions.of(&resource).await {
                    Ok(objects) => objects,
                    Err(status) => {
                        let why = format!("failed to convert object version: {}", status.message);
                        self.misconfigured(policy, Some(binding), &why);
                        continue;
                    }
                };
                for params in &params {
                    let mut inputs = Inputs::new(facts(self.request, &resource, self.object, options.as_ref()));
                    inputs.object = objects.object.as_deref();
                    inputs.old_object = objects.old.as_deref();
                    inputs.namespace = namespace.as_ref();
                    inputs.params = params.as_ref();
                    let owner = crate::condition_owner(&policy.name, self.request);
                    let counting = Counting { metrics: &self.plugin.conditions, owner };
                    let outcome = policy.evaluator.validate(&inputs, &self.answers, &counting).await;
                    self.follow(policy, binding, outcome, &mut annotations);
                }
            }
            annotations.publish(&policy.name, self.request);
        }
        if let Some(failure) = self.failure.take() {
            self.request.options.context.annotate(FAILURES, json::to_string(&Value::List(vec![failure])));
        }
        self.denied.take().map_or(Ok(()), Err)
    }

    /// Performs the actions of a binding on the outcome of its policy.
    fn follow<'p>(
        &mut self,
        policy: &Policy<Validating>,
        binding: &Binding,
        outcome: Outcome<'p>,
        annotations: &mut Annotations<'p>,
    ) {
        for (at, Decision { verdict, took }) in outcome.decisions.into_iter().enumerate() {
            match verdict {
                ValidationResult::Admit => {}
                ValidationResult::Ignored(error) => self.note(policy, binding, error_type(&error), "allow", took),
                ValidationResult::Deny { message, reason, error } => {
                    for action in &binding.actions {
                        self.act(policy, binding, *action, (at, &message, &reason));
                        self.note(policy, binding, error, action_label(*action), took);
                    }
                }
            }
        }
        for (key, annotation) in outcome.annotations {
            match annotation {
                Annotation::Publish(value) => annotations.add(key, value),
                Annotation::Error(error) => {
                    self.deny(policy, Some(binding), &error, "");
                    self.note(policy, binding, error_type(&error), "deny", Duration::ZERO);
                }
            }
        }
    }

    fn act(
        &mut self,
        policy: &Policy<Validating>,
        binding: &Binding,
        action: Action,
        (at, message, reason): (usize, &str, &str),
    ) {
        match action {
            Action::Deny => self.deny(policy, Some(binding), message, reason),
            Action::Audit => {
                self.failure.get_or_insert_with(|| failure(policy, binding, at, message));
            }
            Action::Warn => {
                let warning = format!(
                    "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {message}",
                    policy.name, binding.name
                );
                if !self.warned.contains(&warning) {
                    self.warned.push(warning);
                }
            }
        }
    }

    fn note(
        &self,
        policy: &Policy<Validating>,
        binding: &Binding,
        error: &'static str,
        action: &'static str,
        took: Duration,
    ) {
        self.plugin.checks.note(&policy.name, &binding.name, error, action, took);
    }

    fn misconfigured(&mut self, policy: &Policy<Validating>, binding: Option<&Binding>, why: &str) {
        let what = if binding.is_some() { "binding" } else { "policy" };
        if policy.fails {
            self.deny(policy, binding, &format!("failed to configure {what}: {why}"), "");
        }
    }

    /// The first rejection is returned.
    fn deny(&mut self, policy: &Policy<Validating>, binding: Option<&Binding>, message: &str, reason: &str) {
        if self.denied.is_some() {
            return;
        }
        let with = binding.map_or(String::new(), |binding| format!(" with binding '{}'", binding.name));
        let message = format!("ValidatingAdmissionPolicy '{}'{with} denied request: {message}", policy.name);
        let name = self.request.refused_name(self.object);
        let mut status = Status::forbidden(self.request.resource(), name, &message);
        (status.code, status.reason) = match reason {
            "Forbidden" => (403, "Forbidden"),
            "Unauthorized" => (401, "Unauthorized"),
            "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
            _ => (422, "Invalid"),
        };
        if let Some(details) = &mut status.details {
            details.causes.push(Cause { reason: String::new(), message, field: String::new() });
        }
        self.denied = Some(status);
    }
}

const fn action_label(action: Action) -> &'static str {
    match action {
        Action::Deny => "deny",
        Action::Warn => "warn",
        Action::Audit => "audit",
    }
}

/// A failure as an audit annotation lists it.
fn failure(policy: &Policy<Validating>, binding: &Binding, at: usize, message: &str) -> Value {
    let mut failure = Map::new();
    failure.set("message", message);
    failure.set("policy", policy.name.as_str());
    failure.set("binding", binding.name.as_str());
    failure.set("expressionIndex", Value::Int(i64::try_from(at).unwrap_or(i64::MAX)));
    let actions = binding.actions.iter().map(|action| Value::from(action.name())).collect();
    failure.set("validationActions", Value::List(actions));
    Value::Map(failure)
}

/// The audit annotations of a policy: of each key the values that its bindings gave.
#[derive(Default)]
struct Annotations<'p>(Vec<(&'p str, Vec<String>)>);

impl<'p> Annotations<'p> {
    fn add(&mut self, key: &'p str, mut value: String) {
        value.truncate(value.floor_char_boundary(MAX_ANNOTATION_BYTES));
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => self.0.push((key, vec![value])),
        }
    }

    fn publish(self, policy: &str, request: &AdmissionRequest<'_>) {
        for (key, values) in self.0 {
            request.options.context.annotate_from_outside(format!("{policy}/{key}"), values.join(", "));
        }
    }
}

impl AdmissionPlugin for ValidatingPolicies {
    fn name(&self) -> &str {
        NAME
    }

    fn handles(&self, phase: Phase, request: &AdmissionRequest<'_>) -> bool {
        phase == Phase::Validate && !self.source.is_empty(request)
    }

    fn may_wait(&self, registry: &Registry) -> bool {
        // Expressions may ask an authorizer that is a webhook.
        !self.source.has_none(registry)
    }

    fn validate<'a>(
        &'a self,
        request: &'a AdmissionRequest<'a>,
        object: &'a Value,
        warnings: &'a mut Vec<String>,
    ) -> Admitted<'a> {
        self.ask(request, Some(object), Some(warnings))
    }

    fn delete<'a>(&'a self, phase: Phase, request: &'a AdmissionRequest<'a>, _: &'a Value) -> Admitted<'a> {
        match (phase, request.operation) {
            (Phase::Validate, Operation::Delete) => self.ask(request, None, None),
            _ => MaybeReady::Ready(Ok(())),
        }
    }
}
