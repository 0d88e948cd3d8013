//! The environments of policies and match conditions, each of which is made once.
//! Must never be given variables of a policy: these are added to a copy.

use pintle_cel::Environment;
use pintle_cel::environment::{CURRENT_MINOR, NEW_EXPRESSIONS_MINOR, Policy};
use std::sync::OnceLock;

/// Which libraries an expression may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Those that the version before has, too: for what is written now.
    New,
    /// All that there are: for what is stored.
    Stored,
}

/// The environment of an expression over a request.
pub fn environment(mode: Mode, policy: Policy) -> &'static Environment {
    static MADE: [OnceLock<Environment>; 16] = [const { OnceLock::new() }; 16];
    let flags = [policy.has_params, policy.has_authorizer, policy.has_patches, mode == Mode::Stored];
    let at = flags.iter().fold(0, |at, flag| at * 2 + usize::from(*flag));
    let minor = match mode {
        Mode::New => NEW_EXPRESSIONS_MINOR,
        Mode::Stored => CURRENT_MINOR,
    };
    MADE[at].get_or_init(|| Environment::for_policy(minor, policy))
}
