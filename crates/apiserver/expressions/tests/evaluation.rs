//! Tests of evaluation: variables, budgets, the authorizer, match conditions.

use futures_util::FutureExt;
use pintle_auth::authorization::{Reason, UserRules};
use pintle_auth::{Attributes, Authorizer, Decision, UserInfo};
use pintle_cel::Value;
use pintle_cel::environment::Policy;
use pintle_expressions::{
    BUDGET, Budget, Expression, Inputs, MatchConditions, Matched, Mode, PolicyVariables, RequestAuthorizer,
    RequestFacts, evaluate_all,
};
use pintle_resource::MaybeReady;
use pintle_schema::value;
use std::sync::Mutex;

/// Allows requests for `pods`, and records every check.
#[derive(Default)]
struct OnlyPods(Mutex<Vec<String>>);

impl Authorizer for OnlyPods {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> MaybeReady<'a, Decision> {
        MaybeReady::wait(async move {
            let Attributes { verb, resource, namespace, name, .. } = attributes;
            let asked = format!("{} {verb} {resource} {namespace}/{name}", attributes.user.name);
            self.0.lock().unwrap().push(asked);
            match *resource {
                "pods" => Decision::Allow(Reason::None),
                _ => Decision::no_opinion("only pods"),
            }
        })
    }

    fn rules_for<'a>(&'a self, _: &'a UserInfo, _: &'a str) -> MaybeReady<'a, UserRules> {
        MaybeReady::Ready(UserRules::default())
    }
}

fn facts(user: &UserInfo) -> RequestFacts<'_> {
    RequestFacts {
        kind: ["", "v1", "ConfigMap"],
        resource: ["", "v1", "configmaps"],
        request_kind: ["", "v1", "ConfigMap"],
        request_resource: ["", "v1", "configmaps"],
        subresource: "",
        name: "c",
        namespace: "ns",
        operation: "CREATE",
        user,
        dry_run: false,
        options: None,
    }
}

fn user() -> UserInfo {
    UserInfo { name: "alice".into(), groups: vec!["staff".into()], ..UserInfo::default() }
}

const AUTHORIZED: Policy = Policy { has_params: false, has_authorizer: true, has_patches: false };

/// The results of expressions as text, after variables, and the remaining budget.
fn shown(variables: &[(&str, &str)], texts: &[&str]) -> (Result<Vec<String>, String>, u64, Vec<String>) {
    let (user, authorizer) = (user(), OnlyPods::default());
    let object = value!({"data": {"a": "1"}, "metadata": {"name": "c"}});
    let mut inputs = Inputs::new(facts(&user));
    inputs.object = Some(&object);
    let answers = RequestAuthorizer::new(&authorizer, &user);
    let variables = PolicyVariables::compile(variables.iter().copied(), Mode::Stored, AUTHORIZED);
    let environment = variables.environment(Mode::Stored, AUTHORIZED);
    let compiled: Vec<_> = texts.iter().map(|text| Expression::compile(text, &environment, &[])).collect();
    let mut budget = Budget(BUDGET);
    let results =
        evaluate_all(compiled.iter().map(Some), &variables, &inputs, Some(&answers), &mut budget).now_or_never();
    let shown = results.expect("nothing pends").map_err(|error| error.to_string()).map(|results| {
        let shown = |result: Result<Value<'_>, String>| match result {
            Ok(value) => format!("{:?}", value.to_json().expect("JSON")),
            Err(error) => error,
        };
        results.into_iter().map(|result| shown(result.expect("asked for"))).collect()
    });
    let asked = authorizer.0.lock().unwrap().clone();
    (shown, budget.0, asked)
}

fn values(variables: &[(&str, &str)], texts: &[&str]) -> Vec<String> {
    shown(variables, texts).0.expect("within the budget")
}

#[test]
fn variables_are_evaluated_when_they_are_used() {
    let variables = [("bad", "1 / int(object.data.missing)"), ("one", "1"), ("two", "variables.one + 1")];
    assert_eq!(
        values(&variables, &["variables.two", "variables.bad == 1", "has(object.data.a)"]),
        [
            "Int(2)",
            "expression 'variables.bad == 1' resulted in error: composited variable \"bad\" fails to evaluate: no such key: \
             missing",
            "Bool(true)"
        ]
    );
}

#[test]
fn options_of_connections_are_null() {
    let texts = ["has(request.options)", "request.options == null", "has(request.options.kind)"];
    assert_eq!(values(&[], &texts), ["Bool(true)", "Bool(true)", "Bool(false)"]);
}

#[test]
fn a_variable_costs_once() {
    let variables = [("long", "lists.range(1000).map(x, x * x)")];
    let spent = |texts: &[&str]| BUDGET - shown(&variables, texts).1;
    let (none, once, twice) = (spent(&["1"]), spent(&["size(variables.long)"]), spent(&["size(variables.long)"; 2]));
    assert!(once - none > 1000 && twice - once < 100, "{none} {once} {twice}");
}

#[test]
fn variables_may_refer_to_one_another_in_any_number() {
    const COUNT: usize = 3000;
    let names: Vec<String> = (0..COUNT).map(|at| format!("v{at}")).collect();
    let texts: Vec<String> =
        (0..COUNT).map(|at| if at == 0 { "0".to_owned() } else { format!("variables.v{} + 1", at - 1) }).collect();
    let variables: Vec<_> = names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let last = format!("variables.v{}", COUNT - 1);
    assert_eq!(values(&variables, &[&last]), [format!("Int({})", COUNT - 1)]);
}

#[test]
fn the_budget_is_shared() {
    let long = "lists.range(30000).all(x, x >= 0)";
    let (one, left, _) = shown(&[], &[long]);
    assert_eq!(one.expect("affordable"), ["Bool(true)"]);
    let many = (BUDGET / (BUDGET - left) + 1) as usize;
    let refused = shown(&[], &vec![long; many]).0.expect_err("too much together");
    assert_eq!(refused, "validation failed due to running out of cost budget, no further validation rules will be run");
}

#[test]
fn the_authorizer_is_asked_each_question_once() {
    let texts = [
        "authorizer.group('').resource('pods').namespace('n').check('get').allowed()",
        "authorizer.group('').resource('pods').namespace('n').check('get').allowed()",
        "authorizer.serviceAccount('n', 's').requestResource.check('get').reason()",
        "authorizer.requestResource.check('delete').reason()",
    ];
    let (shown, _, asked) = shown(&[], &[texts[0], texts[1], texts[3]]);
    assert_eq!(shown.expect("values"), ["Bool(true)", "Bool(true)", "String(\"only pods\")"]);
    assert_eq!(asked, ["alice get pods n/", "alice delete configmaps ns/c"]);
    let account = "authorizer.serviceAccount('n', 's').group('').resource('pods').check('list').allowed()";
    assert_eq!(self::shown(&[], &[account]).2, ["system:serviceaccount:n:s list pods /"]);
}

#[test]
fn a_false_condition_outweighs_errors() {
    let (user, authorizer) = (user(), OnlyPods::default());
    let object = value!({"data": {"a": "1"}});
    let mut inputs = Inputs::new(facts(&user));
    inputs.object = Some(&object);
    let answers = RequestAuthorizer::new(&authorizer, &user);
    let (yes, no) = (("yes", "request.userInfo.username == 'alice'"), ("no", "request.name == 'x'"));
    let (errs, other) = (("errs", "object.data.b == '1'"), ("other", "object.data.c == '1'"));
    let error = |key: &str| format!("expression 'object.data.{key} == '1'' resulted in error: no such key: {key}");
    for (conditions, expected) in [
        (vec![], Matched::Yes),
        (vec![yes], Matched::Yes),
        (vec![yes, errs, no], Matched::No("no")),
        (vec![yes, errs], Matched::Failed(error("b"))),
        (vec![errs, other], Matched::Failed(format!("[{}, {}]", error("b"), error("c")))),
        (vec![("worse", "1")], Matched::Failed("compilation error: must evaluate to bool but got int".to_owned())),
    ] {
        let compiled = MatchConditions::compile(conditions, Mode::Stored);
        assert_eq!(compiled.matches(&inputs, &answers).now_or_never(), Some(expected));
    }
}
