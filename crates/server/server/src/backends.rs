//! The `Connector` of the running server: requests to kubelets, pods and services over its own sockets. Guarantees that this
//! server's client certificate is presented to kubelets only, and that users cannot reach this machine itself through it. Must
//! never decide where a request goes.

use crate::follow::follow;
use arc_swap::ArcSwap;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pintle_http::{ClientConfig, ClientTlsMaterial, TlsError, UpgradedConnection, Upstream, client_config};
use pintle_proxy::backend::{
    BackendResponse, ByteStream, Connector, Destination, Trust, Unreachable, is_global_unicast,
};
use pintle_proxy::upgrade::Upgraded;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Connections of the server to others. Clones share their client certificate and authorities.
#[derive(Clone)]
pub struct SocketConnector {
    /// Replaced when its files change; connections that are open stay.
    kubelet: Arc<ArcSwap<KubeletConfigs>>,
    unverified: Arc<ClientConfig>,
    kubelet_timeout: Duration,
}

/// TLS configurations for kubelets; the second one does not verify certificates.
pub struct KubeletConfigs {
    verified: Arc<ClientConfig>,
    unverified: Arc<ClientConfig>,
}

impl KubeletConfigs {
    fn new(material: &ClientTlsMaterial) -> Result<KubeletConfigs, TlsError> {
        let any = ClientTlsMaterial { ca_pem: None, ..material.clone() };
        Ok(KubeletConfigs { verified: client_config(material)?, unverified: client_config(&any)? })
    }
}

/// Time for connecting to pods and services, as in kube-apiserver.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// The timeout of connecting to kubelets, unless a flag sets another.
pub const KUBELET_TIMEOUT: Duration = Duration::from_secs(5);

impl SocketConnector {
    /// A connector with this TLS material for kubelets. Without a CA any kubelet is trusted, as in kube-apiserver.
    ///
    /// # Errors
    /// The material is unusable.
    pub fn new(material: &ClientTlsMaterial, kubelet_timeout: Duration) -> Result<SocketConnector, TlsError> {
        Ok(SocketConnector {
            kubelet: Arc::new(ArcSwap::from_pointee(KubeletConfigs::new(material)?)),
            unverified: client_config(&ClientTlsMaterial::default())?,
            kubelet_timeout,
        })
    }

    /// Reloads the client certificate and the authorities for kubelets, until the connector is dropped.
    ///
    /// # Errors
    /// The system has no thread to spare.
    pub fn follow(
        &self,
        mut last: ClientTlsMaterial,
        read: impl Fn() -> Result<ClientTlsMaterial, String> + Send + 'static,
    ) -> std::io::Result<()> {
        follow("certificates for kubelets", &self.kubelet, move |configs: &ArcSwap<KubeletConfigs>| {
            let material = read()?;
            if (&material.ca_pem, &material.identity) != (&last.ca_pem, &last.identity) {
                configs.store(Arc::new(KubeletConfigs::new(&material).map_err(|error| error.to_string())?));
                last = material;
            }
            Ok(())
        })
    }

    async fn send(&self, to: Destination, request: http::Request<ByteStream>) -> Result<BackendResponse, Unreachable> {
        let tls = match to.trust {
            Trust::Kubelet => self.kubelet.load().verified.clone(),
            Trust::UnverifiedKubelet => self.kubelet.load().unverified.clone(),
            Trust::Unverified | Trust::Local => self.unverified.clone(),
        };
        let (connect_timeout, allowed): (_, fn(IpAddr) -> bool) = match to.trust {
            Trust::Kubelet | Trust::UnverifiedKubelet => (self.kubelet_timeout, |_| true),
            Trust::Unverified => (CONNECT_TIMEOUT, is_global_unicast),
            Trust::Local => (CONNECT_TIMEOUT, |address| address.is_loopback()),
        };
        let upstream = Upstream { host: &to.host, port: to.port, tls: to.tls.then_some(tls), connect_timeout, allowed };
        let response = pintle_http::send(upstream, request).await.map_err(|error| Unreachable(error.to_string()))?;
        Ok(exchange(response))
    }
}

/// A response as a `BackendResponse`, whose connection may be taken over.
pub(crate) fn exchange(mut response: http::Response<pintle_http::ResponseBody>) -> BackendResponse {
    let upgrade = pintle_http::on_upgrade(&mut response);
    let upgraded = async move {
        let upgraded = upgrade.await.map_err(std::io::Error::other)?;
        Ok(Box::new(UpgradedConnection::new(upgraded)) as Upgraded)
    };
    let (parts, body) = response.into_parts();
    BackendResponse { response: parts, body: Box::pin(pintle_http::pieces(body)), upgraded: upgraded.boxed() }
}

impl Connector for SocketConnector {
    fn send(
        &self,
        to: Destination,
        request: http::Request<ByteStream>,
    ) -> BoxFuture<'_, Result<BackendResponse, Unreachable>> {
        SocketConnector::send(self, to, request).boxed()
    }
}
