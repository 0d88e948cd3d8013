//! PodTolerationRestriction: default tolerations and allowed tolerations of a namespace. Guarantees that a pod's own
//! tolerations stay, unless the namespace does not allow them. Must never change the tolerations of an existing pod when its
//! namespace changes.

use crate::plugin::{Plugin, Requests};
use crate::request::{Kind, Request};
use crate::tolerations::{includes, merged};
use pintle_codec::{Strictness, json};
use pintle_registry::status::{Result, Status};
use pintle_schema::{ApiValue, Value, View, ViewMut};
use pintle_types::core::v1::{Namespace, Pod, PodQOSClass, PodSpec, TaintEffect, Toleration, TolerationOperator};

pub const PLUGIN: Plugin = Plugin::on(&[Requests::write("", "pods")])
    .mutating(mutate)
    .validating(|request, object, _| validate(request, object));

const DEFAULTS: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";
const WHITELIST: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";
const NAMESPACES: Kind<Namespace> = Kind::new("", "namespaces");

fn mutate(request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    let pod = View::<Pod>::new(object);
    let mut all = pod.field(Pod::SPEC).field(PodSpec::TOLERATIONS).get();
    if request.old().is_none() {
        let defaults = of_namespace(request, DEFAULTS)?;
        let defaults = defaults.unwrap_or_else(|| request.configuration.tolerations.default.clone());
        if !defaults.is_empty() {
            all = merged(&[all, defaults].concat());
        }
    }
    if pintle_groups::qos_class(pod) != PodQOSClass::BEST_EFFORT {
        all.push(Toleration {
            key: "node.kubernetes.io/memory-pressure".to_owned(),
            operator: TolerationOperator::EXISTS,
            effect: TaintEffect::NO_SCHEDULE,
            ..Toleration::default()
        });
        all = merged(&all);
    }
    if !all.is_empty() {
        ViewMut::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::TOLERATIONS).set(all);
    }
    validate(request, object)
}

fn validate(request: &Request<'_>, object: &Value) -> Result<()> {
    let all = View::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::TOLERATIONS).get();
    if all.is_empty() {
        return Ok(());
    }
    let listed = of_namespace(request, WHITELIST)?;
    let listed = listed.unwrap_or_else(|| request.configuration.tolerations.whitelist.clone());
    let is_listed = |one: &Toleration| listed.iter().any(|wider| includes(wider, one));
    match listed.is_empty() || all.iter().all(is_listed) {
        true => Ok(()),
        false => Err(Status::unexplained(
            "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist",
        )),
    }
}

/// The tolerations in an annotation of the namespace; `None` when there is none.
fn of_namespace(request: &Request<'_>, annotation: &str) -> Result<Option<Vec<Toleration>>> {
    let Some(namespace) = request.find(&NAMESPACES, "", request.namespace())? else { return Ok(None) };
    let Some(text) = namespace.metadata.annotations.get(annotation) else { return Ok(None) };
    if text.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let read =
        json::parse(text.as_bytes(), Strictness::Ignore).map_err(|error| Status::unexplained(error.to_string()))?;
    Vec::<Toleration>::from_value(&read.value).map(Some).map_err(|error| Status::unexplained(error.to_string()))
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::{Value, value};

    async fn cluster(annotations: Value) -> Cluster {
        let cluster = Cluster::with_plugins(&["PodTolerationRestriction"]).with_account("default").await;
        let namespace = value!({"metadata": {"name": "ns", "annotations": annotations}});
        cluster.store("", "namespaces", namespace).await;
        cluster
    }

    fn pod(tolerations: Value) -> Value {
        value!({"metadata": {"name": "p"}, "spec": {"tolerations": tolerations, "containers": [{"name": "c"}]}})
    }

    fn keys(pod: &Value) -> Vec<&str> {
        let tolerations = pod.at(&["spec", "tolerations"]).and_then(Value::as_list).unwrap_or(&[]);
        tolerations.iter().map(|toleration| toleration.str_at(&["key"])).collect()
    }

    #[tokio::test]
    async fn defaults_come_last() {
        let defaults = "[{\"key\":\"a\",\"operator\":\"Exists\"}]";
        let cluster =
            cluster(value!({"scheduler.alpha.kubernetes.io/defaultTolerations": (defaults.to_owned())})).await;
        let own = || value!([{"key": "b", "operator": "Exists"}]);
        let created = cluster.create("", "pods", pod(own())).await.expect("admitted");
        let system = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
        assert_eq!(keys(&created), [&["b"][..], &system, &["a"]].concat());
        let updated = cluster.update(("", "pods", ""), &pod(own()), pod(own()), "alice").expect("admitted");
        assert_eq!(keys(&updated), [&["b"][..], &system].concat());
    }

    #[tokio::test]
    async fn tolerations_outside_the_whitelist_are_rejected() {
        let listed = "[{\"key\":\"a\",\"operator\":\"Exists\"},{\"operator\":\"Exists\",\"effect\":\"NoExecute\"}]";
        let cluster =
            cluster(value!({"scheduler.alpha.kubernetes.io/tolerationsWhitelist": (listed.to_owned())})).await;
        let a = value!([{"key": "a", "operator": "Equal", "value": "1"}]);
        assert!(cluster.create("", "pods", pod(a)).await.is_ok());
        let b = cluster.create("", "pods", pod(value!([{"key": "b"}]))).await.expect_err("not listed");
        assert_eq!((b.code, b.reason), (500, ""));
    }
}
