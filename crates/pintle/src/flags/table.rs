//! The flags that this program acts on: one row each, with the words of its help and the place that its value goes to.
//! Guarantees that a flag in the table has an effect on the configuration, or that its help says why it has none.
//! Must never tell a default that the configuration shows: the help reads it there.

use super::admission::ADMISSION_FLAGS;
use super::config::{Config, ReconcilerType, Storage};
use super::front_proxy::FRONT_PROXY_FLAGS;
use super::setting::Setting;
use super::storage::STORAGE_FLAGS;
use super::surface::SURFACE_FLAGS;
use super::{FeatureGates, runtime_config, values};
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

/// What a flag does with its value.
enum Act {
    /// It goes to a place, whose type says the rest.
    Goes(fn(&mut Config) -> &mut dyn Setting),
    /// More than that; with what the value is, for the help.
    Does(&'static str, fn(&mut Config, &str) -> Result<(), String>),
    /// Nothing: this value asks for what is done anyway.
    Only(&'static str),
}

impl Flag {
    /// A flag whose value goes to a place.
    pub const fn new(name: &'static str, place: fn(&mut Config) -> &mut dyn Setting, help: &'static str) -> Flag {
        Flag { name, help, act: Act::Goes(place), check: |_| Ok(()) }
    }

    /// A flag that is read by a function, told what its value is; the help must tell its default.
    pub const fn read(
        name: &'static str,
        shape: &'static str,
        help: &'static str,
        read: fn(&mut Config, &str) -> Result<(), String>,
    ) -> Flag {
        Flag { name, help, act: Act::Does(shape, read), check: |_| Ok(()) }
    }

    /// A flag that can only ask for what is done anyway.
    pub const fn only(name: &'static str, value: &'static str, help: &'static str) -> Flag {
        Flag { name, help, act: Act::Only(value), check: |_| Ok(()) }
    }

    /// The same, if what is set passes.
    pub const fn checked(mut self, check: fn(&Config) -> Result<(), String>) -> Flag {
        self.check = check;
        self
    }

    /// Takes a value over.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn set(&self, config: &mut Config, value: &str) -> Result<(), String> {
        match self.act {
            Act::Goes(place) => place(config).set(value)?,
            Act::Does(_, read) => read(config, value)?,
            Act::Only(only) => {
                let is_it = match only.parse::<bool>() {
                    Ok(on) => values::boolean(value)? == on,
                    Err(_) => value.is_empty() || value == only,
                };
                must(is_it, &format!("can only be {only}"))?;
            }
        }
        (self.check)(config)
    }

    /// What it has come to, for those who ask the server; `given` are its values as they were given.
    pub fn shown(&self, config: &mut Config, given: Option<&[String]>) -> String {
        match (&self.act, given) {
            (Act::Goes(place), _) => place(config).shown(),
            (Act::Does(..), Some(given)) => given.join(","),
            _ => self.value().1,
        }
    }

    /// What its value is, and what it is when the flag is not given.
    pub fn value(&self) -> (String, String) {
        match self.act {
            Act::Goes(place) => {
                let mut config = Config::default();
                let place = place(&mut config);
                (place.shape(), place.shown())
            }
            Act::Does(shape, _) => (shape.to_owned(), String::new()),
            Act::Only(value) if value.parse::<bool>().is_ok() => (String::new(), value.to_owned()),
            Act::Only(value) => ("TEXT".to_owned(), value.to_owned()),
        }
    }

    /// Whether it may stand without a value.
    pub fn is_switch(&self) -> bool {
        self.value().0.is_empty()
    }
}

/// The text that `--help` prints.
pub fn help() -> String {
    let mut text = String::from(
        "A Kubernetes API server.\n\nUsage:\n  pintle [flags]        serve on loopback\n  pintle serve [flags]  \
         serve as kube-apiserver would\n\nFlags:\n",
    );
    for flag in all() {
        let name = match flag.name {
            "v" => "-v, --v".to_owned(),
            name => format!("    --{name}"),
        };
        let (shape, default) = flag.value();
        let help = match (flag.help.strip_suffix('.'), &flag.act) {
            (Some(help), Act::Only(value)) => format!("{help} (always {value})."),
            (Some(help), Act::Goes(_)) if !default.is_empty() => format!("{help} ({default})."),
            _ => flag.help.to_owned(),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}\n          {help}", format!("  {name} {shape}").trim_end());
    }
    text.push_str("  -h, --help\n          Print this text.\n      --version\n          Print the version.\n");
    text
}

/// Every flag that is acted on.
pub fn all() -> impl Iterator<Item = &'static Flag> {
    OWN_FLAGS.iter().chain(FRONT_PROXY_FLAGS).chain(ADMISSION_FLAGS).chain(SURFACE_FLAGS).chain(STORAGE_FLAGS)
}

/// Passes when a condition holds; otherwise tells half a sentence.
pub fn must(condition: bool, otherwise: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn must_last(time: Duration) -> Result<(), String> {
    must(!time.is_zero(), "must be more than 0")
}

fn feature_gates(config: &mut Config, value: &str) -> Result<(), String> {
    config.gate_items.extend(values::list(value).map(str::to_owned));
    config.feature_gates = FeatureGates::from_settings(config.gate_items.iter().map(String::as_str))?;
    Ok(())
}

fn controllers(config: &mut Config, value: &str) -> Result<(), String> {
    config.controller_items.extend(values::list(value).map(str::to_owned));
    let items = config.controller_items.iter().map(String::as_str);
    config.controllers.enabled = Controller::select(items).map_err(|error| error.to_string())?;
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

/// As the reference: whatever looks like a URL must be one.
fn check_issuers(config: &Config) -> Result<(), String> {
    let is_good = |issuer: &String| match issuer.strip_prefix("https://").or_else(|| issuer.strip_prefix("http://")) {
        Some(rest) => !rest.is_empty() && !rest.starts_with('/') && !rest.contains(char::is_whitespace),
        None => !issuer.contains(':'),
    };
    must(config.service_accounts.issuers.0.iter().all(is_good), "must be a URL, or a name without a colon")
}

fn check_cipher_suites(config: &Config) -> Result<(), String> {
    let known = || pintle_http::cipher_suites();
    match config.tls_cipher_suites.iter().find(|suite| !known().any(|known| known == **suite)) {
        Some(suite) => Err(format!("{suite} is not one of {}", known().collect::<Vec<_>>().join(", "))),
        None => Ok(()),
    }
}

/// The flags that have no table of their own, in the order of the help.
static OWN_FLAGS: &[Flag] = &[
    Flag::new("bind-address", |c| &mut c.bind_address, "Address to take connections on; serve: 0.0.0.0."),
    Flag::new("secure-port", |c| &mut c.secure_port, "Port to take connections on."),
    Flag::new(
        "advertise-address",
        |c| &mut c.advertise_address,
        "Address under which members of the cluster reach this server (the bind address).",
    )
    .checked(|c| {
        let is_no_place = c.advertise_address.is_some_and(|ip| ip.is_unspecified() || ip.is_multicast());
        must(!is_no_place, "must be an address that others can connect to")
    }),
    Flag::new("data-dir", |c| &mut c.data_dir, "Directory of the embedded store."),
    Flag::read("storage", "KIND", "Where objects are kept: embedded (on disk) or memory (embedded).", |c, value| {
        c.own_storage = Some(match value {
            "embedded" => Storage::Embedded,
            "memory" => Storage::Memory,
            _ => return Err("must be embedded or memory".to_owned()),
        });
        Ok(())
    }),
    Flag::new(
        "write-kubeconfig",
        |c| &mut c.kubeconfig,
        "Where to write the administrator's kubeconfig (kubeconfig in the data directory).",
    ),
    Flag::new(
        "cert-dir",
        |c| &mut c.cert_dir,
        "Directory of generated certificates, or of apiserver.crt and apiserver.key (certs in the data directory).",
    ),
    Flag::new(
        "tls-cert-file",
        |c| &mut c.tls.certificate,
        "Serving certificate in PEM, followed by its intermediates (generated).",
    ),
    Flag::new("tls-private-key-file", |c| &mut c.tls.key, "Private key of the serving certificate."),
    Flag::new(
        "tls-sni-cert-key",
        |c| &mut c.named_certificates,
        "Another serving certificate in PEM and its key, for clients that ask for one of these names (*.example.com for all \
         below), or without names for those in the certificate; may be repeated.",
    ),
    Flag::new(
        "client-ca-file",
        |c| &mut c.client_ca_file,
        "Authorities whose client certificates identify users, besides the generated one.",
    ),
    Flag::new("token-auth-file", |c| &mut c.token_auth_file, "CSV of static tokens: token,user,uid,\"group1,group2\"."),
    Flag::new(
        "anonymous-auth",
        |c| &mut c.anonymous_auth,
        "Whether requests without a credential come from system:anonymous instead of being refused (true).",
    ),
    Flag::new(
        "authorization-mode",
        |c| &mut c.authorization_modes,
        "Modes of authorization in order: Node, RBAC, ABAC, AlwaysAllow, AlwaysDeny (Node,RBAC).",
    )
    .checked(check_modes),
    Flag::new(
        "authorization-policy-file",
        |c| &mut c.authorization_policy_file,
        "Policies of the mode ABAC, one JSON object to a line.",
    ),
    Flag::new(
        "service-cluster-ip-range",
        |c| &mut c.service_cluster_ip_ranges,
        "Addresses for services, one range or one per IP family.",
    ),
    Flag::new("service-node-port-range", |c| &mut c.service_node_ports, "Ports for services of type NodePort.")
        .checked(|c| must(*c.service_node_ports.start() > 0, "must not contain port 0")),
    Flag::only("allow-privileged", "true", "Whether pods may have privileged containers."),
    Flag::new(
        "service-account-issuer",
        |c| &mut c.service_accounts.issuers,
        "Issuer of service account tokens; may be repeated, the first one signs (https://kubernetes.default.svc).",
    )
    .checked(check_issuers),
    Flag::new(
        "service-account-key-file",
        |c| &mut c.service_accounts.key_files,
        "Key that service account tokens are verified with; may be repeated.",
    ),
    Flag::new(
        "service-account-signing-key-file",
        |c| &mut c.service_accounts.signing_key_file,
        "Key that service account tokens are signed with, and verified (service-account.key in --cert-dir, made if \
         missing).",
    ),
    Flag::new(
        "api-audiences",
        |c| &mut c.service_accounts.api_audiences,
        "Audiences of tokens that this server takes (the issuers of service account tokens).",
    ),
    Flag::new(
        "service-account-extend-token-expiration",
        |c| &mut c.service_accounts.extend_expiration,
        "Whether tokens of pods live longer than kubelets ask for, for clients that do not read them anew.",
    ),
    Flag::only(
        "service-account-lookup",
        "true",
        "Whether tokens of service accounts end with the objects that they are bound to.",
    ),
    Flag::new(
        "service-account-max-token-expiration",
        |c| &mut c.service_accounts.max_expiration,
        "Longest time a service account token is given for; 0 is no bound.",
    )
    .checked(|c| {
        let seconds = c.service_accounts.max_expiration.as_secs();
        must(seconds == 0 || (3600..=1 << 32).contains(&seconds), "must be between 1h and 2^32 seconds")
    }),
    Flag::new(
        "service-account-jwks-uri",
        |c| &mut c.service_accounts.jwks_uri,
        "Where the discovery document says that the keys of service account tokens are (at this server).",
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
    Flag::read("feature-gates", "GATE=true|false,...", "Feature gates to turn on or off.", feature_gates),
    Flag::new(
        "max-requests-inflight",
        |c| &mut c.settings.max_read_only_in_flight,
        "Reading requests in work at a time; 0 is no limit.",
    ),
    Flag::new(
        "max-mutating-requests-inflight",
        |c| &mut c.settings.max_mutating_in_flight,
        "Writing requests in work at a time; 0 is no limit.",
    ),
    Flag::only("enable-priority-and-fairness", "false", "Whether requests wait in queues, rather than be turned away."),
    Flag::new(
        "request-timeout",
        |c| &mut c.settings.request_timeout,
        "Time after which a request that is not a watch is given up.",
    )
    .checked(|c| must_last(c.settings.request_timeout)),
    Flag::new(
        "min-request-timeout",
        |c| &mut c.settings.min_request_timeout_seconds,
        "Least time in seconds that a watch is kept open; up to twice that is chosen at random.",
    ),
    Flag::read(
        "http2-max-streams-per-connection",
        "N",
        "HTTP/2 streams that a client may have open on a connection; 0 is the default (100).",
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
        "Controllers that run in this process: '*' for all, 'foo' for one, '-foo' for all but one; nothing for none, as \
         beside a kube-controller-manager (*). They are namespace-controller, garbage-collector-controller and \
         event-ttl-controller.",
        controllers,
    ),
    Flag::new(
        "controllers-settle-time",
        |c| &mut c.controllers.settle_time,
        "How long a change is left alone before a controller acts on it.",
    ),
    Flag::new("event-ttl", |c| &mut c.controllers.event_ttl, "How long events are kept; 0 is for ever (1h)."),
    Flag::new(
        "goaway-chance",
        |c| &mut c.connections.goaway_chance,
        "Share of HTTP/2 requests after which a client is asked to connect anew, at most 0.02.",
    )
    .checked(|c| must((0.0..=0.02).contains(&c.connections.goaway_chance), "must be between 0 and 0.02")),
    Flag::new(
        "shutdown-delay-duration",
        |c| &mut c.shutdown_delay,
        "How long requests are still taken, and /readyz fails, after the server is told to stop.",
    ),
    Flag::new(
        "shutdown-send-retry-after",
        |c| &mut c.shutdown_send_retry_after,
        "Whether, after that delay, requests are turned away with 429 and Retry-After until those in work are done, \
         instead of not being taken.",
    ),
    Flag::new(
        "shutdown-watch-termination-grace-period",
        |c| &mut c.connections.long_running_grace,
        "Over how long watches are ended when the server stops; 0 is at once.",
    ),
    Flag::read(
        "livez-grace-period",
        "DURATION",
        "How long /livez takes a start that is not finished for a good one. The start is finished before the first \
         request is answered, so that there is nothing to wait for (0s).",
        |_, value| values::duration(value).map(drop),
    ),
    Flag::new(
        "tls-min-version",
        |c| &mut c.tls_min_version,
        "Least version of TLS that is spoken: VersionTLS12 or VersionTLS13.",
    ),
    Flag::new(
        "tls-cipher-suites",
        |c| &mut c.tls_cipher_suites,
        "Cipher suites of TLS 1.2, by their IANA names; those of TLS 1.3 are always on (all that are secure).",
    )
    .checked(check_cipher_suites),
    Flag::new("disable-http2-serving", |c| &mut c.disable_http2, "Whether only HTTP/1.1 is spoken."),
    Flag::new(
        "kubelet-certificate-authority",
        |c| &mut c.kubelet.certificate_authority,
        "Authorities of kubelets' serving certificates; without it any kubelet is believed.",
    ),
    Flag::new(
        "kubelet-client-certificate",
        |c| &mut c.kubelet.identity.certificate,
        "Certificate in PEM that is shown to kubelets.",
    ),
    Flag::new(
        "kubelet-client-key",
        |c| &mut c.kubelet.identity.key,
        "Private key of the certificate that is shown to kubelets.",
    ),
    Flag::new(
        "kubelet-preferred-address-types",
        |c| &mut c.kubelet.address_types,
        "Types of a node's addresses to reach its kubelet by, in order (Hostname,InternalDNS,InternalIP,ExternalDNS,\
         ExternalIP).",
    )
    .checked(|c| must(!c.kubelet.address_types.is_empty(), "must name a type of address")),
    Flag::new("kubelet-timeout", |c| &mut c.kubelet.timeout, "Time for connecting to a kubelet.")
        .checked(|c| must_last(c.kubelet.timeout)),
    Flag::read(
        "endpoint-reconciler-type",
        "TYPE",
        "How servers keep the addresses of the kubernetes service: lease, master-count (deprecated) or none (lease).",
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
        "How many servers there are, for the endpoint reconciler master-count (deprecated).",
    )
    .checked(|c| must(c.apiserver_count > 0, "must be more than 0")),
    Flag::only("kubernetes-service-node-port", "0", "Port of the nodes at which the kubernetes service is; 0 is none."),
    Flag::only("max-connection-bytes-per-sec", "0", "Bound of what a user's connections carry; 0 is none."),
    Flag::only("enable-aggregator-routing", "false", "Whether extension servers are called at their pods' addresses."),
    Flag::only("logging-format", "text", "How log lines are written."),
    Flag::only("enable-garbage-collector", "true", "Whether deletions may be left to the garbage collector."),
    Flag::only("enable-logs-handler", "false", "Whether /logs shows the node's log files."),
    Flag::only("permit-port-sharing", "false", "Whether several servers may listen at one port."),
    Flag::only("profiling", "false", "Whether /debug/pprof shows what the process is busy with."),
    Flag::only("contention-profiling", "false", "Whether /debug/pprof shows what waits for locks, too."),
    Flag::new(
        "worker-threads",
        |c| &mut c.worker_threads,
        "Threads that serve requests, at most 1024 (as many as there are processors).",
    )
    .checked(|c| must(c.worker_threads.is_none_or(|n| (1..=1024).contains(&n)), "must be between 1 and 1024")),
    Flag::new("v", |c| &mut c.verbosity, "How much is logged; nothing is logged yet, at any level."),
];
