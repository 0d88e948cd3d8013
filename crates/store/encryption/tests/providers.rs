//! Tests of whole configurations: encryption, decryption, stale values, and the errors of undecryptable ones.

use bytes::Bytes;
use pintle_encryption::{Encryption, GroupResource, Key, Names, Pace, Provider, Rule};
use pintle_storage::{KeyFingerprint, Transformer};

const SECRET: &str = "/registry/secrets/default/a";
const MAP: &str = "/registry/configmaps/default/a";
const CUSTOM: &str = "/registry/example.com/things/default/a";

fn names() -> Names {
    let built_in = ["secrets", "configmaps", "deployments.apps"].map(|name| {
        let name = GroupResource::parse(name);
        (format!("/registry/{}/", name.resource), name)
    });
    Names::new("/registry/", built_in)
}

fn key(name: &str, byte: u8) -> Key {
    Key { name: name.to_owned(), secret: vec![byte; 32] }
}

fn rule(resources: &[&str], providers: Vec<Provider>) -> Rule {
    Rule { resources: resources.iter().map(|name| GroupResource::parse(name)).collect(), providers }
}

fn encryption(rules: &[Rule]) -> Encryption {
    Encryption::new(names(), rules, Pace::default()).expect("rules")
}

fn kept(encryption: &Encryption, key: &str) -> Bytes {
    encryption.encrypt(key, &Bytes::from_static(b"value")).expect("ciphertext")
}

fn error(encryption: &Encryption, key: &str, kept: &Bytes) -> String {
    encryption.decrypt(key, kept).expect_err("does not open").to_string()
}

#[test]
fn each_provider_prefixes_its_values() {
    let keys = || vec![key("key1", 1), key("key2", 2)];
    for (provider, prefix) in [
        (Provider::AesCbc(keys()), "k8s:enc:aescbc:v1:key1:"),
        (Provider::AesGcm(keys()), "k8s:enc:aesgcm:v1:key1:"),
        (Provider::Secretbox(keys()), "k8s:enc:secretbox:v1:key1:"),
    ] {
        let encryption = encryption(&[rule(&["secrets"], vec![provider])]);
        let ciphertext = kept(&encryption, SECRET);
        assert!(ciphertext.starts_with(prefix.as_bytes()), "{ciphertext:?}");
        let decrypted = encryption.decrypt(SECRET, &ciphertext).expect("opens");
        assert_eq!(decrypted.plain, "value");
        assert_eq!(Some(decrypted.fingerprint), encryption.current(SECRET));
        assert_eq!(kept(&encryption, MAP), "value", "nothing is said of config maps");
        assert_eq!(encryption.current(MAP), Some(KeyFingerprint::PLAIN));
    }
}

#[test]
fn names_go_before_groups_and_groups_before_everything() {
    let by = |name: &str| vec![Provider::Secretbox(vec![key(name, 1)])];
    let rules = [rule(&["secrets"], by("name")), rule(&["*.", "*.apps"], by("group")), rule(&["*.*"], by("all"))];
    let encryption = encryption(&rules);
    for (key, expected) in
        [(SECRET, "name"), (MAP, "group"), ("/registry/deployments/default/a", "group"), (CUSTOM, "all")]
    {
        let prefix = format!("k8s:enc:secretbox:v1:{expected}:");
        assert!(kept(&encryption, key).starts_with(prefix.as_bytes()), "{key}");
    }
    assert_eq!(kept(&encryption, "/registry/ranges/serviceips"), "value", "no resource of the API");
    for masked in [[&rules[2], &rules[0]], [&rules[1], &rule(&["configmaps"], by("late"))]] {
        let masked = Encryption::new(names(), &masked.map(Clone::clone), Pace::default());
        let text = masked.err().expect("masked").to_string();
        assert!(text.contains(" is masked by earlier rule \"*."), "{text}");
    }
}

#[test]
fn keys_rotate() {
    let old = encryption(&[rule(&["secrets"], vec![Provider::AesCbc(vec![key("key1", 1)])])]);
    let ciphertext = kept(&old, SECRET);
    let rotating = encryption(&[rule(&["secrets"], vec![Provider::AesCbc(vec![key("key2", 2), key("key1", 1)])])]);
    let decrypted = rotating.decrypt(SECRET, &ciphertext).expect("the old key still opens");
    assert_eq!(decrypted.plain, "value");
    assert_ne!(Some(decrypted.fingerprint), rotating.current(SECRET), "stale");
    let renewed = kept(&rotating, SECRET);
    let new = encryption(&[rule(&["secrets"], vec![Provider::AesCbc(vec![key("key2", 2)])])]);
    assert_eq!(new.decrypt(SECRET, &renewed).expect("opens").plain, "value");
    assert_eq!(error(&new, SECRET, &ciphertext), "no matching key was found for the provided AES transformer");
    let may_decrypt = [&rotating, &new].map(|it| it.may_decrypt(SECRET, decrypted.fingerprint));
    assert_eq!(may_decrypt, [true, false], "which is known without decrypting");
    assert!(new.may_decrypt(SECRET, new.decrypt(SECRET, &renewed).expect("opens").fingerprint));
}

#[test]
fn providers_come_and_go() {
    let boxed = || Provider::Secretbox(vec![key("key1", 1)]);
    let plain = Encryption::none(names());
    let starting = encryption(&[rule(&["secrets"], vec![boxed(), Provider::Identity])]);
    let stopping = encryption(&[rule(&["secrets"], vec![Provider::Identity, boxed()])]);
    let strict = encryption(&[rule(&["secrets"], vec![boxed()])]);
    let other = encryption(&[rule(&["secrets"], vec![Provider::Secretbox(vec![key("key1", 9)])])]);
    let (was_plain, ciphertext) = (kept(&plain, SECRET), kept(&starting, SECRET));
    let stale = |it: &Encryption, kept: &Bytes| {
        let decrypted = it.decrypt(SECRET, kept).expect("opens");
        assert_eq!(decrypted.plain, "value");
        Some(decrypted.fingerprint) != it.current(SECRET)
    };
    assert!(stale(&starting, &was_plain) && !stale(&starting, &ciphertext));
    assert!(stale(&stopping, &ciphertext) && !stale(&stopping, &was_plain));
    assert_eq!(kept(&stopping, SECRET), "value");
    assert_eq!(error(&strict, SECRET, &was_plain), "no matching prefix found");
    assert_eq!(error(&plain, SECRET, &ciphertext), "identity transformer tried to read encrypted data");
    assert_eq!(error(&other, SECRET, &ciphertext), "output array was not large enough for encryption");
    let only_identity = encryption(&[rule(&["secrets"], vec![Provider::Identity])]);
    assert_eq!(error(&only_identity, SECRET, &ciphertext), "no matching prefix found");
}

#[test]
fn a_value_is_decrypted_by_its_own_key_only() {
    let encryption = encryption(&[rule(&["*.*"], vec![Provider::AesGcm(vec![key("key1", 1)])])]);
    let ciphertext = kept(&encryption, SECRET);
    assert_eq!(error(&encryption, MAP, &ciphertext), "cipher: message authentication failed");
    let rules = [rule(&["*.*"], vec![Provider::AesGcm(vec![key("key1", 1)])])];
    let elsewhere = Encryption::new(names().kept_under("/other/"), &rules, Pace::default()).expect("rules");
    assert_eq!(error(&elsewhere, SECRET, &ciphertext), "cipher: message authentication failed");
    let there = kept(&elsewhere, SECRET);
    assert_eq!(elsewhere.decrypt(SECRET, &there).expect("opens").plain, "value");
}

#[test]
fn rules_are_replaced_while_they_are_followed() {
    let boxed = |name: &str| vec![rule(&["secrets"], vec![Provider::Secretbox(vec![key(name, 1)])])];
    let encryption = encryption(&boxed("key1"));
    let (tell, reported) = std::sync::mpsc::channel();
    encryption.subscribe(Box::new(move || {
        tell.send(()).expect("listened to");
        vec![SECRET.into()]
    }));
    let next = encryption.prepare(&boxed("key2")).expect("rules");
    assert!(kept(&encryption, SECRET).starts_with(b"k8s:enc:secretbox:v1:key1:"), "prepared is not followed");
    let orphans: Vec<_> = encryption.replace(next).into_iter().map(|(name, count)| (name.resource, count)).collect();
    reported.try_recv().expect("reported");
    assert_eq!(orphans, [("secrets".to_owned(), 1)]);
    assert!(kept(&encryption, SECRET).starts_with(b"k8s:enc:secretbox:v1:key2:"));
    let short = Provider::AesGcm(vec![Key { name: "short".to_owned(), secret: vec![1; 20] }]);
    let refused = encryption.prepare(&[rule(&["secrets"], vec![short])]).err().expect("refused").to_string();
    assert_eq!(refused, "error while creating cipher for named key short: invalid key size 20");
}
