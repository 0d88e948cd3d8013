//! Rules of containers: names, ports, restarts, and what each of the three lists allows.

use super::{handlers, text};
use crate::rules::{Repeats, Texts, forbid, item_at, items, text_in};
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

/// Whether an init container keeps running beside the regular ones.
pub fn is_sidecar(container: View<'_, Container>) -> bool {
    text(container.field(Container::RESTART_POLICY)) == "Always"
}

/// Names are distinct, even absent ones; hooks and probes have handlers, and host ports are distinct.
pub fn regular(containers: At<'_, Vec<Container>>, cx: &mut ValidationContext<'_>) {
    let items = items(containers.new);
    let mut repeats = Repeats::new(items.len(), |at| text_in(items, at, Container::NAME));
    for (index, container) in containers.new.iter().enumerate() {
        if repeats.is_repeated(index) {
            let name = text(container.field(Container::NAME));
            cx.errors.duplicate(containers.path.index(index).to(Container::NAME), name);
        }
        handlers::are_there(container, &containers.path.index(index), cx);
    }
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

fn repeated_name(
    others: impl Fn(&str) -> bool,
    container: View<'_, Container>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let name = text(container.field(Container::NAME));
    if others(name) {
        cx.errors.duplicate(path.to(Container::NAME), name);
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

/// Rules of init containers, which depend on whether they are sidecars.
pub fn init(containers: At<'_, Vec<Container>>, cx: &mut ValidationContext<'_>) {
    for (index, container) in containers.new.iter().enumerate() {
        let path = containers.path.index(index);
        if is_sidecar(container) {
            handlers::are_there(container, &path, cx);
        } else {
            let detail = "may not be set for init containers without restartPolicy=Always";
            let fields = [Container::LIFECYCLE.name()].into_iter().chain(handlers::PROBES).collect::<Vec<_>>();
            forbid(container, &path, &fields, detail, cx);
        }
    }
    let old = containers.old.is_some_and(|old| old.iter().any(|old| !is_sidecar(old) && restarts_on_resize(old)));
    for (index, container) in containers.new.iter().enumerate() {
        let path = containers.path.index(index);
        // kube-apiserver validates each init container as a list of its own, at the place of the
        // first.
        host_ports(container, &containers.path.index(0), &mut HashSet::new(), cx);
        if is_sidecar(container) {
            continue;
        }
        for (index, policy) in container.field(Container::RESIZE_POLICY).iter().enumerate() {
            let restart = text(policy.field(ContainerResizePolicy::RESTART_POLICY));
            if restart == "RestartContainer" && !old {
                let path = path.to(Container::RESIZE_POLICY);
                let path = path.index(index);
                let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                cx.errors.invalid(path.to(ContainerResizePolicy::RESTART_POLICY), restart, detail);
            }
        }
    }
    if !cx.errors.is_empty() {
        // The rules of one that has no policy to depart from are not validated, nor are hooks and probes that are
        // forbidden.
        let is_validated = |container: View<'_, Container>| container.field(Container::RESTART_POLICY).is_set();
        let validated: Vec<(bool, bool)> =
            containers.new.iter().map(|container| (is_validated(container), is_sidecar(container))).collect();
        let (list, rules) = (containers.path.to_string(), format!(".{}", Container::RESTART_POLICY_RULES.name()));
        let in_hook = |rest: &str| {
            let field = rest.strip_prefix('.').and_then(|rest| rest.split_once(['.', '[']));
            field.is_some_and(|(field, _)| field == Container::LIFECYCLE.name() || handlers::PROBES.contains(&field))
        };
        let stays = |(index, rest): (usize, &str)| match validated.get(index) {
            Some((has_policy, is_sidecar)) => {
                (*has_policy || !rest.starts_with(&rules)) && (*is_sidecar || !in_hook(rest))
            }
            None => true,
        };
        cx.errors.0.retain(|error| item_at(&error.field, &list).is_none_or(stays));
    }
}

pub fn restarts_on_resize(container: View<'_, Container>) -> bool {
    let mut policies = container.field(Container::RESIZE_POLICY).iter();
    policies.any(|policy| text(policy.field(ContainerResizePolicy::RESTART_POLICY)) == "RestartContainer")
}

/// Rules of containers that depend on the pod: distinct names across lists, and sleep hooks.
pub fn fit_pod(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    let init = spec.new.field(PodSpec::INIT_CONTAINERS);
    let regular = spec.new.field(PodSpec::CONTAINERS);
    let ephemeral = list(spec.new, PodSpec::EPHEMERAL_CONTAINERS.name());
    let regular_items = items(regular);
    let regular_names = Texts::new(regular_items.len(), |at| text_in(regular_items, at, Container::NAME));
    let init_items = items(init);
    let mut repeats = Repeats::new(init_items.len(), |at| text_in(init_items, at, Container::NAME));
    for (field, containers) in [(PodSpec::CONTAINERS.name(), regular), (PodSpec::INIT_CONTAINERS.name(), init)] {
        let path = spec.path.child(field);
        for (index, container) in containers.iter().enumerate() {
            let path = path.index(index);
            if field == PodSpec::INIT_CONTAINERS.name() {
                let is_again = repeats.is_repeated(index);
                let is_taken = |name: &str| regular_names.contains(name) || is_again && !name.is_empty();
                repeated_name(is_taken, container, &path, cx);
                if !is_sidecar(container) {
                    continue;
                }
            }
            hooks(spec.new, container, &path, cx);
        }
    }
    if items(ephemeral).is_empty() {
        return;
    }
    let path = spec.path.to(PodSpec::EPHEMERAL_CONTAINERS);
    let lasting_names: HashSet<&str> = names(regular).chain(names(init)).collect();
    let mut taken = lasting_names.clone();
    for (index, container) in ephemeral.iter().enumerate() {
        let path = path.index(index);
        repeated_name(|name| taken.contains(name), container, &path, cx);
        taken.insert(text(container.field(Container::NAME)));
        let target =
            View::<EphemeralContainer>::new(container.value()).field(EphemeralContainer::TARGET_CONTAINER_NAME);
        let target = target.as_str();
        if !target.is_empty() && !lasting_names.contains(target) {
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
