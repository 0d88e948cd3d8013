//! The provider `kms`, version 2: values are sealed with keys derived from a seed, and the seed is kept with each value as
//! a key service encrypted it.
//! Guarantees that writing needs no call, that reading needs one for each seed, and that without the service what was
//! read before can be read on, and writing goes on for a while.
//! Must never keep a seed in plain anywhere but in memory.

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
use pintle_storage::{Opened, Seal, TransformError};
use ring::digest;

use crate::chain::{LinkError, seal_of};
use crate::ciphers::Gcm;
use crate::figures::{Direction, KeyUse, Stats};
use crate::limits;
use crate::seed::Seed;
use crate::transformers::RuleError;
use client::Client;
use messages::{EncryptedObject, EncryptedSeed, SeedKind};
use pintle_grpc::{Status, code_name};
use prost::Message;

/// Called when the service has given what it did not give before.
pub(crate) type Changed = Arc<dyn Fn() + Send + Sync>;

/// A key service: a plugin behind a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KmsConfig {
    /// Stands before every value that was sealed with the service's keys.
    pub name: String,
    /// The socket; a name that begins with `@` is an abstract one.
    pub socket: PathBuf,
    /// How long one call may take.
    pub timeout: Duration,
}

/// How often a service is asked how it is, and how long its last word holds.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The time between two questions while all is well.
    pub healthy: Duration,
    /// The time between two questions while it is not.
    pub unhealthy: Duration,
    /// How long values are sealed after the service was well for the last time.
    pub coast: Duration,
}

impl Default for Pace {
    /// As kube-apiserver asks when its own health is asked for.
    fn default() -> Self {
        Pace { healthy: Duration::from_secs(20), unhealthy: Duration::from_secs(3), coast: Duration::from_secs(3 * 60) }
    }
}

/// What values are sealed with.
struct Current {
    seed: Arc<Seed>,
    encrypted: EncryptedSeed,
    seal: Seal,
    /// Of the clock on the wall: who stops the clock has other troubles.
    expires: SystemTime,
    uses: Arc<KeyUse>,
}

/// What a seed in its encrypted form turns out to be.
#[derive(Clone)]
enum Opener {
    Seed(Arc<Seed>),
    /// What releases before seeds used: one key for many values.
    Key(Arc<Gcm>),
}

/// What the provider and the thread of its service share.
struct Shared {
    name: String,
    current: ArcSwapOption<Current>,
    health: Mutex<Result<(), String>>,
    /// How the last call failed, if the service did not answer: until it does, nobody waits for it.
    silence: Mutex<Option<Status>>,
    seeds: Mutex<HashMap<EncryptedSeed, Known>>,
    figures: Arc<Stats>,
}

/// A seed in plain, and where its uses are counted.
type Known = (Opener, Arc<KeyUse>);

/// A provider with its service.
pub(crate) struct Kms {
    pub prefix: String,
    shared: Arc<Shared>,
    client: Client,
}

impl Kms {
    /// Connects, and asks once how the service is. That it does not answer is no error: it may come later.
    pub fn start(config: &KmsConfig, pace: Pace, changed: Changed, figures: Arc<Stats>) -> Result<Arc<Kms>, RuleError> {
        let shared = Arc::new(Shared {
            name: config.name.clone(),
            current: ArcSwapOption::empty(),
            health: Mutex::new(Ok(())),
            silence: Mutex::new(None),
            seeds: Mutex::default(),
            figures,
        });
        let client = probe::start(config, pace, shared.clone(), changed)?;
        Ok(Arc::new(Kms { prefix: format!("k8s:enc:kms:v2:{}:", config.name), shared, client }))
    }

    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// How many seeds are known in plain.
    pub fn seeds(&self) -> usize {
        self.shared.seeds.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub fn health(&self) -> Result<(), String> {
        self.shared.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn current(&self) -> Option<Seal> {
        self.shared.current.load().as_ref().map(|current| current.seal)
    }

    pub fn seal(&self, key: &str, plain: &[u8]) -> Result<Bytes, TransformError> {
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
        let data = current.seed.seal(key, plain)?;
        let mut out = Vec::with_capacity(self.prefix.len() + data.len() + 256);
        out.extend_from_slice(self.prefix.as_bytes());
        // The buffer grows as it must.
        let _ = EncryptedObject::new(data, current.encrypted.clone()).encode(&mut out);
        current.uses.used();
        Ok(Bytes::from(out))
    }

    pub fn open(&self, key: &str, kept: &Bytes) -> Result<Opened, LinkError> {
        let object = kept.slice(self.prefix.len().min(kept.len())..);
        let (data, seed) = EncryptedObject::read(object).map_err(TransformError::new)?;
        validate(&seed).map_err(TransformError::new)?;
        if data.is_empty() {
            return Err(TransformError::new("encrypted data is empty").into());
        }
        let seal = self.shared.seal_of(&seed);
        let (opener, uses) = self.opener(seed)?;
        let plain = match opener {
            Opener::Seed(seed) => seed.open(key, &data)?,
            Opener::Key(gcm) => gcm.open(key, &data)?,
        };
        uses.used();
        Ok(Opened { plain: plain.into(), seal })
    }

    fn opener(&self, encrypted: EncryptedSeed) -> Result<Known, LinkError> {
        let known = |shared: &Shared| {
            let seeds = shared.seeds.lock().unwrap_or_else(PoisonError::into_inner);
            seeds.get(&encrypted).cloned()
        };
        if let Some(opener) = known(&self.shared) {
            return Ok(opener);
        }
        self.shared.figures.cache_misses.increment();
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

    /// Where the uses of a key of the service are counted.
    fn uses(&self, direction: Direction, key_id: &str) -> Arc<KeyUse> {
        self.figures.key(direction, &self.name, key_id_hash(key_id))
    }

    /// What is sealed under the same key of the service is not stale, whatever the seed.
    fn seal_of(&self, seed: &EncryptedSeed) -> Seal {
        seal_of(&[b"kms", self.name.as_bytes(), seed.key_id.as_bytes(), &[seed.kind as u8]])
    }
}

/// Checks what a service gave, or what is kept of it.
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

/// Names of keys may tell something about the service: logs and errors show their digest.
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
