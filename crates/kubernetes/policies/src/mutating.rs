//! MutatingAdmissionPolicy: expressions that change an object. Guarantees that policies change an object one after the other,
//! each on the result of the previous one, and that those with a reinvocation policy run again after later changes.

use crate::metrics::{Checks, NO_ERROR, error_type};
use crate::params;
use crate::patch::{MutationError, SCHEME, Target, apply_configuration, json_patch};
use crate::policy::{Binding, Policy, named};
use crate::source::{Matches, Snapshot, Source};
use crate::versions::{facts, is_of_kind, namespace_object, reads_namespace};
use pintle_auth::AuthorizerUnion;
use pintle_cel::Type;
use pintle_cel::environment::Policy as Declared;
use pintle_expressions::{
    BUDGET, Budget, ConditionMetrics, Expression, Inputs, MatchConditions, Matched, Mode, PolicyVariables,
    RequestAuthorizer, evaluate_all,
};
use pintle_registry::status::{Cause, Status};
use pintle_registry::{AdmissionPlugin, AdmissionRequest, Admitted, Operation, Phase, Registry, Reinvocation, Result};
use pintle_resource::{MaybeReady, Resource};
use pintle_schema::{Value, canonicalize, with_shown_empties};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

pub const NAME: &str = "MutatingAdmissionPolicy";

/// The admission plugin.
pub struct MutatingPolicies {
    source: Source<Mutating>,
    authorizer: AuthorizerUnion,
    checks: Arc<Checks>,
    conditions: Arc<ConditionMetrics>,
}

/// The mutations of a policy.
pub struct Mutating {
    variables: PolicyVariables,
    conditions: MatchConditions,
    mutations: Vec<(PatchKind, Expression)>,
    /// Whether it runs again if the object is changed after it.
    is_reinvoked: bool,
    /// Whether an expression may read the namespace.
    reads_namespace: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PatchKind {
    ApplyConfiguration,
    Json,
}

impl Mutating {
    pub fn compile(_: &str, spec: &Value) -> Mutating {
        let has_params = spec.get("paramKind").is_some_and(|kind| !kind.is_null());
        let declared = Declared { has_params, has_authorizer: true, has_patches: false };
        let variables = PolicyVariables::compile(named(spec.get("variables")), Mode::Stored, declared);
        let environment = variables.environment(Mode::Stored, declared);
        let patching = variables.environment(Mode::Stored, Declared { has_patches: true, ..declared });
        let mutation = |mutation: &Value| {
            let (kind, field, ty) = match mutation.str_at(&["patchType"]) {
                "JSONPatch" => (PatchKind::Json, "jsonPatch", Type::list(Type::object("JSONPatch"))),
                "ApplyConfiguration" => (PatchKind::ApplyConfiguration, "applyConfiguration", Type::object("Object")),
                _ => return None,
            };
            Some((kind, Expression::compile(mutation.str_at(&[field, "expression"]), &patching, &[ty])))
        };
        let mutations = spec.get("mutations").and_then(Value::as_list).unwrap_or_default();
        let mut made = Mutating {
            conditions: MatchConditions::compile_in(
                named(spec.get("matchConditions")),
                &environment,
                variables.clone(),
            ),
            mutations: mutations.iter().filter_map(mutation).collect(),
            is_reinvoked: spec.str_at(&["reinvocationPolicy"]) == "IfNeeded",
            reads_namespace: false,
            variables,
        };
        made.reads_namespace = reads_namespace(made.expressions());
        made
    }

    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let variables = self.variables.iter().map(|(_, expression)| expression);
        let conditions = self.conditions.iter().map(|(_, expression)| expression);
        variables.chain(conditions).chain(self.mutations.iter().map(|(_, expression)| expression))
    }
}

/// A policy with a binding and a parameter, evaluated for a request.
struct Invocation<'s> {
    policy: &'s Policy<Mutating>,
    binding: &'s Binding,
    resource: Arc<Resource>,
    params: Option<Value>,
}

/// Identifies an invocation in both rounds: policy, binding, and the parameter's namespace and name.
type Key = [String; 4];

impl Invocation<'_> {
    fn key(&self) -> Key {
        let param = |field| self.params.as_ref().map_or("", |params| params.str_at(&["metadata", field])).to_owned();
        [self.policy.name.clone(), self.binding.name.clone(), param("namespace"), param("name")]
    }
}

/// State of the first round, kept for the second.
#[derive(Default)]
struct FirstInvocation {
    output: Option<Value>,
    /// Those that run again if something changes after them.
    invoked: HashSet<Key>,
    /// Those that run again.
    reinvoked: HashSet<Key>,
}

impl FirstInvocation {
    fn object_changed(&mut self) {
        self.reinvoked.extend(self.invoked.drain());
    }
}

impl MutatingPolicies {
    /// Policies whose expressions use this authorizer.
    pub fn new(authorizer: AuthorizerUnion, checks: Arc<Checks>, conditions: Arc<ConditionMetrics>) -> Self {
        let source = Source::new("mutatingadmissionpolicies", "mutatingadmissionpolicybindings", Mutating::compile);
        MutatingPolicies { source, authorizer, checks, conditions }
    }

    /// Replaces the policies of files and their bindings, which are complete and valid. They apply to every request that begins
    /// afterwards.
    pub fn set_files(&self, policies: &[Value], bindings: &[Value]) {
        self.source.set_files(policies, bindings);
    }
}

/// A request that policies change.
struct Dispatch<'a> {
    plugin: &'a MutatingPolicies,
    request: &'a AdmissionRequest<'a>,
    answers: RequestAuthorizer<'a>,
    /// Errors of policies with failure policy `Fail`, and whether they have a reason.
    errors: Vec<(String, bool)>,
}

impl<'a> Dispatch<'a> {
    async fn run(&mut self, snapshot: &Snapshot<Mutating>, matched: Matches, object: &mut Value) -> Result<()> {
        let invocations = self.collect(snapshot, matched, object).await;
        if !invocations.is_empty() {
            self.invoke(&invocations, object).await?;
        }
        self.outcome(object)
    }

    /// The policies that match, with their bindings and parameters.
    async fn collect<'s>(
        &mut self,
        snapshot: &'s Snapshot<Mutating>,
        matched: Matches,
        object: &Value,
    ) -> Vec<Invocation<'s>> {
        let mut invocations = Vec::new();
        for (at, resource) in matched {
            let Some(hook) = snapshot.hooks.get(at) else { continue };
            let policy = &*hook.policy;
            let kind = policy.param_kind.as_ref();
            let found = kind.map(|kind| kind.source(self.request.registry)).transpose();
            let (resource, params) = match (resource, found) {
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
            for binding in &hook.bindings {
                match binding.matches(self.request, Some(object)) {
                    Ok(true) => {}
                    Ok(false) => continue,
                    Err(status) => {
                        self.misconfigured(policy, Some(binding), &status.message);
                        continue;
                    }
                }
                match params::collect(self.request, params.as_ref(), binding).await {
                    Err(error) => self.misconfigured(policy, Some(binding), &error.to_string()),
                    Ok(params) => {
                        let resource = &resource;
                        let invocation = |params| Invocation { policy, binding, resource: resource.clone(), params };
                        invocations.extend(params.into_iter().map(invocation));
                    }
                }
            }
        }
        invocations
    }

    async fn invoke(&mut self, invocations: &[Invocation<'_>], object: &mut Value) -> Result<()> {
        let request = self.request;
        let reads_namespace = invocations.iter().any(|of| of.policy.evaluator.reads_namespace);
        let namespace = namespace_object(request, reads_namespace)?;
        let options = request.options_object();
        let is_reinvocation = request.rounds.is_some_and(Reinvocation::is_reinvocation);
        let mut kept: FirstInvocation = request.rounds.and_then(|rounds| rounds.take(NAME)).unwrap_or_default();
        if is_reinvocation && kept.output.as_ref() != Some(object) {
            kept.object_changed();
        }
        let mut is_applied = false;
        for invocation in invocations {
            let mut current = object.clone();
            self.to_version(&invocation.resource, &mut current).await?;
            let old = self.old(&invocation.resource).await?;
            let inputs = |current: &'_ Value| ExpressionInputs {
                invocation,
                old: old.as_ref(),
                namespace: namespace.as_ref(),
                options: options.as_ref(),
                name: request.name(Some(current)).to_owned(),
            };
            let surroundings = inputs(object);
            match self.matches(&surroundings, &current).await {
                Matched::Yes => {}
                Matched::No(_) => continue,
                Matched::Failed(error) => {
                    self.failed(invocation.policy, Some(invocation.binding), &error, true);
                    continue;
                }
            }
            let key = invocation.key();
            if is_reinvocation && !kept.reinvoked.contains(&key) {
                continue;
            }
            let applied = self.mutate(&surroundings, &mut current).await?;
            is_applied |= applied.is_some();
            if applied == Some(true) {
                kept.object_changed();
                self.store_version(&invocation.resource, &mut current).await?;
                *object = current;
            }
            if invocation.policy.evaluator.is_reinvoked {
                kept.invoked.insert(key);
            }
        }
        if let Some(rounds) = request.rounds {
            if is_applied {
                kept.object_changed();
                rounds.request_reinvocation();
            }
            kept.output = Some(object.clone());
            rounds.keep(NAME, kept);
        }
        Ok(())
    }

    async fn matches<'c>(&self, of: &'c ExpressionInputs<'_>, current: &'c Value) -> Matched<'c> {
        let evaluator = &of.invocation.policy.evaluator;
        if evaluator.conditions.is_empty() {
            return Matched::Yes;
        }
        let inputs = self.inputs(of, current);
        let owner = crate::condition_owner(&of.invocation.policy.name, self.request);
        let metrics = &self.plugin.conditions;
        let matched = evaluator.conditions.matches_counted(&inputs, &self.answers, metrics, &owner).await;
        match matched {
            Matched::Yes => Matched::Yes,
            // Names and texts do not outlive the inputs.
            Matched::No(_) => Matched::No(""),
            Matched::Failed(error) => Matched::Failed(error),
        }
    }

    fn inputs<'c>(&'c self, of: &'c ExpressionInputs<'_>, current: &'c Value) -> Inputs<'c> {
        let mut facts = facts(self.request, &of.invocation.resource, None, of.options);
        facts.name = &of.name;
        let mut inputs = Inputs::new(facts);
        inputs.object = Some(current);
        inputs.old_object = of.old;
        inputs.namespace = of.namespace;
        inputs.params = of.invocation.params.as_ref();
        inputs
    }

    /// Applies the mutations of a policy one after the other. Returns whether they changed the object; `None` if none was
    /// applied.
    async fn mutate(&mut self, of: &ExpressionInputs<'_>, current: &mut Value) -> Result<Option<bool>> {
        let Invocation { policy, binding, resource, .. } = of.invocation;
        let (mut is_applied, before) = (false, current.clone());
        for (kind, expression) in &policy.evaluator.mutations {
            let started = Instant::now();
            let outcome = self.mutate_once(of, *kind, expression, current).await;
            let took = started.elapsed();
            let checks = &self.plugin.checks;
            match outcome {
                Ok(changed) => {
                    checks.note(&policy.name, &binding.name, NO_ERROR, "", took);
                    is_applied = true;
                    *current = self.completed(resource, changed);
                }
                Err(MutationError::Request(status)) => {
                    checks.note(&policy.name, &binding.name, error_type(&status.message), "", took);
                    return Err(*status);
                }
                Err(MutationError::Policy(why)) => {
                    checks.note(&policy.name, &binding.name, error_type(&why), "", took);
                    self.failed(policy, Some(binding), &why, true);
                }
            }
        }
        Ok(is_applied.then(|| *current != before))
    }

    async fn mutate_once(
        &self,
        of: &ExpressionInputs<'_>,
        kind: PatchKind,
        expression: &Expression,
        current: &Value,
    ) -> std::result::Result<Value, MutationError> {
        if let Err(fault) = expression.program() {
            return Err(MutationError::Policy(fault.to_string()));
        }
        let inputs = self.inputs(of, current);
        let variables = &of.invocation.policy.evaluator.variables;
        let mut budget = Budget(BUDGET);
        let only = std::iter::once(Some(expression));
        let results = evaluate_all(only, variables, &inputs, Some(&self.answers), &mut budget).await;
        let results = results.map_err(|error| MutationError::Policy(error.to_string()))?;
        let made = results.into_iter().flatten().next().unwrap_or_else(|| Err("no value".to_owned()));
        let made = made.map_err(MutationError::Policy)?;
        let resource = &of.invocation.resource;
        let target = Target {
            schema: self.schema(resource),
            merge_schema: self.merge_schema(resource),
            kind: self.request.kind_in(resource),
            is_custom: resource.custom.is_some() && is_of_kind(self.request),
        };
        let changed = match kind {
            PatchKind::ApplyConfiguration => apply_configuration(&target, current, &made)?,
            PatchKind::Json => json_patch(&target, current, &made)?.unwrap_or_else(|| current.clone()),
        };
        self.check_version(resource)?;
        Ok(changed)
    }

    /// The schema by which configurations are merged; `None` for kinds that the OpenAPI document of their version does not
    /// have: the options of connections, and those that another group's subresources take.
    fn merge_schema<'r>(&self, resource: &'r Resource) -> Option<&'r pintle_schema::Struct> {
        if is_of_kind(self.request) {
            return Some(resource.merge_schema());
        }
        let [group, version, _] = self.request.kind_in(resource);
        let is_own = (group, version) == (resource.group.as_str(), resource.version.as_str());
        (is_own && self.request.operation != Operation::Connect).then(|| self.schema(resource))
    }

    /// kube-apiserver cannot convert what a policy changed in another version of a built-in kind than the request's.
    fn check_version(&self, resource: &Resource) -> std::result::Result<(), MutationError> {
        let own = self.request.resource();
        let is_same = own.group == resource.group && own.version == resource.version;
        if is_same || own.custom.is_some() || !is_of_kind(self.request) {
            return Ok(());
        }
        let found = format!("{}.{}", resource.version, resource.kind);
        Err(MutationError::Policy(match own.group == resource.group {
            true => format!("converting ({found}) to ({}.{}): unknown conversion", own.version, own.kind),
            false => {
                let [version, scheme] = [&*own.api_version(), SCHEME].map(pintle_schema::names::quoted);
                format!("{found} is not suitable for converting to {version} in scheme {scheme}")
            }
        }))
    }

    /// The schema of the body of the request's resource or subresource, in a version.
    fn schema<'r>(&self, resource: &'r Resource) -> &'r pintle_schema::Struct {
        let subresource = resource.subresource(self.request.subresource);
        match subresource.and_then(|subresource| subresource.schema.as_ref()) {
            Some(schema) if !is_of_kind(self.request) => schema,
            _ => &resource.schema,
        }
    }

    fn completed(&self, resource: &Resource, mut object: Value) -> Value {
        if is_of_kind(self.request) {
            resource.default_sent(&mut object, self.request.registry.environment.now_unix());
        }
        let made = object.clone();
        canonicalize(self.schema(resource), &mut object);
        with_shown_empties(self.schema(resource), &object, &made).unwrap_or(object)
    }

    async fn to_version(&self, resource: &Arc<Resource>, object: &mut Value) -> Result<()> {
        if is_of_kind(self.request) && !self.request.is_stored_form(resource) {
            self.request.as_version(resource, object).await?;
        }
        canonicalize(self.schema(resource), object);
        if let Some(sent) = self.request.as_sent(self.schema(resource), object).filter(|_| is_of_kind(self.request)) {
            *object = sent;
        }
        Ok(())
    }

    async fn store_version(&self, resource: &Arc<Resource>, object: &mut Value) -> Result<()> {
        if is_of_kind(self.request) && !self.request.is_stored_form(resource) {
            self.request.as_stored(resource, object).await?;
        }
        Ok(())
    }

    async fn old(&self, resource: &Arc<Resource>) -> Result<Option<Value>> {
        let Some(old) = self.request.old else { return Ok(None) };
        let mut old = old.clone();
        if is_of_kind(self.request) && !self.request.is_stored_form(resource) {
            self.request.as_version(resource, &mut old).await?;
        }
        Ok(Some(old))
    }

    fn misconfigured(&mut self, policy: &Policy<Mutating>, binding: Option<&Binding>, why: &str) {
        let what = if binding.is_some() { "binding" } else { "policy" };
        self.failed(policy, binding, &format!("failed to configure {what}: {why}"), false);
    }

    fn failed(&mut self, policy: &Policy<Mutating>, binding: Option<&Binding>, why: &str, has_reason: bool) {
        if !policy.fails {
            return;
        }
        let text = match binding {
            Some(binding) => {
                format!("policy '{}' with binding '{}' denied request: {why}", policy.name, binding.name)
            }
            None => format!("policy {} denied request: {why}", pintle_schema::names::quoted(&policy.name)),
        };
        self.errors.push((text, has_reason));
    }

    /// The first error as a rejection, with all of them as its causes.
    fn outcome(&mut self, object: &Value) -> Result<()> {
        let errors = std::mem::take(&mut self.errors);
        let Some((message, has_reason)) = errors.first() else { return Ok(()) };
        let name = self.request.refused_name(Some(object));
        let mut status = Status::forbidden(self.request.resource(), name, "");
        status.message = message.clone();
        if *has_reason {
            status.reason = "Invalid";
        }
        if let Some(details) = &mut status.details {
            let cause = |(message, _): &(String, bool)| Cause {
                reason: String::new(),
                message: message.clone(),
                field: String::new(),
            };
            details.causes.extend(errors.iter().map(cause));
        }
        Err(status)
    }
}

/// The inputs of an invocation's expressions except the object.
struct ExpressionInputs<'s> {
    invocation: &'s Invocation<'s>,
    old: Option<&'s Value>,
    namespace: Option<&'s Value>,
    options: Option<&'s Value>,
    /// The request's.
    name: String,
}

impl AdmissionPlugin for MutatingPolicies {
    fn name(&self) -> &str {
        NAME
    }

    fn handles(&self, phase: Phase, request: &AdmissionRequest<'_>) -> bool {
        phase == Phase::Mutate && request.operation != Operation::Delete && !self.source.is_empty(request)
    }

    fn may_wait(&self, registry: &Registry) -> bool {
        // Expressions may ask an authorizer that is a webhook.
        !self.source.has_none(registry)
    }

    fn mutate<'a>(
        &'a self,
        request: &'a AdmissionRequest<'a>,
        object: &'a mut Value,
        _: &'a mut Vec<String>,
    ) -> Admitted<'a> {
        let snapshot = self.source.snapshot(request);
        let matched = snapshot.matching(request, Some(object));
        if matched.is_empty() {
            return MaybeReady::Ready(Ok(()));
        }
        MaybeReady::wait(async move {
            let answers = RequestAuthorizer::new(&self.authorizer, request.options.context.user());
            let mut dispatch = Dispatch { plugin: self, request, answers, errors: Vec::new() };
            dispatch.run(&snapshot, matched, object).await
        })
    }
}
