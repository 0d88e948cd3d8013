//! A front proxy, which sends the user of a request in headers. Guarantees that its headers take precedence over all
//! other credentials of the request, and that headers of other clients are ignored.

use crate::common::credentials::Credentials;
use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint};
use crate::common::process::{Installation, start};
use serde_json::{Value, json};

fn who_am_i(client: &mut Client) -> Value {
    let review = client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &json!({})).answer();
    review.expect(201)["status"]["userInfo"].clone()
}

#[test]
fn the_proxy_says_who_a_request_comes_from() {
    let (installation, credentials) = (Installation::new(), Credentials::new());
    let flags = [
        ("--tls-cert-file", "server.crt"),
        ("--tls-private-key-file", "server.key"),
        ("--requestheader-client-ca-file", "ca.crt"),
    ];
    let command = |port| {
        let mut command = installation.command(port);
        flags.iter().for_each(|(flag, file)| _ = command.arg(flag).arg(credentials.file(file)));
        command.args(["--requestheader-allowed-names=client", "--requestheader-username-headers=X-Remote-User"]);
        command.args(["--requestheader-group-headers=X-Remote-Group", "--controllers="]);
        command
    };
    let process = start(command, &credentials.file(""));
    let direct = process.endpoint();
    let proxy = Endpoint { tls: Some(credentials.client_config()), ..direct.clone() };
    let of = |endpoint: &Endpoint, user: &str| {
        endpoint.client().with_header("X-Remote-User", user).with_header("X-Remote-Group", "a")
    };
    let reported = |name: &str| json!({"username": name, "groups": ["a", "system:authenticated"]});
    for name in ["bob", "j\u{fc}rgen"] {
        assert_eq!(who_am_i(&mut of(&proxy, name)), reported(name));
    }
    // The user that the proxy names is authorized, even if the request has other credentials.
    let mut eve = of(&proxy, "bob").with_header("Impersonate-User", "eve");
    assert_eq!(eve.get("/api/v1/namespaces").answer().status, 403);
    // Clients other than the proxy, and a proxy that names no user, are authenticated by their own credentials.
    for client in [&mut of(&direct, "bob"), &mut of(&proxy, ""), &mut proxy.client()] {
        assert_eq!(who_am_i(client)["username"], "admin");
    }
    let mut nobody =
        of(&Endpoint { token: None, ..direct.clone() }, "bob").with_header("X-Remote-Group", "system:masters");
    let forbidden = nobody.get("/api/v1/namespaces").expect_status(403);
    assert!(forbidden["message"].as_str().is_some_and(|why| why.contains("\"system:anonymous\"")), "{forbidden}");
}
