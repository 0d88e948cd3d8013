//! The minor releases of Kubernetes 1 that a server behaves as: what is served, which feature gates exist, and what
//! others that share its store can read. Must never depend on the build of the program.

/// The minor release of Kubernetes 1 that the program behaves as by default.
pub const CURRENT_MINOR: u32 = 36;
/// The oldest that it can emulate, and that it can be compatible with.
pub const OLDEST_MINOR: u32 = 31;

/// The minor release of Kubernetes 1 that a server behaves as, and the oldest that it shares a store with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveVersion {
    /// Whose APIs and feature gates it has.
    pub emulated_minor: u32,
    /// That can read what it stores, and that compiles what new expressions use.
    pub compatibility_minor: u32,
}

impl EffectiveVersion {
    /// A release, compatible with the one before as far as that is supported.
    pub const fn emulating(minor: u32) -> EffectiveVersion {
        let before = minor.saturating_sub(1);
        let compatibility_minor = if before < OLDEST_MINOR { OLDEST_MINOR } else { before };
        EffectiveVersion { emulated_minor: minor, compatibility_minor }
    }

    /// The emulated release as OpenAPI names it: `1.36`.
    pub fn release(self) -> String {
        format!("1.{}", self.emulated_minor)
    }
}

impl Default for EffectiveVersion {
    fn default() -> Self {
        EffectiveVersion::emulating(CURRENT_MINOR)
    }
}
