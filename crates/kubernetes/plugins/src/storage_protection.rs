//! StorageObjectInUseProtection: volumes and claims in use are not removed under their users.
//! Guarantees the finalizer once, after the object's own.
//! Must never remove a finalizer.

use crate::fields::push;
use crate::plugin::{Plugin, Requests};
use crate::request::Request;
use pintle_registry::status::Result;
use pintle_schema::{Value, ViewMut};
use pintle_types::core::v1::PersistentVolume;
use pintle_types::meta::v1::ObjectMeta;

pub const PLUGIN: Plugin = Plugin::on(&[
    Requests::create("", "persistentvolumes"),
    Requests::create("", "persistentvolumeclaims"),
    Requests::create("storage.k8s.io", "volumeattributesclasses"),
])
.mutating(mutate);

fn mutate(request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    let finalizer = match request.resource() {
        "persistentvolumes" => "kubernetes.io/pv-protection",
        "persistentvolumeclaims" => "kubernetes.io/pvc-protection",
        _ => "kubernetes.io/vac-protection",
    };
    // All kinds have their metadata at the same place.
    let finalizers =
        ViewMut::<PersistentVolume>::new(object).field(PersistentVolume::METADATA).field(ObjectMeta::FINALIZERS);
    if !finalizers.view().iter().any(|own| own.as_str() == finalizer) {
        push(finalizers, &finalizer.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::{Value, value};

    #[tokio::test]
    async fn finalizers_of_storage() {
        let cluster = Cluster::new();
        let rows: [(_, _, _, &[&str]); 4] = [
            ("", "persistentvolumes", value!([]), &["kubernetes.io/pv-protection"]),
            ("", "persistentvolumeclaims", value!(["a.b/c"]), &["a.b/c", "kubernetes.io/pvc-protection"]),
            (
                "",
                "persistentvolumeclaims",
                value!(["kubernetes.io/pvc-protection", "a.b/c"]),
                &["kubernetes.io/pvc-protection", "a.b/c"],
            ),
            ("storage.k8s.io", "volumeattributesclasses", value!([]), &["kubernetes.io/vac-protection"]),
        ];
        for (group, resource, before, after) in rows {
            let object = value!({"metadata": {"name": "x", "finalizers": before}});
            let object = cluster.create(group, resource, object).await.expect("admitted");
            let finalizers = object.at(&["metadata", "finalizers"]).and_then(Value::as_list).unwrap_or(&[]);
            assert_eq!(finalizers.iter().filter_map(Value::as_str).collect::<Vec<_>>(), after);
        }
    }
}
