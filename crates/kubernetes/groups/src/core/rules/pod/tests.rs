//! Tests of the rules of pods, and of the fields that an update may change.

use crate::rules::tests::validate_as;
use crate::tests::resource_for;
use pintle_gates as gates;
use pintle_schema::gates::NO_GATES;
use pintle_schema::{ApiType, GateSet, Value, value};
use pintle_types::core::v1::Pod;
use pintle_validation::{Operation, Request};

fn validate(new: &Value, old: Option<&Value>, subresource: &str) -> Vec<String> {
    let gates = GateSet::only([
        &gates::RELAXED_DNS_SEARCH_VALIDATION,
        &gates::RELAXED_ENVIRONMENT_VARIABLE_VALIDATION,
        &gates::POD_LIFECYCLE_SLEEP_ACTION,
        &gates::POD_LIFECYCLE_SLEEP_ACTION_ALLOW_ZERO,
    ]);
    let lines =
        validate_as(Pod::schema(), new, old, Request { subresource, gates: &gates, ..Request::new(Operation::Create) });
    lines.iter().map(|line| line.lines().next().unwrap_or_default().to_owned()).collect()
}

fn pod() -> Value {
    value!({
        "metadata": {"name": "a", "namespace": "b"},
        "spec": {
            "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
            "volumes": [{"name": "v", "emptyDir": {}}],
            "containers": [{
                "name": "c", "image": "i", "imagePullPolicy": "Always",
                "terminationMessagePath": "/dev/log", "terminationMessagePolicy": "File",
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}
            }]
        }
    })
}

/// A pod whose container differs in one field.
fn with(field: &str, value: Value) -> Value {
    let mut pod = pod();
    let containers = pod.at_mut(&["spec", "containers"]).and_then(Value::as_list_mut);
    containers.and_then(|list| list.first_mut()).expect("a container").set_at(&[field], value);
    pod
}

#[test]
fn a_right_pod_passes() {
    assert_eq!(validate(&pod(), None, ""), Vec::<String>::new());
    assert_eq!(validate(&pod(), Some(&pod()), ""), Vec::<String>::new());
}

#[test]
fn rules_of_restarting_depart_from_a_policy() {
    let container = |fields: Value| {
        let mut container = value!({
            "name": "i", "image": "i", "imagePullPolicy": "Always", "restartPolicyRules": [{"action": "Odd"}],
            "terminationMessagePath": "/dev/log", "terminationMessagePolicy": "File"
        });
        for (field, value) in fields.as_map().into_iter().flat_map(pintle_schema::Map::iter) {
            container.set_at(&[field.as_str()], value.clone());
        }
        container
    };
    let validated = |container: Value| {
        let mut pod = pod();
        pod.set_at(&["spec", "initContainers"], value!([container]));
        validate(&pod, None, "")
    };
    let missing =
        "spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used";
    assert_eq!(validated(container(value!({}))), [missing]);
    assert_eq!(validated(container(value!({"restartPolicy": "Never"}))).len(), 2);
}

#[test]
fn forbidden_probes_are_not_validated() {
    let validated = |restart_policy: &str| {
        let mut pod = pod();
        let container = value!({
            "name": "i", "image": "i", "imagePullPolicy": "Always", "restartPolicy": restart_policy,
            "terminationMessagePath": "/dev/log", "terminationMessagePolicy": "File",
            "livenessProbe": {"httpGet": {}, "successThreshold": 2}, "lifecycle": {"preStop": {"httpGet": {}}}
        });
        pod.set_at(&["spec", "initContainers"], value!([container]));
        validate(&pod, None, "")
    };
    let forbidden = ["lifecycle", "livenessProbe"].map(|field| {
        format!(
            "spec.initContainers[0].{field}: Forbidden: may not be set for init containers without restartPolicy=Always"
        )
    });
    assert_eq!(validated("Never"), forbidden);
    assert!(validated("Always").iter().any(|error| error.contains("livenessProbe.httpGet")));
}

#[test]
fn mounts_name_volumes() {
    let mounts = value!([{"name": "w", "mountPath": "/v"}, {"name": "v", "mountPath": "/v"}]);
    assert_eq!(
        validate(&with("volumeMounts", mounts), None, ""),
        [
            "spec.containers[0].volumeMounts[0].name: Not found: \"w\"",
            "spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/v\": must be unique",
        ]
    );
}

#[test]
fn errors_come_container_by_container() {
    let container = |name: &str| {
        value!({
            "name": name, "image": "i", "imagePullPolicy": "Always",
            "terminationMessagePath": "/dev/log", "terminationMessagePolicy": "File",
            "ports": [{"containerPort": 80, "hostPort": 81, "protocol": "TCP"}],
            "volumeMounts": [{"name": "w", "mountPath": "/w"}],
            "livenessProbe": {"periodSeconds": (-1), "successThreshold": 1}
        })
    };
    let mut pod = pod();
    pod.set_at(&["spec", "hostNetwork"], value!(true));
    pod.set_at(&["spec", "restartPolicy"], value!("Odd"));
    pod.set_at(&["spec", "containers"], value!([(container("a")), (container("a"))]));
    pod.set_at(
        &["spec", "initContainers"],
        value!([{
            "name": "a", "image": "i", "imagePullPolicy": "Always", "lifecycle": {},
            "terminationMessagePath": "/dev/log", "terminationMessagePolicy": "File"
        }]),
    );
    let lines = validate(&pod, None, "");
    let fields: Vec<&str> = lines.iter().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    assert_eq!(
        fields,
        [
            "spec.containers[0].volumeMounts[0].name",
            "spec.containers[0].livenessProbe",
            "spec.containers[0].livenessProbe.periodSeconds",
            "spec.containers[1].volumeMounts[0].name",
            "spec.containers[1].name",
            "spec.containers[1].livenessProbe",
            "spec.containers[1].livenessProbe.periodSeconds",
            "spec.containers[1].ports[0].hostPort",
            "spec.initContainers[0].name",
            "spec.initContainers[0].lifecycle",
            "spec.containers[0].ports[0].hostPort",
            "spec.containers[1].ports[0].hostPort",
            "spec.restartPolicy",
        ]
    );
}

#[test]
fn errors_of_mounts_and_ports_come_in_the_order_of_the_items() {
    let (mounts, ports) = ("spec.containers[0].volumeMounts", "spec.containers[0].ports");
    let both = |path: &str, expression: &str| value!([{"name": "v", "mountPath": "/v", "subPath": path, "subPathExpr": expression}]);
    let exclude = |expression: &str| {
        format!(
            "{mounts}[0].subPathExpr: Invalid value: {expression:?}: subPathExpr and subPath are mutually exclusive"
        )
    };
    let relative =
        |field: &str, path: &str| format!("{mounts}.{field}: Invalid value: {path:?}: must be a relative path");
    let rows = [
        (both("a", "b"), vec![exclude("b")]),
        (both("/a", "b"), vec![relative("subPath", "/a"), exclude("b")]),
        (both("/a", "/b"), vec![relative("subPath", "/a"), exclude("/b"), relative("subPathExpr", "/b")]),
        (both("", "/b"), vec![relative("subPathExpr", "/b")]),
    ];
    for (given, expected) in rows {
        assert_eq!(validate(&with("volumeMounts", given.clone()), None, ""), expected, "{given:?}");
    }
    let port =
        |name: &str, number: i32, protocol: &str| value!({"name": name, "containerPort": number, "protocol": protocol});
    let repeated = |at: usize, name: &str| format!("{ports}[{at}].name: Duplicate value: {name:?}");
    let unsupported = |at: usize| {
        format!("{ports}[{at}].protocol: Unsupported value: \"X\": supported values: \"SCTP\", \"TCP\", \"UDP\"")
    };
    let rows = [
        (value!([(port("a", 1, "TCP")), (port("a", 2, "X"))]), vec![repeated(1, "a"), unsupported(1)]),
        (value!([(port("a", 1, "X")), (port("a", 2, "TCP"))]), vec![unsupported(0), repeated(1, "a")]),
        (
            value!([(port("a", 1, "X")), (port("a", 2, "X")), (port("a", 3, "TCP"))]),
            vec![unsupported(0), repeated(1, "a"), unsupported(1), repeated(2, "a")],
        ),
    ];
    for (given, expected) in rows {
        assert_eq!(validate(&with("ports", given.clone()), None, ""), expected, "{given:?}");
    }
}

#[test]
fn a_probe_has_one_handler() {
    let probe = |handlers: Value| {
        let mut probe = value!({"timeoutSeconds": 1, "periodSeconds": 1, "successThreshold": 1, "failureThreshold": 1});
        for (name, handler) in handlers.as_map().into_iter().flat_map(|map| map.iter()) {
            probe.set_at(&[name], handler.clone());
        }
        with("livenessProbe", probe)
    };
    let at = "spec.containers[0].livenessProbe";
    assert_eq!(validate(&probe(value!({})), None, ""), [format!("{at}: Required value: must specify a handler type")]);
    assert_eq!(
        validate(&probe(value!({"exec": {}, "tcpSocket": {"port": 0}})), None, ""),
        [
            format!("{at}.exec.command: Required value"),
            format!("{at}.tcpSocket: Forbidden: may not specify more than 1 handler type"),
        ]
    );
}

#[test]
fn requests_stay_within_limits() {
    let resources = value!({"limits": {"cpu": "1", "b/c": "1"}, "requests": {"cpu": "1500m", "b/c": "2"}});
    assert_eq!(
        validate(&with("resources", resources), None, ""),
        [
            "spec.containers[0].resources.requests: Invalid value: \"2\": must be equal to b/c limit of 1",
            "spec.containers[0].resources.requests: Invalid value: \"1500m\": \
             must be less than or equal to cpu limit of 1",
        ]
    );
}

#[test]
fn updates_change_images_alone() {
    assert_eq!(validate(&with("image", "j".into()), Some(&pod()), ""), Vec::<String>::new());
    let changed = validate(&with("workingDir", "/w".into()), Some(&pod()), "");
    assert!(changed.len() == 1 && changed[0].starts_with("spec: Forbidden: pod updates may not change"), "{changed:?}");
    // A pointer to nothing is not a missing one.
    assert_eq!(validate(&with("securityContext", value!({})), Some(&pod()), "").len(), 1);
}

#[test]
fn what_a_gated_pod_wants_of_nodes_may_come_and_go() {
    let of_nodes = || {
        value!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
        [{"weight": 1, "preference": {"matchExpressions": [{"key": "k", "operator": "Exists"}]}}]}})
    };
    let of_pods = || {
        value!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        [{"topologyKey": "k", "labelSelector": {"matchLabels": {"a": "b"}}}]}})
    };
    let both = || {
        let mut both = of_nodes();
        both.set_at(&["podAffinity"], of_pods().get("podAffinity").cloned().unwrap_or_default());
        both
    };
    let gated = |affinity: Option<Value>| {
        let mut pod = pod();
        pod.set_at(&["spec", "schedulingGates"], value!([{"name": "g"}]));
        affinity.into_iter().for_each(|affinity| pod.set_at(&["spec", "affinity"], affinity));
        pod
    };
    let reported = |new: Option<Value>, old: Option<Value>| validate(&gated(new), Some(&gated(old)), "").len();
    assert_eq!(reported(Some(of_nodes()), None), 0);
    assert_eq!(reported(None, Some(of_nodes())), 0);
    assert_eq!(reported(Some(of_pods()), Some(both())), 0);
    assert_eq!(reported(Some(both()), None), 1, "pods' affinity came with it");
    assert_eq!(reported(None, Some(both())), 1, "pods' affinity went with it");
    assert_eq!(reported(Some(of_nodes()), Some(both())), 1);
}

#[test]
fn a_resize_changes_cpu_and_memory_alone() {
    let resized = with("resources", value!({"limits": {"cpu": "3"}, "requests": {"cpu": "2"}}));
    assert_eq!(validate(&resized, Some(&pod()), "resize"), Vec::<String>::new());
    let other = with("resources", value!({"limits": {"cpu": "2", "b/c": "1"}, "requests": {"cpu": "1", "b/c": "1"}}));
    assert_eq!(
        validate(&other, Some(&pod()), "resize"),
        ["spec: Forbidden: only cpu and memory resources are mutable"]
    );
    assert_eq!(
        validate(&pod(), Some(&other), "resize"),
        [
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
            "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed",
            "spec: Forbidden: only cpu and memory resources are mutable",
        ]
    );
    let bare = with("resources", value!({}));
    let mut own = bare.clone();
    own.set_at(&["spec", "resources"], value!({"limits": {}}));
    assert_eq!(validate(&own, Some(&bare), "resize"), ["spec: Forbidden: only cpu and memory resources are mutable"]);
    let mut other_class = pod();
    other_class.set_at(&["spec", "resources"], value!({"limits": {}}));
    assert_eq!(
        validate(&other_class, Some(&pod()), "resize"),
        ["spec: Invalid value: \"\": Pod QOS Class may not change as a result of resizing"]
    );
    let mut mirror = pod();
    mirror.set_at(&["metadata", "annotations"], value!({"kubernetes.io/config.mirror": "x"}));
    mirror.set_at(&["spec", "nodeName"], "n");
    assert_eq!(validate(&mirror, Some(&mirror), "resize"), ["[]: Forbidden: static pods cannot be resized"]);
    mirror.set_at(&["spec", "resourceClaims"], value!([{"name": "a", "resourceClaimName": "b"}]));
    assert_eq!(validate(&mirror, None, ""), ["[]: Forbidden: static pods do not support resource claims"]);
    let restarted = with("resizePolicy", value!([{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]));
    assert_eq!(
        validate(&restarted, Some(&pod()), "resize"),
        ["spec: Forbidden: only cpu and memory resources are mutable"]
    );
    let mut windows = pod();
    windows.set_at(&["spec", "os"], value!({"name": "windows"}));
    assert!(
        validate(&windows, Some(&windows), "resize")
            .contains(&"[]: Forbidden: windows pods cannot be resized".to_owned())
    );
}

#[test]
fn names_of_a_pods_resources_are_names_first() {
    let limited = |name: &str| {
        let mut pod = pod();
        pod.set_at(&["spec", "resources", "limits", name], "1");
        validate(&pod, None, "")
            .into_iter()
            .filter(|line| line.starts_with("spec.resources.limits["))
            .collect::<Vec<_>>()
    };
    let unsupported = limited("storage");
    assert!(unsupported.len() == 1 && unsupported[0].contains("Unsupported value: \"storage\""), "{unsupported:?}");
    let long = limited(&"x".repeat(64));
    assert!(long.len() == 1 && long[0].ends_with("name part must be no more than 63 bytes"), "{long:?}");
}

#[test]
fn static_pods_have_no_resource_claims() {
    let mut mirror = pod();
    mirror.set_at(&["spec", "resourceClaims"], value!([{"name": "a", "resourceClaimName": "b"}, {"name": "A_"}]));
    assert_eq!(validate(&mirror, None, "").len(), 2, "one of the claims is wrong twice");
    mirror.set_at(&["metadata", "annotations"], value!({"kubernetes.io/config.mirror": "x"}));
    mirror.set_at(&["spec", "nodeName"], "n");
    assert_eq!(validate(&mirror, None, ""), ["[]: Forbidden: static pods do not support resource claims"; 2]);
}

#[test]
fn a_changed_ephemeral_container_is_compared() {
    let with_image = |image: &str| {
        let mut pod = pod();
        let container = value!({
            "name": "e", "image": image, "imagePullPolicy": "Always",
            "terminationMessagePath": "/dev/log", "terminationMessagePolicy": "File"
        });
        pod.set_at(&["spec", "ephemeralContainers"], value!([container]));
        pod
    };
    let request = Request { subresource: "ephemeralcontainers", ..Request::new(Operation::Create) };
    let lines = validate_as(Pod::schema(), &with_image("j"), Some(&with_image("i")), request);
    let begin = "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"e\" may not be changed\n\
                 @@ -1,6 +1,6 @@\n {\n  \"Name\": \"e\",\n- \"Image\": \"i\",\n+ \"Image\": \"j\",\n";
    assert!(lines.len() == 1 && lines[0].starts_with(begin), "{lines:?}");
}

#[test]
fn what_a_pod_shares_with_its_node_is_validated_before_its_system() {
    let mut pod = pod();
    pod.set_at(&["spec", "os"], value!({"name": "linux"}));
    pod.set_at(&["spec", "hostUsers"], Value::Bool(false));
    pod.set_at(&["spec", "hostIPC"], Value::Bool(true));
    pod.set_at(&["spec", "securityContext"], value!({"windowsOptions": {"hostProcess": true}}));
    assert_eq!(
        validate(&pod, None, ""),
        [
            "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
            "spec.HostIPC: Forbidden: when `hostUsers` is false",
            "spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
        ]
    );
}

#[test]
fn every_plan_of_a_pod_is_sound() {
    assert!(resource_for(Pod::schema()).rules.plan(Pod::schema()).problems.is_empty());
}

#[test]
fn what_does_nothing_is_warned_of() {
    let mut object = pod();
    object.set_at(&["metadata", "name"], "a.b");
    object.set_at(&["spec", "volumes"], value!([{"name": "v", "gitRepo": {"repository": "r"}}]));
    object.set_at(&["spec", "topologySpreadConstraints"], value!([{"maxSkew": 1, "topologyKey": "z"}]));
    let reported = |old: Option<&Value>| {
        let mut warnings = Vec::new();
        let written = crate::rules::warnings::Written { object: &object, old, subresource: "", gates: &NO_GATES };
        resource_for(Pod::schema()).warn.expect("pods have warnings")(&written, &mut warnings);
        warnings
    };
    assert_eq!(
        reported(None),
        [
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; \
             a DNS label is recommended: [must not contain dots]",
            "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
            "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
        ]
    );
    assert_eq!(reported(Some(&object)), Vec::<String>::new());
}

#[test]
fn a_system_refuses_what_it_does_not_know() {
    let on = |os: &str| {
        let mut pod = pod();
        pod.set_at(&["spec", "os"], value!({"name": os}));
        pod.set_at(&["spec", "hostPID"], value!(true));
        pod.set_at(&["spec", "securityContext"], value!({"runAsUser": 1}));
        validate(&pod, None, "")
    };
    assert_eq!(on("linux"), [""; 0]);
    assert_eq!(on("plan9"), ["spec.os: Unsupported value: \"plan9\": supported values: \"linux\", \"windows\""]);
    assert_eq!(
        on("windows"),
        ["spec.hostPID", "spec.securityContext.runAsUser"]
            .map(|field| format!("{field}: Forbidden: cannot be set for a windows pod"))
    );
}

#[test]
fn addresses_that_a_pod_has_already_stay_right() {
    let with_ips = |ips: Value| {
        let mut pod = pod();
        pod.set_at(&["status"], value!({"podIPs": (ips.clone()), "hostIP": "::ffff:1.2.3.4", "hostIPs": ips}));
        pod
    };
    let gates = GateSet::only([&gates::STRICT_IP_CIDR_VALIDATION]);
    let validate = |new: &Value, old: &Value| {
        let request = Request { subresource: "status", gates: &gates, ..Request::new(Operation::Create) };
        validate_as(Pod::schema(), new, Some(old), request)
    };
    let (mapped, none) = (with_ips(value!([{"ip": "::ffff:1.2.3.4"}])), with_ips(value!([])));
    let fault = "Invalid value: \"::ffff:1.2.3.4\": must not be an IPv4-mapped IPv6 address";
    assert_eq!(validate(&mapped, &none), [format!("status.podIPs[0]: {fault}"), format!("status.hostIPs[0]: {fault}")]);
    assert_eq!(validate(&mapped, &mapped), Vec::<String>::new());
    let wrong = with_ips(value!([{"ip": "x"}, {"ip": "y"}]));
    let lines = validate(&wrong, &none);
    for list in ["status.podIPs", "status.hostIPs"] {
        let unread = format!("{list}: Internal error: failed to check for dual stack with error:invalid IP[0]: x");
        let at = lines.iter().position(|line| *line == unread).expect("an error");
        assert!(
            lines.get(at + 1).is_some_and(|line| line.ends_with("no more than one IP for each IP family")),
            "{lines:?}"
        );
    }
}

#[test]
fn statuses_of_containers_are_validated_after_addresses() {
    let resources = value!([{"name": "cpu", "resources": [{"health": "Odd"}]}]);
    let status = |resources: &Value| value!([{"name": "c", "allocatedResourcesStatus": (resources.clone())}]);
    let mut new = pod();
    new.set_at(&["status"], value!({
        "podIPs": [{"ip": "x"}], "initContainerStatuses": (status(&resources)), "containerStatuses": (status(&resources)),
        "ephemeralContainerStatuses": (status(&resources))
    }));
    let lines = validate(&new, Some(&pod()), "status");
    let fields: Vec<&str> = lines.iter().filter_map(|line| line.split(": ").next()).collect();
    let health = "allocatedResourcesStatus[0].resources[0].health";
    assert_eq!(
        fields,
        [
            "status.podIPs[0]".to_owned(),
            format!("status.containerStatuses[0].{health}"),
            format!("status.initContainerStatuses[0].{health}"),
            "status.ephemeralContainerStatuses[0].allocatedResourcesStatus".to_owned(),
        ]
    );
}
