//! Config maps that the server publishes in kube-system: the CAs for extension servers, and the day since which uses of legacy
//! tokens are recorded. Guarantees that both are updated at start, and while the server runs. Must never compare a day with the
//! clock: only changes are checked.

use crate::common::http::Answered;
use crate::common::http::{Client, MERGE_PATCH};
use crate::common::process::{Installation, Process};
use crate::common::wait_for;
use rcgen::{CertificateParams, CustomExtension, DnType, KeyPair, date_time_ymd};
use serde_json::{Value, json};

const AUTHORITIES: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
const TRACKING: &str = "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking";

/// A certificate as PEM; with so many bytes of padding in it.
fn certificate(name: &str, last_year: i32, padding: usize) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(last_year, 1, 1);
    if padding > 0 {
        params.custom_extensions = vec![CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![0; padding])];
    }
    let key = KeyPair::generate().expect("a key");
    params.self_signed(&key).expect("a certificate").pem().replace("\r\n", "\n")
}

fn start(installation: &Installation, flags: &[&str]) -> (Process, Client) {
    let process = installation.start_with(flags);
    let client = process.endpoint().client();
    (process, client)
}

fn data(client: &mut Client, path: &str) -> Value {
    client.get(path).expect_status(200)["data"].clone()
}

fn patch(client: &mut Client, path: &str, data: &Value) {
    let patch = json!({"data": data}).to_string();
    client.send("PATCH", path, MERGE_PATCH, patch.as_bytes()).expect_status(200);
}

#[test]
fn authorities_are_published_as_they_were_given_beside_those_of_other_servers() {
    let (own, other, expired) =
        (certificate("own", 2090, 0), certificate("other", 2090, 0), certificate("old", 2021, 0));
    let proxy = certificate("proxy", 2090, 0);
    let installation = Installation::new();
    installation.scratch.write("clients.crt", &format!("Subject: own\r\n{own}{own}"));
    installation.scratch.write("proxy.crt", &proxy);
    let flags = ["--client-ca-file=clients.crt"];
    let (process, mut client) = start(&installation, &flags);
    assert_eq!(data(&mut client, AUTHORITIES), json!({"client-ca-file": own}));
    patch(&mut client, AUTHORITIES, &json!({"client-ca-file": format!("{expired}{other}"), "more": "x"}));
    drop(process);
    let proxy_flags = ["--requestheader-client-ca-file=proxy.crt", "--requestheader-username-headers=X-User"];
    let (_process, mut client) = start(&installation, &[&flags[..], &proxy_flags].concat());
    let expected = json!({
        "client-ca-file": format!("{other}{own}"),
        "requestheader-client-ca-file": proxy,
        "requestheader-allowed-names": "[]",
        "requestheader-extra-headers-prefix": "[]",
        "requestheader-group-headers": "[]",
        "requestheader-username-headers": "[\"X-User\"]",
    });
    assert_eq!(data(&mut client, AUTHORITIES), expected);
    client.delete(AUTHORITIES).expect_status(200);
    wait_for("the config map", || client.get(AUTHORITIES).ok().filter(|answer| answer.status == 200));
    let mut alone = expected;
    alone["client-ca-file"] = own.into();
    assert_eq!(data(&mut client, AUTHORITIES), alone);
}

#[test]
fn authorities_that_cannot_be_read_stay_and_too_many_start_anew() {
    let (own, large) = (certificate("own", 2090, 0), certificate("large", 2090, 773_850));
    let installation = Installation::new();
    installation.scratch.write("clients.crt", &own);
    let flags = ["--client-ca-file=clients.crt"];
    let (process, mut client) = start(&installation, &flags);
    patch(&mut client, AUTHORITIES, &json!({"client-ca-file": "nothing"}));
    drop(process);
    let (process, mut client) = start(&installation, &flags);
    assert_eq!(data(&mut client, AUTHORITIES), json!({"client-ca-file": "nothing"}));
    patch(&mut client, AUTHORITIES, &json!({"client-ca-file": large}));
    drop(process);
    assert!(large.len() + own.len() > 1 << 20 && large.len() < 1 << 20, "{}", large.len());
    let (_process, mut client) = start(&installation, &flags);
    assert_eq!(data(&mut client, AUTHORITIES), json!({"client-ca-file": own}));
}

#[test]
fn the_day_since_which_tokens_are_tracked_is_kept() {
    let installation = Installation::new();
    let (process, mut client) = start(&installation, &[]);
    patch(&mut client, TRACKING, &json!({"since": "2001-02-29", "more": "x"}));
    wait_for("a day", || Some(data(&mut client, TRACKING)).filter(|data| data["since"] != "2001-02-29"));
    assert_eq!(data(&mut client, TRACKING)["more"], "x");
    patch(&mut client, TRACKING, &json!({"since": "2001-02-28"}));
    drop(process);
    let (_process, mut client) = start(&installation, &[]);
    assert_eq!(data(&mut client, TRACKING)["since"], "2001-02-28");
    client.delete(TRACKING).expect_status(200);
    // This start has not created it yet.
    wait_for("the config map", || client.get(TRACKING).ok().filter(|answer| answer.status == 200));
}
