//! The command: flags, files and signals around the library.

mod access;
mod account_keys;
mod audit;
mod authorities;
mod config_files;
mod flags;
mod logs;
mod progress;
mod tools;

use access::StaticTokens;
use authorities::Authorities;
use config_files::encryption;
use flags::{Command, Config, KeyPair, Kubelet, NamedPair, Storage};
use futures_util::future::{Either, select};
use logs::LogFormat;
use pintle::certs::{ADMINISTRATOR, ADMINISTRATORS, Administrator};
use pintle::extension_servers::ExtensionSockets;
use pintle::external_signer::Signer;
use pintle::follow::{self, follow};
use pintle::trace_export;
use pintle::{
    Builder, ENCRYPTION_RELOAD, PROXY_CERTIFICATE_RELOAD, PeerSettings, Server, SocketConnector, certs, kubeconfig,
    private_files,
};
use pintle_auth::UserInfo;
use pintle_bootstrap::ServiceRange;
use pintle_codec::{Strictness, yaml};
use pintle_encryption::Encryption;
use pintle_endpoints::metrics::{AllowedLabels, Source};
use pintle_endpoints::{CBOR_GATE, Features};
use pintle_etcd::{CaRenewal, EtcdOptions, Identity, OwnKeys, Renewal, Tls};
use pintle_http::{ClientTlsMaterial, NamedCertificate, TlsConfig, TlsMaterial};
use pintle_registry::EtcdCodec;
use pintle_services::routing::Routing;
use pintle_storage::{EmbeddedOptions, EmbeddedStore, EncryptedStore, MemoryStore, Store};
use pintle_webhook::Identity as ClientIdentity;
use progress::{ReportingStore, Total, directory_bytes};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeSet;
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// The directory of the embedded store in the data directory.
const STORE: &str = "store";

fn main() -> ExitCode {
    if let Some(outcome) = tools::run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        return outcome;
    }
    let config = match flags::parse(std::env::args()) {
        Ok(Command::Serve(config)) => config,
        Ok(Command::Help(text)) => {
            print!("{text}");
            return ExitCode::SUCCESS;
        }
        Ok(Command::Version) => {
            println!("Kubernetes {} (pintle {})", pintle_discovery::version::GIT_VERSION, env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        Err(error) => return fail(&error),
    };
    let is_split = if config.log_format == LogFormat::Json { config.split_json_log } else { config.split_text_log };
    logs::install(config.log_format, is_split, config.verbosity, &config.modules);
    config.warnings.iter().for_each(|warning| warn!("{warning}"));
    if !config.watch_cache {
        warn!(
            "--watch-cache=false: lists at resourceVersion=0 are limited; all reads are made from memory nevertheless"
        );
    }
    raise_open_files();
    let runtime = runtime(config.worker_threads);
    let outcome = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(run(*config)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(error.as_ref()),
    }
}

/// Warnings about flags, and about files and directories that other users than their owner may access, before the
/// server creates any. They are logged once the server serves: a failed start logs one line only.
fn exposed(config: &Config) -> Vec<String> {
    let (certs, kubeconfig) = (config.cert_dir(), config.kubeconfig());
    // The store warns of its own directory.
    let mut warnings = private_files::warnings_within(&config.data_dir, Some(&config.data_dir.join(STORE)));
    warnings.extend(private_files::warnings_within(&certs, None));
    let given = config.secret_files().chain([kubeconfig.as_path()]);
    warnings.extend(given.filter_map(private_files::warning));
    // Directories and files may contain each other.
    let mut seen = BTreeSet::new();
    warnings.retain(|warning| seen.insert(warning.clone()));
    let plugins = &config.admission_plugins;
    warnings.extend(plugins.permissive_node_mode(&config.authorization_modes, config.bind_address).map(str::to_owned));
    warnings
}

/// The runtime that serves requests, by default with one worker thread for each processor.
fn runtime(workers: Option<u32>) -> std::io::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let Some(workers) = workers {
        builder.worker_threads(workers as usize);
    }
    builder.enable_all().build()
}

/// Raises the limit of open files, and so of connections, to the maximum that the system allows: the usual default of
/// 1024 is meant for programs that use `select`. If this fails the server runs with the default.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

fn fail(error: &dyn Error) -> ExitCode {
    eprintln!("Error: {error}");
    ExitCode::FAILURE
}

/// Serves until a stop signal, or until a required part of the server fails.
async fn run(config: Config) -> Result<(), Box<dyn Error>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut signalled = async || {
        select(pin!(terminate.recv()), pin!(interrupt.recv())).await;
    };
    let exposed = exposed(&config);
    let signer = match select(pin!(account_keys::signer(&config)), pin!(signalled())).await {
        Either::Left((signer, _)) => signer?,
        Either::Right(_) => return Ok(()),
    };
    let (builder, certs) = prepare(&config, signer)?;
    let address = SocketAddr::new(config.bind_address, config.secure_port);
    let listener = listen(address, config.permit_port_sharing).map_err(|error| format!("{address}: {error}"))?;
    let port = listener.local_addr()?.port();
    let server = match select(pin!(builder.start(listener)), pin!(signalled())).await {
        Either::Left((started, _)) => started?,
        // No write was acknowledged yet, and the thread that waits for an unreachable cluster cannot be stopped.
        Either::Right(_) => std::process::exit(0),
    };
    let url = kubeconfig::server_url(config.bind_address, port);
    kubeconfig::write(&config.kubeconfig(), &url, &certs)?;
    exposed.iter().for_each(|warning| warn!("{warning}"));
    announce(&config, &url);
    warn_of_unreadable(&server);
    let ended = match select(pin!(signalled()), server.ended()).await {
        Either::Left(_) => None,
        Either::Right((why, _)) => Some(why),
    };
    // The service manager restarts the process, which is better than serving stale reads and no writes.
    let stopped = match select(pin!(server.stop()), pin!(signalled())).await {
        Either::Left((stopped, _)) => stopped,
        // A second signal ends the process at once: acknowledged writes are on disk.
        Either::Right(_) => std::process::exit(1),
    };
    match ended {
        Some(why) => Err(why.to_string().into()),
        None => Ok(stopped?),
    }
}

/// Binds the port.
fn listen(address: SocketAddr, shares_port: bool) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(shares_port)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Logs objects that cannot be decoded: otherwise they go unnoticed until a client reads them.
fn warn_of_unreadable(server: &Server) {
    let states: Vec<_> = server.api().registry.cache.resources().iter().map(|resource| resource.state()).collect();
    let mut unreadable = states.iter().flat_map(|state| state.unreadable.values());
    if let Some(first) = unreadable.next() {
        let others = unreadable.count();
        let err = first.reason.to_string();
        warn!(err, "{} cannot be read, nor can {others} others", first.key);
    }
}

/// Reads every file and opens the store, so that every error is reported before a port is bound.
fn prepare(config: &Config, signer: Option<Arc<Signer>>) -> Result<(Builder, certs::Certs), Box<dyn Error>> {
    config.egress_selector_file.as_deref().map(config_files::egress::check).transpose()?;
    let mut builder = over_store(config)?;
    let certs = serving_certs(config)?;
    identities(config, &certs, &mut builder)?;
    if let Some(signer) = signer.clone() {
        builder.generic.metrics.add_source(move |out| signer.render(out));
    }
    builder.authentication.service_account_tokens = Some(account_keys::tokens(config, signer)?);
    builder.health.own_certificate_ends = config.tls.files().is_none().then(|| certs.serving_ends()).flatten();
    let clients = builder.webhooks.clients.clone();
    access::authentication(config, &clients, &mut builder)?;
    access::authorization(config, &clients, &mut builder)?;
    builder.runtime_config.clone_from(&config.runtime_config);
    let gates = config.feature_gates.clone();
    builder.generic.feature_gate = Arc::new(move |name| gates.enabled(name));
    let gates = config.feature_gates.clone();
    builder.generic.metrics.add_source(move |out| gates.render(out));
    let plugins = &config.admission_plugins;
    builder.admission.enabled = plugins.enabled.iter().cloned().collect();
    builder.admission.disabled = plugins.disabled.iter().cloned().collect();
    builder.admission.configuration = plugins.configuration(&clients, &|gate| config.feature_gates.enabled(gate))?;
    builder.generic.auditor = audit::auditor(&config.audit, &clients)?;
    if let Some(path) = config.tracing_config_file.as_deref() {
        let (tracer, render) = trace_export::start(&config_files::tracing::read(path)?);
        builder.generic.tracer = Some(tracer);
        builder.generic.metrics.add_source(render);
    }
    builder.generic.cors.clone_from(&config.cors);
    let advertised = pintle::advertised::address(config.advertise_address, config.bind_address);
    config.check_family(advertised)?;
    builder.generic.settings.clone_from(&config.settings);
    builder.generic.settings.features = features(config);
    builder.generic.settings.flags = Some(config.shown());
    builder.generic.settings.metric_labels = Arc::new(metric_labels(config)?);
    builder.generic.settings.server_address = match &config.external_hostname {
        Some(host) => pintle::advertised::with_port(host, config.secure_port),
        None => SocketAddr::new(advertised.unwrap_or(config.bind_address), config.secure_port).to_string(),
    };
    let ranges = config.service_cluster_ip_ranges.iter().map(|range| ServiceRange::parse(&range.to_string()));
    builder.services.ranges = ranges.collect::<Result<_, _>>()?;
    builder.services.node_ports.clone_from(&config.service_node_ports);
    builder.advertised.address = advertised;
    builder.advertised.endpoint_reconciler = config.endpoint_reconciler();
    builder.generic.connections.clone_from(&config.connections);
    builder.generic.shutdown.delay = config.shutdown_delay;
    builder.generic.shutdown.send_retry_after = config.shutdown_send_retry_after;
    let root_ca = Some(certs.server_ca_pem.clone());
    builder.controllers = pintle_controllers::Settings { root_ca, ..config.controllers.clone() };
    let kubelet = &config.kubelet;
    let material = kubelet_material(kubelet)?;
    let connector = SocketConnector::new(&material, kubelet.timeout).map_err(|error| format!("kubelets: {error}"))?;
    if kubelet.certificate_authority.is_some() || kubelet.identity.files().is_some() {
        let followed = kubelet.clone();
        connector.follow(material, move || kubelet_material(&followed))?;
    }
    builder.generic.connector = Some(Arc::new(connector));
    builder.aggregation.servers = extension_servers(config)?;
    builder.aggregation.peers = peers(config)?;
    builder.advertised.peer_address = (config.peers.advertise_ip, config.peers.advertise_port);
    if config.aggregator_routing {
        builder.aggregation.routing = Routing::Endpoints;
    }
    builder.aggregation.reject_redirects = config.aggregator_reject_redirects;
    if !kubelet.address_types.is_empty() {
        builder.kubelet_address_types.clone_from(&kubelet.address_types);
    }
    Ok((builder, certs))
}

/// How other servers over the same store are reached, if flags name their authorities.
fn peers(config: &Config) -> Result<Option<PeerSettings>, Box<dyn Error>> {
    let Some(file) = config.peers.ca_file.as_deref() else { return Ok(None) };
    // Connections of their own: those to extension servers are closed with their API services.
    Ok(Some(PeerSettings { servers: extension_servers(config)?, ca_pem: read(file)? }))
}

/// Connections to extension servers; new ones present the current certificate of the front proxy's files.
fn extension_servers(config: &Config) -> Result<Arc<ExtensionSockets>, Box<dyn Error>> {
    let pair = &config.front_proxy.identity;
    let read_both = |(certificate, key): (&Path, &Path)| {
        let (cert_pem, key_pem) = (follow::read(certificate)?, follow::read(key)?);
        Ok::<_, String>(ClientIdentity { cert_pem, key_pem })
    };
    let identity = pair.files().map(read_both).transpose()?;
    let sockets = ExtensionSockets::new(identity).map_err(|error| format!("--proxy-client-cert-file: {error}"))?;
    let sockets = Arc::new(sockets);
    if let Some((certificate, key)) = pair.files() {
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        follow("certificate of the front proxy", &sockets, move |sockets| {
            sockets.show(Some(read_both((&certificate, &key))?)).map_err(|error| error.to_string())
        })?;
    }
    Ok(sockets)
}

/// The client certificate for kubelets, and the authorities that they are verified against.
fn kubelet_material(kubelet: &Kubelet) -> Result<ClientTlsMaterial, String> {
    let identity = kubelet.identity.files();
    let identity = identity.map(|(certificate, key)| Ok::<_, String>((follow::read(certificate)?, follow::read(key)?)));
    Ok(ClientTlsMaterial {
        ca_pem: kubelet.certificate_authority.as_deref().map(follow::read).transpose()?,
        identity: identity.transpose()?,
    })
}

/// What clients can see of the server, by the gates of it.
fn features(config: &Config) -> Features {
    let is_on = |gate: &str| config.feature_gates.enabled(gate);
    Features {
        response_compression: is_on("APIResponseCompression"),
        watch_list: is_on("WatchList"),
        openapi_enums: is_on("OpenAPIEnums"),
        storage_version_hash: is_on("StorageVersionHash"),
    }
}

/// A server over the store that the flags name, with the store's metrics.
fn over_store(config: &Config) -> Result<Builder, Box<dyn Error>> {
    let encryption = encryption(config)?;
    let mut metrics: Vec<Source> = Vec::new();
    let store: Arc<dyn Store> = match config.storage() {
        Storage::Memory => {
            let store = match compaction_interval(config) {
                Some(interval) => MemoryStore::compacting(interval)?,
                None => MemoryStore::new(),
            };
            Arc::new(EncryptedStore::new(Arc::new(store), encryption.clone()))
        }
        Storage::Embedded => {
            let data = &config.data_dir;
            private_files::create_directory(data).map_err(|error| format!("{}: {error}", data.display()))?;
            let directory = config.data_dir.join(STORE);
            let options = EmbeddedOptions { retention: compaction_interval(config), ..EmbeddedOptions::default() };
            let store = EmbeddedStore::open(&directory, options)?;
            let total = Total::BytesAtMost(directory_bytes(&directory));
            let what = format!("reading {}", directory.display());
            metrics.push(Box::new(move |out| pintle::storage_size(&directory, out)));
            let store = Arc::new(EncryptedStore::new(Arc::new(store), encryption.clone()));
            Arc::new(ReportingStore::new(store, what, total, |line| info!("{line}")))
        }
        Storage::Etcd => {
            let mut form = EtcdCodec::new(pintle_groups::resources());
            form.json = config.etcd.json;
            form.custom_as_cbor = config.feature_gates.enabled(CBOR_GATE);
            let apart = config.etcd.own_clusters().into_iter().map(|cluster| (cluster.servers, cluster.prefixes));
            let (store, stats) = pintle::etcd::store(etcd_options(config)?, apart, form, Some(encryption.clone()))?;
            metrics.push(Box::new(move |out| pintle::etcd_metrics(&stats, out)));
            store
        }
    };
    let stats = encryption.clone();
    metrics.push(Box::new(move |out| pintle::encryption_metrics(&stats, out)));
    let mut builder = Builder::new(store);
    builder.is_in_memory = config.storage() == Storage::Memory;
    metrics.into_iter().for_each(|source| builder.generic.metrics.add_source(source));
    builder.generic.compaction_interval = compaction_interval(config);
    builder.generic.watch_cache = config.watch_cache;
    builder.health.post_start_hooks.extend(config.front_proxy.identity.files().map(|_| PROXY_CERTIFICATE_RELOAD));
    builder.generic.store_timeouts = (config.etcd.health_timeout, config.etcd.ready_timeout);
    // A reloaded file may add key services.
    let reloads = config.encryption_reload;
    builder.health.post_start_hooks.extend(reloads.then_some(ENCRYPTION_RELOAD));
    if encryption.uses_kms() || reloads {
        builder.generic.health.watch("kms-providers", Box::new(move || encryption.health()));
    }
    Ok(builder)
}

/// How often the store is compacted, if at all.
fn compaction_interval(config: &Config) -> Option<Duration> {
    Some(config.etcd.compaction_interval).filter(|interval| !interval.is_zero())
}

/// The certificates of the server; missing ones are generated.
fn serving_certs(config: &Config) -> Result<certs::Certs, Box<dyn Error>> {
    let range = config.service_cluster_ip_ranges.first();
    let addresses = [Some(config.bind_address), config.advertise_address, range.map(|range| range.first_address())];
    let names = certs::ServingNames::new(certs::host_name().as_deref(), addresses.into_iter().flatten());
    Ok(certs::ensure(&config.cert_dir(), config.tls.files(), config.administrator(), &names, SystemTime::now())?)
}

/// The serving certificates, and the authorities of clients.
fn identities(config: &Config, certs: &certs::Certs, builder: &mut Builder) -> Result<(), Box<dyn Error>> {
    let authorities = Authorities::load(config, &certs.ca_pem)?;
    authorities.install(builder);
    let administrator = match &certs.admin {
        Administrator::Token(token) => {
            let groups = vec![ADMINISTRATORS.into()];
            Some((token.clone(), UserInfo { name: ADMINISTRATOR.into(), groups, ..UserInfo::default() }))
        }
        Administrator::Certificate { .. } => None,
    };
    if let Some(tokens) = StaticTokens::load(config.token_auth_file.as_deref(), administrator)? {
        builder.generic.authenticators.push(tokens);
    }
    builder.authentication.bootstrap_tokens = config.bootstrap_tokens;
    let named = read_named(&config.named_certificates.0)?;
    let material = TlsMaterial {
        named: named.clone(),
        cert_chain_pem: certs.serving_cert_pem.clone().into_bytes(),
        key_pem: certs.serving_key_pem.clone().into_bytes(),
        client_ca_pem: Some(authorities.pem()),
        unread_client_key: Some(pintle_auth::authentication::public_key),
        disable_http2: config.disable_http2,
        min_version: config.tls_min_version,
        cipher_suites: config.tls_cipher_suites.clone(),
        curves: config.tls_curves.clone(),
    };
    let tls = Arc::new(TlsConfig::new(&material)?);
    if let Some((certificate, key)) = config.tls.files() {
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        let mut last = (material.cert_chain_pem, material.key_pem);
        follow("serving certificate", &tls, move |tls: &TlsConfig| {
            let pair = (follow::read(&certificate)?, follow::read(&key)?);
            if pair != last {
                let change = |material: &mut TlsMaterial| (material.cert_chain_pem, material.key_pem) = pair.clone();
                tls.change(change).map_err(|error| error.to_string())?;
                last = pair;
            }
            Ok(())
        })?;
    }
    if !named.is_empty() {
        let (pairs, mut last) = (config.named_certificates.0.clone(), named);
        follow("certificates of names", &tls, move |tls: &TlsConfig| {
            let named = read_named(&pairs)?;
            if named != last {
                tls.change(|material| material.named.clone_from(&named)).map_err(|error| error.to_string())?;
                last = named;
            }
            Ok(())
        })?;
    }
    authorities.follow(&tls)?;
    builder.tls = Some(tls);
    Ok(())
}

/// The allowed values of metric labels, from the flag or else from the file.
fn metric_labels(config: &Config) -> Result<AllowedLabels, String> {
    let mut labels = config.metric_labels.clone();
    let Some(path) = config.metric_labels_file.as_deref().filter(|_| labels.has_no_list()) else {
        return Ok(labels);
    };
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let lists = yaml::parse(&follow::read(path)?, Strictness::Ignore).map_err(|error| failed(&error))?.value;
    let lists = lists.as_map().ok_or_else(|| failed(&"must be a map"))?;
    for (key, values) in lists.iter() {
        let values = values.as_str().ok_or_else(|| failed(&"must be a map of texts"))?;
        labels.add(key, values).map_err(|error| failed(&error))?;
    }
    Ok(labels)
}

/// The certificates that are selected by SNI.
fn read_named(pairs: &[NamedPair]) -> Result<Vec<NamedCertificate>, String> {
    let read = |pair: &NamedPair| {
        let (cert_chain_pem, key_pem) = (follow::read(&pair.certificate)?, follow::read(&pair.key)?);
        Ok(NamedCertificate { cert_chain_pem, key_pem, names: pair.names.clone() })
    };
    pairs.iter().map(read).collect()
}

/// The encryption at rest.
fn encryption(config: &Config) -> Result<Arc<Encryption>, String> {
    let mut names = encryption::names();
    if config.storage() == Storage::Etcd {
        names = names.kept_under(&format!("{}/", config.etcd.prefix.trim_end_matches('/')));
    }
    match config.encryption() {
        Some(source) => encryption::load(&source, names),
        None => Ok(Arc::new(Encryption::none(names))),
    }
}

/// The etcd cluster, with the certificates that the flags name.
fn etcd_options(config: &Config) -> Result<EtcdOptions, Box<dyn Error>> {
    let etcd = &config.etcd;
    let ca_pem = etcd.ca_file.as_deref().map(read).transpose()?;
    let ca_renewal = etcd.ca_file.as_deref().map(|path| {
        let path = path.to_owned();
        CaRenewal(Arc::new(move || std::fs::read(&path)))
    });
    Ok(EtcdOptions {
        endpoints: etcd.servers.clone(),
        tls: Tls { ca_pem, ca_renewal, identity: identity(&etcd.identity)?, renewal: renewal(&etcd.identity) },
        prefix: etcd.prefix.clone(),
        keys: OwnKeys::All,
        compaction_interval: compaction_interval(config),
        lifetimes: pintle::etcd::lifetimes(config.controllers.event_ttl),
        lease_reuse_seconds: etcd.lease_reuse_seconds,
        health_timeout: etcd.health_timeout.max(etcd.ready_timeout),
        size_interval: Some(etcd.size_interval),
    })
}

/// The certificate and key of the files, if flags name them.
fn identity(pair: &KeyPair) -> Result<Option<Identity>, Box<dyn Error>> {
    pair.files().map(|(certificate, key)| Ok((read(certificate)?, read(key)?))).transpose()
}

/// Reads the files again when they change: they are replaced before the certificate expires.
fn renewal(pair: &KeyPair) -> Option<Renewal> {
    let (certificate, key) = pair.files().map(|(certificate, key)| (certificate.to_owned(), key.to_owned()))?;
    Some(Renewal(Arc::new(move || Ok((std::fs::read(&certificate)?, std::fs::read(&key)?)))))
}

fn read(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

fn announce(config: &Config, url: &str) {
    println!("pintle serves Kubernetes {} on {url}", pintle_discovery::version::GIT_VERSION);
    match config.storage() {
        Storage::Memory => println!("data: in memory, gone when it stops"),
        Storage::Embedded => println!("data: {}", config.data_dir.display()),
        Storage::Etcd => println!("data: etcd at {}", config.etcd.servers.join(", ")),
    }
    let kubeconfig = std::path::absolute(config.kubeconfig()).unwrap_or_else(|_| config.kubeconfig());
    println!("export KUBECONFIG={}", kubeconfig.display());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZero;

    #[test]
    fn there_are_as_many_workers_as_processors_unless_a_number_is_given() {
        let workers = |given| runtime(given).expect("a runtime").metrics().num_workers();
        assert_eq!(workers(Some(3)), 3);
        if std::env::var_os("TOKIO_WORKER_THREADS").is_none() {
            assert_eq!(workers(None), std::thread::available_parallelism().map_or(1, NonZero::get));
        }
    }
}
