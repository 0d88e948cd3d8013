//! The configuration of a server from its command line, with kube-apiserver's defaults. Guarantees that a checked
//! configuration is consistent. Must never read a file: files are read after all flags have been validated.

use super::admission::Plugins;
use super::audit::AuditFlags;
use super::authentication::AuthenticationFlags;
use super::authorization::AuthorizationFlags;
use super::controllers::ControllerNames;
use super::diagnostics::LogFlags;
use super::front_proxy::FrontProxyFlags;
use super::kubelet::Kubelet;
use super::network::{NetworkFlags, ReconcilerType};
use super::process::ProcessFlags;
use super::servers::{self, PeerFlags};
use super::service_accounts::ServiceAccounts;
use super::setting::InputFile;
use super::storage::{Etcd, Storage, StorageFlags};
use super::surface::SurfaceFlags;
use super::table::{self, Flag};
use super::tls::TlsFlags;
use super::version::VersionFlags;
use super::{FlagError, gates::parse, runtime_config};
use crate::config_files::encryption::EncryptionSource;
use crate::logs::LogFormat;
use pintle::EndpointReconciler;
use pintle::certs::AdministratorBy;
use pintle_controllers::Controller;
use pintle_endpoints::Settings;
use pintle_endpoints::runtime_config::RuntimeConfig;
use pintle_gates as gates;
use pintle_http::ServerConfig;
use pintle_kubernetes_auth::Mode;
use pintle_schema::GateSet;
use pintle_schema::gates::FeatureGates;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The delay before controllers act: long enough for a client that deletes an object and reads it in its next request,
/// too short to be noticed.
const CONTROLLERS_SETTLE_TIME: Duration = Duration::from_millis(500);

/// A struct with the defaults of its fields; a field without one has its type's default.
macro_rules! with_defaults {
    ($(#[$about:meta])* pub struct $name:ident {
        $($(#[$doc:meta])* $visible:vis $field:ident: $type:ty $(= $default:expr)?,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $($(#[$doc])* $visible $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: with_defaults!(@ $($default)?),)* }
            }
        }
    };
    (@ $default:expr) => { $default };
    (@) => { Default::default() };
}

pub(super) use with_defaults;

with_defaults! {
    /// The configuration of a server from its command line. A field belongs to the file of its flags.
    pub struct Config {
        pub network: NetworkFlags,
        pub storage: StorageFlags,
        pub etcd: Etcd,
        pub tls: TlsFlags,
        pub authentication: AuthenticationFlags,
        pub service_accounts: ServiceAccounts,
        pub front_proxy: FrontProxyFlags,
        pub authorization: AuthorizationFlags,
        /// Group-versions, resources or `api/all`, `api/ga`, `api/beta`, `api/alpha`, in their order.
        pub runtime_config: RuntimeConfig,
        /// What the flags say of feature gates.
        pub gates: FeatureGates = pintle_gates::all(),
        /// Which feature gates are on.
        pub feature_gates: GateSet,
        /// The items of all `--feature-gates` flags.
        pub(super) gate_items: Vec<String>,
        /// The releases to emulate and to be compatible with.
        pub(super) versions: VersionFlags,
        pub peers: PeerFlags,
        pub admission_plugins: Plugins,
        pub audit: AuditFlags,
        pub surface: SurfaceFlags,
        /// The caller that knows all addresses sets the address in it.
        pub settings: Settings,
        pub connections: ServerConfig,
        pub controllers: pintle_controllers::Settings =
            pintle_controllers::Settings { settle_time: CONTROLLERS_SETTLE_TIME, ..Default::default() },
        pub(super) controller_names: ControllerNames,
        pub kubelet: Kubelet,
        pub process: ProcessFlags,
        pub logs: LogFlags,
        /// The values of flags as given on the command line.
        pub(super) given: BTreeMap<&'static str, Vec<String>>,
        /// Warnings about the combination of flags.
        pub warnings: Vec<String>,
    }
}

/// A certificate and its key: both or neither.
#[derive(Clone, Debug, Default)]
pub struct KeyPair {
    pub certificate: Option<InputFile>,
    pub key: Option<InputFile>,
}

impl Config {
    /// The configuration of a server that is all there is of a control plane: it listens on loopback and runs every
    /// controller.
    pub(super) fn alone() -> Config {
        let mut config = Config::default();
        config.controller_names.by_default = Controller::ALL.to_vec();
        config.controllers.enabled.clone_from(&config.controller_names.by_default);
        config
    }

    /// The configuration of a server in kube-apiserver's place: it listens on kube-apiserver's default address, and
    /// leaves to kube-controller-manager what that does in every namespace.
    pub(super) fn in_place_of_kube_apiserver() -> Config {
        let mut config = Config::default();
        config.network.bind_address = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        config
    }

    /// Checks flags against each other.
    ///
    /// # Errors
    /// Flags contradict each other.
    pub(super) fn checked(mut self) -> Result<Config, FlagError> {
        if self.authorization.modes.is_empty() && self.authorization.config_file.is_none() {
            // kube-apiserver would allow every request, which is a dangerous default.
            self.authorization.modes = vec![Mode::Node.into(), Mode::Rbac.into()];
        }
        self.authentication.check()?;
        self.authorization.check(&self.given)?;
        for (pair, flags) in [
            (&self.tls.pair, "--tls-cert-file and --tls-private-key-file"),
            (&self.kubelet.identity, "--kubelet-client-certificate and --kubelet-client-key"),
            (&self.etcd.identity, "--etcd-certfile and --etcd-keyfile"),
            (&self.front_proxy.identity, "--proxy-client-cert-file and --proxy-client-key-file"),
        ] {
            if pair.certificate.is_some() != pair.key.is_some() {
                return Err(FlagError::Combination(format!("{flags} must be given together")));
            }
        }
        let refused = |sentence: &str| Err(FlagError::Combination(sentence.to_owned()));
        let by_file = self.authorization.config_file.is_some();
        match (self.authorization.modes.contains(&Mode::Abac.into()), &self.authorization.policy_file) {
            (true, None) => return refused("authorization-mode ABAC's authorization policy file not passed"),
            (false, Some(_)) if !by_file => {
                return refused("cannot specify --authorization-policy-file without mode ABAC");
            }
            _ => {}
        }
        if self.storage.own.is_some() && !self.etcd.servers.is_empty() {
            return refused("--storage and --etcd-servers exclude each other");
        }
        if self.etcd.servers.is_empty() && !self.etcd.overrides.is_empty() {
            return refused("--etcd-servers-overrides needs --etcd-servers: the embedded store has all resources");
        }
        if self.storage.encryption_reload && self.storage.encryption_config.is_none() {
            return refused(
                "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config",
            );
        }
        let accounts = &self.service_accounts;
        if accounts.signing_endpoint.is_some() {
            if accounts.signing_key_file.is_some() {
                return refused(
                    "service-account-signing-key-file and service-account-signing-endpoint are mutually exclusive and \
                     cannot be set at the same time",
                );
            }
            if !accounts.key_files.0.is_empty() {
                return refused(
                    "service-account-key-file and service-account-signing-endpoint are mutually exclusive and cannot \
                     be set at the same time",
                );
            }
        }
        if self.logs.format == LogFormat::Json && !self.logs.modules.is_empty() {
            return refused("vmodule: Forbidden: Only supported for text log format");
        }
        let (reading, mutating) = (self.settings.max_read_only_in_flight, self.settings.max_mutating_in_flight);
        if self.settings.priority_and_fairness && reading.saturating_add(mutating) <= 0 {
            return Err(FlagError::Combination(format!(
                "invalid configuration: MaxRequestsInFlight={reading} and MaxMutatingRequestsInFlight={mutating}; they must \
                 add up to something positive"
            )));
        }
        self.admission_plugins.check()?;
        self.audit.check()?;
        self.runtime_config.version = self.versions.effective()?;
        self.set_gates()?;
        self.versions.apply(&mut self.runtime_config, &mut self.warnings, &self.feature_gates)?;
        // Without these gates, earlier releases keep allocated addresses in one object, too.
        let records_ranges = [&gates::MULTI_CIDR_SERVICE_ALLOCATOR, &gates::DISABLE_ALLOCATOR_DUAL_WRITE]
            .iter()
            .any(|gate| !self.feature_gates.is_on(gate));
        if let Some(sentence) = self.network.service_ranges.too_large().filter(|_| records_ranges) {
            return Err(FlagError::Combination(sentence));
        }
        runtime_config::check(&self)?;
        servers::check(&self)?;
        self.front_proxy.check(&mut self.warnings)?;
        let mut warn = |sentence: &str| self.warnings.push(sentence.to_owned());
        let early = |version: &String| matches!(version.as_str(), "VersionTLS10" | "VersionTLS11");
        if self.given.get("tls-min-version").and_then(|versions| versions.last()).is_some_and(early) {
            warn("--tls-min-version is VersionTLS12: earlier versions are not spoken");
        }
        let advertised = self.network.advertise_address.filter(|address| !address.is_unspecified());
        if advertised.is_some_and(|address| !pintle::advertised::is_endpoint(address)) {
            warn("--advertise-address is no address for pods: the kubernetes service has no endpoints");
        }
        if self.authorization.modes.contains(&Mode::AlwaysAllow.into())
            && self.authentication.anonymous.replace(false) == Some(true)
        {
            warn("--anonymous-auth is not allowed with the authorization mode AlwaysAllow and has been turned off");
        }
        Ok(self)
    }

    /// Checks the advertised address, which may be that of the machine.
    ///
    /// # Errors
    /// The `kubernetes` service would have an address of one family and endpoints of the other one.
    pub fn check_family(&self, advertised: Option<IpAddr>) -> Result<(), FlagError> {
        let (Some(range), Some(address)) = (self.network.service_ranges.first(), advertised) else { return Ok(()) };
        let fits = range.is_ipv4() == address.to_canonical().is_ipv4();
        match fits || self.network.endpoint_reconciler == ReconcilerType::None {
            true => Ok(()),
            false => Err(FlagError::Combination(format!(
                "service IP family \"{range}\" must match public address family \"{address}\""
            ))),
        }
    }

    /// Sets the feature gates, with their defaults in the emulated version.
    fn set_gates(&mut self) -> Result<(), FlagError> {
        let version = self.runtime_config.version;
        let invalid = |reason| FlagError::Invalid { flag: "feature-gates", value: self.gate_items.join(","), reason };
        self.gates = parse(self.gate_items.iter().map(String::as_str), version).map_err(invalid)?;
        self.feature_gates = self.gates.resolve(version).map_err(|error| invalid(error.to_string()))?;
        Ok(())
    }

    /// Where objects are stored: in etcd if flags name its servers.
    pub fn storage(&self) -> Storage {
        match self.etcd.servers.is_empty() {
            true => self.storage.own.unwrap_or(Storage::Embedded),
            false => Storage::Etcd,
        }
    }

    pub fn encryption(&self) -> Option<EncryptionSource> {
        let path = self.storage.encryption_config.as_deref()?.to_owned();
        Some(EncryptionSource { path, reload: self.storage.encryption_reload, ..EncryptionSource::default() })
    }

    /// How the administrator of the generated kubeconfig authenticates. With a client CA file, certificates of the
    /// server's own authority are not trusted.
    pub fn administrator(&self) -> AdministratorBy {
        match self.authentication.client_ca_file {
            Some(_) => AdministratorBy::Token,
            None => AdministratorBy::Certificate,
        }
    }

    /// The files named by flags that contain secrets.
    pub fn secret_files(&self) -> impl Iterator<Item = &Path> {
        let pairs = [&self.tls.pair, &self.kubelet.identity, &self.etcd.identity, &self.front_proxy.identity];
        let keys = pairs.into_iter().filter_map(|pair| pair.key.as_deref());
        let others = [
            &self.authentication.token_file,
            &self.storage.encryption_config,
            &self.service_accounts.signing_key_file,
            &self.authentication.webhook_file,
            &self.authorization.webhook_file,
        ];
        let named = self.tls.named.0.iter().map(|pair| &*pair.key);
        let keys = keys.chain(named);
        keys.chain(others.into_iter().filter_map(|file| file.as_deref()))
    }

    /// All flags with their values. Flags name files with secrets, and contain none.
    pub fn shown(&self) -> BTreeMap<String, String> {
        let mut config = self.clone();
        let mut value = |flag: &Flag| flag.shown(&mut config, self.given.get(flag.name).map(Vec::as_slice));
        table::all().map(|flag| (flag.name.to_owned(), value(flag))).collect()
    }

    /// How servers keep the addresses of the `kubernetes` service.
    pub fn endpoint_reconciler(&self) -> EndpointReconciler {
        match self.network.endpoint_reconciler {
            ReconcilerType::Lease => EndpointReconciler::Lease,
            ReconcilerType::MasterCount => EndpointReconciler::Count(self.network.apiserver_count),
            ReconcilerType::None => EndpointReconciler::None,
        }
    }

    pub fn cert_dir(&self) -> PathBuf {
        self.tls.cert_dir.clone().unwrap_or_else(|| self.storage.data_dir.join("certs"))
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.tls.kubeconfig.clone().unwrap_or_else(|| self.storage.data_dir.join("kubeconfig"))
    }
}

impl KeyPair {
    /// Certificate and key.
    pub fn files(&self) -> Option<(&Path, &Path)> {
        self.certificate.as_deref().zip(self.key.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn run(line: &str) -> Result<Config, String> {
        match parse(["pintle"].into_iter().chain(line.split(' ')).map(str::to_owned)) {
            Ok(Command::Serve(config)) => Ok(*config),
            Ok(other) => panic!("{line}: {other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn priority_and_fairness_needs_its_api() {
        let refused = |name: &str| {
            Err(format!("--runtime-config={name}=false conflicts with --enable-priority-and-fairness=true"))
        };
        for (line, expected) in [
            ("--runtime-config=api/all=false,v1=true", refused("api/all")),
            ("--runtime-config=api/ga=false", refused("api/ga")),
            ("--runtime-config=flowcontrol.apiserver.k8s.io/v1=false", refused("flowcontrol.apiserver.k8s.io/v1")),
            ("--runtime-config=api/all=false,flowcontrol.apiserver.k8s.io/v1=true", Ok(())),
            ("--runtime-config=api/ga=true,api/all=false", Ok(())),
            ("--runtime-config=api/ga=false --enable-priority-and-fairness=false", Ok(())),
        ] {
            assert_eq!(run(line).map(drop), expected, "{line}");
        }
    }

    #[test]
    fn the_kubernetes_service_has_one_family() {
        let refused = |range: &str, address: &str| {
            Err(FlagError::Combination(format!(
                "service IP family \"{range}\" must match public address family \"{address}\""
            )))
        };
        let without = "--endpoint-reconciler-type=none --service-cluster-ip-range=fd00::/108";
        for (line, advertised, expected) in [
            ("--service-cluster-ip-range=10.0.0.0/24,fd00::/108", "10.1.0.1", Ok(())),
            ("--service-cluster-ip-range=10.0.0.0/24,fd00::/108", "fd01::1", refused("10.0.0.0/24", "fd01::1")),
            ("--service-cluster-ip-range=fd00::/108", "fd01::1", Ok(())),
            ("--service-cluster-ip-range=fd00::/108", "10.1.0.1", refused("fd00::/108", "10.1.0.1")),
            (without, "10.1.0.1", Ok(())),
        ] {
            let config = run(line).expect(line);
            assert_eq!(config.check_family(advertised.parse().ok()), expected, "{line}");
            assert_eq!(config.check_family(None), Ok(()), "{line}");
        }
    }

    #[test]
    fn flags_of_peers_need_their_gate() {
        let refused =
            |flag: &str| Err(format!("--{flag} requires UnknownVersionInteroperabilityProxy feature to be turned on"));
        let off = "--feature-gates=UnknownVersionInteroperabilityProxy=false";
        for (line, expected) in [
            ("--peer-advertise-ip=10.0.0.9".to_owned(), Ok(())),
            (format!("{off} --peer-advertise-ip=10.0.0.9"), refused("peer-advertise-ip")),
            (format!("{off} --peer-advertise-port=7"), refused("peer-advertise-port")),
            (format!("{off} --peer-ca-file=/dev/null"), refused("peer-ca-file")),
        ] {
            assert_eq!(run(&line).map(drop), expected, "{line}");
        }
    }

    #[test]
    fn values_that_stand_for_the_default() {
        for (line, warnings) in [
            ("--tls-min-version=", 0),
            ("--tls-min-version=VersionTLS10", 1),
            ("--tls-min-version=VersionTLS11 --tls-min-version=VersionTLS12", 0),
            ("--advertise-address=0.0.0.0", 0),
        ] {
            let config = run(line).expect(line);
            assert_eq!(config.tls.min_version, pintle_http::TlsVersion::Tls12, "{line}");
            assert_eq!(config.warnings.len(), warnings, "{line}: {:?}", config.warnings);
        }
    }

    #[test]
    fn earlier_releases_bound_the_ranges_of_services() {
        let too_large =
            "specified --service-cluster-ip-range is too large; for 32-bit addresses, the mask must be >= 12";
        for (line, expected) in [
            ("--service-cluster-ip-range=10.0.0.0/8", Ok("10.0.0.0/8")),
            ("--service-cluster-ip-range=10.0.0.0/8 --emulated-version=1.34", Ok("10.0.0.0/8")),
            ("--service-cluster-ip-range=10.0.0.0/8 --emulated-version=1.33", Err(too_large)),
            ("--service-cluster-ip-range=10.0.0.0/12 --emulated-version=1.33", Ok("10.0.0.0/12")),
            ("--service-cluster-ip-range= --service-node-port-range=0-0", Ok("10.0.0.0/24")),
        ] {
            let found = run(line).map(|config| config.network.service_ranges.to_string());
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{line}");
        }
    }
}
