//! PersistentVolumeClaimResize: claims grow only when their class can do it.
//! Guarantees that anything but growth passes.
//! Must never change a claim.

use crate::default_class::STORAGE_CLASS_ANNOTATION;
use crate::fields::annotation;
use crate::plugin::{Plugin, Requests};
use crate::request::{Kind, Request};
use pintle_registry::status::Result;
use pintle_schema::{Value, View};
use pintle_types::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimPhase, PersistentVolumeClaimSpec, PersistentVolumeClaimStatus,
    VolumeResourceRequirements,
};
use pintle_types::storage::v1::StorageClass;

pub const PLUGIN: Plugin = Plugin::on(&[Requests::update("", "persistentvolumeclaims", "")]).validating(validate);

const STORAGE_CLASSES: Kind<StorageClass> = Kind::new("storage.k8s.io", "storageclasses");

fn validate(request: &Request<'_>, object: &Value, _: &mut Vec<String>) -> Result<()> {
    let Some(old) = request.old() else { return Ok(()) };
    let (new, old) = (View::<PersistentVolumeClaim>::new(object), View::<PersistentVolumeClaim>::new(old));
    if size(new) <= size(old) {
        return Ok(());
    }
    let phase = old.field(PersistentVolumeClaim::STATUS).field(PersistentVolumeClaimStatus::PHASE).get();
    if phase != PersistentVolumeClaimPhase::BOUND {
        return Err(request.forbidden(object, "Only bound persistent volume claims can be expanded"));
    }
    let class = class_of(old);
    let resizable = !class.is_empty()
        && class == class_of(new)
        && request.find(&STORAGE_CLASSES, "", class)?.is_some_and(|class| class.allow_volume_expansion == Some(true));
    if resizable {
        return Ok(());
    }
    let why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
    Err(request.forbidden(object, why))
}

fn size(claim: View<'_, PersistentVolumeClaim>) -> pintle_schema::Quantity {
    let resources = claim.field(PersistentVolumeClaim::SPEC).field(PersistentVolumeClaimSpec::RESOURCES);
    let mut requests = resources.field(VolumeResourceRequirements::REQUESTS).get();
    requests.remove("storage").unwrap_or_default()
}

fn class_of(claim: View<'_, PersistentVolumeClaim>) -> &str {
    annotation(claim.field(PersistentVolumeClaim::METADATA), STORAGE_CLASS_ANNOTATION).unwrap_or_else(|| {
        claim.field(PersistentVolumeClaim::SPEC).field(PersistentVolumeClaimSpec::STORAGE_CLASS_NAME).or_zero().as_str()
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::value;

    #[tokio::test]
    async fn claims_grow_when_they_are_bound_and_their_class_can() {
        let cluster = Cluster::new();
        for (name, expands) in [("big", true), ("small", false)] {
            let class = value!({"metadata": {"name": name}, "provisioner": "p", "allowVolumeExpansion": expands});
            cluster.store("storage.k8s.io", "storageclasses", class).await;
        }
        let claim = |class: &str, size: &str, phase: &str| {
            value!({
                "metadata": {"name": "x", "namespace": "ns"},
                "spec": {"storageClassName": class, "resources": {"requests": {"storage": size}}},
                "status": {"phase": phase}
            })
        };
        let unbound = "Only bound persistent volume claims can be expanded";
        let fixed = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
        // (class, old size, new size, phase, error)
        let rows = [
            ("big", "1Gi", "2Gi", "Bound", None),
            ("big", "1Gi", "2Gi", "Pending", Some(unbound)),
            ("big", "2Gi", "1Gi", "Pending", None),
            ("small", "1Gi", "1024Mi", "Bound", None),
            ("small", "1Gi", "1025Mi", "Bound", Some(fixed)),
            ("", "1Gi", "2Gi", "Bound", Some(fixed)),
            ("gone", "1Gi", "2Gi", "Bound", Some(fixed)),
        ];
        for (class, before, after, phase, refusal) in rows {
            let outcome = cluster.update(
                ("", "persistentvolumeclaims", ""),
                &claim(class, before, phase),
                claim(class, after, phase),
                "alice",
            );
            let expected = refusal.map(|why| format!("persistentvolumeclaims \"x\" is forbidden: {why}"));
            assert_eq!(outcome.err().map(|status| status.message), expected, "{class} {before} {after} {phase}");
        }
    }
}
