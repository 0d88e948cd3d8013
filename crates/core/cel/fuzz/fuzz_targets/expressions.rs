//! No text makes compiling or evaluating panic, and what is evaluated costs no more than its limit and its last call.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_cel::{Decl, Environment, Value};
use pintle_schema::value;
use std::sync::{Arc, LazyLock};

/// The declaration of `self`, whose fields have the types that schemas can give.
static DECL: LazyLock<Arc<Decl>> = LazyLock::new(|| {
    let schema = value!({
        "type": "object",
        "properties": {
            "s": {"type": "string", "maxLength": 20},
            "i": {"type": "integer"},
            "n": {"type": "number"},
            "b": {"type": "boolean"},
            "t": {"type": "string", "format": "date-time"},
            "d": {"type": "string", "format": "duration"},
            "l": {"type": "array", "maxItems": 5, "items": {"type": "string"}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}},
            "x": {"x-kubernetes-int-or-string": true},
            "o": {"type": "object", "properties": {"in": {"type": "string", "nullable": true}}}
        }
    });
    Arc::new(Decl::of_openapi(&schema, true, "selfType"))
});

static ENVIRONMENT: LazyLock<Environment> =
    LazyLock::new(|| Environment::for_stored_expressions().with_declared("self", &DECL).with_bind());

const LIMIT: u64 = 100_000;

fuzz_target!(|text: &str| {
    let Ok(program) = ENVIRONMENT.compile(text) else { return };
    let object = value!({
        "s": "text", "i": 3, "n": 2.5, "b": true, "t": "2024-02-29T12:00:00Z", "d": "90s", "l": ["a", "b", "a"],
        "set": [1, 2], "m": {"k": 1}, "x": "50%", "o": {"in": null}
    });
    let variables = |name: &str| (name == "self").then(|| Value::of_data(&object, &DECL));
    let first = program.evaluate(&variables, LIMIT);
    let again = program.evaluate(&variables, LIMIT);
    assert_eq!(first.cost, again.cost);
    assert_eq!(first.value.is_ok(), again.value.is_ok());
});
