//! The subresources that write a part of a pod: `status`, `ephemeralcontainers` and `resize`.
//!
//! Each takes its fields from the request, and all others from the stored pod.

use crate::views::{next_generation, take_old};
use pintle_resource::{Context, Part, Path, same};
use pintle_schema::{Value, View, ViewMut};
use pintle_types::core::v1::{Container, Pod, PodCondition, PodSpec, PodStatus};
use pintle_types::meta::v1::ObjectMeta;

pub(super) static STATUS: Part = Part {
    keeps: &[&["spec"], &["metadata", "ownerReferences"], &["metadata", "deletionTimestamp"]],
    reset_fields: &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]],
    prepare: Some(prepare_status),
    ..pintle_resource::STATUS
};

/// The status, and what clients write of the metadata.
const ALL_BUT_SPEC: &[Path] = &[
    &["status"],
    &["metadata", "deletionTimestamp"],
    &["metadata", "generation"],
    &["metadata", "selfLink"],
    &["metadata", "labels"],
    &["metadata", "annotations"],
    &["metadata", "finalizers"],
    &["metadata", "ownerReferences"],
];

pub(super) static EPHEMERAL_CONTAINERS: Part = Part {
    keeps: ALL_BUT_SPEC,
    reset_fields: &[],
    prepare: Some(prepare_ephemeral_containers),
    ..pintle_resource::STATUS
};

pub(super) static RESIZE: Part =
    Part { keeps: ALL_BUT_SPEC, reset_fields: &[], prepare: Some(prepare_resize), ..pintle_resource::STATUS };

/// Keeps the QoS class and the observed generation, which older kubelets omit.
fn prepare_status(new: &mut Value, old: &Value, _: &mut Context) {
    let old = View::<Pod>::new(old).field(Pod::STATUS);
    let mut new = ViewMut::<Pod>::new(new).field(Pod::STATUS);
    if new.view().field(PodStatus::QOS_CLASS).get() == "" {
        take_old(&mut new, old, PodStatus::QOS_CLASS);
    }
    if new.view().field(PodStatus::OBSERVED_GENERATION).get() == 0 {
        take_old(&mut new, old, PodStatus::OBSERVED_GENERATION);
    }
    for mut condition in new.field(PodStatus::CONDITIONS).iter_mut() {
        let kind = condition.view().field(PodCondition::TYPE).get();
        let mut before = old.field(PodStatus::CONDITIONS).iter();
        if condition.view().field(PodCondition::OBSERVED_GENERATION).get() == 0
            && let Some(before) = before.find(|before| before.field(PodCondition::TYPE).get() == kind)
        {
            take_old(&mut condition, before, PodCondition::OBSERVED_GENERATION);
        }
    }
}

fn prepare_ephemeral_containers(new: &mut Value, old: &Value, _: &mut Context) {
    let old = View::<Pod>::new(old);
    let mut new = ViewMut::<Pod>::new(new);
    let asked = new.view().field(Pod::SPEC).field(PodSpec::EPHEMERAL_CONTAINERS).value().clone();
    take_old(&mut new, old, Pod::SPEC);
    *new.by_ref().field(Pod::SPEC).field(PodSpec::EPHEMERAL_CONTAINERS).raw() = asked;
    count(new, old);
}

fn prepare_resize(new: &mut Value, old: &Value, _: &mut Context) {
    let old = View::<Pod>::new(old);
    let mut new = ViewMut::<Pod>::new(new);
    let asked = new.view().field(Pod::SPEC).value().clone();
    let asked = View::<PodSpec>::new(&asked);
    let before = old.field(Pod::SPEC);
    let lists = [PodSpec::CONTAINERS, PodSpec::INIT_CONTAINERS];
    // If containers are added or removed, nothing is dropped: validation reports the change. The same is true of a list
    // in which they are renamed.
    if lists.iter().all(|list| asked.field(*list).iter().len() == before.field(*list).iter().len()) {
        take_old(&mut new, old, Pod::SPEC);
        let mut spec = new.by_ref().field(Pod::SPEC);
        for list in lists {
            if names(asked.field(list)) != names(before.field(list)) {
                *spec.by_ref().field(list).raw() = asked.field(list).value().clone();
                continue;
            }
            for (mut container, asked) in spec.by_ref().field(list).iter_mut().zip(asked.field(list).iter()) {
                take_old(&mut container, asked, Container::RESOURCES);
                take_old(&mut container, asked, Container::RESIZE_POLICY);
            }
        }
        take_old(&mut spec, asked, PodSpec::RESOURCES);
    }
    count(new, old);
}

fn names(containers: View<'_, Vec<Container>>) -> Vec<String> {
    containers.iter().map(|container| container.field(Container::NAME).get()).collect()
}

/// One more generation if the spec changed.
fn count(new: ViewMut<'_, Pod>, old: View<'_, Pod>) {
    if !same(new.view().field(Pod::SPEC).value(), old.field(Pod::SPEC).value()) {
        let old: View<'_, ObjectMeta> = old.field(Pod::METADATA);
        next_generation(new.field(Pod::METADATA), old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::with_context;
    use pintle_schema::value;

    fn prepared(part: &Part, mut new: Value, old: &Value) -> Value {
        with_context(|context| part.prepare.expect("the part prepares")(&mut new, old, context));
        new
    }

    #[test]
    fn ephemeral_containers_alone_are_taken() {
        let old = value!({"metadata": {"generation": 4}, "spec": {"nodeName": "a", "containers": [{"name": "x"}]}});
        let new =
            value!({"metadata": {"generation": 4}, "spec": {"nodeName": "b", "ephemeralContainers": [{"name": "e"}]}});
        let expected = value!({
            "metadata": {"generation": 5},
            "spec": {"nodeName": "a", "containers": [{"name": "x"}], "ephemeralContainers": [{"name": "e"}]}
        });
        assert!(same(&prepared(&EPHEMERAL_CONTAINERS, new, &old), &expected));
        assert!(same(&prepared(&EPHEMERAL_CONTAINERS, old.clone(), &old), &old));
    }

    #[test]
    fn resources_alone_are_taken() {
        let pod = |image: &str, cpu: &str, generation: i64| {
            value!({
                "metadata": {"generation": generation},
                "spec": {"containers": [{"name": "x", "image": image, "resources": {"requests": {"cpu": cpu}}}]}
            })
        };
        let resized = prepared(&RESIZE, pod("b", "2", 1), &pod("a", "1", 1));
        assert!(same(&resized, &pod("a", "2", 2)), "{resized:?}");
        let two = |name: &str, image: &str| {
            value!({"metadata": {"generation": 1}, "spec": {
                "containers": [{"name": name, "image": image}], "initContainers": [{"name": "i", "image": image}]
            }})
        };
        let renamed = prepared(&RESIZE, two("y", "b"), &two("x", "a"));
        assert_eq!(renamed.at(&["spec", "containers"]), two("y", "b").at(&["spec", "containers"]));
        assert_eq!(renamed.at(&["spec", "initContainers"]), two("x", "a").at(&["spec", "initContainers"]));
        let other = value!({"metadata": {"generation": 1}, "spec": {"containers": []}});
        let kept = prepared(&RESIZE, other, &pod("a", "1", 1));
        assert_eq!(kept.at(&["spec", "containers"]), Some(&Value::List(Vec::new())));
    }

    #[test]
    fn what_a_status_leaves_out_is_kept() {
        let old = value!({"status": {"qosClass": "Burstable", "observedGeneration": 3,
            "conditions": [{"type": "Ready", "observedGeneration": 2}]}});
        let new = value!({"status": {"conditions": [{"type": "Ready"}, {"type": "Other"}]}});
        let expected = value!({"status": {"qosClass": "Burstable", "observedGeneration": 3,
            "conditions": [{"type": "Ready", "observedGeneration": 2}, {"type": "Other"}]}});
        assert!(same(&prepared(&STATUS, new, &old), &expected));
    }
}
