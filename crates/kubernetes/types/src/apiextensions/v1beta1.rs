//! Types of `apiextensions.k8s.io/v1beta1`: custom resource definitions and conversion webhooks.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Bytes, Json, RawExtension, Time, same_as, string_type};

use crate::meta::v1::{ListMeta, ObjectMeta, Status, TypeMeta};

same_as! {
    super::v1::{
        ConditionStatus, ConversionRequest, ConversionResponse, ConversionReview, ConversionStrategyType,
        CustomResourceDefinition, CustomResourceDefinitionCondition, CustomResourceDefinitionList,
        CustomResourceDefinitionNames, CustomResourceDefinitionStatus, CustomResourceDefinitionVersion,
        CustomResourceSubresourceScale, CustomResourceSubresourceStatus, CustomResourceSubresources,
        CustomResourceValidation, ExternalDocumentation, FieldValueErrorReason, JSONSchemaProps,
        JSONSchemaPropsOrArray, JSONSchemaPropsOrBool, JSONSchemaPropsOrStringArray, ResourceScope, SelectableField,
        ValidationRule, WebhookClientConfig
    }
}

/// Service behind which a webhook runs.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServiceReference {
    /// Namespace of the service.
    #[k8s(proto = 1, always)]
    pub namespace: String,
    /// Name of the service.
    #[k8s(proto = 2, always)]
    pub name: String,
    /// URL path used in calls.
    #[k8s(proto = 3, optional)]
    pub path: Option<String>,
    /// Port of the service; 443 when unset.
    #[k8s(proto = 4, optional)]
    pub port: Option<i32>,
}

/// Names, scope and versions of a custom resource.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CustomResourceDefinitionSpec {
    /// API group of the resource, served below `/apis/<group>`.
    #[k8s(proto = 1, always)]
    pub group: String,
    /// Single version name in the older layout; replaced by versions.
    #[k8s(proto = 2, optional)]
    pub version: String,
    /// Names under which the resource is known.
    #[k8s(proto = 3, always)]
    pub names: CustomResourceDefinitionNames,
    /// Whether objects live in namespaces or cluster-wide.
    #[k8s(proto = 4, always)]
    pub scope: ResourceScope,
    /// Schema shared by all versions; excludes schemas per version.
    #[k8s(proto = 5, optional)]
    pub validation: Option<CustomResourceValidation>,
    /// Subresources shared by all versions; excludes settings per version.
    #[k8s(proto = 6, optional)]
    pub subresources: Option<CustomResourceSubresources>,
    /// All versions of the resource; decides how they sort in discovery.
    #[k8s(proto = 7, optional, list_type = atomic)]
    pub versions: Vec<CustomResourceDefinitionVersion>,
    /// Table columns shared by all versions; excludes columns per version.
    #[k8s(proto = 8, optional, list_type = atomic)]
    pub additional_printer_columns: Vec<CustomResourceColumnDefinition>,
    /// Selectable fields shared by all versions; excludes settings per version.
    #[k8s(proto = 11, optional, list_type = atomic, gate = pintle_gates::CUSTOM_RESOURCE_FIELD_SELECTORS)]
    pub selectable_fields: Vec<SelectableField>,
    /// How objects are converted between versions.
    #[k8s(proto = 9, optional)]
    pub conversion: Option<CustomResourceConversion>,
    /// Keeps fields absent from the schema; must be false, set it in schemas instead.
    #[k8s(proto = 10, optional)]
    pub preserve_unknown_fields: Option<bool>,
}

/// Conversion method between versions.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CustomResourceConversion {
    /// Either None or Webhook.
    #[k8s(proto = 1, always)]
    pub strategy: ConversionStrategyType,
    /// How to reach the conversion webhook.
    #[k8s(proto = 2, optional)]
    pub webhook_client_config: Option<WebhookClientConfig>,
    /// ConversionReview versions the webhook understands, most wanted first.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub conversion_review_versions: Vec<String>,
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
    #[k8s(proto = 6, name = "JSONPath", always)]
    pub json_path: String,
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
    }
}

/// URL naming a schema dialect.
pub type JSONSchemaURL = String;

/// Map from field name to what its presence demands.
pub type JSONSchemaDependencies = BTreeMap<String, JSONSchemaPropsOrStringArray>;

/// Map of named schemas.
pub type JSONSchemaDefinitions = BTreeMap<String, JSONSchemaProps>;
