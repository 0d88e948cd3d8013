//! `/version`: which Kubernetes this server behaves as.
//!
//! Clients compare these numbers, so they are kube-apiserver's; what is said of the build is
//! Pintle's.

use crate::document::Document;
use pintle_meta::version::Info;
use pintle_schema::value;

/// The Kubernetes release that the server behaves as.
pub const GIT_VERSION: &str = "v1.36.2";

/// The parts of it that clients compare.
pub const MAJOR: &str = "1";
pub const MINOR: &str = "36";
/// The oldest release that it can serve beside.
pub const MIN_COMPATIBILITY_MINOR: &str = "35";

/// What the program was built with.
pub const COMPILER: &str = "rustc";

/// The system and processor that the program was built for, as clients know them.
pub fn platform() -> String {
    format!("{}/{}", std::env::consts::OS, go_architecture(std::env::consts::ARCH))
}

/// What is known about a build of this program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Build<'a> {
    /// The source revision.
    pub commit: &'a str,
    /// RFC 3339; clients parse it.
    pub date: &'a str,
}

/// The build information.
pub fn version(build: &Build<'_>) -> Document {
    let date = if build.date.is_empty() { "1970-01-01T00:00:00Z" } else { build.date };
    let document = value!({
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": MIN_COMPATIBILITY_MINOR,
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
