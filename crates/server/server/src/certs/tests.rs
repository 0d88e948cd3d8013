//! Tests of a certificate directory: first start, later starts, renewal, foreign files. Guarantees that valid files stay the
//! same, byte for byte. Must never use the real clock.

use super::*;

/// A directory that is removed at the end of the test.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("pintle-certs-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Dir(path)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).expect(name)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn day(n: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs((20_000 + n) * 86_400)
}

fn names(addresses: &[&str]) -> ServingNames {
    ServingNames::new(Some("Node-1"), addresses.iter().map(|ip| ip.parse().expect("an address")))
}

/// The administrator's certificate.
fn certificate(certs: &Certs) -> &str {
    match &certs.admin {
        Administrator::Certificate { cert_pem, .. } => cert_pem,
        Administrator::Token(_) => panic!("a token"),
    }
}

const FILES: [&str; 6] = ["ca.crt", "ca.key", "apiserver.crt", "apiserver.key", "admin.crt", "admin.key"];

#[test]
fn names_of_a_server() {
    let names = names(&["0.0.0.0", "127.0.0.1", "10.0.0.1", "10.0.0.1"]);
    assert_eq!(names.dns.last().map(String::as_str), Some("node-1"));
    let ips: Vec<String> = names.ips.iter().map(IpAddr::to_string).collect();
    assert_eq!(ips, ["127.0.0.1", "::1", "10.0.0.1"]);
    for bad in [None, Some(""), Some("a b"), Some("1.2.3.4"), Some("localhost")] {
        assert_eq!(ServingNames::new(bad, []).dns.len(), 5, "{bad:?}");
    }
}

#[test]
fn the_first_start_makes_everything_and_later_ones_keep_it() {
    let dir = Dir::new("first");
    let certs = ensure(&dir.0, None, AdministratorBy::Certificate, &names(&["10.0.0.1"]), day(0)).expect("made");
    assert_eq!(certs.server_ca_pem, dir.read("ca.crt"));
    assert!(certs.serving_cert_pem.ends_with(&certs.ca_pem), "the chain ends with the authority");
    let before = FILES.map(|name| dir.read(name));
    let again = ensure(&dir.0, None, AdministratorBy::Certificate, &names(&["10.0.0.1"]), day(300)).expect("kept");
    assert_eq!(FILES.map(|name| dir.read(name)), before);
    assert_eq!(certificate(&again), certificate(&certs));
    #[cfg(unix)]
    for name in FILES {
        let metadata = std::fs::metadata(dir.0.join(name)).expect(name);
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777, 0o600);
    }
    #[cfg(unix)]
    {
        let metadata = std::fs::metadata(&dir.0).expect("the directory");
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777, 0o700);
    }
    let left: Vec<_> = std::fs::read_dir(&dir.0).expect("listed").collect();
    assert_eq!(left.len(), FILES.len(), "nothing else is left behind");
}

#[test]
fn the_administrator_is_recognized() {
    let dir = Dir::new("admin");
    let certs = ensure(&dir.0, None, AdministratorBy::Certificate, &names(&[]), day(0)).expect("made");
    let ca = pintle_auth::authentication::ClientCa::from_pem(certs.ca_pem.as_bytes()).expect("an authority");
    let headers = http::HeaderMap::new();
    let user = |pem: &str| {
        let chain = [first_certificate(pem).expect("a certificate")];
        let request = pintle_auth::AuthenticationRequest::new(&headers, day(1));
        let request = pintle_auth::AuthenticationRequest { client_certs: &chain, ..request };
        match pintle_auth::Authenticator::authenticate(&ca, &request) {
            pintle_resource::MaybeReady::Ready(outcome) => outcome.map(|identity| identity.expect("a name").user),
            pintle_resource::MaybeReady::Wait(_) => panic!("a certificate is verified at once"),
        }
    };
    let admin = user(certificate(&certs)).expect("authenticated");
    assert_eq!(admin.name, "pintle-admin");
    assert_eq!(admin.groups, ["system:masters", "system:authenticated"]);
    assert!(user(&certs.serving_cert_pem).is_err(), "a serving certificate is nobody");
}

#[test]
fn certificates_that_expire_or_lack_a_name_are_renewed() {
    // (description, addresses and day of the second start, whether each file changes)
    let rows: [(&str, &[&str], u64, [bool; 6]); 3] = [
        ("new-name", &["10.9.0.1"], 1, [false, false, true, false, false, false]),
        ("leaf", &[], 340, [false, false, true, false, true, false]),
        ("authority", &[], 3640, [true, false, true, false, true, false]),
    ];
    for (what, addresses, when, changes) in rows {
        let dir = Dir::new(what);
        ensure(&dir.0, None, AdministratorBy::Certificate, &names(&[]), day(0)).expect("made");
        let before = FILES.map(|name| dir.read(name));
        let certs = ensure(&dir.0, None, AdministratorBy::Certificate, &names(addresses), day(when)).expect("renewed");
        for ((name, before), changed) in FILES.iter().zip(before).zip(changes) {
            assert_eq!(dir.read(name) != before, changed, "{what}: {name}");
        }
        let serving = first_certificate(&certs.serving_cert_pem).expect("a certificate");
        assert!(has_names(&serving, &names(addresses)), "{what}");
        assert_eq!(certs.server_ca_pem, dir.read("ca.crt"), "{what}");
    }
}

#[test]
fn foreign_serving_certificates_are_used_unchanged() {
    let (dir, elsewhere) = (Dir::new("given"), Dir::new("elsewhere"));
    let key = KeyPair::generate().expect("key");
    let mut params = params("their-ca", day(0), CA_LIFETIME);
    params.subject_alt_names = vec![SanType::DnsName("api.example".try_into().expect("a name"))];
    let cert = params.self_signed(&key).expect("signed").pem();
    for path in [&dir.0, &elsewhere.0] {
        std::fs::create_dir_all(path).expect("made");
        write_private(&path.join("apiserver.crt"), &cert).expect("written");
        write_private(&path.join("apiserver.key"), &key.serialize_pem()).expect("written");
    }
    // In the certificate directory, also when it is about to end; and by flags.
    let certs = ensure(&dir.0, None, AdministratorBy::Certificate, &names(&[]), day(3645)).expect("used");
    assert_eq!((&certs.serving_cert_pem, &certs.server_ca_pem), (&cert, &cert));
    assert_eq!(dir.read("apiserver.crt"), cert);
    let other = Dir::new("flags");
    let (crt, key) = (elsewhere.0.join("apiserver.crt"), elsewhere.0.join("apiserver.key"));
    let certs = ensure(&other.0, Some((&crt, &key)), AdministratorBy::Certificate, &names(&[]), day(0)).expect("used");
    assert_eq!(certs.serving_cert_pem, cert);
    assert!(!other.0.join("apiserver.crt").exists());
    assert_ne!(certs.ca_pem, cert, "the administrator still has an authority");
}

#[test]
fn mismatched_files_are_rejected_and_kept() {
    type Spoil = fn(&Path);
    let rows: [(&str, Spoil, &str); 4] = [
        ("alone", |dir| std::fs::remove_file(dir.join("apiserver.key")).expect("removed"), "apiserver.key"),
        ("nokey", |dir| std::fs::write(dir.join("ca.key"), "x").expect("written"), "the key cannot be used"),
        ("nocert", |dir| std::fs::write(dir.join("ca.crt"), "x").expect("written"), "no certificate found"),
        (
            "mixed",
            |dir| {
                let key = KeyPair::generate().expect("key").serialize_pem();
                std::fs::write(dir.join("ca.key"), key).expect("written");
            },
            "not of one another",
        ),
    ];
    for (what, spoil, expected) in rows {
        let dir = Dir::new(what);
        ensure(&dir.0, None, AdministratorBy::Certificate, &names(&[]), day(0)).expect("made");
        let before = dir.read("ca.crt");
        spoil(&dir.0);
        let spoilt = dir.read("ca.crt") != before;
        let error =
            ensure(&dir.0, None, AdministratorBy::Certificate, &names(&[]), day(0)).expect_err(what).to_string();
        assert!(error.contains(expected), "{what}: {error}");
        assert_eq!(dir.read("ca.crt") != before, spoilt, "{what}: nothing was replaced");
    }
}

#[test]
fn an_interrupted_start_is_resumed() {
    // The files after each step of the first start, and of one that renews everything.
    let files = ["ca.key", "ca.crt", "apiserver.key", "apiserver.crt", "admin.key", "admin.crt"];
    for steps in 0..=files.len() {
        for (interrupted, next) in [(0, 0), (3640, 3641)] {
            let (whole, dir) = (Dir::new(&format!("whole-{steps}-{next}")), Dir::new(&format!("part-{steps}-{next}")));
            let make = |dir: &Dir, when| ensure(&dir.0, None, AdministratorBy::Certificate, &names(&[]), day(when));
            make(&whole, 0).expect("made");
            if interrupted > 0 {
                make(&dir, 0).expect("made");
                // The steps of a renewal replace the files of the first start.
                for name in files {
                    std::fs::copy(dir.0.join(name), whole.0.join(name)).expect("copied");
                }
                make(&whole, interrupted).expect("renewed");
            } else {
                std::fs::create_dir_all(&dir.0).expect("made");
            }
            for name in &files[..steps] {
                std::fs::copy(whole.0.join(name), dir.0.join(name)).expect("copied");
            }
            let certs = make(&dir, next).unwrap_or_else(|error| panic!("after {steps} steps: {error}"));
            let serving = first_certificate(&certs.serving_cert_pem).expect("a certificate");
            assert!(is_of(&serving, &certs.serving_key_pem), "after {steps} steps");
            assert_eq!(certs.server_ca_pem, certs.ca_pem, "after {steps} steps");
            let Administrator::Certificate { cert_pem, key_pem } = &certs.admin else { panic!("a token") };
            assert!(is_of(&first_certificate(cert_pem).expect("a certificate"), key_pem), "after {steps} steps");
        }
    }
}

#[test]
fn with_other_client_authorities_the_administrator_has_a_token() {
    let dir = Dir::new("token");
    let make = || match ensure(&dir.0, None, AdministratorBy::Token, &names(&[]), day(0)).expect("made").admin {
        Administrator::Token(token) => token,
        Administrator::Certificate { .. } => panic!("a certificate"),
    };
    let (first, second) = (make(), make());
    assert_ne!(first, second, "it is good for one process");
    assert_eq!(first.len(), 43);
    assert!(!dir.0.join("admin.crt").exists() && !dir.0.join("admin.key").exists());
}
