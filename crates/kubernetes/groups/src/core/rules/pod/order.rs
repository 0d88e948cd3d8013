//! The order of errors in the spec of a pod. kube-apiserver validates one field after the other, and one container
//! with all its parts before the next; rules that read several fields find their errors later.
//! Must never change, add or drop an error.

use super::{platform, spec, system};
use crate::rules::put_before_since;
use pintle_schema::{ApiType, Struct};
use pintle_types::core::v1::{
    Container, ContainerPort, EphemeralContainer, Lifecycle, PodSecurityContext, PodSpec, SecurityContext,
    TopologySpreadConstraint, VolumeMount,
};
use pintle_validation::{At, ErrorKind, FieldError, ValidationContext};

/// More errors than a response contains are not sorted.
const MAX_SORTED: usize = 1000;

/// Where an error stands: the field of the spec, the item, the step of the item's validation, and the place in it.
type Place = (usize, usize, usize, usize);

/// How many errors there were before those of a spec.
struct Begin(usize);

/// Notes where the errors of a spec begin: the template of a job is validated twice.
pub fn begin(_: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    if !cx.errors.is_empty() {
        let begin = Begin(cx.errors.0.len());
        cx.set_scratch(begin);
    }
}

fn begin_of(cx: &ValidationContext<'_>) -> usize {
    cx.scratch::<Begin>().map_or(0, |begin| begin.0).min(cx.errors.0.len())
}

/// Sorts the errors of the spec found so far by its fields and by their items.
pub fn by_place(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    let begin = begin_of(cx);
    if cx.errors.0.len() < begin + 2 {
        return;
    }
    let inside = format!("{}.", spec.path);
    let of_spec = cx.errors.0.iter().skip(begin).position(|error| error.field.starts_with(&inside));
    let Some(first) = of_spec.map(|first| begin + first) else { return };
    if cx.errors.0.len() - first <= MAX_SORTED {
        cx.errors.0[first..].sort_by_cached_key(|error| place(error, error.field.strip_prefix(&inside).unwrap_or("")));
    }
}

fn place(error: &FieldError, path: &str) -> Place {
    let (field, index, rest) = split(path);
    let top = rank(PodSpec::schema(), field);
    let (index, step, part) = match index {
        Some(index) if field == PodSpec::CONTAINERS.name() => regular(error, index, rest),
        Some(index) if field == PodSpec::INIT_CONTAINERS.name() => init(error, index, rest),
        Some(index) if field == PodSpec::EPHEMERAL_CONTAINERS.name() => ephemeral(error, index, rest),
        Some(index) if field == PodSpec::VOLUMES.name() => {
            (index, usize::from(rest == "name" && error.kind == ErrorKind::Duplicate), 0)
        }
        Some(index) if field == PodSpec::RESOURCE_CLAIMS.name() => {
            let step = match rest {
                "name" => 0,
                "" => 1,
                _ => 2,
            };
            (index, step, 0)
        }
        Some(index) if field == PodSpec::TOPOLOGY_SPREAD_CONSTRAINTS.name() => (index, constraint(rest), 0),
        None if field == PodSpec::SECURITY_CONTEXT.name() => security_context(rest),
        _ => (0, 0, 0),
    };
    (top, index, step, part)
}

/// The steps that all containers share come first, each for one field.
const FIRST_STEP_OF_LIST: usize = 100;

/// The step of a part that all containers share.
fn common(rest: &str) -> Option<(usize, usize)> {
    let (field, item, inner) = split(rest);
    let step = Container::schema().validation_order.iter().position(|other| *other == field)?;
    let part = match field {
        _ if field == Container::SECURITY_CONTEXT.name() => context_of_container(inner),
        _ if field == Container::PORTS.name() => item.unwrap_or_default(),
        // Claims are validated one by one, after amounts.
        _ if field == Container::RESOURCES.name() => match split(inner) {
            ("claims", Some(claim), _) => claim + 1,
            _ => 0,
        },
        _ => 0,
    };
    Some((step, part))
}

/// The step of one of the fields that not all containers have, in the given order.
fn among(steps: &[&str], rest: &str) -> (usize, usize) {
    let (field, _, inner) = split(rest);
    let step = steps.iter().position(|step| *step == field).unwrap_or(steps.len());
    let part = match field {
        _ if field == Container::LIFECYCLE.name() => 1 + rank(Lifecycle::schema(), split(inner).0),
        // A missing handler is reported before what else is wrong with a probe.
        _ => usize::from(!inner.is_empty()),
    };
    (FIRST_STEP_OF_LIST + step, part)
}

fn is_repeated_name(error: &FieldError, rest: &str) -> bool {
    error.kind == ErrorKind::Duplicate && rest == Container::NAME.name()
}

fn is_repeated_port(error: &FieldError, rest: &str) -> bool {
    let (field, index, inner) = split(rest);
    error.kind == ErrorKind::Duplicate
        && field == Container::PORTS.name()
        && index.is_some()
        && inner == ContainerPort::HOST_PORT.name()
}

fn regular(error: &FieldError, index: usize, rest: &str) -> (usize, usize, usize) {
    const STEPS: &[&str] = &[
        Container::LIFECYCLE.name(),
        Container::LIVENESS_PROBE.name(),
        Container::READINESS_PROBE.name(),
        Container::STARTUP_PROBE.name(),
        Container::RESTART_POLICY.name(),
        Container::RESTART_POLICY_RULES.name(),
    ];
    if is_repeated_port(error, rest) {
        // Ports are compared across all containers.
        return (usize::MAX, 0, 0);
    }
    let (step, part) = match common(rest) {
        _ if is_repeated_name(error, rest) => (FIRST_STEP_OF_LIST - 1, 0),
        Some(place) => place,
        None => among(STEPS, rest),
    };
    (index, step, part)
}

fn init(error: &FieldError, index: usize, rest: &str) -> (usize, usize, usize) {
    const STEPS: &[&str] = &[
        Container::RESTART_POLICY.name(),
        Container::RESTART_POLICY_RULES.name(),
        Container::NAME.name(),
        Container::PORTS.name(),
        Container::LIFECYCLE.name(),
        Container::LIVENESS_PROBE.name(),
        Container::READINESS_PROBE.name(),
        Container::STARTUP_PROBE.name(),
        Container::RESIZE_POLICY.name(),
    ];
    let (field, item, _) = split(rest);
    // The list of policies is reported as a whole, except for a restart of one that is no sidecar.
    let is_late = is_repeated_name(error, rest)
        || is_repeated_port(error, rest)
        || field == Container::RESIZE_POLICY.name() && item.is_some() && error.kind == ErrorKind::Invalid;
    let (step, part) = common(rest).filter(|_| !is_late).unwrap_or_else(|| among(STEPS, rest));
    (index, step, part)
}

fn ephemeral(error: &FieldError, index: usize, rest: &str) -> (usize, usize, usize) {
    let (field, item, inner) = split(rest);
    let is_forbidden = error.kind == ErrorKind::Forbidden;
    let is_of_mount = field == Container::VOLUME_MOUNTS.name()
        && item.is_some()
        && [VolumeMount::SUB_PATH.name(), VolumeMount::SUB_PATH_EXPR.name()].contains(&inner);
    let last = FIRST_STEP_OF_LIST;
    let (step, part) = match common(rest) {
        _ if is_repeated_name(error, rest) => (last + 1, 0),
        _ if field == EphemeralContainer::TARGET_CONTAINER_NAME.name() => (last + 2, 0),
        _ if is_forbidden && rest == field => (last + 3, 0),
        _ if is_forbidden && is_of_mount => (last + 4, 0),
        Some(_) if rest == Container::IMAGE.name() && error.kind == ErrorKind::Invalid => (last, 0),
        Some(place) => place,
        None => (last + 3, 0),
    };
    (index, step, part)
}

/// Between the fields of a container's security context stands what is wrong with it as a whole.
fn context_of_container(inner: &str) -> usize {
    let field = if inner.is_empty() { SecurityContext::WINDOWS_OPTIONS.name() } else { split(inner).0 };
    2 * rank(SecurityContext::schema(), field) + usize::from(!inner.is_empty())
}

/// The fields of a pod's security context and its kernel parameters; before these stands the one that the spec has.
fn security_context(rest: &str) -> (usize, usize, usize) {
    let (field, index, _) = split(rest);
    let schema = PodSecurityContext::schema();
    match field == PodSpec::SHARE_PROCESS_NAMESPACE.name() {
        true => (2 * rank(schema, PodSecurityContext::SYSCTLS.name()), 0, 0),
        false if field == PodSecurityContext::SYSCTLS.name() => (2 * rank(schema, field) + 1, index.unwrap_or(0), 0),
        false => (2 * rank(schema, field) + 1, 0, 0),
    }
}

fn constraint(rest: &str) -> usize {
    type Constraint = TopologySpreadConstraint;
    let schema = Constraint::schema();
    match rest {
        "{topologyKey, whenUnsatisfiable}" => 2 * rank(schema, Constraint::MIN_DOMAINS.name()),
        // A key that is in the selector too is reported at an index of the constraint.
        _ if rest.starts_with('[') => 2 * rank(schema, Constraint::MATCH_LABEL_KEYS.name()) + 1,
        _ => 2 * rank(schema, split(rest).0) + 1,
    }
}

/// A path's first field, its index, and the rest.
fn split(path: &str) -> (&str, Option<usize>, &str) {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (field, rest) = path.split_at(end);
    let (index, rest) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((index, rest)) => (index.parse().ok(), rest),
        None => (None, rest),
    };
    (field, index, rest.strip_prefix('.').unwrap_or(rest))
}

/// The place of a field among those of a struct, as they are validated.
fn rank(schema: &Struct, field: &str) -> usize {
    let first = schema.validation_order.iter().position(|other| *other == field);
    let any = || schema.fields.iter().position(|other| &*other.name == field).unwrap_or(schema.fields.len());
    first.unwrap_or_else(|| schema.validation_order.len() + any())
}

/// Ports of the node, which are validated after all containers.
pub fn host_network_ports(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    before(PodSpec::RESTART_POLICY.name(), spec, spec::host_network_ports, cx);
}

pub fn dns_policy(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    before(PodSpec::READINESS_GATES.name(), spec, system::dns_policy, cx);
}

pub fn host_process(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    before(PodSpec::HOSTNAME_OVERRIDE.name(), spec, platform::host_process, cx);
}

pub fn user_namespace(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    before(PodSpec::HOSTNAME_OVERRIDE.name(), spec, system::user_namespace, cx);
}

pub fn hostname_override(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    before(PodSpec::SERVICE_ACCOUNT_NAME.name(), spec, system::hostname_override, cx);
}

pub fn operating_system(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    before(PodSpec::SCHEDULING_GROUP.name(), spec, system::operating_system, cx);
}

/// Runs a rule; what it finds stands before the errors of a field and of those after it.
fn before(
    next: &str,
    spec: At<'_, PodSpec>,
    rule: fn(At<'_, PodSpec>, &mut ValidationContext<'_>),
    cx: &mut ValidationContext<'_>,
) {
    let found = cx.errors.0.len();
    rule(spec, cx);
    let inside = format!("{}.", spec.path);
    let order = PodSpec::schema().validation_order;
    let later = order.iter().position(|field| *field == next).and_then(|at| order.get(at..)).unwrap_or_default();
    let is_later = |path: &str| later.iter().any(|field| *field == split(path).0);
    put_before_since(begin_of(cx), found, |field| field.strip_prefix(&inside).is_some_and(is_later), cx);
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_validation::ErrorList;

    /// Places of errors that are given with their kind: `!` for duplicate, `-` for forbidden, else invalid.
    fn sorted(paths: &[&str]) -> Vec<String> {
        let mut errors = ErrorList::default();
        for path in paths {
            match (path.strip_prefix('!'), path.strip_prefix('-')) {
                (Some(path), _) => errors.duplicate(path, 1),
                (_, Some(path)) => errors.forbidden(path, ""),
                _ => errors.invalid(path, 1, ""),
            }
        }
        errors.0.sort_by_cached_key(|error| place(error, &error.field));
        errors.0.into_iter().map(|error| error.field).collect()
    }

    #[test]
    fn errors_stand_in_the_order_of_validation() {
        let rows: &[(&[&str], &[usize])] = &[
            (&["restartPolicy", "containers[0].image", "volumes[0].name"], &[2, 1, 0]),
            (
                &["containers[1].name", "containers[0].livenessProbe.exec", "containers[0].volumeMounts.subPath"],
                &[2, 1, 0],
            ),
            (
                &["!containers[1].name", "containers[1].lifecycle.preStop", "containers[1].securityContext.procMount"],
                &[2, 0, 1],
            ),
            (&["!containers[0].ports[1].hostPort", "containers[3].image"], &[1, 0]),
            (
                &[
                    "containers[0].restartPolicy",
                    "containers[0].lifecycle.stopSignal",
                    "containers[0].lifecycle.postStart",
                ],
                &[2, 1, 0],
            ),
            (&["containers[0].livenessProbe.timeoutSeconds", "containers[0].livenessProbe"], &[1, 0]),
            (
                &["-initContainers[0].lifecycle", "!initContainers[0].name", "initContainers[0].restartPolicy"],
                &[2, 1, 0],
            ),
            (&["initContainers[0].resizePolicy[0].restartPolicy", "-initContainers[0].startupProbe"], &[1, 0]),
            (
                &[
                    "-ephemeralContainers[0].ports",
                    "!ephemeralContainers[0].name",
                    "ephemeralContainers[0].env[0].name",
                ],
                &[2, 1, 0],
            ),
            (
                &[
                    "containers[0].securityContext.windowsOptions.x",
                    "containers[0].securityContext",
                    "containers[0].securityContext.procMount",
                ],
                &[2, 1, 0],
            ),
            (
                &[
                    "securityContext.sysctls[0].name",
                    "securityContext.shareProcessNamespace",
                    "securityContext.fsGroup",
                ],
                &[2, 1, 0],
            ),
            (&["resourceClaims[0].resourceClaimName", "resourceClaims[0]", "resourceClaims[0].name"], &[2, 1, 0]),
            (
                &["topologySpreadConstraints[0].labelSelector.matchLabels", "topologySpreadConstraints[0].minDomains"],
                &[1, 0],
            ),
            (
                &[
                    "topologySpreadConstraints[0].minDomains",
                    "!topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}",
                ],
                &[1, 0],
            ),
        ];
        for (found, order) in rows {
            let expected: Vec<&str> = order.iter().map(|at| found[*at].trim_start_matches(['!', '-'])).collect();
            assert_eq!(sorted(found), expected);
        }
    }
}
