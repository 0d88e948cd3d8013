//! Types of `certificates.k8s.io/v1`: certificate signing requests and trust bundles.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Bytes, Time, string_type};

use crate::core::v1::ConditionStatus;
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// Asks a signer for an X.509 certificate, pending approval.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "certificates.k8s.io", plural = "certificatesigningrequests", short_names("csr"), cluster))]
pub struct CertificateSigningRequest {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// The request and who made it; fixed after creation.
    #[k8s(proto = 2, always)]
    pub spec: CertificateSigningRequestSpec,
    /// Approval decision and the issued certificate.
    #[k8s(proto = 3, optional)]
    pub status: CertificateSigningRequestStatus,
}

/// Certificate request plus the identity of its author.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CertificateSigningRequestSpec {
    /// PKCS#10 request in a PEM `CERTIFICATE REQUEST` block.
    #[k8s(proto = 1, always)]
    pub request: Bytes,
    /// Signer that should issue the certificate, such as kubernetes.io/kubelet-serving.
    #[k8s(proto = 7, always)]
    pub signer_name: String,
    /// Wanted validity in seconds, at least 600; the signer may choose otherwise.
    #[k8s(proto = 8, optional)]
    pub expiration_seconds: Option<i32>,
    /// Purposes the certificate's key should be good for.
    #[k8s(proto = 5, list_type = atomic, required, published = optional, each_val(enum), last(unique))]
    pub usages: Vec<KeyUsage>,
    /// User that made the request; filled in by the server.
    #[k8s(proto = 2, optional)]
    pub username: String,
    /// UID of the requesting user; filled in by the server.
    #[k8s(proto = 3, optional)]
    pub uid: String,
    /// Groups of the requesting user; filled in by the server.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub groups: Vec<String>,
    /// Further attributes of the requesting user; filled in by the server.
    #[k8s(proto = 6, optional)]
    pub extra: BTreeMap<String, ExtraValue>,
}

/// List of values for one extra user attribute.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(wrapper)]
pub struct ExtraValue {
    /// The values, in order.
    #[k8s(proto = 1)]
    pub items: Vec<String>,
}

/// Outcome of a signing request.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CertificateSigningRequestStatus {
    /// Decisions such as Approved, Denied or Failed.
    #[k8s(
        proto = 1,
        optional,
        list_type = map,
        list_map_keys("type"),
        alpha("1.36")(item(type = "Approved")(zero_or_one_of), item(type = "Denied")(zero_or_one_of))
    )]
    pub conditions: Vec<CertificateSigningRequestCondition>,
    /// Issued PEM certificate chain; never changes once set.
    #[k8s(proto = 2, optional)]
    pub certificate: Bytes,
}

string_type! {
    /// Decision recorded on a signing request.
    pub RequestConditionType {
        /// The request may be signed.
        APPROVED = "Approved",
        /// The request was turned down.
        DENIED = "Denied",
        /// The signer could not issue a certificate.
        FAILED = "Failed",
    }
}

/// One decision on a signing request.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CertificateSigningRequestCondition {
    /// Decision made: Approved, Denied, Failed or a custom one.
    #[k8s(proto = 1, always)]
    pub r#type: RequestConditionType,
    /// True, False or Unknown; decisions themselves are always True.
    #[k8s(proto = 6, always)]
    pub status: ConditionStatus,
    /// One-word cause of the decision.
    #[k8s(proto = 2, optional)]
    pub reason: String,
    /// Explanation for people.
    #[k8s(proto = 3, optional)]
    pub message: String,
    /// When this entry was last touched.
    #[k8s(proto = 4, optional)]
    pub last_update_time: Time,
    /// When the status last flipped.
    #[k8s(proto = 5, optional)]
    pub last_transition_time: Time,
}

/// Collection of certificate signing requests.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CertificateSigningRequestList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The CertificateSigningRequest objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<CertificateSigningRequest>,
}

string_type! {
    /// Purpose for which a certificate's key may serve.
    #[closed]
    pub KeyUsage {
        /// Signing in general.
        SIGNING = "signing",
        /// Verifying digital signatures.
        DIGITAL_SIGNATURE = "digital signature",
        /// Signatures their author cannot repudiate.
        CONTENT_COMMITMENT = "content commitment",
        /// Encrypting keys for transport.
        KEY_ENCIPHERMENT = "key encipherment",
        /// Agreeing on keys with a partner.
        KEY_AGREEMENT = "key agreement",
        /// Encrypting data directly.
        DATA_ENCIPHERMENT = "data encipherment",
        /// Signing other certificates.
        CERT_SIGN = "cert sign",
        /// Signing revocation lists.
        CRL_SIGN = "crl sign",
        /// Key agreement for encryption only.
        ENCIPHER_ONLY = "encipher only",
        /// Key agreement for decryption only.
        DECIPHER_ONLY = "decipher only",
        /// Every extended purpose.
        ANY = "any",
        /// TLS server authentication.
        SERVER_AUTH = "server auth",
        /// TLS client authentication.
        CLIENT_AUTH = "client auth",
        /// Signing program code.
        CODE_SIGNING = "code signing",
        /// Protecting e-mail.
        EMAIL_PROTECTION = "email protection",
        /// S/MIME mail.
        SMIME = "s/mime",
        /// IPsec end systems.
        I_PSEC_END_SYSTEM = "ipsec end system",
        /// IPsec tunnels.
        I_PSEC_TUNNEL = "ipsec tunnel",
        /// IPsec users.
        I_PSEC_USER = "ipsec user",
        /// Trusted timestamps.
        TIMESTAMPING = "timestamping",
        /// Signing OCSP answers.
        OCSP_SIGNING = "ocsp signing",
        /// Microsoft server gated cryptography.
        MICROSOFT_SGC = "microsoft sgc",
        /// Netscape server gated cryptography.
        NETSCAPE_SGC = "netscape sgc",
    }
}
