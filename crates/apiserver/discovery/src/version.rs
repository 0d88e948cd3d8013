//! `/version`: the Kubernetes version that this server implements.
//!
//! Clients compare these numbers, so they are kube-apiserver's; the build information is Pintle's.

use crate::document::Document;
use pintle_meta::version::Info;
use pintle_schema::value;

pub use pintle_schema::version::{CURRENT_MINOR, EffectiveVersion, OLDEST_MINOR};

/// The Kubernetes release that the server behaves as.
pub const GIT_VERSION: &str = "v1.36.2";

/// The parts of the release that clients compare.
pub const MAJOR: &str = "1";
pub const MINOR: &str = "36";

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
