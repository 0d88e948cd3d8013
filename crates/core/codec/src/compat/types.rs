//! Go's names of types, for error messages.
//! Contains what schemas do not distinguish: named strings, maps of them and resource lists.
//! Must never affect anything but messages.

use pintle_schema::{Struct, Type};

/// Fields whose strings are of a named type; `{}` is the version of the owner.
const NAMED_STRINGS: &[(&str, &str, &str)] = &[
    ("AdmissionRequest", "uid", "types.UID"),
    ("AdmissionResponse", "uid", "types.UID"),
    ("BoundObjectReference", "uid", "types.UID"),
    ("ConversionRequest", "uid", "types.UID"),
    ("ConversionResponse", "uid", "types.UID"),
    ("ObjectMeta", "uid", "types.UID"),
    ("ObjectReference", "uid", "types.UID"),
    ("OwnerReference", "uid", "types.UID"),
    ("Preconditions", "uid", "types.UID"),
    ("ResourceClaimConsumerReference", "uid", "types.UID"),
    ("StatusDetails", "uid", "types.UID"),
    ("PodCertificateRequestSpec", "nodeUID", "types.UID"),
    ("PodCertificateRequestSpec", "podUID", "types.UID"),
    ("PodCertificateRequestSpec", "serviceAccountUID", "types.UID"),
    ("PodCertificateRequestSpec", "nodeName", "types.NodeName"),
    ("ConfigMapNodeConfigSource", "uid", "types.UID"),
    ("DeviceRequestAllocationResult", "shareID", "types.UID"),
    ("UncountedTerminatedPods", "failed", "types.UID"),
    ("UncountedTerminatedPods", "succeeded", "types.UID"),
    ("DaemonSetCondition", "type", "{}.DaemonSetConditionType"),
    ("StatefulSetCondition", "type", "{}.StatefulSetConditionType"),
    ("FlowSchemaCondition", "type", "{}.FlowSchemaConditionType"),
    ("PriorityLevelConfigurationCondition", "type", "{}.PriorityLevelConfigurationConditionType"),
    ("AttachedVolume", "name", "{}.UniqueVolumeName"),
    ("NodeStatus", "volumesInUse", "{}.UniqueVolumeName"),
    ("Capabilities", "add", "{}.Capability"),
    ("Capabilities", "drop", "{}.Capability"),
    ("ResourceHealth", "resourceID", "{}.ResourceID"),
    ("DeviceConstraint", "distinctAttribute", "{}.FullyQualifiedName"),
    ("DeviceConstraint", "matchAttribute", "{}.FullyQualifiedName"),
    ("NodeAllocatableResourceMapping", "capacityKey", "{}.QualifiedName"),
];

/// Fields whose map keys are of a named type.
const NAMED_KEYS: &[(&str, &str, &str)] = &[
    ("NodeAllocatableResourceClaimStatus", "resources", "v1.ResourceName"),
    ("PersistentVolumeClaimStatus", "allocatedResourceStatuses", "v1.ResourceName"),
    ("Device", "nodeAllocatableResourceMappings", "v1.ResourceName"),
    ("BasicDevice", "nodeAllocatableResourceMappings", "v1.ResourceName"),
    ("CapacityRequirements", "requests", "{}.QualifiedName"),
    ("DeviceRequestAllocationResult", "consumedCapacity", "{}.QualifiedName"),
    ("Device", "attributes", "{}.QualifiedName"),
    ("Device", "capacity", "{}.QualifiedName"),
    ("BasicDevice", "attributes", "{}.QualifiedName"),
    ("BasicDevice", "capacity", "{}.QualifiedName"),
];

/// Fields whose lists or maps are of a named type.
const NAMED_COLLECTIONS: &[(&str, &str, &str)] = &[
    ("JSONSchemaProps", "definitions", "{}.JSONSchemaDefinitions"),
    ("JSONSchemaProps", "dependencies", "{}.JSONSchemaDependencies"),
    ("JSONSchemaProps", "x-kubernetes-validations", "{}.ValidationRules"),
];

/// The name of a type at or below a field; `field` is `None` at the top of a document.
pub(crate) fn name(ty: &Type, field: Option<(&Struct, &str)>) -> String {
    let find = |table: &[(&str, &str, &str)]| {
        let (owner, field) = field?;
        // A field of an inlined struct is listed with that struct.
        let owner = declaring(owner, field);
        let (.., name) = table.iter().find(|(of, named, _)| *of == owner.name.as_str() && *named == field)?;
        Some(name.replace("{}", owner.group_version().1))
    };
    if matches!(ty, Type::List(_) | Type::Map(_))
        && let Some(collection) = find(NAMED_COLLECTIONS)
    {
        return collection;
    }
    let string = find(NAMED_STRINGS);
    let key = find(NAMED_KEYS);
    let resource_lists = key.is_none();
    render(ty, string.as_deref(), key.as_deref(), resource_lists)
}

fn declaring<'a>(owner: &'a Struct, field: &str) -> &'a Struct {
    if owner.fields.iter().any(|own| own.name.as_str() == field) {
        return owner;
    }
    let inlined = owner.fields.iter().filter(|own| own.inline).filter_map(|own| own.ty.as_struct());
    inlined
        .into_iter()
        .find(|inlined| inlined.field(field).is_some())
        .map_or(owner, |inlined| declaring(inlined, field))
}

fn render(ty: &Type, string: Option<&str>, key: Option<&str>, resource_lists: bool) -> String {
    match ty {
        Type::Any => "interface {}".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Int32 => "int32".to_owned(),
        Type::Int64 => "int64".to_owned(),
        Type::Float64 => "float64".to_owned(),
        Type::String => string.unwrap_or("string").to_owned(),
        Type::Enum(named) => {
            let version = named.module.split("::").nth(2).unwrap_or("v1");
            format!("{version}.{}", named.name.as_str())
        }
        Type::Bytes => "[]uint8".to_owned(),
        Type::IntOrString => "intstr.IntOrString".to_owned(),
        Type::Quantity => "resource.Quantity".to_owned(),
        Type::Time => "v1.Time".to_owned(),
        Type::MicroTime => "v1.MicroTime".to_owned(),
        Type::Duration => "v1.Duration".to_owned(),
        Type::RawExtension => "runtime.RawExtension".to_owned(),
        Type::Json => "v1.JSON".to_owned(),
        Type::FieldsV1 => "v1.FieldsV1".to_owned(),
        Type::Struct(schema) => of_struct(schema),
        Type::List(list) => format!("[]{}", render(&list.elem, string, key, resource_lists)),
        Type::Map(map) if resource_lists && matches!(map.elem, Type::Quantity) => "v1.ResourceList".to_owned(),
        Type::Map(map) => {
            format!("map[{}]{}", key.unwrap_or("string"), render(&map.elem, string, key, resource_lists))
        }
    }
}

/// The name of a struct with its version.
pub(crate) fn of_struct(schema: &Struct) -> String {
    format!("{}.{}", schema.group_version().1, schema.name.as_str())
}
