//! Values of expressions over admission requests, as the messages of a policy tell them.

use super::cases::Case;
use pintle_cel::environment::{CURRENT_MINOR, Policy};
use pintle_cel::{Environment, EvalError, Program, Type, Value, Variables};
use pintle_schema::{Value as Data, value};

const LIMIT: u64 = 1_000_000;

/// The variables that every recorded policy has.
const VARIABLES: [(&str, &str); 4] = [
    ("one", "1"),
    ("data", "object.data"),
    ("bad", "1 / int(object.data.zero)"),
    ("sum", "variables.one + size(variables.data)"),
];

pub fn validate(case: &Case) -> Vec<String> {
    let expression = case.get("expression").unwrap_or(Data::Null);
    let expression = expression.as_str().unwrap_or("");
    let old = case.get("old");
    let request = Request {
        object: config_map(case.get("object")),
        request: request(if old.is_some() { "UPDATE" } else { "CREATE" }),
        old: old.map_or(Data::Null, |old| config_map(Some(old))),
        namespace: namespace(),
        compiled: variables(),
    };
    let environment = environment(VARIABLES.len());
    let rule = format!("[{expression}] == []");
    let message = format!("'%s'.format([dyn({expression})])");
    let Ok(program) = environment.compile(&rule) else { return vec!["rule does not compile".to_string()] };
    let value = program.evaluate(&&request, LIMIT).value;
    vec![match value {
        Err(error) => format!("expression '{rule}' resulted in error: {error}"),
        Ok(_) => {
            let message = environment.compile(&message).ok();
            let reported = message.as_ref().and_then(|message| message.evaluate(&&request, LIMIT).value.ok());
            match reported.as_ref().and_then(Value::as_str).map(str::trim) {
                Some(text) if !text.is_empty() && !text.contains('\n') => text.to_string(),
                _ => format!("failed expression: {rule}"),
            }
        }
    }]
}

fn environment(variables: usize) -> Environment {
    let environment = Environment::for_policy(CURRENT_MINOR, Policy::default());
    let mut known: Vec<(&str, Type)> = Vec::new();
    for (name, text) in VARIABLES.iter().take(variables) {
        let ty =
            environment.clone().with_policy_variables(known.clone()).check(text).expect("it compiles").output_type();
        known.push((name, ty));
    }
    environment.with_policy_variables(known)
}

fn variables() -> Vec<(&'static str, Program)> {
    let compiled = VARIABLES.iter().enumerate();
    compiled.map(|(at, (name, text))| (*name, environment(at).compile(text).expect("it compiles"))).collect()
}

fn config_map(object: Option<Data>) -> Data {
    let mut object = object.unwrap_or_else(Data::map);
    object.set_at(&["apiVersion"], "v1");
    object.set_at(&["kind"], "ConfigMap");
    object.set_at(&["metadata", "name"], "pack-{run}-<n>");
    object.set_at(&["metadata", "namespace"], "{ns}");
    object.set_at(&["metadata", "uid"], "<uid>");
    object.set_at(&["metadata", "creationTimestamp"], "<now>");
    object.set_at(&["metadata", "labels", "pack"], "pack-{run}-<n>");
    object
}

fn request(operation: &str) -> Data {
    let mut request = value!({
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "requestKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "requestResource": {"group": "", "version": "v1", "resource": "configmaps"},
        "name": "pack-{run}-<n>",
        "namespace": "{ns}",
        "userInfo": {"username": "admin", "uid": "admin-uid", "groups": ["system:masters", "system:authenticated"]},
        "dryRun": true,
        "options": {"apiVersion": "meta.k8s.io/v1", "dryRun": ["All"], "fieldValidation": "Ignore"}
    });
    request.set_at(&["options", "kind"], if operation == "CREATE" { "CreateOptions" } else { "UpdateOptions" });
    request.set_at(&["operation"], operation);
    request
}

fn namespace() -> Data {
    value!({
        "metadata": {
            "name": "{ns}",
            "labels": {"team": "a", "kubernetes.io/metadata.name": "{ns}"},
            "annotations": {"note": "n"},
            "creationTimestamp": "<now>"
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"}
    })
}

struct Request {
    object: Data,
    old: Data,
    request: Data,
    namespace: Data,
    compiled: Vec<(&'static str, Program)>,
}

impl<'a> Variables<'a> for &'a Request {
    fn variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        if name == "variables" {
            return Some(Value::map(Vec::new()));
        }
        Some(Ok(Value::of_undeclared(match name {
            "object" => &self.object,
            "oldObject" => &self.old,
            "request" => &self.request,
            "namespaceObject" => &self.namespace,
            _ => return None,
        })))
    }

    fn field(&self, name: &str, field: &str) -> Option<Option<Result<Value<'a>, EvalError>>> {
        if name != "variables" {
            return None;
        }
        let request: &'a Request = self;
        let found = request.compiled.iter().find(|(name, _)| *name == field);
        Some(found.map(|(name, program)| {
            program
                .evaluate(self, LIMIT)
                .value
                .map_err(|error| EvalError::new(format!("composited variable \"{name}\" fails to evaluate: {error}")))
        }))
    }
}
