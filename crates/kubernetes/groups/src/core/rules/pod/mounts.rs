//! Rules of volume mounts and devices: their volumes exist, and their paths are unique.

use super::{is_true, text};
use crate::rules::{Repeats, Texts, has_format, items, text_in};
use pintle_schema::{Value, View};
use pintle_types::core::v1::{Container, PodSpec, SecurityContext, Volume, VolumeDevice, VolumeMount, VolumeSource};
use pintle_validation::{At, FieldPath, ValidationContext};
use std::collections::{HashMap, HashSet};

/// Volumes have distinct names; of those in which something is wrong the names are not taken.
pub fn distinct_volumes(volumes: At<'_, Vec<Volume>>, cx: &mut ValidationContext<'_>) {
    let names = items(volumes.new);
    let mut repeats = Repeats::new(names.len(), |at| text_in(names, at, Volume::NAME));
    let any_repeated = (0..names.len()).fold(false, |any, at| repeats.is_repeated(at) | any);
    if !any_repeated {
        return;
    }
    let wrong = cx.items_with_errors(volumes.path.parent(), PodSpec::VOLUMES);
    let mut taken = HashSet::new();
    for index in 0..names.len() {
        let name = text_in(names, index, Volume::NAME);
        if taken.contains(name) {
            cx.errors.duplicate(volumes.path.index(index).to(Volume::NAME), name);
        } else if !wrong.contains(&index) {
            taken.insert(name);
        }
    }
}

/// Mounts and devices of all containers.
pub fn fit_volumes(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
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
fn usable<'a>(spec: At<'a, PodSpec>, cx: &ValidationContext<'_>) -> Vec<View<'a, Volume>> {
    let volumes = spec.new.field(PodSpec::VOLUMES).iter();
    if cx.errors.is_empty() {
        return volumes.collect();
    }
    let wrong = cx.items_with_errors(spec.path, PodSpec::VOLUMES);
    volumes.enumerate().filter(|(index, _)| !wrong.contains(index)).map(|(_, volume)| volume).collect()
}

fn mounts(
    container: View<'_, Container>,
    volumes: &[View<'_, Volume>],
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let list = path.to(Container::VOLUME_MOUNTS);
    let mounts = container.field(Container::VOLUME_MOUNTS);
    let devices = container.field(Container::VOLUME_DEVICES);
    let (mount_items, device_items) = (items(mounts), items(devices));
    let volume_names =
        Texts::new(volumes.len(), |at| volumes.get(at).map_or("", |volume| volume.field(Volume::NAME).as_str()));
    let device_names = Texts::new(device_items.len(), |at| text_in(device_items, at, VolumeDevice::NAME));
    let device_places = Texts::new(device_items.len(), |at| text_in(device_items, at, VolumeDevice::DEVICE_PATH));
    let mut repeats = Repeats::new(mount_items.len(), |at| text_in(mount_items, at, VolumeMount::MOUNT_PATH));
    for (index, mount) in mounts.iter().enumerate() {
        let path = list.index(index);
        let name = mount.field(VolumeMount::NAME).as_str();
        let place = mount.field(VolumeMount::MOUNT_PATH).as_str();
        if name.is_empty() {
            cx.errors.required(path.to(VolumeMount::NAME), "");
        }
        if !volume_names.contains(name) {
            cx.errors.not_found(path.to(VolumeMount::NAME), name);
        }
        unique_place(place, repeats.is_repeated(index), &path.to(VolumeMount::MOUNT_PATH), cx);
        if device_names.contains(name) {
            cx.errors.invalid(path.to(VolumeMount::NAME), name, "must not already exist in volumeDevices");
        }
        if device_places.contains(place) {
            let detail = "must not already exist as a path in volumeDevices";
            cx.errors.invalid(path.to(VolumeMount::MOUNT_PATH), place, detail);
        }
        sub_paths(mount, &path, &list, cx);
        propagation(container, mount, &list, cx);
        recursive_read_only(mount, &list, cx);
    }
}

/// A place in a container, which nothing earlier there has.
fn unique_place(place: &str, is_repeated: bool, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if place.is_empty() {
        cx.errors.required(path, "");
    }
    if is_repeated {
        cx.errors.invalid(path, place, "must be unique");
    }
}

/// A mount shows a relative path of its volume, fixed or expanded. Most of kube-apiserver's paths have no index.
fn sub_paths(mount: View<'_, VolumeMount>, path: &FieldPath<'_>, list: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let (fixed, expanded) = (mount.field(VolumeMount::SUB_PATH), mount.field(VolumeMount::SUB_PATH_EXPR));
    if fixed.is_set() {
        has_format("relative-path", fixed.value(), &list.to(VolumeMount::SUB_PATH), cx);
    }
    if expanded.is_set() {
        if fixed.is_set() {
            let path = path.to(VolumeMount::SUB_PATH_EXPR);
            cx.errors.invalid(path, expanded.as_str(), "subPathExpr and subPath are mutually exclusive");
        }
        has_format("relative-path", expanded.value(), &list.to(VolumeMount::SUB_PATH_EXPR), cx);
    }
}

fn propagation(
    container: View<'_, Container>,
    mount: View<'_, VolumeMount>,
    list: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    const PROPAGATIONS: &[&str] = &["Bidirectional", "HostToContainer", "None"];
    let Some(mode) = mount.field(VolumeMount::MOUNT_PROPAGATION).some() else { return };
    if !PROPAGATIONS.contains(&text(mode)) {
        cx.errors.unknown_name(list.to(VolumeMount::MOUNT_PROPAGATION), text(mode), PROPAGATIONS);
    }
    let privileged = container.field(Container::SECURITY_CONTEXT).or_zero().field(SecurityContext::PRIVILEGED);
    if text(mode) == "Bidirectional" && !is_true(privileged) {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        cx.errors.forbidden(list.to(VolumeMount::MOUNT_PROPAGATION), detail);
    }
}

fn recursive_read_only(mount: View<'_, VolumeMount>, list: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
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
        other => cx.errors.unknown_name(path, other, &["Disabled", "Enabled", "IfPossible"]),
    }
}

fn devices(
    container: View<'_, Container>,
    volumes: &[View<'_, Volume>],
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let list = path.to(Container::VOLUME_DEVICES);
    let mounts = container.field(Container::VOLUME_MOUNTS);
    let devices = container.field(Container::VOLUME_DEVICES);
    if items(devices).is_empty() {
        return;
    }
    let mount_items = items(mounts);
    let mut first_volumes = HashMap::new();
    for volume in volumes {
        first_volumes.entry(volume.field(Volume::NAME).as_str()).or_insert(*volume);
    }
    let mount_names = Texts::new(mount_items.len(), |at| text_in(mount_items, at, VolumeMount::NAME));
    let mount_places = Texts::new(mount_items.len(), |at| text_in(mount_items, at, VolumeMount::MOUNT_PATH));
    let (mut seen_names, mut seen_places) = (HashSet::new(), HashSet::new());
    for (index, device) in devices.iter().enumerate() {
        let path = list.index(index);
        let name = device.field(VolumeDevice::NAME).as_str();
        let place = device.field(VolumeDevice::DEVICE_PATH).as_str();
        let name_path = path.to(VolumeDevice::NAME);
        let place_path = path.to(VolumeDevice::DEVICE_PATH);
        if name.is_empty() {
            cx.errors.required(name_path, "");
        } else if !seen_names.insert(name) {
            cx.errors.invalid(name_path, name, "must be unique");
        }
        match first_volumes.get(name) {
            Some(volume) if is_claim(*volume) => {}
            Some(_) => {
                let detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                cx.errors.invalid(name_path, name, detail);
            }
            None => cx.errors.not_found(name_path, name),
        }
        unique_place(place, seen_places.contains(place), &place_path, cx);
        if place.split('/').any(|part| part == "..") {
            cx.errors.invalid(place_path, place, "can not contain backsteps ('..')");
        } else {
            seen_places.insert(place);
        }
        if mount_names.contains(name) {
            cx.errors.invalid(name_path, name, "must not already exist in volumeMounts");
        }
        if mount_places.contains(place) {
            cx.errors.invalid(place_path, place, "must not already exist as a path in volumeMounts");
        }
    }
}

fn is_claim(volume: View<'_, Volume>) -> bool {
    let source = volume.field(Volume::VOLUME_SOURCE);
    source.field(VolumeSource::PERSISTENT_VOLUME_CLAIM).is_set() || source.field(VolumeSource::EPHEMERAL).is_set()
}
