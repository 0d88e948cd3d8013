//! Pods and their bindings.
//!
//! Create and update of pods; `pod_parts` has the subresources that write parts of them.

use super::{app_armor, match_label_keys, pod_parts, pod_spec, qos};
use crate::printing::printer;
use crate::views::{clear, push};
use pintle_resource::{
    Action, Context, GENERAL, NOT_SUPPORTED, NameRule, Resource, SPEC_PATHS, Selectable, Storage, Strategy,
    Subresource, Verbs, WITH_STATUS,
};
use pintle_schema::{ApiResource, Time, Value, View, ViewMut};
use pintle_types::core::v1;
use pintle_types::policy;
use v1::{ConditionStatus, Pod, PodCondition, PodConditionType, PodPhase, PodSpec, PodStatus};

pub(super) fn bindings() -> Resource {
    Resource {
        verbs: Verbs::CREATE,
        strategy: &Strategy { name: NameRule::PathSegment, ..GENERAL },
        ..Resource::of::<v1::Binding>()
    }
}

pub(super) fn pods() -> Resource {
    Resource {
        storage: Some(Storage::of::<Pod>()),
        subresources: vec![
            Subresource::connect::<v1::PodAttachOptions>("attach", Verbs::STREAM),
            Subresource::create::<v1::Binding>("binding", Action::Handler),
            Subresource::part::<Pod>("ephemeralcontainers", &pod_parts::EPHEMERAL_CONTAINERS),
            Subresource::create::<policy::v1::Eviction>("eviction", Action::Handler).of_group("policy", "v1"),
            Subresource::connect::<v1::PodExecOptions>("exec", Verbs::STREAM),
            Subresource {
                kind: Pod::NAMES.kind.into(),
                ..Subresource::connect::<v1::PodLogOptions>("log", Verbs::GET)
            },
            Subresource::connect::<v1::PodPortForwardOptions>("portforward", Verbs::STREAM),
            Subresource::connect::<v1::PodProxyOptions>("proxy", Verbs::PROXY),
            Subresource::part::<Pod>("resize", &pod_parts::RESIZE),
            Subresource::status::<Pod>(&pod_parts::STATUS),
        ],
        selectable: vec![
            Selectable::path("spec.hostNetwork", &["spec", "hostNetwork"]),
            Selectable::path("spec.nodeName", &["spec", "nodeName"]).indexed(),
            Selectable::path("spec.restartPolicy", &["spec", "restartPolicy"]),
            Selectable::path("spec.schedulerName", &["spec", "schedulerName"]),
            Selectable::path("spec.serviceAccountName", &["spec", "serviceAccountName"]),
            Selectable::path("status.nominatedNodeName", &["status", "nominatedNodeName"]),
            Selectable::path("status.phase", &["status", "phase"]),
            Selectable::path("status.podIP", &["status", "podIP"]),
            Selectable::unset("status.podIPs"),
            Selectable::alias("spec.host", "spec.nodeName"),
        ],
        selector_refusal: NOT_SUPPORTED,
        strategy: &POD,
        printer: printer(&super::columns::pod::POD),
        warn: Some(super::rules::pod::warnings::pod),
        ..Resource::of::<Pod>()
    }
}

static POD: Strategy = Strategy {
    grace_period: Some(grace_period),
    delete_answers_object: true,
    generation: Some(SPEC_PATHS),
    // `prepare_create` decides about the rest of the status.
    create_clears: &[],
    prepare_create: Some(prepare_create),
    normalize: Some(normalize),
    ..WITH_STATUS
};

/// Only a pod on a node has a grace period: the requested one, or that of its spec.
fn grace_period(object: &Value, asked: Option<i64>) -> i64 {
    let pod = View::<Pod>::new(object);
    let phase = pod.field(Pod::STATUS).field(PodStatus::PHASE).get();
    let spec = pod.field(Pod::SPEC);
    if spec.field(PodSpec::NODE_NAME).as_str().is_empty() || [PodPhase::FAILED, PodPhase::SUCCEEDED].contains(&phase) {
        return 0;
    }
    let period = asked.or(spec.field(PodSpec::TERMINATION_GRACE_PERIOD_SECONDS).get()).unwrap_or(0);
    if period < 0 { 1 } else { period }
}

fn normalize(object: &mut Value) {
    let mut pod = ViewMut::<Pod>::new(object);
    pod_spec::normalize_metadata(pod.by_ref().field(Pod::METADATA));
    let mut spec = pod.by_ref().field(Pod::SPEC);
    pod_spec::normalize_spec(spec.by_ref());
    if spec.view().field(PodSpec::TERMINATION_GRACE_PERIOD_SECONDS).get().is_some_and(|seconds| seconds < 0) {
        spec.field(PodSpec::TERMINATION_GRACE_PERIOD_SECONDS).set(1);
    }
    if pod.view().field(Pod::STATUS).is_set() {
        mirror_pod_ip(pod.field(Pod::STATUS));
    }
}

/// Keeps `podIP` and the first of `podIPs` equal; where they differ the single one is right.
fn mirror_pod_ip(mut status: ViewMut<'_, PodStatus>) {
    let single = status.view().field(PodStatus::POD_IP).get();
    let first = status.view().field(PodStatus::POD_IPS).iter().next().map(|ip| ip.field(v1::PodIP::IP).get());
    match first {
        Some(first) if single.is_empty() => status.field(PodStatus::POD_IP).set(first),
        Some(first) if first == single => {}
        None if single.is_empty() => clear(&mut status, PodStatus::POD_IP),
        _ => status.field(PodStatus::POD_IPS).set(vec![v1::PodIP { ip: single }]),
    }
}

/// A new pod's status is set by the server, except for a QoS class in the request.
fn prepare_create(object: &mut Value, context: &mut Context) {
    let given = View::<Pod>::new(object).field(Pod::STATUS).field(PodStatus::QOS_CLASS).get();
    let class = if given.as_str().is_empty() { qos::class(View::new(object)) } else { given };
    let mut pod = ViewMut::<Pod>::new(object);
    pod.by_ref().field(Pod::STATUS).clear();
    let mut status = pod.by_ref().field(Pod::STATUS);
    status.by_ref().field(PodStatus::PHASE).set(PodPhase::PENDING);
    status.field(PodStatus::QOS_CLASS).set(class);
    hold_gated(pod.by_ref(), context);
    match_label_keys::merge(pod.by_ref());
    app_armor::sync(pod, context);
}

/// Sets the condition of a pod with scheduling gates.
fn hold_gated(mut pod: ViewMut<'_, Pod>, context: &Context) {
    if pod.view().field(Pod::SPEC).field(PodSpec::SCHEDULING_GATES).iter().len() == 0 {
        return;
    }
    let condition = PodCondition {
        r#type: PodConditionType::POD_SCHEDULED,
        status: ConditionStatus::FALSE,
        last_transition_time: Time::from_seconds(context.now_unix),
        reason: "SchedulingGated".to_owned(),
        message: "Scheduling is blocked due to non-empty scheduling gates".to_owned(),
        ..Default::default()
    };
    push(pod.by_ref().field(Pod::STATUS).field(PodStatus::CONDITIONS), &condition);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{created, normalized};
    use pintle_schema::value;

    #[test]
    fn what_is_said_twice_agrees() {
        let rows = [
            (value!({"serviceAccount": "a"}), value!({"serviceAccountName": "a", "serviceAccount": "a"})),
            (
                value!({"serviceAccountName": "a", "serviceAccount": "b"}),
                value!({"serviceAccountName": "a", "serviceAccount": "a"}),
            ),
            (value!({"terminationGracePeriodSeconds": (-5)}), value!({"terminationGracePeriodSeconds": 1})),
        ];
        for (given, expected) in rows {
            let pod = normalized(&pods(), value!({"spec": (given.clone())}));
            for (key, value) in expected.as_map().into_iter().flat_map(|map| map.iter()) {
                assert_eq!(pod.at(&["spec", key.as_str()]), Some(value), "{given:?}");
            }
            assert!(pod.at(&["spec", "securityContext"]).is_some());
        }
    }

    #[test]
    fn pod_ip_is_mirrored() {
        let rows = [
            (value!({"podIP": "10.0.0.1"}), "10.0.0.1", 1),
            (value!({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}), "10.0.0.1", 2),
            (value!({"podIP": "10.0.0.2", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}), "10.0.0.2", 1),
        ];
        for (given, ip, count) in rows {
            let pod = normalized(&pods(), value!({"status": (given.clone())}));
            let ips = pod.at(&["status", "podIPs"]).and_then(Value::as_list).unwrap_or_default();
            assert_eq!((pod.str_at(&["status", "podIP"]), ips.len()), (ip, count), "{given:?}");
            assert_eq!(ips[0].str_at(&["ip"]), ip);
        }
    }

    #[test]
    fn of_a_status_that_was_sent_the_class_stays() {
        let pod =
            created(&pods(), value!({"status": {"qosClass": "Guaranteed", "phase": "Running", "podIP": "10.0.0.1"}}));
        assert_eq!(pod.get("status"), Some(&value!({"phase": "Pending", "qosClass": "Guaranteed"})));
    }

    #[test]
    fn a_gated_pod_says_so() {
        let pod =
            created(&pods(), value!({"spec": {"containers": [{"name": "a"}], "schedulingGates": [{"name": "x"}]}}));
        let conditions = pod.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
        assert_eq!(conditions.len(), 1);
        assert_eq!(conditions[0].str_at(&["reason"]), "SchedulingGated");
        assert_eq!(pod.str_at(&["status", "phase"]), "Pending");
        assert_eq!(pod.str_at(&["status", "qosClass"]), "BestEffort");
    }
}
