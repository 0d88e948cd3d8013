//! The build information that `/version` answers.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

/// Build and compatibility versions of a server.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// Major version of the program.
    #[k8s(always)]
    pub major: String,
    /// Minor version of the program.
    #[k8s(always)]
    pub minor: String,
    /// Major version the server behaves as.
    pub emulation_major: String,
    /// Minor version the server behaves as.
    pub emulation_minor: String,
    /// Major part of the oldest version it stays compatible with.
    pub min_compatibility_major: String,
    /// Minor part of the oldest version it stays compatible with.
    pub min_compatibility_minor: String,
    /// Full version text.
    #[k8s(always)]
    pub git_version: String,
    /// Source revision it was built from.
    #[k8s(always)]
    pub git_commit: String,
    /// Whether the sources were clean or had local changes.
    #[k8s(always)]
    pub git_tree_state: String,
    /// When it was built.
    #[k8s(always)]
    pub build_date: String,
    /// Toolchain version reported for the build.
    #[k8s(always)]
    pub go_version: String,
    /// Compiler used for the build.
    #[k8s(always)]
    pub compiler: String,
    /// Operating system and processor type.
    #[k8s(always)]
    pub platform: String,
}
