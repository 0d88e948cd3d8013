//! Admin access to devices: it must be enabled for the namespace, by a label, where it is requested or allocated.
//!
//! Only new requests and results are validated, before all else. One error is reported.

use pintle_schema::View;
use pintle_types::resource::v1::{
    AllocationResult, DeviceAllocationResult, DeviceClaim, DeviceRequest, DeviceRequestAllocationResult,
    ExactDeviceRequest, ResourceClaim, ResourceClaimSpec, ResourceClaimStatus, ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
};
use pintle_validation::{At, FieldPath, ValidationContext};

/// The label of namespaces that allow admin access.
const LABEL: &str = "resource.kubernetes.io/admin-access";

/// A new claim.
pub fn asks(claim: At<'_, ResourceClaim>, cx: &mut ValidationContext<'_>) {
    requests(claim.new.field(ResourceClaim::SPEC), cx);
}

/// A new template. The place is reported as a claim's.
pub fn template_asks(template: At<'_, ResourceClaimTemplate>, cx: &mut ValidationContext<'_>) {
    requests(template.new.field(ResourceClaimTemplate::SPEC).field(ResourceClaimTemplateSpec::SPEC), cx);
}

fn requests(spec: View<'_, ResourceClaimSpec>, cx: &mut ValidationContext<'_>) {
    let mut requests = spec.field(ResourceClaimSpec::DEVICES).field(DeviceClaim::REQUESTS).iter();
    let asks = |request: View<'_, DeviceRequest>| {
        request.field(DeviceRequest::EXACTLY).or_zero().field(ExactDeviceRequest::ADMIN_ACCESS).get() == Some(true)
    };
    if let Some(at) = requests.position(asks) {
        let path = FieldPath::new(ResourceClaim::SPEC.name());
        let path = path.to(ResourceClaimSpec::DEVICES);
        allowed(&path.to(DeviceClaim::REQUESTS).index(at).to(ExactDeviceRequest::ADMIN_ACCESS), cx);
    }
}

/// The allocation of a claim.
pub fn is_given(claim: At<'_, ResourceClaim>, cx: &mut ValidationContext<'_>) {
    let given = |claim: View<'_, ResourceClaim>| {
        let allocation = claim.field(ResourceClaim::STATUS).field(ResourceClaimStatus::ALLOCATION).or_zero();
        let mut results = allocation.field(AllocationResult::DEVICES).field(DeviceAllocationResult::RESULTS).iter();
        results.position(|result| result.field(DeviceRequestAllocationResult::ADMIN_ACCESS).get() == Some(true))
    };
    if let (Some(at), None) = (given(claim.new), claim.old.and_then(given)) {
        let path = FieldPath::new(ResourceClaim::STATUS.name());
        let path = path.to(ResourceClaimStatus::ALLOCATION);
        let path = path.to(AllocationResult::DEVICES);
        let path = path.to(DeviceAllocationResult::RESULTS);
        allowed(&path.index(at).to(DeviceRequestAllocationResult::ADMIN_ACCESS), cx);
    }
}

fn allowed(path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if cx.request.environment.namespace_label(LABEL).as_deref() != Some("true") {
        let detail = format!("admin access to devices requires the `{LABEL}: true` label on the containing namespace");
        cx.errors.forbidden(path, detail);
    }
}
