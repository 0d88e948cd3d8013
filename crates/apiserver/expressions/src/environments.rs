//! The environments of policies and match conditions, each of which is made once.
//! Must never be given variables of a policy: these are added to a copy.

use pintle_cel::Environment;
use pintle_cel::environment::{CURRENT_MINOR, OLDEST_MINOR, Policy};
use std::sync::OnceLock;

/// Which libraries an expression may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Those that a minor release of Kubernetes 1 has: for what is written now, and may have to be read by that release.
    New(u32),
    /// For stored expressions: all features.
    Stored,
}

/// Releases that differ.
const RELEASES: usize = (CURRENT_MINOR - OLDEST_MINOR + 1) as usize;

/// The environment of an expression over a request.
pub fn environment(mode: Mode, policy: Policy) -> &'static Environment {
    static MADE: [[OnceLock<Environment>; 8]; RELEASES] = [const { [const { OnceLock::new() }; 8] }; RELEASES];
    let flags = [policy.has_params, policy.has_authorizer, policy.has_patches];
    let at = flags.iter().fold(0, |at, flag| at * 2 + usize::from(*flag));
    let minor = match mode {
        Mode::New(minor) => minor.clamp(OLDEST_MINOR, CURRENT_MINOR),
        Mode::Stored => CURRENT_MINOR,
    };
    MADE[(minor - OLDEST_MINOR) as usize][at].get_or_init(|| Environment::for_policy(minor, policy))
}
