//! Storage version migrations: rewrites all objects of a resource whose stored form is outdated. Guarantees that a
//! migration succeeds only after every object was checked. Must never change an object.

use super::{Reconciler, is_removal, read};
use crate::queue::Outcome;
use crate::requests::{AT_A_TIME, Requests, Who, retry_on_failure};
use crate::resource_index::{Kind, KindId, ObjectKey, ResourceIndex};
use futures_util::{StreamExt, stream};
use pintle_cache::{Event, Object, WatchFilter};
use pintle_registry::{Result, Status, Target};
use pintle_resource::Verbs;
use pintle_schema::{Time, Value, View, ViewMut};
use pintle_types::meta::v1::{Condition, ConditionStatus, GroupResource};
use pintle_types::storagemigration::v1beta1::{
    StorageVersionMigration, StorageVersionMigrationSpec, StorageVersionMigrationStatus,
};
use std::sync::Arc;
use std::time::Duration;

const RUNNING: &str = "Running";
const SUCCEEDED: &str = "Succeeded";
const FAILED: &str = "Failed";
const ACCOUNT: &str = "storage-version-migrator-controller";

pub struct Migrations {
    index: Arc<ResourceIndex>,
    migrations: KindId,
}

fn has(migration: &Value, condition: &str) -> bool {
    let status = View::<StorageVersionMigration>::new(migration).field(StorageVersionMigration::STATUS);
    status.field(StorageVersionMigrationStatus::CONDITIONS).iter().any(|one| {
        one.field(Condition::TYPE).as_str() == condition && one.field(Condition::STATUS).get() == ConditionStatus::TRUE
    })
}

/// Adds a condition; one that ends the migration ends `Running`.
fn set(migration: &mut Value, condition: &str, reason: &str, message: &str, now: Time) {
    if has(migration, condition) {
        return;
    }
    let status = ViewMut::<StorageVersionMigration>::new(migration).field(StorageVersionMigration::STATUS);
    let list = status.field(StorageVersionMigrationStatus::CONDITIONS);
    let mut conditions = list.view().get();
    if condition != RUNNING {
        for running in conditions.iter_mut().filter(|one| one.r#type == RUNNING) {
            running.status = ConditionStatus::FALSE;
            running.last_transition_time = now;
        }
    }
    conditions.push(Condition {
        r#type: condition.to_owned(),
        status: ConditionStatus::TRUE,
        last_transition_time: now,
        reason: reason.to_owned(),
        message: message.to_owned(),
        ..Condition::default()
    });
    list.set(conditions);
}

impl Migrations {
    fn requests(&self) -> Requests<'_> {
        Requests { index: &self.index, who: Who::Account(ACCOUNT) }
    }

    async fn update_status(
        &self,
        kind: &Kind,
        stored: &Object,
        change: impl Fn(&mut Value, Time) + Send + Sync,
    ) -> Result<()> {
        let now = Time::from_seconds(self.index.registry.environment.now_unix());
        self.requests().change(&kind.at(stored), "status", |object| change(object, now)).await
    }

    /// Rewrites the objects of a kind whose stored form is outdated, by updates without a change.
    async fn rewrite(&self, kind: &Kind) -> Result<()> {
        let requests = self.requests();
        let requests = &requests;
        let state = kind.target.cache.state();
        let targets: Vec<Target> = state.objects.values().map(|stored| kind.at(stored)).collect();
        let writes = targets.into_iter().map(|target| async move { requests.change(&target, "", |_| ()).await });
        let writes: Vec<_> = writes.collect();
        let outcomes = stream::iter(writes).buffer_unordered(AT_A_TIME);
        // A conflict means that another client has written the object, in the current form, unless the definition has changed.
        let has_failed = |status: &Status| status.code != 409 || status.is_redefined;
        let failures = outcomes.filter_map(async |outcome| outcome.err().filter(has_failed));
        let mut failures = Box::pin(failures);
        failures.next().await.map_or(Ok(()), Err)
    }
}

impl Reconciler for Migrations {
    const QUEUE: &'static str = "storage_version_migrator_controller";

    fn new(index: Arc<ResourceIndex>) -> Option<Self> {
        let migrations = index.stored("storagemigration.k8s.io", "storageversionmigrations")?;
        Some(Migrations { index, migrations })
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        (kind == self.migrations).then_some(WatchFilter::Everything)
    }

    fn due(&self, kind: KindId, object: &Object, event: Option<&Event>, due: &mut dyn FnMut(ObjectKey, Duration)) {
        if kind == self.migrations && !is_removal(event) {
            due(ObjectKey { kind, key: object.key.clone() }, Duration::ZERO);
        }
    }

    async fn sync(&self, place: &ObjectKey) -> Outcome {
        let Some(kind) = self.index.kind(place.kind) else { return Outcome::Done };
        let Some((stored, migration)) = read(&self.index, place) else { return Outcome::Done };
        if has(&migration, SUCCEEDED) || has(&migration, FAILED) {
            return Outcome::Done;
        }
        let spec = View::<StorageVersionMigration>::new(&migration).field(StorageVersionMigration::SPEC);
        let GroupResource { group, resource } = spec.field(StorageVersionMigrationSpec::RESOURCE).get();
        let migrated = self.index.stored(&group, &resource).and_then(|id| self.index.kind(id));
        let Some(migrated) = migrated.filter(|kind| kind.resource.verbs.contains(Verbs::UPDATE)) else {
            let fail = |migration: &mut Value, now: Time| {
                set(migration, FAILED, "StorageVersionMigrationFailed", "resource does not exist in GC", now);
            };
            return retry_on_failure(&self.update_status(&kind, &stored, fail).await);
        };
        let revision = migrated.target.cache.state().last.0.to_string();
        let begin = |migration: &mut Value, now: Time| {
            set(migration, RUNNING, "StorageVersionMigrationInProgress", "", now);
            let status = ViewMut::<StorageVersionMigration>::new(migration).field(StorageVersionMigration::STATUS);
            let version = status.field(StorageVersionMigrationStatus::RESOURCE_VERSION);
            if version.view().as_str().is_empty() {
                version.set(revision.as_str());
            }
        };
        if self.update_status(&kind, &stored, begin).await.is_err() || self.rewrite(&migrated).await.is_err() {
            return Outcome::Retry;
        }
        let end = |migration: &mut Value, now: Time| {
            set(migration, SUCCEEDED, "StorageVersionMigrationSucceeded", "", now);
        };
        retry_on_failure(&self.update_status(&kind, &stored, end).await)
    }
}
