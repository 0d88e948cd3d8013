//! Follows the changes of objects: keeps the graph, and queues the objects that a change concerns. Guarantees that an edge
//! that a change leaves is never missing meanwhile. Must never decide about an object.

use super::references::{self, Place};
use super::{GarbageCollector, PAGE};
use crate::feed::{Listed, Observer};
use crate::resource_index::{KindId, ObjectKey};
use crate::slices::Slices;
use crate::stats::QueueSnapshot;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pintle_cache::{Event, Object, WatchFilter};
use pintle_storage::Key;
use std::collections::{HashMap, HashSet};

impl Observer for GarbageCollector {
    fn queue(&self) -> Option<QueueSnapshot<'_>> {
        Some(self.queue.read())
    }

    /// Objects that are not collected may be owners.
    fn interest(&self, _: KindId) -> Option<WatchFilter> {
        Some(WatchFilter::Lifecycle)
    }

    /// Three passes over the headers of encoded objects: which exist and which have owners, which of the owners exist, and
    /// whether they are where the references say.
    fn list(&self, listed: &[Listed]) {
        let graph = self.graph.successor();
        let mut due = Vec::new();
        let collected = || listed.iter().filter(|one| one.kind.is_collected());
        let objects = || collected().flat_map(|one| one.state.objects.values().map(|object| (one.id, object)));
        for (kind, object) in objects() {
            let place = || ObjectKey { kind, key: object.key.clone() };
            graph.set_living(object.encoded.uid(), object.namespace());
            for uid in object.encoded.owners() {
                graph.insert(uid, &place());
            }
            if object.encoded.is_held() {
                due.push(place());
            }
        }
        let mut owners: HashMap<&str, (KindId, &Key)> = HashMap::new();
        for Listed { id, state, .. } in listed {
            let named = state.objects.values().filter(|object| graph.has_dependents(object.encoded.uid()));
            owners.extend(named.map(|owner| (owner.encoded.uid(), (*id, &owner.key))));
        }
        for (kind, object) in objects().filter(|(_, object)| object.encoded.owners().next().is_some()) {
            let is_found = |reference: references::Reference<'_>| match owners.get(&*reference.uid) {
                Some((kind, key)) => {
                    let place = ObjectKey { kind: *kind, key: (*key).clone() };
                    Place::named(&self.index, object.namespace(), &reference).is(&place)
                }
                // It may be undecodable, or of a kind that is added later.
                None => false,
            };
            if !references::of(object).all(is_found) {
                due.push(ObjectKey { kind, key: object.key.clone() });
            }
        }
        self.undecided().clear();
        self.graph.replace(graph);
        due.into_iter().for_each(|place| self.soon(place));
    }

    fn kinds_changed(&self) {
        if self.undecided().is_empty() {
            return;
        }
        for (_, kind) in self.index.kinds().iter() {
            for version in &kind.target.stored.versions {
                let waited = self.undecided().take(&version.api_version(), &version.kind);
                waited.into_iter().for_each(|place| self.soon(place));
            }
        }
    }

    /// All changes come in slices.
    fn observe(&self, _: KindId, _: &Event) {}

    fn observe_in_slices<'a>(&'a self, kind: KindId, event: &'a Event) -> Option<BoxFuture<'a, ()>> {
        is_concern(event).then(|| self.follow(kind, event).boxed())
    }
}

/// Whether a change may concern an owner or a dependent: most do not.
fn is_concern(event: &Event) -> bool {
    let Some(previous) = event.previous.as_ref().filter(|_| !event.removed) else { return true };
    let is_same = previous.encoded.uid() == event.object.encoded.uid();
    !is_same || event.object.encoded.is_held() || !references::are_same(Some(previous), Some(&event.object))
}

impl GarbageCollector {
    async fn follow(&self, kind: KindId, event: &Event) {
        let mut slices = self.work.slices();
        let (previous, object) = (event.previous.as_deref(), &*event.object);
        let uid = object.encoded.uid();
        let place = ObjectKey { kind, key: object.key.clone() };
        // An object may have taken the place of another in one step.
        let replaced = previous.map(|previous| previous.encoded.uid()).filter(|before| *before != uid);
        if self.index.kind(kind).is_some_and(|kind| kind.is_collected()) {
            let now = Some(object).filter(|_| !event.removed);
            if now.is_some() && (previous.is_none() || replaced.is_some()) {
                self.graph.set_living(uid, object.namespace());
            }
            self.follow_owners(&place, previous, now, &mut slices).await;
            if object.encoded.is_held() && now.is_some() {
                self.soon(place.clone());
            }
        }
        if event.removed {
            self.undecided().remove(&place);
        }
        for uid in replaced.into_iter().chain(event.removed.then_some(uid)) {
            self.graph.set_gone(uid);
            self.queue_dependents(uid, &mut slices).await;
        }
    }

    /// Changes the edges of an object.
    async fn follow_owners(
        &self,
        place: &ObjectKey,
        before: Option<&Object>,
        now: Option<&Object>,
        slices: &mut Slices<'_>,
    ) {
        if references::are_same(before, now) {
            return;
        }
        let mut named = HashSet::new();
        let mut waiting = HashSet::new();
        for uid in now.into_iter().flat_map(|object| object.encoded.owners()) {
            slices.step().await;
            if self.graph.insert(uid, place) {
                waiting.insert(uid);
            }
            named.insert(uid);
        }
        for uid in before.into_iter().flat_map(|object| object.encoded.owners()) {
            slices.step().await;
            if !named.contains(uid) {
                self.graph.remove(uid, place).into_iter().for_each(|owner| self.soon(owner));
            }
        }
        let Some(now) = now else { return };
        if !waiting.is_empty() {
            let blocked = self.blocked_by(now, |uid| waiting.contains(uid), slices).await;
            for uid in waiting {
                slices.step().await;
                let released = self.graph.set_blocking(uid, place, blocked.contains(uid));
                released.into_iter().for_each(|owner| self.soon(owner));
            }
        }
        if !named.is_empty() {
            self.soon(place.clone());
        }
    }

    /// Queues all objects that name a uid.
    pub(super) async fn queue_dependents(&self, uid: &str, slices: &mut Slices<'_>) {
        let mut after = None;
        loop {
            let page = self.graph.dependents(uid, after.as_ref(), PAGE);
            for place in &page {
                slices.step().await;
                self.soon(place.clone());
            }
            match page.into_iter().next_back() {
                Some(last) => after = Some(last),
                None => return,
            }
        }
    }
}
