//! Types of `apiextensions.k8s.io/v1`: schemas of custom resources.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Json, string_type};

string_type! {
    /// Error category used when a CEL rule fails.
    #[closed]
    pub FieldValueErrorReason {
        /// A needed value is missing.
        FIELD_VALUE_REQUIRED = "FieldValueRequired",
        /// A value that must be unique occurs twice.
        FIELD_VALUE_DUPLICATE = "FieldValueDuplicate",
        /// A value is malformed or out of bounds.
        FIELD_VALUE_INVALID = "FieldValueInvalid",
        /// A value is not permitted here.
        FIELD_VALUE_FORBIDDEN = "FieldValueForbidden",
    }
}

/// JSON schema of a value, as used in OpenAPI v3 plus Kubernetes extensions.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct JSONSchemaProps {
    /// Schema identifier; not usable in definitions.
    #[k8s(proto = 1)]
    pub id: String,
    /// Schema dialect URL; not usable in definitions.
    #[k8s(proto = 2, name = "$schema")]
    pub schema: JSONSchemaURL,
    /// Reference to another schema; not usable in definitions.
    #[k8s(proto = 3, name = "$ref")]
    pub r#ref: Option<String>,
    /// Text documenting the value.
    #[k8s(proto = 4)]
    pub description: String,
    /// Value type: object, array, string, integer, number or boolean.
    #[k8s(proto = 5)]
    pub r#type: String,
    /// Refines the type, for example date-time; unknown formats are ignored.
    #[k8s(proto = 6)]
    pub format: String,
    /// Short heading for the value.
    #[k8s(proto = 7)]
    pub title: String,
    /// Value filled in when the field is missing.
    #[k8s(proto = 8)]
    pub default: Option<Json>,
    /// Largest number permitted.
    #[k8s(proto = 9)]
    pub maximum: Option<f64>,
    /// Whether the largest number itself is ruled out.
    #[k8s(proto = 10)]
    pub exclusive_maximum: bool,
    /// Smallest number permitted.
    #[k8s(proto = 11)]
    pub minimum: Option<f64>,
    /// Whether the smallest number itself is ruled out.
    #[k8s(proto = 12)]
    pub exclusive_minimum: bool,
    /// Greatest text length in characters.
    #[k8s(proto = 13)]
    pub max_length: Option<i64>,
    /// Least text length in characters.
    #[k8s(proto = 14)]
    pub min_length: Option<i64>,
    /// Regular expression the text has to match.
    #[k8s(proto = 15)]
    pub pattern: String,
    /// Greatest number of array items.
    #[k8s(proto = 16)]
    pub max_items: Option<i64>,
    /// Least number of array items.
    #[k8s(proto = 17)]
    pub min_items: Option<i64>,
    /// Demands distinct array items; must not be true in definitions.
    #[k8s(proto = 18)]
    pub unique_items: bool,
    /// Number has to be a whole multiple of this.
    #[k8s(proto = 19)]
    pub multiple_of: Option<f64>,
    /// Only these values are permitted.
    #[k8s(proto = 20, list_type = atomic)]
    pub r#enum: Vec<Json>,
    /// Greatest number of object fields.
    #[k8s(proto = 21)]
    pub max_properties: Option<i64>,
    /// Least number of object fields.
    #[k8s(proto = 22)]
    pub min_properties: Option<i64>,
    /// Names of fields that must be present.
    #[k8s(proto = 23, list_type = atomic)]
    pub required: Vec<String>,
    /// Schema of array items.
    #[k8s(proto = 24)]
    pub items: Option<Box<JSONSchemaPropsOrArray>>,
    /// The value has to meet every one of these schemas.
    #[k8s(proto = 25, list_type = atomic)]
    pub all_of: Vec<JSONSchemaProps>,
    /// The value has to meet exactly one of these schemas.
    #[k8s(proto = 26, list_type = atomic)]
    pub one_of: Vec<JSONSchemaProps>,
    /// The value has to meet at least one of these schemas.
    #[k8s(proto = 27, list_type = atomic)]
    pub any_of: Vec<JSONSchemaProps>,
    /// The value must not meet this schema.
    #[k8s(proto = 28)]
    pub not: Option<Box<JSONSchemaProps>>,
    /// Schemas of fields known by name.
    #[k8s(proto = 29)]
    pub properties: BTreeMap<String, JSONSchemaProps>,
    /// Schema for all other fields; makes the object a map.
    #[k8s(proto = 30)]
    pub additional_properties: Option<Box<JSONSchemaPropsOrBool>>,
    /// Schemas of fields by name pattern; not usable in definitions.
    #[k8s(proto = 31)]
    pub pattern_properties: BTreeMap<String, JSONSchemaProps>,
    /// Fields needed when others are present; not usable in definitions.
    #[k8s(proto = 32)]
    pub dependencies: JSONSchemaDependencies,
    /// Schema of surplus tuple items; not usable in definitions.
    #[k8s(proto = 33)]
    pub additional_items: Option<Box<JSONSchemaPropsOrBool>>,
    /// Reusable schemas; not usable in definitions of custom resources.
    #[k8s(proto = 34)]
    pub definitions: JSONSchemaDefinitions,
    /// Pointer to further documentation.
    #[k8s(proto = 35)]
    pub external_docs: Option<ExternalDocumentation>,
    /// Sample value.
    #[k8s(proto = 36)]
    pub example: Option<Json>,
    /// Whether null is accepted as value.
    #[k8s(proto = 37)]
    pub nullable: bool,
    /// Keeps fields the schema does not mention from here on down.
    #[k8s(proto = 38, name = "x-kubernetes-preserve-unknown-fields")]
    pub x_kubernetes_preserve_unknown_fields: Option<bool>,
    /// Value is a full object with apiVersion, kind and metadata.
    #[k8s(proto = 39, name = "x-kubernetes-embedded-resource")]
    pub x_kubernetes_embedded_resource: bool,
    /// Value may be an integer or a string.
    #[k8s(proto = 40, name = "x-kubernetes-int-or-string")]
    pub x_kubernetes_int_or_string: bool,
    /// Item fields serving together as key of a map-like list.
    #[k8s(proto = 41, name = "x-kubernetes-list-map-keys", optional, list_type = atomic)]
    pub x_kubernetes_list_map_keys: Vec<String>,
    /// How lists merge: atomic, set or map; atomic when unset.
    #[k8s(proto = 42, name = "x-kubernetes-list-type", optional)]
    pub x_kubernetes_list_type: Option<String>,
    /// How objects merge: granular or atomic; granular when unset.
    #[k8s(proto = 43, name = "x-kubernetes-map-type", optional)]
    pub x_kubernetes_map_type: Option<String>,
    /// CEL rules the value has to satisfy.
    #[k8s(
        proto = 44,
        name = "x-kubernetes-validations",
        list_type = map,
        list_map_keys("rule"),
        patch_strategy = "merge",
        patch_merge_key = "rule"
    )]
    pub x_kubernetes_validations: Vec<ValidationRule>,
}

/// A CEL rule and what to report when it fails.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ValidationRule {
    /// CEL expression that has to yield true; `self` is the value, `oldSelf` its predecessor.
    #[k8s(proto = 1, always)]
    pub rule: String,
    /// Fixed text shown on failure; needed when the rule spans lines.
    #[k8s(proto = 2)]
    pub message: String,
    /// CEL expression computing the failure text; wins over the fixed one.
    #[k8s(proto = 3, optional)]
    pub message_expression: String,
    /// Category of the reported error; FieldValueInvalid when unset.
    #[k8s(proto = 4, optional)]
    pub reason: Option<FieldValueErrorReason>,
    /// Relative path of the field to blame, such as .spec.replicas.
    #[k8s(proto = 5, optional)]
    pub field_path: String,
    /// Runs transition rules on creation too, with oldSelf as an optional.
    #[k8s(proto = 6, optional, gate = pintle_gates::CRD_VALIDATION_RATCHETING)]
    pub optional_old_self: Option<bool>,
}

/// URL naming a schema dialect.
pub type JSONSchemaURL = String;

/// Either one schema or a list of schemas.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(json_union = "props_or_array")]
pub struct JSONSchemaPropsOrArray {
    /// The schema of every element.
    #[k8s(proto = 1)]
    pub schema: Option<Box<JSONSchemaProps>>,
    /// The schemas by position.
    #[k8s(proto = 2, list_type = atomic)]
    pub json_schemas: Vec<JSONSchemaProps>,
}

/// Either a schema or a plain true or false.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(json_union = "props_or_bool")]
pub struct JSONSchemaPropsOrBool {
    /// Whether further values are allowed; true when there is a schema.
    #[k8s(proto = 1)]
    pub allows: bool,
    /// The schema that further values have to match.
    #[k8s(proto = 2)]
    pub schema: Option<Box<JSONSchemaProps>>,
}

/// Map from field name to what its presence demands.
pub type JSONSchemaDependencies = BTreeMap<String, JSONSchemaPropsOrStringArray>;

/// Either a schema or a list of field names.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(json_union = "props_or_string_array")]
pub struct JSONSchemaPropsOrStringArray {
    /// The schema that the object has to match.
    #[k8s(proto = 1)]
    pub schema: Option<JSONSchemaProps>,
    /// Names of the properties that have to be present.
    #[k8s(proto = 2, list_type = atomic)]
    pub property: Vec<String>,
}

/// Map of named schemas.
pub type JSONSchemaDefinitions = BTreeMap<String, JSONSchemaProps>;

/// Pointer to documentation elsewhere.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ExternalDocumentation {
    /// What is found there.
    #[k8s(proto = 1)]
    pub description: String,
    /// Address of the documentation.
    #[k8s(proto = 2)]
    pub url: String,
}
