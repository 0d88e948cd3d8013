//! The etcd settings of the command line.
//! Guarantees that the flags are consistent before a connection is made.
//! Must never read a file: files are read after all flags have been checked.

use super::config::{KeyPair, with_defaults};
use super::overrides::{self, OwnCluster, ServersOverride};
use super::setting::InputFile;
use std::time::Duration;

with_defaults! {
    /// Connection and use of etcd.
    pub struct Etcd {
        pub servers: Vec<String>,
        /// Resources in other clusters.
        pub overrides: Vec<ServersOverride>,
        pub prefix: String = "/registry".to_owned(),
        pub ca_file: Option<InputFile>,
        pub identity: KeyPair,
        /// Applies to every store; 0 is never.
        pub compaction_interval: Duration = Duration::from_secs(5 * 60),
        pub health_timeout: Duration = Duration::from_secs(2),
        pub ready_timeout: Duration = Duration::from_secs(2),
        /// 0 is never.
        pub size_interval: Duration = Duration::from_secs(30),
        pub lease_reuse_seconds: u32 = 60,
        /// Whether objects are written as JSON, not as protobuf.
        pub json: bool,
    }
}

impl Etcd {
    /// The other clusters, with their resources.
    pub fn own_clusters(&self) -> Vec<OwnCluster> {
        // The overrides were checked when they were parsed.
        overrides::clusters(&self.overrides).unwrap_or_default()
    }
}
