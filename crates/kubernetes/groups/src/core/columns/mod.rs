//! Kinds of the core group that say little: configuration, namespaces, accounts, quotas, components.
//!
//! Pods, nodes, volumes, services and events have their own files.

pub(crate) mod event;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod pod;
pub(crate) mod volume;

use crate::printing::cells::*;
use crate::printing::{AGE, CONTAINERS, IMAGES, NAME, SELECTOR, integer, printers, string};
use pintle_schema::{Map, Value, View};
use pintle_types::core::v1::{
    ComponentCondition, ComponentConditionType, ComponentStatus, ConditionStatus, ConfigMap, Namespace,
    NamespaceStatus, PodTemplateSpec, ReplicationController, ReplicationControllerSpec, ReplicationControllerStatus,
    ResourceList, ResourceQuota, ResourceQuotaStatus, Secret, ServiceAccount,
};

printers! {
    CONFIG_MAP: ConfigMap |map, now| {
        NAME => name(map),
        string(
            "Data",
            "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values \
             with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the \
             keys in the BinaryData field, this is enforced during validation process.",
        ) => (len(map.to(ConfigMap::DATA)) + len(map.to(ConfigMap::BINARY_DATA))).into(),
        AGE => age(map, now),
    }
    SECRET: Secret |secret, now| {
        NAME => name(secret),
        string("Type", "What the secret is for.") => text(secret.to(Secret::TYPE)),
        string("Data", "How many keys it holds.") => count(secret.to(Secret::DATA)),
        AGE => age(secret, now),
    }
    SERVICE_ACCOUNT: ServiceAccount |account, now| {
        NAME => name(account),
        AGE => age(account, now),
    }
    NAMESPACE: Namespace |namespace, now| {
        NAME => name(namespace),
        string("Status", "Whether it is in use or being deleted.")
            => text(namespace.to(Namespace::STATUS).to(NamespaceStatus::PHASE)),
        AGE => age(namespace, now),
    }
    COMPONENT_STATUS: ComponentStatus |component, now| {
        NAME => name(component),
        string("Status", "Whether the component answers well.") => health(component),
        string("Message", "What the component said.") => text_of(healthy(component), ComponentCondition::MESSAGE),
        string("Error", "What went wrong when it was asked.") => text_of(healthy(component), ComponentCondition::ERROR),
    }
    REPLICATION_CONTROLLER: ReplicationController |controller, now| {
        NAME => name(controller),
        integer("Desired", "How many pods there should be.")
            => number(controller.to(ReplicationController::SPEC).to(ReplicationControllerSpec::REPLICAS)),
        integer("Current", "How many pods there are.")
            => number(controller.to(ReplicationController::STATUS).to(ReplicationControllerStatus::REPLICAS)),
        integer("Ready", "How many pods are ready.")
            => number(controller.to(ReplicationController::STATUS).to(ReplicationControllerStatus::READY_REPLICAS)),
        AGE => age(controller, now),
        CONTAINERS => containers(template(controller)),
        IMAGES => images(template(controller)),
        SELECTOR => labels(controller.to(ReplicationController::SPEC).to(ReplicationControllerSpec::SELECTOR)),
    }
    RESOURCE_QUOTA: ResourceQuota |quota, now| {
        NAME => name(quota),
        string("Request", "What is used of what may be, but for limits.")
            => used_of_hard(quota, |resource| !is_limit(resource)),
        string("Limit", "What is used of the limits that may be set.") => used_of_hard(quota, is_limit),
        AGE => age(quota, now),
    }
}

fn template(controller: View<'_, ReplicationController>) -> View<'_, PodTemplateSpec> {
    controller.to(ReplicationController::SPEC).to(ReplicationControllerSpec::TEMPLATE).or_zero()
}

fn healthy(component: View<'_, ComponentStatus>) -> Option<View<'_, ComponentCondition>> {
    let wanted = ComponentConditionType::HEALTHY;
    find(component.to(ComponentStatus::CONDITIONS), ComponentCondition::TYPE, wanted.as_str())
}

fn health(component: View<'_, ComponentStatus>) -> Value {
    match healthy(component).map(|condition| condition.to(ComponentCondition::STATUS).get()) {
        Some(status) if status == ConditionStatus::TRUE => "Healthy",
        Some(_) => "Unhealthy",
        None => "Unknown",
    }
    .into()
}

fn is_limit(resource: &str) -> bool {
    resource.starts_with("limits.")
}

fn used_of_hard(quota: View<'_, ResourceQuota>, counts: impl Fn(&str) -> bool) -> Value {
    let status = quota.to(ResourceQuota::STATUS);
    let (hard, used) = (status.to(ResourceQuotaStatus::HARD), status.to(ResourceQuotaStatus::USED));
    let mut resources: Vec<&str> = keys(hard).filter(|resource| counts(resource)).collect();
    resources.sort_unstable();
    let amount = |amounts, resource| entry(amounts, resource).unwrap_or("0");
    let texts = resources.iter().map(|name| format!("{name}: {}/{}", amount(used, name), amount(hard, name)));
    join(texts, ", ").into()
}

fn keys(amounts: View<'_, ResourceList>) -> impl Iterator<Item = &str> {
    amounts.value().as_map().map_or(&[][..], Map::entries).iter().map(|(key, _)| key.as_str())
}
