//! What the command line says of etcd.
//! Guarantees that the flags go together before anything is connected to.
//! Must never read a file: that comes when all flags are known to be good.

use super::config::{KeyPair, with_defaults};
use super::setting::InputFile;
use std::time::Duration;

with_defaults! {
    /// How etcd is reached and used.
    pub struct Etcd {
        pub servers: Vec<String>,
        pub prefix: String = "/registry".to_owned(),
        pub ca_file: Option<InputFile>,
        pub identity: KeyPair,
        /// Of every store; 0 is never.
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
