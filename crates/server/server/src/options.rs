//! `Options`: the flags of a server with custom groups, with kube-apiserver's names. Guarantees that an unknown flag or
//! gate is rejected by its name. Must never start anything.

use crate::certs::{self, AdministratorBy, ServingNames};
use crate::delegation::{Delegation, DelegationError};
use crate::{AuthenticatedUsers, Builder, Serving, StartError};
use pintle_auth::authentication::{AnonymousAccess, CurrentAnonymousAccess, TokenFile, TokenFileError};
#[cfg(feature = "etcd")]
use pintle_etcd::{EtcdOptions, EtcdStore};
use pintle_http::{TlsConfig, TlsMaterial};
#[cfg(feature = "etcd")]
use pintle_meta::gates;
use pintle_registry::EtcdCodec;
use pintle_resource::Group;
#[cfg(feature = "etcd")]
use pintle_resource::Resources;
use pintle_schema::Gate;
use pintle_schema::gates::FeatureGates;
use pintle_schema::version::EffectiveVersion;
#[cfg(feature = "etcd")]
use pintle_storage::TranscodingStore;
use pintle_storage::{EmbeddedOptions, EmbeddedStore, MemoryStore, Store, StoreError};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::net::TcpListener;

const SKIP_LOOKUP: &str = "--authentication-skip-lookup";
const TOLERATE_LOOKUP_FAILURE: &str = "--authentication-tolerate-lookup-failure";

/// Flags that need no value.
const SWITCHES: [&str; 2] = [SKIP_LOOKUP, TOLERATE_LOOKUP_FAILURE];

/// The flags of a server.
#[derive(Clone, Debug)]
pub struct Options {
    pub bind_address: IpAddr,
    pub secure_port: u16,
    /// The directory of the store and the certificates; `None` keeps objects in memory and certificates in the working
    /// directory.
    pub data_dir: Option<PathBuf>,
    /// A file of bearer tokens and their users.
    pub token_auth_file: Option<PathBuf>,
    /// URLs of the etcd cluster that objects are kept in, instead of the data directory.
    #[cfg(feature = "etcd")]
    pub etcd_servers: Vec<String>,
    /// The feature gates that flags set, in their order.
    pub feature_gates: Vec<(&'static Gate, bool)>,
    /// The serving certificate and its key; one is made where they are not given.
    pub tls_cert_file: Option<PathBuf>,
    pub tls_private_key_file: Option<PathBuf>,
    /// The server that authenticates and authorizes requests, if another one does.
    pub delegation: Delegation,
    /// Other flags, which only the server itself knows, with their values.
    pub others: Vec<(String, String)>,
}

/// Why a server cannot be started with these flags.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    #[error("unknown flag: {0}")]
    UnknownFlag(String),
    #[error("flag needs an argument: {0}")]
    NoValue(String),
    #[error("invalid argument {value:?} for {flag:?} flag: {why}")]
    Invalid { flag: String, value: String, why: String },
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: std::io::Error },
    #[error("--token-auth-file: {0}")]
    Tokens(#[from] TokenFileError),
    #[error(transparent)]
    Certificates(#[from] certs::CertsError),
    #[error("the certificates cannot be used: {0}")]
    Tls(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("--tls-cert-file and --tls-private-key-file must be given together")]
    HalfAPair,
    #[error(transparent)]
    Delegation(#[from] DelegationError),
    #[error("the port cannot be bound: {0}")]
    Bind(std::io::Error),
}

impl Default for Options {
    fn default() -> Self {
        Options {
            bind_address: Ipv4Addr::UNSPECIFIED.into(),
            secure_port: 6443,
            data_dir: None,
            token_auth_file: None,
            #[cfg(feature = "etcd")]
            etcd_servers: Vec::new(),
            feature_gates: Vec::new(),
            tls_cert_file: None,
            tls_private_key_file: None,
            delegation: Delegation::default(),
            others: Vec::new(),
        }
    }
}

impl Options {
    /// Reads `--name=value` and `--name value`. The gates are all that the server has, the others its own flags.
    ///
    /// # Errors
    /// A flag or gate is not known, or a value cannot be read.
    pub fn parse(
        arguments: impl IntoIterator<Item = String>,
        gates: &[&'static Gate],
        others: &[&str],
    ) -> Result<Options, OptionsError> {
        let mut options = Options::default();
        let known = FeatureGates::of(gates::ALL.iter().chain(gates).copied());
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (flag, value) = match argument.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), value.to_owned()),
                None if SWITCHES.contains(&argument.as_str()) => (argument, "true".to_owned()),
                None => {
                    let value = arguments.next().ok_or_else(|| OptionsError::NoValue(argument.clone()))?;
                    (argument, value)
                }
            };
            let invalid = |why: String| OptionsError::Invalid { flag: flag.clone(), value: value.clone(), why };
            match flag.as_str() {
                "--bind-address" => {
                    options.bind_address = value.parse().map_err(|_| invalid("no IP address".into()))?
                }
                "--secure-port" => options.secure_port = value.parse().map_err(|_| invalid("no port".into()))?,
                "--data-dir" => options.data_dir = Some(value.into()),
                "--token-auth-file" => options.token_auth_file = Some(value.into()),
                #[cfg(feature = "etcd")]
                "--etcd-servers" => options.etcd_servers = value.split(',').map(str::to_owned).collect(),
                "--tls-cert-file" => options.tls_cert_file = Some(value.into()),
                "--tls-private-key-file" => options.tls_private_key_file = Some(value.into()),
                "--authentication-kubeconfig" => options.delegation.authentication_kubeconfig = Some(value.into()),
                "--authorization-kubeconfig" => options.delegation.authorization_kubeconfig = Some(value.into()),
                SKIP_LOOKUP | TOLERATE_LOOKUP_FAILURE => {
                    let on = value.parse().map_err(|_| invalid("must be true or false".into()))?;
                    match flag.as_str() {
                        SKIP_LOOKUP => options.delegation.skip_lookup = on,
                        _ => options.delegation.tolerate_lookup_failure = on,
                    }
                }
                "--authorization-always-allow-paths" => {
                    let paths = value.split(',').filter(|path| !path.is_empty()).map(str::to_owned);
                    options.delegation.always_allow_paths = Some(paths.collect());
                }
                "--feature-gates" => {
                    for gate in value.split(',').filter(|gate| !gate.is_empty()) {
                        let (name, on) = gate.split_once('=').unwrap_or((gate, ""));
                        let on: bool = on.parse().map_err(|_| invalid(format!("missing bool value for {name}")))?;
                        let gate = known.find(name);
                        let gate = gate.ok_or_else(|| invalid(format!("unrecognized feature gate: {name}")))?;
                        gate.check(on, EffectiveVersion::default()).map_err(|error| invalid(error.to_string()))?;
                        options.feature_gates.push((gate, on));
                    }
                }
                flag if others.contains(&flag) => options.others.push((flag.to_owned(), value)),
                _ => return Err(OptionsError::UnknownFlag(flag)),
            }
        }
        Ok(options)
    }

    /// The value of one of the server's own flags: the last that was given.
    pub fn other(&self, flag: &str) -> Option<&str> {
        self.others.iter().rev().find(|(name, _)| name == flag).map(|(_, value)| value.as_str())
    }

    /// A server of these groups, with the store, the listener, the users and the gates of the flags. Authenticated
    /// users may do everything, unless authorization is delegated.
    ///
    /// # Errors
    /// A file cannot be read, the store cannot be opened, the port is taken, or the delegated server does not respond.
    pub async fn builder(&self, groups: Vec<Group>) -> Result<Builder, OptionsError> {
        #[cfg(feature = "etcd")]
        let store = if self.etcd_servers.is_empty() { self.own_store()? } else { self.cluster(&groups)? };
        #[cfg(not(feature = "etcd"))]
        let store = self.own_store()?;
        let mut builder = Builder::new(store);
        groups.into_iter().for_each(|group| builder.add_group(group));
        if let Some(path) = &self.token_auth_file {
            let text =
                std::fs::read_to_string(path).map_err(|error| OptionsError::File { path: path.clone(), error })?;
            builder.add_authenticator(Arc::new(TokenFile::parse(&text)?));
        }
        let tls = self.tls()?;
        for authenticator in self.delegation.authenticators(&tls).await? {
            builder.add_authenticator(authenticator);
        }
        builder.set_anonymous(CurrentAnonymousAccess::new(AnonymousAccess::everywhere(true)));
        let mut authorizers = self.delegation.authorizers()?;
        if authorizers.is_empty() {
            authorizers.push(AuthenticatedUsers::named());
        }
        builder.prepend_authorizers(authorizers);
        self.feature_gates.iter().for_each(|(gate, value)| builder.gates.set(gate, *value));
        let socket = TcpListener::bind((self.bind_address, self.secure_port)).await.map_err(OptionsError::Bind)?;
        builder.listen(socket, Some(tls));
        Ok(builder)
    }

    /// The store in the named cluster.
    #[cfg(feature = "etcd")]
    fn cluster(&self, groups: &[Group]) -> Result<Arc<dyn Store>, OptionsError> {
        let resources = Arc::new(Resources::default());
        resources.update(|table| {
            groups.iter().for_each(|group| table.install_group(group, |_| true));
        });
        let options = EtcdOptions { endpoints: self.etcd_servers.clone(), ..EtcdOptions::default() };
        let etcd: Arc<dyn Store> = Arc::new(EtcdStore::new(options)?);
        Ok(Arc::new(TranscodingStore::new(etcd, Arc::new(EtcdCodec::new(resources)))))
    }

    /// The store in the data directory if there is one, in memory otherwise.
    fn own_store(&self) -> Result<Arc<dyn Store>, OptionsError> {
        let Some(directory) = &self.data_dir else { return Ok(Arc::new(MemoryStore::new())) };
        let file = |error| OptionsError::File { path: directory.clone(), error };
        crate::private_files::create_directory(directory).map_err(file)?;
        Ok(Arc::new(EmbeddedStore::open(&directory.join("store"), EmbeddedOptions::default())?))
    }

    /// The serving certificate, created if none is given.
    fn tls(&self) -> Result<Arc<TlsConfig>, OptionsError> {
        let directory = self.data_dir.clone().unwrap_or_default().join("pki");
        let names = ServingNames::new(certs::host_name().as_deref(), [self.bind_address]);
        let given = match (&self.tls_cert_file, &self.tls_private_key_file) {
            (Some(certificate), Some(key)) => Some((certificate.as_path(), key.as_path())),
            (None, None) => None,
            _ => return Err(OptionsError::HalfAPair),
        };
        let made = certs::ensure(&directory, given, AdministratorBy::Certificate, &names, SystemTime::now())?;
        let material = TlsMaterial {
            cert_chain_pem: made.serving_cert_pem.into_bytes(),
            key_pem: made.serving_key_pem.into_bytes(),
            ..TlsMaterial::default()
        };
        TlsConfig::new(&material).map(Arc::new).map_err(|error| OptionsError::Tls(error.to_string()))
    }

    /// Starts the server, calls `ready` once it serves, and stops it when the process receives SIGTERM or an interrupt.
    ///
    /// # Errors
    /// The server cannot be started, or one of its essential parts has failed.
    pub async fn serve(builder: Builder, ready: impl FnOnce(&Serving)) -> Result<(), StartError> {
        let server = builder.start().await?;
        ready(&server);
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        let failure = tokio::select! {
            why = server.ended() => Some(why),
            _ = terminate.recv() => None,
            _ = tokio::signal::ctrl_c() => None,
        };
        server.stop().await?;
        failure.map_or(Ok(()), |why| Err(StartError::Io(std::io::Error::other(why.to_string()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::gates::alpha;

    const FROBBER_2D: Gate = Gate::new("Frobber2D", &[alpha(36)]);

    fn parsed(arguments: &[&str]) -> Result<Options, String> {
        let arguments = arguments.iter().map(ToString::to_string);
        Options::parse(arguments, &[&FROBBER_2D], &["--own"]).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_are_read_in_both_forms() {
        let options = parsed(&["--secure-port=1", "--data-dir", "d", "--feature-gates=Frobber2D=true", "--own", "x"]);
        let options = options.expect("good flags");
        assert_eq!((options.secure_port, options.data_dir), (1, Some("d".into())));
        assert_eq!((options.feature_gates, options.others.len()), (vec![(&FROBBER_2D, true)], 1));
        let options = parsed(&["--authentication-skip-lookup", "--authentication-tolerate-lookup-failure=false"]);
        let delegation = options.expect("good flags").delegation;
        assert!(delegation.skip_lookup && !delegation.tolerate_lookup_failure);
    }

    #[test]
    fn unknown_flags_are_rejected_by_name() {
        let rows = [
            (&["--secure"][..], "flag needs an argument: --secure"),
            (&["--secure", "1"], "unknown flag: --secure"),
            (&["--secure-port", "x"], "invalid argument \"x\" for \"--secure-port\" flag: no port"),
            (
                &["--feature-gates=Other=true"],
                "invalid argument \"Other=true\" for \"--feature-gates\" flag: unrecognized feature gate: Other",
            ),
            (
                &["--feature-gates=Frobber2D"],
                "invalid argument \"Frobber2D\" for \"--feature-gates\" flag: missing bool value for Frobber2D",
            ),
        ];
        for (arguments, why) in rows {
            assert_eq!(parsed(arguments).expect_err("bad flags"), why);
        }
    }
}
