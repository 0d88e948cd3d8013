//! Rules of environment variables and of their sources.

use super::{containers, text};
use pintle_gates as gates;
use pintle_schema::{Quantity, Value, View, names};
use pintle_types::core::v1::{
    Container, EnvFromSource, EnvVar, EnvVarSource, FileKeySelector, ObjectFieldSelector, PodSpec,
    ResourceFieldSelector, Volume, VolumeSource,
};
use pintle_validation::{At, FieldPath, ValidationContext};

/// Fields of a pod that a variable can refer to.
const POD_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Fields of a pod that its containers can get as variables.
const TOLD_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

const RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

const UNITS: &[&str] = &["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// A variable has a value, or one source that it is taken from.
pub fn one_value(variable: At<'_, EnvVar>, cx: &mut ValidationContext<'_>) {
    let Some(source) = variable.new.field(EnvVar::VALUE_FROM).some() else { return };
    let members = [
        EnvVarSource::FIELD_REF.name(),
        EnvVarSource::RESOURCE_FIELD_REF.name(),
        EnvVarSource::CONFIG_MAP_KEY_REF.name(),
        EnvVarSource::SECRET_KEY_REF.name(),
        EnvVarSource::FILE_KEY_REF.name(),
    ];
    let has_value = !variable.new.field(EnvVar::VALUE).as_str().is_empty();
    let detail = match (count_set(source.value(), &members), has_value) {
        (0, _) if cx.enabled(&gates::ENV_FILES) => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        (0, _) => "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
        (_, true) => "may not be specified when `value` is not empty",
        (1, false) => return,
        (_, false) => "may not have more than one field specified at a time",
    };
    cx.errors.invalid(variable.path.to(EnvVar::VALUE_FROM), "", detail);
}

/// Variables are taken from one ConfigMap or Secret. kube-apiserver's path has no index.
pub fn one_source(source: At<'_, EnvFromSource>, cx: &mut ValidationContext<'_>) {
    let members = [EnvFromSource::CONFIG_MAP_REF.name(), EnvFromSource::SECRET_REF.name()];
    let detail = match count_set(source.new.value(), &members) {
        0 => "must specify one of: `configMapRef` or `secretRef`",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    cx.errors.invalid(source.path.parent(), "", detail);
}

/// The number of members of a struct that are set.
fn count_set(owner: &Value, members: &[&str]) -> usize {
    members.iter().filter(|member| owner.get(member).is_some_and(|value| !value.is_null())).count()
}

/// Validates the sources that refer to fields and resources of the pod.
pub fn value_from(source: At<'_, Option<EnvVarSource>>, cx: &mut ValidationContext<'_>) {
    let Some(At { new: source, path, .. }) = source.some() else { return };
    if let Some(field) = source.field(EnvVarSource::FIELD_REF).some() {
        object_field(field, POD_FIELDS, &path.to(EnvVarSource::FIELD_REF), cx);
    }
    if let Some(field) = source.field(EnvVarSource::RESOURCE_FIELD_REF).some() {
        resource_field(field, &path.to(EnvVarSource::RESOURCE_FIELD_REF), cx);
    }
}

/// A reference to a field of the pod.
pub fn object_field(
    field: View<'_, ObjectFieldSelector>,
    supported: &[&str],
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let version = field.field(ObjectFieldSelector::API_VERSION).as_str();
    let label = field.field(ObjectFieldSelector::FIELD_PATH).as_str();
    let label_path = path.to(ObjectFieldSelector::FIELD_PATH);
    if version.is_empty() {
        return cx.errors.required(path.to(ObjectFieldSelector::API_VERSION), "");
    }
    if label.is_empty() {
        return cx.errors.required(label_path, "");
    }
    let subscripted = label.strip_suffix("']").and_then(|label| label.split_once("['"));
    let subscripted = subscripted.filter(|(field, _)| !field.is_empty());
    let wrong = match subscripted {
        _ if version != "v1" => format!("unsupported pod version: {version}"),
        Some(("metadata.annotations" | "metadata.labels", _)) => String::new(),
        Some((field, _)) => format!("field label does not support subscript: {field}"),
        None if label == "spec.host" || TOLD_FIELDS.contains(&label) => String::new(),
        None => format!("field label not supported: {label}"),
    };
    if !wrong.is_empty() {
        return cx.errors.invalid(label_path, label, format!("error converting fieldPath: {wrong}"));
    }
    match subscripted {
        Some(("metadata.annotations", key)) => {
            let key = key.to_lowercase();
            cx.errors.invalid_each(path, &Value::from(key.as_str()), names::label_key(&key));
        }
        Some((_, key)) => cx.errors.invalid_each(path, &Value::from(key), names::label_key(key)),
        None => {
            let label = if label == "spec.host" { "spec.nodeName" } else { label };
            if !supported.contains(&label) {
                cx.errors.not_supported(label_path, label, supported);
            }
        }
    }
}

/// A reference to a container's resource.
pub fn resource_field(field: View<'_, ResourceFieldSelector>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let resource = field.field(ResourceFieldSelector::RESOURCE).as_str();
    if resource.is_empty() {
        cx.errors.required(path.to(ResourceFieldSelector::RESOURCE), "");
    } else if !RESOURCES.contains(&resource) && !is_huge_pages(resource) {
        cx.errors.not_supported(path.to(ResourceFieldSelector::RESOURCE), resource, RESOURCES);
    }
    divisor(field, path, cx);
}

fn is_huge_pages(resource: &str) -> bool {
    resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-")
}

/// The divisors of each resource.
pub fn divisor(field: View<'_, ResourceFieldSelector>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let resource = field.field(ResourceFieldSelector::RESOURCE).as_str();
    let divisor: Quantity = field.field(ResourceFieldSelector::DIVISOR).get();
    if divisor.is_zero() {
        return;
    }
    let (units, kind): (&[&str], _) = match resource.split_once('.').map_or("", |(_, name)| name) {
        "cpu" => (&["1m", "1"], "cpu"),
        "memory" => (UNITS, "memory"),
        "ephemeral-storage" => (UNITS, "local ephemeral storage"),
        _ if is_huge_pages(resource) => (UNITS, "hugepages"),
        _ => return,
    };
    if !units.contains(&divisor.as_str()) {
        let detail = match kind {
            "cpu" => "only divisor's values 1m and 1 are supported with the cpu resource".to_owned(),
            kind => format!("only divisor's values {} are supported with the {kind} resource", units.join(", ")),
        };
        cx.errors.invalid(path.to(ResourceFieldSelector::DIVISOR), resource, detail);
    }
}

/// Files with variables are on `emptyDir` volumes of the pod.
pub fn file_key_volumes(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    containers::each(spec, |container, path| file_keys(spec.new, container, path, cx));
}

/// The files that one container takes variables from.
fn file_keys(
    spec: View<'_, PodSpec>,
    container: View<'_, Container>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    for (index, var) in container.field(Container::ENV).iter().enumerate() {
        let source = var.field(EnvVar::VALUE_FROM).or_zero().field(EnvVarSource::FILE_KEY_REF);
        let Some(source) = source.some() else { continue };
        let name = text(source.field(FileKeySelector::VOLUME_NAME));
        let path = path.to(Container::ENV);
        let path = path.index(index);
        let path = path.to(EnvVar::VALUE_FROM);
        let path = path.to(EnvVarSource::FILE_KEY_REF);
        let path = path.to(FileKeySelector::VOLUME_NAME);
        let mut volumes = spec.field(PodSpec::VOLUMES).iter();
        match volumes.find(|volume| volume.field(Volume::NAME).as_str() == name) {
            None => cx.errors.not_found(path, name),
            Some(volume) if !volume.field(Volume::VOLUME_SOURCE).field(VolumeSource::EMPTY_DIR).is_set() => {
                cx.errors.invalid(path, name, "referenced volume must be of type emptyDir");
            }
            Some(_) => {}
        }
    }
}
