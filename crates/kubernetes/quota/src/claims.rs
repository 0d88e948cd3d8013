//! The usage of persistent volume claims: their number and storage, also by storage class. Guarantees whole bytes. Must never
//! look at volumes.

use crate::profile::{Profile, one};
use crate::scopes::Scopes;
use pintle_gates as gates;
use pintle_registry::Environment;
use pintle_schema::{Quantity, View};
use pintle_types::core::v1::{
    ModifyVolumeStatus, PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimStatus,
};
use pintle_types::meta::v1::ObjectMeta;

/// The annotation of a claim's class before there was a field.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const STORAGE: &str = "storage";

pub(crate) fn profile(claim: View<'_, PersistentVolumeClaim>, environment: &dyn Environment) -> Profile {
    let mut profile = Profile {
        usage: [one("count/persistentvolumeclaims"), one("persistentvolumeclaims")].into(),
        ..Profile::default()
    };
    let class = class(claim);
    let mut add = |name: &str, amount: &Quantity| {
        if !class.is_empty() {
            profile.usage.insert(format!("{class}.storageclass.storage.k8s.io/{name}"), amount.clone());
        }
        profile.usage.insert(name.to_owned(), amount.clone());
    };
    add("persistentvolumeclaims", &Quantity::from_i64(1));
    if let Some(storage) = storage(claim) {
        add("requests.storage", &storage);
    }
    if environment.gates().is_on(&gates::VOLUME_ATTRIBUTES_CLASS) {
        profile.scopes = Scopes::VolumeClaim { attributes_classes: attributes_classes(claim) };
    }
    profile
}

fn class(claim: View<'_, PersistentVolumeClaim>) -> String {
    let annotations = claim.field(PersistentVolumeClaim::METADATA).field(ObjectMeta::ANNOTATIONS).value();
    let annotated = annotations.get(CLASS_ANNOTATION).and_then(|class| class.as_str());
    let field = || {
        let spec = claim.field(PersistentVolumeClaim::SPEC);
        spec.field(PersistentVolumeClaimSpec::STORAGE_CLASS_NAME).get().unwrap_or_default()
    };
    annotated.map_or_else(field, str::to_owned)
}

/// The requested storage, or the allocated one if it is larger.
fn storage(claim: View<'_, PersistentVolumeClaim>) -> Option<Quantity> {
    let spec = claim.field(PersistentVolumeClaim::SPEC);
    let asked = spec.field(PersistentVolumeClaimSpec::RESOURCES).get().requests.remove(STORAGE)?;
    let status = claim.field(PersistentVolumeClaim::STATUS);
    let allocated = status.field(PersistentVolumeClaimStatus::ALLOCATED_RESOURCES).get().remove(STORAGE);
    Some(whole(match allocated {
        Some(allocated) if allocated > whole(asked.clone()) => allocated,
        _ => asked,
    }))
}

fn whole(amount: Quantity) -> Quantity {
    let decimal = amount.decimal();
    let rounded = decimal.round_away(0);
    if rounded == decimal { amount } else { Quantity::from_decimal(&rounded, amount.format()) }
}

fn attributes_classes(claim: View<'_, PersistentVolumeClaim>) -> Vec<String> {
    let spec = claim.field(PersistentVolumeClaim::SPEC);
    let status = claim.field(PersistentVolumeClaim::STATUS);
    let target = status.field(PersistentVolumeClaimStatus::MODIFY_VOLUME_STATUS).or_zero();
    let names = [
        spec.field(PersistentVolumeClaimSpec::VOLUME_ATTRIBUTES_CLASS_NAME).get().unwrap_or_default(),
        status.field(PersistentVolumeClaimStatus::CURRENT_VOLUME_ATTRIBUTES_CLASS_NAME).get().unwrap_or_default(),
        target.field(ModifyVolumeStatus::TARGET_VOLUME_ATTRIBUTES_CLASS_NAME).get(),
    ];
    names.into_iter().filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amounts::shown;
    use pintle_schema::gates::{GateSet, NO_GATES};
    use pintle_schema::{Value, value};

    fn storage_of(spec: &str, allocated: &str) -> String {
        let mut claim = value!({"spec": {"resources": {"requests": {"storage": spec}}}});
        if !allocated.is_empty() {
            claim.set_at(&["status", "allocatedResources", "storage"], allocated);
        }
        storage(View::new(&claim)).map(|amount| amount.to_string()).unwrap_or_default()
    }

    #[test]
    fn storage_is_whole_bytes_and_the_larger_amount() {
        assert_eq!(storage_of("1Gi", ""), "1Gi");
        assert_eq!(storage_of("500m", ""), "1");
        assert_eq!(storage_of("1Gi", "2Gi"), "2Gi");
        assert_eq!(storage_of("2Gi", "1Gi"), "2Gi");
        assert_eq!(storage(View::new(&Value::map())), None);
    }

    #[test]
    fn classes_count_too() {
        struct Off;
        impl Environment for Off {
            fn now_unix(&self) -> i64 {
                0
            }
            fn random(&self, _: &mut [u8]) {}
            fn gates(&self) -> &GateSet {
                &NO_GATES
            }
        }
        let claim = value!({
            "metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "gold"}},
            "spec": {"storageClassName": "bronze", "resources": {"requests": {"storage": "1Gi"}}}
        });
        let usage = profile(View::new(&claim), &Off).usage;
        let expected = "count/persistentvolumeclaims=1,gold.storageclass.storage.k8s.io/persistentvolumeclaims=1,\
                        gold.storageclass.storage.k8s.io/requests.storage=1Gi,persistentvolumeclaims=1,requests.storage=1Gi";
        assert_eq!(shown(&usage), expected);
    }
}
