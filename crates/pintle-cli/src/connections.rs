//! Connections to kubelets, extension servers and other servers over the same store, with the certificates of files
//! that are followed. Must never connect before a request needs it.

use crate::flags::{Config, Kubelet};
use crate::store::read;
use pintle::extension_servers::ExtensionSockets;
use pintle::follow::{self, follow};
use pintle::{Builder, PROXY_CERTIFICATE_RELOAD, PeerSettings, SocketConnector};
use pintle_http::ClientTlsMaterial;
use pintle_services::routing::Routing;
use pintle_webhook::Identity as ClientIdentity;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// Sets how the server reaches other servers.
///
/// # Errors
/// A file cannot be read, or is no certificate.
pub fn install(config: &Config, builder: &mut Builder) -> Result<(), Box<dyn Error>> {
    let kubelet = &config.kubelet;
    let material = kubelet_material(kubelet)?;
    let connector = SocketConnector::new(&material, kubelet.timeout).map_err(|error| format!("kubelets: {error}"))?;
    if kubelet.certificate_authority.is_some() || kubelet.identity.files().is_some() {
        let followed = kubelet.clone();
        connector.follow(material, move || kubelet_material(&followed))?;
    }
    builder.generic().set_connector(Arc::new(connector));
    if !kubelet.address_types.is_empty() {
        builder.set_kubelet_address_types(kubelet.address_types.clone());
    }
    builder.advertised().peer_address = (config.peers.advertise_ip, config.peers.advertise_port);
    if config.front_proxy.identity.files().is_some() {
        builder.add_post_start_hook(PROXY_CERTIFICATE_RELOAD);
    }
    let aggregation = builder.aggregation();
    aggregation.servers = extension_servers(config)?;
    aggregation.peers = peers(config)?;
    if config.front_proxy.routes_to_pods {
        aggregation.routing = Routing::Endpoints;
    }
    aggregation.reject_redirects = config.front_proxy.rejects_redirects;
    Ok(())
}

/// How other servers over the same store are reached, if flags name their authorities.
fn peers(config: &Config) -> Result<Option<PeerSettings>, Box<dyn Error>> {
    let Some(file) = config.peers.ca_file.as_deref() else { return Ok(None) };
    // Connections of their own: those to extension servers are closed with their API services.
    Ok(Some(PeerSettings { servers: extension_servers(config)?, ca_pem: read(file)? }))
}

/// Connections to extension servers; new ones present the current certificate of the front proxy's files.
fn extension_servers(config: &Config) -> Result<Arc<ExtensionSockets>, Box<dyn Error>> {
    let pair = &config.front_proxy.identity;
    let read_both = |(certificate, key): (&Path, &Path)| {
        let (cert_pem, key_pem) = (follow::read(certificate)?, follow::read(key)?);
        Ok::<_, String>(ClientIdentity { cert_pem, key_pem })
    };
    let identity = pair.files().map(read_both).transpose()?;
    let sockets = ExtensionSockets::new(identity).map_err(|error| format!("--proxy-client-cert-file: {error}"))?;
    let sockets = Arc::new(sockets);
    if let Some((certificate, key)) = pair.files() {
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        follow("certificate of the front proxy", &sockets, move |sockets| {
            sockets.show(Some(read_both((&certificate, &key))?)).map_err(|error| error.to_string())
        })?;
    }
    Ok(sockets)
}

/// The client certificate for kubelets, and the authorities that they are verified against.
fn kubelet_material(kubelet: &Kubelet) -> Result<ClientTlsMaterial, String> {
    let identity = kubelet.identity.files();
    let identity = identity.map(|(certificate, key)| Ok::<_, String>((follow::read(certificate)?, follow::read(key)?)));
    Ok(ClientTlsMaterial {
        ca_pem: kubelet.certificate_authority.as_deref().map(follow::read).transpose()?,
        identity: identity.transpose()?,
    })
}
