//! The command line: kube-apiserver's flags with their names and meaning, and the few that are Pintle's own. Guarantees
//! that everything is checked before anything is bound or written, and that errors name the flag. Must never ignore a
//! flag: an unsupported flag is rejected.

mod admission;
mod audit;
mod authentication;
mod authorization;
mod config;
mod controllers;
mod diagnostics;
mod front_proxy;
mod gate_effects;
mod gates;
mod kubelet;
mod network;
mod overrides;
mod process;
mod reference;
mod requests;
mod runtime_config;
mod servers;
mod service_accounts;
mod setting;
mod storage;
mod surface;
mod table;
mod tls;
mod values;
mod version;

use std::path::Path;

pub use audit::{AuditFlags, Delivery, Mode};
pub use authorization::AuthorizationMode;
pub use config::{Config, KeyPair};
pub use front_proxy::FrontProxyFlags;
pub use kubelet::Kubelet;
pub use setting::NamedPair;
pub use storage::Storage;
use table::Flag;

/// A parsed command line.
#[derive(Debug)]
pub enum Command {
    /// To serve the API.
    Serve(Box<Config>),
    /// To print this help.
    Help(String),
    /// To print the version.
    Version,
}

/// Why a command line is rejected.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// The flag does not exist.
    #[error("unknown flag: {0}")]
    Unknown(String),
    /// kube-apiserver has the flag, this program does not support it.
    #[error("flag {0} is not supported: {1}")]
    NotSupported(String, &'static str),
    /// The flag needs a value.
    #[error("flag needs an argument: {0}")]
    NoValue(String),
    /// The value is invalid.
    #[error("invalid argument \"{value}\" for \"--{flag}\" flag: {reason}")]
    Invalid {
        /// The flag, without dashes.
        flag: &'static str,
        /// The value.
        value: String,
        /// The reason, which continues the flag's name.
        reason: String,
    },
    /// Flags contradict each other; a whole sentence that names them.
    #[error("{0}")]
    Combination(String),
    /// There is no such command.
    #[error("unknown command \"{0}\"; \"serve\" is what there is")]
    UnknownCommand(String),
    /// An argument that belongs to no flag.
    #[error("unexpected argument: {0}")]
    Stray(String),
}

/// Reads a command line: the program's name first, then its arguments.
///
/// Without a command the server listens on loopback and runs all controllers; with the command `serve`, or under the program name
/// `kube-apiserver`, it takes kube-apiserver's place.
pub fn parse(command_line: impl IntoIterator<Item = String>) -> Result<Command, FlagError> {
    let mut words = command_line.into_iter().peekable();
    let program = words.next().unwrap_or_default();
    let mut config = Config::alone();
    if file_name(&program) == "kube-apiserver" {
        config = Config::in_place_of_kube_apiserver();
    } else if let Some(word) = words.next_if(|word| !word.starts_with('-')) {
        match word.as_str() {
            "serve" => config = Config::in_place_of_kube_apiserver(),
            "help" => return Ok(Command::Help(table::help())),
            "version" => return Ok(Command::Version),
            _ => return Err(FlagError::UnknownCommand(word)),
        }
    }
    while let Some(word) = words.next() {
        match one_flag(&word, &mut words)? {
            (Given::Help, _) => return Ok(Command::Help(table::help())),
            // Go programs treat `--version=false` as if the flag were absent.
            (Given::Version, value) if value != "false" => return Ok(Command::Version),
            (Given::Version, _) => {}
            (Given::Flag(flag), value) => {
                if let Err(reason) = flag.set(&mut config, &value) {
                    // `--help` works even if an earlier flag names a file that cannot be read.
                    return match words.any(|word| matches!(word.as_str(), "--help" | "-h")) {
                        true => Ok(Command::Help(table::help())),
                        false => Err(FlagError::Invalid { flag: flag.name, value, reason }),
                    };
                }
                config.given.entry(flag.name).or_default().push(value);
            }
        }
    }
    config.checked().map(|config| Command::Serve(Box::new(config)))
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

/// Recognizes a flag and finds its value, which may be the next argument.
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
            Ok(_) => FlagError::NotSupported(written, reference::reason(&name)),
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

#[cfg(test)]
mod tests;
