//! Aggregated cluster roles: sets the rules of all roles that their selectors match. Guarantees
//! kube-controller-manager's order of rules, so that both write the same. Must never change other roles.

use super::{Reconciler, is_removal, read};
use crate::queue::Outcome;
use crate::requests::{Requests, Who, retry_on_failure};
use crate::resource_index::{KindId, ObjectKey, ResourceIndex};
use pintle_cache::{Event, Object, WatchFilter};
use pintle_codec::json;
use pintle_registry::admission::read_selector;
use pintle_schema::{Value, View, value};
use pintle_types::rbac::v1::{AggregationRule, ClusterRole};
use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The manager that applies the rules, as in kube-controller-manager.
const MANAGER: &str = "clusterrole-aggregation-controller";

/// Bytes of rules, beyond which no role can be stored: no more are collected.
const MAX_RULES_BYTES: usize = 16 * 1024 * 1024;

pub struct Aggregation {
    index: Arc<ResourceIndex>,
    roles: KindId,
    /// The aggregated roles.
    aggregates: Mutex<BTreeSet<ObjectKey>>,
}

impl Aggregation {
    fn aggregates(&self) -> MutexGuard<'_, BTreeSet<ObjectKey>> {
        self.aggregates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rules of all roles that an aggregated role selects, each once: by selector, then by the roles' names.
    fn rules(&self, name: &str, aggregate: &Value) -> Vec<Value> {
        let rule = View::<ClusterRole>::new(aggregate).field(ClusterRole::AGGREGATION_RULE).or_zero();
        let selectors = rule.field(AggregationRule::CLUSTER_ROLE_SELECTORS).value().as_list().unwrap_or_default();
        let (mut rules, mut known, mut bytes) = (Vec::new(), HashSet::new(), 0);
        let Some(kind) = self.index.kind(self.roles) else { return rules };
        let state = kind.target.cache.state();
        for selector in selectors.iter().filter_map(|selector| read_selector(Some(selector)).ok()) {
            let is_chosen =
                |role: &&Arc<Object>| role.name() != name && selector.matches(|label| role.encoded.label(label));
            for role in state.objects.values().filter(is_chosen) {
                let Ok(role) = self.index.registry.decode(&kind.target, role) else { continue };
                let own = role.get(ClusterRole::RULES.name()).and_then(Value::as_list).unwrap_or_default();
                for rule in own {
                    // Compared as text: thousands of rules cannot be compared with each other.
                    let text = json::to_vec(rule);
                    let more = text.len();
                    if !known.insert(text) {
                        continue;
                    }
                    bytes += more;
                    rules.push(rule.clone());
                    if bytes > MAX_RULES_BYTES {
                        return rules;
                    }
                }
            }
        }
        rules
    }
}

fn is_aggregate(role: &Value) -> bool {
    View::<ClusterRole>::new(role).field(ClusterRole::AGGREGATION_RULE).some().is_some()
}

/// The configuration that gives a role these rules. Without rules it takes away those that were applied before.
fn configuration(name: &str, rules: Vec<Value>) -> Value {
    let mut config = value!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}
    });
    if !rules.is_empty() {
        config.set_at(&[ClusterRole::RULES.name()], Value::List(rules));
    }
    config
}

impl Reconciler for Aggregation {
    const QUEUE: &'static str = "ClusterRoleAggregator";
    const SETTLES: bool = false;

    fn new(index: Arc<ResourceIndex>) -> Option<Self> {
        let roles = index.stored("rbac.authorization.k8s.io", "clusterroles")?;
        Some(Aggregation { index, roles, aggregates: Mutex::default() })
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        (kind == self.roles).then_some(WatchFilter::Everything)
    }

    fn forget(&self) {
        self.aggregates().clear();
    }

    fn due(&self, kind: KindId, object: &Object, event: Option<&Event>, due: &mut dyn FnMut(ObjectKey, Duration)) {
        if kind != self.roles {
            return;
        }
        let place = ObjectKey { kind, key: object.key.clone() };
        let decoded = self.index.kind(kind).and_then(|kind| self.index.registry.decode(&kind.target, object).ok());
        let mut aggregates = self.aggregates();
        match !is_removal(event) && decoded.is_some_and(|role| is_aggregate(&role)) {
            true => _ = aggregates.insert(place),
            false => _ = aggregates.remove(&place),
        }
        // An aggregated role may select aggregated roles, too.
        aggregates.iter().for_each(|place| due(place.clone(), Duration::ZERO));
    }

    async fn sync(&self, place: &ObjectKey) -> Outcome {
        let Some(kind) = self.index.kind(place.kind) else { return Outcome::Done };
        let Some((stored, role)) = read(&self.index, place) else { return Outcome::Done };
        let rules = self.rules(stored.name(), &role);
        let own = role.get(ClusterRole::RULES.name()).and_then(Value::as_list).unwrap_or_default();
        if !is_aggregate(&role) || own == rules {
            return Outcome::Done;
        }
        let requests = Requests { index: &self.index, who: Who::Account("clusterrole-aggregation-controller") };
        let config = configuration(stored.name(), rules);
        retry_on_failure(&requests.apply(&kind.at(&stored), "", MANAGER, &config).await)
    }
}
