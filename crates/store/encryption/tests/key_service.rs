//! The provider of key services against a service in this process: seeds, rotation, and life without the service.

mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use pintle_encryption::{Encryption, GroupResource, KmsConfig, Names, Pace, Provider, Rule};
use pintle_storage::Transformer;
use support::{Plugin, TempDir};

const SECRET: &str = "/registry/secrets/default/a";
const PREFIX: &[u8] = b"k8s:enc:kms:v2:test:";

fn encryption(socket: &Path, coast: Duration) -> Encryption {
    let built_in = [("/registry/secrets/".to_owned(), GroupResource::parse("secrets"))];
    let config = KmsConfig { name: "test".to_owned(), socket: socket.to_owned(), timeout: Duration::from_secs(60) };
    let rule = Rule { resources: vec![GroupResource::parse("secrets")], providers: vec![Provider::Kms(config)] };
    let often = Duration::from_millis(5);
    let pace = Pace { healthy: often, unhealthy: often, coast };
    Encryption::new(Names::new("/registry/", built_in), &[rule], pace).expect("rules")
}

const LONG: Duration = Duration::from_secs(3600);

fn kept(encryption: &Encryption) -> Bytes {
    encryption.encrypt(SECRET, &Bytes::from_static(b"value")).expect("ciphertext")
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn one_seed_encrypts_all_and_one_call_decrypts_all() {
    let directory = TempDir::new();
    let socket = directory.0.join("kms.sock");
    let plugin = Plugin::start(&socket, "key-1");
    let encryption_a = encryption(&socket, LONG);
    assert_eq!(encryption_a.health(), Ok(()));
    let ciphertext: Vec<Bytes> = (0..20).map(|_| kept(&encryption_a)).collect();
    assert!(ciphertext.iter().all(|value| value.starts_with(PREFIX)));
    assert!(!ciphertext[0].windows(5).any(|window| window == b"value"));
    let decrypted = encryption_a.decrypt(SECRET, &ciphertext[0]).expect("opens");
    assert_eq!(
        (decrypted.plain, Some(decrypted.fingerprint)),
        (Bytes::from_static(b"value"), encryption_a.current(SECRET))
    );
    assert_eq!(plugin.keys.encryptions.load(Ordering::Relaxed), 1);
    assert_eq!(plugin.keys.decryptions.load(Ordering::Relaxed), 0, "its own seed is known");
    let encryption_b = encryption(&socket, LONG);
    for value in &ciphertext {
        let decrypted = encryption_b.decrypt(SECRET, value).expect("another server opens it");
        assert_eq!(
            Some(decrypted.fingerprint),
            encryption_b.current(SECRET),
            "another seed of the same key is not stale"
        );
    }
    assert_eq!(plugin.keys.decryptions.load(Ordering::Relaxed), 1);
    let elsewhere = encryption_b.decrypt("/registry/secrets/default/b", &ciphertext[0]).expect_err("moved");
    assert_eq!(elsewhere.to_string(), "cipher: message authentication failed");
}

#[test]
fn a_new_key_of_the_service_makes_values_stale() {
    let directory = TempDir::new();
    let socket = directory.0.join("kms.sock");
    let plugin = Plugin::start(&socket, "key-1");
    let encryption = encryption(&socket, LONG);
    let (ciphertext, before) = (kept(&encryption), encryption.current(SECRET));
    plugin.change_key("key-2");
    until("the new key is taken", || encryption.current(SECRET) != before);
    let decrypted = encryption.decrypt(SECRET, &ciphertext).expect("the old key opens");
    assert_eq!(Some(decrypted.fingerprint), before);
    assert!(kept(&encryption).windows(5).any(|window| window == b"key-2"));
}

#[test]
fn an_outage_of_the_service_stops_writes_after_a_while() {
    let directory = TempDir::new();
    let socket = directory.0.join("kms.sock");
    let plugin = Plugin::start(&socket, "key-1");
    let coast = Duration::from_secs(3);
    let encryption = encryption(&socket, coast);
    let ciphertext = kept(&encryption);
    let keys = plugin.keys.clone();
    drop(plugin);
    until("the loss is noticed", || encryption.health().is_err());
    let why = encryption.health().expect_err("lost");
    let begin = "kms-provider-0: failed to perform status section of the healthz check for KMS Provider test, error: \
                 rpc error: code = Unavailable desc = connection error: ";
    assert!(why.starts_with(begin), "{why}");
    until("the seed expires", || encryption.encrypt(SECRET, &Bytes::from_static(b"value")).is_err());
    let why = encryption.encrypt(SECRET, &Bytes::new()).expect_err("expired").to_string();
    assert!(why.starts_with("encryptedDEKSource with keyID hash \"sha256:"), "{why}");
    assert_eq!(encryption.decrypt(SECRET, &ciphertext).expect("still known").plain, "value");
    let _again = Plugin::start_with(&socket, keys);
    until("the service is back", || encryption.health().is_ok());
    let decrypted = encryption.decrypt(SECRET, &kept(&encryption)).expect("opens");
    assert_eq!(Some(decrypted.fingerprint), encryption.current(SECRET));
}

#[test]
fn a_service_that_comes_late_is_noticed() {
    let directory = TempDir::new();
    let socket = directory.0.join("kms.sock");
    let plugin = Plugin::start(&socket, "key-1");
    let ciphertext = kept(&encryption(&socket, LONG));
    let keys = plugin.keys.clone();
    drop(plugin);
    let encryption = encryption(&socket, LONG);
    let (tell, reported) = std::sync::mpsc::channel();
    encryption.subscribe(Box::new(move || {
        let _ = tell.send(());
        Vec::new()
    }));
    let why = encryption.decrypt(SECRET, &ciphertext).expect_err("nobody decrypts").to_string();
    assert!(why.starts_with("failed to decrypt DEK, error: rpc error: code = Unavailable"), "{why}");
    let why = encryption.encrypt(SECRET, &Bytes::new()).expect_err("no seed").to_string();
    assert_eq!(why, "got unexpected nil transformer");
    let _plugin = Plugin::start_with(&socket, keys);
    reported.recv_timeout(Duration::from_secs(60)).expect("a report that it exists");
    assert_eq!(encryption.decrypt(SECRET, &ciphertext).expect("opens now").plain, "value");
}

#[test]
fn responses_of_the_service_are_validated() {
    let directory = TempDir::new();
    let socket = directory.0.join("kms.sock");
    let plugin = Plugin::start(&socket, "key-1");
    let encryption = encryption(&socket, LONG);
    "tired".clone_into(&mut plugin.keys.healthz.lock().expect("whole"));
    until("it is not well", || encryption.health().is_err());
    let why = encryption.health().expect_err("tired");
    let expected = "kms-provider-0: kmsv2 Provider test is not healthy, error: got unexpected healthz status: tired";
    assert_eq!(why, expected);
    let keys = Arc::new(support::Keys { current: "unknown-1".to_owned().into(), ..support::Keys::default() });
    drop(plugin);
    let _other = Plugin::start_with(&socket, keys);
    until("it names an unknown key", || kept(&encryption).windows(9).any(|window| window == b"unknown-1"));
    let ciphertext = kept(&encryption);
    let fresh = self::encryption(&socket, LONG);
    let why = fresh.decrypt(SECRET, &ciphertext).expect_err("refused").to_string();
    assert_eq!(why, "failed to decrypt DEK, error: rpc error: code = NotFound desc = no such key: 100%");
}

#[test]
fn a_service_that_does_not_answer_is_not_asked_for_each_value() {
    let directory = TempDir::new();
    let socket = directory.0.join("kms.sock");
    let ciphertext = {
        let _plugin = Plugin::start(&socket, "key-1");
        kept(&encryption(&socket, LONG))
    };
    // It takes connections, and says nothing.
    let listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    let asked = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = asked.clone();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            open.push(stream);
        }
    });
    let config = KmsConfig { name: "test".to_owned(), socket, timeout: Duration::from_millis(50) };
    let secrets = GroupResource::parse("secrets");
    let built_in = [("/registry/secrets/".to_owned(), secrets.clone())];
    let rule = Rule { resources: vec![secrets], providers: vec![Provider::Kms(config)] };
    let pace = Pace { healthy: LONG, unhealthy: LONG, coast: LONG };
    let encryption = Encryption::new(Names::new("/registry/", built_in), &[rule], pace).expect("rules");
    for _ in 0..50 {
        let why = encryption.decrypt(SECRET, &ciphertext).expect_err("nobody answers").to_string();
        assert!(why.contains("rpc error: code = DeadlineExceeded"), "{why}");
    }
    until("the only call is taken", || asked.load(Ordering::SeqCst) > 0);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}
