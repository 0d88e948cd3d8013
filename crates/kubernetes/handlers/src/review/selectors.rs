//! The selectors of an access review, parsed for authorizers. Guarantees that an invalid requirement does not fail the
//! review: it is dropped and reported. Must never grant more because of an invalid requirement: dropping one only
//! widens the request that is authorized.

use pintle_schema::Str;
use pintle_schema::field_selector::{FieldSelector, FieldTerm};
use pintle_schema::label_selector::{Expression, LabelSelector};
use pintle_types::authorization::v1::{FieldSelectorAttributes, LabelSelectorAttributes, ResourceAttributes};
use pintle_types::meta::v1::{FieldSelectorOperator, FieldSelectorRequirement, LabelSelectorRequirement};

/// How much of a selector is valid.
enum Reading {
    Whole,
    Part,
    Nothing,
}

impl Reading {
    /// From the number of requirements, and of valid ones.
    fn of(all: usize, read: usize) -> Reading {
        match read {
            read if read == all => Reading::Whole,
            0 => Reading::Nothing,
            _ => Reading::Part,
        }
    }

    fn error(self, field: &str) -> Option<String> {
        let how = match self {
            Reading::Whole => return None,
            Reading::Part => "partially ignored",
            Reading::Nothing => "ignored",
        };
        Some(format!("spec.resourceAttributes.{field} {how} due to parse error"))
    }
}

/// The evaluation error for invalid selectors; empty if all are valid.
pub fn errors(asked: &ResourceAttributes) -> String {
    let fields = asked.field_selector.as_ref().and_then(|selector| fields(selector).error("fieldSelector"));
    let labels = asked.label_selector.as_ref().and_then(|selector| labels(selector).error("labelSelector"));
    fields.into_iter().chain(labels).collect::<Vec<_>>().join("; ")
}

fn fields(selector: &FieldSelectorAttributes) -> Reading {
    if selector.requirements.is_empty() {
        return Reading::of(1, usize::from(FieldSelector::parse(&selector.raw_selector).is_ok()));
    }
    Reading::of(selector.requirements.len(), selector.requirements.iter().filter_map(field_term).count())
}

fn field_term(it: &FieldSelectorRequirement) -> Option<FieldTerm> {
    let [value] = &it.values[..] else { return None };
    let negated = it.operator == FieldSelectorOperator::NOT_IN;
    let term = FieldTerm { field: Str::new(&it.key), value: Str::new(value), negated };
    (negated || it.operator == FieldSelectorOperator::IN).then_some(term)
}

/// The valid requirements of a review's field selector.
pub fn field_selector(asked: &ResourceAttributes) -> Option<FieldSelector> {
    let selector = asked.field_selector.as_ref()?;
    match selector.requirements.is_empty() {
        true => FieldSelector::parse(&selector.raw_selector).ok(),
        false => Some(selector.requirements.iter().filter_map(field_term).collect()),
    }
}

fn labels(selector: &LabelSelectorAttributes) -> Reading {
    if selector.requirements.is_empty() {
        return Reading::of(1, usize::from(LabelSelector::parse(&selector.raw_selector).is_ok()));
    }
    Reading::of(selector.requirements.len(), selector.requirements.iter().filter_map(label_term).count())
}

fn label_term(it: &LabelSelectorRequirement) -> Option<LabelSelector> {
    let values: Vec<Str> = it.values.iter().map(Str::new).collect();
    let expression = Expression { key: &it.key, operator: it.operator.as_str(), values: &values };
    LabelSelector::from_parts([], [expression]).ok()
}

/// The valid requirements of a review's label selector.
pub fn label_selector(asked: &ResourceAttributes) -> Option<LabelSelector> {
    let selector = asked.label_selector.as_ref()?;
    if selector.requirements.is_empty() {
        return LabelSelector::parse(&selector.raw_selector).ok();
    }
    let terms: Vec<_> = selector.requirements.iter().filter_map(label_term).collect();
    Some(LabelSelector::all(&terms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_types::meta::v1::LabelSelectorOperator;

    #[test]
    fn unreadable_selectors_are_reported_as_ignored() {
        let field = |operator: FieldSelectorOperator, values: &[&str]| FieldSelectorRequirement {
            key: "metadata.name".to_owned(),
            operator,
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        };
        let label = |key: &str, operator: &str| LabelSelectorRequirement {
            key: key.to_owned(),
            operator: LabelSelectorOperator::from(operator),
            values: Vec::new(),
        };
        let said = |fields: Vec<FieldSelectorRequirement>, field_text: &str, labels, label_text: &str| {
            errors(&ResourceAttributes {
                field_selector: Some(FieldSelectorAttributes {
                    raw_selector: field_text.to_owned(),
                    requirements: fields,
                }),
                label_selector: Some(LabelSelectorAttributes {
                    raw_selector: label_text.to_owned(),
                    requirements: labels,
                }),
                ..ResourceAttributes::default()
            })
        };
        let (good, bad) = (field(FieldSelectorOperator::IN, &["a"]), field(FieldSelectorOperator::IN, &["a", "b"]));
        let ignored = "spec.resourceAttributes.fieldSelector ignored due to parse error";
        assert_eq!(said(vec![good.clone()], "", vec![label("a", "Exists")], ""), "");
        assert_eq!(said(vec![], "a=b", vec![], "a in (b)"), "");
        assert_eq!(said(vec![], "-abc", vec![], ""), ignored);
        assert_eq!(said(vec![bad.clone()], "", vec![], ""), ignored);
        assert_eq!(said(vec![field(FieldSelectorOperator::EXISTS, &[])], "", vec![], ""), ignored);
        assert_eq!(
            said(vec![good, bad], "", vec![label("a", "Equal")], ""),
            "spec.resourceAttributes.fieldSelector partially ignored due to parse error; \
             spec.resourceAttributes.labelSelector ignored due to parse error"
        );
        assert_eq!(
            said(vec![], "", vec![], "a/b/c"),
            "spec.resourceAttributes.labelSelector ignored due to parse error"
        );
    }
}
