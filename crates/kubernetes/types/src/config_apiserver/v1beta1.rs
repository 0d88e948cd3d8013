//! Types of `apiserver.k8s.io/v1beta1`: files that configure an API server.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Duration, same_as, string_type};

use crate::meta::v1::TypeMeta;

same_as! {
    super::v1::{
        AnonymousAuthCondition, AnonymousAuthConfig, AudienceMatchPolicyType, AuthenticationConfiguration,
        AuthorizationConfiguration, AuthorizerConfiguration, AuthorizerType, ClaimMappings, ClaimOrExpression,
        ClaimValidationRule, EgressSelectorType, ExtraMapping, Issuer, JWTAuthenticator, PrefixedClaimOrExpression,
        TracingConfiguration, UserValidationRule, WebhookConfiguration, WebhookConnectionInfo, WebhookMatchCondition
    }
}

/// How the server opens outgoing connections.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EgressSelectorConfiguration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// One entry for each network path.
    #[k8s(always)]
    pub egress_selections: Vec<EgressSelection>,
}

/// One network path for outgoing connections.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EgressSelection {
    /// Traffic using the path: controlplane, etcd or cluster.
    #[k8s(always)]
    pub name: String,
    /// How connections are made.
    #[k8s(always)]
    pub connection: Connection,
}

/// Way of making outgoing connections.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Connection {
    /// Protocol spoken with the proxy, or Direct for none.
    pub proxy_protocol: ProtocolType,
    /// How the proxy is reached; not for Direct.
    #[k8s(optional)]
    pub transport: Option<Transport>,
}

string_type! {
    /// Protocol spoken with an egress proxy.
    pub ProtocolType {
        /// HTTP CONNECT.
        HTTP_CONNECT = "HTTPConnect",
        /// GRPC tunnel.
        GRPC = "GRPC",
        /// No proxy.
        DIRECT = "Direct",
    }
}

/// How an egress proxy is reached, by TCP or socket.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Transport {
    /// Reach the proxy by TCP.
    #[k8s(optional)]
    pub tcp: Option<TCPTransport>,
    /// Reach the proxy by a Unix socket.
    #[k8s(optional)]
    pub uds: Option<UDSTransport>,
}

/// TCP connection to a proxy.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TCPTransport {
    /// Address of the proxy.
    pub url: String,
    /// Certificates for the connection; needed for https addresses.
    #[k8s(optional)]
    pub tls_config: Option<TLSConfig>,
}

/// Socket connection to a proxy.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct UDSTransport {
    /// Path of the socket.
    pub uds_name: String,
}

/// Certificates for talking to a proxy.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TLSConfig {
    /// File with certificates trusted for the proxy.
    #[k8s(optional)]
    pub ca_bundle: String,
    /// File with the client's private key.
    #[k8s(optional)]
    pub client_key: String,
    /// File with the client's certificate.
    #[k8s(optional)]
    pub client_cert: String,
    /// Name expected in the certificate of the proxy.
    #[k8s(optional)]
    pub tls_server_name: String,
}
