//! PodCertificateRequests of nodes. Guarantees that node, pod and service account exist and belong together. Must never
//! accept a mirror pod: only its node knows whether it exists.

use super::NodeRequest;
use crate::pod_references::is_mirror;
use crate::request::Kind;
use pintle_gates as gates;
use pintle_registry::Operation;
use pintle_registry::status::{Result, Status};
use pintle_schema::{ApiValue, View, names::quoted};
use pintle_types::certificates::v1beta1::PodCertificateRequest;
use pintle_types::core::v1::{Node, Pod, ServiceAccount};

const NODES: Kind<Node> = Kind::new("", "nodes");
const PODS: Kind<Pod> = Kind::new("", "pods");
const ACCOUNTS: Kind<ServiceAccount> = Kind::new("", "serviceaccounts");

pub(super) fn check(asked: NodeRequest<'_>) -> Result<()> {
    let NodeRequest { request, node, .. } = asked;
    let is_enabled = request.environment().gates().is_on(&gates::POD_CERTIFICATE_REQUEST);
    asked.demand(is_enabled, "PodCertificateRequest feature gate is disabled")?;
    let operation = request.operation();
    asked.demand(operation == Operation::Create, format_args!("unexpected operation {}", operation.name()))?;
    let subresource = request.subresource();
    asked.demand(subresource.is_empty(), format_args!("unexpected subresource {subresource}"))?;
    let spec = View::<PodCertificateRequest>::new(asked.object).field(PodCertificateRequest::SPEC).get();
    asked.demand(
        spec.node_name == node,
        format_args!(
            "PodCertificateRequest.Spec.NodeName={}, which is not the requesting node {}",
            quoted(&spec.node_name),
            quoted(node)
        ),
    )?;
    let named = "named in the PodCertificateRequest";
    // The object may not be in the cache yet, so the error is not `Forbidden` and the client may retry.
    let unknown = |what: &str, kind: &str, name: &str, shown: String| {
        Status::unexplained(format!("while retrieving {what} {shown} {named}: {kind} {} not found", quoted(name)))
    };
    let known = request.find(&NODES, "", node)?.ok_or_else(|| unknown("node", "node", node, quoted(node)))?;
    let place = quoted(&format!("{}/{}", request.namespace(), spec.pod_name));
    if known.metadata.uid != spec.node_uid {
        return Err(Status::unexplained(format!(
            "PodCertificateRequest for pod {place} names node UID {}, inconsistent with the running node ({})",
            quoted(&spec.node_uid),
            quoted(&known.metadata.uid)
        )));
    }
    let pod = request.find(&PODS, request.namespace(), &spec.pod_name)?;
    let pod = pod.ok_or_else(|| unknown("pod", "pod", &spec.pod_name, place.clone()))?;
    if pod.metadata.uid != spec.pod_uid {
        return Err(Status::unexplained(format!(
            "PodCertificateRequest for pod {place} contains pod UID ({}) which differs from running pod {}",
            quoted(&spec.pod_uid),
            quoted(&pod.metadata.uid)
        )));
    }
    let is_here = pod.spec.node_name == node;
    asked.demand(is_here, format_args!("pod {place} is not running on node {} {named}", quoted(node)))?;
    let mirror = is_mirror(View::new(&pod.to_value()));
    asked.demand(!mirror, format_args!("pod {place} is a mirror pod"))?;
    asked.demand(
        spec.service_account_name == pod.spec.service_account_name,
        format_args!(
            "PodCertificateRequest for pod {place} contains serviceAccountName ({}) that differs from running pod ({})",
            quoted(&spec.service_account_name),
            quoted(&pod.spec.service_account_name)
        ),
    )?;
    let name = &spec.service_account_name;
    let shown = quoted(&format!("{}/{name}", request.namespace()));
    let account = request.find(&ACCOUNTS, request.namespace(), name)?;
    let account = account.ok_or_else(|| unknown("service account", "serviceaccount", name, shown))?;
    if account.metadata.uid != spec.service_account_uid {
        return Err(Status::unexplained(format!(
            "PodCertificateRequest for pod {place} names service account UID {}, which differs from the running service \
             account ({})",
            quoted(&spec.service_account_uid),
            quoted(&account.metadata.uid)
        )));
    }
    Ok(())
}
