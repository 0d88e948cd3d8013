//! The provider `kms`, version 2: values are encrypted with keys derived from a seed, and each value is stored with the
//! seed, which a key service encrypted. Guarantees that writes need no call and reads one call for each seed, and that
//! without the service values of cached seeds stay readable and writes continue for a limited time. Must never store a
//! seed in plain except in memory.

mod client;
mod messages;
mod probe;

use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use pintle_schema::Time;
use pintle_schema::names::{Fault, fully_qualified_domain_name};
use pintle_storage::{DecryptedValue, KeyFingerprint, TransformError};
use ring::digest;

use crate::chain::{LinkError, fingerprint_of};
use crate::ciphers::Gcm;
use crate::limits;
use crate::seed::Seed;
use crate::stats::{Direction, KeyUse, Stats};
use crate::transformers::RuleError;
use client::Client;
use messages::{EncryptedObject, EncryptedSeed, SeedKind};
use pintle_grpc::{Status, code_name};
use prost::Message;

/// Called when the service has decrypted a seed that it could not decrypt before.
pub(crate) type Changed = Arc<dyn Fn() + Send + Sync>;

/// A key service: a plugin behind a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KmsConfig {
    /// Part of the prefix of every value that was encrypted with the service's keys.
    pub name: String,
    /// The socket; a name that begins with `@` is an abstract one.
    pub socket: PathBuf,
    /// How long one call may take.
    pub timeout: Duration,
}

/// How often the status of a service is requested, and how long a success stays valid.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The interval of status requests while the service is healthy.
    pub healthy: Duration,
    /// The interval while the service is unhealthy.
    pub unhealthy: Duration,
    /// How long values are encrypted after the last successful status.
    pub coast: Duration,
}

impl Default for Pace {
    /// The intervals of kube-apiserver's health check.
    fn default() -> Self {
        Pace { healthy: Duration::from_secs(20), unhealthy: Duration::from_secs(3), coast: Duration::from_secs(3 * 60) }
    }
}

/// The seed that encrypts values.
struct Current {
    seed: Arc<Seed>,
    encrypted: EncryptedSeed,
    fingerprint: KeyFingerprint,
    /// Wall-clock time, as in kube-apiserver.
    expires: SystemTime,
    uses: Arc<KeyUse>,
}

/// A decrypted seed.
#[derive(Clone)]
enum Opener {
    Seed(Arc<Seed>),
    /// The key of many values, which releases without seeds used.
    Key(Arc<Gcm>),
}

/// The state that the provider and the thread of its service share.
struct Shared {
    name: String,
    current: ArcSwapOption<Current>,
    health: Mutex<Result<(), String>>,
    /// The error of the last call if the service did not respond: calls then fail at once.
    silence: Mutex<Option<Status>>,
    seeds: Mutex<HashMap<EncryptedSeed, Known>>,
    stats: Arc<Stats>,
}

/// A decrypted seed, and the counter of its uses.
type Known = (Opener, Arc<KeyUse>);

/// A provider with its service.
pub(crate) struct Kms {
    pub prefix: String,
    shared: Arc<Shared>,
    client: Client,
}

impl Kms {
    /// Connects, and requests the status once. A service that does not respond is no error: it may start later.
    pub fn start(config: &KmsConfig, pace: Pace, changed: Changed, stats: Arc<Stats>) -> Result<Arc<Kms>, RuleError> {
        let shared = Arc::new(Shared {
            name: config.name.clone(),
            current: ArcSwapOption::empty(),
            health: Mutex::new(Ok(())),
            silence: Mutex::new(None),
            seeds: Mutex::default(),
            stats,
        });
        let client = probe::start(config, pace, shared.clone(), changed)?;
        Ok(Arc::new(Kms { prefix: format!("k8s:enc:kms:v2:{}:", config.name), shared, client }))
    }

    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The number of decrypted seeds.
    pub fn seeds(&self) -> usize {
        self.shared.seeds.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub fn health(&self) -> Result<(), String> {
        self.shared.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn current(&self) -> Option<KeyFingerprint> {
        self.shared.current.load().as_ref().map(|current| current.fingerprint)
    }

    pub fn encrypt(&self, key: &str, plain: &[u8]) -> Result<Bytes, TransformError> {
        let current = self.shared.current.load();
        let current = current.as_ref().ok_or_else(|| TransformError::new("got unexpected nil transformer"))?;
        let now = SystemTime::now();
        if now > current.expires {
            return Err(TransformError::new(format!(
                "encryptedDEKSource with keyID hash {:?} expired at {} (current time is {})",
                key_id_hash(&current.encrypted.key_id),
                rfc3339(current.expires),
                rfc3339(now)
            )));
        }
        let data = current.seed.encrypt(key, plain)?;
        let mut out = Vec::with_capacity(self.prefix.len() + data.len() + 256);
        out.extend_from_slice(self.prefix.as_bytes());
        // The buffer grows as needed.
        let _ = EncryptedObject::new(data, current.encrypted.clone()).encode(&mut out);
        current.uses.used();
        Ok(Bytes::from(out))
    }

    pub fn decrypt(&self, key: &str, kept: &Bytes) -> Result<DecryptedValue, LinkError> {
        let object = kept.slice(self.prefix.len().min(kept.len())..);
        let (data, seed) = EncryptedObject::read(object).map_err(TransformError::new)?;
        validate(&seed).map_err(TransformError::new)?;
        if data.is_empty() {
            return Err(TransformError::new("encrypted data is empty").into());
        }
        let fingerprint = self.shared.fingerprint_of(&seed);
        let (opener, uses) = self.opener(seed)?;
        let plain = match opener {
            Opener::Seed(seed) => seed.decrypt(key, &data)?,
            Opener::Key(gcm) => gcm.decrypt(key, &data)?,
        };
        uses.used();
        Ok(DecryptedValue { plain: plain.into(), fingerprint })
    }

    fn opener(&self, encrypted: EncryptedSeed) -> Result<Known, LinkError> {
        let known = |shared: &Shared| {
            let seeds = shared.seeds.lock().unwrap_or_else(PoisonError::into_inner);
            seeds.get(&encrypted).cloned()
        };
        if let Some(opener) = known(&self.shared) {
            return Ok(opener);
        }
        self.shared.stats.cache_misses.increment();
        let silence = self.shared.silence.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let secret = silence.map_or_else(|| self.client.decrypt(&encrypted), Err);
        let secret = secret.map_err(|failed| LinkError {
            error: TransformError::new(format!("failed to decrypt DEK, error: {failed}")),
            code: code_name(failed.code),
        })?;
        let opener = match encrypted.kind {
            SeedKind::Seed => Opener::Seed(Arc::new(Seed::new(&secret)?)),
            SeedKind::Key => {
                let bad_key = || TransformError::new(format!("crypto/aes: invalid key size {}", secret.len()));
                Opener::Key(Arc::new(Gcm::new(&secret).ok_or_else(bad_key)?))
            }
        };
        Ok(self.shared.remember(encrypted, opener))
    }
}

impl Shared {
    fn set_silence(&self, silence: Option<Status>) {
        *self.silence.lock().unwrap_or_else(PoisonError::into_inner) = silence;
    }

    fn set_health(&self, health: Result<(), String>) {
        *self.health.lock().unwrap_or_else(PoisonError::into_inner) = health;
    }

    fn remember(&self, encrypted: EncryptedSeed, opener: Opener) -> Known {
        let known = (opener, self.uses(Direction::FromStorage, &encrypted.key_id));
        let mut seeds = self.seeds.lock().unwrap_or_else(PoisonError::into_inner);
        if seeds.len() >= limits::SEEDS {
            seeds.clear();
        }
        seeds.insert(encrypted, known.clone());
        known
    }

    /// The counter of uses of a service's key.
    fn uses(&self, direction: Direction, key_id: &str) -> Arc<KeyUse> {
        self.stats.key(direction, &self.name, key_id_hash(key_id))
    }

    /// Values under the same key of the service are not stale, even if their seeds differ.
    fn fingerprint_of(&self, seed: &EncryptedSeed) -> KeyFingerprint {
        fingerprint_of(&[b"kms", self.name.as_bytes(), seed.key_id.as_bytes(), &[seed.kind as u8]])
    }
}

/// Checks a seed from a service or from a stored value.
fn validate(seed: &EncryptedSeed) -> Result<(), String> {
    let source = seed.source.len();
    if source == 0 {
        return Err("failed to validate encrypted DEK source: encrypted DEK source is empty".to_owned());
    }
    if source > limits::ENCRYPTED_SEED_BYTES {
        return Err(format!(
            "failed to validate encrypted DEK source: encrypted DEK source is {source} bytes, which exceeds the max size \
             of {}",
            limits::ENCRYPTED_SEED_BYTES
        ));
    }
    validate_key_id(&seed.key_id).map_err(|error| format!("failed to validate key id: {error}"))?;
    let mut size = 0;
    for (name, value) in &seed.annotations {
        let fault = match fully_qualified_domain_name(name) {
            Ok(()) => None,
            Err(Fault::Required) => Some("Required value".to_owned()),
            Err(Fault::Invalid { value, detail }) => Some(format!("Invalid value: {value:?}: {detail}")),
        };
        if let Some(fault) = fault {
            return Err(format!("failed to validate annotations: annotations: {fault}"));
        }
        size += name.len() + value.len();
    }
    if size > limits::ANNOTATIONS_BYTES {
        return Err(format!(
            "failed to validate annotations: total size of annotations is {size}, which exceeds the max size of {}",
            limits::ANNOTATIONS_BYTES
        ));
    }
    Ok(())
}

fn validate_key_id(key_id: &str) -> Result<(), String> {
    match key_id.len() {
        0 => Err("keyID is empty".to_owned()),
        length if length > limits::KEY_ID_BYTES => {
            Err(format!("keyID is {length} bytes, which exceeds the max size of {}", limits::KEY_ID_BYTES))
        }
        _ => Ok(()),
    }
}

/// Key names may be confidential: logs and errors contain their digest.
fn key_id_hash(key_id: &str) -> String {
    if key_id.is_empty() {
        return String::new();
    }
    let mut text = "sha256:".to_owned();
    for byte in digest::digest(&digest::SHA256, key_id.as_bytes()).as_ref() {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Time::from_seconds(i64::try_from(seconds).unwrap_or(i64::MAX)).to_rfc3339()
}
