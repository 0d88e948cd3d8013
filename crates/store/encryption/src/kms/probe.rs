//! The thread of a key service: makes calls, requests the status, and rotates the seed when the service's key has
//! changed. Guarantees that a seed encrypts values only while the service reports the key that encrypted the seed, and
//! for a limited time after the last successful status. Must never give up: a service may start at any time.

use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use pintle_grpc::{Status, code_name};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::client::{Client, Connection, Decrypt, method};
use super::{Changed, Current, KmsConfig, Opener, Pace, Shared, key_id_hash, rfc3339, validate, validate_key_id};
use crate::ciphers::random;
use crate::limits;
use crate::seed::{SEED_BYTES, Seed};
use crate::stats::{self, Direction};
use crate::transformers::RuleError;

/// Starts the thread and waits for the first status request.
pub(super) fn start(
    config: &KmsConfig,
    pace: Pace,
    shared: Arc<Shared>,
    changed: Changed,
) -> Result<Client, RuleError> {
    let (calls, waiting) = mpsc::channel(limits::CALLS);
    let (asked, was_asked) = std::sync::mpsc::sync_channel(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| RuleError::Thread(error.to_string()))?;
    let connection = Connection::new(&config.socket, config.timeout);
    let mut service = Service { connection, shared, pace, version: String::new() };
    let alive = Alive(service.shared.clone());
    let run = move || {
        let _alive = alive;
        runtime.block_on(async move {
            service.ask().await;
            // The receiver may be gone.
            let _ = asked.send(());
            service.run(waiting, changed).await;
        });
    };
    let thread = std::thread::Builder::new().name(format!("kms-{}", config.name)).spawn(run);
    thread.map_err(|error| RuleError::Thread(error.to_string()))?;
    // The first request takes at most two calls; an error means that the thread has died.
    let _ = was_asked.recv();
    Ok(Client { calls, timeout: config.timeout })
}

/// Held by the thread: reports an unhealthy service if the thread dies.
struct Alive(Arc<Shared>);

impl Drop for Alive {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let fault = format!("the thread of KMS Provider {} has failed", self.0.name);
            self.0.set_silence(Some(Status::unavailable(&fault)));
            self.0.set_health(Err(fault));
        }
    }
}

struct Service {
    connection: Connection,
    shared: Arc<Shared>,
    pace: Pace,
    /// Of the first response; it must not change.
    version: String,
}

impl Service {
    async fn run(&mut self, mut waiting: mpsc::Receiver<Decrypt>, changed: Changed) {
        let mut was_well = self.is_well();
        loop {
            let next = Instant::now() + if was_well { self.pace.healthy } else { self.pace.unhealthy };
            while let Ok(call) = timeout_at(next, waiting.recv()).await {
                let Some(call) = call else { return };
                let since = Instant::now();
                let plain = self.connection.decrypt(call.seed, uid()).await;
                self.called(method::DECRYPT, since, &plain);
                let silence = plain.as_ref().err().filter(|error| error.is_silence()).cloned();
                let is_silent = silence.is_some();
                self.shared.set_silence(silence);
                // The caller may have given up.
                let _ = call.answer.try_send(plain);
                if is_silent {
                    was_well = false;
                    break;
                }
            }
            self.ask().await;
            if !std::mem::replace(&mut was_well, self.is_well()) && was_well {
                changed();
            }
        }
    }

    fn called<T>(&self, method: &'static str, since: Instant, outcome: &Result<T, Status>) {
        let code = outcome.as_ref().map_or_else(|error| code_name(error.code), |_| stats::OK);
        self.shared.stats.called(&self.shared.name, method, since.elapsed(), code);
    }

    fn is_well(&self) -> bool {
        self.shared.health.lock().unwrap_or_else(PoisonError::into_inner).is_ok()
    }

    async fn ask(&mut self) {
        let health = self.check().await;
        self.shared.set_health(health);
    }

    async fn check(&mut self) -> Result<(), String> {
        let name = self.shared.name.clone();
        let since = Instant::now();
        let status = self.connection.status().await;
        self.called(method::STATUS, since, &status);
        self.shared.set_silence(status.as_ref().err().filter(|error| error.is_silence()).cloned());
        let status = status.map_err(|error| {
            format!("failed to perform status section of the healthz check for KMS Provider {name}, error: {error}")
        })?;
        let mut faults = Vec::new();
        if status.healthz != "ok" {
            faults.push(format!("got unexpected healthz status: {}", status.healthz));
        }
        if !matches!(status.version.as_str(), "v2" | "v2beta1") {
            faults.push(format!("expected KMSv2 API version v2, got {}", status.version));
        } else if self.version.is_empty() {
            self.version = status.version;
        } else if self.version != status.version {
            faults.push(format!(
                "KMSv2 API version should not change after the initial status response version {}, got {}",
                self.version, status.version
            ));
        }
        let rotated = match validate_key_id(&status.key_id) {
            Ok(()) => {
                self.shared.uses(Direction::Status, &status.key_id).used();
                self.rotate(&status.key_id).await
            }
            Err(error) => {
                let fault = if status.key_id.is_empty() { "empty" } else { "too_long" };
                self.shared.stats.invalid_key_id(&name, fault);
                Err(format!("got invalid KMSv2 KeyID hash {:?}: {error}", key_id_hash(&status.key_id)))
            }
        };
        faults.extend(rotated.err());
        let faults = match faults.as_slice() {
            [] => return Ok(()),
            [fault] => fault.clone(),
            faults => format!("[{}]", faults.join(", ")),
        };
        Err(format!("kmsv2 Provider {name} is not healthy, error: {faults}"))
    }

    /// Keeps the seed if the service still reports its key, and makes another one if not. If that fails the old one
    /// stays until it expires.
    async fn rotate(&mut self, key_id: &str) -> Result<(), String> {
        let expires = SystemTime::now() + self.pace.coast;
        let old = self.shared.current.load_full();
        if let Some(old) = old.as_ref().filter(|old| old.encrypted.key_id == key_id) {
            let (seed, encrypted) = (old.seed.clone(), old.encrypted.clone());
            let (fingerprint, uses) = (old.fingerprint, old.uses.clone());
            self.shared.current.store(Some(Arc::new(Current { seed, encrypted, fingerprint, expires, uses })));
            return Ok(());
        }
        let uid = uid();
        let (encrypt_key_id, why) = match self.new_seed(&uid).await {
            Ok((seed, encrypted)) if encrypted.key_id == key_id => {
                let (seed, fingerprint) = (Arc::new(seed), self.shared.fingerprint_of(&encrypted));
                self.shared.remember(encrypted.clone(), Opener::Seed(seed.clone()));
                let uses = self.shared.uses(Direction::ToStorage, &encrypted.key_id);
                self.shared.current.store(Some(Arc::new(Current { seed, encrypted, fingerprint, expires, uses })));
                return Ok(());
            }
            Ok((_, encrypted)) => (encrypted.key_id, "<nil>".to_owned()),
            Err(error) => (String::new(), error),
        };
        let old_key_id = old.as_ref().map_or("", |old| &old.encrypted.key_id);
        Err(format!(
            "failed to rotate DEK uid={uid:?}, useSeed=true, errState={}, errGen={why}, statusKeyIDHash={:?}, \
             encryptKeyIDHash={:?}, stateKeyIDHash={:?}, expirationTimestamp={}",
            if old.is_some() { "<nil>" } else { "got unexpected nil transformer" },
            key_id_hash(key_id),
            key_id_hash(&encrypt_key_id),
            key_id_hash(old_key_id),
            old.as_ref().map_or_else(|| "0001-01-01T00:00:00Z".to_owned(), |old| rfc3339(old.expires)),
        ))
    }

    async fn new_seed(&mut self, uid: &str) -> Result<(Seed, super::EncryptedSeed), String> {
        let since = Instant::now();
        let plain = random::<SEED_BYTES>().map_err(|error| {
            self.shared.stats.data_key_failures.increment();
            error.to_string()
        })?;
        self.shared.stats.data_keys.observe_duration(since.elapsed());
        let since = Instant::now();
        let encrypted = self.connection.encrypt(&plain, uid).await;
        self.called(method::ENCRYPT, since, &encrypted);
        let encrypted = encrypted.map_err(|error| format!("failed to encrypt DEK, error: {error}"))?;
        validate(&encrypted)?;
        Ok((Seed::new(&plain).map_err(|error| error.to_string())?, encrypted))
    }
}

/// A random UUID, which correlates the service's log.
fn uid() -> String {
    random().map(|bytes| uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()).unwrap_or_default()
}
