//! AlwaysPullImages: a pod cannot use an image that exists on the node but that it may not pull. Guarantees the pull policy
//! `Always` for every container and every image volume. Must never change a pod whose images are unchanged.

use crate::plugin::{Plugin, Requests};
use crate::request::Request;
use pintle_registry::status::Result;
use pintle_schema::{Value, View, ViewMut};
use pintle_types::core::v1::{Container, ImageVolumeSource, Pod, PodSpec, PullPolicy, Volume, VolumeSource};
use std::collections::BTreeSet;

pub const PLUGIN: Plugin = Plugin::on(&[Requests::write("", "pods")]).mutating(mutate);

fn mutate(request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    if request.old().is_some_and(|old| images(object).is_subset(&images(old))) {
        return Ok(());
    }
    let mut spec = ViewMut::<Pod>::new(object).field(Pod::SPEC);
    for list in LISTS {
        if let Some(Value::List(containers)) = spec.by_ref().raw().get_mut(list) {
            for container in containers {
                ViewMut::<Container>::new(container).field(Container::IMAGE_PULL_POLICY).set(PullPolicy::ALWAYS);
            }
        }
    }
    for volume in spec.field(PodSpec::VOLUMES).iter_mut() {
        if let Some(image) = volume.field(Volume::VOLUME_SOURCE).field(VolumeSource::IMAGE).some() {
            image.field(ImageVolumeSource::PULL_POLICY).set(PullPolicy::ALWAYS);
        }
    }
    Ok(())
}

/// Containers of every sort; ephemeral ones have the fields of the others.
const LISTS: [&str; 3] =
    [PodSpec::INIT_CONTAINERS.name(), PodSpec::CONTAINERS.name(), PodSpec::EPHEMERAL_CONTAINERS.name()];

fn images(pod: &Value) -> BTreeSet<&str> {
    let spec = View::<Pod>::new(pod).field(Pod::SPEC);
    let containers = LISTS.iter().filter_map(|list| spec.value().get(list)?.as_list()).flatten();
    let of_containers = containers.map(|container| View::<Container>::new(container).field(Container::IMAGE).as_str());
    let of_volumes = spec.field(PodSpec::VOLUMES).iter().filter_map(|volume| {
        let image = volume.field(Volume::VOLUME_SOURCE).field(VolumeSource::IMAGE).some()?;
        Some(image.field(ImageVolumeSource::REFERENCE).as_str())
    });
    of_containers.chain(of_volumes).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::{Value, value};

    fn pod(image: &str, policy: &str) -> Value {
        let container = || value!([{"name": "c", "image": (image.to_owned()), "imagePullPolicy": (policy.to_owned())}]);
        value!({"metadata": {"name": "p"}, "spec": {
            "containers": (container()), "initContainers": (container()), "ephemeralContainers": (container()),
            "volumes": [{"name": "v", "image": {"reference": (image.to_owned()), "pullPolicy": (policy.to_owned())}}]}})
    }

    fn policies(pod: &Value) -> Vec<&str> {
        let lists = ["containers", "initContainers", "ephemeralContainers"];
        let lists = lists.iter().filter_map(|list| pod.at(&["spec", list])?.as_list()?.first());
        let image = pod.at(&["spec", "volumes"]).and_then(Value::as_list).and_then(|list| list.first());
        let containers = lists.map(|container| container.str_at(&["imagePullPolicy"]));
        containers.chain(image.map(|volume| volume.str_at(&["image", "pullPolicy"]))).collect()
    }

    #[tokio::test]
    async fn new_images_are_always_pulled() {
        let cluster = Cluster::with_plugins(&["AlwaysPullImages"]).with_account("default").await;
        let created = cluster.create("", "pods", pod("a", "Never")).await.expect("admitted");
        assert_eq!(policies(&created), ["Always"; 4]);
        let changed = |old: &str, new: &str| {
            let changed = cluster.update(("", "pods", ""), &pod(old, "Never"), pod(new, "Never"), "alice");
            policies(&changed.expect("admitted")).join(" ")
        };
        assert_eq!(changed("a", "a"), "Never Never Never Never");
        assert_eq!(changed("a", "b"), "Always Always Always Always");
    }
}
