//! Label selectors in fields of objects. Guarantees that one which is invalid is none. Must never match an object: the
//! schema crate does.

use pintle_meta::meta::v1;
use pintle_schema::Str;
use pintle_schema::label_selector::{Expression, LabelSelector};

/// The selector in an object's field; `None` when it is invalid.
pub fn label_selector(field: &v1::LabelSelector) -> Option<LabelSelector> {
    let values: Vec<Vec<Str>> =
        field.match_expressions.iter().map(|expression| expression.values.iter().map(Str::new).collect()).collect();
    let expressions = field.match_expressions.iter().zip(&values).map(|(expression, values)| Expression {
        key: &expression.key,
        operator: expression.operator.as_str(),
        values,
    });
    let labels = field.match_labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    LabelSelector::from_parts(labels, expressions).ok()
}
