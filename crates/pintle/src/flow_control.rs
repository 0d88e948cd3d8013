//! Passes flow schemas and priority levels from the cache to flow control: all at the start, and again when one of them
//! changes. Guarantees that requests are classified by what is stored, as far as it can be read. Must never write an
//! object.

use crate::hooks::FLOW_CONTROL_HOOKS;
use futures_util::future::select_all;
use pintle_cache::Watcher;
use pintle_endpoints::flow::InFlightLimits;
use pintle_flowcontrol::{
    Distinguisher, FlowSchema, Kind, Level, NonResourceRule, PolicyRule, Queuing, ResourceRule, Subject,
};
use pintle_registry::{Registry, Target};
use pintle_schema::{ApiValue, Value};
use pintle_server::{Builder, Opened};
use pintle_types::flowcontrol::v1;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::time::sleep;

const GROUP: &str = "flowcontrol.apiserver.k8s.io";
const SCHEMAS: &str = "flowschemas";
const LEVELS: &str = "prioritylevelconfigurations";

/// What was read from the cache, by the IDs of objects' states: only what has changed is read again.
#[derive(Default)]
struct Known {
    schemas: HashMap<u64, Option<Arc<FlowSchema>>>,
    levels: HashMap<u64, Option<Level>>,
}

impl Known {
    /// Configures flow control by what is stored.
    fn configure(&mut self, registry: &Registry, flow: &InFlightLimits) {
        let Some(controller) = flow.controller() else { return };
        let schemas = read(registry, SCHEMAS, &mut self.schemas, |object| schema(object).map(Arc::new));
        let levels = read(registry, LEVELS, &mut self.levels, level);
        controller.configure(schemas, levels);
    }
}

/// Adds the hooks of priority and fairness, unless it is off.
pub(crate) fn prepare(generic: &mut Builder, hooks: &mut Vec<&'static str>) {
    if generic.settings().priority_and_fairness {
        hooks.extend(FLOW_CONTROL_HOOKS);
    }
}

/// Configures flow control by what is stored, and again after each change.
pub(crate) fn install(opened: &mut Opened) {
    let (registry, flow) = (opened.registry().clone(), opened.flow().clone());
    Known::default().configure(&registry, &flow);
    opened.spawn("the watch of flow schemas", follow(registry, flow));
}

/// Configures it again after each change, until the server ends.
async fn follow(registry: Arc<Registry>, flow: Arc<InFlightLimits>) {
    if flow.controller().is_none() {
        return std::future::pending().await;
    }
    let mut known = Known::default();
    loop {
        let targets = [SCHEMAS, LEVELS].into_iter().filter_map(|plural| target(&registry, plural));
        let mut cursors: Vec<_> = targets.map(|target| target.cache.cursor(target.cache.current())).collect();
        if cursors.is_empty() {
            return std::future::pending().await;
        }
        // The watches do not report writes from before they began.
        known.configure(&registry, &flow);
        while changed(&mut cursors).await {
            let began = Instant::now();
            known.configure(&registry, &flow);
            // Of many writes in a row not each configures ten thousand schemas again.
            sleep(began.elapsed()).await;
        }
    }
}

/// Waits for changes; false when the watches have lost their place.
async fn changed(cursors: &mut [Watcher]) -> bool {
    select_all(cursors.iter_mut().map(|cursor| Box::pin(cursor.changed()))).await;
    cursors.iter_mut().all(|cursor| cursor.visit(usize::MAX, |_| ()).is_ok())
}

fn target(registry: &Registry, plural: &str) -> Option<Target> {
    registry.target(pintle_groups::find(GROUP, "v1", plural)?, "", "")
}

/// A stored object.
struct Stored {
    name: String,
    uid: String,
    value: Value,
}

/// What the objects of a resource say, as far as they can be read.
fn read<T: Clone>(
    registry: &Registry,
    plural: &str,
    known: &mut HashMap<u64, Option<T>>,
    read: impl Fn(&Stored) -> Option<T>,
) -> Vec<T> {
    let Some(target) = target(registry, plural) else { return Vec::new() };
    let state = target.cache.state();
    let mut before = std::mem::take(known);
    for object in state.objects.values() {
        let found = before.remove(&object.id).unwrap_or_else(|| {
            let value = registry.decode(&target, object).ok()?;
            read(&Stored { name: object.name().to_owned(), uid: object.encoded.uid().to_owned(), value })
        });
        known.insert(object.id, found);
    }
    // In the order of their names, which maps do not keep.
    state.objects.values().filter_map(|object| known.get(&object.id)?.clone()).collect()
}

fn schema(stored: &Stored) -> Option<FlowSchema> {
    let v1::FlowSchemaSpec { priority_level_configuration, matching_precedence, distinguisher_method, rules } =
        v1::FlowSchema::from_value(&stored.value).ok()?.spec;
    let method = distinguisher_method.map(|method| method.r#type);
    let distinguisher = match method.as_ref().map_or("", v1::FlowDistinguisherMethodType::as_str) {
        "ByUser" => Distinguisher::ByUser,
        "ByNamespace" => Distinguisher::ByNamespace,
        _ => Distinguisher::None,
    };
    Some(FlowSchema {
        name: stored.name.clone(),
        uid: stored.uid.clone(),
        precedence: matching_precedence,
        level: priority_level_configuration.name,
        distinguisher,
        rules: rules.into_iter().map(rule).collect(),
    })
}

fn rule(rule: v1::PolicyRulesWithSubjects) -> PolicyRule {
    let resource_rule = |rule: v1::ResourcePolicyRule| ResourceRule {
        verbs: rule.verbs,
        api_groups: rule.api_groups,
        resources: rule.resources,
        cluster_scope: rule.cluster_scope,
        namespaces: rule.namespaces,
    };
    PolicyRule {
        subjects: rule.subjects.into_iter().filter_map(subject).collect(),
        resource_rules: rule.resource_rules.into_iter().map(resource_rule).collect(),
        non_resource_rules: rule
            .non_resource_rules
            .into_iter()
            .map(|rule| NonResourceRule { verbs: rule.verbs, urls: rule.non_resource_urls })
            .collect(),
    }
}

fn subject(subject: v1::Subject) -> Option<Subject> {
    match subject.kind.as_str() {
        "User" => Some(Subject::User(subject.user?.name)),
        "Group" => Some(Subject::Group(subject.group?.name)),
        "ServiceAccount" => {
            let account = subject.service_account?;
            Some(Subject::ServiceAccount(account.namespace, account.name))
        }
        _ => None,
    }
}

fn level(stored: &Stored) -> Option<Level> {
    let spec = v1::PriorityLevelConfiguration::from_value(&stored.value).ok()?.spec;
    let kind = match (spec.limited, spec.exempt) {
        (Some(limited), None) => {
            let queuing = limited.limit_response.queuing.map(|queuing| Queuing {
                queues: count(queuing.queues),
                hand_size: count(queuing.hand_size),
                length_limit: count(queuing.queue_length_limit),
            });
            Kind::Limited {
                nominal_shares: number(limited.nominal_concurrency_shares),
                lendable_percent: number(limited.lendable_percent),
                borrowing_percent: limited.borrowing_limit_percent.map(|percent| number(Some(percent))),
                queuing,
            }
        }
        (None, exempt) => {
            let exempt = exempt.unwrap_or_default();
            Kind::Exempt {
                nominal_shares: number(exempt.nominal_concurrency_shares),
                lendable_percent: number(exempt.lendable_percent),
            }
        }
        (Some(_), Some(_)) => return None,
    };
    // Only one level is exempt, as in kube-apiserver.
    let is_exempt = matches!(kind, Kind::Exempt { .. });
    let level = Level { name: stored.name.clone(), uid: stored.uid.clone(), kind };
    (is_exempt == (level.name == "exempt")).then_some(level)
}

fn number(value: Option<i32>) -> u32 {
    value.and_then(|value| value.try_into().ok()).unwrap_or(0)
}

fn count(value: i32) -> usize {
    value.try_into().unwrap_or(1)
}
