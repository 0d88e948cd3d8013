//! CertificateApproval, CertificateSigning, CertificateSubjectRestriction and ClusterTrustBundleAttest: who may approve
//! and sign requests, and attest trust bundles; and who may answer requests of pods. Guarantee that the requester has the
//! permission for the signer name in an object. Must never change an object.

use crate::escalation::waits_for_less;
use crate::plugin::{Plugin, Requests};
use crate::request::Request;
use crate::signing_request;
use pintle_gates as gates;
use pintle_registry::status::{Result, Status};
use pintle_registry::{Phase, metadata};
use pintle_resource::MaybeReady;
use pintle_schema::names::quoted;
use pintle_schema::{Value, View};
use pintle_types::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestSpec, CertificateSigningRequestStatus,
};
use pintle_types::certificates::v1beta1::{
    ClusterTrustBundle, ClusterTrustBundleSpec, PodCertificateRequest, PodCertificateRequestSpec,
};
use pintle_validation::{ErrorList, same};

const GROUP: &str = "certificates.k8s.io";
const RESOURCE: &str = "certificatesigningrequests";

pub const APPROVAL: Plugin = Plugin::on(&[Requests::update(GROUP, RESOURCE, "approval")])
    .authorizing(Phase::Validate, |request, object| MaybeReady::wait(async move { approve(&request, object).await }));

pub const SIGNING: Plugin = Plugin::on(&[Requests::update(GROUP, RESOURCE, "status")])
    .authorizing(Phase::Validate, |request, object| MaybeReady::wait(async move { sign(&request, object).await }));

/// Checks every valid change of the status of a PodCertificateRequest, before all plugins: kube-apiserver does so while it
/// validates. It cannot be disabled.
pub static POD_SIGNING: Plugin = Plugin::on(&[Requests::update(GROUP, "podcertificaterequests", "status")])
    .authorizing(Phase::Validate, |request, object| {
        MaybeReady::wait(async move { sign_for_pod(&request, object).await })
    });

pub const SUBJECT_RESTRICTION: Plugin = Plugin::on(&[Requests::create(GROUP, RESOURCE)]).validating(restrict_subject);

pub const ATTEST: Plugin = Plugin::on(&[Requests::write(GROUP, "clustertrustbundles")])
    .authorizing(Phase::Validate, |request, object| MaybeReady::wait(async move { attest(&request, object).await }));

async fn approve(request: &Request<'_>, object: &Value) -> Result<()> {
    let signer = signer_of(request.old().unwrap_or(object));
    match may(request, "approve", signer).await {
        true => Ok(()),
        false => {
            Err(request.forbidden(object, format!("user not permitted to approve requests with signerName {signer:?}")))
        }
    }
}

async fn sign(request: &Request<'_>, object: &Value) -> Result<()> {
    let Some(old) = request.old() else { return Ok(()) };
    let status = |object| View::<CertificateSigningRequest>::new(object).field(CertificateSigningRequest::STATUS);
    let (new_status, old_status) = (status(object), status(old));
    let certificate = CertificateSigningRequestStatus::CERTIFICATE;
    let conditions = CertificateSigningRequestStatus::CONDITIONS;
    let unchanged = new_status.field(certificate).value() == old_status.field(certificate).value()
        && new_status.field(conditions).value() == old_status.field(conditions).value();
    let signer = signer_of(old);
    if unchanged || may(request, "sign", signer).await {
        return Ok(());
    }
    Err(request.forbidden(object, format!("user not permitted to sign requests with signerName {signer:?}")))
}

/// An answer to a request comes from its signer: a certificate, and a denial or failure, which is final too.
async fn sign_for_pod(request: &Request<'_>, object: &Value) -> Result<()> {
    let Some(old) = request.old() else { return Ok(()) };
    let status = |object| View::<PodCertificateRequest>::new(object).field(PodCertificateRequest::STATUS);
    if same(status(object).value(), status(old).value()) {
        return Ok(());
    }
    let spec = View::<PodCertificateRequest>::new(old).field(PodCertificateRequest::SPEC);
    let signer = spec.field(PodCertificateRequestSpec::SIGNER_NAME).as_str();
    if may(request, "sign", signer).await {
        return Ok(());
    }
    let user = quoted(&request.requester().name);
    let mut errors = ErrorList::default();
    errors.forbidden(
        "spec.signerName",
        format!("User {user} is not permitted to \"sign\" for signer {}", quoted(signer)),
    );
    let name = metadata::text(object, "name");
    Err(Status::invalid(GROUP, &request.write.target.resource.kind, name, &errors))
}

/// A client certificate with the group `system:masters` would bypass authorization.
fn restrict_subject(request: &Request<'_>, object: &Value, _: &mut Vec<String>) -> Result<()> {
    const SIGNER: &str = "kubernetes.io/kube-apiserver-client";
    const MASTERS: &str = "system:masters";
    let spec = View::<CertificateSigningRequest>::new(object).field(CertificateSigningRequest::SPEC);
    if signer_of(object) != SIGNER {
        return Ok(());
    }
    let asked = spec.field(CertificateSigningRequestSpec::REQUEST).get();
    let subject = signing_request::subject(&asked.0)
        .map_err(|fault| request.forbidden(object, format!("failed to parse CSR: {fault}")))?;
    if !subject.organizations.iter().any(|organization| organization == MASTERS) {
        return Ok(());
    }
    let why = "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
    Err(request.forbidden(object, why))
}

/// A bundle of a signer decides which of its certificates are trusted.
async fn attest(request: &Request<'_>, object: &Value) -> Result<()> {
    let spec = View::<ClusterTrustBundle>::new(object).field(ClusterTrustBundle::SPEC);
    let signer = spec.field(ClusterTrustBundleSpec::SIGNER_NAME).as_str();
    let is_free = signer.is_empty() || request.old().is_some_and(|old| waits_for_less(object, old));
    if is_free
        || !request.environment().gates().is_on(&gates::CLUSTER_TRUST_BUNDLE)
        || may(request, "attest", signer).await
    {
        return Ok(());
    }
    Err(request.forbidden(object, format!("user not permitted to attest for signerName {signer:?}")))
}

fn signer_of(object: &Value) -> &str {
    let spec = View::<CertificateSigningRequest>::new(object).field(CertificateSigningRequest::SPEC);
    spec.field(CertificateSigningRequestSpec::SIGNER_NAME).as_str()
}

/// Whether the requester may act for a signer, by its name or by its domain.
async fn may(request: &Request<'_>, verb: &str, signer: &str) -> bool {
    let domain = signer.split('/').next().unwrap_or(signer);
    request.permits(verb, GROUP, "signers", "", signer).await
        || request.permits(verb, GROUP, "signers", "", &format!("{domain}/*")).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Cluster, bound_to};
    use pintle_kubernetes_auth::rbac::PolicyRule;
    use pintle_schema::value;

    fn csr(status: Value) -> Value {
        value!({"metadata": {"name": "r"}, "spec": {"signerName": "a.b/c"}, "status": status})
    }

    #[test]
    fn only_the_permitted_approve_and_sign() {
        let cluster = Cluster::new();
        let approved = || value!({"conditions": [{"type": "Approved", "status": "True"}]});
        let approve = "user not permitted to approve requests with signerName \"a.b/c\"";
        let sign = "user not permitted to sign requests with signerName \"a.b/c\"";
        let rows = [
            ("approval", approved(), "admin", None),
            ("approval", approved(), "alice", Some(approve)),
            ("status", value!({"certificate": "YQ=="}), "admin", None),
            ("status", value!({"certificate": "YQ=="}), "alice", Some(sign)),
            ("status", approved(), "alice", Some(sign)),
            ("status", value!({}), "alice", None),
            ("", approved(), "alice", None),
        ];
        for (subresource, status, user, refusal) in rows {
            let outcome = cluster.update((GROUP, RESOURCE, subresource), &csr(value!({})), csr(status), user);
            let expected =
                refusal.map(|why| format!("certificatesigningrequests.certificates.k8s.io \"r\" is forbidden: {why}"));
            assert_eq!(outcome.err().map(|status| status.message), expected, "{subresource} {user}");
        }
    }

    #[tokio::test]
    async fn system_masters_certificates_are_rejected() {
        let cluster = Cluster::new();
        let ask = async |signer: &str, request: &str| {
            let request = pintle_schema::base64::encode(request.as_bytes());
            let object =
                value!({"metadata": {"name": "r"}, "spec": {"signerName": (signer.to_owned()), "request": request}});
            cluster.create(GROUP, RESOURCE, object).await.err().map(|status| status.message)
        };
        let forbidden =
            |why: &str| Some(format!("certificatesigningrequests.certificates.k8s.io \"r\" is forbidden: {why}"));
        let signer = "kubernetes.io/kube-apiserver-client";
        let masters = signing_request::testing::pem(&[(0x0a, "system:masters")]);
        let why = "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
        assert_eq!(ask(signer, &masters).await, forbidden(why));
        let unreadable = forbidden("failed to parse CSR: PEM block type must be CERTIFICATE REQUEST");
        assert_eq!(ask(signer, "nothing").await, unreadable);
        assert_eq!(ask(signer, &signing_request::testing::pem(&[(0x0a, "people")])).await, None);
        assert_eq!(ask("a.b/c", &masters).await, None);
    }

    #[test]
    fn only_signers_answer_requests_of_pods() {
        const REQUESTS: &str = "podcertificaterequests";
        let signers = |verb: &str, name: &str| {
            let texts = |text: &str| vec![text.into()];
            let rule = PolicyRule {
                verbs: texts(verb),
                api_groups: texts(GROUP),
                resources: texts("signers"),
                resource_names: texts(name),
                non_resource_urls: Vec::new(),
            };
            Cluster::with_roles(bound_to("alice", vec![rule]))
        };
        let request = |status: Value| value!({"metadata": {"name": "r", "namespace": "ns"}, "spec": {"signerName": "a.b/c"}, "status": status});
        let condition = |kind: &str| value!({"conditions": [{"type": kind, "status": "True"}]});
        let mut issued = condition("Issued");
        issued.set_at(&["certificateChain"], "PEM");
        // (what alice may do, status before and after, whether it is refused)
        let rows = [
            (("sign", "a.b/c"), value!({}), issued.clone(), false),
            (("sign", "a.b/*"), value!({}), issued.clone(), false),
            (("sign", "a.b/d"), value!({}), issued.clone(), true),
            (("sign", "b/*"), value!({}), issued.clone(), true),
            (("approve", "a.b/c"), value!({}), issued.clone(), true),
            (("approve", "a.b/c"), value!({}), condition("Denied"), true),
            (("approve", "a.b/c"), value!({}), condition("Failed"), true),
            (("approve", "a.b/c"), issued.clone(), issued.clone(), false),
            (("approve", "a.b/c"), issued.clone(), value!({}), true),
        ];
        for ((verb, name), old, new, is_refused) in rows {
            let cluster = signers(verb, name);
            let update = |user: &str| {
                cluster.update((GROUP, REQUESTS, "status"), &request(old.clone()), request(new.clone()), user)
            };
            let why = "PodCertificateRequest.certificates.k8s.io \"r\" is invalid: spec.signerName: Forbidden: User \"alice\" \
                       is not permitted to \"sign\" for signer \"a.b/c\"";
            let expected = is_refused.then_some(why);
            assert_eq!(
                update("alice").err().map(|status| status.message).as_deref(),
                expected,
                "{verb} {name} {new:?}"
            );
            assert!(update("admin").is_ok());
        }
    }

    #[test]
    fn only_the_permitted_attest() {
        let cluster = Cluster::new();
        let bundle = |signer: &str, bundle: &str| value!({"metadata": {"name": "b"}, "spec": {"signerName": (signer.to_owned()), "trustBundle": (bundle.to_owned())}});
        let attest = |old: Value, new: Value, user: &str| {
            let outcome = cluster.update((GROUP, "clustertrustbundles", ""), &old, new, user);
            outcome.err().map(|status| status.message)
        };
        let why = "clustertrustbundles.certificates.k8s.io \"b\" is forbidden: user not permitted to attest for signerName \"a.b/c\"";
        assert_eq!(attest(bundle("a.b/c", "x"), bundle("a.b/c", "y"), "alice").as_deref(), Some(why));
        assert_eq!(attest(bundle("a.b/c", "x"), bundle("a.b/c", "y"), "admin"), None);
        assert_eq!(attest(bundle("", "x"), bundle("", "y"), "alice"), None);
        let mut finalized = bundle("a.b/c", "x");
        finalized.set_at(&["metadata", "finalizers"], value!(["f.com/x"]));
        assert_eq!(attest(bundle("a.b/c", "x"), finalized, "alice"), None);
    }
}
