//! Rules of what may change in a pod that exists.

use super::{spec, text};
use crate::rules::difference::difference;
use crate::rules::internal_form::in_full;
use pintle_schema::{Map, Value, View};
use pintle_types::core::v1::{
    Affinity, Container, EphemeralContainer, EphemeralContainerCommon, NodeAffinity, NodeSelector, NodeSelectorTerm,
    Pod, PodSchedulingGate, PodSpec, Toleration,
};
use pintle_validation::{At, FieldPath, ValidationContext, same};
use std::collections::HashSet;

const MUTABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const ONLY_ADDITIONS: &str = "only additions are allowed (no mutations or deletions)";

/// Whether two maps are the same, some keys left out. An empty struct behind a pointer is not an absent one.
pub fn same_but(a: &Value, b: &Value, left_out: &[&str]) -> bool {
    let keys = |value| Value::as_map(value).into_iter().flat_map(Map::keys).filter(|key| !left_out.contains(&&***key));
    keys(a).all(|key| equal(a.get(key), b.get(key)))
        && keys(b).all(|key| a.get(key).is_some() || equal(None, b.get(key)))
}

fn equal(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a.filter(|value| !value.is_null()), b.filter(|value| !value.is_null())) {
        (Some(a @ Value::Map(_)), Some(b @ Value::Map(_))) => same_but(a, b, &[]),
        (Some(Value::List(a)), Some(Value::List(b))) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(Some(a), Some(b)))
        }
        (Some(Value::List(items)), None) | (None, Some(Value::List(items))) => items.is_empty(),
        (a, b) => a == b,
    }
}

/// Of a pod's spec, images, the deadline and a few things more may change.
pub fn mutable_fields(pod: At<'_, Pod>, cx: &mut ValidationContext<'_>) {
    pod.field(Pod::SPEC, |spec| {
        let Some(old) = spec.old.filter(|old| !cx.same(spec.new.value(), old.value())) else { return };
        for field in [PodSpec::CONTAINERS, PodSpec::INIT_CONTAINERS] {
            if !images(spec.new.field(field), old.field(field), &spec.path.to(field), cx) {
                return;
            }
        }
        if !deadline(spec.new, old, spec.path, cx) {
            return;
        }
        tolerations(spec, old, cx);
        scheduling_gates(spec.new, old, &spec.path.to(PodSpec::SCHEDULING_GATES), cx);
        if same_but(spec.new.value(), old.value(), &[]) {
            return;
        }
        let gated = old.field(PodSpec::SCHEDULING_GATES).iter().len() > 0;
        if gated {
            node_selector(spec.new, old, spec.path, cx);
            node_affinity(spec.new, old, spec.path, cx);
        }
        if let Some(expected) = rest_as_it_was(spec.new, old, gated) {
            let difference = difference(&in_full(old), &in_full(View::<PodSpec>::new(&expected)));
            cx.errors.forbidden(spec.path, format!("{MUTABLE}\n{difference}"));
        }
    });
}

/// False when containers came or went, which ends all further validation.
fn images(
    new: View<'_, Vec<Container>>,
    old: View<'_, Vec<Container>>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) -> bool {
    if new.iter().len() != old.iter().len() {
        cx.errors.forbidden(path, "pod updates may not add or remove containers");
        return false;
    }
    for (index, container) in new.iter().enumerate() {
        let image = container.field(Container::IMAGE).as_str();
        let path = path.index(index);
        if image.is_empty() {
            cx.errors.required(path.to(Container::IMAGE), "");
        }
        if image.trim() != image {
            cx.errors.invalid(path.to(Container::IMAGE), image, "must not have leading or trailing whitespace");
        }
    }
    true
}

/// A deadline may be set or decreased. Returns false if it is invalid.
fn deadline(
    new: View<'_, PodSpec>,
    old: View<'_, PodSpec>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) -> bool {
    let path = path.to(PodSpec::ACTIVE_DEADLINE_SECONDS);
    let old = old.field(PodSpec::ACTIVE_DEADLINE_SECONDS).get();
    match (new.field(PodSpec::ACTIVE_DEADLINE_SECONDS).get(), old) {
        (Some(new), _) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            cx.errors.invalid(path, new, "must be between 0 and 2147483647, inclusive");
            return false;
        }
        (Some(new), Some(old)) if old < new => {
            cx.errors.invalid(path, new, "must be less than or equal to previous value");
        }
        (None, Some(_)) => {
            cx.errors.invalid(path, Value::Null, "must not update from a positive integer to nil value");
        }
        _ => {}
    }
    true
}

/// Tolerations may be added; kube-apiserver validates all of them once more then.
fn tolerations(spec: At<'_, PodSpec>, old: View<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    let new = spec.new.field(PodSpec::TOLERATIONS);
    // All but for how long.
    fn texts(toleration: &Value) -> [&str; 4] {
        type Field = Toleration;
        let fields = [Field::KEY.name(), Field::OPERATOR.name(), Field::VALUE.name(), Field::EFFECT.name()];
        fields.map(|field| toleration.str_at(&[field]))
    }
    let tolerated: HashSet<[&str; 4]> = new.iter().map(|toleration| texts(toleration.value())).collect();
    if !old.field(PodSpec::TOLERATIONS).iter().all(|old| tolerated.contains(&texts(old.value()))) {
        let path = spec.path.to(PodSpec::TOLERATIONS);
        return cx.errors.forbidden(path, "existing toleration can not be modified except its tolerationSeconds");
    }
    cx.validate_again(spec, PodSpec::TOLERATIONS);
}

fn scheduling_gates(
    new: View<'_, PodSpec>,
    old: View<'_, PodSpec>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let old = old.field(PodSpec::SCHEDULING_GATES);
    let old: HashSet<&str> = old.iter().map(|gate| gate.field(PodSchedulingGate::NAME).as_str()).collect();
    for (index, gate) in new.field(PodSpec::SCHEDULING_GATES).iter().enumerate() {
        let name = gate.field(PodSchedulingGate::NAME).as_str();
        if !old.contains(name) {
            let detail = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            cx.errors.forbidden(path.index(index).to(PodSchedulingGate::NAME), detail);
        }
    }
}

fn node_selector(new: View<'_, PodSpec>, old: View<'_, PodSpec>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let new = new.field(PodSpec::NODE_SELECTOR).value();
    let mut old = old.field(PodSpec::NODE_SELECTOR).value().as_map().into_iter().flat_map(|map| map.iter());
    if old.any(|(key, value)| new.get(key) != Some(value)) {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        cx.errors.invalid(path.to(PodSpec::NODE_SELECTOR), new.clone(), detail);
    }
}

/// The terms that a node must satisfy.
fn terms(spec: View<'_, PodSpec>) -> View<'_, Vec<NodeSelectorTerm>> {
    let affinity = spec.field(PodSpec::AFFINITY).or_zero().field(Affinity::NODE_AFFINITY).or_zero();
    let required = affinity.field(NodeAffinity::REQUIRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION).or_zero();
    required.field(NodeSelector::NODE_SELECTOR_TERMS)
}

fn node_affinity(new: View<'_, PodSpec>, old: View<'_, PodSpec>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let (new, old) = (terms(new), terms(old));
    let path = path.to(PodSpec::AFFINITY);
    let path = path.to(Affinity::NODE_AFFINITY);
    let path = path.to(NodeAffinity::REQUIRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION);
    let path = path.to(NodeSelector::NODE_SELECTOR_TERMS);
    if old.iter().len() == 0 {
        return;
    }
    if old.iter().len() != new.iter().len() {
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        return cx.errors.invalid(path, in_full(new), detail);
    }
    for (index, (new, old)) in new.iter().zip(old.iter()).enumerate() {
        if !only_adds(new, old) {
            cx.errors.invalid(path.index(index), in_full(new), ONLY_ADDITIONS);
        }
    }
}

fn only_adds(new: View<'_, NodeSelectorTerm>, old: View<'_, NodeSelectorTerm>) -> bool {
    let fields = [NodeSelectorTerm::MATCH_EXPRESSIONS, NodeSelectorTerm::MATCH_FIELDS];
    let is_empty = |term: View<'_, NodeSelectorTerm>| fields.iter().all(|field| term.field(*field).iter().len() == 0);
    if is_empty(old) {
        return is_empty(new);
    }
    fields.iter().all(|field| {
        let (new, old) = (new.field(*field), old.field(*field));
        new.iter().len() >= old.iter().len()
            && new.iter().zip(old.iter()).all(|(new, old)| same(new.value(), old.value()))
    })
}

/// The spec with all that may change as it was, if something else changed; while scheduling is held back, more may.
fn rest_as_it_was(new: View<'_, PodSpec>, old: View<'_, PodSpec>, gated: bool) -> Option<Value> {
    let mut rest = new.value().clone();
    let take = |rest: &mut Value, old: &Value, path: &[&str]| match old.at(path).filter(|old| !old.is_null()) {
        Some(old) => rest.set_at(path, old.clone()),
        None => drop(rest.remove_at(path)),
    };
    let affinity = PodSpec::AFFINITY.name();
    let mut free = vec![
        vec![PodSpec::ACTIVE_DEADLINE_SECONDS.name()],
        vec![PodSpec::SCHEDULING_GATES.name()],
        vec![PodSpec::TOLERATIONS.name()],
    ];
    let grace = PodSpec::TERMINATION_GRACE_PERIOD_SECONDS;
    if old.field(grace).get().is_some_and(|old| old < 0) && new.field(grace).get() == Some(1) {
        free.push(vec![grace.name()]);
    }
    if gated {
        free.push(vec![PodSpec::NODE_SELECTOR.name()]);
        let to_nodes = Affinity::NODE_AFFINITY.name();
        let is_of_nodes = same_but(new.field(PodSpec::AFFINITY).value(), &Value::Null, &[to_nodes]);
        // An affinity with node affinity only may be added as a whole.
        match is_of_nodes && !old.field(PodSpec::AFFINITY).is_set() {
            true => free.push(vec![affinity]),
            false => free.push(vec![affinity, to_nodes]),
        }
    }
    free.iter().for_each(|path| take(&mut rest, old.value(), path));
    for containers in [PodSpec::CONTAINERS.name(), PodSpec::INIT_CONTAINERS.name()] {
        let old = old.value().get(containers).and_then(Value::as_list).unwrap_or_default();
        let new = rest.get_mut(containers).and_then(Value::as_list_mut);
        for (new, old) in new.into_iter().flatten().zip(old) {
            take(new, old, &[Container::IMAGE.name()]);
        }
    }
    (!same_but(&rest, old.value(), &[])).then_some(rest)
}

/// Ephemeral containers come, and never change or go.
pub fn ephemeral_containers(pod: At<'_, Pod>, cx: &mut ValidationContext<'_>) {
    let Some(old) = pod.old else { return };
    if spec::is_mirror(old) {
        return cx.errors.forbidden(FieldPath::ROOT, "static pods do not support ephemeral containers");
    }
    let name = |container: View<'_, EphemeralContainer>| {
        let common = container.field(EphemeralContainer::EPHEMERAL_CONTAINER_COMMON);
        text(common.field(EphemeralContainerCommon::NAME)).to_owned()
    };
    let path = pod.path.to(Pod::SPEC);
    let path = path.to(PodSpec::EPHEMERAL_CONTAINERS);
    let new = pod.new.field(Pod::SPEC).field(PodSpec::EPHEMERAL_CONTAINERS);
    for old in old.field(Pod::SPEC).field(PodSpec::EPHEMERAL_CONTAINERS).iter() {
        let called = name(old);
        let (done, difference) = match new.iter().find(|new| name(*new) == called) {
            None => ("removed", String::new()),
            Some(new) if !same(new.value(), old.value()) => ("changed", difference(&in_full(old), &in_full(new))),
            Some(_) => continue,
        };
        cx.errors.forbidden(path, format!("existing ephemeral containers {called:?} may not be {done}\n{difference}"));
    }
}
