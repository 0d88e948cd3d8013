//! The command line: kube-apiserver's flags with their names and meaning, and the few that are Pintle's own.
//! Guarantees that everything is checked before anything is bound or written, and that errors name the flag.
//! Must never ignore a flag: what is not acted on is refused.

mod admission;
mod etcd;
mod front_proxy;
pub mod gates;
mod reference;
mod storage;
mod surface;
mod table;
pub mod values;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pintle::browsers::Browsers;
use pintle::encryption::EncryptionSource;
use pintle_auth::Mode;
use pintle_controllers::Controller;
use pintle_endpoints::backend::Backends;
use pintle_endpoints::limits;
use pintle_http::TlsVersion;

pub use etcd::Etcd;
pub use front_proxy::FrontProxyFlags;
pub use gates::FeatureGates;
use table::Flag;
pub use values::IpRange;

/// Long enough for a client that deletes something and looks at it in its next request, too short to be waited for.
const CONTROLLERS_SETTLE_TIME: Duration = Duration::from_millis(500);

/// What the command line asks for.
#[derive(Debug)]
pub enum Command {
    /// To serve the API.
    Serve(Box<Config>),
    /// To print this help.
    Help(String),
    /// To print the version.
    Version,
}

/// Where objects are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// On disk, in the data directory.
    Embedded,
    /// In memory: gone when the process ends.
    Memory,
    /// In an etcd cluster.
    Etcd,
}

/// Everything that a server is told by its command line, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// `--bind-address`: where connections are taken.
    pub bind_address: IpAddr,
    /// `--secure-port`.
    pub secure_port: u16,
    /// `--advertise-address`: the address that members of the cluster are told.
    pub advertise_address: Option<IpAddr>,
    /// `--external-hostname`: the name, with a port or without, that clients are told.
    pub external_hostname: Option<String>,
    /// `--cors-allowed-origins` and `--strict-transport-security-directives`.
    pub browsers: Browsers,
    /// `--data-dir`.
    pub data_dir: PathBuf,
    /// `--storage`, or etcd when servers of it are named.
    pub storage: Storage,
    /// How etcd is reached and used: the flags that begin with `--etcd-`.
    pub etcd: Etcd,
    /// `--delete-collection-workers`.
    pub delete_collection_workers: usize,
    /// `--encryption-provider-config` and `--encryption-provider-config-automatic-reload`.
    pub encryption: Option<EncryptionSource>,
    /// `--cert-dir`, or the place for certificates in the data directory.
    pub cert_dir: PathBuf,
    /// `--write-kubeconfig`, or its place in the data directory.
    pub kubeconfig: PathBuf,
    /// `--tls-cert-file` and `--tls-private-key-file`.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// `--client-ca-file`.
    pub client_ca_file: Option<PathBuf>,
    /// `--token-auth-file`.
    pub token_auth_file: Option<PathBuf>,
    /// `--anonymous-auth`, which AlwaysAllow turns off.
    pub anonymous_auth: bool,
    /// `--authorization-mode`.
    pub authorization_modes: Vec<Mode>,
    /// `--service-cluster-ip-range`, the first one being the preferred family.
    pub service_cluster_ip_ranges: Vec<IpRange>,
    /// `--service-node-port-range`, first and last.
    pub service_node_ports: (u16, u16),
    /// `--service-account-issuer`, the first one signs.
    pub service_account_issuers: Vec<String>,
    /// `--service-account-key-file`.
    pub service_account_key_files: Vec<PathBuf>,
    /// `--service-account-signing-key-file`.
    pub service_account_signing_key_file: Option<PathBuf>,
    /// What else there is to say of service account tokens.
    pub service_account_tokens: Tokens,
    /// `--runtime-config`: group-versions, resources or `api/all`, `api/ga`, `api/beta`, `api/alpha`, in their order.
    pub runtime_config: Vec<(String, bool)>,
    /// `--feature-gates`.
    pub feature_gates: FeatureGates,
    /// `--enable-bootstrap-token-auth`.
    pub bootstrap_tokens: bool,
    /// What is known of a front proxy.
    pub front_proxy: FrontProxyFlags,
    /// `--enable-admission-plugins` and `--disable-admission-plugins`.
    pub admission_plugins: admission::Plugins,
    /// `--max-requests-inflight`; 0 is no limit.
    pub max_requests_inflight: i64,
    /// `--max-mutating-requests-inflight`; 0 is no limit.
    pub max_mutating_requests_inflight: i64,
    /// `--request-timeout`.
    pub request_timeout: Duration,
    /// `--min-request-timeout`: the least time that a watch is kept open.
    pub min_watch_seconds: u64,
    /// `--http2-max-streams-per-connection`; `None` is the server's default.
    pub max_streams_per_connection: Option<u32>,
    /// `--disable-http2-serving`.
    pub disable_http2: bool,
    /// `--goaway-chance`: the share of HTTP/2 requests after which a client is asked to connect anew.
    pub goaway_chance: f64,
    /// `--shutdown-delay-duration`: how long requests are still taken after the server is told to stop.
    pub shutdown_delay: Duration,
    /// Whether late requests are told to come again.
    pub shutdown_send_retry_after: bool,
    /// Over how long watches are ended.
    pub watch_termination_grace: Duration,
    /// `--tls-min-version`.
    pub tls_min_version: TlsVersion,
    /// `--tls-cipher-suites`; empty for all.
    pub tls_cipher_suites: Vec<String>,
    /// `--controllers`, `--controllers-settle-time` and `--event-ttl`.
    pub controllers: pintle_controllers::Settings,
    /// How kubelets are reached.
    pub kubelet: Kubelet,
    /// `--v`.
    pub verbosity: u32,
    /// What the user should be told about the combination of flags.
    pub warnings: Vec<String>,
}

/// How kubelets are reached: the flags that begin with `--kubelet-`.
#[derive(Clone, Debug)]
pub struct Kubelet {
    pub certificate_authority: Option<PathBuf>,
    pub client_certificate: Option<PathBuf>,
    pub client_key: Option<PathBuf>,
    pub address_types: Vec<String>,
    pub timeout: Duration,
}

impl Default for Kubelet {
    fn default() -> Self {
        Kubelet {
            certificate_authority: None,
            client_certificate: None,
            client_key: None,
            address_types: Backends::KUBELET_ADDRESS_TYPES.map(str::to_owned).to_vec(),
            timeout: pintle::KUBELET_TIMEOUT,
        }
    }
}

/// How service account tokens are made and believed, beside issuers and keys.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// `--api-audiences`; the issuers when empty.
    pub api_audiences: Vec<String>,
    /// `--service-account-extend-token-expiration`.
    pub extend_expiration: bool,
    /// `--service-account-max-token-expiration`; 0 is no bound.
    pub max_expiration: Duration,
    /// `--service-account-jwks-uri`.
    pub jwks_uri: Option<String>,
}

impl Default for Tokens {
    fn default() -> Self {
        Tokens { api_audiences: Vec::new(), extend_expiration: true, max_expiration: Duration::ZERO, jwks_uri: None }
    }
}

/// Why a command line is refused.
#[derive(Debug, PartialEq, Eq)]
pub enum FlagError {
    /// Nobody knows the flag.
    Unknown(String),
    /// kube-apiserver knows the flag, this program does not act on it.
    NotSupported(String),
    /// The flag needs a value.
    NoValue(String),
    /// The value cannot be used; with the reason.
    Invalid {
        /// The flag, without dashes.
        flag: &'static str,
        /// What was given.
        value: String,
        /// Half a sentence.
        reason: String,
    },
    /// Flags do not go together; a whole sentence that names them.
    Combination(String),
    /// There is no such command.
    UnknownCommand(String),
    /// A word that belongs to no flag.
    Stray(String),
}

impl fmt::Display for FlagError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlagError::Unknown(flag) => write!(f, "unknown flag: {flag}"),
            FlagError::NotSupported(flag) => write!(f, "flag {flag} is not supported"),
            FlagError::NoValue(flag) => write!(f, "flag needs an argument: {flag}"),
            FlagError::Invalid { flag, value, reason } => {
                write!(f, "invalid argument \"{value}\" for \"--{flag}\" flag: {reason}")
            }
            FlagError::Combination(sentence) => f.write_str(sentence),
            FlagError::UnknownCommand(word) => {
                write!(f, "unknown command \"{word}\"; \"serve\" is what there is")
            }
            FlagError::Stray(word) => write!(f, "unexpected argument: {word}"),
        }
    }
}

impl std::error::Error for FlagError {}

/// Reads a command line: the program's name first, then its arguments.
///
/// Without a command, or with none but flags, it serves on loopback; `serve`, or the name `kube-apiserver`, serves where
/// kube-apiserver would.
pub fn parse(command_line: impl IntoIterator<Item = String>) -> Result<Command, FlagError> {
    let mut words = command_line.into_iter().peekable();
    let program = words.next().unwrap_or_default();
    let mut draft = Draft::default();
    if file_name(&program) == "kube-apiserver" {
        draft.as_reference = true;
    } else if let Some(word) = words.next_if(|word| !word.starts_with('-')) {
        match word.as_str() {
            "serve" => draft.as_reference = true,
            "help" => return Ok(Command::Help(table::help())),
            "version" => return Ok(Command::Version),
            _ => return Err(FlagError::UnknownCommand(word)),
        }
    }
    while let Some(word) = words.next() {
        match one_flag(&word, &mut words)? {
            (Given::Help, _) => return Ok(Command::Help(table::help())),
            // `--version=false` is how Go programs are told not to.
            (Given::Version, value) if value != "false" => return Ok(Command::Version),
            (Given::Version, _) => {}
            (Given::Flag(flag), value) => {
                (flag.apply)(&mut draft, &value).map_err(|reason| FlagError::Invalid {
                    flag: flag.name,
                    value,
                    reason,
                })?;
            }
        }
    }
    draft.finish().map(|config| Command::Serve(Box::new(config)))
}

fn file_name(program: &str) -> &str {
    let name = Path::new(program).file_name().and_then(|name| name.to_str());
    name.unwrap_or_default()
}

/// A flag that was recognized.
enum Given {
    Help,
    Version,
    Flag(&'static Flag),
}

/// Recognizes a flag and finds its value, if need be in the next word.
fn one_flag(word: &str, rest: &mut impl Iterator<Item = String>) -> Result<(Given, String), FlagError> {
    let (written, inline) = match word.split_once('=') {
        Some((written, value)) => (written, Some(value.to_owned())),
        None => (word, None),
    };
    let name = match written.strip_prefix("--") {
        Some("") | None if !matches!(written, "-v" | "-h") => {
            return Err(match written.starts_with('-') && written.len() > 1 {
                true => FlagError::Unknown(word.to_owned()),
                false => FlagError::Stray(word.to_owned()),
            });
        }
        Some(name) => name.replace('_', "-"),
        None => written.trim_start_matches('-').to_owned(),
    };
    match name.as_str() {
        "help" | "h" => return Ok((Given::Help, String::new())),
        "version" => return Ok((Given::Version, inline.unwrap_or_default())),
        _ => {}
    }
    let Some(flag) = table::all().find(|flag| flag.name == name) else {
        let written = written.to_owned();
        return Err(match reference::NOT_SUPPORTED.binary_search(&name.as_str()) {
            Ok(_) => FlagError::NotSupported(written),
            Err(_) => FlagError::Unknown(written),
        });
    };
    let value = match inline {
        Some(value) => value,
        None if flag.is_switch() => "true".to_owned(),
        None => rest.next().ok_or(FlagError::NoValue(written.to_owned()))?,
    };
    Ok((Given::Flag(flag), value))
}

/// The flags as far as they have been read.
#[derive(Default)]
pub(crate) struct Draft {
    /// Whether defaults are kube-apiserver's.
    as_reference: bool,
    bind_address: Option<IpAddr>,
    secure_port: Option<u16>,
    advertise_address: Option<IpAddr>,
    external_hostname: Option<String>,
    browsers: Browsers,
    data_dir: Option<PathBuf>,
    storage: Option<Storage>,
    etcd: Etcd,
    delete_collection_workers: u32,
    encryption_config: Option<PathBuf>,
    encryption_reload: bool,
    cert_dir: Option<PathBuf>,
    kubeconfig: Option<PathBuf>,
    tls_cert_file: Option<PathBuf>,
    tls_private_key_file: Option<PathBuf>,
    client_ca_file: Option<PathBuf>,
    token_auth_file: Option<PathBuf>,
    anonymous_auth: Option<bool>,
    authorization_modes: Vec<Mode>,
    service_cluster_ip_ranges: Option<Vec<IpRange>>,
    service_node_ports: Option<(u16, u16)>,
    service_account_issuers: Vec<String>,
    service_account_key_files: Vec<PathBuf>,
    service_account_signing_key_file: Option<PathBuf>,
    service_account_tokens: Tokens,
    runtime_config: Vec<(String, bool)>,
    bootstrap_tokens: bool,
    front_proxy: FrontProxyFlags,
    admission_plugins: admission::Plugins,
    feature_gate_settings: Vec<String>,
    feature_gates: FeatureGates,
    max_requests_inflight: Option<u32>,
    max_mutating_requests_inflight: Option<u32>,
    request_timeout: Option<Duration>,
    min_request_timeout_seconds: Option<u32>,
    max_streams_per_connection: Option<u32>,
    disable_http2: bool,
    goaway_chance: f64,
    shutdown_delay: Duration,
    shutdown_send_retry_after: bool,
    watch_termination_grace: Duration,
    tls_min_version: TlsVersion,
    tls_cipher_suites: Vec<String>,
    controller_items: Vec<String>,
    controllers: Option<Vec<Controller>>,
    controllers_settle_time: Option<Duration>,
    event_ttl: Option<Duration>,
    kubelet: Kubelet,
    verbosity: u32,
}

impl Draft {
    /// Fills in the defaults and checks what one flag alone cannot show.
    fn finish(mut self) -> Result<Config, FlagError> {
        let mut warnings = Vec::new();
        let tls = self.tls_files()?;
        if self.kubelet.client_certificate.is_some() != self.kubelet.client_key.is_some() {
            let sentence = "--kubelet-client-certificate and --kubelet-client-key must be given together";
            return Err(FlagError::Combination(sentence.to_owned()));
        }
        if self.authorization_modes.is_empty() {
            // kube-apiserver would allow everything; a server that does so unasked is a trap.
            self.authorization_modes = vec![Mode::Node, Mode::Rbac];
        }
        self.front_proxy.check(&mut warnings)?;
        if self.advertise_address.is_some_and(|address| !pintle::advertised::is_endpoint(address)) {
            let sentence = "--advertise-address is no address for pods: the kubernetes service has no endpoints";
            warnings.push(sentence.to_owned());
        }
        let storage = self.etcd.storage(self.storage)?;
        if self.encryption_reload && self.encryption_config.is_none() {
            let sentence =
                "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config";
            return Err(FlagError::Combination(sentence.to_owned()));
        }
        let mut anonymous_auth = self.anonymous_auth.unwrap_or(true);
        if anonymous_auth && self.authorization_modes.contains(&Mode::AlwaysAllow) {
            anonymous_auth = false;
            if self.anonymous_auth.is_some() {
                warnings.push(
                    "--anonymous-auth is not allowed with the authorization mode AlwaysAllow and has been turned off"
                        .to_owned(),
                );
            }
        }
        let data_dir = self.data_dir.unwrap_or_else(|| PathBuf::from("pintle-data"));
        let everywhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let default_address = if self.as_reference { everywhere } else { loopback };
        let default_range = IpRange::parse("10.0.0.0/24").into_iter().collect();
        let config = Config {
            bind_address: self.bind_address.unwrap_or(default_address),
            secure_port: self.secure_port.unwrap_or(6443),
            advertise_address: self.advertise_address,
            external_hostname: self.external_hostname,
            browsers: self.browsers,
            storage,
            etcd: self.etcd,
            delete_collection_workers: self.delete_collection_workers.max(1) as usize,
            encryption: self.encryption_config.map(|path| EncryptionSource {
                path,
                reload: self.encryption_reload,
                ..EncryptionSource::default()
            }),
            cert_dir: self.cert_dir.unwrap_or_else(|| data_dir.join("certs")),
            kubeconfig: self.kubeconfig.unwrap_or_else(|| data_dir.join("kubeconfig")),
            data_dir,
            tls,
            client_ca_file: self.client_ca_file,
            token_auth_file: self.token_auth_file,
            anonymous_auth,
            authorization_modes: self.authorization_modes,
            service_cluster_ip_ranges: self.service_cluster_ip_ranges.unwrap_or(default_range),
            service_node_ports: self.service_node_ports.unwrap_or((30000, 32767)),
            service_account_issuers: self.service_account_issuers,
            service_account_key_files: self.service_account_key_files,
            service_account_signing_key_file: self.service_account_signing_key_file,
            service_account_tokens: self.service_account_tokens,
            runtime_config: self.runtime_config,
            feature_gates: self.feature_gates,
            bootstrap_tokens: self.bootstrap_tokens,
            front_proxy: self.front_proxy,
            admission_plugins: self.admission_plugins.checked()?,
            max_requests_inflight: self.max_requests_inflight.map_or(limits::READ_ONLY_REQUESTS_IN_FLIGHT, i64::from),
            max_mutating_requests_inflight: self
                .max_mutating_requests_inflight
                .map_or(limits::MUTATING_REQUESTS_IN_FLIGHT, i64::from),
            request_timeout: self.request_timeout.unwrap_or(limits::REQUEST_TIMEOUT),
            min_watch_seconds: self.min_request_timeout_seconds.map_or(limits::MIN_WATCH_SECONDS, u64::from),
            max_streams_per_connection: self.max_streams_per_connection,
            disable_http2: self.disable_http2,
            goaway_chance: self.goaway_chance,
            shutdown_delay: self.shutdown_delay,
            shutdown_send_retry_after: self.shutdown_send_retry_after,
            watch_termination_grace: self.watch_termination_grace,
            tls_min_version: self.tls_min_version,
            tls_cipher_suites: self.tls_cipher_suites,
            controllers: pintle_controllers::Settings {
                enabled: self.controllers.unwrap_or_else(|| Controller::ALL.to_vec()),
                settle_time: self.controllers_settle_time.unwrap_or(CONTROLLERS_SETTLE_TIME),
                event_ttl: self.event_ttl,
                ..pintle_controllers::Settings::default()
            },
            kubelet: self.kubelet,
            verbosity: self.verbosity,
            warnings,
        };
        config.check_files()?;
        Ok(config)
    }

    fn tls_files(&mut self) -> Result<Option<(PathBuf, PathBuf)>, FlagError> {
        match (self.tls_cert_file.take(), self.tls_private_key_file.take()) {
            (Some(cert), Some(key)) => Ok(Some((cert, key))),
            (None, None) => Ok(None),
            _ => Err(FlagError::Combination(
                "--tls-cert-file and --tls-private-key-file must be given together".to_owned(),
            )),
        }
    }
}

impl Config {
    /// Every file that a flag names must be there and readable now, not when it is first needed.
    fn check_files(&self) -> Result<(), FlagError> {
        let (cert, key) = self.tls.as_ref().map(|(cert, key)| (cert, key)).unzip();
        let single = [
            ("tls-cert-file", cert),
            ("tls-private-key-file", key),
            ("client-ca-file", self.client_ca_file.as_ref()),
            ("requestheader-client-ca-file", self.front_proxy.client_ca_file.as_ref()),
            ("proxy-client-cert-file", self.front_proxy.client_certificate.as_ref()),
            ("proxy-client-key-file", self.front_proxy.client_key.as_ref()),
            ("encryption-provider-config", self.encryption.as_ref().map(|source| &source.path)),
            ("etcd-cafile", self.etcd.ca_file.as_ref()),
            ("etcd-certfile", self.etcd.cert_file.as_ref()),
            ("etcd-keyfile", self.etcd.key_file.as_ref()),
            ("kubelet-certificate-authority", self.kubelet.certificate_authority.as_ref()),
            ("kubelet-client-certificate", self.kubelet.client_certificate.as_ref()),
            ("kubelet-client-key", self.kubelet.client_key.as_ref()),
            ("token-auth-file", self.token_auth_file.as_ref()),
            ("service-account-signing-key-file", self.service_account_signing_key_file.as_ref()),
        ];
        let keys = self.service_account_key_files.iter();
        let keys = keys.map(|path| ("service-account-key-file", Some(path)));
        for (flag, path) in single.into_iter().chain(keys) {
            let Some(path) = path else { continue };
            // Opening, not only looking: permissions count too. A directory opens but is no file.
            let problem = match std::fs::File::open(path).and_then(|file| file.metadata()) {
                Ok(metadata) if metadata.is_dir() => "is a directory".to_owned(),
                Ok(_) => continue,
                Err(error) => error.to_string(),
            };
            return Err(FlagError::Invalid { flag, value: path.display().to_string(), reason: problem });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
