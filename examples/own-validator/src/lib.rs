//! A custom validator in a crate outside Pintle: one static, and a tag that names it.
//!
//! `rule(path, payload)` applies it to a field. It is compiled, ratcheted, documented and published like built-in validators. If it does
//! not apply to the field's type, the plan of the kind reports it (`Validator::plan(..).problems`).

use pintle_schema::rules::{ErrorKind, Fault, Payload, RuleFunction, RuleInput};
use pintle_schema::{ApiType, Type, Value};

/// A number must be a multiple of the payload.
pub static MULTIPLE_OF: RuleFunction = RuleFunction {
    name: "multipleOf",
    doc: "The number must be a multiple of this one.",
    accepts: |ty, payload| match (ty, payload) {
        (Type::Int32 | Type::Int64, Payload::Int(1..)) => Ok(()),
        (Type::Int32 | Type::Int64, _) => Err("write `rule(MULTIPLE_OF, 5)` with a positive number".to_owned()),
        _ => Err("for an integer".to_owned()),
    },
    validate: |RuleInput { value, payload, .. }| match (value.as_i64(), payload) {
        (Some(number), Payload::Int(of)) if number % of != 0 => {
            vec![Fault { kind: ErrorKind::Invalid, detail: format!("must be a multiple of {of}") }]
        }
        _ => Vec::new(),
    },
    published: |payload| match payload {
        Payload::Int(of) => Some(("multipleOf", Value::Int(*of))),
        _ => None,
    },
};

/// Eggs to be delivered.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Eggs {
    /// The number of eggs, in boxes of six.
    #[k8s(proto = 1, required, minimum = 6, rule(MULTIPLE_OF, 6))]
    pub count: i32,
}

#[cfg(test)]
mod tests {
    use pintle_schema::gates::NO_GATES;
    use super::*;
    use pintle_schema::value;
    use pintle_validation::{Group, KindRules, Operation, Request, Pass, Validator};

    static GROUP: Group = Group {
        kinds: &[KindRules { of: Eggs::schema, create: &[Pass::Rules], update: &[Pass::Rules], parts: &[] }],
        custom_rules: &[],
        ..Group::NONE
    };

    #[test]
    fn counts_are_multiples_of_six() {
        let request = Request {
            operation: Operation::Create,
            subresource: "",
            api_version: "example.org/v1",
            namespaced: true,
            name_check: &|_, _| Vec::new(),
            gates: &NO_GATES,
            environment: &(),
        };
        let validator = Validator::new(&[&GROUP]);
        let lines = |count: i64| -> Vec<String> {
            let result = validator.validate(Eggs::schema(), &value!({"count": count}), None, &request);
            result.errors.0.iter().map(|error| error.line()).collect()
        };
        assert!(lines(12).is_empty());
        assert_eq!(lines(13), ["count: Invalid value: 13: must be a multiple of 6"]);
    }

    #[test]
    fn it_is_documented_and_published_like_built_in_validators() {
        let tree = Validator::new(&[&GROUP]).tree(Eggs::schema());
        assert_eq!(tree, "Eggs\n  count: required, minimum = 6, multipleOf = 6\n");
        assert_eq!((MULTIPLE_OF.published)(&Payload::Int(6)), Some(("multipleOf", Value::Int(6))));
        assert!((MULTIPLE_OF.accepts)(&Type::String, &Payload::Int(6)).is_err());
    }
}
