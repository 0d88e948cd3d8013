//! Types of `apiextensions.k8s.io/v1`: custom resource definitions.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time, string_type};

use super::{ConversionStrategyType, JSONSchemaProps, WebhookConversion};
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// Names, scope and versions of a custom resource.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CustomResourceDefinitionSpec {
    /// API group of the resource, served below `/apis/<group>`.
    #[k8s(proto = 1, always)]
    pub group: String,
    /// Names under which the resource is known.
    #[k8s(proto = 3, always)]
    pub names: CustomResourceDefinitionNames,
    /// Whether objects live in namespaces or cluster-wide.
    #[k8s(proto = 4, always)]
    pub scope: ResourceScope,
    /// All versions of the resource; decides how they sort in discovery.
    #[k8s(proto = 7, published = required, always, list_type = atomic, optional)]
    pub versions: Vec<CustomResourceDefinitionVersion>,
    /// How objects are converted between versions.
    #[k8s(proto = 9, optional)]
    pub conversion: Option<CustomResourceConversion>,
    /// Keeps fields absent from the schema; must be false, set it in schemas instead.
    #[k8s(proto = 10, optional)]
    pub preserve_unknown_fields: bool,
}

/// Conversion method between versions.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CustomResourceConversion {
    /// Either None or Webhook.
    #[k8s(proto = 1, always)]
    pub strategy: ConversionStrategyType,
    /// Webhook to call when the strategy is Webhook.
    #[k8s(proto = 2, optional)]
    pub webhook: Option<WebhookConversion>,
}

/// One version of a custom resource.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CustomResourceDefinitionVersion {
    /// Version name such as v1 or v1beta1.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// Whether clients can use this version.
    #[k8s(proto = 2, always)]
    pub served: bool,
    /// Whether objects are stored in this version; exactly one version is.
    #[k8s(proto = 3, always)]
    pub storage: bool,
    /// Whether use of this version triggers a warning.
    #[k8s(proto = 7, optional)]
    pub deprecated: bool,
    /// Text of that warning, replacing the standard one.
    #[k8s(proto = 8, optional)]
    pub deprecation_warning: Option<String>,
    /// Schema for checking, pruning and defaulting objects.
    #[k8s(proto = 4, optional)]
    pub schema: Option<CustomResourceValidation>,
    /// Subresources this version offers.
    #[k8s(proto = 5, optional)]
    pub subresources: Option<CustomResourceSubresources>,
    /// Extra columns in tables; the age column when unset.
    #[k8s(proto = 6, optional, list_type = atomic)]
    pub additional_printer_columns: Vec<CustomResourceColumnDefinition>,
    /// Fields usable in field selectors, up to eight.
    #[k8s(proto = 9, optional, list_type = atomic, gate = pintle_gates::CUSTOM_RESOURCE_FIELD_SELECTORS)]
    pub selectable_fields: Vec<SelectableField>,
}

/// Field that clients may filter on.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SelectableField {
    /// Simple path to a string, boolean or integer field, such as .spec.color.
    #[k8s(proto = 1, always)]
    pub json_path: String,
}

/// One column in the table form of a custom resource.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CustomResourceColumnDefinition {
    /// Heading of the column.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// OpenAPI type of the values.
    #[k8s(proto = 2, always)]
    pub r#type: String,
    /// OpenAPI format of the values.
    #[k8s(proto = 3, optional)]
    pub format: String,
    /// Text explaining the column.
    #[k8s(proto = 4, optional)]
    pub description: String,
    /// Zero shows it always; above zero only in wide output.
    #[k8s(proto = 5, optional)]
    pub priority: i32,
    /// Simple path to the value within an object.
    #[k8s(proto = 6, always)]
    pub json_path: String,
}

/// Names under which a custom resource is known.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CustomResourceDefinitionNames {
    /// Lower-case plural used in URLs; also starts the definition's name.
    #[k8s(proto = 1, always)]
    pub plural: String,
    /// Lower-case singular; the lower-cased kind when unset.
    #[k8s(proto = 2, optional)]
    pub singular: String,
    /// Abbreviations accepted on the command line.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub short_names: Vec<String>,
    /// CamelCase kind of single objects.
    #[k8s(proto = 4, always)]
    pub kind: String,
    /// Kind of lists; kind plus List when unset.
    #[k8s(proto = 5, optional)]
    pub list_kind: String,
    /// Groups of resources it belongs to, such as all.
    #[k8s(proto = 6, optional, list_type = atomic)]
    pub categories: Vec<String>,
}

string_type! {
    /// Scope of a custom resource.
    pub ResourceScope {
        /// Objects exist once in the cluster.
        CLUSTER = "Cluster",
        /// Objects live in namespaces.
        NAMESPACE = "Namespaced",
    }
}

string_type! {
    /// Truth value of a condition.
    pub ConditionStatus {
        /// The condition holds.
        TRUE = "True",
        /// The condition does not hold.
        FALSE = "False",
        /// It is unknown whether the condition holds.
        UNKNOWN = "Unknown",
    }
}

string_type! {
    /// Aspect of a definition reported by a condition.
    pub CustomResourceDefinitionConditionType {
        /// The resource is ready to be served.
        ESTABLISHED = "Established",
        /// Names clash with no other resource of the group.
        NAMES_ACCEPTED = "NamesAccepted",
        /// A schema breaks the structural rules.
        NON_STRUCTURAL_SCHEMA = "NonStructuralSchema",
        /// The definition is being deleted and objects are cleaned up.
        TERMINATING = "Terminating",
        /// A protected `*.k8s.io` group carries the approval annotation.
        KUBERNETES_API_APPROVAL_POLICY_CONFORMANT = "KubernetesAPIApprovalPolicyConformant",
        /// Stored objects are being rewritten in another version.
        STORAGE_MIGRATING = "StorageMigrating",
    }
}

/// One observation on a definition.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CustomResourceDefinitionCondition {
    /// Aspect described.
    #[k8s(proto = 1, always)]
    pub r#type: CustomResourceDefinitionConditionType,
    /// True, False or Unknown.
    #[k8s(proto = 2, always)]
    pub status: ConditionStatus,
    /// When the status last flipped.
    #[k8s(proto = 3, optional)]
    pub last_transition_time: Time,
    /// One-word cause of the latest change.
    #[k8s(proto = 4, optional)]
    pub reason: String,
    /// Explanation for people.
    #[k8s(proto = 5, optional)]
    pub message: String,
    /// Generation the observation belongs to.
    #[k8s(proto = 6, optional, gate = pintle_gates::CRD_OBSERVED_GENERATION_TRACKING)]
    pub observed_generation: i64,
}

/// Observed state of a definition.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CustomResourceDefinitionStatus {
    /// Latest observations on the definition.
    #[k8s(proto = 1, optional, always, list_type = map, list_map_keys("type"))]
    pub conditions: Vec<CustomResourceDefinitionCondition>,
    /// Names actually used in discovery.
    #[k8s(proto = 2, optional, always)]
    pub accepted_names: CustomResourceDefinitionNames,
    /// Versions objects were ever stored in; remove entries only after migrating.
    #[k8s(proto = 3, optional, always, list_type = atomic)]
    pub stored_versions: Vec<String>,
    /// Generation last dealt with by the controllers.
    #[k8s(proto = 4, optional, gate = pintle_gates::CRD_OBSERVED_GENERATION_TRACKING)]
    pub observed_generation: i64,
}

/// Adds a custom resource to the API; named plural.group.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(
    group = "apiextensions.k8s.io",
    plural = "customresourcedefinitions",
    short_names("crd", "crds"),
    categories("api-extensions"),
    cluster
))]
pub struct CustomResourceDefinition {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// How the resource should look.
    #[k8s(proto = 2, always)]
    pub spec: CustomResourceDefinitionSpec,
    /// How far it is being served.
    #[k8s(proto = 3, optional)]
    pub status: CustomResourceDefinitionStatus,
}

/// Collection of custom resource definitions.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CustomResourceDefinitionList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The CustomResourceDefinition objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<CustomResourceDefinition>,
}

/// Holder of the schema of a custom resource version.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CustomResourceValidation {
    /// OpenAPI v3 schema that objects have to meet.
    #[k8s(proto = 1, name = "openAPIV3Schema", optional)]
    pub open_apiv3_schema: Option<JSONSchemaProps>,
}

/// Subresources of a custom resource version.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CustomResourceSubresources {
    /// Turns on /status: main updates then leave status alone and the other way round.
    #[k8s(proto = 1, optional)]
    pub status: Option<CustomResourceSubresourceStatus>,
    /// Turns on /scale and tells where replica counts are found.
    #[k8s(proto = 2, optional)]
    pub scale: Option<CustomResourceSubresourceScale>,
}

/// Empty marker that enables the status subresource.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CustomResourceSubresourceStatus {}

/// Where the scale subresource finds its values.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CustomResourceSubresourceScale {
    /// Path below .spec holding the wanted replica count.
    #[k8s(proto = 1, always)]
    pub spec_replicas_path: String,
    /// Path below .status holding the present replica count.
    #[k8s(proto = 2, always)]
    pub status_replicas_path: String,
    /// Path to a text selector for the pods; autoscaling needs it.
    #[k8s(proto = 3, optional)]
    pub label_selector_path: Option<String>,
}
