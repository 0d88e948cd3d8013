//! Types of `apiserver.k8s.io/v1alpha1`: files that configure an API server.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{Duration, RawExtension, same_as};

use crate::meta::v1::TypeMeta;

same_as! {
    super::v1::{
        AdmissionConfiguration, AdmissionPluginConfiguration, AnonymousAuthCondition, AnonymousAuthConfig,
        AudienceMatchPolicyType, AuthenticationConfiguration, AuthorizationConfiguration, AuthorizerConfiguration,
        AuthorizerType, ClaimMappings, ClaimOrExpression, ClaimValidationRule, EgressSelectorType, ExtraMapping,
        Issuer, JWTAuthenticator, PrefixedClaimOrExpression, TracingConfiguration, UserValidationRule,
        WebhookConfiguration, WebhookConnectionInfo, WebhookMatchCondition
    }
}

same_as! {
    super::v1beta1::{
        Connection, EgressSelection, EgressSelectorConfiguration, ProtocolType, TCPTransport, TLSConfig, Transport,
        UDSTransport
    }
}
