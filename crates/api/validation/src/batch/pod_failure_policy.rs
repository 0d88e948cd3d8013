//! Rules of the policies that say what failures of a job's pods mean.

use crate::shared::items;
use pintle_schema::View;
use pintle_types::batch::v1::{
    JobSpec, PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyRule,
};
use pintle_types::core::v1::{Container, PodSpec, PodTemplateSpec};
use pintle_validation::{At, Cx};

/// Exit codes of one container are those of a container that there is.
pub fn containers(spec: At<'_, JobSpec>, cx: &mut Cx<'_>) {
    let Some(policy) = spec.new.field(JobSpec::POD_FAILURE_POLICY).some() else { return };
    let path = spec.path.to(JobSpec::POD_FAILURE_POLICY);
    let path = path.to(PodFailurePolicy::RULES);
    for (index, rule) in policy.field(PodFailurePolicy::RULES).iter().enumerate() {
        let codes = rule.field(PodFailurePolicyRule::ON_EXIT_CODES).or_zero();
        let Some(name) = codes.field(PodFailurePolicyOnExitCodesRequirement::CONTAINER_NAME).some() else { continue };
        let name = name.value().as_str().unwrap_or_default();
        if !has_container(spec.new, name) {
            let path = path.index(index);
            let path = path.to(PodFailurePolicyRule::ON_EXIT_CODES);
            let detail = "must be one of the container or initContainer names in the pod template";
            cx.errors.invalid(path.to(PodFailurePolicyOnExitCodesRequirement::CONTAINER_NAME), name, detail);
        }
    }
}

/// Exit codes are in order.
pub fn exit_codes(codes: At<'_, Vec<i32>>, cx: &mut Cx<'_>) {
    if !items(codes.new).is_sorted_by_key(|code| code.as_i64().unwrap_or_default()) {
        cx.errors.invalid(codes.path, codes.new.value().clone(), "must be ordered");
    }
}

fn has_container(spec: View<'_, JobSpec>, name: &str) -> bool {
    let pod = spec.field(JobSpec::TEMPLATE).field(PodTemplateSpec::SPEC);
    let of = |containers: View<'_, Vec<Container>>| {
        containers.iter().any(|container| container.field(Container::NAME).as_str() == name)
    };
    of(pod.field(PodSpec::CONTAINERS)) || of(pod.field(PodSpec::INIT_CONTAINERS))
}
