//! Expressions that grow faster than they cost are refused or cancelled, soon and without much memory.

use pintle_cel::{Environment, EvalError, Type, Value};

fn environment() -> Environment {
    Environment::for_stored_expressions().with_bind().with_variable("x", Type::list(Type::Int))
}

/// `cel.bind(a1, FIRST, cel.bind(a2, STEP(a1), ... LAST(an)))`.
fn chain(levels: usize, first: &str, step: impl Fn(&str) -> String, last: impl Fn(&str) -> String) -> String {
    let mut text = format!("cel.bind(a0, {first}, ");
    for level in 1..=levels {
        text.push_str(&format!("cel.bind(a{level}, {}, ", step(&format!("a{}", level - 1))));
    }
    text.push_str(&last(&format!("a{levels}")));
    text.push_str(&")".repeat(levels + 1));
    text
}

fn evaluated(text: &str) -> Result<String, EvalError> {
    let environment = environment();
    let program = environment.compile(text).expect("it compiles");
    let list = Value::list((0..1000).map(Value::Int).collect());
    let evaluated = program.evaluate(&[("x", list)], 1_000_000);
    evaluated.value.map(|value| value.type_name().to_string())
}

#[test]
fn lists_do_not_double_without_end() {
    let doubled = chain(60, "x", |a| format!("{a} + {a}"), |a| format!("{a}.size()"));
    assert_eq!(evaluated(&doubled), Err(EvalError::CostExceeded));
    let doubled = chain(10, "x", |a| format!("{a} + {a}"), |a| format!("{a}[1000000] == 576"));
    assert_eq!(evaluated(&doubled), Ok("bool".to_string()));
}

#[test]
fn deep_joins_are_read_and_freed_without_recursion() {
    let long = (0..150).map(|_| "a").collect::<Vec<_>>().join(" + ");
    let joined = |a: &str| long.replace('a', "[1]").replacen("[1]", a, 1);
    let deep = chain(3, "[1]", joined, |a| format!("{a}[440] == 1"));
    assert_eq!(evaluated(&deep), Ok("bool".to_string()));
    // Variables are evaluated where they are used first, each within the other.
    let deeper = chain(60, "[1]", joined, |a| format!("{a}[8900] == 1"));
    assert_eq!(evaluated(&deeper), Err(EvalError::CostExceeded));
}

#[test]
fn strings_do_not_double_without_end() {
    let doubled = chain(60, "'ab'", |a| format!("{a} + {a}"), |a| format!("{a}.size()"));
    assert_eq!(evaluated(&doubled), Err(EvalError::CostExceeded));
}

#[test]
fn shared_parts_are_not_compared_without_end() {
    let shared = chain(40, "[x]", |a| format!("dyn([{a}, {a}])"), |a| format!("{a} == {a}"));
    assert_eq!(evaluated(&shared), Err(EvalError::CostExceeded));
    let shared = chain(40, "[x]", |a| format!("dyn([{a}, {a}])"), |a| format!("{a} in [{a}]"));
    assert_eq!(evaluated(&shared), Err(EvalError::CostExceeded));
}

#[test]
fn types_do_not_double_without_end() {
    let grown = chain(60, "1", |a| format!("{{'k': {{'v': {a}, 'w': {a}}}}}"), |a| format!("{a} == 1"));
    assert!(environment().compile(&grown).is_err());
    let mut text = "[1]".to_string();
    for level in 0..60 {
        text = format!("{text}.map(v{level}, {{v{level}: v{level}}})");
    }
    let error = environment().compile(&text).expect_err("types are too large").to_string();
    assert!(error.len() < 10 << 20, "{} bytes", error.len());
}

#[test]
fn costs_are_foreseen() {
    // Each alone would take far longer than its cost allows.
    for text in ["x.all(i, x.all(j, x.all(k, i + j + k >= 0)))", "x.map(i, x.map(j, x)).size() > 0"] {
        assert_eq!(evaluated(text), Err(EvalError::CostExceeded), "{text}");
    }
}
