//! Tests of client certificates. Guarantees that each rejection has its own reason: the same certificate without the flaw is
//! accepted. Must never use the real clock.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd,
};

use super::*;
use crate::authentication::cert_cache::RECHECK;
use crate::authentication::{
    AnonymousAccess, AuthenticatorUnion, CertCache, CurrentAnonymousAccess, RequestAuthenticator, TokenFile,
    bearer_token,
};
use futures_util::FutureExt;
use http::HeaderMap;
use x509_parser::prelude::FromDer;

type Ca = CertifiedIssuer<'static, KeyPair>;

fn ca(name: &str) -> Ca {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("key")).expect("CA")
}

/// A certificate for `alice` of `dev` and `ops`, valid in 2025 and 2026, for authenticating clients.
fn alice() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.not_before = date_time_ymd(2025, 1, 1);
    params.not_after = date_time_ymd(2026, 12, 31);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "alice");
    params.distinguished_name.push(DnType::OrganizationName, "dev");
    params
}

fn signed(params: CertificateParams, ca: &Ca) -> CertificateDer<'static> {
    let key = KeyPair::generate().expect("key");
    params.signed_by(&key, ca).expect("signed").der().clone()
}

fn in_year(year: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs((year - 1970) * 31_557_600 + 86_400 * 30)
}

/// The authority as the only authenticator.
fn authenticator(ca: &Ca, anonymous: bool) -> RequestAuthenticator {
    with(vec![client_ca(ca)], anonymous)
}

fn client_ca(ca: &Ca) -> Arc<ClientCa> {
    Arc::new(ClientCa::from_pem(ca.pem().as_bytes()).expect("CA"))
}

fn with(authenticators: Vec<Arc<dyn Authenticator>>, anonymous: bool) -> RequestAuthenticator {
    RequestAuthenticator {
        authenticators: AuthenticatorUnion::new(authenticators),
        anonymous: CurrentAnonymousAccess::new(AnonymousAccess::everywhere(anonymous)),
        ..RequestAuthenticator::default()
    }
}

/// The user of a certificate chain, as a connection may have cached it, and a bearer token.
fn user(
    authenticator: &RequestAuthenticator,
    client_certs: &[CertificateDer<'_>],
    cert_cache: Option<&CertCache>,
    header: &[u8],
    now: SystemTime,
) -> Option<Arc<UserInfo>> {
    let headers = HeaderMap::new();
    let bearer_token = bearer_token(header);
    let request =
        AuthenticationRequest { client_certs, cert_cache, bearer_token, ..AuthenticationRequest::new(&headers, now) };
    let outcome = authenticator.authenticate(&request).now_or_never().expect("nothing waits");
    outcome.ok().map(|identity| identity.user)
}

fn name(authenticator: &RequestAuthenticator, chain: &[CertificateDer<'_>], year: u64) -> Option<String> {
    user(authenticator, chain, None, b"", in_year(year)).map(|user| user.name.to_string())
}

#[test]
fn a_certificate_gives_name_groups_and_credential_id() {
    let ca = ca("ca");
    let mut params = alice();
    let uid = DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
    params.distinguished_name.push(uid, "u-1");
    let chain = [signed(params, &ca)];
    let user = user(&authenticator(&ca, true), &chain, None, b"", in_year(2026)).expect("authenticated");
    assert_eq!((user.name.as_str(), user.uid.as_str()), ("alice", "u-1"));
    assert_eq!(user.groups, ["dev", "system:authenticated"]);
    let [(key, values)] = user.extra.as_slice() else {
        panic!("one extra: {:?}", user.extra);
    };
    assert_eq!(key, "authentication.kubernetes.io/credential-id");
    assert!(values[0].starts_with("X509SHA256=") && values[0].len() == 11 + 64);
    let without = ClientCa::from_pem(ca.pem().as_bytes()).expect("CA").without_uids();
    let user =
        self::user(&with(vec![Arc::new(without)], true), &chain, None, b"", in_year(2026)).expect("authenticated");
    assert_eq!((user.name.as_str(), user.uid.as_str()), ("alice", ""));
}

#[test]
fn only_what_the_authority_signed_for_clients_and_for_now_counts() {
    let (ours, foreign) = (ca("ca"), ca("ca"));
    let changed = |change: fn(&mut CertificateParams)| {
        let mut params = alice();
        change(&mut params);
        params
    };
    // (description, certificate, year, user)
    let rows = [
        ("as it should be", signed(alice(), &ours), 2026, Some("alice")),
        ("expired", signed(alice(), &ours), 2027, None),
        ("not yet valid", signed(alice(), &ours), 2024, None),
        ("of another authority of that name", signed(alice(), &foreign), 2026, None),
        (
            "for servers only",
            signed(changed(|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]), &ours),
            2026,
            None,
        ),
        ("without uses", signed(changed(|p| p.extended_key_usages.clear()), &ours), 2026, Some("alice")),
        (
            "for any use",
            signed(changed(|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any]), &ours),
            2026,
            Some("alice"),
        ),
        (
            "of an authority",
            signed(changed(|p| p.is_ca = IsCa::Ca(BasicConstraints::Unconstrained)), &ours),
            2026,
            Some("alice"),
        ),
        (
            "of an authority, expired",
            signed(changed(|p| p.is_ca = IsCa::Ca(BasicConstraints::Unconstrained)), &ours),
            2027,
            None,
        ),
        (
            "of an authority of another one",
            signed(changed(|p| p.is_ca = IsCa::Ca(BasicConstraints::Unconstrained)), &foreign),
            2026,
            None,
        ),
        (
            "without a common name",
            signed(changed(|p| p.distinguished_name = rcgen::DistinguishedName::new()), &ours),
            2026,
            Some("system:anonymous"),
        ),
        ("garbage", CertificateDer::from(vec![0x30, 0x03, 1, 2, 3]), 2026, None),
    ];
    let authenticator = authenticator(&ours, true);
    for (what, cert, year, who) in rows {
        assert_eq!(name(&authenticator, &[cert], year).as_deref(), who, "{what}");
    }
    assert_eq!(name(&authenticator, &[], 2026).as_deref(), Some("system:anonymous"));
}

/// An element of a tag and contents of less than 64 KiB.
fn element(tag: u8, contents: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(contents.len()).expect("short").to_be_bytes();
    let length = match contents.len() {
        short @ 0..=0x7f => vec![u8::try_from(short).expect("short")],
        0x80..=0xff => vec![0x81, low],
        _ => vec![0x82, high, low],
    };
    [&[tag], &length[..], contents].concat()
}

#[test]
fn unknown_critical_extensions_are_not_accepted() {
    let ours = ca("ours");
    let certificate = |is_critical: bool| {
        let mut params = alice();
        let mut extension = rcgen::CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
        extension.set_criticality(is_critical);
        params.custom_extensions = vec![extension];
        signed(params, &ours)
    };
    let critical = certificate(true);
    // A client can prove to own its key, so that the request is answered.
    assert!(direct::public_key(&critical).is_some());
    assert_eq!(name(&authenticator(&ours, false), &[critical], 2026), None);
    assert_eq!(name(&authenticator(&ours, false), &[certificate(false)], 2026).as_deref(), Some("alice"));
}

/// The same without a version and extensions: a certificate of version 1.
fn of_version_1(der: &CertificateDer<'_>, ca: &Ca) -> CertificateDer<'static> {
    use rcgen::SigningKey;
    use x509_parser::asn1_rs::{Any, Sequence};
    let outer = Sequence::from_der(der).expect("a certificate").1.content;
    let (after_tbs, tbs) = Sequence::from_der(&outer).expect("what is signed");
    let (after_algorithm, _) = Sequence::from_der(after_tbs).expect("an algorithm");
    let algorithm = after_tbs.strip_suffix(after_algorithm).expect("the algorithm");
    let (fields, _) = Any::from_der(&tbs.content).expect("a version");
    let mut rest = fields;
    // Serial number, algorithm, issuer, validity, subject, key.
    for _ in 0..6 {
        (rest, _) = Any::from_der(rest).expect("a field");
    }
    let signed = element(0x30, fields.strip_suffix(rest).expect("fields"));
    let signature = element(0x03, &[vec![0], ca.key().sign(&signed).expect("a signature")].concat());
    CertificateDer::from(element(0x30, &[&signed, algorithm, &signature].concat()))
}

#[test]
fn certificates_of_the_first_version_come_from_an_authority_itself() {
    let (ours, foreign) = (ca("ca"), ca("ca"));
    let old = of_version_1(&signed(alice(), &ours), &ours);
    assert!(direct::public_key(&old).is_some() && EndEntityCert::try_from(&old).is_err());
    let mut changed = old.to_vec();
    // In the middle of the signature.
    *changed.iter_mut().nth_back(20).expect("bytes") ^= 1;
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "middle");
    let middle = CertifiedIssuer::signed_by(params, KeyPair::generate().expect("key"), &ours).expect("signed");
    let below = [of_version_1(&signed(alice(), &middle), &middle), middle.der().clone()];
    let old_middle = [signed(alice(), &middle), of_version_1(middle.der(), &ours)];
    let rows: [(&str, &[CertificateDer<'_>], u64, Option<&str>); 7] = [
        ("as it should be", std::slice::from_ref(&old), 2026, Some("alice")),
        ("expired", std::slice::from_ref(&old), 2027, None),
        ("not yet valid", std::slice::from_ref(&old), 2024, None),
        ("of another authority of that name", &[of_version_1(&signed(alice(), &foreign), &foreign)], 2026, None),
        ("with another signature", &[CertificateDer::from(changed)], 2026, None),
        ("below an intermediate", &below, 2026, None),
        ("as an intermediate", &old_middle, 2026, None),
    ];
    let authenticator = authenticator(&ours, true);
    for (what, chain, year, who) in rows {
        assert_eq!(name(&authenticator, chain, year).as_deref(), who, "{what}");
    }
    for cut in 0..old.len() {
        assert!(direct::public_key(&old[..cut]).is_none(), "{cut}");
    }
}

#[test]
fn chains_go_through_intermediates() {
    let root = ca("root");
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.distinguished_name.push(DnType::CommonName, "middle");
    let key = KeyPair::generate().expect("key");
    let middle = CertifiedIssuer::signed_by(params, key, &root).expect("signed");
    let leaf = signed(alice(), &middle);
    let authenticator = authenticator(&root, false);
    let chain = [leaf, middle.der().clone()];
    assert_eq!(name(&authenticator, &chain, 2026).as_deref(), Some("alice"));
    assert_eq!(name(&authenticator, &chain[..1], 2026), None);
}

#[test]
fn a_connection_caches_the_result_for_a_while_and_no_longer_than_its_authority() {
    let (ca, other) = (ca("ca"), ca("other"));
    // The chain does not matter while the result is cached.
    let [good, bad] = [&ca, &other].map(|ca| [signed(alice(), ca)]);
    let (trusted, cache) = (client_ca(&ca), CertCache::default());
    let authenticator = with(vec![trusted.clone()], false);
    let ask = |chain: &[CertificateDer<'_>], now| user(&authenticator, chain, Some(&cache), b"", now).is_some();
    let start = in_year(2026);
    assert!(ask(&good, start));
    assert!(ask(&bad, start + RECHECK / 2));
    assert!(!ask(&bad, start + RECHECK));
    assert!(ask(&good, start - RECHECK), "clock went backwards");
    let end = certificate::not_after(&good[0]).expect("it ends");
    let second = Duration::from_secs(1);
    assert!(ask(&good, end - second) && ask(&bad, end), "it is cached to its end");
    assert!(!ask(&bad, end + second), "it is not cached beyond its end");
    assert!(ask(&good, start));
    assert!(trusted.replace(b"nothing").is_err() && ask(&good, start));
    trusted.replace(other.pem().as_bytes()).expect("an authority");
    assert!(!ask(&good, start));
    trusted.replace([other.pem(), ca.pem()].concat().as_bytes()).expect("authorities");
    assert!(ask(&good, start));
}

#[test]
fn a_good_token_makes_up_for_an_unknown_certificate() {
    let tokens = TokenFile::parse("t,bob,1").expect("valid");
    let authenticator = with(vec![client_ca(&ca("ca")), Arc::new(tokens)], true);
    let chain = [signed(alice(), &ca("other"))];
    for (header, name) in [("Bearer t", Some("bob")), ("Bearer u", None), ("", None)] {
        let user = user(&authenticator, &chain, None, header.as_bytes(), in_year(2026));
        assert_eq!(user.as_ref().map(|user| user.name.as_str()), name);
    }
}

#[test]
fn files_without_a_usable_authority_are_refused() {
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for pem in ["", "no pem", broken] {
        assert!(ClientCa::from_pem(pem.as_bytes()).is_err(), "{pem:?}");
    }
}
