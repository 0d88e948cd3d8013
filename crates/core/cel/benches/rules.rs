//! How long rules of a custom resource take to compile and to evaluate: `cargo bench -p pintle-cel`. Nothing here decides a test.

mod cases;

use cases::{OBJECT, RULES, SCHEMA, time};
use pintle_cel::{Decl, Environment, Program, Value};
use pintle_codec::{Strictness, json};
use std::hint::black_box;
use std::sync::Arc;

fn main() {
    let [schema, object] =
        [SCHEMA, OBJECT].map(|text| json::parse(text.as_bytes(), Strictness::Ignore).expect("JSON").value);
    let declare = || Arc::new(Decl::of_openapi(&schema, false, "selfType"));
    println!("{:<50} {:>9.1} us", "declare", time(|| drop(black_box(declare()))));
    let decl = declare();
    let environment = || Environment::for_stored_expressions().with_declared("self", &decl);
    println!("{:<50} {:>9.1} us", "make an environment", time(|| drop(black_box(environment()))));
    let environment = environment();
    println!("{:<50} {:>12} {:>12} {:>8}", "", "compile", "evaluate", "cost");
    for rule in RULES {
        let compile = || -> Program { environment.compile(rule).expect("it compiles") };
        let compiling = time(|| drop(black_box(compile())));
        let program = compile();
        let variables = |name: &str| (name == "self").then(|| Value::of_data(&object, &decl));
        let cost = program.evaluate(&variables, 1_000_000).cost;
        let evaluating = time(|| drop(black_box(program.evaluate(&variables, 1_000_000))));
        let shown: String = rule.chars().take(50).collect();
        println!("{shown:<50} {compiling:>9.1} us {evaluating:>9.2} us {cost:>8}");
    }
}
