//! Garbage collection of storage versions: removes the reports of API servers that are gone, and objects without reports.
//! Must never remove the report of a server that has an identity lease.

use super::{Reconciler, is_removal, read};
use crate::queue::Outcome;
use crate::requests::{Requests, Who, retry_on_failure};
use crate::resource_index::{KindId, ObjectKey, ResourceIndex};
use pintle_cache::{Event, Object, WatchFilter};
use pintle_gates as gates;
use pintle_registry::DeleteOptions;
use pintle_registry::options::Propagation;
use pintle_schema::{Time, View, ViewMut};
use pintle_types::apiserverinternal::v1alpha1::{
    ConditionStatus, ServerStorageVersion, StorageVersion, StorageVersionCondition, StorageVersionConditionType,
    StorageVersionStatus,
};
use pintle_types::meta::v1::ObjectMeta;
use std::sync::Arc;
use std::time::Duration;

const NAMESPACE: &str = "kube-system";
/// The label of identity leases.
const IDENTITY: (&str, &str) = ("apiserver.kubernetes.io/identity", "kube-apiserver");
const ACCOUNT: &str = "storage-version-garbage-collector";

pub struct StorageVersions {
    index: Arc<ResourceIndex>,
    storage_versions: KindId,
    leases: KindId,
}

impl StorageVersions {
    /// Whether a server with this identity exists.
    fn is_server(&self, id: &str) -> bool {
        let place = self.index.place(self.leases, NAMESPACE, id);
        let lease = place.and_then(|place| self.index.object(&place));
        lease.is_some_and(|lease| lease.encoded.label(IDENTITY.0) == Some(IDENTITY.1))
    }
}

impl Reconciler for StorageVersions {
    const QUEUE: &'static str = "storageversion_garbage_collector_storageversions";

    fn new(index: Arc<ResourceIndex>) -> Option<Self> {
        let gates = index.registry.environment.gates();
        if !gates.is_on(&gates::STORAGE_VERSION_API) || !gates.is_on(&gates::API_SERVER_IDENTITY) {
            return None;
        }
        let storage_versions = index.stored("internal.apiserver.k8s.io", "storageversions")?;
        let leases = index.stored("coordination.k8s.io", "leases")?;
        Some(StorageVersions { index, storage_versions, leases })
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        match kind {
            kind if kind == self.storage_versions => Some(WatchFilter::Everything),
            kind if kind == self.leases => Some(WatchFilter::Lifecycle),
            _ => None,
        }
    }

    fn due(&self, kind: KindId, object: &Object, event: Option<&Event>, due: &mut dyn FnMut(ObjectKey, Duration)) {
        if kind == self.storage_versions {
            if !is_removal(event) {
                due(ObjectKey { kind, key: object.key.clone() }, Duration::ZERO);
            }
            return;
        }
        let is_identity = object.namespace() == NAMESPACE && object.encoded.label(IDENTITY.0) == Some(IDENTITY.1);
        if !is_removal(event) || !is_identity {
            return;
        }
        let Some(storage_versions) = self.index.kind(self.storage_versions) else { return };
        for reported in storage_versions.target.cache.state().objects.values() {
            due(ObjectKey { kind: self.storage_versions, key: reported.key.clone() }, Duration::ZERO);
        }
    }

    async fn sync(&self, place: &ObjectKey) -> Outcome {
        let Some(kind) = self.index.kind(place.kind) else { return Outcome::Done };
        let Some((stored, object)) = read(&self.index, place) else { return Outcome::Done };
        let status = View::<StorageVersion>::new(&object).field(StorageVersion::STATUS);
        let reports = status.field(StorageVersionStatus::STORAGE_VERSIONS).get();
        let is_gone = |report: &ServerStorageVersion| !self.is_server(&report.api_server_id);
        if !reports.iter().any(is_gone) {
            return Outcome::Done;
        }
        let requests = Requests { index: &self.index, who: Who::Account(ACCOUNT) };
        if reports.iter().all(is_gone) {
            let options = DeleteOptions {
                uid: Some(stored.encoded.uid().to_owned()),
                resource_version: Some(stored.revision.0.to_string()),
                ..requests.delete_options(Propagation::Background)
            };
            return retry_on_failure(&requests.delete(&kind.at(&stored), &options).await);
        }
        let now = Time::from_seconds(self.index.registry.environment.now_unix());
        let remove = |object: &mut pintle_schema::Value| {
            let status = ViewMut::<StorageVersion>::new(object).field(StorageVersion::STATUS);
            let list = status.field(StorageVersionStatus::STORAGE_VERSIONS);
            let mut reports = list.view().get();
            reports.retain(|report| !is_gone(report));
            list.set(reports);
            set_common_version(object, now);
        };
        retry_on_failure(&requests.change(&kind.at(&stored), "status", remove).await)
    }
}

/// Sets the version that all servers store, if they agree, and the condition that tells whether they do.
pub fn set_common_version(object: &mut pintle_schema::Value, now: Time) {
    let view = View::<StorageVersion>::new(object);
    let observed_generation = view.field(StorageVersion::METADATA).field(ObjectMeta::GENERATION).get();
    let mut status = view.field(StorageVersion::STATUS).get();
    let before = status.common_encoding_version.take();
    let mut versions = status.storage_versions.iter().map(|report| &report.encoding_version);
    let first = versions.next();
    status.common_encoding_version = first.filter(|first| versions.all(|other| other == *first)).cloned();
    let (value, reason, message) = match &status.common_encoding_version {
        Some(_) => (ConditionStatus::TRUE, "CommonEncodingVersionSet", "Common encoding version set"),
        None => (ConditionStatus::FALSE, "CommonEncodingVersionUnset", "Common encoding version unset"),
    };
    let condition = StorageVersionCondition {
        r#type: StorageVersionConditionType::ALL_ENCODING_VERSIONS_EQUAL,
        status: value,
        observed_generation,
        last_transition_time: now,
        reason: reason.to_owned(),
        message: message.to_owned(),
    };
    let is_other_version = before.is_some() && before != status.common_encoding_version;
    match status.conditions.iter_mut().find(|known| known.r#type == condition.r#type) {
        None => status.conditions.push(condition),
        Some(known) => {
            let is_same = known.status == condition.status && !is_other_version;
            let last_transition_time = if is_same { known.last_transition_time } else { now };
            *known = StorageVersionCondition { last_transition_time, ..condition };
        }
    }
    ViewMut::<StorageVersion>::new(object).field(StorageVersion::STATUS).set(status);
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::ApiValue;

    #[test]
    fn servers_agree_or_not() {
        let report = |id: &str, version: &str| ServerStorageVersion {
            api_server_id: id.to_owned(),
            encoding_version: version.to_owned(),
            ..ServerStorageVersion::default()
        };
        let mut object = StorageVersion::default().to_value();
        let mut updated = |reports: Vec<ServerStorageVersion>, seconds: i64| {
            let status = ViewMut::<StorageVersion>::new(&mut object).field(StorageVersion::STATUS);
            status.field(StorageVersionStatus::STORAGE_VERSIONS).set(reports);
            set_common_version(&mut object, Time::from_seconds(seconds));
            let status = View::<StorageVersion>::new(&object).field(StorageVersion::STATUS).get();
            let [condition] = &status.conditions[..] else { panic!("one condition: {status:?}") };
            (status.common_encoding_version.clone(), condition.reason.clone(), condition.last_transition_time.seconds)
        };
        let set = |version: &str, at| (Some(version.to_owned()), "CommonEncodingVersionSet".to_owned(), at);
        assert_eq!(updated(vec![report("a", "v1")], 1), set("v1", 1));
        assert_eq!(updated(vec![report("a", "v1"), report("b", "v1")], 2), set("v1", 1));
        let differ = (None, "CommonEncodingVersionUnset".to_owned(), 3);
        assert_eq!(updated(vec![report("a", "v1"), report("b", "v2")], 3), differ);
        assert_eq!(updated(vec![report("b", "v2")], 4), set("v2", 4));
        // Another common version is a transition, too.
        assert_eq!(updated(vec![report("b", "v3")], 5), set("v3", 5));
    }
}
