//! Types of `apiserver.config.k8s.io/v1`: files that configure an API server.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Duration, RawExtension, string_type};

use crate::meta::v1::TypeMeta;

/// Settings for admission plugins.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AdmissionConfiguration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// One entry for each plugin with settings.
    #[k8s(optional, always)]
    pub plugins: Vec<AdmissionPluginConfiguration>,
}

/// Settings for one admission plugin.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AdmissionPluginConfiguration {
    /// Name of the plugin.
    #[k8s(always)]
    pub name: String,
    /// File with the plugin's settings.
    #[k8s(optional, always)]
    pub path: String,
    /// Settings written in place; wins over the file.
    #[k8s(optional, always)]
    pub configuration: Option<RawExtension>,
}

/// How the server recognises its users.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AuthenticationConfiguration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Issuers whose JSON web tokens are accepted; up to 64.
    #[k8s(always)]
    pub jwt: Vec<JWTAuthenticator>,
    /// Handling of requests without credentials; replaces the command-line flag.
    pub anonymous: Option<AnonymousAuthConfig>,
}

/// Handling of requests without credentials.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AnonymousAuthConfig {
    /// Whether such requests are let in as anonymous.
    #[k8s(always)]
    pub enabled: bool,
    /// Where they are let in; everywhere when empty.
    pub conditions: Vec<AnonymousAuthCondition>,
}

/// Place where anonymous requests are let in.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AnonymousAuthCondition {
    /// Exact URL path.
    #[k8s(always)]
    pub path: String,
}

/// Issuer of tokens and how its tokens become users.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct JWTAuthenticator {
    /// Issuer and how its tokens get verified.
    #[k8s(published = required, always)]
    pub issuer: Issuer,
    /// Checks on the claims of a token.
    #[k8s(optional)]
    pub claim_validation_rules: Vec<ClaimValidationRule>,
    /// How claims turn into user attributes.
    #[k8s(published = required, always)]
    pub claim_mappings: ClaimMappings,
    /// Checks on the resulting user.
    #[k8s(optional)]
    pub user_validation_rules: Vec<UserValidationRule>,
}

/// Source of tokens and its verification data.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Issuer {
    /// Issuer URL; has to equal the iss claim and be unique.
    #[k8s(published = required, always)]
    pub url: String,
    /// Where to fetch the discovery document, if different from the issuer URL.
    #[k8s(name = "discoveryURL", optional)]
    pub discovery_url: Option<String>,
    /// PEM certificates trusted when contacting the issuer; system roots when unset.
    #[k8s(optional)]
    pub certificate_authority: String,
    /// Audiences accepted; a token needs one of them.
    #[k8s(published = required, always)]
    pub audiences: Vec<String>,
    /// How audiences are compared; MatchAny when several are listed.
    #[k8s(optional)]
    pub audience_match_policy: AudienceMatchPolicyType,
    /// Network path for contacting the issuer; direct when unset.
    #[k8s(optional)]
    pub egress_selector_type: EgressSelectorType,
}

string_type! {
    /// How token audiences are compared with configured ones.
    pub AudienceMatchPolicyType {
        /// One common audience suffices.
        MATCH_ANY = "MatchAny",
    }
}

string_type! {
    /// Network path for outgoing connections.
    pub EgressSelectorType {
        /// Path meant for control plane traffic.
        CONTROL_PLANE = "controlplane",
        /// Path meant for traffic into the cluster.
        CLUSTER = "cluster",
    }
}

/// Check on a token's claims, by value or by CEL expression.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ClaimValidationRule {
    /// Claim to compare; excludes an expression.
    #[k8s(optional)]
    pub claim: String,
    /// Value the claim must have; unset means an empty string.
    #[k8s(optional)]
    pub required_value: String,
    /// CEL expression over `claims` that has to yield true.
    #[k8s(optional)]
    pub expression: String,
    /// Error text when the expression fails.
    #[k8s(optional)]
    pub message: String,
}

/// How claims turn into user attributes.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ClaimMappings {
    /// Where the user name comes from; needed.
    #[k8s(published = required, always)]
    pub username: PrefixedClaimOrExpression,
    /// Where the groups come from.
    #[k8s(optional)]
    pub groups: PrefixedClaimOrExpression,
    /// Where the user's UID comes from.
    #[k8s(optional, always)]
    pub uid: ClaimOrExpression,
    /// Where further attributes come from.
    #[k8s(optional)]
    pub extra: Vec<ExtraMapping>,
}

/// Attribute from a claim with prefix or from a CEL expression.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PrefixedClaimOrExpression {
    /// Claim to use; excludes an expression.
    #[k8s(optional)]
    pub claim: String,
    /// Text put in front of the claim's value; needed with a claim, may be empty.
    #[k8s(optional)]
    pub prefix: Option<String>,
    /// CEL expression over `claims` giving the value.
    #[k8s(optional)]
    pub expression: String,
}

/// Attribute from a claim or from a CEL expression.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ClaimOrExpression {
    /// Claim to use; excludes an expression.
    #[k8s(optional)]
    pub claim: String,
    /// CEL expression over `claims` giving the value.
    #[k8s(optional)]
    pub expression: String,
}

/// Origin of one extra user attribute.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ExtraMapping {
    /// Lower-case attribute key with domain, such as example.com/team.
    #[k8s(published = required, always)]
    pub key: String,
    /// CEL expression giving a text or list; empty results are left out.
    #[k8s(published = required, always)]
    pub value_expression: String,
}

/// Check on the user resulting from a token.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct UserValidationRule {
    /// CEL expression over `user` that has to yield true.
    #[k8s(published = required, always)]
    pub expression: String,
    /// Error text when the expression fails.
    #[k8s(optional)]
    pub message: String,
}

/// How the server decides what users may do.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AuthorizationConfiguration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Authorizers in order; the first one with an opinion decides.
    #[k8s(always)]
    pub authorizers: Vec<AuthorizerConfiguration>,
}

string_type! {
    /// Kind of authorizer.
    pub AuthorizerType {
        /// External service asked over HTTP.
        WEBHOOK = "Webhook",
    }
}

/// One authorizer in the chain.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AuthorizerConfiguration {
    /// Kind such as Node, RBAC, ABAC, AlwaysAllow, AlwaysDeny or Webhook.
    #[k8s(always)]
    pub r#type: String,
    /// Name used in metrics and logs; unique in the chain.
    #[k8s(always)]
    pub name: String,
    /// Settings for type Webhook; not permitted otherwise.
    pub webhook: Option<WebhookConfiguration>,
}

/// Settings of an authorization webhook.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct WebhookConfiguration {
    /// How long permitting answers are remembered.
    #[k8s(name = "authorizedTTL", always, default = "5m0s")]
    pub authorized_ttl: Duration,
    /// Whether permitting answers are remembered; true when unset.
    #[k8s(optional, default = true)]
    pub cache_authorized_requests: Option<bool>,
    /// How long refusing answers are remembered.
    #[k8s(name = "unauthorizedTTL", always, default = "30s")]
    pub unauthorized_ttl: Duration,
    /// Whether refusing answers are remembered; true when unset.
    #[k8s(optional, default = true)]
    pub cache_unauthorized_requests: Option<bool>,
    /// Longest wait for an answer, at most 30 seconds.
    #[k8s(always)]
    pub timeout: Duration,
    /// Version of SubjectAccessReview sent: v1 or v1beta1.
    #[k8s(always)]
    pub subject_access_review_version: String,
    /// Version of SubjectAccessReview seen by match conditions; only v1.
    #[k8s(always)]
    pub match_condition_subject_access_review_version: String,
    /// NoOpinion or Deny when no usable answer arrives.
    #[k8s(always)]
    pub failure_policy: String,
    /// How to reach the webhook.
    #[k8s(always)]
    pub connection_info: WebhookConnectionInfo,
    /// CEL conditions a request must meet before the webhook is asked.
    #[k8s(always)]
    pub match_conditions: Vec<WebhookMatchCondition>,
}

/// How a webhook is reached.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct WebhookConnectionInfo {
    /// Either KubeConfigFile or InClusterConfig.
    #[k8s(always)]
    pub r#type: String,
    /// Path of the kubeconfig file; needed for type KubeConfigFile.
    #[k8s(always)]
    pub kube_config_file: Option<String>,
}

/// Condition for asking a webhook.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct WebhookMatchCondition {
    /// CEL expression over `request` giving true or false.
    #[k8s(always)]
    pub expression: String,
}

/// Settings for sending traces.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TracingConfiguration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Settings for sending OpenTelemetry traces.
    #[k8s(inline)]
    pub tracing_configuration: crate::config_tracing::v1::TracingConfiguration,
}

/// How resources are encrypted in storage.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EncryptionConfiguration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Resources paired with their encryption providers.
    #[k8s(always)]
    pub resources: Vec<ResourceConfiguration>,
}

/// Encryption of certain resources.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceConfiguration {
    /// Resources as name.group; `*.*` and `*.group` are wildcards.
    #[k8s(always)]
    pub resources: Vec<String>,
    /// Providers in order; the first writes, all of them read.
    #[k8s(always)]
    pub providers: Vec<ProviderConfiguration>,
}

/// One encryption provider; exactly one field is filled.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ProviderConfiguration {
    /// AES in GCM mode; keys need frequent rotation.
    pub aesgcm: Option<AESConfiguration>,
    /// AES in CBC mode.
    pub aescbc: Option<AESConfiguration>,
    /// XSalsa20 with Poly1305.
    pub secretbox: Option<SecretboxConfiguration>,
    /// No encryption at all.
    pub identity: Option<IdentityConfiguration>,
    /// Keys guarded by an external key service.
    pub kms: Option<KMSConfiguration>,
}

/// Keys for AES encryption.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AESConfiguration {
    /// Keys in order; the first one encrypts.
    #[k8s(always)]
    pub keys: Vec<Key>,
}

/// Keys for secretbox encryption.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SecretboxConfiguration {
    /// Keys in order, 32 bytes each; the first one encrypts.
    #[k8s(always)]
    pub keys: Vec<Key>,
}

/// Named secret key.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Key {
    /// Name stored alongside encrypted data.
    #[k8s(always)]
    pub name: String,
    /// Key bytes in base64.
    #[k8s(always)]
    pub secret: String,
}

/// Empty marker for storing without encryption.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IdentityConfiguration {}

/// Connection to an external key service.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct KMSConfiguration {
    /// Key service protocol, v1 or v2.
    #[k8s(optional, always, default = "v1")]
    pub api_version: String,
    /// Name of the plugin; stored alongside encrypted data.
    #[k8s(always)]
    pub name: String,
    /// Number of decrypted keys kept in memory; protocol v1 only.
    #[k8s(optional)]
    pub cachesize: Option<i32>,
    /// Socket of the plugin, such as unix:///run/kms.sock.
    #[k8s(always)]
    pub endpoint: String,
    /// Longest wait for the plugin; three seconds when unset.
    #[k8s(optional, default = "3s")]
    pub timeout: Option<Duration>,
}
