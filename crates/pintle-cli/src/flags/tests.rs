//! Tables of command lines: the resulting configuration or the error. Guarantees that every flag of kube-apiserver is
//! either supported or rejected by name. Must never write to the working directory.

mod emulation;

use super::*;
use crate::logs::LogFormat;
use pintle_controllers::Controller;
use pintle_gates as gates;
use pintle_http::TlsVersion;
use pintle_kubernetes_auth::Mode;
use pintle_schema::gates::NO_GATES;

fn run(line: &str) -> Result<Config, String> {
    match parse(line.split(' ').map(str::to_owned)) {
        Ok(Command::Serve(config)) => Ok(*config),
        Ok(other) => panic!("{line}: {other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn the_program_name_decides_the_address() {
    let rows = [
        ("pintle", "127.0.0.1"),
        ("./target/pintle --secure-port=7000", "127.0.0.1"),
        ("pintle serve", "0.0.0.0"),
        ("/usr/bin/kube-apiserver", "0.0.0.0"),
        ("kube-apiserver --bind-address ::1", "::1"),
    ];
    for (line, address) in rows {
        let config = run(line).expect(line);
        assert_eq!(config.network.bind_address.to_string(), address, "{line}");
    }
    let config = run("pintle").expect("valid");
    assert_eq!(config.network.secure_port, 6443);
    assert_eq!(config.storage(), Storage::Embedded);
    assert_eq!(config.storage.data_dir, Path::new("pintle-data"));
    assert_eq!(config.kubeconfig(), Path::new("pintle-data/kubeconfig"));
    assert_eq!(config.authorization.modes, [Mode::Node, Mode::Rbac].map(AuthorizationMode::from));
    assert_eq!(config.network.service_ranges[0].to_string(), "10.0.0.0/24");
    assert_eq!(config.authentication.anonymous, None);
}

#[test]
fn the_usual_command_line() {
    let file = std::env::current_exe().expect("this test").display().to_string();
    let line = format!(
        "pintle serve --bind-address 127.0.0.1 --secure-port 6510 --data-dir /d --cert-dir /c --token-auth-file {file} \
         --authorization-mode Node,RBAC --service-cluster-ip-range 10.0.0.0/24 --allow-privileged=true \
         --service-account-issuer https://kubernetes.default.svc --service-account-key-file {file} \
         --service-account-signing-key-file {file} --service-account-max-token-expiration=2h --api-audiences=a,b"
    );
    let config = run(&line).expect("valid");
    assert_eq!(config.network.secure_port, 6510);
    assert_eq!(config.cert_dir(), Path::new("/c"));
    assert_eq!(config.kubeconfig(), Path::new("/d/kubeconfig"));
    assert_eq!(config.service_accounts.issuers.0, ["https://kubernetes.default.svc"]);
    assert_eq!(config.service_accounts.key_files.0.len(), 1);
    let tokens = &config.service_accounts;
    assert_eq!(tokens.api_audiences, ["a", "b"]);
    assert_eq!((tokens.max_expiration.as_secs(), tokens.extend_expiration), (7200, true));
    assert!(config.warnings.is_empty());
}

/// Command lines that installers of kube-apiserver write are accepted unchanged.
#[test]
fn command_lines_of_installers() {
    let kubeadm = "kube-apiserver --advertise-address=10.0.0.2 --allow-privileged=true --authorization-mode=Node,RBAC \
         --client-ca-file=/dev/null --enable-admission-plugins=NodeRestriction --enable-bootstrap-token-auth=true \
         --etcd-cafile=/dev/null --etcd-certfile=/dev/null --etcd-keyfile=/dev/null --etcd-servers=https://127.0.0.1:2379 \
         --kubelet-client-certificate=/dev/null --kubelet-client-key=/dev/null \
         --kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname --proxy-client-cert-file=/dev/null \
         --proxy-client-key-file=/dev/null --requestheader-allowed-names=front-proxy-client \
         --requestheader-client-ca-file=/dev/null --requestheader-extra-headers-prefix=X-Remote-Extra- \
         --requestheader-group-headers=X-Remote-Group --requestheader-username-headers=X-Remote-User \
         --runtime-config= --secure-port=6443 --service-account-issuer=https://kubernetes.default.svc.cluster.local \
         --service-account-key-file=/dev/null --service-account-signing-key-file=/dev/null \
         --service-cluster-ip-range=10.96.0.0/12 --tls-cert-file=/dev/null --tls-private-key-file=/dev/null";
    let hardened = "--anonymous-auth=False --profiling=False --request-timeout=1m0s --service-account-lookup=True \
         --enable-aggregator-routing=False --event-ttl=1h0m0s --default-not-ready-toleration-seconds=-60 \
         --default-unreachable-toleration-seconds=30 --endpoint-reconciler-type=lease --storage-backend=etcd3 \
         --service-node-port-range=30000-32767 --tls-min-version=VersionTLS12 --logging-format=text --v=2";
    let config = run(&format!("{kubeadm} {hardened}")).expect("taken");
    assert_eq!(config.storage(), Storage::Etcd);
    assert_eq!(config.kubelet.address_types, ["InternalIP", "ExternalIP", "Hostname"]);
    assert!(
        [&config.tls.pair, &config.etcd.identity, &config.kubelet.identity].iter().all(|pair| pair.files().is_some())
    );
    let seconds =
        config.admission_plugins.configuration(&Default::default(), &NO_GATES).expect("valid").toleration_seconds;
    assert_eq!((seconds.not_ready, seconds.unreachable), (-60, 30));
}

#[test]
fn forms_of_flags() {
    type Check = fn(&Config) -> bool;
    let rows: [(&str, Check); 21] = [
        ("pintle --logging-format=json --logging-format=text --logging-format json", |c| {
            c.logs.format == LogFormat::Json
        }),
        ("pintle --allow_privileged --profiling=0 --storage-backend etcd3 --v 3", |c| c.logs.verbosity == 3),
        ("pintle --storage-backend= --client-ca-file= --advertise-address=", |c| {
            c.authentication.client_ca_file.is_none() && c.network.advertise_address.is_none()
        }),
        ("pintle -v=4", |c| c.logs.verbosity == 4),
        ("pintle -v 5 --secure-port=1", |c| c.logs.verbosity == 5 && c.network.secure_port == 1),
        ("pintle --storage=memory --storage embedded", |c| c.storage() == Storage::Embedded),
        ("pintle --authorization-mode=RBAC --authorization-mode=AlwaysDeny", |c| {
            c.authorization.modes == [Mode::Rbac, Mode::AlwaysDeny].map(AuthorizationMode::from)
        }),
        ("pintle --runtime-config=api/all=true,apps/v1=false,/v1", |c| {
            let expected = [("api/all", true), ("apps/v1", false), ("v1", true)];
            c.runtime_config.items.iter().map(|(name, on)| (name.as_str(), *on)).eq(expected)
        }),
        ("pintle --feature-gates=WatchList=false --feature-gates AllAlpha=false", |c| {
            !c.feature_gates.is_on(&gates::WATCH_LIST) && c.feature_gates.is_on(&gates::WATCH_LIST_CLIENT)
        }),
        ("pintle --request-timeout=1m30s --min-request-timeout=5", |c| {
            c.settings.request_timeout.as_secs() == 90 && c.settings.min_request_timeout_seconds == 5
        }),
        (
            "pintle --shutdown-send-retry-after --shutdown-watch-termination-grace-period 20s --livez-grace-period=1m",
            |c| c.process.shutdown.send_retry_after && c.connections.long_running_grace.as_secs() == 20,
        ),
        ("pintle --goaway-chance=0.02 --shutdown-delay-duration=5s --max-requests-inflight=0", |c| {
            c.connections.goaway_chance == 0.02
                && c.process.shutdown.delay.as_secs() == 5
                && c.settings.max_read_only_in_flight == 0
        }),
        ("pintle --tls-min-version VersionTLS13 --tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", |c| {
            c.tls.min_version == TlsVersion::Tls13 && c.tls.cipher_suites == ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]
        }),
        (
            "pintle --etcd-servers=http://a:1,https://b:2 --etcd-servers c:3 --etcd-prefix /x --etcd-compaction-interval=0",
            |c| {
                c.storage() == Storage::Etcd
                    && c.etcd.servers == ["http://a:1", "https://b:2", "c:3"]
                    && c.etcd.prefix == "/x"
                    && c.etcd.compaction_interval.is_zero()
            },
        ),
        ("pintle --etcd-servers=unix://localhost:m10,unixs:///run/etcd.sock,unix:@etcd", |c| c.etcd.servers.len() == 3),
        (
            "pintle --external-hostname=a:1 --cors-allowed-origins= --strict-transport-security-directives=preload",
            |c| c.surface.external_hostname.as_deref() == Some("a:1"),
        ),
        ("pintle", |c| c.process.worker_threads.is_none()),
        ("pintle --worker-threads=3", |c| c.process.worker_threads == Some(3)),
        ("pintle --version=false --http2-max-streams-per-connection=0", |c| {
            c.connections.max_concurrent_streams == 100
        }),
        ("kube-apiserver --disable-admission-plugins=ServiceAccount --disable-admission-plugins=ResourceQuota", |c| {
            c.admission_plugins.disabled.iter().eq(["ResourceQuota", "ServiceAccount"])
        }),
        (
            "kube-apiserver --enable-admission-plugins=NodeRestriction,AlwaysAdmit --admission-control-config-file=/dev/null",
            |c| {
                let plugins = &c.admission_plugins;
                plugins.enabled.iter().eq(["AlwaysAdmit", "NodeRestriction"])
                    && plugins.config_file.as_deref() == Some(Path::new("/dev/null"))
            },
        ),
    ];
    for (line, check) in rows {
        let config = run(line).expect(line);
        assert!(check(&config), "{line}: {config:?}");
    }
}

#[test]
fn errors_name_the_flag() {
    let rows = [
        ("pintle --no-such-flag=1", "unknown flag: --no-such-flag"),
        ("pintle serve -x", "unknown flag: -x"),
        (
            "pintle --etcd-servers-overrides=/events#http://127.0.0.1:1",
            "--etcd-servers-overrides needs --etcd-servers: the embedded store has all resources",
        ),
        ("pintle --etcd-servers=http://a:1 --storage=memory", "--storage and --etcd-servers exclude each other"),
        ("pintle --etcd-certfile=/dev/null", "--etcd-certfile and --etcd-keyfile must be given together"),
        (
            "pintle --etcd-servers=ftp://a",
            "invalid argument \"ftp://a\" for \"--etcd-servers\" flag: must be URLs, such as https://10.0.0.1:2379",
        ),
        (
            "pintle --etcd-servers=unix://",
            "invalid argument \"unix://\" for \"--etcd-servers\" flag: must be URLs, such as https://10.0.0.1:2379",
        ),
        (
            "kube-apiserver --debug-socket-path s",
            "flag --debug-socket-path is not supported: There are no profiles to serve.",
        ),
        (
            "kube-apiserver --disable-admission-plugins=Service",
            "invalid argument \"Service\" for \"--disable-admission-plugins\" flag: plugin \"Service\" is unknown",
        ),
        (
            "pintle --disable-admission-plugins=Priority,PodSecurity --enable-admission-plugins=PodSecurity",
            "[PodSecurity] in enable-admission-plugins and disable-admission-plugins overlapped",
        ),
        ("pintle --data-dir", "flag needs an argument: --data-dir"),
        ("pintle fly", "unknown command \"fly\"; \"serve\" is what there is"),
        ("pintle serve fly", "unexpected argument: fly"),
        ("pintle serve --allow-privileged false", "unexpected argument: false"),
        (
            "pintle --allow-privileged=false",
            "invalid argument \"false\" for \"--allow-privileged\" flag: can only be true",
        ),
        (
            "pintle --max-requests-inflight=-1",
            "invalid argument \"-1\" for \"--max-requests-inflight\" flag: can not be negative value",
        ),
        (
            "pintle --goaway-chance=0.03",
            "invalid argument \"0.03\" for \"--goaway-chance\" flag: must be between 0 and 0.02",
        ),
        (
            "pintle --worker-threads=0",
            "invalid argument \"0\" for \"--worker-threads\" flag: must be between 1 and 1024",
        ),
        (
            "pintle --service-account-issuer=a --service-account-issuer=a",
            "invalid argument \"a\" for \"--service-account-issuer\" flag: \"a\" is already specified",
        ),
        (
            "pintle --cors-allowed-origins=//a$,a$",
            "invalid argument \"//a$,a$\" for \"--cors-allowed-origins\" flag: a$ does not pin to start/end of host in the \
             origin header",
        ),
        (
            "pintle --strict-transport-security-directives=preload,",
            "invalid argument \"preload,\" for \"--strict-transport-security-directives\" flag: must be \
             max-age=SECONDS, includeSubDomains or preload",
        ),
        ("pintle --", "unknown flag: --"),
        ("pintle --secure-port 0", "invalid argument \"0\" for \"--secure-port\" flag: must be between 1 and 65535"),
        ("pintle --bind-address x", "invalid argument \"x\" for \"--bind-address\" flag: must be an IP address"),
        ("pintle --storage=disk", "invalid argument \"disk\" for \"--storage\" flag: must be embedded or memory"),
        ("pintle --anonymous-auth=", "invalid argument \"\" for \"--anonymous-auth\" flag: must be true or false"),
        (
            "pintle --event-ttl=",
            "invalid argument \"\" for \"--event-ttl\" flag: must be a duration such as 30s, 1m30s or 1h",
        ),
        ("pintle --data-dir=", "invalid argument \"\" for \"--data-dir\" flag: must be a path"),
        (
            "pintle --authorization-mode=Abac",
            "invalid argument \"Abac\" for \"--authorization-mode\" flag: Abac is not one of ABAC, AlwaysAllow, AlwaysDeny, Node, RBAC, Webhook",
        ),
        (
            "pintle --tls-sni-cert-key=/dev/null",
            "invalid argument \"/dev/null\" for \"--tls-sni-cert-key\" flag: expected comma separated certificate and key file paths",
        ),
        (
            "pintle --tls-sni-cert-key=/dev/null,/dev/null:",
            "invalid argument \"/dev/null,/dev/null:\" for \"--tls-sni-cert-key\" flag: empty names list is not allowed",
        ),
        ("pintle --authorization-mode=ABAC", "authorization-mode ABAC's authorization policy file not passed"),
        (
            "pintle --authorization-policy-file=/dev/null",
            "cannot specify --authorization-policy-file without mode ABAC",
        ),
        (
            "pintle --authorization-mode=RBAC,RBAC",
            "invalid argument \"RBAC,RBAC\" for \"--authorization-mode\" flag: RBAC is there more than once",
        ),
        (
            "pintle --feature-gates=Nope=true",
            "invalid argument \"Nope=true\" for \"--feature-gates\" flag: unrecognized feature gate: Nope",
        ),
        (
            "pintle --runtime-config=apps/v1=maybe",
            "invalid argument \"apps/v1=maybe\" for \"--runtime-config\" flag: apps/v1 must be true or false",
        ),
        (
            "pintle --runtime-config=a/b/c/d=true",
            "invalid argument \"a/b/c/d=true\" for \"--runtime-config\" flag: a/b/c/d is no API group, version or resource",
        ),
        ("pintle --runtime-config=api/all=true,api/all=false", "invalid runtime-config with only api/all=false"),
        (
            "pintle --runtime-config=api/beta=1",
            "invalid argument \"api/beta=1\" for \"--runtime-config\" flag: invalid value api/beta=1",
        ),
        (
            "pintle --runtime-config=api/all",
            "invalid argument \"api/all\" for \"--runtime-config\" flag: invalid value api/all=",
        ),
        ("pintle --runtime-config=v2=true", "runtime-config invalid key v2"),
        (
            "pintle --runtime-config=b.io/v1=true,v1=true,a.io/v1/things=false,apps/v1beta1=true",
            "unknown api groups a.io/v1,b.io/v1",
        ),
        ("pintle --runtime-config=apps/v9=true", "group version apps/v9 that has not been registered"),
        (
            "pintle --runtime-config=apps/v1/Deployments",
            "invalid key apps/v1/Deployments: group/version/resource and resource is always lowercase plural, not \
             \"Deployments\"",
        ),
        (
            "pintle --service-account-issuer=a:b",
            "invalid argument \"a:b\" for \"--service-account-issuer\" flag: must be a URL, or a name without a colon",
        ),
        (
            "pintle --service-account-max-token-expiration=1m",
            "invalid argument \"1m\" for \"--service-account-max-token-expiration\" flag: must be between 1h and 2^32 seconds",
        ),
        ("pintle --tls-cert-file=/dev/null", "--tls-cert-file and --tls-private-key-file must be given together"),
    ];
    for (line, expected) in rows {
        assert_eq!(run(line).err().as_deref(), Some(expected), "{line}");
    }
    for flag in ["token-auth-file", "client-ca-file", "service-account-key-file"] {
        for path in ["/nowhere/at/all", "/"] {
            let error = run(&format!("pintle --{flag} {path}")).expect_err(flag);
            assert!(error.starts_with(&format!("invalid argument \"{path}\" for \"--{flag}\" flag: ")), "{error}");
        }
    }
}

#[test]
fn allowing_everything_keeps_anonymous_requests_out() {
    let config = run("pintle --authorization-mode=AlwaysAllow").expect("valid");
    assert!(config.authentication.anonymous == Some(false) && config.warnings.is_empty());
    let config = run("pintle --authorization-mode=AlwaysAllow --anonymous-auth").expect("valid");
    assert!(config.authentication.anonymous == Some(false) && config.warnings.len() == 1);
}

#[test]
fn node_mode_without_its_plugin_is_warned_of_if_kubelets_can_connect() {
    for (line, warns) in [
        ("pintle", false),
        ("pintle serve", true),
        ("pintle serve --bind-address=127.0.0.1", false),
        ("pintle serve --authorization-mode=RBAC", false),
        ("pintle serve --enable-admission-plugins=NodeRestriction", false),
    ] {
        let config = run(line).expect("valid");
        let warning =
            config.admission_plugins.permissive_node_mode(&config.authorization.modes, config.network.bind_address);
        assert_eq!(warning.is_some(), warns, "{line}");
    }
}

#[test]
fn help_and_version() {
    for line in ["pintle --help", "pintle serve -h", "kube-apiserver --client-ca-file /none --help", "pintle help"] {
        let Ok(Command::Help(text)) = parse(line.split(' ').map(str::to_owned)) else {
            panic!("{line} gives no help");
        };
        assert!(table::all().all(|flag| text.contains(&format!("--{}", flag.name))));
        assert!(text.contains("--secure-port PORT\n          Port to listen on. Default: 6443.\n"), "{text}");
    }
    for line in ["pintle --version", "pintle serve --version=true", "pintle version"] {
        let command = parse(line.split(' ').map(str::to_owned));
        assert!(matches!(command, Ok(Command::Version)), "{line}");
    }
}

#[test]
fn tables_are_disjoint_and_sorted() {
    assert!(reference::NOT_SUPPORTED.is_sorted());
    for flag in table::all() {
        assert!(!reference::NOT_SUPPORTED.contains(&flag.name), "{}", flag.name);
    }
}

#[test]
fn printed_defaults_are_parsed_as_the_same() {
    for flag in table::all() {
        let (_, default) = flag.value();
        assert!(default.is_empty() || flag.set(&mut Config::default(), &default).is_ok(), "{}={default}", flag.name);
    }
}

#[test]
fn which_controllers_run() {
    use Controller::{EventTtl, Namespace, ServiceAccount};
    let part = Controller::beside_others();
    let all_but = |controller| Controller::ALL.into_iter().filter(|other| *other != controller).collect::<Vec<_>>();
    let is_wanted = |controller: &Controller| part.contains(controller) || *controller == ServiceAccount;
    let with_accounts: Vec<_> = Controller::ALL.into_iter().filter(is_wanted).collect();
    let rows: [(&str, &[Controller]); 10] = [
        ("pintle", &Controller::ALL),
        ("pintle --controllers=*", &Controller::ALL),
        ("pintle --controllers=*,-event-ttl", &all_but(EventTtl)),
        ("pintle --controllers=", &[]),
        ("pintle serve", &part),
        ("/usr/bin/kube-apiserver", &part),
        ("pintle serve --controllers=*", &part),
        ("pintle serve --controllers=*,serviceaccount", &with_accounts),
        ("pintle --controllers namespace --controllers event-ttl-controller", &[Namespace, EventTtl]),
        ("pintle --controllers=-*", &[]),
    ];
    for (line, expected) in rows {
        assert_eq!(run(line).expect(line).controllers.enabled, expected, "{line}");
    }
    let config = run("pintle --controllers-settle-time=1s --event-ttl=2h").expect("valid");
    assert_eq!(config.controllers.settle_time.as_secs(), 1);
    assert_eq!(config.controllers.event_ttl.map(|ttl| ttl.as_secs()), Some(7200));
    let error = run("pintle --controllers=*,nobody").expect_err("refused");
    assert!(error.ends_with("\"nobody\" is not in the list of known controllers"), "{error}");
}

#[test]
fn encryption_is_configured_by_a_file() {
    let file = std::env::current_exe().expect("this test").display().to_string();
    let flag = "--encryption-provider-config";
    assert!(run("pintle").expect("valid").encryption().is_none());
    let source = run(&format!("pintle {flag} {file} {flag}-automatic-reload")).expect("valid").encryption();
    assert_eq!(source.map(|source| (source.path.display().to_string(), source.reload)), Some((file, true)));
    let refused = run(&format!("pintle {flag}-automatic-reload=true")).expect_err("there is nothing to read again");
    assert_eq!(refused, format!("{flag}-automatic-reload must be set with {flag}"));
    assert!(run(&format!("pintle {flag} /no/such/file")).expect_err("missing").contains("No such file"));
}

#[test]
fn flags_of_storage() {
    let config = run("pintle --etcd-servers=http://a:1 --etcd-healthcheck-timeout=3s --etcd-readycheck-timeout=1s \
         --etcd-db-metric-poll-interval=0 --lease-reuse-duration-seconds=30 --storage-media-type=application/json \
         --delete-collection-workers=4 --watch-cache --watch-cache-sizes=pods#10,deployments.apps#5 \
         --etcd-count-metric-poll-period=1m")
    .expect("valid");
    let etcd = &config.etcd;
    assert_eq!((etcd.health_timeout.as_secs(), etcd.ready_timeout.as_secs()), (3, 1));
    assert_eq!((etcd.size_interval.as_secs(), etcd.lease_reuse_seconds, etcd.json), (0, 30, true));
    assert_eq!(config.settings.delete_collection_workers, 4);
    for (line, reason) in [
        ("--endpoint-reconciler-type=dns", "must be lease, master-count or none"),
        ("--apiserver-count=0", "must be more than 0"),
        ("--storage-backend=etcd2", "can only be etcd3"),
        ("--watch-cache-sizes=pods#0", "the cache of pods cannot be turned off: all reads are made from memory"),
        ("--watch-cache-sizes=pods", "must be a list of resource#size"),
        ("--storage-media-type=application/yaml", "is not supported"),
        ("--storage-media-type=text/plain", "must be application/vnd.kubernetes.protobuf or application/json"),
        ("--lease-reuse-duration-seconds=-1", "must be a whole number of at least 0"),
        ("--etcd-servers-overrides=events#http://b:1", "must be of format: group/resource#servers"),
        ("--etcd-servers-overrides=/pods#http://b:1,/services#http://b:1", "/services has to be in the main cluster"),
    ] {
        let error = run(&format!("pintle {line}")).expect_err(line);
        assert!(error.contains(reason), "{line}: {error}");
    }
}

#[test]
fn flags_without_effect_are_warned_of() {
    let config =
        run("pintle --log-flush-frequency=1s --show-hidden-metrics-for-version=1.35 --emulated-version=kube=1.36");
    let warnings = config.expect("valid").warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings.iter().all(|warning| warning.contains("has no effect: ")), "{warnings:?}");
    for line in ["--log-flush-frequency=x", "--show-hidden-metrics-for-version=one"] {
        assert!(run(&format!("pintle {line}")).is_err(), "{line}");
    }
    for line in [
        "--profiling",
        "--contention-profiling",
        "--log-text-info-buffer-size=1Ki",
        "--send-retry-after-while-not-ready-once",
    ] {
        let warnings = run(&format!("pintle {line}")).expect(line).warnings;
        assert!(warnings.len() == 1 && warnings[0].contains("has no effect: "), "{line}: {warnings:?}");
    }
    let quiet = "pintle --profiling=false --log-json-info-buffer-size=0 --send-retry-after-while-not-ready-once=false";
    assert!(run(quiet).expect("valid").warnings.is_empty());
    let refused = run("pintle --vmodule=a=1 --logging-format=json").expect_err("two formats");
    assert!(refused.contains("Only supported for text log format"), "{refused}");
    assert_eq!(run("pintle --vmodule=a=1,b*=2").expect("valid").logs.modules.len(), 2);
}

#[test]
fn flags_of_logs_metrics_and_curves() {
    let config = run(
        "pintle --disabled-metrics=a,b --disabled-metrics=c --tls-curve-preferences=29,23 --log-text-split-stream \
                      --permit-port-sharing",
    )
    .expect("valid");
    let hidden = ["a", "b", "c", "d"].map(|name| config.surface.metric_labels.is_disabled(name));
    assert_eq!(hidden, [true, true, true, false]);
    assert_eq!((&config.tls.curves[..], config.logs.split_text, config.logs.split_json), (&[29, 23][..], true, false));
    assert!(config.network.permit_port_sharing);
    let file = std::env::current_exe().expect("this test").display().to_string();
    for (line, reason) in [
        ("--tls-curve-preferences=25", "curve 25 is not supported"),
        ("--service-account-signing-endpoint=/s --service-account-key-file=FILE", "mutually exclusive"),
        ("--service-account-signing-endpoint=/s --service-account-signing-key-file=FILE", "mutually exclusive"),
        ("--admission-control=AlwaysAdmit --enable-admission-plugins=AlwaysAdmit", "mutually exclusive"),
        ("--admission-control=Nothing", "plugin \"Nothing\" is unknown"),
    ] {
        let error = run(&format!("pintle {}", line.replace("FILE", &file))).expect_err(line);
        assert!(error.contains(reason), "{line}: {error}");
    }
    let plugins = run("pintle --admission-control=NamespaceLifecycle,LimitRanger").expect("valid").admission_plugins;
    assert_eq!(plugins.enabled.iter().collect::<Vec<_>>(), ["LimitRanger", "NamespaceLifecycle"]);
    assert!(plugins.disabled.contains("ServiceAccount") && !plugins.disabled.contains("LimitRanger"));
}

#[test]
fn reasons_belong_to_unsupported_flags() {
    let help = super::table::help();
    for name in reference::NOT_SUPPORTED {
        assert!(help.contains(&format!("--{name}\n          {}", reference::reason(name))), "{name}");
    }
}

#[test]
fn flags_of_a_front_proxy() {
    let file = std::env::current_exe().expect("this test").display().to_string();
    let known = format!("pintle --requestheader-client-ca-file {file}");
    let headers =
        "--requestheader-username-headers=X-Remote-User,X-User --requestheader-extra-headers-prefix=X-Remote-Extra-";
    let config = run(&format!("{known} {headers} --requestheader-allowed-names=")).expect("valid");
    assert!(config.warnings.is_empty() && config.front_proxy.allowed_names.is_empty(), "{:?}", config.warnings);
    assert_eq!(config.front_proxy.headers.username, ["X-Remote-User", "X-User"]);
    let unused = run(&format!("pintle {headers}")).expect("valid").warnings;
    assert_eq!(unused, ["--requestheader- flags have no effect without --requestheader-client-ca-file"]);
    for (line, reason) in [
        (known.clone(), "--requestheader-username-headers must be given with --requestheader-client-ca-file"),
        (format!("{known} {headers},"), "must not be empty"),
        (format!("{known} {headers} --requestheader-allowed-names=a,,b"), "must not be empty"),
        (format!("pintle --proxy-client-cert-file {file}"), "must be given together"),
    ] {
        let error = run(&line).expect_err(&line);
        assert!(error.contains(reason), "{line}: {error}");
    }
}

#[test]
fn an_address_that_pods_cannot_reach_is_warned_of() {
    for (address, warnings) in [("127.0.0.1", 1), ("fe80::1", 1), ("10.0.0.1", 0)] {
        let config = run(&format!("pintle --advertise-address={address}")).expect("valid");
        assert_eq!(config.warnings.len(), warnings, "{address}: {:?}", config.warnings);
    }
}

#[test]
fn times_of_an_election_fit_each_other() {
    for (flags, error) in [
        ("--coordinated-leadership-lease-duration=5s", "lease-duration must be greater than"),
        ("--coordinated-leadership-retry-period=10s", "renew-deadline must be greater than"),
        ("--coordinated-leadership-retry-period=0s", "must be more than 0"),
    ] {
        let refused = run(&format!("pintle {flags}")).expect_err(flags);
        assert!(refused.contains(error), "{flags}: {refused}");
    }
    let file = std::env::current_exe().expect("this test").display().to_string();
    let alone = run(&format!("pintle --peer-ca-file={file}")).expect_err("no certificate");
    assert_eq!(alone, "error building peer proxy handler, proxy-cert-file not specified");
    let pair = format!("--proxy-client-cert-file={file} --proxy-client-key-file={file}");
    let config =
        run(&format!("pintle --peer-ca-file={file} {pair} --peer-advertise-ip=10.0.0.9 --peer-advertise-port=7"));
    let peers = config.expect("valid").peers;
    assert_eq!(
        (peers.advertise_ip.map(|ip| ip.to_string()).as_deref(), peers.advertise_port),
        (Some("10.0.0.9"), Some(7))
    );
}
