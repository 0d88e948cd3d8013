//! The supported flags: one row each, with its help text and the configuration field that its value sets.
//! Guarantees that a flag in the table changes the configuration, or that its help says why it has no effect.
//! Must never repeat a default of the configuration: the help text reads it there.

use super::admission::ADMISSION_FLAGS;
use super::audit::{AUDIT_FLAGS, AUDIT_LOG_FLAGS, AUDIT_WEBHOOK_FLAGS};
use super::authentication::AUTHENTICATION_FLAGS;
use super::authorization::AUTHORIZATION_FLAGS;
use super::config::{Config, ReconcilerType, Storage};
use super::diagnostics::DIAGNOSTICS_FLAGS;
use super::front_proxy::FRONT_PROXY_FLAGS;
use super::servers::SERVER_FLAGS;
use super::setting::Setting;
use super::storage::STORAGE_FLAGS;
use super::surface::SURFACE_FLAGS;
use super::version::VERSION_FLAGS;
use super::{gate_effects, reference, runtime_config, values};
use pintle_controllers::Controller;
use std::fmt::Write;
use std::time::Duration;

/// A flag.
pub struct Flag {
    /// The name without dashes.
    pub name: &'static str,
    help: &'static str,
    act: Act,
    check: fn(&Config) -> Result<(), String>,
}

/// The effect of a flag's value.
enum Act {
    /// It is parsed into a field of the configuration, by the field's type.
    Setting(fn(&mut Config) -> &mut dyn Setting),
    /// It is passed to a function; the text describes the value in the help.
    Parse(&'static str, fn(&mut Config, &str) -> Result<(), String>),
    /// None: this is the only value that is supported.
    Fixed(&'static str),
}

impl Flag {
    /// A flag whose value is parsed into a field of the configuration.
    pub const fn new(name: &'static str, place: fn(&mut Config) -> &mut dyn Setting, help: &'static str) -> Flag {
        Flag { name, help, act: Act::Setting(place), check: |_| Ok(()) }
    }

    /// A flag that is parsed by a function. The help text must include its default.
    pub const fn read(
        name: &'static str,
        shape: &'static str,
        help: &'static str,
        read: fn(&mut Config, &str) -> Result<(), String>,
    ) -> Flag {
        Flag { name, help, act: Act::Parse(shape, read), check: |_| Ok(()) }
    }

    /// A flag that supports one value only.
    pub const fn only(name: &'static str, value: &'static str, help: &'static str) -> Flag {
        Flag { name, help, act: Act::Fixed(value), check: |_| Ok(()) }
    }

    /// Adds a check that runs after the value was set.
    pub const fn checked(mut self, check: fn(&Config) -> Result<(), String>) -> Flag {
        self.check = check;
        self
    }

    /// Parses a value and sets it.
    ///
    /// # Errors
    /// The value is invalid.
    pub fn set(&self, config: &mut Config, value: &str) -> Result<(), String> {
        match self.act {
            Act::Setting(place) => place(config).set(value)?,
            Act::Parse(_, read) => read(config, value)?,
            Act::Fixed(only) => {
                let is_it = match only.parse::<bool>() {
                    Ok(on) => values::boolean(value)? == on,
                    Err(_) => value.is_empty() || value == only,
                };
                must(is_it, &format!("can only be {only}"))?;
            }
        }
        (self.check)(config)
    }

    /// The current value, for `/flagz`; `given` are the values on the command line.
    pub fn shown(&self, config: &mut Config, given: Option<&[String]>) -> String {
        match (&self.act, given) {
            (Act::Setting(place), _) => place(config).shown(),
            (Act::Parse(..), Some(given)) => given.join(","),
            _ => self.value().1,
        }
    }

    /// The kind of its value, and its default.
    pub fn value(&self) -> (String, String) {
        match self.act {
            Act::Setting(place) => {
                let mut config = Config::default();
                let place = place(&mut config);
                (place.shape(), place.shown())
            }
            Act::Parse(shape, _) => (shape.to_owned(), String::new()),
            Act::Fixed(value) if value.parse::<bool>().is_ok() => (String::new(), value.to_owned()),
            Act::Fixed(value) => ("TEXT".to_owned(), value.to_owned()),
        }
    }

    /// Whether the flag may be given without a value.
    pub fn is_switch(&self) -> bool {
        self.value().0.is_empty()
    }
}

/// The text that `--help` prints.
pub fn help() -> String {
    let mut text = String::from(
        "A Kubernetes API server.\n\nUsage:\n  pintle [flags]        serve on the loopback interface\n  \
         pintle serve [flags]  serve on all interfaces, as kube-apiserver\n\nFlags:\n",
    );
    for flag in all() {
        let name = match flag.name {
            "v" => "-v, --v".to_owned(),
            name => format!("    --{name}"),
        };
        let (shape, default) = flag.value();
        let help = match &flag.act {
            Act::Fixed(value) => format!("{} Only {value} is supported.", flag.help),
            Act::Setting(_) if !default.is_empty() => format!("{} Default: {default}.", flag.help),
            _ => flag.help.to_owned(),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}\n          {help}", format!("  {name} {shape}").trim_end());
    }
    text.push_str("\nFlags of kube-apiserver that are not supported:\n");
    for name in reference::NOT_SUPPORTED {
        let _ = writeln!(text, "  --{name}\n          {}", reference::reason(name));
    }
    text.push_str(&gate_effects::help());
    text.push_str(
        "\nOther flags:\n  -h, --help\n          Print this text.\n      --version\n          Print the version.\n",
    );
    text
}

/// All supported flags.
pub fn all() -> impl Iterator<Item = &'static Flag> {
    let audit = AUDIT_FLAGS.iter().chain(AUDIT_LOG_FLAGS).chain(AUDIT_WEBHOOK_FLAGS);
    let access = AUTHENTICATION_FLAGS.iter().chain(AUTHORIZATION_FLAGS);
    let others = OWN_FLAGS.iter().chain(access).chain(FRONT_PROXY_FLAGS).chain(ADMISSION_FLAGS);
    others
        .chain(audit)
        .chain(DIAGNOSTICS_FLAGS)
        .chain(SURFACE_FLAGS)
        .chain(STORAGE_FLAGS)
        .chain(VERSION_FLAGS)
        .chain(SERVER_FLAGS)
}

/// Succeeds if the condition holds; otherwise returns the message, which continues the flag's name.
pub fn must(condition: bool, otherwise: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(otherwise.to_owned()) }
}

/// Accepts a value that has no effect, and adds a warning.
pub fn no_effect<T>(config: &mut Config, value: Result<T, String>, flag: &str, why: &str) -> Result<(), String> {
    value?;
    config.warnings.push(format!("{flag} has no effect: {why}"));
    Ok(())
}

fn must_last(time: Duration) -> Result<(), String> {
    must(!time.is_zero(), "must be more than 0")
}

fn feature_gates(config: &mut Config, value: &str) -> Result<(), String> {
    config.gate_items.extend(values::list(value).map(str::to_owned));
    Ok(())
}

fn controllers(config: &mut Config, value: &str) -> Result<(), String> {
    config.controller_items.extend(values::list(value).map(str::to_owned));
    let items = config.controller_items.iter().map(String::as_str);
    let by_default = &config.controllers_by_default;
    config.controllers.enabled = Controller::select(items, by_default).map_err(|error| error.to_string())?;
    Ok(())
}

fn check_modes(config: &Config) -> Result<(), String> {
    let modes = &config.authorization_modes;
    for (at, mode) in modes.iter().enumerate() {
        if modes[..at].contains(mode) {
            return Err(format!("{} is there more than once", mode.shown()));
        }
    }
    must(!modes.is_empty(), "at least one mode must be given")
}

/// As in kube-apiserver, an issuer that contains a colon must be a URL.
fn check_issuers(config: &Config) -> Result<(), String> {
    let is_good = |issuer: &String| match issuer.strip_prefix("https://").or_else(|| issuer.strip_prefix("http://")) {
        Some(rest) => !rest.is_empty() && !rest.starts_with('/') && !rest.contains(char::is_whitespace),
        None => !issuer.contains(':'),
    };
    let issuers = &config.service_accounts.issuers.0;
    must(issuers.iter().all(is_good), "must be a URL, or a name without a colon")?;
    let repeated =
        issuers.iter().enumerate().find(|(at, issuer)| issuers.iter().take(*at).any(|other| other == *issuer));
    repeated.map_or(Ok(()), |(_, issuer)| Err(format!("{issuer:?} is already specified")))
}

fn check_cipher_suites(config: &Config) -> Result<(), String> {
    let known = || pintle_http::cipher_suites();
    match config.tls_cipher_suites.iter().find(|suite| !known().any(|known| known == **suite)) {
        Some(suite) => Err(format!("{suite} is not one of {}", known().collect::<Vec<_>>().join(", "))),
        None => Ok(()),
    }
}

/// The flags without a table of their own, in the order of the help.
static OWN_FLAGS: &[Flag] = &[
    Flag::new("bind-address", |c| &mut c.bind_address, "Address to listen on; `serve` defaults to 0.0.0.0."),
    Flag::new("secure-port", |c| &mut c.secure_port, "Port to listen on."),
    Flag::new(
        "advertise-address",
        |c| &mut c.advertise_address,
        "Address at which members of the cluster reach this server. Default: the bind address.",
    )
    .checked(|c| {
        must(c.advertise_address.is_none_or(|ip| !ip.is_multicast()), "must be an address that others can connect to")
    }),
    Flag::new("data-dir", |c| &mut c.data_dir, "Directory of the embedded store."),
    Flag::read(
        "storage",
        "KIND",
        "Where objects are stored: embedded (on disk) or memory. Default: embedded.",
        |c, value| {
            c.own_storage = Some(match value {
                "embedded" => Storage::Embedded,
                "memory" => Storage::Memory,
                _ => return Err("must be embedded or memory".to_owned()),
            });
            Ok(())
        },
    ),
    Flag::new(
        "write-kubeconfig",
        |c| &mut c.kubeconfig,
        "Where to write the administrator's kubeconfig. Default: kubeconfig in the data directory.",
    ),
    Flag::new(
        "cert-dir",
        |c| &mut c.cert_dir,
        "Directory of generated certificates, or of apiserver.crt and apiserver.key. Default: certs in the \
         data directory.",
    ),
    Flag::new(
        "tls-cert-file",
        |c| &mut c.tls.certificate,
        "PEM file with the serving certificate, followed by its intermediate certificates. Default: a \
         generated certificate.",
    ),
    Flag::new("tls-private-key-file", |c| &mut c.tls.key, "PEM file with the private key of the serving certificate."),
    Flag::new(
        "tls-sni-cert-key",
        |c| &mut c.named_certificates,
        "PEM files with another serving certificate and its key. It is used for clients that request one of \
         the names (*.example.com matches all subdomains); without names, for the names in the certificate. \
         May be repeated.",
    ),
    Flag::new(
        "client-ca-file",
        |c| &mut c.client_ca_file,
        "PEM file with the CA certificates that issue client certificates. Default: a generated CA.",
    ),
    Flag::new(
        "token-auth-file",
        |c| &mut c.token_auth_file,
        "CSV file with static tokens: token,user,uid,\"group1,group2\".",
    ),
    Flag::new(
        "anonymous-auth",
        |c| &mut c.anonymous_auth,
        "Whether requests without credentials are authenticated as system:anonymous; if false they are \
         rejected. Default: true.",
    ),
    Flag::new(
        "authorization-mode",
        |c| &mut c.authorization_modes,
        "Authorization modes in order: Node, RBAC, ABAC, AlwaysAllow, AlwaysDeny. Default: Node,RBAC.",
    )
    .checked(check_modes),
    Flag::new(
        "authorization-policy-file",
        |c| &mut c.authorization_policy_file,
        "File with the policies of mode ABAC, one JSON object per line.",
    ),
    Flag::new(
        "service-cluster-ip-range",
        |c| &mut c.service_cluster_ip_ranges,
        "CIDR range of cluster IPs of services; one range, or one for each IP family.",
    ),
    Flag::new("service-node-port-range", |c| &mut c.service_node_ports, "Port range of services of type NodePort."),
    Flag::only("allow-privileged", "true", "Whether pods may have privileged containers."),
    Flag::new(
        "service-account-issuer",
        |c| &mut c.service_accounts.issuers,
        "Issuer of service account tokens. May be repeated; new tokens get the first one. Default: \
         https://kubernetes.default.svc.",
    )
    .checked(check_issuers),
    Flag::new(
        "service-account-key-file",
        |c| &mut c.service_accounts.key_files,
        "PEM file with keys that verify service account tokens. May be repeated.",
    ),
    Flag::new(
        "service-account-signing-key-file",
        |c| &mut c.service_accounts.signing_key_file,
        "PEM file with the key that signs and verifies service account tokens. Default: service-account.key \
         in --cert-dir, generated if missing.",
    ),
    Flag::new(
        "service-account-signing-endpoint",
        |c| &mut c.service_accounts.signing_endpoint,
        "Unix socket of a signer of service account tokens, which also gives the keys that verify them. Excludes the \
         flags of key files.",
    ),
    Flag::new(
        "api-audiences",
        |c| &mut c.service_accounts.api_audiences,
        "Audiences of accepted service account tokens. Default: the issuers.",
    ),
    Flag::new(
        "service-account-extend-token-expiration",
        |c| &mut c.service_accounts.extend_expiration,
        "Whether tokens of pods are valid for longer than the kubelet requests, for clients that do not \
         reload them.",
    ),
    Flag::only(
        "service-account-lookup",
        "true",
        "Whether a service account token is invalid after the objects that it is bound to are deleted.",
    ),
    Flag::new(
        "service-account-max-token-expiration",
        |c| &mut c.service_accounts.max_expiration,
        "Longest lifetime of a service account token; 0 is no limit.",
    )
    .checked(|c| {
        let seconds = c.service_accounts.max_expiration.as_secs();
        must(seconds == 0 || (3600..=1 << 32).contains(&seconds), "must be between 1h and 2^32 seconds")
    }),
    Flag::new(
        "service-account-jwks-uri",
        |c| &mut c.service_accounts.jwks_uri,
        "URL of the token verification keys in the OIDC discovery document. Default: at this server.",
    )
    .checked(|c| {
        let uri = c.service_accounts.jwks_uri.as_deref();
        must(uri.is_none_or(|uri| uri.starts_with("https://")), "must be an https URL")
    }),
    Flag::read(
        "runtime-config",
        "API=true|false,...",
        "APIs to turn on or off: group/version, group/version/resource, api/all, api/ga, api/beta, api/alpha.",
        runtime_config::read,
    ),
    Flag::read(
        "feature-gates",
        "GATE=true|false,...",
        "Feature gates to turn on or off. Those without effect are listed below.",
        feature_gates,
    ),
    Flag::new(
        "max-requests-inflight",
        |c| &mut c.settings.max_read_only_in_flight,
        "Maximum number of read requests in flight; 0 is no limit.",
    )
    .checked(|c| must(c.settings.max_read_only_in_flight >= 0, "can not be negative value")),
    Flag::new(
        "max-mutating-requests-inflight",
        |c| &mut c.settings.max_mutating_in_flight,
        "Maximum number of write requests in flight; 0 is no limit.",
    )
    .checked(|c| must(c.settings.max_mutating_in_flight >= 0, "can not be negative value")),
    Flag::new(
        "enable-priority-and-fairness",
        |c| &mut c.settings.priority_and_fairness,
        "Whether requests get seats by priority and fairness, as many as the two limits together; if false the limits apply.",
    ),
    Flag::new("request-timeout", |c| &mut c.settings.request_timeout, "Timeout of requests other than watches.")
        .checked(|c| must_last(c.settings.request_timeout)),
    Flag::new(
        "min-request-timeout",
        |c| &mut c.settings.min_request_timeout_seconds,
        "Minimum duration of a watch in seconds; each watch ends at random between this and twice this.",
    ),
    Flag::read(
        "http2-max-streams-per-connection",
        "N",
        "Maximum number of concurrent HTTP/2 streams of a connection; 0 is the default. Default: 100.",
        |c, value| {
            let streams = values::number(value, 0)?;
            let default = pintle_http::ServerConfig::default().max_concurrent_streams;
            c.connections.max_concurrent_streams = if streams > 0 { streams } else { default };
            Ok(())
        },
    ),
    Flag::read(
        "controllers",
        "NAME,...",
        "Controllers to run in this process: '*' is all that are on by default, 'foo' is one, '-foo' is all but \
         one, and an empty list is none. Without a command all are on by default. With the command serve those are off \
         that kube-controller-manager has for every namespace or for bootstrap objects: \
         serviceaccount-controller, root-ca-certificate-publisher-controller, clusterrole-aggregation-controller and \
         token-cleaner-controller. The others are namespace-controller, garbage-collector-controller, \
         event-ttl-controller, resourcequota-controller, ttl-after-finished-controller, \
         legacy-serviceaccount-token-cleaner-controller, storage-version-migrator-controller, \
         validatingadmissionpolicy-status-controller and storageversion-garbage-collector-controller. Default: *.",
        controllers,
    ),
    Flag::new(
        "controllers-settle-time",
        |c| &mut c.controllers.settle_time,
        "How long a controller waits after a change before it acts on it.",
    ),
    Flag::new("event-ttl", |c| &mut c.controllers.event_ttl, "How long events are kept; 0 is forever."),
    Flag::new(
        "goaway-chance",
        |c| &mut c.connections.goaway_chance,
        "Probability that an HTTP/2 request makes the server ask the client to reconnect, at most 0.02.",
    )
    .checked(|c| must((0.0..=0.02).contains(&c.connections.goaway_chance), "must be between 0 and 0.02")),
    Flag::new(
        "shutdown-delay-duration",
        |c| &mut c.shutdown_delay,
        "How long the server accepts requests after a signal to stop, while /readyz fails.",
    ),
    Flag::new(
        "shutdown-send-retry-after",
        |c| &mut c.shutdown_send_retry_after,
        "Whether, after that delay, new requests get 429 and Retry-After until requests in flight are \
         complete; if false, the server closes its port.",
    ),
    Flag::new(
        "shutdown-watch-termination-grace-period",
        |c| &mut c.connections.long_running_grace,
        "Period over which watches are ended when the server stops; 0 is at once.",
    ),
    Flag::read(
        "livez-grace-period",
        "DURATION",
        "How long /livez accepts an incomplete start. It has no effect, because the start is complete before \
         the first request is served. Default: 0s.",
        |_, value| values::duration(value).map(drop),
    ),
    Flag::new("tls-min-version", |c| &mut c.tls_min_version, "Minimum TLS version: VersionTLS12 or VersionTLS13. Earlier ones are not spoken."),
    Flag::new(
        "tls-cipher-suites",
        |c| &mut c.tls_cipher_suites,
        "Cipher suites of TLS 1.2, by IANA name. Those of TLS 1.3 are always enabled. Default: all secure \
         suites.",
    )
    .checked(check_cipher_suites),
    Flag::new(
        "tls-curve-preferences",
        |c| &mut c.tls_curves,
        "Curves of the key exchange, by their numbers in TLS: 29 (X25519), 23 (P-256), 24 (P-384). The server prefers them \
         in this order whatever the flag's is. Default: all.",
    )
    .checked(|c| match c.tls_curves.iter().find(|curve| !pintle_http::curves().any(|known| known == **curve)) {
        Some(curve) => Err(format!("curve {curve} is not supported: the TLS library knows 29, 23 and 24")),
        None => Ok(()),
    }),
    Flag::new("disable-http2-serving", |c| &mut c.disable_http2, "Whether to serve HTTP/1.1 only."),
    Flag::new(
        "permit-port-sharing",
        |c| &mut c.permit_port_sharing,
        "Whether several servers may listen on the same port; the system spreads connections over them.",
    ),
    Flag::new(
        "egress-selector-config-file",
        |c| &mut c.egress_selector_file,
        "File with an EgressSelectorConfiguration. The server connects to nodes, webhooks, extension servers and etcd \
         directly: a file that names a proxy is rejected.",
    ),
    Flag::read(
        "send-retry-after-while-not-ready-once",
        "",
        "Whether requests are answered with 429 until the server is ready. It has no effect: they wait for it.",
        |c, value| {
            let is_on = values::boolean(value)?;
            let why = "early requests wait until the server is ready";
            if is_on { no_effect(c, Ok(()), "--send-retry-after-while-not-ready-once", why) } else { Ok(()) }
        },
    ),
    Flag::new(
        "kubelet-certificate-authority",
        |c| &mut c.kubelet.certificate_authority,
        "PEM file with the CA certificates of kubelets; without it, kubelets' certificates are not verified.",
    ),
    Flag::new(
        "kubelet-client-certificate",
        |c| &mut c.kubelet.identity.certificate,
        "PEM file with the client certificate for kubelets.",
    ),
    Flag::new(
        "kubelet-client-key",
        |c| &mut c.kubelet.identity.key,
        "PEM file with the private key of the client certificate for kubelets.",
    ),
    Flag::new(
        "kubelet-preferred-address-types",
        |c| &mut c.kubelet.address_types,
        "Types of node addresses to connect to kubelets by, in order of preference. Default: \
         Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP.",
    )
    .checked(|c| must(!c.kubelet.address_types.is_empty(), "must name a type of address")),
    Flag::new("kubelet-timeout", |c| &mut c.kubelet.timeout, "Timeout of connecting to a kubelet.")
        .checked(|c| must_last(c.kubelet.timeout)),
    Flag::read(
        "endpoint-reconciler-type",
        "TYPE",
        "How the addresses of the kubernetes service are maintained: lease, master-count (deprecated) or \
         none. Default: lease.",
        |c, value| {
            c.endpoint_reconciler = match value {
                "lease" => ReconcilerType::Lease,
                "master-count" => ReconcilerType::MasterCount,
                "none" => ReconcilerType::None,
                _ => return Err("must be lease, master-count or none".to_owned()),
            };
            Ok(())
        },
    ),
    Flag::new(
        "apiserver-count",
        |c| &mut c.apiserver_count,
        "Number of servers, for the endpoint reconciler master-count (deprecated).",
    )
    .checked(|c| must(c.apiserver_count > 0, "must be more than 0")),
    Flag::only("kubernetes-service-node-port", "0", "Node port of the kubernetes service; 0 is none."),
    Flag::only("max-connection-bytes-per-sec", "0", "Maximum throughput of a user's connection; 0 is no limit."),
    Flag::new(
        "enable-aggregator-routing",
        |c| &mut c.aggregator_routing,
        "Whether aggregated API servers are called at the addresses of their pods.",
    ),
    Flag::only("enable-garbage-collector", "true", "Whether deletions may be left to the garbage collector."),
    Flag::only("enable-logs-handler", "false", "Whether /logs serves the log files of the node."),
    Flag::new(
        "worker-threads",
        |c| &mut c.worker_threads,
        "Number of threads that serve requests, at most 1024. Default: the number of processors.",
    )
    .checked(|c| must(c.worker_threads.is_none_or(|n| (1..=1024).contains(&n)), "must be between 1 and 1024")),
    Flag::read(
        "storage-initialization-timeout",
        "DURATION",
        "How long the store may take before the server is ready. It has no effect: the store is read before.",
        |c, value| {
            let why = "the server answers after the store has been read";
            no_effect(c, values::duration(value), "--storage-initialization-timeout", why)
        },
    ),
    Flag::read(
        "permit-address-sharing",
        "",
        "Whether an address may be bound while connections of an earlier server linger. It always may.",
        |_, value| values::boolean(value).map(drop),
    ),
];
