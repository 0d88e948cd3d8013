//! What the command line says of etcd.
//! Guarantees that the flags go together before anything is connected to.
//! Must never read a file: that comes when all flags are known to be good.

use super::{FlagError, Storage, values};
use std::path::PathBuf;
use std::time::Duration;

/// How etcd is reached and used.
#[derive(Clone, Debug)]
pub struct Etcd {
    /// `--etcd-servers`.
    pub servers: Vec<String>,
    /// `--etcd-prefix`.
    pub prefix: String,
    /// `--etcd-cafile`.
    pub ca_file: Option<PathBuf>,
    /// `--etcd-certfile`.
    pub cert_file: Option<PathBuf>,
    /// `--etcd-keyfile`.
    pub key_file: Option<PathBuf>,
    /// `--etcd-compaction-interval`; 0 is never.
    pub compaction_interval: Duration,
    /// `--etcd-healthcheck-timeout`.
    pub health_timeout: Duration,
    /// `--etcd-readycheck-timeout`.
    pub ready_timeout: Duration,
    /// `--etcd-db-metric-poll-interval`; 0 is never.
    pub size_interval: Duration,
    /// `--lease-reuse-duration-seconds`.
    pub lease_reuse_seconds: u32,
    /// `--storage-media-type`: JSON rather than protobuf.
    pub json: bool,
}

impl Default for Etcd {
    fn default() -> Self {
        Etcd {
            servers: Vec::new(),
            prefix: "/registry".to_owned(),
            ca_file: None,
            cert_file: None,
            key_file: None,
            compaction_interval: Duration::from_secs(5 * 60),
            health_timeout: Duration::from_secs(2),
            ready_timeout: Duration::from_secs(2),
            size_interval: Duration::from_secs(30),
            lease_reuse_seconds: 60,
            json: false,
        }
    }
}

impl Etcd {
    pub(super) fn add_servers(&mut self, value: &str) -> Result<(), String> {
        for url in values::list(value) {
            let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or(url);
            if rest.is_empty() || rest.contains("://") || rest.contains(char::is_whitespace) {
                return Err("must be URLs, such as https://10.0.0.1:2379".to_owned());
            }
            self.servers.push(url.to_owned());
        }
        Ok(())
    }

    pub(super) fn set_prefix(&mut self, value: &str) -> Result<(), String> {
        if value.trim_matches('/').is_empty() {
            return Err("must be a path".to_owned());
        }
        self.prefix = value.to_owned();
        Ok(())
    }

    /// Where objects are kept, given what `--storage` says.
    pub(super) fn storage(&self, told: Option<Storage>) -> Result<Storage, FlagError> {
        let sentence = match (self.servers.is_empty(), told) {
            _ if self.cert_file.is_some() != self.key_file.is_some() => {
                "--etcd-certfile and --etcd-keyfile must be given together"
            }
            (true, told) => return Ok(told.unwrap_or(Storage::Embedded)),
            (false, None) => return Ok(Storage::Etcd),
            (false, Some(_)) => "--storage and --etcd-servers exclude each other",
        };
        Err(FlagError::Combination(sentence.to_owned()))
    }
}
