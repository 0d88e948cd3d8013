//! The flags of kube-apiserver 1.36 that this program does not support. Guarantees that each is rejected as not
//! supported, not as unknown. Must never contain a flag of the table in `super`; a test checks this.

/// Sorted by name.
pub static NOT_SUPPORTED: &[&str] = &[
    "admission-control",
    "disabled-metrics",
    "egress-selector-config-file",
    "etcd-servers-overrides",
    "log-json-info-buffer-size",
    "log-text-info-buffer-size",
    "service-account-signing-endpoint",
    "tls-curve-preferences",
    "tracing-config-file",
];

/// Why flags are not supported, by prefixes of their names.
static REASONS: &[(&str, &str)] = &[
    ("admission-control", "It is deprecated: use --enable-admission-plugins."),
    ("authentication-", "Only client certificates, static tokens, service accounts and front proxies authenticate."),
    ("authorization-", "Webhooks do not authorize."),
    ("disabled-metrics", "All metrics are shown."),
    ("egress-selector-config-file", "The server connects to nodes, webhooks and extension servers directly."),
    ("etcd-servers-overrides", "All resources are in one cluster, whose revisions order them."),
    ("log-", "Lines are written at once."),
    ("oidc-", "Tokens of other issuers do not authenticate."),
    ("service-account-signing-endpoint", "Tokens are signed with a key from a file."),
    ("tls-curve-preferences", "The order of curves is that of the TLS library."),
    ("tracing-config-file", "Spans are not exported; --v=2 logs the time of each step of slow requests."),
];

/// Why a flag is not supported.
pub fn reason(name: &str) -> &'static str {
    let found = REASONS.iter().find(|(beginning, _)| name.starts_with(beginning));
    found.map_or("This program does not act on it.", |(_, reason)| reason)
}
