//! PodNodeSelector: a namespace's annotation or the configuration restricts the nodes of its pods. Guarantees that a
//! pod never runs on other nodes. Must never change an existing pod.

use crate::plugin::{Plugin, Requests};
use crate::request::{Kind, Request};
use pintle_registry::status::{Result, Status};
use pintle_schema::{Value, View, ViewMut, names};
use pintle_types::core::v1::{Namespace, Pod, PodSpec};
use std::collections::BTreeMap;

pub const PLUGIN: Plugin = Plugin::on(&[Requests::create("", "pods")])
    .mutating(mutate)
    .validating(|request, object, _| validate(request, object));

const ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";
/// The configured selector of namespaces without an annotation.
const CLUSTER_DEFAULT: &str = "clusterDefaultNodeSelector";
const NAMESPACES: Kind<Namespace> = Kind::new("", "namespaces");
const OUTSIDE_NAMESPACE: &str = "pod node label selector conflicts with its namespace node label selector";

type Labels = BTreeMap<String, String>;

fn mutate(request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    let mut all = of_namespace(request)?;
    let selector = ViewMut::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::NODE_SELECTOR);
    let own = selector.view().get();
    if conflict(&all, &own) {
        return Err(request.forbidden(object, OUTSIDE_NAMESPACE));
    }
    all.extend(own);
    selector.set(all);
    validate(request, object)
}

fn validate(request: &Request<'_>, object: &Value) -> Result<()> {
    let own = View::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::NODE_SELECTOR).get();
    if conflict(&of_namespace(request)?, &own) {
        return Err(request.forbidden(object, OUTSIDE_NAMESPACE));
    }
    let listed = configured(request, request.namespace())?;
    let is_listed = |(key, value): (&String, &String)| listed.get(key) == Some(value);
    match listed.is_empty() || own.iter().all(is_listed) {
        true => Ok(()),
        false => Err(request.forbidden(object, "pod node label selector labels conflict with its namespace whitelist")),
    }
}

fn of_namespace(request: &Request<'_>) -> Result<Labels> {
    let namespace = request.find(&NAMESPACES, "", request.namespace())?;
    match namespace.as_ref().and_then(|namespace| namespace.metadata.annotations.get(ANNOTATION)) {
        Some(text) => labels(text),
        None => configured(request, CLUSTER_DEFAULT),
    }
}

fn configured(request: &Request<'_>, key: &str) -> Result<Labels> {
    labels(request.configuration.node_selectors.get(key).map_or("", String::as_str))
}

fn conflict(one: &Labels, other: &Labels) -> bool {
    one.iter().any(|(key, value)| other.get(key).is_some_and(|theirs| theirs != value))
}

/// Checks a selector of the configuration.
///
/// # Errors
/// The selector is invalid.
pub fn check(selector: &str) -> std::result::Result<(), String> {
    labels(selector).map(drop).map_err(|status| status.message)
}

/// Reads `a=b, c=d`.
fn labels(text: &str) -> Result<Labels> {
    let mut labels = Labels::new();
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let halves: Vec<&str> = part.split('=').collect();
        let [key, value] = halves[..] else {
            return Err(Status::unexplained(format!("invalid selector: [{}]", halves.join(" "))));
        };
        let (key, value) = (key.trim(), value.trim());
        for (what, faults) in [(key, names::label_key(key)), (value, names::label_value(value))] {
            if !faults.is_empty() {
                return Err(Status::unexplained(format!("invalid selector: {what:?}: {}", faults.join("; "))));
            }
        }
        labels.insert(key.to_owned(), value.to_owned());
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::Configuration;
    use crate::testing::Cluster;
    use pintle_schema::value;

    #[test]
    fn selectors_are_read() {
        let map = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let rows: [(&str, std::result::Result<Labels, &str>); 5] = [
            ("", Ok(map(&[]))),
            ("a=b", Ok(map(&[("a", "b")]))),
            ("a=b, c = d", Ok(map(&[("a", "b"), ("c", "d")]))),
            ("a", Err("invalid selector: [a]")),
            ("a=b=c", Err("invalid selector: [a b c]")),
        ];
        for (text, expected) in rows {
            assert_eq!(labels(text).map_err(|status| status.message), expected.map_err(str::to_owned), "{text}");
        }
    }

    #[tokio::test]
    async fn pods_stay_on_the_nodes_of_their_namespace() {
        let pod = |selector: Value| value!({"metadata": {"name": "p"}, "spec": {"nodeSelector": selector}});
        let node_selectors = |pairs: &[(&str, &str)]| Configuration {
            node_selectors: pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            ..Configuration::default()
        };
        let conflict = format!("pods \"p\" is forbidden: {OUTSIDE_NAMESPACE}");
        let whitelist = "pods \"p\" is forbidden: pod node label selector labels conflict with its namespace whitelist";
        // (annotation, configuration, the pod's own, outcome)
        let rows = [
            (Some("a=b"), node_selectors(&[]), value!({"c": "d"}), Ok(value!({"a": "b", "c": "d"}))),
            (Some("a=b"), node_selectors(&[]), value!({"a": "x"}), Err(conflict.as_str())),
            (None, node_selectors(&[("clusterDefaultNodeSelector", "e=f")]), value!({}), Ok(value!({"e": "f"}))),
            (Some("a=b"), node_selectors(&[("ns", "a=b")]), value!({}), Ok(value!({"a": "b"}))),
            (Some("a=b"), node_selectors(&[("ns", "a=b")]), value!({"c": "d"}), Err(whitelist)),
        ];
        for (annotation, configuration, own, expected) in rows {
            let cluster = Cluster::configured(&["PodNodeSelector"], configuration).with_account("default").await;
            let annotations = annotation.map_or(value!({}), |text| {
                let mut map = Value::map();
                map.make_map().set(ANNOTATION, text);
                map
            });
            cluster.store("", "namespaces", value!({"metadata": {"name": "ns", "annotations": annotations}})).await;
            let outcome = cluster.create("", "pods", pod(own)).await.map_err(|status| status.message);
            let outcome = outcome.map(|pod| pod.at(&["spec", "nodeSelector"]).cloned().unwrap_or_default());
            assert_eq!(outcome, expected.map_err(str::to_owned));
        }
    }
}
