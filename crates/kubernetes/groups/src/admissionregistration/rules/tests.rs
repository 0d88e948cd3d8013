//! Rules of policies and webhooks on single objects.
use pintle_gates as gates;
use pintle_schema::gates::{ALL_GATES, NO_GATES};

use crate::rules::tests::validate_as;
use pintle_schema::{ApiType, Struct, Value, value};
use pintle_types::admissionregistration::{v1, v1beta1};
use pintle_validation::{Operation, Request};

fn validate(schema: &'static Struct, object: Value) -> Vec<String> {
    validate_as(
        schema,
        &object,
        None,
        Request {
            api_version: "admissionregistration.k8s.io/v1",
            namespaced: false,
            gates: &ALL_GATES,
            ..Request::new(Operation::Create)
        },
    )
}

fn rule(resources: Value) -> Value {
    value!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": (resources), "scope": "*"})
}

fn webhook(client: Value, resources: Value) -> Vec<String> {
    let hook = value!({
        "name": "a.example.com", "clientConfig": (client), "rules": [(rule(resources))], "failurePolicy": "Fail",
        "matchPolicy": "Exact", "sideEffects": "None", "timeoutSeconds": 10, "admissionReviewVersions": ["v1"]
    });
    validate(v1::ValidatingWebhookConfiguration::schema(), value!({"metadata": {"name": "a"}, "webhooks": [(hook)]}))
}

#[test]
fn webhooks_are_reached_in_one_way() {
    let url = |url: &str| webhook(value!({"url": url}), value!(["pods"]));
    assert_eq!(url("https://h/p"), [""; 0]);
    assert_eq!(
        url("http://h?x"),
        [
            "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
            "webhooks[0].clientConfig.url: Invalid value: \"x\": query parameters are not permitted in the URL",
        ]
    );
    assert_eq!(
        url("a b:c"),
        [
            "webhooks[0].clientConfig.url: Required value: url must be a valid URL: parse \"a b:c\": first path segment in URL cannot contain colon; desired format: https://host[/path]"
        ]
    );
    assert_eq!(
        webhook(value!({}), value!(["pods"])),
        ["webhooks[0].clientConfig: Required value: exactly one of url or service is required"]
    );
}

#[test]
fn names_of_configurations_in_files_are_reserved() {
    let named = |name: &str, operation: Operation, gate: bool| {
        let spec = value!({"policyName": "p", "validationActions": ["Deny"]});
        let request = Request {
            api_version: "admissionregistration.k8s.io/v1",
            namespaced: false,
            gates: &NO_GATES.clone().with(&gates::MANIFEST_BASED_ADMISSION_CONTROL_CONFIG, gate),
            ..Request::new(operation)
        };
        let object = value!({"metadata": {"name": (name), "resourceVersion": "1"}, "spec": spec});
        let old = (operation == Operation::Update).then_some(&object);
        validate_as(v1::ValidatingAdmissionPolicyBinding::schema(), &object, old, request)
    };
    let refused = "metadata.name: Invalid value: \"a.static.k8s.io\": names ending with \".static.k8s.io\" are reserved for \
                   static manifest-based configurations and cannot be managed via the API";
    assert_eq!(named("a.static.k8s.io", Operation::Create, true), [refused]);
    assert_eq!(named("a.static.k8s.io", Operation::Create, false), [""; 0]);
    assert_eq!(named("a.static.k8s.io", Operation::Update, true), [""; 0]);
    assert_eq!(named("static.k8s.io", Operation::Create, true), [""; 0]);
}

#[test]
fn no_resource_includes_another() {
    let of = |resources: Value| webhook(value!({"url": "https://h"}), resources);
    assert_eq!(of(value!(["*", "pods/status"])), [""; 0]);
    assert_eq!(of(value!(["pods/*", "pods/status"])).len(), 1);
    assert_eq!(of(value!(["*/*", "pods"])).len(), 1);
    assert_eq!(of(value!(["*", "pods"])).len(), 1);
    // Only the last one without a part is compared with "*".
    assert_eq!(of(value!(["pods", "*"])), [""; 0]);
    assert_eq!(of(value!(["*/x", "*/x"])).len(), 1);
    assert_eq!(of(value!(["*/*", "pods/*"])).len(), 2);
    // What kube-apiserver looks at depends on the order.
    assert_eq!(of(value!(["pods", "*"])), [""; 0]);
    assert_eq!(of(value!(["pods/status", "pods/*"])), [""; 0]);
    assert_eq!(
        of(value!(["*/*", "*/*"])),
        [
            "webhooks[0].rules[0].resources[1]: Invalid value: \"*/*\": if '*/*' is present, must not specify */*",
            "webhooks[0].rules[0].resources[1]: Invalid value: \"*/*\": if '*/*' is present, must not specify */*",
            "webhooks[0].rules[0].resources: Invalid value: [\"*/*\",\"*/*\"]: if '*/*' is present, must not specify other resources",
        ]
    );
}

#[test]
fn errors_of_mutations_are_in_the_field_of_their_type() {
    let policy = |mutation: Value| {
        let spec = value!({
            "failurePolicy": "Fail", "reinvocationPolicy": "Never", "mutations": [(mutation)],
            "matchConstraints": {"matchPolicy": "Exact", "resourceRules": [(rule(value!(["pods"])))]}
        });
        validate(v1beta1::MutatingAdmissionPolicy::schema(), value!({"metadata": {"name": "a"}, "spec": spec}))
    };
    assert_eq!(policy(value!({"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{}]"}})), [""; 0]);
    assert_eq!(
        policy(value!({"patchType": "JSONPatch", "jsonPatch": {"expression": " true\n"}})),
        [
            "spec.mutations[0].jsonPatch.expression: Invalid value: \"true\": must evaluate to list(JSONPatch) but got bool"
        ]
    );
    assert_eq!(
        policy(value!({"patchType": "JSONPatch", "applyConfiguration": {"expression": "x"}})),
        [
            "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
            "spec.mutations[0].applyConfiguration: Invalid value: \"{applyConfiguration}\": must not be specified when patchType is JSONPatch",
        ]
    );
}

#[test]
fn errors_of_a_selector_stand_between_those_of_its_owner() {
    let param = value!({
        "name": "a", "selector": {"matchExpressions": [{"key": "a", "operator": "Odd"}]}, "parameterNotFoundAction": "Odd"
    });
    let binding = value!({"metadata": {"name": "a"}, "spec": {
        "policyName": "p", "paramRef": (param), "validationActions": ["Deny"]
    }});
    let lines = validate(v1::ValidatingAdmissionPolicyBinding::schema(), binding);
    let fields: Vec<&str> =
        lines.iter().filter_map(|line| line.strip_prefix("spec.paramRef.")?.split(':').next()).collect();
    assert_eq!(fields, ["name", "selector.matchExpressions[0].operator", "selector", "parameterNotFoundAction"]);
}
