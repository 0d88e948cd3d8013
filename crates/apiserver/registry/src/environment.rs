//! Time, randomness and feature gates of the registry, replaceable in tests.
use pintle_schema::Gate;
use pintle_schema::gates::GateSet;

use pintle_resource::StrategyEnvironment;
use std::future::{Future, ready};
use std::pin::Pin;
use std::time::Duration;

/// Time, randomness and feature gates.
pub trait Environment: Send + Sync + 'static {
    /// Seconds since 1970.
    fn now_unix(&self) -> i64;

    /// Fills the buffer with random bytes.
    fn random(&self, buffer: &mut [u8]);

    /// Which feature gates are on. They do not change while a server runs.
    fn gates(&self) -> &GateSet;

    /// The oldest minor release of Kubernetes 1 that may have to read what is written; `None` for the one before the
    /// current.
    fn compatibility_minor(&self) -> Option<u32> {
        None
    }

    /// Resolves after a time. An environment without timers resolves at once.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let _ = duration;
        Box::pin(ready(()))
    }
}

impl StrategyEnvironment for Box<dyn Environment> {
    fn enabled(&self, gate: &Gate) -> bool {
        self.gates().is_on(gate)
    }

    fn new_uid(&self) -> String {
        new_uid(self.as_ref())
    }
}

/// A random (version 4) UUID.
pub fn new_uid(environment: &dyn Environment) -> String {
    let mut bytes = [0u8; 16];
    environment.random(&mut bytes);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// The letters and digits of generated names: no vowels, so no words.
const NAME_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const GENERATED_SUFFIX: usize = 5;
const MAX_GENERATED_NAME: usize = 63;

/// A name made from `generateName`: its first 58 bytes and five random characters.
pub fn generate_name(prefix: &str, environment: &dyn Environment) -> String {
    let mut end = prefix.len().min(MAX_GENERATED_NAME - GENERATED_SUFFIX);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = prefix[..end].to_owned();
    let mut bytes = [0u8; GENERATED_SUFFIX];
    environment.random(&mut bytes);
    name.extend(bytes.iter().map(|byte| char::from(NAME_ALPHABET[usize::from(*byte) % NAME_ALPHABET.len()])));
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::gates::NO_GATES;

    struct Zeros;

    impl Environment for Zeros {
        fn now_unix(&self) -> i64 {
            0
        }

        fn random(&self, buffer: &mut [u8]) {
            buffer.fill(0);
        }

        fn gates(&self) -> &GateSet {
            &NO_GATES
        }
    }

    #[test]
    fn uids_and_names_have_their_form() {
        assert_eq!(new_uid(&Zeros), "00000000-0000-4000-8000-000000000000");
        assert_eq!(generate_name("web-", &Zeros), "web-bbbbb");
        assert_eq!(generate_name(&"x".repeat(80), &Zeros).len(), 63);
        assert_eq!(generate_name(&"ü".repeat(40), &Zeros).chars().filter(|c| *c == 'ü').count(), 29);
    }
}
