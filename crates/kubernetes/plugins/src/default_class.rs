//! DefaultStorageClass and DefaultIngressClass: claims and ingresses that name no class get the default one. Guarantees
//! the newest of several default classes, of equally old ones the first by name. Must never change an object that names
//! a class, even the empty one.

use crate::fields::annotation;
use crate::plugin::{Plugin, Requests};
use crate::request::{Kind, Request};
use pintle_registry::status::Result;
use pintle_schema::{Value, View, ViewMut};
use pintle_types::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec};
use pintle_types::meta::v1::ObjectMeta;
use pintle_types::networking::v1::{Ingress, IngressClass, IngressSpec};
use pintle_types::storage::v1::StorageClass;
use std::cmp::Reverse;

pub const DEFAULT_STORAGE_CLASS: Plugin =
    Plugin::on(&[Requests::create("", "persistentvolumeclaims")]).mutating(set_storage_class);

pub const DEFAULT_INGRESS_CLASS: Plugin =
    Plugin::on(&[Requests::create("networking.k8s.io", "ingresses")]).mutating(set_ingress_class);

/// The older way of naming a claim's class.
pub const STORAGE_CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const INGRESS_CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

const STORAGE_CLASSES: Kind<StorageClass> = Kind::new("storage.k8s.io", "storageclasses");
const INGRESS_CLASSES: Kind<IngressClass> = Kind::new("networking.k8s.io", "ingressclasses");

fn set_storage_class(request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    let claim = View::<PersistentVolumeClaim>::new(object);
    let spec = claim.field(PersistentVolumeClaim::SPEC);
    let named = spec.field(PersistentVolumeClaimSpec::STORAGE_CLASS_NAME).is_set()
        || annotation(claim.field(PersistentVolumeClaim::METADATA), STORAGE_CLASS_ANNOTATION).is_some();
    if named {
        return Ok(());
    }
    let marks = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    let classes = request.all(&STORAGE_CLASSES, "")?;
    if let Some(name) = default_of(classes.into_iter().map(|class| class.metadata), &marks) {
        let spec = ViewMut::<PersistentVolumeClaim>::new(object).field(PersistentVolumeClaim::SPEC);
        spec.field(PersistentVolumeClaimSpec::STORAGE_CLASS_NAME).set(name);
    }
    Ok(())
}

fn set_ingress_class(request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    let ingress = View::<Ingress>::new(object);
    let named = ingress.field(Ingress::SPEC).field(IngressSpec::INGRESS_CLASS_NAME).is_set()
        || annotation(ingress.field(Ingress::METADATA), INGRESS_CLASS_ANNOTATION).is_some();
    if named {
        return Ok(());
    }
    let classes = request.all(&INGRESS_CLASSES, "")?;
    let marks = ["ingressclass.kubernetes.io/is-default-class"];
    if let Some(name) = default_of(classes.into_iter().map(|class| class.metadata), &marks) {
        ViewMut::<Ingress>::new(object).field(Ingress::SPEC).field(IngressSpec::INGRESS_CLASS_NAME).set(name);
    }
    Ok(())
}

/// The name of the default among classes, marked by one of these annotations.
fn default_of(classes: impl Iterator<Item = ObjectMeta>, marks: &[&str]) -> Option<String> {
    let marked =
        |class: &ObjectMeta| marks.iter().any(|mark| class.annotations.get(*mark).is_some_and(|value| value == "true"));
    let newest = classes.filter(marked).min_by_key(|class| (Reverse(class.creation_timestamp), class.name.clone()));
    newest.map(|class| class.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Cluster;
    use pintle_schema::value;

    #[test]
    fn the_newest_default_wins_then_the_first_by_name() {
        let class = |name: &str, created: i64, default: &str| ObjectMeta {
            name: name.into(),
            creation_timestamp: pintle_schema::Time::from_seconds(created),
            annotations: [("mark".to_owned(), default.to_owned())].into(),
            ..ObjectMeta::default()
        };
        let rows = [
            (vec![], None),
            (vec![class("a", 1, "false")], None),
            (vec![class("a", 1, "true"), class("b", 2, "true"), class("c", 3, "false")], Some("b")),
            (vec![class("z", 2, "true"), class("b", 2, "true"), class("a", 1, "true")], Some("b")),
        ];
        for (classes, expected) in rows {
            assert_eq!(default_of(classes.into_iter(), &["mark"]).as_deref(), expected);
        }
    }

    #[tokio::test]
    async fn only_what_names_no_class_gets_the_default() {
        let cluster = Cluster::new();
        let mark = value!({"storageclass.kubernetes.io/is-default-class": "true"});
        let class = value!({"metadata": {"name": "fast", "annotations": mark}, "provisioner": "p"});
        cluster.store("storage.k8s.io", "storageclasses", class).await;
        let mark = value!({"ingressclass.kubernetes.io/is-default-class": "true"});
        let class = value!({"metadata": {"name": "web", "annotations": mark}, "spec": {"controller": "example.com/c"}});
        cluster.store("networking.k8s.io", "ingressclasses", class).await;
        let claim = |spec: Value| value!({"metadata": {"name": "x"}, "spec": spec});
        let annotated = |key: &str| {
            let mut object = value!({"metadata": {"name": "x"}, "spec": {}});
            object.set_at(&["metadata", "annotations", key], "other");
            object
        };
        let rows = [
            ("", "persistentvolumeclaims", claim(value!({})), "storageClassName", Some("fast")),
            ("", "persistentvolumeclaims", claim(value!({"storageClassName": ""})), "storageClassName", Some("")),
            ("", "persistentvolumeclaims", claim(value!({"storageClassName": "a"})), "storageClassName", Some("a")),
            ("", "persistentvolumeclaims", annotated(STORAGE_CLASS_ANNOTATION), "storageClassName", None),
            ("networking.k8s.io", "ingresses", claim(value!({})), "ingressClassName", Some("web")),
            ("networking.k8s.io", "ingresses", annotated(INGRESS_CLASS_ANNOTATION), "ingressClassName", None),
        ];
        for (group, resource, object, field, expected) in rows {
            let object = cluster.create(group, resource, object).await.expect("admitted");
            assert_eq!(object.at(&["spec", field]).and_then(Value::as_str), expected, "{resource}");
        }
    }
}
