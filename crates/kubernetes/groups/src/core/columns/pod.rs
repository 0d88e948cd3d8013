//! Pods and their templates: readiness, status and restarts as one walk over the containers' statuses.
//!
//! The walk's order is what users know from kube-apiserver: init containers up to the first unfinished one,
//! then the others from last to first.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, printers, string, wide};
use pintle_resource::Now;
use pintle_schema::{ApiValue, Value, View};
use pintle_types::core::v1::{
    ConditionStatus, Container, ContainerRestartPolicy, ContainerState, ContainerStateTerminated,
    ContainerStateWaiting, ContainerStatus, Pod, PodCondition, PodConditionType, PodIP, PodPhase, PodReadinessGate,
    PodSpec, PodStatus, PodTemplate, PodTemplateSpec,
};
use pintle_types::meta::v1::{ObjectMeta, RowConditionType, TableRowCondition};

printers! {
    POD: Pod |pod, now| {
        NAME => name(pod),
        string("Ready", "Running and ready containers, of how many.") => ready(pod),
        string("Status", "Where the pod is in its life, or why it does not get on.") => Walk::of(pod).status.into(),
        string("Restarts", "How often containers were started again, and when last.") => restarts(pod, now),
        AGE => age(pod, now),
        wide("IP", "Address of the pod.") => ip(pod),
        wide("Node", "Node that runs the pod.") => text_or(pod.to(Pod::SPEC).to(PodSpec::NODE_NAME), NONE),
        wide("Nominated Node", "Node that makes room for the pod.")
            => text_or(pod.to(Pod::STATUS).to(PodStatus::NOMINATED_NODE_NAME), NONE),
        wide("Readiness Gates", "Further conditions that hold, of how many.") => readiness_gates(pod),
    } [conditions row_conditions]
    POD_TEMPLATE: PodTemplate |template, now| {
        NAME => name(template),
        string("Containers", "Names of the containers.") => containers(template.to(PodTemplate::TEMPLATE)),
        string("Images", "Images of the containers.") => images(template.to(PodTemplate::TEMPLATE)),
        string("Pod Labels", "Labels that the pods get.")
            => labels(template.to(PodTemplate::TEMPLATE).to(PodTemplateSpec::METADATA).to(ObjectMeta::LABELS)),
    }
}

fn ready(pod: View<'_, Pod>) -> Value {
    let spec = pod.to(Pod::SPEC);
    let restartable = spec.to(PodSpec::INIT_CONTAINERS).iter().filter(|container| is_restartable(*container)).count();
    let total = spec.to(PodSpec::CONTAINERS).iter().len() + restartable;
    format!("{}/{total}", Walk::of(pod).ready).into()
}

fn restarts(pod: View<'_, Pod>, now: &Now) -> Value {
    let restarts = Walk::of(pod).restarts;
    match restarts.last_seconds {
        Some(seconds) if restarts.count != 0 => format!("{} ({} ago)", restarts.count, now.since(seconds)).into(),
        _ => restarts.count.to_string().into(),
    }
}

fn ip(pod: View<'_, Pod>) -> Value {
    pod.to(Pod::STATUS).to(PodStatus::POD_IPS).iter().next().map_or(NONE.into(), |ip| text_or(ip.to(PodIP::IP), NONE))
}

fn readiness_gates(pod: View<'_, Pod>) -> Value {
    let gates = pod.to(Pod::SPEC).to(PodSpec::READINESS_GATES);
    if gates.iter().len() == 0 {
        return NONE.into();
    }
    let holding = gates.iter().filter(|gate| holds(pod, str_of(gate.to(PodReadinessGate::CONDITION_TYPE)))).count();
    format!("{holding}/{}", gates.iter().len()).into()
}

/// Whether the first condition of the type is true.
fn holds(pod: View<'_, Pod>, condition_type: &str) -> bool {
    find(pod.to(Pod::STATUS).to(PodStatus::CONDITIONS), PodCondition::TYPE, condition_type)
        .is_some_and(|condition| condition.to(PodCondition::STATUS).get() == ConditionStatus::TRUE)
}

fn is_restartable(container: View<'_, Container>) -> bool {
    str_of(container.to(Container::RESTART_POLICY)) == ContainerRestartPolicy::ALWAYS.as_str()
}

fn row_conditions(object: &Value) -> Vec<Value> {
    let phase = View::<Pod>::new(object).to(Pod::STATUS).to(PodStatus::PHASE).get();
    let message = if phase == PodPhase::SUCCEEDED {
        "The pod has completed successfully."
    } else if phase == PodPhase::FAILED {
        "The pod failed."
    } else {
        return Vec::new();
    };
    let condition = TableRowCondition {
        r#type: RowConditionType::COMPLETED,
        status: ConditionStatus::TRUE.as_str().into(),
        reason: phase.as_str().to_owned(),
        message: message.to_owned(),
    };
    vec![condition.to_value()]
}

/// How often containers were started again, and when the newest of their earlier runs ended.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last_seconds: Option<i64>,
}

impl Restarts {
    fn add(&mut self, container: View<'_, ContainerStatus>) {
        self.count += int_of(container.to(ContainerStatus::RESTART_COUNT));
        let last = container.to(ContainerStatus::LAST_STATE).to(ContainerState::TERMINATED);
        self.last_seconds = self.last_seconds.max(last.to(ContainerStateTerminated::FINISHED_AT).seconds());
    }
}

/// The summary of a pod's container statuses.
struct Walk {
    status: String,
    ready: usize,
    restarts: Restarts,
}

impl Walk {
    fn of(pod: View<'_, Pod>) -> Walk {
        let status = pod.to(Pod::STATUS);
        let phase = str_of(status.to(PodStatus::PHASE));
        let mut walk = Walk {
            status: str_or(status.to(PodStatus::REASON), phase).to_owned(),
            ready: 0,
            restarts: Restarts::default(),
        };
        if scheduling_gated(status) {
            walk.status = "SchedulingGated".to_owned();
        }
        let (initializing, restartable) = walk.init(pod);
        if !initializing || holds(pod, PodConditionType::INITIALIZED.as_str()) {
            walk.restarts = restartable;
            walk.app(pod);
        }
        if deleted(pod) {
            if str_of(status.to(PodStatus::REASON)) == "NodeLost" {
                walk.status = "Unknown".to_owned();
            } else if phase != PodPhase::SUCCEEDED.as_str() && phase != PodPhase::FAILED.as_str() {
                walk.status = "Terminating".to_owned();
            }
        }
        walk
    }

    /// Goes through the init containers up to the first that is not done. Returns whether there is one, and the
    /// restarts of those that run beside the others.
    fn init(&mut self, pod: View<'_, Pod>) -> (bool, Restarts) {
        let containers = pod.to(Pod::SPEC).to(PodSpec::INIT_CONTAINERS);
        let mut of_restartable = Restarts::default();
        for (at, container) in pod.to(Pod::STATUS).to(PodStatus::INIT_CONTAINER_STATUSES).iter().enumerate() {
            let restartable = find(containers, Container::NAME, str_of(container.to(ContainerStatus::NAME)))
                .is_some_and(is_restartable);
            self.restarts.add(container);
            if restartable {
                of_restartable.add(container);
            }
            let state = container.to(ContainerStatus::STATE);
            let terminated = state.to(ContainerState::TERMINATED).some();
            if terminated.is_some_and(|run| int_of(run.to(ContainerStateTerminated::EXIT_CODE)) == 0) {
                continue;
            }
            if restartable && container.to(ContainerStatus::STARTED).get() == Some(true) {
                self.ready += usize::from(container.to(ContainerStatus::READY).get());
                continue;
            }
            let waiting = waiting_reason(state);
            self.status = if let Some(run) = terminated {
                format!("Init:{}", end_of(run))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{at}/{}", containers.iter().len())
            };
            return (true, of_restartable);
        }
        (false, of_restartable)
    }

    fn app(&mut self, pod: View<'_, Pod>) {
        let (mut has_running, mut failure) = (false, None);
        let containers: Vec<_> = pod.to(Pod::STATUS).to(PodStatus::CONTAINER_STATUSES).iter().collect();
        for container in containers.into_iter().rev() {
            self.restarts.add(container);
            let state = container.to(ContainerStatus::STATE);
            let waiting = waiting_reason(state);
            if !waiting.is_empty() {
                self.status = waiting.to_owned();
            } else if let Some(run) = state.to(ContainerState::TERMINATED).some() {
                self.status = end_of(run);
                if int_of(run.to(ContainerStateTerminated::EXIT_CODE)) != 0 {
                    failure = Some(self.status.clone());
                }
            } else if container.to(ContainerStatus::READY).get() && state.to(ContainerState::RUNNING).is_set() {
                has_running = true;
                self.ready += 1;
            }
        }
        // One container that is done does not make the pod so.
        if self.status == "Completed" {
            if has_running && holds(pod, PodConditionType::READY.as_str()) {
                self.status = "Running".to_owned();
            } else if let Some(failure) = failure {
                self.status = failure;
            } else if has_running {
                self.status = "NotReady".to_owned();
            }
        }
    }
}

fn scheduling_gated(status: View<'_, PodStatus>) -> bool {
    status.to(PodStatus::CONDITIONS).iter().any(|condition| {
        condition.to(PodCondition::TYPE).get() == PodConditionType::POD_SCHEDULED
            && str_of(condition.to(PodCondition::REASON)) == "SchedulingGated"
    })
}

fn waiting_reason(state: View<'_, ContainerState>) -> &str {
    str_of(state.to(ContainerState::WAITING).to(ContainerStateWaiting::REASON))
}

/// Why a container's run is over.
fn end_of(run: View<'_, ContainerStateTerminated>) -> String {
    let reason = str_of(run.to(ContainerStateTerminated::REASON));
    let signal = int_of(run.to(ContainerStateTerminated::SIGNAL));
    if !reason.is_empty() {
        reason.to_owned()
    } else if signal != 0 {
        format!("Signal:{signal}")
    } else {
        format!("ExitCode:{}", int_of(run.to(ContainerStateTerminated::EXIT_CODE)))
    }
}
