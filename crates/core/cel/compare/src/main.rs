//! The rules of the benchmark `rules` with pintle-cel, cel and kube-cel, one after the other: `cargo run --release`.
//! The other two parse and do not check types, and evaluate without counting costs. Nothing here decides a test.

#[path = "../../benches/cases/mod.rs"]
mod cases;

use cases::{OBJECT, RULES, SCHEMA, time};
use kube_cel::{KubeCelExt, cel as kube};
use pintle_cel::{Decl, Environment, Program, Value};
use pintle_codec::{Strictness, json};
use std::hint::black_box;
use std::sync::Arc;

/// A rule's times in microseconds.
struct Times {
    compile: f64,
    /// `None` if the crate lacks a function of the rule.
    evaluate: Option<f64>,
}

fn main() {
    println!(
        "{:<50} {:>9} {:>9} {:>9}   {:>9} {:>9} {:>9}",
        "us", "compile", "cel", "kube-cel", "evaluate", "cel", "kube-cel"
    );
    let (ours, cel, kube_cel) = (ours(), cel(), kube_cel());
    for (rule, ((ours, cel), kube_cel)) in RULES.iter().zip(ours.iter().zip(&cel).zip(&kube_cel)) {
        let rule: String = rule.chars().take(50).collect();
        let shown = |times: &Times| times.evaluate.map_or("-".to_owned(), |time| format!("{time:.2}"));
        println!(
            "{rule:<50} {:>9.1} {:>9.1} {:>9.1}   {:>9} {:>9} {:>9}",
            ours.compile,
            cel.compile,
            kube_cel.compile,
            shown(ours),
            shown(cel),
            shown(kube_cel)
        );
    }
    let parsed: serde_json::Value = serde_json::from_str(OBJECT).expect("JSON");
    let converted = time(|| drop(black_box(cel::to_value(&parsed).expect("a value"))));
    println!("An object that the others evaluate is converted first, in {converted:.1} us.");
}

/// With type checks and costs.
fn ours() -> Vec<Times> {
    let [schema, object] =
        [SCHEMA, OBJECT].map(|text| json::parse(text.as_bytes(), Strictness::Ignore).expect("JSON").value);
    let decl = Arc::new(Decl::of_openapi(&schema, false, "selfType"));
    let environment = Environment::for_stored_expressions().with_declared("self", &decl);
    let measure = |rule: &&str| {
        let compile = || -> Program { environment.compile(rule).expect("it compiles") };
        let program = compile();
        let variables = |name: &str| (name == "self").then(|| Value::of_data(&object, &decl));
        assert!(program.evaluate(&variables, 1_000_000).value.is_ok(), "{rule}");
        let evaluate = time(|| drop(black_box(program.evaluate(&variables, 1_000_000))));
        Times { compile: time(|| drop(black_box(compile()))), evaluate: Some(evaluate) }
    };
    RULES.iter().map(measure).collect()
}

/// The two others have the same interface, of different versions of one crate.
macro_rules! measure_with {
    ($cel:ident, $context:expr) => {{
        let object: serde_json::Value = serde_json::from_str(OBJECT).expect("JSON");
        let mut context = $context;
        context.add_variable_from_value("self", $cel::to_value(&object).expect("a value"));
        let measure = |rule: &&str| {
            let compile = || $cel::Program::compile(rule).expect("it parses");
            let program = compile();
            let evaluates = program.execute(&context).is_ok();
            let evaluate = evaluates.then(|| time(|| drop(black_box(program.execute(&context)))));
            Times { compile: time(|| drop(black_box(compile()))), evaluate }
        };
        RULES.iter().map(measure).collect()
    }};
}

fn cel() -> Vec<Times> {
    measure_with!(cel, cel::Context::default())
}

fn kube_cel() -> Vec<Times> {
    measure_with!(kube, kube::Context::default().with_all())
}
