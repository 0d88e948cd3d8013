//! Starting and stopping the real binary: signals, a second start, a second process, wrong flags, an empty folder.
//! Guarantees that an operator gets clean ends and clear refusals. Must never use the default port: another server may
//! use it.

use crate::common::http::Answered;
use crate::common::process::{ADMIN_TOKEN, Installation, NOBODY_TOKEN, free_port, pintle, start};
use crate::common::{Scratch, name, resource_version, wait_for};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::process::{Command, Stdio};

const ADDRESSES: &str = "/apis/networking.k8s.io/v1/ipaddresses";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[test]
fn a_signal_stops_gracefully_and_keeps_writes() {
    let installation = Installation::new();
    let mut written = Vec::new();
    for signal in ["TERM", "INT"] {
        let mut process = installation.start();
        let mut client = process.endpoint().client();
        let list = client.get(CONFIG_MAPS).expect_status(200);
        let names: Vec<_> = list["items"].as_array().expect("items").iter().map(name).collect();
        assert_eq!(names, written, "before {signal}");

        let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=true&resourceVersion={}", resource_version(&list)));
        let watch = watch.as_mut().expect("a watch");
        let new = format!("before-{}", signal.to_lowercase());
        let object = json!({"metadata": {"name": new}});
        client.post(CONFIG_MAPS, &object).expect_status(201);
        assert_eq!(watch.event().0, "ADDED", "the watch is open");

        process.signal(signal);
        let status = wait_for("the end", || process.exit_status());
        assert_eq!(status.code(), Some(0), "{signal}: {}", process.errors());
        assert!(watch.next().expect("an end in good order").is_none(), "{signal}: nothing follows");
        written.push(new);
        written.sort();
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let installation = Installation::own();
    let mut process = installation.start_with(&["--shutdown-delay-duration", "1h"]);
    let mut client = process.endpoint().client();
    client.post(CONFIG_MAPS, &json!({"metadata": {"name": "a"}})).expect_status(201);
    process.signal("TERM");
    wait_for("the first to be noticed", || (client.get("/readyz").ok()?.status == 500).then_some(()));
    client.get("/livez").answer().expect_text("ok");
    process.signal("INT");
    let status = wait_for("the end", || process.exit_status());
    assert_eq!(status.code(), Some(1), "{}", process.errors());
    let process = installation.start();
    process.endpoint().client().get(&format!("{CONFIG_MAPS}/a")).expect_status(200);
}

#[test]
fn the_limit_of_open_files_is_raised() {
    let installation = Installation::own();
    // Fewer than the clients below need, as a shell may have set it.
    let command = |port| {
        let server = installation.command(port);
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -S -n 100 && exec \"$0\" \"$@\""])
            .arg(server.get_program())
            .args(server.get_args());
        command
    };
    let process = start(command, &installation.path("certs"));
    let mut clients: Vec<_> = (0..200).map(|_| process.endpoint().client()).collect();
    for client in &mut clients {
        client.get("/readyz").answer().expect_text("ok");
    }
}

#[test]
fn a_server_may_move_to_an_address_of_another_family() {
    let installation = Installation::own();
    let (first, second) = ("10.0.0.0/24,fd01::/112", "fd01::/112,10.0.0.0/24");
    for (address, family, ranges) in
        [("10.1.0.1", "IPv4", first), ("fd00::1", "IPv6", second), ("10.1.0.1", "IPv4", first)]
    {
        let process = installation.start_with(&["--advertise-address", address, "--service-cluster-ip-range", ranges]);
        let path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
        let slice = process.endpoint().client().get(path).expect_status(200);
        assert_eq!((&slice["addressType"], &slice["endpoints"][0]["addresses"]), (&json!(family), &json!([address])));
    }
}

#[test]
fn an_address_of_this_machine_alone_is_no_endpoint() {
    let installation = Installation::own();
    let process = installation.start_with(&["--advertise-address", "127.0.0.1"]);
    let mut client = process.endpoint().client();
    client.get("/api/v1/namespaces/default/services/kubernetes").expect_status(200);
    client.get("/api/v1/namespaces/default/endpoints/kubernetes").expect_status(404);
}

#[test]
fn addresses_are_repaired_when_it_starts() {
    let installation = Installation::own();
    let ip = {
        let process = installation.start();
        let client = &mut process.endpoint().client();
        let service = json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}});
        let service = client.post("/api/v1/namespaces/default/services", &service).expect_status(201);
        let ip = service["spec"]["clusterIP"].as_str().expect("an address").to_owned();
        client.delete(&format!("{ADDRESSES}/{ip}")).expect_status(200);
        ip
    };
    let process = installation.start();
    let client = &mut process.endpoint().client();
    let events = "/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=reason=ClusterIPNotAllocated";
    let reported = wait_for("an event", || {
        let mut list = client.get(events).expect_status(200);
        Some(list["items"].get_mut(0)?.take())
    });
    assert_eq!(reported["note"], format!("Cluster IP [IPv4]: {ip} is not allocated; repairing"));
    let regarding = &reported["regarding"];
    assert_eq!([&regarding["kind"], &regarding["name"], &regarding["apiVersion"]], ["Service", "a", "v1"]);
    let address = client.get(&format!("{ADDRESSES}/{ip}")).expect_status(200);
    assert_eq!(address["spec"]["parentRef"]["name"], "a");
}

#[test]
fn node_ports_out_of_range_are_warned_of_at_the_start() {
    let installation = Installation::own();
    {
        let process = installation.start();
        let service = json!({"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30_007}]}});
        let client = &mut process.endpoint().client();
        client.post("/api/v1/namespaces/default/services", &service).expect_status(201);
    }
    let process = installation.start_with(&["--service-node-port-range", "31000-31999"]);
    let client = &mut process.endpoint().client();
    let events = "/api/v1/namespaces/default/events?fieldSelector=reason=PortOutOfRange";
    let reported = wait_for("an event", || {
        let mut list = client.get(events).expect_status(200);
        Some(list["items"].get_mut(0)?.take())
    });
    let note = "Port 30007 is not within the port range 31000-31999; please recreate service";
    assert_eq!((&reported["message"], &reported["involvedObject"]["name"]), (&json!(note), &json!("a")));
    assert_eq!(
        (&reported["source"]["component"], &reported["count"]),
        (&json!("portallocator-repair-controller"), &json!(1))
    );
}

#[test]
fn flags_of_cors_and_hsts() {
    let installation = Installation::own();
    let process = installation.start_with(&[
        "--cors-allowed-origins=^https://a\\.example$",
        "--external-hostname=b.example",
        "--strict-transport-security-directives=max-age=60,includeSubDomains",
    ]);
    let mut nobody = process.endpoint();
    nobody.token = Some("wrong".to_owned());
    let rows = [
        (process.endpoint(), "https://a.example", "GET", 200, true),
        (nobody.clone(), "https://a.example", "GET", 401, true),
        (nobody.clone(), "https://a.example", "OPTIONS", 204, true),
        (nobody, "https://a.example.org", "OPTIONS", 401, false),
        (process.endpoint(), "https://a.example.org", "GET", 200, false),
    ];
    for (endpoint, origin, method, code, is_allowed) in rows {
        let answer = endpoint.client().of_page(origin).send(method, CONFIG_MAPS, "", b"").answer();
        let allowed = if is_allowed { [origin, "Date", "true"] } else { [""; 3] };
        let reported = ["origin", "credentials"].map(|what| answer.header(&format!("access-control-allow-{what}")));
        assert_eq!(answer.status, code, "{method} {origin}");
        assert_eq!(
            [reported[0], answer.header("access-control-expose-headers"), reported[1]],
            allowed,
            "{method} {origin}"
        );
        assert_eq!(answer.header("strict-transport-security"), "max-age=60; includeSubDomains");
        assert_eq!(answer.header("cache-control"), "no-cache, private");
    }
    let versions = process.endpoint().client().get("/api").expect_status(200);
    let address = format!("b.example:{}", process.port);
    assert_eq!(versions["serverAddressByClientCIDRs"][0]["serverAddress"], address);
}

#[test]
fn a_second_process_on_the_same_data_is_refused() {
    let installation = Installation::own();
    let process = installation.start();
    let second = installation.command(free_port()).output().expect("an end");
    let errors = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{errors}");
    let [waiting, refusal] = errors.lines().collect::<Vec<_>>()[..] else { panic!("two clear lines: {errors}") };
    assert!(waiting.contains("data/store: waiting up to 10 s for another process to end"), "{errors}");
    assert!(refusal.contains("data/store") && refusal.contains("in use by another process"), "{errors}");
    // The first one has not noticed.
    process.endpoint().client().get("/readyz").answer().expect_text("ok");
}

#[test]
fn start_errors_name_the_missing_resource() {
    let (first, second) = (Installation::own(), Installation::own());
    let process = first.start();
    let file = second.path("tokens.csv");
    let mut no_folder = second.command(free_port());
    no_folder.arg("--data-dir").arg(&file).arg("--cert-dir").arg(second.path("certs"));
    for (mut command, named) in [
        (second.command(process.port), format!("Error: 127.0.0.1:{}: ", process.port)),
        (no_folder, format!("Error: {}: ", file.display())),
    ] {
        let end = command.output().expect("an end");
        let errors = String::from_utf8_lossy(&end.stderr).into_owned();
        assert_eq!(end.status.code(), Some(1), "{errors}");
        assert!(errors.starts_with(&named), "{named} is in {errors}");
    }
}

#[test]
fn command_lines_that_are_refused() {
    let rows = [
        (vec!["serve", "--no-such-flag=1"], "unknown flag: --no-such-flag"),
        (vec!["--no-such-flag"], "unknown flag: --no-such-flag"),
        (vec!["serve", "--debug-socket-path=x"], "flag --debug-socket-path is not supported"),
        (vec!["serve", "--secure-port"], "flag needs an argument: --secure-port"),
        (
            vec!["serve", "--secure-port=x"],
            "invalid argument \"x\" for \"--secure-port\" flag: must be between 1 and 65535",
        ),
        (vec!["serve", "--token-auth-file=no-such-file"], "--token-auth-file"),
        (vec!["dance"], "unknown command \"dance\""),
    ];
    let folder = Scratch::new();
    for (words, message) in rows {
        let end = pintle(folder.path()).args(&words).output().expect("an end");
        let errors = String::from_utf8_lossy(&end.stderr).into_owned();
        assert_eq!(end.status.code(), Some(1), "{words:?}: {errors}");
        assert!(errors.contains(message), "{words:?}: {errors}");
        assert!(end.stdout.is_empty(), "{words:?}");
    }
    let left = std::fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 0, "a refused command line leaves nothing behind");
}

#[test]
fn an_empty_directory_is_populated_at_start() {
    let folder = Scratch::new();
    let command = |port: u16| {
        let mut command = pintle(folder.path());
        command.arg(format!("--secure-port={port}"));
        command
    };
    let data = folder.path().join("pintle-data");
    let process = start(command, &data.join("certs"));
    let kubeconfig = data.join("kubeconfig");
    let export = format!("export KUBECONFIG={}", kubeconfig.display());
    assert_eq!(process.output.last(), Some(&export));
    let said = process.output.join("\n");
    let url = format!("https://127.0.0.1:{}", process.port);
    assert!(said.contains(&url), "where it serves: {said}");
    assert!(said.contains("data: pintle-data"), "where its data is: {said}");
    for file in ["certs/ca.crt", "certs/ca.key", "certs/apiserver.crt", "certs/admin.crt"] {
        assert!(data.join(file).is_file(), "{file}");
    }
    let text = std::fs::read_to_string(&kubeconfig).expect("the kubeconfig");
    assert!(text.contains(&format!("server: {url}\n")) && text.contains("client-certificate-data: "), "{text}");
    // No token is valid here: there is no token file.
    process.endpoint().client().get(CONFIG_MAPS).expect_status(401);
}

#[test]
fn anonymous_requests_get_no_data() {
    let installation = Installation::new();
    let process = installation.start();
    let tokens = [(Some(ADMIN_TOKEN), 200), (Some(NOBODY_TOKEN), 403), (Some("wrong"), 401), (None, 403)];
    for (token, status) in tokens {
        let mut endpoint = process.endpoint();
        endpoint.token = token.map(str::to_owned);
        let mut client = endpoint.client();
        let answer = client.get(CONFIG_MAPS).answer();
        assert_eq!(answer.status, status, "{token:?}: {}", answer.text());
        let open = if status == 401 { 401 } else { 200 };
        for path in ["/version", "/readyz", "/livez", "/healthz"] {
            let answer = client.get(path).answer();
            assert_eq!(answer.status, open, "{token:?} {path}: {}", answer.text());
        }
    }
}

#[test]
fn help_and_version_print_and_end() {
    let folder = Scratch::new();
    for (word, text) in [("--help", "--data-dir"), ("--version", "Kubernetes v1.36")] {
        let end = pintle(folder.path()).arg(word).stderr(Stdio::null()).output().expect("an end");
        assert_eq!(end.status.code(), Some(0), "{word}");
        let said = String::from_utf8_lossy(&end.stdout).into_owned();
        assert!(said.contains(text), "{word}: {said}");
    }
}

/// What refuses a first write of the next start, or lets it wait.
struct Obstacle {
    what: &'static str,
    /// Each with its collection.
    objects: Vec<(&'static str, Value)>,
    /// The object that the next start has to write.
    missing: &'static str,
    /// The health check that says so.
    hook: &'static str,
}

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";

/// A webhook for everything.
fn webhook(client_config: &Value) -> Value {
    let rule = json!({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]});
    json!({"metadata": {"name": "all"}, "webhooks": [{
        "name": "all.example.com", "clientConfig": client_config, "rules": [rule], "failurePolicy": "Fail",
        "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 30,
    }]})
}

#[test]
fn a_start_waits_for_nothing_that_admission_asks() {
    // Connections are accepted by the system, and never answered.
    let silent = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let silent_url = format!("https://127.0.0.1:{}/", silent.local_addr().expect("an address").port());
    let (role, roles) = ("/apis/rbac.authorization.k8s.io/v1/clusterroles/system:basic-user", "rbac/bootstrap-roles");
    let rule = json!({"operations": ["CREATE"], "apiGroups": ["rbac.authorization.k8s.io"], "apiVersions": ["v1"],
        "resources": ["clusterroles"]});
    let policy = json!({"metadata": {"name": "all"}, "spec": {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}],
    }});
    let parameter = json!({"name": "gone", "namespace": "default", "parameterNotFoundAction": "Deny"});
    let binding = json!({"metadata": {"name": "all"},
        "spec": {"policyName": "all", "validationActions": ["Deny"], "paramRef": parameter}});
    let quota = json!({"metadata": {"name": "all"}, "spec": {"hard": {"count/configmaps": "0"}}});
    let service = json!({"service": {"namespace": "default", "name": "gone"}});
    let obstacles = [
        Obstacle {
            what: "a webhook whose service is gone",
            objects: vec![("/validatingwebhookconfigurations", webhook(&service))],
            missing: role,
            hook: roles,
        },
        Obstacle {
            what: "a webhook that does not answer",
            objects: vec![("/mutatingwebhookconfigurations", webhook(&json!({"url": silent_url})))],
            missing: role,
            hook: roles,
        },
        Obstacle {
            what: "a policy whose parameter is gone",
            objects: vec![("/validatingadmissionpolicies", policy), ("/validatingadmissionpolicybindings", binding)],
            missing: role,
            hook: roles,
        },
        Obstacle {
            what: "a quota",
            objects: vec![("/api/v1/namespaces/kube-system/resourcequotas", quota)],
            missing: "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking",
            hook: "start-legacy-token-tracking-controller",
        },
    ];
    let installation = Installation::new();
    for Obstacle { what, objects, missing, hook } in obstacles {
        let mut process = installation.start();
        let client = &mut process.endpoint().client();
        let answer = client.delete(missing).answer();
        assert_eq!(answer.status, 200, "{what}: {}", answer.text());
        let mut paths = Vec::new();
        for (collection, object) in objects {
            let collection = if collection.starts_with("/api/") {
                collection.to_owned()
            } else {
                format!("{ADMISSION}{collection}")
            };
            client.post(&collection, &object).expect_status(201);
            paths.push(format!("{collection}/all"));
        }
        if paths[0].contains("resourcequotas") {
            let is_in_force = |quota: &Value| quota["status"]["hard"].is_object().then_some(());
            wait_for("the quota", || is_in_force(&client.get(&paths[0]).expect_status(200)));
        }
        process.kill();

        // It serves, is not ready, and says why.
        process = installation.start();
        let client = &mut process.endpoint().client();
        client.get(missing).expect_status(404);
        client.get("/livez").answer().expect_text("ok");
        let check = format!("/readyz/poststarthook/{hook}");
        let answer = client.get(&check).answer();
        assert_eq!((answer.status, answer.text().trim_end()), (500, "internal server error: not finished"), "{what}");
        assert_eq!(client.get("/readyz").answer().status, 500, "{what}");

        for path in paths.iter().rev() {
            client.delete(path).expect_status(200);
        }
        wait_for("its readiness", || (client.get("/readyz").answer().status == 200).then_some(()));
        client.get(missing).expect_status(200);
        process.kill();
    }
}
