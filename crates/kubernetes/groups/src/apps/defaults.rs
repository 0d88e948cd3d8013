//! Defaults of the apps group that depend on the type of a strategy.
//!
//! Constant defaults are tags of the types. The type of a strategy is set here, because other defaults depend on it.

use crate::defaulting::Rule;
use crate::defaulting::fields::{get_mut, put, set, set_if_null, set_if_zero, text};
use pintle_schema::{ApiType, IntOrString, Str, Value};
use pintle_types::apps::v1::{
    DaemonSetUpdateStrategy, DaemonSetUpdateStrategyType, DeploymentStrategy, DeploymentStrategyType,
    PersistentVolumeClaimRetentionPolicyType, RollingUpdateDaemonSet, RollingUpdateDeployment,
    RollingUpdateStatefulSetStrategy, StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetSpec,
    StatefulSetUpdateStrategy, StatefulSetUpdateStrategyType,
};

pub const RULES: &[Rule] = &[
    (DeploymentStrategy::schema, deployment_strategy),
    (DaemonSetUpdateStrategy::schema, daemon_set_strategy),
    (StatefulSetUpdateStrategy::schema, stateful_set_strategy),
    (StatefulSetSpec::schema, claim_retention),
];

fn deployment_strategy(strategy: &mut Value) {
    type Update = RollingUpdateDeployment;
    set_if_zero(strategy, DeploymentStrategy::TYPE, DeploymentStrategyType::ROLLING_UPDATE);
    if text(strategy, DeploymentStrategy::TYPE) == DeploymentStrategyType::ROLLING_UPDATE.as_str() {
        let update = strategy.map_entry(DeploymentStrategy::ROLLING_UPDATE.name());
        set_if_null(update, Update::MAX_UNAVAILABLE, percent("25%"));
        set_if_null(update, Update::MAX_SURGE, percent("25%"));
    }
}

fn percent(text: &'static str) -> IntOrString {
    IntOrString::String(Str::new_static(text))
}

fn daemon_set_strategy(strategy: &mut Value) {
    type Update = RollingUpdateDaemonSet;
    set_if_zero(strategy, DaemonSetUpdateStrategy::TYPE, DaemonSetUpdateStrategyType::ROLLING_UPDATE);
    if text(strategy, DaemonSetUpdateStrategy::TYPE) == DaemonSetUpdateStrategyType::ROLLING_UPDATE.as_str() {
        let update = strategy.map_entry(DaemonSetUpdateStrategy::ROLLING_UPDATE.name());
        set_if_null(update, Update::MAX_UNAVAILABLE, IntOrString::Int(1));
        set_if_null(update, Update::MAX_SURGE, IntOrString::Int(0));
    }
}

/// A rolling update without parameters gets them only when the type was not given either.
fn stateful_set_strategy(strategy: &mut Value) {
    type Strategy = StatefulSetUpdateStrategy;
    if text(strategy, Strategy::TYPE).is_empty() {
        set(strategy, Strategy::TYPE, StatefulSetUpdateStrategyType::ROLLING_UPDATE);
        if get_mut(strategy, Strategy::ROLLING_UPDATE).is_none() {
            put(strategy, Strategy::ROLLING_UPDATE, Value::map());
        }
    }
    if text(strategy, Strategy::TYPE) == StatefulSetUpdateStrategyType::ROLLING_UPDATE.as_str()
        && let Some(update) = get_mut(strategy, Strategy::ROLLING_UPDATE)
    {
        set_if_null(update, RollingUpdateStatefulSetStrategy::PARTITION, 0);
    }
}

fn claim_retention(spec: &mut Value) {
    type Policy = StatefulSetPersistentVolumeClaimRetentionPolicy;
    let policy = spec.map_entry(StatefulSetSpec::PERSISTENT_VOLUME_CLAIM_RETENTION_POLICY.name());
    set_if_zero(policy, Policy::WHEN_DELETED, PersistentVolumeClaimRetentionPolicyType::RETAIN);
    set_if_zero(policy, Policy::WHEN_SCALED, PersistentVolumeClaimRetentionPolicyType::RETAIN);
}
