//! The file of `--egress-selector-config-file`: how connections to nodes, etcd and other servers are made.
//! Guarantees that a file is accepted only if it asks for what the server does: direct connections. Must never connect.

use crate::config_files;
use pintle_types::config_apiserver::v1beta1::EgressSelectorConfiguration;
use std::path::Path;

const VERSIONS: [&str; 3] =
    ["apiserver.k8s.io/v1beta1", "apiserver.k8s.io/v1alpha1", "apiserver.config.k8s.io/v1beta1"];
/// The networks that kube-apiserver knows; `master` is the old name of the first one.
const NETWORKS: [&str; 4] = ["controlplane", "etcd", "cluster", "master"];

/// Checks a file.
///
/// # Errors
/// It cannot be read, is invalid, or names a proxy.
pub fn check(path: &Path) -> Result<(), String> {
    check_text(&config_files::read(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

fn check_text(text: &[u8]) -> Result<(), String> {
    let file: EgressSelectorConfiguration = config_files::decode(text, &VERSIONS, "EgressSelectorConfiguration")?;
    for selection in &file.egress_selections {
        if !NETWORKS.contains(&selection.name.as_str()) {
            return Err(format!("egressSelections.name: Unsupported value: {:?}", selection.name));
        }
        let connection = &selection.connection;
        match connection.proxy_protocol.as_str() {
            "Direct" if connection.transport.is_none() => {}
            "Direct" => return Err("\"Direct\" requires no transport".to_owned()),
            "HTTPConnect" | "GRPC" => {
                return Err(format!(
                    "the egress selection {:?} names a proxy, which is not supported: the server connects directly",
                    selection.name
                ));
            }
            other => return Err(format!("unrecognized service ProxyProtocol {other:?}")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_direct_connections_are_accepted() {
        for (selections, expected) in [
            ("[]", ""),
            ("[{name: cluster, connection: {proxyProtocol: Direct}}]", ""),
            ("[{name: cluster, connection: {proxyProtocol: GRPC}}]", "names a proxy"),
            ("[{name: moon, connection: {proxyProtocol: Direct}}]", "Unsupported value"),
            ("[{name: etcd, connection: {proxyProtocol: Direct, transport: {}}}]", "requires no transport"),
            ("[{name: etcd, connection: {proxyProtocol: Smoke}}]", "unrecognized"),
        ] {
            let head = "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\n";
            let text = format!("{head}egressSelections: {selections}\n");
            let found = check_text(text.as_bytes()).err().unwrap_or_default();
            assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{selections}: {found}");
        }
    }
}
