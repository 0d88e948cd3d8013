//! PersistentVolumes and PersistentVolumeClaims.
//!
//! A claim has two fields for its data source: the older one cannot refer to other namespaces. Here one is copied to
//! the
//! other.

use crate::printing::printer;
use crate::views::{clear, take_old};
use pintle_gates as gates;
use pintle_resource::{Context, Part, Resource, STATUS, Storage, Strategy, Subresource, WITH_STATUS};
use pintle_schema::{Time, Value, View, ViewMut};
use pintle_types::core::v1;
use v1::{
    PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumePhase, PersistentVolumeStatus,
    TypedLocalObjectReference, TypedObjectReference,
};

pub(super) fn persistent_volume_claims() -> Resource {
    Resource {
        storage: Some(Storage::of::<PersistentVolumeClaim>()),
        subresources: vec![Subresource::status::<PersistentVolumeClaim>(&STATUS)],
        strategy: &CLAIM,
        printer: printer(&super::columns::volume::PERSISTENT_VOLUME_CLAIM),
        warn: Some(super::rules::volume::warnings::claim),
        ..Resource::of::<PersistentVolumeClaim>()
    }
}

pub(super) fn persistent_volumes() -> Resource {
    Resource {
        storage: Some(Storage::of::<PersistentVolume>()),
        subresources: vec![Subresource::status::<PersistentVolume>(&VOLUME_STATUS)],
        strategy: &VOLUME,
        printer: printer(&super::columns::volume::PERSISTENT_VOLUME),
        warn: Some(super::rules::volume::warnings::volume),
        ..Resource::of::<PersistentVolume>()
    }
}

static CLAIM: Strategy = Strategy {
    delete_answers_object: true,
    // The phase is left to its default, as kube-apiserver leaves it: a claim is stored without one.
    prepare_create: Some(|object, context| prepare_claim(object, None, context)),
    prepare_update: Some(|object, old, context| prepare_claim(object, Some(old), context)),
    // Servers stored one of them alone before there were both, and the spec must not change.
    complete_stored: Some(|object| mirror_sources(claim_spec(object))),
    ..WITH_STATUS
};

static VOLUME: Strategy = Strategy { delete_answers_object: true, prepare_create: Some(create_volume), ..WITH_STATUS };

static VOLUME_STATUS: Part = Part { prepare: Some(prepare_volume_status), ..STATUS };

fn claim_spec(object: &mut Value) -> ViewMut<'_, PersistentVolumeClaimSpec> {
    ViewMut::<PersistentVolumeClaim>::new(object).field(PersistentVolumeClaim::SPEC)
}

/// Drops a source that only the newer field could name, and one in another namespace while that is switched off, unless
/// the old claim had one, and mirrors the two.
fn prepare_claim(object: &mut Value, old: Option<&Value>, context: &Context) {
    let old = old.map(|old| View::<PersistentVolumeClaim>::new(old).field(PersistentVolumeClaim::SPEC));
    let in_use = old.is_some_and(|old| {
        old.field(PersistentVolumeClaimSpec::DATA_SOURCE).is_set()
            || old.field(PersistentVolumeClaimSpec::DATA_SOURCE_REF).is_set()
    });
    let mut spec = claim_spec(object);
    let reference = spec.view().field(PersistentVolumeClaimSpec::DATA_SOURCE_REF);
    let namespace = reference.or_zero().field(TypedObjectReference::NAMESPACE).or_zero();
    if !namespace.as_str().is_empty()
        && !in_use
        && !context.environment.enabled(&gates::CROSS_NAMESPACE_VOLUME_DATA_SOURCE)
    {
        clear(&mut spec, PersistentVolumeClaimSpec::DATA_SOURCE_REF);
    }
    let view = spec.view();
    let has_ref = view.field(PersistentVolumeClaimSpec::DATA_SOURCE_REF).is_set();
    if let Some(source) = view.field(PersistentVolumeClaimSpec::DATA_SOURCE).some()
        && !in_use
        && !has_ref
        && !is_claim_or_snapshot(source)
    {
        clear(&mut spec, PersistentVolumeClaimSpec::DATA_SOURCE);
    }
    mirror_sources(spec);
}

fn is_claim_or_snapshot(source: View<'_, TypedLocalObjectReference>) -> bool {
    let source = source.get();
    match source.api_group.as_deref().unwrap_or("") {
        "" => source.kind == "PersistentVolumeClaim",
        group => group == "snapshot.storage.k8s.io" && source.kind == "VolumeSnapshot",
    }
}

/// Fills the one of `dataSource` and `dataSourceRef` that is absent; a reference across namespaces has no other form.
fn mirror_sources(spec: ViewMut<'_, PersistentVolumeClaimSpec>) {
    let view = spec.view();
    let source = view.field(PersistentVolumeClaimSpec::DATA_SOURCE).get();
    let reference = view.field(PersistentVolumeClaimSpec::DATA_SOURCE_REF).get();
    match (source, reference) {
        (Some(TypedLocalObjectReference { api_group, kind, name }), None) => {
            let reference = TypedObjectReference { api_group, kind, name, namespace: None };
            spec.field(PersistentVolumeClaimSpec::DATA_SOURCE_REF).set(reference);
        }
        (None, Some(TypedObjectReference { api_group, kind, name, namespace }))
            if namespace.as_deref().unwrap_or("").is_empty() =>
        {
            let source = TypedLocalObjectReference { api_group, kind, name };
            spec.field(PersistentVolumeClaimSpec::DATA_SOURCE).set(source);
        }
        _ => {}
    }
}

fn create_volume(object: &mut Value, context: &mut Context) {
    let mut status = ViewMut::<PersistentVolume>::new(object).field(PersistentVolume::STATUS);
    status.by_ref().field(PersistentVolumeStatus::PHASE).set(PersistentVolumePhase::PENDING);
    status.field(PersistentVolumeStatus::LAST_PHASE_TRANSITION_TIME).set(Time::from_seconds(context.now_unix));
}

/// Sets the time of a phase transition, unless the request has it.
fn prepare_volume_status(new: &mut Value, old: &Value, context: &mut Context) {
    let old = View::<PersistentVolume>::new(old).field(PersistentVolume::STATUS);
    let mut new = ViewMut::<PersistentVolume>::new(new).field(PersistentVolume::STATUS);
    let same_phase =
        new.view().field(PersistentVolumeStatus::PHASE).get() == old.field(PersistentVolumeStatus::PHASE).get();
    let said = new.view().field(PersistentVolumeStatus::LAST_PHASE_TRANSITION_TIME).get();
    match said {
        None if same_phase => take_old(&mut new, old, PersistentVolumeStatus::LAST_PHASE_TRANSITION_TIME),
        said if !same_phase
            && (said.is_none() || said == old.field(PersistentVolumeStatus::LAST_PHASE_TRANSITION_TIME).get()) =>
        {
            let now = Time::from_seconds(context.now_unix);
            new.field(PersistentVolumeStatus::LAST_PHASE_TRANSITION_TIME).set(now);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{created, with_context};
    use pintle_resource::same_at;
    use pintle_schema::value;

    #[test]
    fn sources_are_mirrored() {
        let claim = || value!({"kind": "PersistentVolumeClaim", "name": "a"});
        let other = || value!({"apiGroup": "example.com", "kind": "Image", "name": "a"});
        let rows = [
            (value!({"dataSource": (claim())}), value!({"dataSource": (claim()), "dataSourceRef": (claim())})),
            (value!({"dataSource": (other())}), value!({})),
            (value!({"dataSourceRef": (other())}), value!({"dataSource": (other()), "dataSourceRef": (other())})),
            // References across namespaces are switched off.
            (value!({"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "a", "namespace": "b"}}), value!({})),
        ];
        for (given, expected) in rows {
            let found = created(&persistent_volume_claims(), value!({"spec": (given.clone())}));
            for field in ["dataSource", "dataSourceRef"] {
                assert!(
                    same_at(&found, &value!({"spec": (expected.clone())}), &["spec", field]),
                    "{given:?}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn phase_transitions_are_dated() {
        let (now, before, given) = ("2001-09-09T01:46:40Z", "2001-01-01T00:00:00Z", "2001-02-02T00:00:00Z");
        let old = value!({"status": {"phase": "Bound", "lastPhaseTransitionTime": before}});
        let rows = [
            (value!({"phase": "Bound"}), before),
            (value!({"phase": "Released"}), now),
            (value!({"phase": "Released", "lastPhaseTransitionTime": before}), now),
            (value!({"phase": "Released", "lastPhaseTransitionTime": given}), given),
            (value!({"phase": "Bound", "lastPhaseTransitionTime": given}), given),
        ];
        for (status, expected) in rows {
            let mut new = value!({"status": (status.clone())});
            with_context(|context| prepare_volume_status(&mut new, &old, context));
            assert_eq!(new.str_at(&["status", "lastPhaseTransitionTime"]), expected, "{status:?}");
        }
        let volume = created(&persistent_volumes(), value!({"spec": {}}));
        assert_eq!(volume.str_at(&["status", "phase"]), "Pending");
        assert_eq!(volume.str_at(&["status", "lastPhaseTransitionTime"]), now);
    }
}
