//! The administrator's kubeconfig: one cluster, one user, one context, all named `pintle`, with embedded credentials.
//! Guarantees a file that works from any directory and that only its owner can read. Must never touch a kubeconfig that it did
//! not write: the caller gives its own path.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use pintle_schema::base64;

use crate::certs::{Administrator, Certs, CertsError, write_private};
use crate::private_files;

/// The URL at which a server bound to an address is reached from its own machine.
pub fn server_url(bind_address: IpAddr, port: u16) -> String {
    let reachable = match bind_address {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("https://{}", SocketAddr::new(reachable, port))
}

/// Writes the administrator's kubeconfig, with the directories it needs, unless it is there already.
pub fn write(path: &Path, server_url: &str, certs: &Certs) -> Result<(), CertsError> {
    if let Some(dir) = path.parent() {
        private_files::create_directory(dir).map_err(|error| CertsError::File(dir.to_owned(), error))?;
    }
    let text = render(server_url, certs);
    // A server whose disk is full starts too.
    let is_there = std::fs::read(path).is_ok_and(|found| found == text.as_bytes());
    if is_there { Ok(()) } else { write_private(path, &text) }
}

/// The text of the kubeconfig. Nothing in it needs quoting: a URL of an address, base64, and a token of its letters.
pub fn render(server_url: &str, certs: &Certs) -> String {
    let ca = base64::encode(certs.server_ca_pem.as_bytes());
    let user = match &certs.admin {
        Administrator::Certificate { cert_pem, key_pem } => format!(
            "client-certificate-data: {}\n    client-key-data: {}",
            base64::encode(cert_pem.as_bytes()),
            base64::encode(key_pem.as_bytes())
        ),
        Administrator::Token(token) => format!("token: {token}"),
    };
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: pintle
  cluster:
    certificate-authority-data: {ca}
    server: {server_url}
contexts:
- name: pintle
  context:
    cluster: pintle
    user: pintle
current-context: pintle
preferences: {{}}
users:
- name: pintle
  user:
    {user}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let rows = [
            ("0.0.0.0", "https://127.0.0.1:6443"),
            ("::", "https://[::1]:6443"),
            ("10.1.2.3", "https://10.1.2.3:6443"),
            ("fd00::1", "https://[fd00::1]:6443"),
        ];
        for (address, url) in rows {
            assert_eq!(server_url(address.parse().expect("an address"), 6443), url);
        }
    }

    #[test]
    fn the_file_is_private_and_holds_what_is_needed() {
        let certs = Certs {
            ca_pem: "unused".to_owned(),
            server_ca_pem: "CA".to_owned(),
            serving_cert_pem: "unused".to_owned(),
            serving_key_pem: "unused".to_owned(),
            admin: Administrator::Certificate { cert_pem: "CERT".to_owned(), key_pem: "KEY".to_owned() },
        };
        let dir = std::env::temp_dir().join(format!("pintle-kubeconfig-{}", std::process::id()));
        let path = dir.join("deep/kubeconfig");
        write(&path, "https://127.0.0.1:1", &certs).expect("written");
        let text = std::fs::read_to_string(&path).expect("read");
        for line in [
            "    certificate-authority-data: Q0E=",
            "    server: https://127.0.0.1:1",
            "    client-certificate-data: Q0VSVA==",
            "    client-key-data: S0VZ",
            "current-context: pintle",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}");
        }
        assert!(!text.contains("unused"));
        #[cfg(unix)]
        {
            let mode = std::fs::metadata(&path).expect("there").permissions();
            assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
        }
        #[cfg(unix)]
        for directory in [&dir, &dir.join("deep")] {
            let mode = std::fs::metadata(directory).expect("there").permissions();
            assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o700);
        }
        let by_token = Certs { admin: Administrator::Token("abc".to_owned()), ..certs };
        let text = render("https://127.0.0.1:1", &by_token);
        assert!(text.ends_with("  user:\n    token: abc\n") && !text.contains("client-"), "{text}");
        std::fs::remove_dir_all(&dir).expect("removed");
    }
}
