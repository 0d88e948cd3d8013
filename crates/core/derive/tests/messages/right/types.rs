//! What the checks of places must let pass: numbers and texts under names of their own.

use pintle_schema::gates::alpha;
use pintle_schema::{ApiType, Gate, IntOrString, string_type};
use std::collections::BTreeMap;

const GATE: Gate = Gate::new("Gate", &[alpha(36)]);

string_type! {
    /// A color.
    pub Color {
        /// Red.
        RED = "Red",
    }
}

/// A list in a message of its own.
#[derive(ApiType, Clone, Default, PartialEq)]
#[k8s(wrapper)]
struct Names {
    /// The names.
    #[k8s(proto = 1)]
    items: Vec<String>,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct Part {
    #[k8s(proto = 1, required)]
    name: String,
}

#[derive(ApiType, Clone, Default, PartialEq)]
#[k8s(subfield(color)(required), if_enabled(GATE)(immutable))]
struct Whole {
    #[k8s(proto = 1, enum, max_length = 10)]
    color: Color,
    #[k8s(proto = 2, optional, gate = GATE, gate = self::GATE, minimum = 1, format = "int-or-percent")]
    count: Option<IntOrString>,
    #[k8s(proto = 3, optional, max_items = 10)]
    names: Names,
    #[k8s(proto = 4, each_val(enum("Red"), neq = "Blue"))]
    colors: BTreeMap<String, Color>,
    #[k8s(proto = 5, optional, item(name = "x")(zero_or_one_of), item(name = "y")(zero_or_one_of))]
    parts: Vec<Part>,
    #[k8s(proto = 6, required, default = 1, minimum = 1, alpha("1.36")(maximum = 5))]
    replicas: Option<i32>,
}

fn main() {}
