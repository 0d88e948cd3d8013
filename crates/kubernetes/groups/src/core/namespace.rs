//! Namespaces.
//!
//! The finalizers in their spec are written through the subresource `finalize` only. A deleted namespace exists until
//! they are removed.

use crate::core::defaults::namespace_label;
use crate::printing::printer;
use crate::views::push;
use pintle_resource::{
    Context, GENERAL, NOT_SUPPORTED, NameRule, Part, Resource, STATUS, STATUS_PATHS, Selectable, Storage, Strategy,
    Subresource, Verbs,
};
use pintle_schema::{Value, View, ViewMut};
use pintle_types::core::v1;
use pintle_types::meta::v1::ObjectMeta;

/// The finalizer that keeps a namespace until its contents are gone.
const KUBERNETES: v1::FinalizerName = v1::FinalizerName::KUBERNETES;

pub(super) fn namespaces() -> Resource {
    Resource {
        verbs: Verbs::ALL.without(Verbs::DELETECOLLECTION),
        storage: Some(Storage::of::<v1::Namespace>()),
        subresources: vec![
            Subresource { verbs: Verbs::UPDATE, ..Subresource::part::<v1::Namespace>("finalize", &FINALIZE) },
            Subresource::status::<v1::Namespace>(&STATUS),
        ],
        selectable: vec![Selectable::path("status.phase", &["status", "phase"])],
        selector_refusal: NOT_SUPPORTED,
        strategy: &NAMESPACE,
        printer: printer(&super::columns::NAMESPACE),
        ..Resource::of::<v1::Namespace>()
    }
}

static NAMESPACE: Strategy = Strategy {
    name: NameRule::Label,
    delete_answers_object: true,
    delete_declares_status: true,
    create_clears: STATUS_PATHS,
    update_keeps: &[&["spec"], &["status"]],
    reset_fields: STATUS_PATHS,
    prepare_create: Some(prepare_create),
    begin_deletion: Some(begin_deletion),
    holds: Some(holds),
    is_namespace: true,
    ..GENERAL
};

static FINALIZE: Part = Part { keeps: STATUS_PATHS, reset_fields: STATUS_PATHS, ..STATUS };

fn prepare_create(object: &mut Value, _: &mut Context) {
    let mut namespace = ViewMut::<v1::Namespace>::new(object);
    let status = namespace.by_ref().field(v1::Namespace::STATUS);
    status.field(v1::NamespaceStatus::PHASE).set(v1::NamespacePhase::ACTIVE);
    let finalizers = namespace.field(v1::Namespace::SPEC).field(v1::NamespaceSpec::FINALIZERS);
    if !finalizers.view().get().contains(&KUBERNETES) {
        push(finalizers, &KUBERNETES);
    }
    // A generated name was not there yet when defaults were set.
    namespace_label(object);
}

/// A namespace has no grace period to show.
fn begin_deletion(object: &mut Value) {
    let mut namespace = ViewMut::<v1::Namespace>::new(object);
    namespace.by_ref().field(v1::Namespace::METADATA).field(ObjectMeta::DELETION_GRACE_PERIOD_SECONDS).clear();
    let status = namespace.field(v1::Namespace::STATUS);
    status.field(v1::NamespaceStatus::PHASE).set(v1::NamespacePhase::TERMINATING);
}

/// Contents may be left while the spec has finalizers.
fn holds(object: &Value) -> bool {
    let spec = View::<v1::Namespace>::new(object).field(v1::Namespace::SPEC);
    spec.field(v1::NamespaceSpec::FINALIZERS).iter().len() > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::created;
    use pintle_schema::value;

    #[test]
    fn a_new_namespace_is_active_and_held() {
        let namespace = created(
            &namespaces(),
            value!({"spec": {"finalizers": ["example.com/a"]}, "status": {"phase": "Terminating"}}),
        );
        assert_eq!(namespace.at(&["spec", "finalizers"]), Some(&value!(["example.com/a", "kubernetes"])));
        assert_eq!(namespace.str_at(&["status", "phase"]), "Active");
        let again = created(&namespaces(), value!({"spec": {"finalizers": ["kubernetes"]}}));
        assert_eq!(again.at(&["spec", "finalizers"]), Some(&value!(["kubernetes"])));
    }

    #[test]
    fn a_generated_name_becomes_a_label_too() {
        let namespace = created(&namespaces(), value!({"metadata": {"name": "a-x7k2p", "generateName": "a-"}}));
        let labels = value!({"kubernetes.io/metadata.name": "a-x7k2p"});
        assert_eq!(namespace.at(&["metadata", "labels"]), Some(&labels));
    }
}
