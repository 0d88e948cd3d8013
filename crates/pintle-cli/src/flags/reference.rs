//! The flags of kube-apiserver 1.36 that this program does not support. Guarantees that each is rejected as not
//! supported, not as unknown. Must never contain a flag of the table in `super`; a test checks this.

/// Sorted by name.
pub static NOT_SUPPORTED: &[&str] = &["debug-socket-path"];

/// Why flags are not supported, by prefixes of their names.
static REASONS: &[(&str, &str)] = &[("debug-socket-path", "There are no profiles to serve.")];

/// Why a flag is not supported.
pub fn reason(name: &str) -> &'static str {
    let found = REASONS.iter().find(|(beginning, _)| name.starts_with(beginning));
    found.map_or("This program does not act on it.", |(_, reason)| reason)
}
