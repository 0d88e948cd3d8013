//! What has to hold for every type of the API, checked by walking the schemas.
//! A type that breaks one of the rules here would be read or written wrongly somewhere on the wire.
//! The rows name kinds only; no shape is stated a second time.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Enum, Field, FieldDefault, Form, List, ListKind, Literal, Struct, Type};

type Schema = fn() -> &'static Struct;

macro_rules! schemas {
    ($list:ident: $($group:ident::$version:ident: $($kind:ident),*;)*) => {
        const $list: &[(&str, &str, Schema)] = &[$($((
            concat!(stringify!($group), "::", stringify!($version)),
            stringify!($kind),
            <pintle_types::$group::$version::$kind as ApiType>::schema,
        )),*),*];
    };
}

// What stands alone as a document.
schemas! { KINDS:
    admission::v1: AdmissionReview;
    admission::v1beta1: AdmissionReview;
    admissionregistration::v1:
        ValidatingAdmissionPolicy, ValidatingAdmissionPolicyList, ValidatingAdmissionPolicyBinding,
        ValidatingAdmissionPolicyBindingList, ValidatingWebhookConfiguration, ValidatingWebhookConfigurationList,
        MutatingWebhookConfiguration, MutatingWebhookConfigurationList, MutatingAdmissionPolicy,
        MutatingAdmissionPolicyList, MutatingAdmissionPolicyBinding, MutatingAdmissionPolicyBindingList;
    admissionregistration::v1alpha1:
        ValidatingAdmissionPolicy, ValidatingAdmissionPolicyList, ValidatingAdmissionPolicyBinding,
        ValidatingAdmissionPolicyBindingList, MutatingAdmissionPolicy, MutatingAdmissionPolicyList,
        MutatingAdmissionPolicyBinding, MutatingAdmissionPolicyBindingList;
    admissionregistration::v1beta1:
        ValidatingAdmissionPolicy, ValidatingAdmissionPolicyList, ValidatingAdmissionPolicyBinding,
        ValidatingAdmissionPolicyBindingList, ValidatingWebhookConfiguration, ValidatingWebhookConfigurationList,
        MutatingWebhookConfiguration, MutatingWebhookConfigurationList, MutatingAdmissionPolicy,
        MutatingAdmissionPolicyList, MutatingAdmissionPolicyBinding, MutatingAdmissionPolicyBindingList;
    apidiscovery::v2: APIGroupDiscoveryList, APIGroupDiscovery;
    apidiscovery::v2beta1: APIGroupDiscoveryList, APIGroupDiscovery;
    apiextensions::v1: CustomResourceDefinition, CustomResourceDefinitionList, ConversionReview;
    apiextensions::v1beta1: CustomResourceDefinition, CustomResourceDefinitionList, ConversionReview;
    apiregistration::v1: APIServiceList, APIService;
    apiregistration::v1beta1: APIServiceList, APIService;
    apiserverinternal::v1alpha1: StorageVersion, StorageVersionList;
    apps::v1:
        StatefulSet, StatefulSetList, Deployment, DeploymentList, DaemonSet, DaemonSetList, ReplicaSet,
        ReplicaSetList, ControllerRevision, ControllerRevisionList;
    apps::v1beta1:
        Scale, StatefulSet, StatefulSetList, Deployment, DeploymentRollback, DeploymentList, ControllerRevision,
        ControllerRevisionList;
    apps::v1beta2:
        Scale, StatefulSet, StatefulSetList, Deployment, DeploymentList, DaemonSet, DaemonSetList, ReplicaSet,
        ReplicaSetList, ControllerRevision, ControllerRevisionList;
    audit::v1: Event, EventList, Policy, PolicyList;
    authentication::v1: TokenReview, TokenRequest, SelfSubjectReview;
    authentication::v1alpha1: SelfSubjectReview;
    authentication::v1beta1: TokenReview, SelfSubjectReview;
    authorization::v1:
        SubjectAccessReview, SelfSubjectAccessReview, LocalSubjectAccessReview, SelfSubjectRulesReview;
    authorization::v1beta1:
        SubjectAccessReview, SelfSubjectAccessReview, LocalSubjectAccessReview, SelfSubjectRulesReview;
    autoscaling::v1: HorizontalPodAutoscaler, HorizontalPodAutoscalerList, Scale;
    autoscaling::v2: HorizontalPodAutoscaler, HorizontalPodAutoscalerList;
    batch::v1: Job, JobList, CronJob, CronJobList;
    batch::v1beta1: CronJob, CronJobList;
    certificates::v1: CertificateSigningRequest, CertificateSigningRequestList;
    certificates::v1alpha1: ClusterTrustBundle, ClusterTrustBundleList;
    certificates::v1beta1:
        CertificateSigningRequest, CertificateSigningRequestList, ClusterTrustBundle, ClusterTrustBundleList,
        PodCertificateRequest, PodCertificateRequestList;
    config_abac::v0: Policy;
    config_abac::v1beta1: Policy;
    config_zpages::v1beta1: Flagz, Statusz;
    config_apiserver::v1:
        AdmissionConfiguration, AuthenticationConfiguration, AuthorizationConfiguration, TracingConfiguration,
        EncryptionConfiguration;
    config_apiserver::v1alpha1:
        AdmissionConfiguration, EgressSelectorConfiguration, TracingConfiguration, AuthenticationConfiguration,
        AuthorizationConfiguration;
    config_apiserver::v1beta1:
        EgressSelectorConfiguration, TracingConfiguration, AuthenticationConfiguration, AuthorizationConfiguration;
    config_eventratelimit::v1alpha1: Configuration;
    config_podsecurity::v1: PodSecurityConfiguration;
    config_podsecurity::v1alpha1: PodSecurityConfiguration;
    config_podsecurity::v1beta1: PodSecurityConfiguration;
    config_podtolerationrestriction::v1alpha1: Configuration;
    config_policyconfig::v1: ValidatingAdmissionPolicyConfiguration, MutatingAdmissionPolicyConfiguration;
    config_resourcequota::v1: Configuration;
    config_resourcequota::v1alpha1: Configuration;
    config_resourcequota::v1beta1: Configuration;
    config_webhookadmission::v1: WebhookAdmission;
    coordination::v1: Lease, LeaseList;
    coordination::v1alpha2: LeaseCandidate, LeaseCandidateList;
    coordination::v1beta1: Lease, LeaseList, LeaseCandidate, LeaseCandidateList;
    core::v1:
        PersistentVolume, PersistentVolumeList, PersistentVolumeClaim, PersistentVolumeClaimList, PodStatusResult,
        Pod, PodList, PodTemplate, PodTemplateList, ReplicationController, ReplicationControllerList, Service,
        ServiceList, ServiceAccount, ServiceAccountList, Endpoints, EndpointsList, Node, NodeList, Namespace,
        NamespaceList, Binding, PodLogOptions, PodAttachOptions, PodExecOptions, PodPortForwardOptions,
        PodProxyOptions, NodeProxyOptions, ServiceProxyOptions, SerializedReference, Event, EventList, LimitRange,
        LimitRangeList, ResourceQuota, ResourceQuotaList, Secret, SecretList, ConfigMap, ConfigMapList,
        ComponentStatus, ComponentStatusList, RangeAllocation;
    discovery::v1: EndpointSlice, EndpointSliceList;
    discovery::v1beta1: EndpointSlice, EndpointSliceList;
    events::v1: Event, EventList;
    events::v1beta1: Event, EventList;
    extensions::v1beta1:
        Scale, Deployment, DeploymentRollback, DeploymentList, DaemonSet, DaemonSetList, Ingress, IngressList,
        ReplicaSet, ReplicaSetList, NetworkPolicy, NetworkPolicyList;
    flowcontrol::v1: FlowSchema, FlowSchemaList, PriorityLevelConfiguration, PriorityLevelConfigurationList;
    flowcontrol::v1beta1: FlowSchema, FlowSchemaList, PriorityLevelConfiguration, PriorityLevelConfigurationList;
    flowcontrol::v1beta2: FlowSchema, FlowSchemaList, PriorityLevelConfiguration, PriorityLevelConfigurationList;
    flowcontrol::v1beta3: FlowSchema, FlowSchemaList, PriorityLevelConfiguration, PriorityLevelConfigurationList;
    imagepolicy::v1alpha1: ImageReview;
    meta::v1:
        ListOptions, GetOptions, DeleteOptions, CreateOptions, PatchOptions, ApplyOptions, UpdateOptions, Status,
        List, APIVersions, APIGroupList, APIGroup, APIResourceList, Table, TableOptions, PartialObjectMetadata,
        PartialObjectMetadataList;
    meta::v1beta1: PartialObjectMetadataList;
    networking::v1:
        NetworkPolicy, NetworkPolicyList, Ingress, IngressList, IngressClass, IngressClassList, IPAddress,
        IPAddressList, ServiceCIDR, ServiceCIDRList;
    networking::v1beta1:
        Ingress, IngressList, IngressClass, IngressClassList, IPAddress, IPAddressList, ServiceCIDR, ServiceCIDRList;
    node::v1: RuntimeClass, RuntimeClassList;
    node::v1alpha1: RuntimeClass, RuntimeClassList;
    node::v1beta1: RuntimeClass, RuntimeClassList;
    policy::v1: PodDisruptionBudget, PodDisruptionBudgetList, Eviction;
    policy::v1beta1: PodDisruptionBudget, PodDisruptionBudgetList, Eviction;
    rbac::v1:
        Role, RoleBinding, RoleBindingList, RoleList, ClusterRole, ClusterRoleBinding, ClusterRoleBindingList,
        ClusterRoleList;
    rbac::v1alpha1:
        Role, RoleBinding, RoleBindingList, RoleList, ClusterRole, ClusterRoleBinding, ClusterRoleBindingList,
        ClusterRoleList;
    rbac::v1beta1:
        Role, RoleBinding, RoleBindingList, RoleList, ClusterRole, ClusterRoleBinding, ClusterRoleBindingList,
        ClusterRoleList;
    resource::v1:
        ResourceSlice, ResourceSliceList, ResourceClaim, ResourceClaimList, DeviceClass, DeviceClassList,
        ResourceClaimTemplate, ResourceClaimTemplateList;
    resource::v1alpha3:
        DeviceTaintRule, DeviceTaintRuleList, ResourcePoolStatusRequest, ResourcePoolStatusRequestList;
    resource::v1beta1:
        ResourceSlice, ResourceSliceList, ResourceClaim, ResourceClaimList, DeviceClass, DeviceClassList,
        ResourceClaimTemplate, ResourceClaimTemplateList;
    resource::v1beta2:
        ResourceSlice, DeviceTaintRule, DeviceTaintRuleList, ResourceSliceList, ResourceClaim, ResourceClaimList,
        DeviceClass, DeviceClassList, ResourceClaimTemplate, ResourceClaimTemplateList;
    scheduling::v1: PriorityClass, PriorityClassList;
    scheduling::v1alpha2: Workload, WorkloadList, PodGroup, PodGroupList;
    scheduling::v1beta1: PriorityClass, PriorityClassList;
    storage::v1:
        StorageClass, StorageClassList, VolumeAttachment, VolumeAttachmentList, CSIDriver, CSIDriverList, CSINode,
        CSINodeList, CSIStorageCapacity, CSIStorageCapacityList, VolumeAttributesClass, VolumeAttributesClassList;
    storage::v1alpha1:
        VolumeAttachment, VolumeAttachmentList, CSIStorageCapacity, CSIStorageCapacityList, VolumeAttributesClass,
        VolumeAttributesClassList;
    storage::v1beta1:
        StorageClass, StorageClassList, VolumeAttachment, VolumeAttachmentList, CSIDriver, CSIDriverList, CSINode,
        CSINodeList, CSIStorageCapacity, CSIStorageCapacityList, VolumeAttributesClass, VolumeAttributesClassList;
    storagemigration::v1beta1: StorageVersionMigration, StorageVersionMigrationList;
}

// What no kind contains but clients and servers exchange or keep all the same.
schemas! { OTHERS:
    autoscaling::v1: MetricSpec, MetricStatus, HorizontalPodAutoscalerCondition;
    config_kubeconfig::v1: Config;
    core::v1: AvoidPods, Preconditions;
    meta::v1: GroupKind, GroupVersion, Patch, RootPaths, WatchEvent;
    resource::v1alpha3: DeviceSelector;
}

/// Every struct there is, by module and name.
fn structs() -> BTreeMap<(String, String), &'static Struct> {
    let mut found = BTreeMap::new();
    let mut waiting: Vec<&'static Struct> = KINDS.iter().chain(OTHERS).map(|(_, _, schema)| schema()).collect();
    while let Some(schema) = waiting.pop() {
        let key = (schema.module.as_str().to_owned(), schema.name.as_str().to_owned());
        if found.insert(key, schema).is_none() {
            waiting.extend(schema.fields.iter().filter_map(|field| element(&field.ty)));
        }
    }
    found
}

/// The struct in a type, behind lists and maps.
fn element(ty: &'static Type) -> Option<&'static Struct> {
    match ty {
        Type::Struct(schema) => Some(schema),
        Type::List(list) => element(&list.elem),
        Type::Map(map) => element(&map.elem),
        _ => None,
    }
}

/// Runs the check on every field of every struct and reports all that fail.
fn each_field(check: impl Fn(&'static Struct, &'static Field) -> Option<String>) {
    let mut faults = Vec::new();
    for ((module, name), schema) in structs() {
        for field in schema.fields.iter() {
            faults.extend(check(schema, field).map(|fault| format!("{module}::{name}.{}: {fault}", &*field.name)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn list_of(field: &'static Field) -> Option<&'static List> {
    match &field.ty {
        Type::List(list) => Some(list),
        _ => None,
    }
}

fn enum_of(ty: &'static Type) -> Option<&'static Enum> {
    match ty {
        Type::Enum(values) => Some(values),
        Type::List(list) => enum_of(&list.elem),
        Type::Map(map) => enum_of(&map.elem),
        _ => None,
    }
}

#[test]
fn the_module_names_group_and_version() {
    for (path, kind, schema) in KINDS.iter().chain(OTHERS) {
        let (group, version) = schema().group_version();
        assert_eq!(format!("{group}::{version}"), *path, "{kind}");
        assert_eq!(&*schema().name, *kind);
    }
}

#[test]
fn a_kind_says_what_it_is_before_anything_else() {
    for (path, kind, schema) in KINDS {
        let mut names = Vec::new();
        schema().each_field(&mut |field| names.push(field.name.as_str()));
        assert_eq!(names.get(..2), Some(["kind", "apiVersion"].as_slice()), "{path}::{kind}");
    }
}

#[test]
fn a_list_of_objects_has_metadata_and_items() {
    for (path, kind, schema) in KINDS.iter().filter(|(_, kind, _)| kind.ends_with("List")) {
        let Some(items) = schema().field("items") else { continue };
        assert!(items.is_required() && matches!(items.ty, Type::List(_)), "{path}::{kind}");
        if let Some(metadata) = schema().field("metadata") {
            assert_eq!(metadata.ty.as_struct().map(|schema| &*schema.name), Some("ListMeta"), "{path}::{kind}");
        }
    }
}

#[test]
fn a_json_name_stands_for_one_field() {
    let mut faults = Vec::new();
    for ((module, name), schema) in structs() {
        let mut names = Vec::new();
        schema.each_field(&mut |field| names.push(field.name.as_str()));
        names.sort_unstable();
        faults.extend(
            names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| format!("{module}::{name}.{}", pair[0])),
        );
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn protobuf_has_all_fields_of_a_message_or_none() {
    for ((module, name), schema) in structs() {
        let numbers: Vec<u32> = schema.fields.iter().filter(|field| !field.inline).map(|field| field.proto).collect();
        let numbered = numbers.iter().filter(|number| **number != 0).count();
        assert!(numbered == 0 || numbered == numbers.len(), "{module}::{name}");
        // 19000 to 19999 belong to protobuf itself.
        assert!(numbers.iter().all(|number| *number < 19_000), "{module}::{name}");
    }
}

#[test]
fn list_keys_are_fields_of_the_items() {
    each_field(|_, field| {
        let ListKind::Map(keys) = &list_of(field)?.kind else { return None };
        let item = element(&field.ty)?;
        keys.iter().find(|key| item.field(key).is_none()).map(|key| format!("no {key} in {}", &*item.name))
    });
}

#[test]
fn patch_merge_keys_are_fields_of_the_items() {
    each_field(|_, field| {
        let item = element(&field.ty).filter(|_| !field.patch_merge_key.is_empty())?;
        item.field(field.patch_merge_key).is_none().then(|| format!("no {}", field.patch_merge_key))
    });
}

#[test]
fn sets_are_of_scalars() {
    each_field(|_, field| {
        (list_of(field)?.kind == ListKind::Set && element(&field.ty).is_some()).then(|| "a set of structs".to_owned())
    });
}

#[test]
fn defaults_are_values_of_the_field() {
    each_field(|_, field| {
        let literal = field.default.as_ref().map(|default| match default {
            FieldDefault::Literal(literal) | FieldDefault::Published(literal) => literal,
            FieldDefault::Value(_) => panic!("tags give literals"),
        });
        let fits = match (literal.copied(), &field.ty) {
            (None, _)
            | (Some(Literal::Bool(_)), Type::Bool)
            | (Some(Literal::Int(_)), Type::Int32 | Type::Int64 | Type::IntOrString)
            | (Some(Literal::String(_)), Type::String | Type::Quantity | Type::Duration | Type::IntOrString)
            | (Some(Literal::Empty), Type::Struct(_)) => true,
            (Some(Literal::String(text)), Type::Enum(values)) => {
                values.values.iter().any(|known| known.value.as_str() == text)
            }
            _ => false,
        };
        (!fits).then(|| format!("{:?}", field.default))
    });
}

#[test]
fn enums_name_each_value_once() {
    each_field(|_, field| {
        let known = enum_of(&field.ty)?;
        let mut values: Vec<&str> = known.values.iter().map(|value| value.value.as_str()).collect();
        values.sort_unstable();
        values
            .windows(2)
            .find(|pair| pair[0] == pair[1])
            .map(|pair| format!("{} twice in {}", pair[0], known.name.as_str()))
    });
}

#[test]
fn everything_is_documented() {
    let is_sentence = |text: &str| text.len() > 3 && text.ends_with(['.', '?', '!', ':']);
    let mut faults = Vec::new();
    for ((module, name), schema) in structs() {
        if !is_sentence(&schema.doc) {
            faults.push(format!("{module}::{name}"));
        }
    }
    assert_eq!(faults, Vec::<String>::new());
    each_field(|_, field| (!is_sentence(&field.doc)).then(|| format!("{:?}", &*field.doc)));
    each_field(|_, field| {
        let known = enum_of(&field.ty)?;
        known
            .values
            .iter()
            .find(|value| !is_sentence(&value.doc))
            .map(|value| format!("{}: {:?}", known.name.as_str(), value.doc))
    });
}

#[test]
fn only_schemas_of_custom_resources_have_other_forms() {
    for ((module, name), schema) in structs() {
        let is_wrapper = matches!(name.as_str(), "ExtraValue" | "Verbs");
        assert_eq!(schema.form == Form::Wrapper, is_wrapper, "{module}::{name}");
        let is_union = matches!(schema.form, Form::PropsOrBool | Form::PropsOrArray | Form::PropsOrStringArray);
        assert_eq!(is_union, name.starts_with("JSONSchemaPropsOr"), "{module}::{name}");
    }
}

#[test]
fn an_object_of_zero_values_reads_back_as_itself() {
    use pintle_schema::{ApiValue, Value};
    use pintle_types::{apps, core};

    let mut deployment = apps::v1::Deployment::default();
    deployment.metadata.name = "web".to_owned();
    deployment.spec.replicas = Some(3);
    deployment.spec.template.spec.containers =
        vec![core::v1::Container { name: "app".to_owned(), image: "app:1".to_owned(), ..Default::default() }];
    let value = deployment.to_value();
    let replicas = value.get("spec").and_then(|spec| spec.get("replicas"));
    assert_eq!(replicas.and_then(Value::as_i64), Some(3));
    assert_eq!(apps::v1::Deployment::from_value(&value), Ok(deployment));
}
