//! Rules of containers: names, ports, restarts, and what each of the three lists allows.

use super::{handlers, is_sidecar, text};
use crate::rules::{Repeats, Texts, forbid, items, text_in};
use pintle_schema::names::port_name;
use pintle_schema::{Value, View};
use pintle_types::core::v1::{Container, ContainerPort, ContainerResizePolicy, EphemeralContainer, Lifecycle, PodSpec};
use pintle_validation::{At, FieldPath, ValidationContext};
use std::collections::HashSet;

type Containers<'a> = View<'a, Vec<Container>>;

/// The fields that hold containers, in the order in which kube-apiserver visits them.
const LISTS: [&str; 3] =
    [PodSpec::INIT_CONTAINERS.name(), PodSpec::CONTAINERS.name(), PodSpec::EPHEMERAL_CONTAINERS.name()];

/// The containers of a field; ephemeral ones have the same fields as others.
fn list<'a>(spec: View<'a, PodSpec>, field: &str) -> Containers<'a> {
    static NONE: Value = Value::Null;
    View::new(spec.value().get(field).unwrap_or(&NONE))
}

/// Visits all containers of a pod.
pub fn each(spec: At<'_, PodSpec>, mut visit: impl FnMut(View<'_, Container>, &FieldPath<'_>)) {
    for field in LISTS {
        let path = spec.path.child(field);
        for (index, container) in list(spec.new, field).iter().enumerate() {
            visit(container, &path.index(index));
        }
    }
}

/// Whether a container has a name.
pub fn has(spec: View<'_, PodSpec>, name: &str) -> bool {
    LISTS.iter().any(|field| names(list(spec, field)).any(|other| other == name))
}

fn names<'a>(containers: Containers<'a>) -> impl Iterator<Item = &'a str> {
    containers.iter().map(|container| text(container.field(Container::NAME)))
}

/// Names are distinct, even absent ones.
pub fn distinct_names(containers: At<'_, Vec<Container>>, cx: &mut ValidationContext<'_>) {
    let items = items(containers.new);
    let mut repeats = Repeats::new(items.len(), |at| text_in(items, at, Container::NAME));
    for index in 0..items.len() {
        if repeats.is_repeated(index) {
            let name = text_in(items, index, Container::NAME);
            cx.errors.duplicate(containers.path.index(index).to(Container::NAME), name);
        }
    }
}

/// Ports of the node are distinct.
pub fn distinct_host_ports(containers: At<'_, Vec<Container>>, cx: &mut ValidationContext<'_>) {
    let mut seen = HashSet::new();
    for (index, container) in containers.new.iter().enumerate() {
        host_ports(container, &containers.path.index(index), &mut seen, cx);
    }
}

/// Names of ports are distinct; wrong ones are not compared.
pub fn distinct_ports(ports: At<'_, Vec<ContainerPort>>, cx: &mut ValidationContext<'_>) {
    let items = items(ports.new);
    let mut repeats = Repeats::new(items.len(), |at| text_in(items, at, ContainerPort::NAME));
    for index in 0..items.len() {
        let name = text_in(items, index, ContainerPort::NAME);
        if repeats.is_repeated(index) && !name.is_empty() && port_name(name).is_empty() {
            cx.errors.duplicate(ports.path.index(index).to(ContainerPort::NAME), name);
        }
    }
}

fn host_ports(
    container: View<'_, Container>,
    path: &FieldPath<'_>,
    seen: &mut HashSet<String>,
    cx: &mut ValidationContext<'_>,
) {
    let path = path.to(Container::PORTS);
    for (index, port) in container.field(Container::PORTS).iter().enumerate() {
        let number = port.field(ContainerPort::HOST_PORT).get();
        if number == 0 {
            continue;
        }
        let protocol = text(port.field(ContainerPort::PROTOCOL));
        let place = format!("{protocol}/{}/{number}", port.field(ContainerPort::HOST_IP).as_str());
        if !seen.insert(place.clone()) {
            cx.errors.duplicate(path.index(index).to(ContainerPort::HOST_PORT), place);
        }
    }
}

/// Init containers that end have no hooks and probes.
pub fn only_of_sidecars(containers: At<'_, Vec<Container>>, cx: &mut ValidationContext<'_>) {
    let detail = "may not be set for init containers without restartPolicy=Always";
    let [liveness, readiness, startup] = handlers::PROBES;
    let fields = [Container::LIFECYCLE.name(), liveness, readiness, startup];
    for (index, container) in containers.new.iter().enumerate().filter(|(_, container)| !is_sidecar(*container)) {
        forbid(container, &containers.path.index(index), &fields, detail, cx);
    }
}

/// Init containers that end are not restarted to be resized.
pub fn restarts_of_sidecars(containers: At<'_, Vec<Container>>, cx: &mut ValidationContext<'_>) {
    if containers.old.is_some_and(|old| old.iter().any(|old| !is_sidecar(old) && restarts_on_resize(old))) {
        return;
    }
    for (index, container) in containers.new.iter().enumerate().filter(|(_, container)| !is_sidecar(*container)) {
        let path = containers.path.index(index);
        let path = path.to(Container::RESIZE_POLICY);
        for (index, policy) in container.field(Container::RESIZE_POLICY).iter().enumerate() {
            let restart = text(policy.field(ContainerResizePolicy::RESTART_POLICY));
            if restart == "RestartContainer" {
                let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                cx.errors.invalid(path.index(index).to(ContainerResizePolicy::RESTART_POLICY), restart, detail);
            }
        }
    }
}

fn is_init(container: At<'_, Container>) -> bool {
    container.path.parent().field_name() == PodSpec::INIT_CONTAINERS.name()
}

/// Whether a container is an init container that ends: its hooks and probes are forbidden, and not looked into.
pub fn ends(container: At<'_, Container>, _: &ValidationContext<'_>) -> bool {
    !is_sidecar(container.new) && is_init(container)
}

/// Whether a container is an init container without a policy to depart from: its rules of restarting are not looked into.
pub fn has_no_policy(container: At<'_, Container>, _: &ValidationContext<'_>) -> bool {
    !container.new.field(Container::RESTART_POLICY).is_set() && is_init(container)
}

pub fn restarts_on_resize(container: View<'_, Container>) -> bool {
    let mut policies = container.field(Container::RESIZE_POLICY).iter();
    policies.any(|policy| text(policy.field(ContainerResizePolicy::RESTART_POLICY)) == "RestartContainer")
}

/// The names of init containers differ from each other, and from those of regular ones.
pub fn distinct_names_of_init(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    let init = items(spec.new.field(PodSpec::INIT_CONTAINERS));
    if init.is_empty() {
        return;
    }
    let regular = items(spec.new.field(PodSpec::CONTAINERS));
    let regular_names = Texts::new(regular.len(), |at| text_in(regular, at, Container::NAME));
    let mut repeats = Repeats::new(init.len(), |at| text_in(init, at, Container::NAME));
    let list = spec.path.to(PodSpec::INIT_CONTAINERS);
    for index in 0..init.len() {
        let name = text_in(init, index, Container::NAME);
        let is_again = repeats.is_repeated(index);
        if regular_names.contains(name) || is_again && !name.is_empty() {
            cx.errors.duplicate(list.index(index).to(Container::NAME), name);
        }
    }
}

/// kube-apiserver compares the ports of each init container as those of a list of its own, at the place of the first.
pub fn distinct_host_ports_of_init(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    let list = spec.path.to(PodSpec::INIT_CONTAINERS);
    for container in spec.new.field(PodSpec::INIT_CONTAINERS).iter() {
        host_ports(container, &list.index(0), &mut HashSet::new(), cx);
    }
}

/// Hooks of regular containers and of sidecars fit the pod.
pub fn hooks_of_all(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    for field in [PodSpec::CONTAINERS, PodSpec::INIT_CONTAINERS] {
        let list = spec.path.to(field);
        for (index, container) in spec.new.field(field).iter().enumerate() {
            if field.name() == PodSpec::CONTAINERS.name() || is_sidecar(container) {
                hooks(spec.new, container, &list.index(index), cx);
            }
        }
    }
}

/// The names of ephemeral containers differ from all others, and their targets are containers that last.
pub fn names_of_ephemeral(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    let ephemeral = list(spec.new, PodSpec::EPHEMERAL_CONTAINERS.name());
    if items(ephemeral).is_empty() {
        return;
    }
    let path = spec.path.to(PodSpec::EPHEMERAL_CONTAINERS);
    let lasting = names(spec.new.field(PodSpec::CONTAINERS)).chain(names(spec.new.field(PodSpec::INIT_CONTAINERS)));
    let lasting: HashSet<&str> = lasting.collect();
    let mut taken = lasting.clone();
    for (index, container) in ephemeral.iter().enumerate() {
        let path = path.index(index);
        let name = text(container.field(Container::NAME));
        if !taken.insert(name) {
            cx.errors.duplicate(path.to(Container::NAME), name);
        }
        let target =
            View::<EphemeralContainer>::new(container.value()).field(EphemeralContainer::TARGET_CONTAINER_NAME);
        let target = target.as_str();
        if !target.is_empty() && !lasting.contains(target) {
            cx.errors.not_found(path.to(EphemeralContainer::TARGET_CONTAINER_NAME), target);
        }
    }
}

fn hooks(
    spec: View<'_, PodSpec>,
    container: View<'_, Container>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let grace = spec.field(PodSpec::TERMINATION_GRACE_PERIOD_SECONDS).get();
    if let Some(lifecycle) = container.field(Container::LIFECYCLE).some() {
        let path = path.to(Container::LIFECYCLE);
        for hook in [Lifecycle::POST_START, Lifecycle::PRE_STOP] {
            if let Some(handler) = lifecycle.field(hook).some() {
                handlers::hook(handler, grace, &path.to(hook), cx);
            }
        }
    }
}
