//! Creates the service account `default` in every namespace, the default of pods. Must never change an account that
//! exists.

use super::{Reconciler, is_removal, read};
use crate::queue::Outcome;
use crate::requests::{Requests, Who};
use crate::resource_index::{KindId, ObjectKey, ResourceIndex};
use pintle_cache::{Event, Object, WatchFilter};
use pintle_registry::metadata;
use pintle_schema::value;
use std::sync::Arc;
use std::time::Duration;

const ACCOUNT: &str = "default";

pub struct DefaultAccounts {
    index: Arc<ResourceIndex>,
    namespaces: KindId,
    accounts: KindId,
}

impl Reconciler for DefaultAccounts {
    const QUEUE: &'static str = "serviceaccount";
    const SETTLES: bool = false;

    fn new(index: Arc<ResourceIndex>) -> Option<Self> {
        let (namespaces, accounts) = (index.stored("", "namespaces")?, index.stored("", "serviceaccounts")?);
        Some(DefaultAccounts { index, namespaces, accounts })
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        (kind == self.namespaces || kind == self.accounts).then_some(WatchFilter::Lifecycle)
    }

    fn due(&self, kind: KindId, object: &Object, event: Option<&Event>, due: &mut dyn FnMut(ObjectKey, Duration)) {
        let is_lost = kind == self.accounts && is_removal(event) && object.name() == ACCOUNT;
        let namespace = match kind == self.namespaces && !is_removal(event) {
            true => Some(ObjectKey { kind, key: object.key.clone() }),
            false if is_lost => self.index.place(self.namespaces, "", object.namespace()),
            false => None,
        };
        namespace.into_iter().for_each(|namespace| due(namespace, Duration::ZERO));
    }

    async fn sync(&self, place: &ObjectKey) -> Outcome {
        let Some((stored, namespace)) = read(&self.index, place) else { return Outcome::Done };
        let account = self.index.place(self.accounts, stored.name(), ACCOUNT);
        let is_there = account.is_some_and(|account| self.index.object(&account).is_some());
        if is_there || metadata::is_terminating(&namespace) {
            return Outcome::Done;
        }
        let Some(kind) = self.index.kind(self.accounts) else { return Outcome::Done };
        let requests = Requests { index: &self.index, who: Who::Account("service-account-controller") };
        requests.create(&kind, stored.name(), value!({"metadata": {"name": ACCOUNT}})).await
    }
}
