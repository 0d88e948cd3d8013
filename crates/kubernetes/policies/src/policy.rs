//! `Policy` and `Binding`: the common parts of both kinds of policies, parsed from the stored objects. Guarantees that an
//! invalid policy is still a policy: its error is reported for the requests that it matches.

use pintle_registry::{AdmissionRequest, RequestRules, RequestSelectors, Status, read_selector};
use pintle_resource::Resource;
use pintle_schema::Value;
use pintle_schema::label_selector::LabelSelector;
use std::sync::Arc;

/// A compiled policy. `E` evaluates the requests that it matches.
pub struct Policy<E> {
    pub name: String,
    /// Whether an evaluation error rejects a request.
    pub fails: bool,
    pub matching: Matching,
    pub param_kind: Option<ParamKind>,
    pub evaluator: E,
}

/// A kind of objects that parametrize policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamKind {
    pub api_version: String,
    pub kind: String,
}

/// A binding of a policy.
pub struct Binding {
    pub name: String,
    pub matching: Option<Matching>,
    pub param_ref: Option<ParamRef>,
    pub actions: Vec<Action>,
}

/// Which parameters a binding takes.
pub struct ParamRef {
    pub name: String,
    pub namespace: String,
    pub selector: Option<Result<LabelSelector, String>>,
    /// Whether a request is rejected without parameters.
    pub denies_without: bool,
}

/// The action for a request that fails a validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Deny,
    Warn,
    Audit,
}

impl Action {
    /// As objects and metrics name it.
    pub const fn name(self) -> &'static str {
        match self {
            Action::Deny => "Deny",
            Action::Warn => "Warn",
            Action::Audit => "Audit",
        }
    }
}

/// A `MatchResources`, or its error.
pub struct Matching(Result<Matches, String>);

struct Matches {
    selectors: RequestSelectors,
    rules: RequestRules,
    excluded: RequestRules,
}

impl Matching {
    /// Reads a `MatchResources`.
    pub fn read(value: Option<&Value>) -> Matching {
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return Matching(Err("policy contained no match constraints, a required field".to_owned()));
        };
        let is_exact = value.str_at(&["matchPolicy"]) != "Equivalent";
        Matching(RequestSelectors::read(value).map(|selectors| Matches {
            selectors,
            rules: RequestRules::read(value.get("resourceRules"), is_exact),
            excluded: RequestRules::read(value.get("excludeResourceRules"), is_exact),
        }))
    }

    /// The version of the resource that is matched.
    ///
    /// # Errors
    /// Matching fails.
    pub fn find(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
    ) -> Result<Option<Arc<Resource>>, Box<Status>> {
        let matches = self.0.as_ref().map_err(|error| Box::new(Status::internal(error)))?;
        let found = match matches.rules.is_empty() {
            true => Some(request.target.resource.clone()),
            false => matches.rules.find(request, object),
        };
        if found.is_none() || matches.excluded.find(request, object).is_some() {
            return Ok(None);
        }
        match matches.selectors.select(request, object) {
            Ok(true) => Ok(found),
            Ok(false) => Ok(None),
            Err(status) => Err(Box::new(status)),
        }
    }
}

impl<E> Policy<E> {
    /// Parses a policy; `compile` compiles its spec.
    pub fn read(object: &Value, compile: impl FnOnce(&str, &Value) -> E) -> Policy<E> {
        let name = object.str_at(&["metadata", "name"]);
        let spec = object.get("spec").unwrap_or(&Value::Null);
        Policy {
            name: name.to_owned(),
            fails: spec.str_at(&["failurePolicy"]) != "Ignore",
            matching: Matching::read(spec.get("matchConstraints")),
            param_kind: spec.get("paramKind").filter(|kind| !kind.is_null()).map(|kind| ParamKind {
                api_version: kind.str_at(&["apiVersion"]).to_owned(),
                kind: kind.str_at(&["kind"]).to_owned(),
            }),
            evaluator: compile(name, spec),
        }
    }
}

impl Binding {
    /// Reads a binding, and the name of the policy that it binds.
    pub fn read(object: &Value) -> (String, Binding) {
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let set = |field: &str| spec.get(field).filter(|value| !value.is_null());
        let action = |action: &Value| match action.as_str() {
            Some("Deny") => Some(Action::Deny),
            Some("Warn") => Some(Action::Warn),
            Some("Audit") => Some(Action::Audit),
            _ => None,
        };
        let actions = spec.get("validationActions").and_then(Value::as_list).unwrap_or_default();
        let param_ref = set("paramRef").map(|param| ParamRef {
            name: param.str_at(&["name"]).to_owned(),
            namespace: param.str_at(&["namespace"]).to_owned(),
            selector: param
                .get("selector")
                .filter(|selector| !selector.is_null())
                .map(|selector| read_selector(Some(selector)).map_err(|error| error.to_string())),
            denies_without: param.str_at(&["parameterNotFoundAction"]) == "Deny",
        });
        let binding = Binding {
            name: object.str_at(&["metadata", "name"]).to_owned(),
            matching: set("matchResources").map(|matching| Matching::read(Some(matching))),
            param_ref,
            actions: actions.iter().filter_map(action).collect(),
        };
        (spec.str_at(&["policyName"]).to_owned(), binding)
    }

    /// Whether the binding applies to a request that its policy matches.
    ///
    /// # Errors
    /// Matching fails.
    pub fn matches(&self, request: &AdmissionRequest<'_>, object: Option<&Value>) -> Result<bool, Box<Status>> {
        self.matching.as_ref().map_or(Ok(true), |matching| Ok(matching.find(request, object)?.is_some()))
    }
}

/// The named expressions of a list: names and texts.
pub fn named(list: Option<&Value>) -> impl Iterator<Item = (&str, &str)> {
    let items = list.and_then(Value::as_list).unwrap_or_default();
    items.iter().map(|item| (item.str_at(&["name"]), item.str_at(&["expression"])))
}
