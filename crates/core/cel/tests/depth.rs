//! The deepest expressions that are accepted are compiled and evaluated within the stack of a server's thread.

use pintle_cel::{Environment, Type, Value};

/// What a thread of a server has.
const STACK_BYTES: usize = 2 << 20;

fn within(bytes: usize, work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(bytes).spawn(work).expect("a thread");
    thread.join().expect("no overflow");
}

fn deep(open: &str, inner: &str, close: &str, levels: usize) -> String {
    format!("{}{inner}{}", open.repeat(levels), close.repeat(levels))
}

#[test]
fn deepest_expressions_fit() {
    let cases = [
        ("parentheses", deep("(", "1", ")", 249)),
        ("calls", deep("string(", "x", ")", 248)),
        ("conversions", deep("dyn(", "1", ")", 248)),
        ("lists", deep("[", "1", "]", 249)),
        ("maps", deep("{'a': ", "1", "}", 249)),
        ("conditionals", deep("true ? 1 : (", "1", ")", 120)),
        ("sums", format!("x{}", " + x".repeat(249))),
        ("members", format!("m{}", ".a".repeat(240))),
        ("comprehensions", deep("[1].all(i, ", "true", ")", 100)),
        ("negations", deep("!(", "true", ")", 240)),
        ("too deep", deep("(", "1", ")", 5000)),
        ("too long", format!("x{}", " + x".repeat(20_000))),
        ("choices", deep("(true ? ", "1", " : 2)", 120)),
        ("selected conditionals", deep("(true ? ", "m", " : m).a", 100)),
    ];
    for (name, text) in cases {
        println!("{name}");
        within(STACK_BYTES, move || {
            let environment =
                Environment::for_new_expressions().with_variable("x", Type::String).with_variable("m", Type::Dyn);
            if let Ok(program) = environment.compile(&text) {
                let nested = Value::map(Vec::new()).expect("an empty map");
                let variables = [("x", Value::string("x")), ("m", nested)];
                let _ = program.evaluate(&variables, 1_000_000).value.is_ok();
            }
        });
    }
}
