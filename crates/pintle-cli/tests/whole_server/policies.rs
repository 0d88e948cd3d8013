//! Admission policies on a whole server: rejections, changes and warnings, with parameters of built-in and custom kinds.
//! Guarantees that a policy applies to the first request after it was stored.

use crate::common::http::Answered;
use crate::common::http::{Answer, Client};
use crate::common::in_process::InProcess;
use serde_json::{Value, json};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn send(client: &mut Client, path: &str, object: &Value) -> Answer {
    client.post(path, object).answer()
}

/// Rules for all writes of config maps.
fn config_maps() -> Value {
    json!({"resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}
    ]})
}

/// Stores a validating policy and its binding, both of this name.
fn validate(client: &mut Client, name: &str, mut spec: Value, mut binding: Value) {
    if spec.get("matchConstraints").is_none() {
        spec["matchConstraints"] = config_maps();
    }
    let policy = json!({"metadata": {"name": name}, "spec": spec});
    send(client, &format!("{GROUP}/validatingadmissionpolicies"), &policy).expect(201);
    binding["policyName"] = json!(name);
    if binding.get("validationActions").is_none() {
        binding["validationActions"] = json!(["Deny"]);
    }
    let binding = json!({"metadata": {"name": name}, "spec": binding});
    send(client, &format!("{GROUP}/validatingadmissionpolicybindings"), &binding).expect(201);
}

fn mutate(client: &mut Client, name: &str, mutations: Value) {
    mutate_again(client, name, mutations, "Never");
}

fn mutate_again(client: &mut Client, name: &str, mutations: Value, reinvocation: &str) {
    let spec = json!({"matchConstraints": config_maps(), "mutations": mutations, "reinvocationPolicy": reinvocation});
    let policy = json!({"metadata": {"name": name}, "spec": spec});
    send(client, &format!("{GROUP}/mutatingadmissionpolicies"), &policy).expect(201);
    let binding = json!({"metadata": {"name": name}, "spec": {"policyName": name}});
    send(client, &format!("{GROUP}/mutatingadmissionpolicybindings"), &binding).expect(201);
}

fn config_map(client: &mut Client, name: &str, data: Value) -> Answer {
    send(client, CONFIG_MAPS, &json!({"metadata": {"name": name}, "data": data}))
}

#[test]
fn a_policy_refuses_what_it_does_not_allow() {
    let server = InProcess::start();
    let mut client = server.client();
    config_map(&mut client, "before", json!({"n": "9"})).expect(201);
    let validation = json!({
        "expression": "variables.n <= 5",
        "messageExpression": "'at most 5, not ' + string(variables.n)",
        "reason": "Forbidden"
    });
    let variables = json!([{"name": "n", "expression": "int(object.data.n)"}]);
    validate(&mut client, "small", json!({"variables": variables, "validations": [validation]}), json!({}));
    config_map(&mut client, "a", json!({"n": "5"})).expect(201);
    let refused = config_map(&mut client, "b", json!({"n": "6"})).expect(403);
    let why = "ValidatingAdmissionPolicy 'small' with binding 'small' denied request: at most 5, not 6";
    assert_eq!(refused["message"], format!("configmaps \"b\" is forbidden: {why}"));
    assert_eq!(refused["details"]["causes"], json!([{"message": why}]));
    let failed = config_map(&mut client, "c", json!({})).expect(422);
    assert!(failed["message"].to_string().contains("composited variable \\\"n\\\" fails to evaluate"), "{failed}");
    client.delete(&format!("{GROUP}/validatingadmissionpolicybindings/small")).expect_status(200);
    config_map(&mut client, "b", json!({"n": "6"})).expect(201);
}

#[test]
fn warnings_go_out_with_what_is_admitted() {
    let server = InProcess::start();
    let mut client = server.client();
    let validations = json!([{"expression": "has(object.data)", "message": "no data"}]);
    validate(&mut client, "w", json!({"validations": validations}), json!({"validationActions": ["Warn", "Audit"]}));
    let answer = send(&mut client, CONFIG_MAPS, &json!({"metadata": {"name": "a"}}));
    let warning = "299 - \"Validation failed for ValidatingAdmissionPolicy 'w' with binding 'w': no data\"";
    assert_eq!((answer.status, answer.header("warning")), (201, warning));
    assert_eq!(config_map(&mut client, "b", json!({"k": "v"})).header("warning"), "");
}

#[test]
fn deletions_show_the_old_object() {
    let server = InProcess::start();
    let mut client = server.client();
    config_map(&mut client, "kept", json!({"keep": "yes"})).expect(201);
    config_map(&mut client, "free", json!({})).expect(201);
    let rules = json!({"resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"]}
    ]});
    let validations = json!([{"expression": "object == null && !has(oldObject.data)"}]);
    validate(&mut client, "keep", json!({"matchConstraints": rules, "validations": validations}), json!({}));
    client.delete(&format!("{CONFIG_MAPS}/free")).expect_status(200);
    client.delete(&format!("{CONFIG_MAPS}/kept")).expect_status(422);
}

#[test]
fn parameters_are_objects_of_any_kind() {
    let server = InProcess::start();
    let mut client = server.client();
    let definition = json!({
        "metadata": {"name": "limits.example.com"},
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": {"plural": "limits", "kind": "Limit"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"most": {"type": "integer"}}}}
            }]
        }
    });
    send(&mut client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).expect(201);
    let limit = json!({"apiVersion": "example.com/v1", "kind": "Limit", "metadata": {"name": "one"}, "most": 1});
    crate::common::wait_for("the custom resource", || {
        (send(&mut client, "/apis/example.com/v1/limits", &limit).status == 201).then_some(())
    });
    let spec = json!({
        "paramKind": {"apiVersion": "example.com/v1", "kind": "Limit"},
        "validations": [{"expression": "params == null || size(object.data) <= params.most"}]
    });
    let param = |name: &str| json!({"paramRef": {"name": name, "parameterNotFoundAction": "Deny"}});
    validate(&mut client, "custom", spec, param("one"));
    config_map(&mut client, "a", json!({"k": "v"})).expect(201);
    config_map(&mut client, "b", json!({"k": "v", "l": "w"})).expect(422);
    client.delete("/apis/example.com/v1/limits/one").expect_status(200);
    let refused = config_map(&mut client, "c", json!({"k": "v"})).expect(422);
    assert!(refused["message"].to_string().contains("no params found for policy binding"), "{refused}");
}

#[test]
fn parameters_of_built_in_kinds_have_no_managed_fields() {
    let server = InProcess::start();
    let mut client = server.client();
    config_map(&mut client, "limits", json!({"most": "1"})).expect(201);
    let spec = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "has(params.metadata.managedFields)", "messageExpression": "params.data.most + 'x'"}]
    });
    validate(&mut client, "bare", spec, json!({"paramRef": {"name": "limits", "parameterNotFoundAction": "Deny"}}));
    let refused = config_map(&mut client, "a", json!({})).expect(422);
    let why = "ValidatingAdmissionPolicy 'bare' with binding 'bare' denied request: 1x";
    assert_eq!(refused["message"], format!("configmaps \"a\" is forbidden: {why}"));
}

#[test]
fn a_generated_name_is_the_name_of_the_request() {
    let server = InProcess::start();
    let mut client = server.client();
    let validation = json!({"expression": "!request.name.startsWith('g-')", "messageExpression": "request.name"});
    validate(&mut client, "generated", json!({"validations": [validation]}), json!({}));
    let refused = send(&mut client, CONFIG_MAPS, &json!({"metadata": {"generateName": "g-"}})).expect(422);
    let name = refused["details"]["name"].as_str().expect("a name").to_owned();
    assert_eq!(name.len(), 7, "{refused}");
    assert!(refused["message"].as_str().is_some_and(|message| message.ends_with(&format!("request: {name}"))));
}

#[test]
fn a_token_request_is_validated_as_it_will_be_granted() {
    let server = InProcess::start();
    let mut client = server.client();
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    send(&mut client, accounts, &json!({"metadata": {"name": "robot"}})).expect(201);
    let rules = json!({"resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["serviceaccounts/token"]}
    ]});
    let expression = "object.metadata.name == 'robot' && object.metadata.namespace == 'default' && \
                      has(object.metadata.uid) && has(object.metadata.creationTimestamp) && size(object.spec.audiences) > 0";
    let validations = json!([{"expression": expression}]);
    validate(&mut client, "tokens", json!({"matchConstraints": rules, "validations": validations}), json!({}));
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    send(&mut client, &format!("{accounts}/robot/token"), &request).expect(201);
}

#[test]
fn no_configuration_is_applied_to_a_kind_of_another_group() {
    let server = InProcess::start();
    let mut client = server.client();
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    send(&mut client, deployments, &json!({"metadata": {"name": "d"}, "spec": spec})).expect(201);
    let rules = json!({"resourceRules": [
        {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["deployments/scale"]}
    ]});
    let expression = "Object{spec: Object.spec{replicas: 7}}";
    let mutations = json!([{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]);
    let spec = json!({"matchConstraints": rules, "mutations": mutations, "reinvocationPolicy": "Never"});
    let policy = json!({"metadata": {"name": "scale"}, "spec": spec});
    send(&mut client, &format!("{GROUP}/mutatingadmissionpolicies"), &policy).expect(201);
    let binding = json!({"metadata": {"name": "scale"}, "spec": {"policyName": "scale"}});
    send(&mut client, &format!("{GROUP}/mutatingadmissionpolicybindings"), &binding).expect(201);
    let scale = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 2}
    });
    let refused = client.put(&format!("{deployments}/d/scale"), &scale).expect_status(403);
    let why = "no corresponding type for autoscaling/v1, Kind=Scale";
    assert!(refused["message"].as_str().is_some_and(|message| message.ends_with(why)), "{refused}");
}

#[test]
fn each_expression_of_a_policy_may_read_the_namespace() {
    let server = InProcess::start();
    let mut client = server.client();
    let name = "namespaceObject.metadata.name";
    let validation = |expression: &str| json!([{"expression": expression, "message": "not in default"}]);
    for (policy, spec) in [
        ("validation", json!({"validations": validation(&format!("{name} != 'default'"))})),
        (
            "variable",
            json!({
                "variables": [{"name": "home", "expression": name}],
                "validations": validation("variables.home != 'default'")
            }),
        ),
        (
            "condition",
            json!({
                "matchConditions": [{"name": "home", "expression": format!("{name} == 'default'")}],
                "validations": validation("false")
            }),
        ),
        (
            "message",
            json!({"validations": [{"expression": "false", "messageExpression": format!("'not in ' + {name}")}]}),
        ),
    ] {
        let mut spec = spec;
        // An expression that finds no namespace fails, and refuses nothing.
        spec["failurePolicy"] = json!("Ignore");
        validate(&mut client, policy, spec, json!({}));
        let refused = config_map(&mut client, policy, json!({})).expect(422);
        let why = format!("with binding '{policy}' denied request: not in default");
        assert!(refused["message"].as_str().is_some_and(|message| message.ends_with(&why)), "{refused}");
        let binding = format!("{GROUP}/validatingadmissionpolicybindings/{policy}");
        client.delete(&binding).expect_status(200);
    }
    let label = format!("Object{{metadata: Object.metadata{{labels: {{'in': {name}}}}}}}");
    mutate(&mut client, "m", json!([{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": label}}]));
    assert_eq!(config_map(&mut client, "m", json!({})).expect(201)["metadata"]["labels"], json!({"in": "default"}));
}

#[test]
fn a_namespace_is_in_itself() {
    const NAMESPACES: &str = "/api/v1/namespaces";
    let server = InProcess::start();
    let mut client = server.client();
    let rules = |operations: Value| {
        json!({"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": operations, "resources": ["namespaces", "namespaces/status"]}
        ]})
    };
    let shown = "request.operation + ' ' + request.name + ' in ' + (has(request.namespace) ? request.namespace : 'none') + \
                 (namespaceObject == null ? '' : ', which is shown')";
    let spec = json!({
        "matchConstraints": rules(json!(["*"])),
        "validations": [{"expression": "false", "messageExpression": shown}]
    });
    let selector = json!({"namespaceSelector": {"matchLabels": {"told": "yes"}}});
    validate(&mut client, "tells", spec, json!({"validationActions": ["Warn"], "matchResources": selector}));
    // No such parameter is in the namespace that is made, so that there is nothing to evaluate.
    let spec = json!({
        "matchConstraints": rules(json!(["CREATE"])),
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "false"}]
    });
    let param = json!({"name": "limits", "parameterNotFoundAction": "Allow"});
    validate(&mut client, "with-parameters", spec, json!({"paramRef": param}));
    let told = |answer: &Answer| {
        let warning = answer.header("warning").trim_end_matches('"');
        warning.rsplit_once("binding 'tells': ").map_or("", |(_, told)| told).to_owned()
    };
    let labelled = json!({"name": "home", "labels": {"told": "yes"}});
    let made = send(&mut client, NAMESPACES, &json!({"metadata": labelled}));
    assert_eq!((made.status, told(&made).as_str()), (201, "CREATE home in home"), "{}", made.text());
    let other = send(&mut client, NAMESPACES, &json!({"metadata": {"name": "other"}}));
    assert_eq!((other.status, told(&other).as_str()), (201, ""), "{}", other.text());
    let patch = json!({"metadata": {"annotations": {"a": "b"}}}).to_string();
    for path in ["home", "home/status"] {
        let path = format!("{NAMESPACES}/{path}");
        let changed = client.send("PATCH", &path, "application/merge-patch+json", patch.as_bytes()).answer();
        assert_eq!((changed.status, told(&changed).as_str()), (200, "UPDATE home in home"), "{path}");
    }
    let deleted = client.delete(&format!("{NAMESPACES}/home")).answer();
    assert_eq!((deleted.status, told(&deleted).as_str()), (200, "DELETE home in home"), "{}", deleted.text());
    // A name that is still to be made is in no namespace, where no parameters are either.
    let generated = json!({"metadata": {"generateName": "made-", "labels": {"told": "yes"}}});
    let refused = send(&mut client, NAMESPACES, &generated).expect(422);
    let why = refused["message"].as_str().unwrap_or_default();
    assert!(
        why.contains("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"),
        "{why}"
    );
    let bindings = format!("{GROUP}/validatingadmissionpolicybindings/with-parameters");
    client.delete(&bindings).expect_status(200);
    let generated = send(&mut client, NAMESPACES, &generated);
    let name = generated.json()["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    assert_eq!((generated.status, told(&generated)), (201, format!("CREATE {name} in none")), "{}", generated.text());
}

#[test]
fn what_is_not_stored_is_changed_by_policies() {
    let (server, mut client) = InProcess::for_pods();
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    send(&mut client, "/api/v1/namespaces/default/pods", &pod).expect(201);
    let rules = json!({"resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["bindings"]}
    ]});
    let patch = "[JSONPatch{op: 'replace', path: '/target/name', value: 'right'}]";
    let configured = "Object{metadata: Object.metadata{annotations: {'by': object.target.name}}}";
    let mutations = json!([
        {"patchType": "JSONPatch", "jsonPatch": {"expression": patch}},
        {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": configured}}
    ]);
    let spec = json!({"matchConstraints": rules, "mutations": mutations, "reinvocationPolicy": "Never"});
    let policy = json!({"metadata": {"name": "binds"}, "spec": spec});
    send(&mut client, &format!("{GROUP}/mutatingadmissionpolicies"), &policy).expect(201);
    let binding = json!({"metadata": {"name": "binds"}, "spec": {"policyName": "binds"}});
    send(&mut client, &format!("{GROUP}/mutatingadmissionpolicybindings"), &binding).expect(201);
    // A validating policy sees the binding as it was changed.
    let validations = json!([{"expression": "object.target.name == 'right' && object.kind == 'Binding'"}]);
    validate(&mut client, "bound", json!({"matchConstraints": rules, "validations": validations}), json!({}));
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "wrong"}});
    send(&mut client, "/api/v1/namespaces/default/bindings", &binding).expect(201);
    let bound = server.client().get("/api/v1/namespaces/default/pods/p").expect_status(200);
    assert_eq!(
        (&bound["spec"]["nodeName"], &bound["metadata"]["annotations"]["by"]),
        (&json!("right"), &json!("right"))
    );
}

#[test]
fn policies_change_objects_one_after_the_other() {
    let server = InProcess::start();
    let mut client = server.client();
    let label = "Object{metadata: Object.metadata{labels: {'by': request.userInfo.username.replace(':', '.')}}}";
    mutate(&mut client, "a", json!([{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": label}}]));
    let copy = "[JSONPatch{op: 'add', path: '/data/by', value: object.metadata.labels.by}]";
    mutate(&mut client, "b", json!([{"patchType": "JSONPatch", "jsonPatch": {"expression": copy}}]));
    let made = config_map(&mut client, "c", json!({"k": "v"})).expect(201);
    let by = made["metadata"]["labels"]["by"].clone();
    assert!(by.is_string(), "{made}");
    assert_eq!(made["data"], json!({"k": "v", "by": by}));
    // Fields that policies set have no manager.
    let fields = &made["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(fields, &json!({"f:data": {".": {}, "f:k": {}}}));
    let wrong = "[JSONPatch{op: 'remove', path: '/data/none'}]";
    mutate(&mut client, "z", json!([{"patchType": "JSONPatch", "jsonPatch": {"expression": wrong}}]));
    let refused = config_map(&mut client, "d", json!({"k": "v"})).expect(403);
    let why = "policy 'z' with binding 'z' denied request: JSON Patch: error in remove for path: '/data/none': Unable to remove \
               nonexistent key: none: missing value";
    assert_eq!((&refused["message"], &refused["reason"]), (&json!(why), &json!("Invalid")));
}

#[test]
fn a_policy_is_asked_once_more_after_later_changes() {
    let server = InProcess::start();
    let mut client = server.client();
    let keep = "[JSONPatch{op: 'add', path: '/data/seen', value: string(size(object.data))}]";
    for (name, reinvocation) in [("a", "IfNeeded"), ("b", "Never")] {
        let expression = if name == "a" { keep } else { "[JSONPatch{op: 'add', path: '/data/new', value: 'x'}]" };
        let mutations = json!([{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}]);
        mutate_again(&mut client, name, mutations, reinvocation);
    }
    let made = config_map(&mut client, "c", json!({"k": "v"})).expect(201);
    assert_eq!(made["data"], json!({"k": "v", "seen": "3", "new": "x"}));
}

#[test]
fn no_policy_moves_an_object_to_another_namespace() {
    let server = InProcess::start();
    let mut client = server.client();
    let expression = "Object{metadata: Object.metadata{namespace: 'other'}}";
    mutate(
        &mut client,
        "m",
        json!([{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]),
    );
    config_map(&mut client, "c", json!({})).expect(400);
}

#[test]
fn no_policy_acts_on_policies() {
    let server = InProcess::start();
    let mut client = server.client();
    let all = json!({"resourceRules": [
        {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    ]});
    let validations = json!([{"expression": "false"}]);
    validate(&mut client, "none", json!({"matchConstraints": all, "validations": validations}), json!({}));
    config_map(&mut client, "a", json!({})).expect(422);
    client.delete(&format!("{GROUP}/validatingadmissionpolicies/none")).expect_status(200);
    config_map(&mut client, "a", json!({})).expect(201);
}

#[test]
fn expressions_that_do_not_compile_are_refused() {
    let server = InProcess::start();
    let mut client = server.client();
    let policy = json!({
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": config_maps(), "validations": [{"expression": "nothing == 1"}]}
    });
    let refused = send(&mut client, &format!("{GROUP}/validatingadmissionpolicies"), &policy).expect(422);
    assert_eq!(refused["details"]["causes"][0]["field"], "spec.validations[0].expression");
    let message = refused["details"]["causes"][0]["message"].to_string();
    assert!(message.contains("undeclared reference to 'nothing'"), "{message}");
}
