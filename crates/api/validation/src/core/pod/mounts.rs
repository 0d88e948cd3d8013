//! Rules of volume mounts and devices: they name volumes of the pod, and each place once.

use super::{is_true, text};
use pintle_schema::{Value, View};
use pintle_types::core::v1::{Container, PodSpec, SecurityContext, Volume, VolumeDevice, VolumeMount, VolumeSource};
use pintle_validation::{At, Cx, FieldPath};

/// Mounts and devices of all containers.
pub fn fit_volumes(spec: At<'_, PodSpec>, cx: &mut Cx<'_>) {
    // Initialising containers come after the regular ones here.
    let volumes = usable(spec, cx);
    let order = [PodSpec::CONTAINERS.name(), PodSpec::INIT_CONTAINERS.name(), PodSpec::EPHEMERAL_CONTAINERS.name()];
    for field in order {
        let path = spec.path.child(field);
        let items = spec.new.value().get(field).and_then(Value::as_list).unwrap_or(&[]);
        for (index, container) in items.iter().enumerate() {
            let path = path.index(index);
            mounts(View::new(container), &volumes, &path, cx);
            devices(View::new(container), &volumes, &path, cx);
        }
    }
}

/// The volumes in which no error was found; names of others lead nowhere.
fn usable<'a>(spec: At<'a, PodSpec>, cx: &Cx<'_>) -> Vec<View<'a, Volume>> {
    let volumes = spec.new.field(PodSpec::VOLUMES).iter();
    if cx.errors.is_empty() {
        return volumes.collect();
    }
    let path = spec.path.to(PodSpec::VOLUMES).to_string();
    let is_right = |index: &usize| {
        let path = format!("{path}[{index}]");
        !cx.errors.0.iter().any(|error| error.field.starts_with(&path))
    };
    volumes.enumerate().filter(|(index, _)| is_right(index)).map(|(_, volume)| volume).collect()
}

fn mounts(container: View<'_, Container>, volumes: &[View<'_, Volume>], path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    let list = path.to(Container::VOLUME_MOUNTS);
    let mounts = container.field(Container::VOLUME_MOUNTS);
    let devices = container.field(Container::VOLUME_DEVICES);
    for (index, mount) in mounts.iter().enumerate() {
        let path = list.index(index);
        let name = mount.field(VolumeMount::NAME).as_str();
        let place = mount.field(VolumeMount::MOUNT_PATH).as_str();
        if !volumes.iter().any(|volume| volume.field(Volume::NAME).as_str() == name) {
            cx.errors.not_found(path.to(VolumeMount::NAME), name);
        }
        let earlier = mounts.iter().take(index).map(|other| other.field(VolumeMount::MOUNT_PATH).as_str());
        unique_place(place, earlier, &path.to(VolumeMount::MOUNT_PATH), cx);
        if devices.iter().any(|device| device.field(VolumeDevice::NAME).as_str() == name) {
            cx.errors.invalid(path.to(VolumeMount::NAME), name, "must not already exist in volumeDevices");
        }
        if devices.iter().any(|device| device.field(VolumeDevice::DEVICE_PATH).as_str() == place) {
            let detail = "must not already exist as a path in volumeDevices";
            cx.errors.invalid(path.to(VolumeMount::MOUNT_PATH), place, detail);
        }
        propagation(container, mount, &list, cx);
        recursive_read_only(mount, &list, cx);
    }
}

/// A place in a container, which nothing else there has.
fn unique_place<'a>(place: &str, mut earlier: impl Iterator<Item = &'a str>, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    if place.is_empty() {
        cx.errors.required(path, "");
    }
    if earlier.any(|other| other == place) {
        cx.errors.invalid(path, place, "must be unique");
    }
}

fn propagation(container: View<'_, Container>, mount: View<'_, VolumeMount>, list: &FieldPath<'_>, cx: &mut Cx<'_>) {
    let Some(mode) = mount.field(VolumeMount::MOUNT_PROPAGATION).some() else { return };
    let privileged = container.field(Container::SECURITY_CONTEXT).or_zero().field(SecurityContext::PRIVILEGED);
    if text(mode) == "Bidirectional" && !is_true(privileged) {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        cx.errors.forbidden(list.to(VolumeMount::MOUNT_PROPAGATION), detail);
    }
}

fn recursive_read_only(mount: View<'_, VolumeMount>, list: &FieldPath<'_>, cx: &mut Cx<'_>) {
    let Some(mode) = mount.field(VolumeMount::RECURSIVE_READ_ONLY).some() else { return };
    let path = list.to(VolumeMount::RECURSIVE_READ_ONLY);
    match text(mode) {
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if !mount.field(VolumeMount::READ_ONLY).get() {
                cx.errors.forbidden(path, "may only be specified when readOnly is true");
            }
            let propagation = mount.field(VolumeMount::MOUNT_PROPAGATION);
            if propagation.is_set() && text(propagation) != "None" {
                cx.errors.forbidden(path, "may only be specified when mountPropagation is None or not specified");
            }
        }
        other => cx.errors.not_supported(path, other, &["Disabled", "Enabled", "IfPossible"]),
    }
}

fn devices(container: View<'_, Container>, volumes: &[View<'_, Volume>], path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    let list = path.to(Container::VOLUME_DEVICES);
    let mounts = container.field(Container::VOLUME_MOUNTS);
    let devices = container.field(Container::VOLUME_DEVICES);
    for (index, device) in devices.iter().enumerate() {
        let path = list.index(index);
        let name = device.field(VolumeDevice::NAME).as_str();
        let place = device.field(VolumeDevice::DEVICE_PATH).as_str();
        let name_path = path.to(VolumeDevice::NAME);
        let place_path = path.to(VolumeDevice::DEVICE_PATH);
        match volumes.iter().find(|volume| volume.field(Volume::NAME).as_str() == name) {
            Some(volume) if is_claim(*volume) => {}
            Some(_) => {
                let detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                cx.errors.invalid(name_path, name, detail);
            }
            None => cx.errors.not_found(name_path, name),
        }
        let earlier = devices.iter().take(index).map(|other| other.field(VolumeDevice::DEVICE_PATH).as_str());
        unique_place(place, earlier, &place_path, cx);
        if mounts.iter().any(|mount| mount.field(VolumeMount::NAME).as_str() == name) {
            cx.errors.invalid(name_path, name, "must not already exist in volumeMounts");
        }
        if mounts.iter().any(|mount| mount.field(VolumeMount::MOUNT_PATH).as_str() == place) {
            cx.errors.invalid(place_path, place, "must not already exist as a path in volumeMounts");
        }
    }
}

fn is_claim(volume: View<'_, Volume>) -> bool {
    let source = volume.field(Volume::VOLUME_SOURCE);
    source.field(VolumeSource::PERSISTENT_VOLUME_CLAIM).is_set() || source.field(VolumeSource::EPHEMERAL).is_set()
}
