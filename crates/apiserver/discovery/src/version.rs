//! `/version`: the Kubernetes version that this server implements.
//!
//! Clients compare these numbers, so they are kube-apiserver's; the build information is Pintle's.

use crate::document::Document;
use pintle_meta::version::Info;
use pintle_schema::value;

/// The Kubernetes release that the server behaves as.
pub const GIT_VERSION: &str = "v1.36.2";

/// The minor release of Kubernetes 1 that the program behaves as by default.
pub const CURRENT_MINOR: u32 = 36;
/// The oldest that it can emulate, and that it can be compatible with.
pub const OLDEST_MINOR: u32 = 31;

/// The parts of the release that clients compare.
pub const MAJOR: &str = "1";
pub const MINOR: &str = "36";

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
        format!("{MAJOR}.{}", self.emulated_minor)
    }
}

impl Default for EffectiveVersion {
    fn default() -> Self {
        EffectiveVersion::emulating(CURRENT_MINOR)
    }
}

/// The compiler of the program.
pub const COMPILER: &str = "rustc";

/// The system and processor that the program was built for, as clients know them.
pub fn platform() -> String {
    format!("{}/{}", std::env::consts::OS, go_architecture(std::env::consts::ARCH))
}

/// Information about a build of this program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Build<'a> {
    /// The source revision.
    pub commit: &'a str,
    /// RFC 3339; clients parse it.
    pub date: &'a str,
}

/// The build information.
pub fn version(build: &Build<'_>, effective: EffectiveVersion) -> Document {
    let date = if build.date.is_empty() { "1970-01-01T00:00:00Z" } else { build.date };
    let document = value!({
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": MAJOR,
        "emulationMinor": (effective.emulated_minor.to_string()),
        "minCompatibilityMajor": MAJOR,
        "minCompatibilityMinor": (effective.compatibility_minor.to_string()),
        "gitVersion": GIT_VERSION,
        "gitCommit": (build.commit),
        "gitTreeState": "",
        "buildDate": date,
        "goVersion": "",
        "compiler": COMPILER,
        "platform": (platform()),
    });
    Document::new::<Info>("", "", document)
}

/// The names that clients know processors by.
fn go_architecture(rust: &str) -> &str {
    match rust {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        other => other,
    }
}
