//! Types of `v1`: the file with which a client reaches clusters.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Bytes, RawExtension, string_type};

/// Clusters, credentials and contexts a client can use.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Always Config; old and not needed.
    #[k8s(optional)]
    pub kind: String,
    /// Always v1; old and not needed.
    #[k8s(optional)]
    pub api_version: String,
    /// Display settings; deprecated.
    #[k8s(omitzero)]
    pub preferences: Preferences,
    /// Known clusters by name.
    #[k8s(always)]
    pub clusters: Vec<NamedCluster>,
    /// Known credentials by name.
    #[k8s(always)]
    pub users: Vec<NamedAuthInfo>,
    /// Known combinations of cluster and user by name.
    #[k8s(always)]
    pub contexts: Vec<NamedContext>,
    /// Context used unless another is asked for.
    #[k8s(name = "current-context", always)]
    pub current_context: String,
    /// Additional data from other programs.
    #[k8s(optional)]
    pub extensions: Vec<NamedExtension>,
}

/// Display settings; deprecated.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Preferences {
    /// Whether output may be coloured.
    #[k8s(optional)]
    pub colors: bool,
    /// Additional data from other programs.
    #[k8s(optional)]
    pub extensions: Vec<NamedExtension>,
}

/// How to reach and trust an API server.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Cluster {
    /// Address of the server, <https://host:port>.
    #[k8s(always)]
    pub server: String,
    /// Name expected in the server's certificate, if not its host name.
    #[k8s(name = "tls-server-name", optional)]
    pub tls_server_name: String,
    /// Turns off checking the server's certificate; unsafe.
    #[k8s(name = "insecure-skip-tls-verify", optional)]
    pub insecure_skip_tls_verify: bool,
    /// File with certificates trusted for the server.
    #[k8s(name = "certificate-authority", optional)]
    pub certificate_authority: String,
    /// Trusted PEM certificates written in place; win over the file.
    #[k8s(name = "certificate-authority-data", optional)]
    pub certificate_authority_data: Bytes,
    /// Proxy for all requests; http, https or socks5 scheme.
    #[k8s(name = "proxy-url", optional)]
    pub proxy_url: String,
    /// Turns off compressed answers, useful on fast networks.
    #[k8s(name = "disable-compression", optional)]
    pub disable_compression: bool,
    /// Additional data from other programs.
    #[k8s(optional)]
    pub extensions: Vec<NamedExtension>,
}

/// Credentials proving who the client is.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AuthInfo {
    /// File with the client certificate.
    #[k8s(name = "client-certificate", optional)]
    pub client_certificate: String,
    /// Client certificate in PEM written in place; wins over the file.
    #[k8s(name = "client-certificate-data", optional)]
    pub client_certificate_data: Bytes,
    /// File with the client's private key.
    #[k8s(name = "client-key", optional)]
    pub client_key: String,
    /// Private key in PEM written in place; wins over the file.
    #[k8s(name = "client-key-data", optional)]
    pub client_key_data: Bytes,
    /// Bearer token.
    #[k8s(optional)]
    pub token: String,
    /// File with a bearer token, re-read from time to time.
    #[k8s(optional)]
    pub token_file: String,
    /// User name to impersonate.
    #[k8s(optional)]
    pub r#as: String,
    /// UID to impersonate.
    #[k8s(name = "as-uid", optional)]
    pub as_uid: String,
    /// Groups to impersonate.
    #[k8s(name = "as-groups", optional)]
    pub as_groups: Vec<String>,
    /// Extra user attributes to impersonate.
    #[k8s(name = "as-user-extra", optional)]
    pub as_user_extra: BTreeMap<String, Vec<String>>,
    /// Name for basic authentication.
    #[k8s(optional)]
    pub username: String,
    /// Password for basic authentication.
    #[k8s(optional)]
    pub password: String,
    /// Built-in credential provider to use.
    #[k8s(name = "auth-provider", optional)]
    pub auth_provider: Option<AuthProviderConfig>,
    /// Program that delivers credentials.
    #[k8s(optional)]
    pub exec: Option<ExecConfig>,
    /// Additional data from other programs.
    #[k8s(optional)]
    pub extensions: Vec<NamedExtension>,
}

/// Combination of cluster, user and default namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// Name of the cluster.
    #[k8s(always)]
    pub cluster: String,
    /// Name of the credentials.
    #[k8s(always)]
    pub user: String,
    /// Namespace used unless another is asked for.
    #[k8s(optional)]
    pub namespace: String,
    /// Additional data from other programs.
    #[k8s(optional)]
    pub extensions: Vec<NamedExtension>,
}

/// Cluster entry with its name.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NamedCluster {
    /// Name of the entry.
    #[k8s(always)]
    pub name: String,
    /// Connection data of the cluster.
    #[k8s(always)]
    pub cluster: Cluster,
}

/// Context entry with its name.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NamedContext {
    /// Name of the entry.
    #[k8s(always)]
    pub name: String,
    /// The combination itself.
    #[k8s(always)]
    pub context: Context,
}

/// Credentials entry with its name.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NamedAuthInfo {
    /// Name of the entry.
    #[k8s(always)]
    pub name: String,
    /// The credentials themselves.
    #[k8s(always)]
    pub user: AuthInfo,
}

/// Additional data with its name.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NamedExtension {
    /// Name of the entry.
    #[k8s(always)]
    pub name: String,
    /// The data itself.
    #[k8s(always)]
    pub extension: RawExtension,
}

/// Built-in credential provider and its settings.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AuthProviderConfig {
    /// Name of the provider.
    #[k8s(always)]
    pub name: String,
    /// Settings of the provider.
    #[k8s(always)]
    pub config: BTreeMap<String, String>,
}

/// Program that delivers credentials.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ExecConfig {
    /// Program to run.
    #[k8s(always)]
    pub command: String,
    /// Arguments given to the program.
    #[k8s(optional, always)]
    pub args: Vec<String>,
    /// Environment variables added for the program.
    #[k8s(optional, always)]
    pub env: Vec<ExecEnvVar>,
    /// Version of ExecCredential the program speaks.
    pub api_version: String,
    /// Advice shown when the program is missing.
    pub install_hint: String,
    /// Whether the program is told about the cluster in its environment.
    #[k8s(always)]
    pub provide_cluster_info: bool,
    /// Whether the program may read from the terminal.
    #[k8s(optional)]
    pub interactive_mode: ExecInteractiveMode,
}

/// Environment variable for a credential program.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ExecEnvVar {
    /// Name of the variable.
    #[k8s(always)]
    pub name: String,
    /// Value of the variable.
    #[k8s(always)]
    pub value: String,
}

string_type! {
    /// Use of the terminal by a credential program.
    pub ExecInteractiveMode {
        /// The program never reads input.
        NEVER = "Never",
        /// The program reads input when a terminal exists.
        IF_AVAILABLE = "IfAvailable",
        /// The program cannot work without a terminal.
        ALWAYS = "Always",
    }
}
