//! The flags that this program acts on: one row each, with the words of its help and what it sets.
//! Guarantees that a flag in the table has an effect on the configuration.
//! Must never hold defaults: those are filled in once all flags are read.

use std::fmt::Write;
use std::path::PathBuf;

use pintle_auth::Mode;
use pintle_controllers::Controller;
use pintle_http::TlsVersion;

use super::admission::ADMISSION_FLAGS;
use super::front_proxy::FRONT_PROXY_FLAGS;
use super::storage::STORAGE_FLAGS;
use super::surface::SURFACE_FLAGS;
use super::{Draft, FeatureGates, Storage, values};

/// A flag.
pub struct Flag {
    /// The name without dashes.
    pub name: &'static str,
    /// What its value is, for the help; empty for a switch.
    pub value: &'static str,
    /// What it does and what it is when not given.
    pub help: &'static str,
    /// Takes the value over, or says what is wrong with it.
    pub apply: fn(&mut Draft, &str) -> Result<(), String>,
}

impl Flag {
    /// Whether it may stand without a value.
    pub fn is_switch(&self) -> bool {
        self.value.is_empty()
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
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {name} {}\n          {}", flag.value, flag.help);
    }
    text.push_str("  -h, --help\n          Print this text.\n      --version\n          Print the version.\n");
    text
}

/// Every flag that is acted on.
pub fn all() -> impl Iterator<Item = &'static Flag> {
    OWN_FLAGS.iter().chain(FRONT_PROXY_FLAGS).chain(ADMISSION_FLAGS).chain(SURFACE_FLAGS).chain(STORAGE_FLAGS)
}

pub fn path(slot: &mut Option<PathBuf>, value: &str) -> Result<(), String> {
    if value.is_empty() {
        return Err("must be a path".to_owned());
    }
    *slot = Some(PathBuf::from(value));
    Ok(())
}

fn authorization_modes(draft: &mut Draft, value: &str) -> Result<(), String> {
    for name in values::list(value) {
        let known = || Mode::NAMES.map(|(name, _)| name).join(", ");
        let mode = name.parse().map_err(|_| format!("{name} is not one of {}", known()))?;
        if draft.authorization_modes.contains(&mode) {
            return Err(format!("{name} is there more than once"));
        }
        draft.authorization_modes.push(mode);
    }
    match draft.authorization_modes.is_empty() {
        true => Err("at least one mode must be given".to_owned()),
        false => Ok(()),
    }
}

fn runtime_config(draft: &mut Draft, value: &str) -> Result<(), String> {
    for item in values::list(value) {
        let (name, value) = item.split_once('=').unwrap_or((item, "true"));
        let value = match value {
            "" => true,
            value => values::boolean(value).map_err(|reason| format!("{name} {reason}"))?,
        };
        let parts: Vec<&str> = name.split('/').collect();
        let well_formed = parts.len() <= 3 && parts.iter().all(|part| !part.is_empty());
        if !well_formed {
            return Err(format!("{name} is no API group, version or resource"));
        }
        draft.runtime_config.push((name.to_owned(), value));
    }
    Ok(())
}

fn feature_gates(draft: &mut Draft, value: &str) -> Result<(), String> {
    let settings = values::list(value).map(str::to_owned);
    draft.feature_gate_settings.extend(settings);
    let settings = draft.feature_gate_settings.iter().map(String::as_str);
    draft.feature_gates = FeatureGates::from_settings(settings)?;
    Ok(())
}

fn controllers(draft: &mut Draft, value: &str) -> Result<(), String> {
    draft.controller_items.extend(values::list(value).map(str::to_owned));
    let items = draft.controller_items.iter().map(String::as_str);
    draft.controllers = Some(Controller::select(items).map_err(|error| error.to_string())?);
    Ok(())
}

fn issuer(draft: &mut Draft, value: &str) -> Result<(), String> {
    // As the reference: whatever looks like a URL must be one.
    let is_url = value.strip_prefix("https://").or_else(|| value.strip_prefix("http://"));
    let bad = match is_url {
        Some(rest) => rest.is_empty() || rest.starts_with('/') || rest.contains(char::is_whitespace),
        None => value.contains(':') || value.is_empty(),
    };
    if bad {
        return Err("must be a URL, or a name without a colon".to_owned());
    }
    draft.service_account_issuers.push(value.to_owned());
    Ok(())
}

/// The flags but those of storage, in the order of the help.
static OWN_FLAGS: &[Flag] = &[
    Flag {
        name: "bind-address",
        value: "IP",
        help: "Address to take connections on (serve: 0.0.0.0, otherwise 127.0.0.1).",
        apply: |draft, value| values::ip(value).map(|ip| draft.bind_address = Some(ip)),
    },
    Flag {
        name: "secure-port",
        value: "PORT",
        help: "Port to take connections on (6443).",
        apply: |draft, value| {
            let port = value.parse().ok().filter(|port| *port != 0);
            draft.secure_port = Some(port.ok_or("must be between 1 and 65535")?);
            Ok(())
        },
    },
    Flag {
        name: "advertise-address",
        value: "IP",
        help: "Address under which members of the cluster reach this server (the bind address).",
        apply: |draft, value| {
            let ip = values::ip(value)?;
            if ip.is_unspecified() || ip.is_multicast() {
                return Err("must be an address that others can connect to".to_owned());
            }
            draft.advertise_address = Some(ip);
            Ok(())
        },
    },
    Flag {
        name: "data-dir",
        value: "DIR",
        help: "Directory of the embedded store (./pintle-data).",
        apply: |draft, value| path(&mut draft.data_dir, value),
    },
    Flag {
        name: "storage",
        value: "KIND",
        help: "Where objects are kept: embedded (on disk) or memory (embedded).",
        apply: |draft, value| {
            draft.storage = Some(match value {
                "embedded" => Storage::Embedded,
                "memory" => Storage::Memory,
                _ => return Err("must be embedded or memory".to_owned()),
            });
            Ok(())
        },
    },
    Flag {
        name: "write-kubeconfig",
        value: "FILE",
        help: "Where to write the administrator's kubeconfig (kubeconfig in the data directory).",
        apply: |draft, value| path(&mut draft.kubeconfig, value),
    },
    Flag {
        name: "cert-dir",
        value: "DIR",
        help: "Directory of generated certificates, or of apiserver.crt and apiserver.key (certs in the data directory).",
        apply: |draft, value| path(&mut draft.cert_dir, value),
    },
    Flag {
        name: "tls-cert-file",
        value: "FILE",
        help: "Serving certificate in PEM, followed by its intermediates (generated).",
        apply: |draft, value| path(&mut draft.tls_cert_file, value),
    },
    Flag {
        name: "tls-private-key-file",
        value: "FILE",
        help: "Private key of the serving certificate.",
        apply: |draft, value| path(&mut draft.tls_private_key_file, value),
    },
    Flag {
        name: "client-ca-file",
        value: "FILE",
        help: "Authorities whose client certificates identify users, besides the generated one.",
        apply: |draft, value| path(&mut draft.client_ca_file, value),
    },
    Flag {
        name: "token-auth-file",
        value: "FILE",
        help: "CSV of static tokens: token,user,uid,\"group1,group2\".",
        apply: |draft, value| path(&mut draft.token_auth_file, value),
    },
    Flag {
        name: "anonymous-auth",
        value: "",
        help: "Whether requests without a credential come from system:anonymous instead of being refused (true).",
        apply: |draft, value| values::boolean(value).map(|on| draft.anonymous_auth = Some(on)),
    },
    Flag {
        name: "authorization-mode",
        value: "MODES",
        help: "Modes of authorization in order: Node, RBAC, AlwaysAllow, AlwaysDeny (Node,RBAC).",
        apply: authorization_modes,
    },
    Flag {
        name: "service-cluster-ip-range",
        value: "CIDR[,CIDR]",
        help: "Addresses for services, one range or one per IP family (10.0.0.0/24).",
        apply: |draft, value| {
            draft.service_cluster_ip_ranges = Some(values::service_ranges(value)?);
            Ok(())
        },
    },
    Flag {
        name: "service-node-port-range",
        value: "FIRST-LAST",
        help: "Ports for services of type NodePort (30000-32767).",
        apply: |draft, value| {
            let ports = values::ports(value)?;
            if ports.0 == 0 {
                return Err("must not contain port 0".to_owned());
            }
            draft.service_node_ports = Some(ports);
            Ok(())
        },
    },
    Flag {
        name: "allow-privileged",
        value: "",
        help: "Whether pods may have privileged containers (false).",
        apply: |_, value| match values::boolean(value)? {
            true => Ok(()),
            false => Err("privileged containers cannot be forbidden yet".to_owned()),
        },
    },
    Flag {
        name: "service-account-issuer",
        value: "URL",
        help: "Issuer of service account tokens; may be repeated, the first one signs (https://kubernetes.default.svc).",
        apply: issuer,
    },
    Flag {
        name: "service-account-key-file",
        value: "FILE",
        help: "Key that service account tokens are verified with; may be repeated.",
        apply: |draft, value| {
            let mut file = None;
            path(&mut file, value)?;
            draft.service_account_key_files.extend(file);
            Ok(())
        },
    },
    Flag {
        name: "service-account-signing-key-file",
        value: "FILE",
        help: "Key that service account tokens are signed with, and verified (service-account.key in --cert-dir, made if \
               missing).",
        apply: |draft, value| path(&mut draft.service_account_signing_key_file, value),
    },
    Flag {
        name: "api-audiences",
        value: "NAME,...",
        help: "Audiences of tokens that this server takes (the issuers of service account tokens).",
        apply: |draft, value| {
            draft.service_account_tokens.api_audiences.extend(values::list(value).map(str::to_owned));
            Ok(())
        },
    },
    Flag {
        name: "service-account-extend-token-expiration",
        value: "",
        help: "Whether tokens of pods live longer than kubelets ask for, for clients that do not read them anew (true).",
        apply: |draft, value| values::boolean(value).map(|on| draft.service_account_tokens.extend_expiration = on),
    },
    Flag {
        name: "service-account-max-token-expiration",
        value: "DURATION",
        help: "Longest time a service account token is given for; 0 is no bound (0).",
        apply: |draft, value| {
            let longest = values::duration(value)?;
            if !longest.is_zero() && !(3600..=1 << 32).contains(&longest.as_secs()) {
                return Err("must be between 1h and 2^32 seconds".to_owned());
            }
            draft.service_account_tokens.max_expiration = longest;
            Ok(())
        },
    },
    Flag {
        name: "service-account-jwks-uri",
        value: "URL",
        help: "Where the discovery document says that the keys of service account tokens are (at this server).",
        apply: |draft, value| match value.starts_with("https://") {
            true => {
                draft.service_account_tokens.jwks_uri = Some(value.to_owned());
                Ok(())
            }
            false => Err("must be an https URL".to_owned()),
        },
    },
    Flag {
        name: "runtime-config",
        value: "API=true|false,...",
        help: "APIs to turn on or off: group/version, group/version/resource, api/all, api/ga, api/beta, api/alpha.",
        apply: runtime_config,
    },
    Flag {
        name: "feature-gates",
        value: "GATE=true|false,...",
        help: "Feature gates to turn on or off.",
        apply: feature_gates,
    },
    Flag {
        name: "max-requests-inflight",
        value: "N",
        help: "Reading requests in work at a time; 0 is no limit (400).",
        apply: |draft, value| values::number(value, 0).map(|n| draft.max_requests_inflight = Some(n)),
    },
    Flag {
        name: "max-mutating-requests-inflight",
        value: "N",
        help: "Writing requests in work at a time; 0 is no limit (200).",
        apply: |draft, value| {
            draft.max_mutating_requests_inflight = Some(values::number(value, 0)?);
            Ok(())
        },
    },
    Flag {
        name: "request-timeout",
        value: "DURATION",
        help: "Time after which a request that is not a watch is given up (1m).",
        apply: |draft, value| {
            let timeout = values::duration(value)?;
            if timeout.is_zero() {
                return Err("must be more than 0".to_owned());
            }
            draft.request_timeout = Some(timeout);
            Ok(())
        },
    },
    Flag {
        name: "min-request-timeout",
        value: "SECONDS",
        help: "Least time that a watch is kept open; up to twice that is chosen at random (1800).",
        apply: |draft, value| {
            draft.min_request_timeout_seconds = Some(values::number(value, 0)?);
            Ok(())
        },
    },
    Flag {
        name: "http2-max-streams-per-connection",
        value: "N",
        help: "HTTP/2 streams that a client may have open on a connection; 0 is the default (100).",
        apply: |draft, value| {
            let streams = values::number(value, 0)?;
            draft.max_streams_per_connection = (streams > 0).then_some(streams);
            Ok(())
        },
    },
    Flag {
        name: "controllers",
        value: "NAME,...",
        help: "Controllers that run in this process: '*' for all, 'foo' for one, '-foo' for all but one; nothing for none, \
               as beside a kube-controller-manager (*). They are namespace-controller, garbage-collector-controller and \
               event-ttl-controller.",
        apply: controllers,
    },
    Flag {
        name: "controllers-settle-time",
        value: "DURATION",
        help: "How long a change is left alone before a controller acts on it (500ms).",
        apply: |draft, value| values::duration(value).map(|time| draft.controllers_settle_time = Some(time)),
    },
    Flag {
        name: "event-ttl",
        value: "DURATION",
        help: "How long events are kept; 0 is for ever (1h).",
        apply: |draft, value| values::duration(value).map(|ttl| draft.event_ttl = Some(ttl)),
    },
    Flag {
        name: "goaway-chance",
        value: "CHANCE",
        help: "Share of HTTP/2 requests after which a client is asked to connect anew, at most 0.02 (0).",
        apply: |draft, value| {
            let chance = value.parse().ok().filter(|chance| (0.0..=0.02).contains(chance));
            draft.goaway_chance = chance.ok_or("must be between 0 and 0.02")?;
            Ok(())
        },
    },
    Flag {
        name: "shutdown-delay-duration",
        value: "DURATION",
        help: "How long requests are still taken, and /readyz fails, after the server is told to stop (0s).",
        apply: |draft, value| values::duration(value).map(|delay| draft.shutdown_delay = delay),
    },
    Flag {
        name: "shutdown-send-retry-after",
        value: "",
        help: "Whether, after that delay, requests are turned away with 429 and Retry-After until those in work are done, \
               instead of not being taken (false).",
        apply: |draft, value| values::boolean(value).map(|on| draft.shutdown_send_retry_after = on),
    },
    Flag {
        name: "shutdown-watch-termination-grace-period",
        value: "DURATION",
        help: "Over how long watches are ended when the server stops; 0 is at once (0s).",
        apply: |draft, value| values::duration(value).map(|grace| draft.watch_termination_grace = grace),
    },
    Flag {
        name: "livez-grace-period",
        value: "DURATION",
        help: "How long /livez takes a start that is not finished for a good one. The start is finished before the first \
               request is answered, so that there is nothing to wait for (0s).",
        apply: |_, value| values::duration(value).map(drop),
    },
    Flag {
        name: "tls-min-version",
        value: "VERSION",
        help: "Least version of TLS that is spoken: VersionTLS12 or VersionTLS13 (VersionTLS12).",
        apply: |draft, value| {
            draft.tls_min_version = match value {
                "VersionTLS12" => TlsVersion::Tls12,
                "VersionTLS13" => TlsVersion::Tls13,
                "VersionTLS10" | "VersionTLS11" => return Err("is not spoken: the least is VersionTLS12".to_owned()),
                _ => return Err("must be VersionTLS12 or VersionTLS13".to_owned()),
            };
            Ok(())
        },
    },
    Flag {
        name: "tls-cipher-suites",
        value: "SUITE,...",
        help: "Cipher suites of TLS 1.2, by their IANA names; those of TLS 1.3 are always on (all that are secure).",
        apply: |draft, value| {
            for suite in values::list(value) {
                if !pintle_http::cipher_suites().any(|known| known == suite) {
                    return Err(format!(
                        "{suite} is not one of {}",
                        pintle_http::cipher_suites().collect::<Vec<_>>().join(", ")
                    ));
                }
                draft.tls_cipher_suites.push(suite.to_owned());
            }
            Ok(())
        },
    },
    Flag {
        name: "disable-http2-serving",
        value: "",
        help: "Whether only HTTP/1.1 is spoken (false).",
        apply: |draft, value| values::boolean(value).map(|on| draft.disable_http2 = on),
    },
    Flag {
        name: "kubelet-certificate-authority",
        value: "FILE",
        help: "Authorities of kubelets' serving certificates; without it any kubelet is believed.",
        apply: |draft, value| path(&mut draft.kubelet.certificate_authority, value),
    },
    Flag {
        name: "kubelet-client-certificate",
        value: "FILE",
        help: "Certificate in PEM that is shown to kubelets.",
        apply: |draft, value| path(&mut draft.kubelet.client_certificate, value),
    },
    Flag {
        name: "kubelet-client-key",
        value: "FILE",
        help: "Private key of the certificate that is shown to kubelets.",
        apply: |draft, value| path(&mut draft.kubelet.client_key, value),
    },
    Flag {
        name: "kubelet-preferred-address-types",
        value: "TYPE,...",
        help: "Types of a node's addresses to reach its kubelet by, in order (Hostname,InternalDNS,InternalIP,ExternalDNS,\
               ExternalIP).",
        apply: |draft, value| {
            draft.kubelet.address_types = values::list(value).map(str::to_owned).collect();
            match draft.kubelet.address_types.is_empty() {
                true => Err("must name a type of address".to_owned()),
                false => Ok(()),
            }
        },
    },
    Flag {
        name: "kubelet-timeout",
        value: "DURATION",
        help: "Time for connecting to a kubelet (5s).",
        apply: |draft, value| {
            let timeout = values::duration(value)?;
            if timeout.is_zero() {
                return Err("must be more than 0".to_owned());
            }
            draft.kubelet.timeout = timeout;
            Ok(())
        },
    },
    Flag {
        name: "v",
        value: "LEVEL",
        help: "How much is logged (0); nothing is logged yet, at any level.",
        apply: |draft, value| values::number(value, 0).map(|level| draft.verbosity = level),
    },
];
