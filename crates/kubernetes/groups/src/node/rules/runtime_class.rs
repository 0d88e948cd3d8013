//! Rules of RuntimeClass.

use crate::core::rules::node_labels::old_label;
use crate::core::rules::pod::resources;
use crate::rules::internal_form::in_full;
use crate::rules::warnings::Written;
use crate::rules::{Repeats, items};
use pintle_schema::{Map, View};
use pintle_types::core::v1::Toleration;
use pintle_types::node::v1::{Overhead, RuntimeClass, Scheduling};
use pintle_validation::{At, ValidationContext};

/// A class stays with its handler.
pub fn keeps_handler(class: At<'_, RuntimeClass>, cx: &mut ValidationContext<'_>) {
    class.field(RuntimeClass::HANDLER, |handler| {
        if !handler.unchanged() {
            cx.errors.immutable(handler.path, handler.new.as_str());
        }
    });
}

/// The overhead of pods is validated as the limits of a container.
pub fn overhead(overhead: At<'_, Option<Overhead>>, cx: &mut ValidationContext<'_>) {
    if let Some(overhead) = overhead.some() {
        let fixed = At { new: overhead.new.field(Overhead::POD_FIXED), old: None, path: overhead.path };
        resources::overhead(fixed, cx);
    }
}

/// Tolerations are distinct, whatever their seconds.
pub fn tolerations_once(tolerations: At<'_, Vec<Toleration>>, cx: &mut ValidationContext<'_>) {
    let list = items(tolerations.new);
    let text = |at: usize, field: &str| list.get(at).map_or("", |toleration| toleration.str_at(&[field]));
    let mut repeats = Repeats::new(list.len(), |at| {
        let [key, operator] = [Toleration::KEY.name(), Toleration::OPERATOR.name()].map(|field| text(at, field));
        (key, operator, text(at, Toleration::VALUE.name()), text(at, Toleration::EFFECT.name()))
    });
    for (at, toleration) in list.iter().enumerate() {
        if repeats.is_repeated(at) {
            let toleration = in_full(View::<Toleration>::new(toleration));
            cx.errors.duplicate(tolerations.path.index(at), toleration);
        }
    }
}

/// Labels of nodes that have other names by now. kube-apiserver does not say which.
pub fn warn(written: &Written<'_>, warnings: &mut Vec<String>) {
    let scheduling = written.view::<RuntimeClass>().field(RuntimeClass::SCHEDULING).or_zero();
    let selector = scheduling.field(Scheduling::NODE_SELECTOR).value().as_map();
    for text in selector.into_iter().flat_map(Map::iter).filter_map(|(label, _)| old_label(label)) {
        warnings.push(format!("scheduling.nodeSelector: {text}"));
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::tests::validate_as;
    use pintle_schema::{ApiType, value};
    use pintle_types::node::v1::RuntimeClass;
    use pintle_validation::{Operation, Request};

    #[test]
    fn tolerations_differ_in_more_than_their_seconds() {
        let of = |seconds: i64, effect: &str| {
            let tolerations = value!([
                {"key": "a", "operator": "Exists", "effect": "NoExecute"},
                {"key": "a", "operator": "Exists", "effect": effect, "tolerationSeconds": seconds}
            ]);
            let class = value!({
                "metadata": {"name": "a"}, "handler": "h", "scheduling": {"tolerations": tolerations}
            });
            let request = Request { namespaced: false, ..Request::new(Operation::Create) };
            validate_as(RuntimeClass::schema(), &class, None, request)
        };
        assert_eq!(
            of(5, "NoExecute"),
            ["scheduling.tolerations[1]: Duplicate value: {\"Key\":\"a\",\"Operator\":\"Exists\",\"Value\":\"\",\
              \"Effect\":\"NoExecute\",\"TolerationSeconds\":5}"]
        );
        assert_eq!(of(5, "NoSchedule").len(), 1, "the effect does not go with the seconds");
    }
}
