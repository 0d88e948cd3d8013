//! Functions of the authorizer: what is asked of it, step by step, and what it answered.
//!
//! Evaluation waits for nothing, so an authorizer that must ask elsewhere is evaluated over `Decisions`: questions that
//! have no answer yet are noted, answered by the caller, and the expression is evaluated again. An expression can afford
//! two checks, so it is evaluated three times at most.

use super::args::{Result, failed, no_overload, one, track_one};
use crate::cost::{
    CallEstimate, CostEstimate, LIST_CREATE, Node, STRING_TRAVERSAL_FACTOR, STRUCT_CREATE, SizeEstimate,
};
use crate::function::{Call, Function, Overload};
use crate::types::Type;
use crate::value::{Opaque, Value};
use pintle_schema::Str;
use pintle_schema::names;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";
const PATH_CHECK: &str = "kubernetes.authorization.PathCheck";
const GROUP_CHECK: &str = "kubernetes.authorization.GroupCheck";
const RESOURCE_CHECK: &str = "kubernetes.authorization.ResourceCheck";
const DECISION: &str = "kubernetes.authorization.Decision";

/// The cost of a check: no expression can afford three.
const CHECK_COST: u64 = 350_000;

/// Requirements of a selector for each of its characters, at most.
const REQUIREMENTS_PER_CHARACTER: f64 = 0.5;

/// Who is asked about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The user who sent the request.
    Requester,
    ServiceAccount {
        namespace: Str,
        name: Str,
    },
}

/// What is asked: whether a subject may do something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    pub subject: Subject,
    pub verb: Str,
    pub target: Target,
}

/// What a verb is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    Path(Str),
    Resource(Resource),
}

/// A resource of any version. Selectors are as written, and empty when there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resource {
    pub group: Str,
    pub resource: Str,
    pub subresource: Str,
    pub namespace: Str,
    pub name: Str,
    pub field_selector: Str,
    pub label_selector: Str,
}

/// What an authorizer answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    pub allowed: bool,
    pub reason: Str,
    /// Why it could not tell.
    pub error: Option<Str>,
}

/// Answers questions at once.
pub trait Authorizer: Debug + Send + Sync {
    fn decide(&self, question: &Question) -> Decision;
}

/// Answers that are known, and questions that are not answered yet.
#[derive(Debug, Default)]
pub struct Decisions {
    known: HashMap<Question, Decision>,
    open: Mutex<Vec<Question>>,
}

impl Decisions {
    /// Adds an answer.
    pub fn answer(&mut self, question: Question, decision: Decision) {
        self.known.insert(question, decision);
    }

    /// The questions that the last evaluation asked and that have no answer. If there is any, the result of that
    /// evaluation means nothing.
    pub fn take_open(&self) -> Vec<Question> {
        std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Authorizer for Decisions {
    fn decide(&self, question: &Question) -> Decision {
        self.known.get(question).cloned().unwrap_or_else(|| {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if !open.contains(question) {
                open.push(question.clone());
            }
            Decision::default()
        })
    }
}

/// The variable `authorizer`.
pub fn authorizer<'a>(authorizer: Arc<dyn Authorizer>) -> Value<'a> {
    Value::opaque(AuthorizerValue { authorizer, subject: Subject::Requester })
}

/// The variable `authorizer.requestResource`.
pub fn request_resource<'a>(authorizer: Arc<dyn Authorizer>, resource: Resource) -> Value<'a> {
    let authorizer = AuthorizerValue { authorizer, subject: Subject::Requester };
    Value::opaque(ResourceCheck { authorizer, resource })
}

/// The types of the variables.
pub fn authorizer_type() -> Type {
    Type::object(AUTHORIZER)
}

/// The type of the variable `authorizer.requestResource`.
pub fn request_resource_type() -> Type {
    Type::object(RESOURCE_CHECK)
}

#[derive(Clone, Debug)]
struct AuthorizerValue {
    authorizer: Arc<dyn Authorizer>,
    subject: Subject,
}

#[derive(Clone, Debug)]
struct PathCheck {
    authorizer: AuthorizerValue,
    path: Str,
}

#[derive(Clone, Debug)]
struct GroupCheck {
    authorizer: AuthorizerValue,
    group: Str,
}

#[derive(Clone, Debug)]
struct ResourceCheck {
    authorizer: AuthorizerValue,
    resource: Resource,
}

impl AuthorizerValue {
    fn ask<'a>(&self, target: Target, verb: &str) -> Value<'a> {
        let question = Question { subject: self.subject.clone(), verb: Str::new(verb), target };
        Value::opaque(self.authorizer.decide(&question))
    }
}

macro_rules! opaque {
    ($($ty:ty: $name:expr),*) => {
        $(impl Opaque for $ty {
            fn type_name(&self) -> &'static str {
                $name
            }

            fn type_of(&self) -> Type {
                Type::object($name)
            }

            // Nothing can be done with them but to ask on.
            fn equals(&self, _: &dyn Opaque) -> bool {
                false
            }

            fn is_comparable(&self) -> bool {
                false
            }

            fn as_any(&self) -> &dyn std::any::Any {
                self
            }
        })*
    };
}

opaque!(
    AuthorizerValue: AUTHORIZER,
    PathCheck: PATH_CHECK,
    GroupCheck: GROUP_CHECK,
    ResourceCheck: RESOURCE_CHECK,
    Decision: DECISION
);

/// The functions of the authorizer.
pub fn functions() -> Vec<Function> {
    let object = Type::object;
    let step = |name, id, from, to, call: Call| {
        Function::new(name, vec![Overload::member(id, vec![object(from), Type::String], object(to), call)])
            .costing(one, track_one)
    };
    let get = |name, id, result, call: Call| {
        Function::new(name, vec![Overload::member(id, vec![object(DECISION)], result, call)]).costing(one, track_one)
    };
    let account = vec![object(AUTHORIZER), Type::String, Type::String];
    let check = |id, from, call| Overload::member(id, vec![object(from), Type::String], object(DECISION), call);
    vec![
        step("path", "authorizer_path", AUTHORIZER, PATH_CHECK, path),
        step("group", "authorizer_group", AUTHORIZER, GROUP_CHECK, group),
        Function::new(
            "serviceAccount",
            vec![Overload::member("authorizer_serviceaccount", account, object(AUTHORIZER), service_account)],
        )
        .costing(one, track_one),
        step("resource", "groupcheck_resource", GROUP_CHECK, RESOURCE_CHECK, resource),
        step("subresource", "resourcecheck_subresource", RESOURCE_CHECK, RESOURCE_CHECK, |args| {
            narrow(args, |resource, text| resource.subresource = text)
        }),
        step("namespace", "resourcecheck_namespace", RESOURCE_CHECK, RESOURCE_CHECK, |args| {
            narrow(args, |resource, text| resource.namespace = text)
        }),
        step("name", "resourcecheck_name", RESOURCE_CHECK, RESOURCE_CHECK, |args| {
            narrow(args, |resource, text| resource.name = text)
        }),
        Function::new(
            "check",
            vec![
                check("pathcheck_check", PATH_CHECK, check_path),
                check("resourcecheck_check", RESOURCE_CHECK, check_resource),
            ],
        )
        .costing(|_, _, _| Some(CallEstimate::fixed(CHECK_COST)), |_, _, _| Some(CHECK_COST)),
        get("errored", "decision_errored", Type::Bool, |args| {
            of_decision(args, |decision| Value::Bool(decision.error.is_some()))
        }),
        get("error", "decision_error", Type::String, |args| {
            of_decision(args, |decision| Value::string(decision.error.clone().unwrap_or_default()))
        }),
        get("allowed", "decision_allowed", Type::Bool, |args| {
            of_decision(args, |decision| Value::Bool(decision.allowed))
        }),
        get("reason", "decision_reason", Type::String, |args| {
            of_decision(args, |decision| Value::string(decision.reason.clone()))
        }),
    ]
}

/// The functions that narrow a check by selectors.
pub fn selector_functions() -> Vec<Function> {
    let step = |name, id, call: Call| {
        let check = || Type::object(RESOURCE_CHECK);
        Function::new(name, vec![Overload::member(id, vec![check(), Type::String], check(), call)])
            .costing(estimate_selector, track_selector)
    };
    vec![
        step("fieldSelector", "authorizer_fieldselector", |args| {
            narrow(args, |resource, text| resource.field_selector = text)
        }),
        step("labelSelector", "authorizer_labelselector", |args| {
            narrow(args, |resource, text| resource.label_selector = text)
        }),
    ]
}

fn path<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [authorizer, Value::String(path)] = args else { return no_overload() };
    let Some(authorizer) = authorizer.as_opaque::<AuthorizerValue>() else { return no_overload() };
    if path.trim().is_empty() {
        return Err(failed("path must not be empty".to_owned()));
    }
    Ok(Value::opaque(PathCheck { authorizer: authorizer.clone(), path: path.to_shared() }))
}

fn group<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [authorizer, Value::String(group)] = args else { return no_overload() };
    let Some(authorizer) = authorizer.as_opaque::<AuthorizerValue>() else { return no_overload() };
    Ok(Value::opaque(GroupCheck { authorizer: authorizer.clone(), group: group.to_shared() }))
}

fn service_account<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [authorizer, Value::String(namespace), Value::String(name)] = args else { return no_overload() };
    let Some(authorizer) = authorizer.as_opaque::<AuthorizerValue>() else { return no_overload() };
    if !names::dns1123_subdomain(name).is_empty() {
        return Err(failed("Invalid service account name".to_owned()));
    }
    if !names::dns1123_label(namespace).is_empty() {
        return Err(failed("Invalid service account namespace".to_owned()));
    }
    let subject = Subject::ServiceAccount { namespace: namespace.to_shared(), name: name.to_shared() };
    Ok(Value::opaque(AuthorizerValue { authorizer: authorizer.authorizer.clone(), subject }))
}

fn resource<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [group, Value::String(resource)] = args else { return no_overload() };
    let Some(check) = group.as_opaque::<GroupCheck>() else { return no_overload() };
    if resource.trim().is_empty() {
        return Err(failed("resource must not be empty".to_owned()));
    }
    let resource = Resource { group: check.group.clone(), resource: resource.to_shared(), ..Resource::default() };
    Ok(Value::opaque(ResourceCheck { authorizer: check.authorizer.clone(), resource }))
}

fn narrow<'a>(args: &[Value<'a>], set: impl Fn(&mut Resource, Str)) -> Result<'a> {
    let [check, Value::String(text)] = args else { return no_overload() };
    let Some(check) = check.as_opaque::<ResourceCheck>() else { return no_overload() };
    let mut check = check.clone();
    set(&mut check.resource, text.to_shared());
    Ok(Value::opaque(check))
}

fn check_path<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [check, Value::String(verb)] = args else { return no_overload() };
    let Some(check) = check.as_opaque::<PathCheck>() else { return no_overload() };
    Ok(check.authorizer.ask(Target::Path(check.path.clone()), verb))
}

fn check_resource<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [check, Value::String(verb)] = args else { return no_overload() };
    let Some(check) = check.as_opaque::<ResourceCheck>() else { return no_overload() };
    Ok(check.authorizer.ask(Target::Resource(check.resource.clone()), verb))
}

fn of_decision<'a>(args: &[Value<'a>], get: impl Fn(&Decision) -> Value<'a>) -> Result<'a> {
    let [decision] = args else { return no_overload() };
    decision.as_opaque().map_or_else(no_overload, |decision| Ok(get(decision)))
}

/// A selector is read, and makes a list of requirements, each of them with a list of values.
fn selector_cost(length: SizeEstimate) -> CostEstimate {
    let requirements = length.times_factor(REQUIREMENTS_PER_CHARACTER);
    CostEstimate::fixed(LIST_CREATE)
        .add(length.times_factor(STRING_TRAVERSAL_FACTOR))
        .add(requirements.times_factor((LIST_CREATE + STRUCT_CREATE) as f64))
}

fn estimate_selector(_: &str, _: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    let [selector] = args else { return None };
    Some(CallEstimate::cost(selector_cost(selector.size())))
}

fn track_selector(_: &str, args: &[Value<'_>], _: &Value<'_>) -> Option<u64> {
    Some(selector_cost(SizeEstimate::fixed(args.get(1)?.cost_size())).max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value<'_> {
        Value::string(text)
    }

    #[test]
    fn open_questions_are_answered_between_evaluations() {
        let ask = |decisions: &Arc<Decisions>| {
            let group = group(&[authorizer(decisions.clone()), text("apps")]).unwrap();
            let check = resource(&[group, text("deployments")]).unwrap();
            let check = narrow(&[check, text("ns")], |resource, text| resource.namespace = text).unwrap();
            let decision = check_resource(&[check, text("get")]).unwrap();
            of_decision(&[decision], |decision| Value::Bool(decision.allowed)).unwrap()
        };
        let decisions = Arc::new(Decisions::default());
        assert!(matches!(ask(&decisions), Value::Bool(false)));
        let open = decisions.take_open();
        let Some(Question { subject: Subject::Requester, target: Target::Resource(resource), .. }) = open.first()
        else {
            panic!("{open:?}")
        };
        assert_eq!((resource.group.as_str(), resource.namespace.as_str()), ("apps", "ns"));
        let mut answered = Decisions::default();
        let allowed = Decision { allowed: true, ..Decision::default() };
        open.into_iter().for_each(|question| answered.answer(question, allowed.clone()));
        let answered = Arc::new(answered);
        assert!(matches!(ask(&answered), Value::Bool(true)));
        assert!(answered.take_open().is_empty());
    }

    #[test]
    fn steps_refuse_what_is_empty_or_no_name() {
        let value = || authorizer(Arc::new(Decisions::default()));
        assert_eq!(path(&[value(), text(" ")]).unwrap_err().to_string(), "path must not be empty");
        let refused =
            |namespace, name| service_account(&[value(), text(namespace), text(name)]).unwrap_err().to_string();
        assert_eq!(refused("ns", "A"), "Invalid service account name");
        assert_eq!(refused("a.b", "sa"), "Invalid service account namespace");
    }
}
