//! Types of `meta.k8s.io/v1`: selectors of labels and fields.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, string_type};

/// Chooses objects by their labels; all of its conditions must hold. An empty selector matches
/// everything, an absent one nothing.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct LabelSelector {
    /// Labels an object has to carry with exactly these values.
    #[k8s(proto = 1, optional, labels)]
    pub match_labels: BTreeMap<String, String>,
    /// Further conditions on labels, every one of which must hold.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// One condition on a single label.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(
    subfield(values)(
        when(operator = "In|NotIn")(required = "must be specified when `operator` is 'In' or 'NotIn'"),
        when(operator = "Exists|DoesNotExist")(
            forbidden = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        )
    ),
    subfield(operator)(message(invalid = "not a valid selector operator")(enum))
)]
pub struct LabelSelectorRequirement {
    /// Label key the condition looks at.
    #[k8s(proto = 1, always, format = "k8s-label-key")]
    pub key: String,
    /// How the label is compared: "In", "NotIn", "Exists" or "DoesNotExist".
    #[k8s(proto = 2, always)]
    pub operator: LabelSelectorOperator,
    /// Values to compare with; needed for "In" and "NotIn", and must be empty for the other
    /// operators.
    #[k8s(proto = 3, optional, list_type = atomic, each_val(format = "k8s-label-value"))]
    pub values: Vec<String>,
}

string_type! {
    /// Comparison used by a label condition.
    pub LabelSelectorOperator {
        /// The label has one of the values.
        IN = "In",
        /// The label is missing or has none of the values.
        NOT_IN = "NotIn",
        /// The label is present, whatever its value.
        EXISTS = "Exists",
        /// The label is missing.
        DOES_NOT_EXIST = "DoesNotExist",
    }
}

/// One condition on a selectable field.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct FieldSelectorRequirement {
    /// Field selector key the condition looks at, such as "metadata.name".
    #[k8s(proto = 1, always)]
    pub key: String,
    /// How the field is compared: "In", "NotIn", "Exists" or "DoesNotExist".
    #[k8s(proto = 2, always)]
    pub operator: FieldSelectorOperator,
    /// Values to compare with; needed for "In" and "NotIn", and must be empty for the other
    /// operators.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub values: Vec<String>,
}

string_type! {
    /// Comparison used by a field condition.
    pub FieldSelectorOperator {
        /// The field has one of the values.
        IN = "In",
        /// The field has none of the values.
        NOT_IN = "NotIn",
        /// The field is present.
        EXISTS = "Exists",
        /// The field is absent.
        DOES_NOT_EXIST = "DoesNotExist",
    }
}
