//! The command: flags, files and signals around the library.

mod access;
mod account_keys;
mod assembly;
mod audit;
mod authorities;
mod config_files;
mod connections;
mod flags;
mod logs;
mod progress;
mod store;
mod tls;
mod tools;

use flags::{Command, Config, Storage};
use futures_util::future::{Either, select};
use logs::LogFormat;
use pintle::{Serving, kubeconfig, private_files};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeSet;
use std::error::Error;
use std::net::SocketAddr;
use std::pin::pin;
use std::process::ExitCode;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tracing::warn;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

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
    let is_split = if config.logs.format == LogFormat::Json { config.logs.split_json } else { config.logs.split_text };
    logs::install(config.logs.format, is_split, config.logs.verbosity, &config.logs.modules);
    config.warnings.iter().for_each(|warning| warn!("{warning}"));
    if !config.storage.watch_cache {
        warn!(
            "--watch-cache=false: lists at resourceVersion=0 are limited; all reads are made from memory nevertheless"
        );
    }
    raise_open_files();
    let runtime = runtime(config.process.worker_threads);
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
    let mut warnings =
        private_files::warnings_within(&config.storage.data_dir, Some(&config.storage.data_dir.join(store::STORE)));
    warnings.extend(private_files::warnings_within(&certs, None));
    let given = config.secret_files().chain([kubeconfig.as_path()]);
    warnings.extend(given.filter_map(private_files::warning));
    // Directories and files may contain each other.
    let mut seen = BTreeSet::new();
    warnings.retain(|warning| seen.insert(warning.clone()));
    let plugins = &config.admission_plugins;
    warnings.extend(
        plugins.permissive_node_mode(&config.authorization.modes, config.network.bind_address).map(str::to_owned),
    );
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
    let (builder, certs) = assembly::prepare(&config, signer)?;
    let address = SocketAddr::new(config.network.bind_address, config.network.secure_port);
    let listener =
        listen(address, config.network.permit_port_sharing).map_err(|error| format!("{address}: {error}"))?;
    let port = listener.local_addr()?.port();
    let server = match select(pin!(builder.start(listener)), pin!(signalled())).await {
        Either::Left((started, _)) => started?,
        // No write was acknowledged yet, and the thread that waits for an unreachable cluster cannot be stopped.
        Either::Right(_) => std::process::exit(0),
    };
    let url = kubeconfig::server_url(config.network.bind_address, port);
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
fn warn_of_unreadable(server: &Serving) {
    let states: Vec<_> = server.api().registry.cache.resources().iter().map(|resource| resource.state()).collect();
    let mut unreadable = states.iter().flat_map(|state| state.unreadable.values());
    if let Some(first) = unreadable.next() {
        let others = unreadable.count();
        let err = first.reason.to_string();
        warn!(err, "{} cannot be read, nor can {others} others", first.key);
    }
}

fn announce(config: &Config, url: &str) {
    println!("pintle serves Kubernetes {} on {url}", pintle_discovery::version::GIT_VERSION);
    match config.storage() {
        Storage::Memory => println!("data: in memory, gone when it stops"),
        Storage::Embedded => println!("data: {}", config.storage.data_dir.display()),
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
