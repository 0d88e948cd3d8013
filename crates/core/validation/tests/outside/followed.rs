//! A kind with a field that was added as in CONTRIBUTING.md, and nothing else.

mod replication_controller;

#[cfg(test)]
mod tests {
    use super::replication_controller::{ReplicationController, ReplicationControllerSpec};
    use pintle_codec::{Strictness, json, protobuf};
    use pintle_schema::{ApiType, FieldDefault, Literal, Value};
    use pintle_validation::{Operation, Request, Validator};

    /// The errors of an object whose new field has a value, without those of the rest.
    fn faults(value: i64) -> Vec<String> {
        let text = format!(r#"{{"metadata": {{"name": "a", "namespace": "b"}}, "spec": {{"maxUnavailable": {value}}}}}"#);
        let schema = ReplicationController::schema();
        let decoded = json::decode(schema, text.as_bytes(), Strictness::Collect).expect("an object");
        assert_eq!(decoded.problems, [], "the field is known");
        let request = Request::new(Operation::Create);
        let verdict = Validator::new(&[]).validate(schema, &decoded.value, None, &request);
        let lines = verdict.errors.0.iter().map(|error| error.line());
        lines.filter(|line| line.contains("maxUnavailable")).collect()
    }

    #[test]
    fn both_rules_hold() {
        assert_eq!(faults(100), Vec::<String>::new());
        assert_eq!(faults(-1), ["spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0"]);
        assert_eq!(faults(101), ["spec.maxUnavailable: Invalid value: 101: must be less than or equal to 100"]);
    }

    #[test]
    fn it_is_stored_defaulted_and_explained() {
        let schema = ReplicationControllerSpec::schema();
        let field = schema.field("maxUnavailable").expect("the field");
        assert!(field.default == Some(FieldDefault::Literal(Literal::Int(1))) && !field.doc.is_empty());
        let object = pintle_schema::value!({ "maxUnavailable": 7 });
        let mut bytes = Vec::new();
        protobuf::encode(schema, &object, &mut bytes);
        let back = protobuf::decode(schema, &bytes).expect("an object");
        assert_eq!(back.get("maxUnavailable"), Some(&Value::Int(7)));
    }
}
