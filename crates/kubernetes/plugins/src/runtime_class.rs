//! RuntimeClass: the overhead and the scheduling of a pod's runtime class. Guarantees that a pod's overhead is that of its
//! class, and that conflicts of node selectors are rejected. Must never change a pod without a runtime class.

use crate::fields::set_entry;
use crate::plugin::{Plugin, Requests};
use crate::request::{Kind, Request, unusable_name};
use crate::tolerations::merged;
use pintle_registry::status::{Result, Status};
use pintle_schema::{Value, View, ViewMut};
use pintle_types::core::v1::{Pod, PodSpec, Toleration};
use pintle_types::node::v1::{RuntimeClass, Scheduling};

pub const PLUGIN: Plugin = Plugin::on(&[Requests::create("", "pods")]).mutating(mutate).validating(validate);

const CLASSES: Kind<RuntimeClass> = Kind::new("node.k8s.io", "runtimeclasses");
const OTHER_OVERHEAD: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

fn mutate(request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    let Some(class) = class_of(request, object)? else { return Ok(()) };
    if let Some(overhead) = class.overhead {
        let own = View::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::OVERHEAD);
        if own.is_set() && own.get() != overhead.pod_fixed {
            return Err(request.forbidden(object, OTHER_OVERHEAD));
        }
        ViewMut::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::OVERHEAD).set(overhead.pod_fixed);
    }
    match class.scheduling {
        Some(scheduling) => schedule(request, object, &scheduling),
        None => Ok(()),
    }
}

fn validate(request: &Request<'_>, object: &Value, _: &mut Vec<String>) -> Result<()> {
    let own = View::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::OVERHEAD).get();
    match class_of(request, object)?.and_then(|class| class.overhead) {
        Some(overhead) if own != overhead.pod_fixed => Err(request.forbidden(object, OTHER_OVERHEAD)),
        None if !own.is_empty() || was_sent_empty(request) => {
            let why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
            Err(request.forbidden(object, why))
        }
        _ => Ok(()),
    }
}

/// An overhead with nothing in it is one, too.
fn was_sent_empty(request: &Request<'_>) -> bool {
    request.was_sent_empty(&[Pod::SPEC.name(), PodSpec::OVERHEAD.name()])
}

/// The class that the pod names.
fn class_of(request: &Request<'_>, object: &Value) -> Result<Option<RuntimeClass>> {
    let spec = View::<Pod>::new(object).field(Pod::SPEC);
    let Some(name) = spec.field(PodSpec::RUNTIME_CLASS_NAME).some() else { return Ok(None) };
    let name = name.as_str();
    if let Some(why) = unusable_name(name) {
        return Err(Status::unexplained(why));
    }
    match request.find(&CLASSES, "", name)? {
        Some(class) => Ok(Some(class)),
        None => Err(request.forbidden(object, format!("pod rejected: RuntimeClass \"{name}\" not found"))),
    }
}

/// Keeps the pod to the nodes of its class.
fn schedule(request: &Request<'_>, object: &mut Value, scheduling: &Scheduling) -> Result<()> {
    let own = View::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::NODE_SELECTOR).get();
    for (key, value) in &scheduling.node_selector {
        match own.get(key) {
            Some(other) if other != value => {
                let why = format!(
                    "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {other}"
                );
                return Err(request.forbidden(object, why));
            }
            _ => set_entry(ViewMut::<Pod>::new(object).field(Pod::SPEC), PodSpec::NODE_SELECTOR, key, value),
        }
    }
    if !scheduling.tolerations.is_empty() {
        let tolerations = ViewMut::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::TOLERATIONS);
        let all: Vec<Toleration> =
            tolerations.view().get().into_iter().chain(scheduling.tolerations.iter().cloned()).collect();
        tolerations.set(merged(&all));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Cluster;
    use pintle_schema::value;

    async fn cluster() -> Cluster {
        let cluster = Cluster::new().with_account("default").await;
        let class = value!({
            "metadata": {"name": "vm"},
            "handler": "vm",
            "overhead": {"podFixed": {"memory": "64Mi"}},
            "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [{"key": "vm", "operator": "Exists"}]}
        });
        cluster.store("node.k8s.io", "runtimeclasses", class).await;
        cluster
            .store("node.k8s.io", "runtimeclasses", value!({"metadata": {"name": "plain"}, "handler": "plain"}))
            .await;
        cluster
    }

    fn pod(spec: Value) -> Value {
        value!({"metadata": {"name": "p"}, "spec": spec})
    }

    #[tokio::test]
    async fn the_class_adds_to_the_pod() {
        let cluster = cluster().await;
        let created =
            cluster.create("", "pods", pod(value!({"runtimeClassName": "vm", "nodeSelector": {"a": "b"}}))).await;
        let spec = created.expect("admitted").get("spec").cloned().unwrap_or_default();
        assert_eq!(spec.get("overhead"), Some(&value!({"memory": "64Mi"})));
        assert_eq!(spec.get("nodeSelector"), Some(&value!({"a": "b", "vm": "yes"})));
        let tolerations = spec.get("tolerations").and_then(Value::as_list).unwrap_or(&[]);
        assert_eq!(tolerations.iter().filter(|toleration| toleration.str_at(&["key"]) == "vm").count(), 1);
        let plain = cluster.create("", "pods", pod(value!({"runtimeClassName": "plain"}))).await.expect("admitted");
        assert_eq!(plain.at(&["spec", "overhead"]), None);
    }

    #[tokio::test]
    async fn refusals() {
        let cluster = cluster().await;
        let rows = [
            (value!({"runtimeClassName": "none"}), "pod rejected: RuntimeClass \"none\" not found"),
            (value!({"runtimeClassName": "vm", "overhead": {"memory": "1Mi"}}), OTHER_OVERHEAD),
            (
                value!({"runtimeClassName": "plain", "overhead": {"memory": "1Mi"}}),
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
            ),
            (
                value!({"overhead": {"memory": "1Mi"}}),
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
            ),
            (
                value!({"runtimeClassName": "vm", "nodeSelector": {"vm": "no"}}),
                "conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no",
            ),
        ];
        for (spec, why) in rows {
            let status = cluster.create("", "pods", pod(spec)).await.expect_err(why);
            assert_eq!(status.message, format!("pods \"p\" is forbidden: {why}"));
        }
        let same = value!({"runtimeClassName": "vm", "overhead": {"memory": "65536Ki"}});
        assert!(cluster.create("", "pods", pod(same)).await.is_ok());
    }
}
